"""Texts as token numbers: by the package's own tokenizer, cut, once for each text."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.models.embedding.wordpiece import CLS, PAD, SEP, WordPiece


class Tokens:
    """The token numbers of texts by number, of at most so many tokens."""

    def __init__(
        self, vocabulary: Sequence[str], longest: int, marks: Sequence[str] = (CLS, SEP, PAD)
    ) -> None:
        self.pieces = WordPiece(vocabulary)
        self.longest = longest
        self.first, self.last, self.padding = map(self.pieces.id, marks)
        self.rows: list[list[int]] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        known = self._numbers.get(text)
        if known is None:
            known = self._numbers[text] = len(self.rows)
            self.rows.append(self.pieces.ids(text)[: self.longest - 2])
        return known

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """The numbers of texts."""
        return [self.number(text) for text in texts]

    def single(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        """One text a row, between the marks of beginning and end."""
        return self._filled([self.rows[number] for number in numbers])

    def _filled(self, rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        shape = (len(rows), max(map(len, rows)) + 2)
        filled = np.full(shape, self.padding, dtype=np.int64)
        for line, row in enumerate(rows):
            filled[line, 0] = self.first
            filled[line, 1 : len(row) + 1] = row
            filled[line, len(row) + 1] = self.last
        return filled
