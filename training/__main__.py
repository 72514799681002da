"""Train, average, judge and save: `python -m training --help`.

Needs torch beside the tools of requirements/dev.txt, and onnx for the export. With a GPU it takes
minutes, on a CPU hours; --smoke takes a minute anywhere and makes nothing that one would want.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from recollect.measuring.reading import read as read_sets
from training import base, facts, leaks
from training.bert import Encoder, Reader
from training.conversations import Conversation, read
from training.exporting import save
from training.judging import Judge
from training.learning import Material, Plan, Texts, learn
from training.mpnet import MARKS, Teacher
from training.tokens import Tokens

TEACHER = Plan(rate=3e-5)
FACTS_SEED, FACTS = 11, 230  #: conversations made by rule
JUDGED_TOKENS = 256
SMOKE = replace(Plan(), epochs=1, conversations=2, questions=8, turns=24)


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, help="conversations with questions, see README.md")
    add("--measure", type=Path, required=True, help="sets to judge with; nothing is learned there")
    add("--out", type=Path, required=True, help="folder for checkpoints")
    add("--teacher", type=Path, help="folder with model.safetensors and vocab.txt of MPNet")
    add("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one model each, averaged")
    add("--smoke", action="store_true", help="a few steps on a few turns")
    return parser.parse_args()


def main() -> None:
    """The whole way from data to a checkpoint."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    conversations = gathered(given.data, smoke=given.smoke)
    report_leaks(conversations, given.measure)
    published, vocabulary = base.fetch()
    lines = vocabulary.decode().split("\n")[:-1]
    material = Material(conversations, tokens := Tokens(lines, Plan().longest))
    if given.teacher:
        material.told = told(conversations, given.teacher, device, smoke=given.smoke)
    judge = None if given.smoke else Judge(given.measure)
    learned: list[dict[str, NDArray[np.float32]]] = []
    for seed in given.seeds:
        began = time.perf_counter()
        model = Encoder(published).to(device)
        learn(model, material, Texts(tokens, device), replace(plan(given.smoke), seed=seed))
        print(f"seed {seed}: {time.perf_counter() - began:.0f} s")
        learned.append(model.weights())
        save(given.out / f"seed-{seed}.npz", learned[-1])
        if judge:
            print_table(judge, model, lines, device)
    mean = {name: np.mean([one[name] for one in learned], axis=0) for name in learned[0]}
    save(given.out / "checkpoint.npz", mean)
    if judge:
        print("the average of all seeds")
        print_table(judge, Encoder(mean).to(device), lines, device)
    print(f"python -m training.exporting {given.out / 'checkpoint.npz'}")


def plan(smoke: bool) -> Plan:
    """How the model that is shipped learns, or how one tries whether anything does."""
    return SMOKE if smoke else Plan()


def gathered(data: Path, *, smoke: bool) -> list[Conversation]:
    """What is learned from: the file, and what is made by rule among its small talk."""
    found = list(read(data))
    made = facts.make(FACTS_SEED, 1 if smoke else FACTS, *facts.small_talk(found))
    return [_first(one) for one in [*islice(found, 2), *made]] if smoke else [*found, *made]


def _first(one: Conversation) -> Conversation:
    """The first turns of a conversation, with some of the questions that they answer."""
    turns = one.turns[: SMOKE.turns]
    fitting = (asked for asked in one.questions if max(asked.gold + asked.hard) < len(turns))
    return replace(one, turns=turns, questions=tuple(islice(fitting, SMOKE.questions)))


def report_leaks(conversations: Sequence[Conversation], measured: Path) -> None:
    """Print every eight words in a row that the data shares with the sets to judge with."""
    shared = leaks.shared(_everything(conversations), _measured(measured))
    for run, text in shared.items():
        print(f"shared: {' '.join(run)} | {text[:80]}")
    print(f"{len(shared)} runs of {leaks.WORDS} words shared with the sets to judge with")


def _everything(conversations: Sequence[Conversation]) -> Iterator[str]:
    for one in conversations:
        yield from (text for _, text in one.turns)
        yield from (asked.text for asked in one.questions)


def _measured(folder: Path) -> Iterator[str]:
    for one in read_sets(folder):
        yield from (case.question for case in one.cases)
        for conversation in one.conversations.values():
            for session in conversation.sessions:
                yield from (turn.text for turn in session.turns)


def told(
    conversations: Sequence[Conversation], folder: Path, device: str, *, smoke: bool
) -> list[NDArray[np.float16]]:
    """What a larger model, taught in the same way first, says of all turns of each conversation."""
    weights = base.tensors((folder / "model.safetensors").read_bytes())
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    material = Material(conversations, tokens := Tokens(lines, TEACHER.longest, MARKS))
    model, texts = Teacher(weights).to(device), Texts(tokens, device)
    learn(model, material, texts, SMOKE if smoke else TEACHER)
    vectors = texts.encode_all(model, range(len(tokens.rows))).float()
    return [
        (vectors[asked] @ vectors[turns].T / TEACHER.temperature).half().cpu().numpy()
        for asked, turns in zip(material.asked, material.turns, strict=True)
    ]


def print_table(judge: Judge, model: Reader, lines: Sequence[str], device: str) -> None:
    """Recall by the vectors alone, per set and category."""

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        tokens = Tokens(lines, JUDGED_TOKENS)
        numbers = tokens.numbers(texts)
        return Texts(tokens, device).encode_all(model, numbers).float().cpu().numpy()

    for name, rows in judge.table(encode).items():
        for row, recalls in rows.items():
            print(f"{name:18s} {row:26s}", *(f"{recall:6.1f}" for recall in recalls))


if __name__ == "__main__":
    main()
