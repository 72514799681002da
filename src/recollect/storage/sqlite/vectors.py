"""The vectors of one place in one embedding space, held in memory as int8.

A memory has one vector for each passage of its text; it lies as near as its nearest passage.
"""

import numpy as np
from numpy.typing import NDArray

BLOCK = 2048


class VectorBlock:
    """Codes and scales by passage, and the slot that each passage belongs to."""

    def __init__(self, dimensions: int, room: int) -> None:
        self.absent: set[int] = set()  # slots that are known to have no vector
        self._codes = np.zeros((room, dimensions), dtype=np.int8)
        self._scales = np.zeros(room, dtype=np.float32)
        self._owners = np.zeros(room, dtype=np.int32)
        self._size = 0
        self._aligned = True  # passage n belongs to slot n
        self._buffer = np.empty((BLOCK, dimensions), dtype=np.float32)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._codes.shape[1]

    def add(
        self, owners: NDArray[np.int32], codes: NDArray[np.int8], scales: NDArray[np.float32]
    ) -> None:
        """Take over passages."""
        start, stop = self._size, self._size + len(owners)
        self._make_room(stop)
        self._codes[start:stop] = codes
        self._scales[start:stop] = scales
        self._owners[start:stop] = owners
        self._aligned = self._aligned and bool(np.array_equal(owners, np.arange(start, stop)))
        self._size = stop

    def holders(self, slots: int) -> NDArray[np.bool_]:
        """Which slots have a vector."""
        held = np.zeros(slots, dtype=bool)
        held[self._owners[: self._size]] = True
        return held

    def similarities(self, vector: NDArray[np.float32], slots: int) -> NDArray[np.float32]:
        """The approximate cosine of every slot; NaN where there is no vector."""
        found = np.empty(self._size, dtype=np.float32)
        for start in range(0, self._size, BLOCK):
            stop = min(start + BLOCK, self._size)
            block = self._buffer[: stop - start]
            block[...] = self._codes[start:stop]
            np.dot(block, vector, out=found[start:stop])
        found *= self._scales[: self._size]
        out = np.full(slots, np.nan, dtype=np.float32)
        if self._aligned:
            out[: self._size] = found
        else:
            np.fmax.at(out, self._owners[: self._size], found)
        return out

    def _make_room(self, size: int) -> None:
        if size <= len(self._scales):
            return
        room = max(size, len(self._scales) * 3 // 2 + 64)
        for name in ("_codes", "_scales", "_owners"):
            before = getattr(self, name)
            after = np.zeros((room, *before.shape[1:]), dtype=before.dtype)
            after[: self._size] = before[: self._size]
            setattr(self, name, after)
