"""1.14: what the caller hands over is used as it is, and stays the caller's."""

import copy
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain.errors import ValidationError
from recollect.testing import HashEmbedder
from tests.faces import FACES, opened

pytestmark = pytest.mark.acceptance("1.14")


def test_metadata_is_neither_changed_nor_kept(ana: Memory) -> None:
    given = {"tags": ["a"], "deep": {"n": 1}}
    before = copy.deepcopy(given)
    stored = ana.remember("I moved to Lisbon.", metadata=given)
    ana.update(stored.id, metadata={**given, "more": True})
    assert given == before
    given["deep"]["n"] = 2  # type: ignore[index]
    assert ana.get(stored.id).metadata == {**before, "more": True}
    ana.get(stored.id).metadata["deep"]["n"] = 3
    assert ana.get(stored.id).metadata["deep"] == {"n": 1}


def test_a_given_vector_is_what_the_memory_is_found_by(ana: Memory) -> None:
    east = ana.remember("east", vector=[1, 0, 0])
    ana.remember("north", vector=[0, 1, 0])
    found = ana.recall("nothing says this", vector=[0.9, 0.1, 0])
    assert found.top is not None
    assert found.top.id == east.id
    assert found.top.why.shares["meaning"] > 0
    assert found.top.why.shares["meaning"] > 0


@pytest.mark.parametrize("face", FACES)
def test_a_given_vector_comes_before_the_embedder(face: str, tmp_path: Path) -> None:
    with opened(face, tmp_path, embedder=HashEmbedder(3)) as world:
        given = [1.0, 0.0, 0.0]
        stored = world.memory.remember("tea", vector=given)
        world.memory.remember("north", vector=[0, 1, 0])
        top = world.memory.recall("no such word", vector=given).top
        assert top is not None
        assert top.id == stored.id


@pytest.mark.parametrize("face", FACES)
def test_a_vector_of_another_dimension_is_refused(face: str, tmp_path: Path) -> None:
    with opened(face, tmp_path, embedder=HashEmbedder(8)) as world:
        for ask in (world.memory.remember, world.memory.recall):
            with pytest.raises(ValidationError, match=r"3 dimensions.* 8"):
                ask("tea", vector=[1, 0, 0])
        assert world.memory.count() == 0


def test_the_first_vector_sets_the_dimension(ana: Memory) -> None:
    ana.remember("three", vector=[1, 0, 0])
    with pytest.raises(ValidationError, match=r"2 dimensions.* 3"):
        ana.remember("two", vector=[1, 0])
    assert ana.count() == 1


def test_what_is_no_vector_is_refused(ana: Memory) -> None:
    nan, infinity = float("nan"), float("inf")
    bad: list[Any] = [[], [nan, 1], [infinity, 1], [0, 0], [[1, 2]], "text", [None, 1], [1] * 8193]
    for vector in bad:
        with pytest.raises(ValidationError) as failure:
            ana.remember("text", vector=vector)
        assert failure.value.field == "vector", vector
    assert ana.count() == 0
