"""How well vectors find evidence: recall at 5, 10 and 20 on sets that nothing was learned from.

Reads a set as the package's own bench does, cuts turns into passages as the engine does, and
ranks the turns of a question's conversation by their best passage alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.passages import WORDS_MAX, passages
from recollect.measuring.data import Case, Conversation, DataSet
from recollect.measuring.reading import read
from training.conversations import spoken

CUTS = (5, 10, 20)
Matrix = NDArray[Any]
#: Texts to vectors of unit length.
Encode = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question that counts, and the similarity of every turn of its conversation to it."""

    case: Case
    turns: tuple[str, ...]
    similarity: Matrix

    def recall(self, cut: int) -> float:
        """The share of its evidence among the first turns."""
        order = np.argsort(-self.similarity, kind="stable")[:cut]
        return len({self.turns[i] for i in order} & set(self.case.evidence)) / len(
            set(self.case.evidence)
        )


class Judge:
    """The sets of a folder, cut into passages once."""

    def __init__(self, folder: Path) -> None:
        self.sets = read(folder)
        self._texts: dict[str, int] = {}
        self._cut: dict[str, list[int]] = {}
        for one in self.sets:
            for conversation in one.conversations.values():
                for text in _texts(conversation):
                    self._passages(text)

    def _passages(self, text: str) -> list[int]:
        known = self._cut.get(text)
        if known is None:
            speaker, _, said = text.partition("\0")
            parts = [said] if len(said.split()) <= WORDS_MAX else list(passages(said))
            named = [spoken(speaker, part) for part in parts] or [spoken(speaker, said)]
            known = [self._texts.setdefault(part, len(self._texts)) for part in named]
            self._cut[text] = known
        return known

    def judged(self, encode: Encode) -> Iterator[tuple[DataSet, list[Judged]]]:
        """Every set's questions with what the vectors say of them."""
        vectors = encode(list(self._texts))
        for one in self.sets:
            counted = [case for case in one.cases if case.counts]
            asked = encode([case.question for case in counted])
            yield (
                one,
                [
                    self._judged(one.conversations[case.conversation], case, vector, vectors)
                    for case, vector in zip(counted, asked, strict=True)
                ],
            )

    def _judged(
        self, conversation: Conversation, case: Case, question: Matrix, vectors: Matrix
    ) -> Judged:
        turns = tuple(turn.id for session in conversation.sessions for turn in session.turns)
        parts = [self._cut[text] for text in _texts(conversation)]
        flat = np.concatenate([np.array(part) for part in parts])
        starts = np.cumsum([0, *map(len, parts)])[:-1]
        return Judged(case, turns, np.maximum.reduceat(vectors[flat] @ question, starts))

    def table(self, encode: Encode) -> dict[str, dict[str, tuple[float, ...]]]:
        """Recall in percent at each cut: per set over all questions that count, and by category."""
        told: dict[str, dict[str, tuple[float, ...]]] = {}
        for one, judged in self.judged(encode):
            rows = {"all": judged}
            for answer in judged:
                rows.setdefault(answer.case.category, []).append(answer)
            told[one.name] = {
                name: tuple(
                    round(100 * float(np.mean([a.recall(cut) for a in answers])), 1) for cut in CUTS
                )
                for name, answers in rows.items()
            }
        return told


def _texts(conversation: Conversation) -> Iterator[str]:
    for session in conversation.sessions:
        for turn in session.turns:
            yield f"{turn.speaker}\0{turn.text}"
