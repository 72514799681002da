"""Sketches: what is alike is found without comparing each with each."""

import numpy as np
import pytest

from recollect.retrieval.sketching import EXACT_MAX, Sketch, grouped, settled


def planted(size: int, groups: int, noise: float) -> tuple[np.ndarray, list[set[int]]]:
    """Random vectors, and among them groups of four that are alike."""
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((size, 64)).astype(np.float32)
    members = chance.permutation(size)[: groups * 4].reshape(groups, 4)
    for row in members:
        near = vectors[row[0]] + noise * chance.standard_normal((4, 64)).astype(np.float32)
        vectors[row] = near
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, [set(row.tolist()) for row in members]


@pytest.mark.parametrize(("size", "noise", "found_least"), [(900, 0.5, 0.95), (6000, 0.3, 0.9)])
def test_what_is_alike_is_found_among_few_and_among_many(
    size: int, noise: float, found_least: float
) -> None:
    assert (size > EXACT_MAX) is (size == 6000)
    vectors, groups = planted(size, 50, noise)
    sketch = Sketch()
    for start in range(0, size, 500):
        part = vectors[start : start + 500]
        sketch.add(list(range(start, start + len(part))), part)
    found = [set(group) for group in grouped(sketch.pairs(0.7), 10)]
    whole = sum(any(group <= one for one in found) for group in groups)
    assert whole / len(groups) >= found_least


def test_the_most_alike_come_first_and_each_pair_once() -> None:
    vectors, _ = planted(300, 20, 0.4)
    sketch = Sketch()
    sketch.add(list(range(1000, 1300)), vectors)
    pairs = sketch.pairs(0.5)
    likeness = [one for _, _, one in pairs]
    assert likeness == sorted(likeness, reverse=True)
    assert len({(left, right) for left, right, _ in pairs}) == len(pairs)
    assert all(1000 <= left < right < 1300 for left, right, _ in pairs)


def test_nothing_and_one_have_no_pairs() -> None:
    sketch = Sketch()
    assert sketch.pairs(0.1) == []
    sketch.add([7], np.ones((1, 8), dtype=np.float32))
    assert sketch.pairs(0.1) == []


def test_groups_grow_along_the_best_pairs_up_to_their_limit() -> None:
    pairs = [(1, 2, 0.9), (3, 4, 0.8), (2, 3, 0.7), (4, 5, 0.6)]
    assert grouped(pairs, 10) == [[1, 2, 3, 4, 5]]
    assert sorted(grouped(pairs, 3)) == [[1, 2], [3, 4, 5]]


def test_a_chain_is_settled_into_what_really_is_alike() -> None:
    alike = np.eye(6)
    for left, right in ((0, 1), (1, 2), (3, 4), (4, 5), (2, 3)):
        alike[left, right] = alike[right, left] = 0.9
    found = settled(alike, 0.7, 3)
    assert sorted(map(len, found)) == [3, 3]
    assert settled(alike, 0.95, 2) == []
