"""Learning the bi-encoder: each question finds its turn among all turns of its conversation.

A step reads a few conversations whole: a question is compared with what it will be compared with
when it is asked, and with nothing else. A turn beside the gold one, one that says nearly the same
and the other gold ones are left out of the comparison. A teacher, where there is one, says besides
how well each turn fits.
"""

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from training.bert import Reader
from training.conversations import Conversation, Question
from training.tokens import Tokens

NEAR = 0.9  #: turns that the untrained model finds this similar to a gold one are not wrong
CHUNK = 512  #: rows that are encoded together when nothing is learned


@dataclass(frozen=True, slots=True)
class Plan:
    """How to learn; the numbers are those of the model that is shipped."""

    seed: int = 1
    epochs: int = 2
    rate: float = 5e-5
    temperature: float = 0.05
    conversations: int = 6  #: of a step
    questions: int = 64  #: of a conversation in a step
    turns: int = 320  #: of a conversation in a step
    longest: int = 128  #: tokens of a text
    dropout: float = 0.1
    taught: float = 0.9  #: what the loss against the teacher counts, if there is one


@dataclass(slots=True)
class Visit:
    """A conversation in a step: some of its questions and the turns that they are compared with."""

    asked: list[int]  #: numbers of the questions' texts
    turns: list[int]  #: numbers of the turns' texts
    gold: np.ndarray  #: questions by turns
    left: np.ndarray  #: what is left out of the comparison
    told: np.ndarray | None = None  #: what a teacher says of each turn; NaN where it says nothing


class Material:
    """Conversations as numbers of texts."""

    def __init__(self, conversations: Sequence[Conversation], tokens: Tokens) -> None:
        self.conversations = [one for one in conversations if one.questions]
        #: For each conversation what a teacher says, questions by turns.
        self.told: list[np.ndarray] = []
        self.turns = [tokens.numbers(one.texts) for one in self.conversations]
        self.asked = [
            tokens.numbers(asked.text for asked in one.questions) for one in self.conversations
        ]

    def visits(self, plan: Plan, chance: random.Random) -> list[tuple[int, list[int]]]:
        """An epoch: every question once, those of a conversation in handfuls."""
        found: list[tuple[int, list[int]]] = []
        for index, one in enumerate(self.conversations):
            order = list(range(len(one.questions)))
            chance.shuffle(order)
            handfuls = math.ceil(len(order) / plan.questions)
            found += [(index, order[start::handfuls]) for start in range(handfuls)]
        chance.shuffle(found)
        return found

    def visit(
        self, index: int, chosen: Sequence[int], plan: Plan, chance: random.Random, base: Tensor
    ) -> Visit:
        """The questions of a handful, the turns around them, and which are right."""
        questions = [self.conversations[index].questions[i] for i in chosen]
        total = len(self.turns[index])
        needed = {turn for asked in questions for turn in (*asked.gold, *asked.hard[:4])}
        rest = [turn for turn in range(total) if turn not in needed]
        chance.shuffle(rest)
        places = sorted(needed) + rest[: max(0, plan.turns - len(needed))]
        numbers = [self.turns[index][place] for place in places]
        gold = _gold(questions, places)
        left = _beside(questions, places)
        if self.conversations[index].source.startswith("facts"):
            left[:] = False  # what stands beside a statement made by rule answers nothing
        vectors = base[numbers].float()
        alike = (vectors @ vectors.T > NEAR).cpu().numpy()
        left |= (gold.astype(np.float32) @ alike.astype(np.float32)) > 0
        left &= ~gold
        told = self.told[index][np.ix_(chosen, places)] if self.told else None
        return Visit([self.asked[index][i] for i in chosen], numbers, gold, left, told)


def _gold(questions: Sequence[Question], places: Sequence[int]) -> np.ndarray:
    column = {place: number for number, place in enumerate(places)}
    gold = np.zeros((len(questions), len(places)), dtype=bool)
    for row, asked in enumerate(questions):
        gold[row, [column[turn] for turn in asked.gold]] = True
    return gold


def _beside(questions: Sequence[Question], places: Sequence[int]) -> np.ndarray:
    column = {place: number for number, place in enumerate(places)}
    left = np.zeros((len(questions), len(places)), dtype=bool)
    for row, asked in enumerate(questions):
        for turn in asked.gold:
            for near in (turn - 1, turn + 1):
                if near in column:
                    left[row, column[near]] = True
    return left


