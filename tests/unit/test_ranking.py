"""Scores from candidates: what stands out counts, and what cannot stand out is not lost."""

import pytest

from recollect import Memory
from recollect.testing import open_memory

HOME, FOOD = [1.0, 0.1, 0.0], [0.0, 1.0, 0.1]


@pytest.fixture
def memory() -> Memory:
    return open_memory()


def test_a_single_memory_is_found_by_its_meaning_alone(memory: Memory) -> None:
    memory.remember("I moved to Lisbon.", vector=HOME)
    (hit,) = memory.recall("Where does she live?", vector=[1.0, 0.0, 0.0])
    assert hit.why.shares["meaning"] > 0
    assert len(memory.recall("Where does she live?", vector=[-1.0, 0.0, 0.0])) == 0


def test_memories_that_are_all_equally_near_are_all_found(memory: Memory) -> None:
    memory.remember_many([{"text": f"Home number {n}.", "vector": HOME} for n in range(3)])
    assert len(memory.recall("Where does she live?", vector=HOME)) == 3


def test_among_others_only_what_is_nearer_than_the_average_is_a_hit(memory: Memory) -> None:
    memory.remember("I moved to Lisbon.", vector=HOME)
    memory.remember("On Sundays I bake bread.", vector=FOOD)
    hits = memory.recall("Where does she live?", vector=HOME)
    assert [hit.text for hit in hits] == ["I moved to Lisbon."]
