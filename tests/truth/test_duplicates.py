"""What says the same as a memory strengthens it; nothing that is new is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.domain.sameness import plain
from recollect.testing import open_memory
from tests.faces import FACES, World, opened


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def ana(world: World) -> Memory:
    return world.memory.scope(user="ana")


def test_what_is_said_again_is_the_same_memory_and_more_important(
    ana: Memory, world: World
) -> None:
    first = ana.remember("I like green tea.")
    world.clock.advance(days=3)
    again = ana.remember("i like  green tea")
    assert first.outcome == "stored"
    assert first.similar is None
    assert again.outcome == "similar"
    assert again.similar == again.memory == ana.get(first.id)
    assert again.memory.reinforcements == 1
    assert again.memory.importance == pytest.approx(0.6)
    assert (again.memory.reinforced_at or first.memory.created_at) > first.memory.created_at
    assert ana.count() == 1
    assert [one.event.action for one in ana.history(first.id)] == ["remember", "reinforce"]


def test_a_repetition_can_be_taken_back(ana: Memory) -> None:
    first = ana.remember("I like green tea.").memory
    ana.remember("I like green tea!")
    ana.undo(ana.history(first.id)[-1].event.id)
    assert ana.get(first.id).importance == first.importance
    assert ana.get(first.id).reinforcements == 0


def test_force_stores_it_all_the_same(ana: Memory) -> None:
    first = ana.remember("I like green tea.")
    assert ana.remember("I like green tea.", force=True).id != first.id
    ana.remember_many([{"text": "I like green tea.", "force": True}])
    assert ana.count() == 3


def test_a_batch_notices_what_is_known_and_what_it_says_twice(ana: Memory) -> None:
    ana.remember("one")
    batch = ana.remember_many(["one", "two", "Two!", "three"])
    assert [one.outcome for one in batch.stored] == ["similar", "stored", "similar", "stored"]
    assert ana.count() == 3


def test_what_happened_on_two_days_happened_twice(ana: Memory) -> None:
    for day in ("2026-01-03", "2026-01-04", "2026-01-04"):
        ana.remember("Went running.", kind="episode", occurred_at=day)
    assert ana.count() == 2
    for day in ("2026-01-03", "2026-01-04"):
        ana.remember("I like running.", kind="preference", occurred_at=day)
    assert ana.count(kind="preference") == 1


def test_a_question_is_not_its_answer(ana: Memory) -> None:
    ana.remember("Tea is ready.")
    ana.remember("Tea is ready?")
    assert ana.count() == 2


def test_messages_stay_verbatim(ana: Memory) -> None:
    chat = ana.session("s")
    chat.add("user", "hello")
    chat.add("user", "hello")
    assert [one.text for one in chat.messages()] == ["hello", "hello"]


def test_a_repetition_does_not_owe_a_vector(tmp_path: Path) -> None:
    with open_memory() as memory:
        memory.remember("tea")
        told = memory.remember("tea")
        assert not told.pending_embedding
        assert memory.stats()["jobs"] == 0


def test_duplicates_can_be_kept(tmp_path: Path) -> None:
    with open_memory(duplicates="keep") as memory:
        memory.remember("tea")
        assert memory.remember("tea").outcome == "stored"
        assert memory.count() == 2


@given(st.text())
def test_what_is_plain_stays_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert plain(f"  {text}\n") == plain(text)