class Texts:
    """Token numbers on the device, ready to be encoded by number."""

    def __init__(self, tokens: Tokens, device: str) -> None:
        self.lengths = np.array([len(row) + 2 for row in tokens.rows])
        whole = tokens.single(range(len(tokens.rows)))
        self.ids = torch.from_numpy(whole.astype(np.int32)).to(device)

    def encode(self, model: Reader, numbers: Sequence[int], pieces: int, dropout: float) -> Tensor:
        """Vectors of texts, those of similar length together."""
        order = np.argsort(self.lengths[list(numbers)], kind="stable")
        made: list[Tensor] = []
        for part in np.array_split(order, pieces):
            if len(part):
                rows = np.asarray(numbers)[part]
                ids = self.ids[rows, : int(self.lengths[rows].max())].long()
                made.append(model.sentence(ids, ids != model.padding, dropout))
        back = torch.from_numpy(np.argsort(order, kind="stable")).to(self.ids.device)
        return torch.cat(made)[back]

    def encode_all(self, model: Reader, numbers: Sequence[int]) -> Tensor:
        """Vectors of many texts, with nothing learned."""
        model.eval()
        pieces = math.ceil(len(numbers) / CHUNK)
        with torch.no_grad(), half(self.ids.device.type):
            return self.encode(model, numbers, pieces, 0.0)


def half(kind: str) -> torch.autocast:
    """Sixteen bits where the device is fast with them."""
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda")


def loss_of(
    questions: Tensor, turns: Tensor, visits: Sequence[Visit], plan: Plan
) -> tuple[Tensor, Tensor]:
    """How far the questions are from finding their turns, and the logits by which they search."""
    device = questions.device
    logits = questions @ turns.T / plan.temperature
    gold = torch.from_numpy(_blocks([visit.gold for visit in visits], False)).to(device)
    left = torch.from_numpy(_blocks([visit.left for visit in visits], True)).to(device)
    wrong = torch.logsumexp(logits.masked_fill(gold | left, -1e4), dim=1, keepdim=True)
    each = torch.logaddexp(logits, wrong) - logits
    share = gold.float() / gold.sum(1, keepdim=True).clamp(min=1)
    return (each * share).sum(1).mean(), logits


def taught(logits: Tensor, visits: Sequence[Visit]) -> Tensor:
    """How far the questions' order of turns is from a teacher's, where the teacher speaks."""
    told = [visit.told for visit in visits if visit.told is not None]
    wanted = torch.from_numpy(_blocks(told, np.nan)).to(logits.device)
    unsaid = wanted.isnan()
    wanted = torch.log_softmax(wanted.masked_fill(unsaid, -1e4), dim=1)
    found = torch.log_softmax(logits.masked_fill(unsaid, -1e4), dim=1)
    return torch.nn.functional.kl_div(found, wanted, log_target=True, reduction="batchmean")


def _blocks(parts: Sequence[np.ndarray], fill: float) -> np.ndarray:
    rows, columns = (sum(part.shape[axis] for part in parts) for axis in (0, 1))
    whole = np.full((rows, columns), fill, dtype=parts[0].dtype)
    row = column = 0
    for part in parts:
        whole[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return whole


def steps(material: Material, plan: Plan, base: Tensor) -> Iterator[list[Visit]]:
    """The visits of every step."""
    chance = random.Random(plan.seed)
    for _ in range(plan.epochs):
        order = material.visits(plan, chance)
        for start in range(0, len(order), plan.conversations):
            yield [
                material.visit(index, chosen, plan, chance, base)
                for index, chosen in order[start : start + plan.conversations]
            ]


def learn(
    model: Reader,
    material: Material,
    texts: Texts,
    plan: Plan,
) -> None:
    """Teach a model in place."""
    torch.manual_seed(plan.seed)
    everything = list(range(len(texts.lengths)))
    base = texts.encode_all(model, everything)
    handfuls = sum(math.ceil(len(one.questions) / plan.questions) for one in material.conversations)
    total = plan.epochs * math.ceil(handfuls / plan.conversations)
    moved = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(moved, lr=plan.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (0.1 * total)) * max(0.0, 1 - step / total)
    )
    model.train()
    began = time.perf_counter()
    for step, visits in enumerate(steps(material, plan, base)):
        asked = [number for visit in visits for number in visit.asked]
        turns = [number for visit in visits for number in visit.turns]
        with half(texts.ids.device.type):
            both = texts.encode(model, asked + turns, 6, plan.dropout)
        loss, logits = loss_of(both[: len(asked)], both[len(asked) :], visits, plan)
        if material.told:
            loss = (1 - plan.taught) * loss + plan.taught * taught(logits, visits)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(moved, 1.0)
        optimizer.step()
        schedule.step()
        if step % 25 == 0:
            spent = time.perf_counter() - began
            print(f"step {step} of {total}: loss {loss.item():.4f}, {spent:.0f} s", flush=True)
    model.eval()
