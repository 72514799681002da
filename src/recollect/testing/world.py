"""A world that can be repeated: a clock that stands, chance with a seed, an embedder by hashing."""

import random
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from recollect.domain import times
from recollect.domain.times import Moment
from recollect.ports.embedder import Purpose
from recollect.retrieval.analyser import Analyser


class FrozenClock:
    """A clock that stands until it is told to move.

    >>> clock = FrozenClock("2026-03-01")
    >>> clock.advance(days=30)
    """

    def __init__(self, at: Moment = "2026-01-01") -> None:
        self._now = times.parse(at, field="at")

    def now(self) -> int:
        """Microseconds since 1970 in UTC."""
        return self._now

    def set(self, at: Moment) -> None:
        """Stand at another moment, earlier or later."""
        self._now = times.parse(at, field="at")

    def advance(self, **by: float) -> None:
        """Move by `days`, `hours`, `minutes`, `seconds`, … as `timedelta` takes them."""
        self._now += timedelta(**by) // times.MICROSECOND


class SeededEntropy:
    """Bytes that look random and are the same for the same seed, so that ids are too.

    >>> SeededEntropy(1).bytes(4) == SeededEntropy(1).bytes(4)
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        """That many bytes."""
        return self._random.randbytes(count)


class HashEmbedder:
    """Vectors without a model: each term of a text adds to one dimension, chosen by its hash.

    Texts that share terms are near each other, so search by meaning can be tested, but it finds
    nothing that search by words would not.

    >>> HashEmbedder(64).space
    'hash-64'
    """

    inline = True

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.space = f"hash-{dimensions}"
        self._analyser = Analyser()

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row of unit length per text, whatever the purpose."""
        rows = np.stack([self._row(text) for text in texts])
        lengths: NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / lengths

    def _row(self, text: str) -> NDArray[np.float32]:
        row = np.zeros(self.dimensions, dtype=np.float32)
        for term in self._analyser.terms(text):
            number = self._analyser.number(term)
            row[number % self.dimensions] += 1.0
        if not row.any():
            row[0] = 1.0  # a text without terms needs a direction too
        return row
