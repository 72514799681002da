"""Sketches: which of very many vectors are alike, without comparing each with each.

A vector becomes 256 bits: on which side of 256 random planes it lies. The share of bits in which
two differ estimates their angle. Among a few thousand all pairs are compared; among more, all are
sorted by several choices of their bits, and each is compared with those that come next: what is
very alike stands close together in most of these orders. That takes n log n and 40 bytes a vector.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

BITS = 256
BYTES = BITS // 8
#: So many are compared each with each.
EXACT_MAX = 2048
#: Orders, and in each of them how many that come next are compared.
ORDERS, NEXT = 12, 8
#: An estimate may be so much too low.
MARGIN = 0.1
#: Of each vector the best so many neighbours count.
NEIGHBOURS_MAX = 8
BLOCK = 4096
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)
Pair = tuple[int, int, float]


class Sketch:
    """The bits of vectors, each with a number that the caller knows it by."""

    def __init__(self) -> None:
        self._numbers: list[NDArray[np.int64]] = []
        self._bits: list[NDArray[np.uint8]] = []
        self._planes: NDArray[np.float32] | None = None
        self.size = 0

    def add(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Take over vectors, a row each."""
        if self._planes is None:
            chance = np.random.default_rng(vectors.shape[1])
            shape = (vectors.shape[1], BITS)
            self._planes = chance.standard_normal(shape, dtype=np.float32)
        self._numbers.append(np.array(numbers, dtype=np.int64))
        self._bits.append(np.packbits(vectors @ self._planes > 0, axis=1))
        self.size += len(numbers)

    def pairs(self, similarity: float) -> list[Pair]:
        """Pairs of numbers that are about as similar as that or more, the most similar first."""
        if self.size < 2:
            return []
        numbers, bits = np.concatenate(self._numbers), np.concatenate(self._bits)
        found = _all_pairs(bits) if self.size <= EXACT_MAX else _sorted_pairs(bits)
        first, second, likeness = _best(*_alike(found, similarity - MARGIN), len(bits))
        left, right = numbers[first].tolist(), numbers[second].tolist()
        return list(zip(left, right, likeness.tolist(), strict=True))


_Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


def _cosines(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The cosine that the bits of two vectors speak for."""
    differing = _ONES[left ^ right].sum(axis=-1, dtype=np.int32)
    cosines: NDArray[np.float32] = np.cos(np.pi * differing / BITS).astype(np.float32)
    return cosines


def _all_pairs(bits: NDArray[np.uint8]) -> Iterable[_Found]:
    for line in range(len(bits) - 1):
        others = np.arange(line + 1, len(bits), dtype=np.int64)
        yield np.full(len(others), line, dtype=np.int64), others, _cosines(bits[line], bits[others])


def _sorted_pairs(bits: NDArray[np.uint8]) -> Iterable[_Found]:
    chance = np.random.default_rng(len(bits))
    unpacked = np.unpackbits(bits, axis=1)
    for _ in range(ORDERS):
        chosen = chance.choice(BITS, 64, replace=False)
        packed = np.ascontiguousarray(np.packbits(unpacked[:, chosen], axis=1))
        keys = packed.view(">u8").reshape(-1)
        order = np.argsort(keys, kind="stable").astype(np.int64)
        for step in range(1, NEXT + 1):
            for start in range(0, len(order) - step, BLOCK):
                left = order[start : start + BLOCK][: len(order) - step - start]
                right = order[start + step : start + step + len(left)]
                yield (
                    np.minimum(left, right),
                    np.maximum(left, right),
                    _cosines(bits[left], bits[right]),
                )


def _alike(found: Iterable[_Found], least: float) -> _Found:
    """Those pairs that are alike enough, each once, the most alike first."""
    kept = [tuple(part[alike >= least] for part in (i, j, alike)) for i, j, alike in found]
    first, second, likeness = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    _, once = np.unique(first << 32 | second, return_index=True)
    order = once[np.argsort(-likeness[once], kind="stable")]
    return first[order], second[order], likeness[order]


def _best(
    first: NDArray[np.int64], second: NDArray[np.int64], likeness: NDArray[np.float32], size: int
) -> _Found:
    """Of each vector its nearest neighbours; the pairs come with the most alike first."""
    ends = np.concatenate([first, second])
    rank = np.empty(len(ends), dtype=np.int64)
    order = np.lexsort((np.tile(np.arange(len(first)), 2), ends))
    starts = np.searchsorted(ends[order], np.arange(size))
    rank[order] = np.arange(len(ends)) - starts[ends[order]]
    near = np.minimum(rank[: len(first)], rank[len(first) :]) < NEIGHBOURS_MAX
    return first[near], second[near], likeness[near]


def grouped(pairs: Iterable[Pair], most: int) -> list[list[int]]:
    """Groups of at most so many, joined along the pairs in the order given."""
    group_of: dict[int, list[int]] = {}
    for left, right, _ in pairs:
        mine, other = group_of.get(left, [left]), group_of.get(right, [right])
        if mine is other or len(mine) + len(other) > most:
            continue
        mine = [*mine, *other]
        for member in mine:
            group_of[member] = mine
    found = {id(group): group for group in group_of.values()}
    return [sorted(group) for group in found.values()]


def settled(alike: NDArray[np.float64], least: float, fewest: int) -> list[list[int]]:
    """The lines of a table of likeness in groups, each around the one that is most like the rest.

    >>> settled(np.array([[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]), 0.7, 2)
    [[0, 1]]
    """
    found: list[list[int]] = []
    rest = np.arange(len(alike))
    while len(rest) >= fewest:
        among = alike[np.ix_(rest, rest)] >= least
        near = among[int(among.sum(axis=1).argmax())]
        if np.count_nonzero(near) < fewest:
            break
        found.append(rest[near].tolist())
        rest = rest[~near]
    return found
