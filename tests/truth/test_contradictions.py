"""What answers a question anew supersedes what answered it before; nothing is guessed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing import open_memory
from tests.faces import FACES, World, opened


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def ana(world: World) -> Memory:
    return world.memory.scope(user="ana")


def test_a_new_answer_supersedes_the_old_one_and_both_are_kept(ana: Memory, world: World) -> None:
    old = ana.remember("I live in Lisbon.")
    world.clock.advance(days=10)
    new = ana.remember("I moved to Porto last week.")
    assert new.superseded == (old.id,)
    before = ana.get(old.id)
    assert (before.status, before.superseded_by) == ("superseded", new.id)
    assert before.valid_to == new.memory.created_at
    assert [one.text for one in ana.list()] == ["I moved to Porto last week."]
    assert [(one.source, one.kind, one.target) for one in ana.links(new)] == [
        (new.id, "supersedes", old.id)
    ]
    assert ana.recall("where do I live?", as_of="2026-01-05").top.id == old.id


def test_what_was_superseded_by_itself_can_be_taken_back(ana: Memory) -> None:
    old = ana.remember("My favourite tea is Sencha.")
    new = ana.remember("My favourite tea is Oolong.")
    ana.undo(ana.history(new.id)[-1].event.id)
    assert ana.get(old.id).status == "active"
    assert ana.get(old.id).superseded_by is None
    assert ana.get(new.id).status == "archived"
    assert ana.links(new) == []


def test_an_older_answer_that_is_learned_later_does_not_replace_a_newer_one(ana: Memory) -> None:
    new = ana.remember("I work at Acme.", occurred_at="2025-06-01")
    old = ana.remember("I work at Initech.", occurred_at="2019-03-01")
    assert ana.get(new.id).status == "active"
    late = ana.get(old.id)
    assert (late.status, late.superseded_by) == ("superseded", new.id)
    assert late.valid_to == new.memory.occurred_at
    assert ana.recall("Where did I work?", as_of="2020-01-01").top.id == old.id


def test_a_keyed_fact_is_what_the_caller_says_it_is(ana: Memory) -> None:
    old = ana.remember("Sencha, always.", attribute="tea", subject="Ana", value="Sencha")
    other = ana.remember("Bob takes Assam.", attribute="tea", subject="Bob", value="Assam")
    same = ana.remember("Sencha it is.", attribute="Tea", subject="ana", value="sencha")
    new = ana.remember("Oolong from now on.", attribute="tea", subject="Ana", value="Oolong")
    assert same.superseded == ()
    assert set(new.superseded) == {old.id, same.id}
    assert ana.get(other.id).status == "active"
    assert new.memory.metadata["fact"] == {"attribute": "tea", "subject": "Ana", "value": "Oolong"}
    corrected = ana.correct(new, "Earl Grey.")
    assert corrected.memory.metadata["fact"] == {"attribute": "tea", "subject": "Ana"}
    last = ana.remember("Mate!", attribute="tea", subject="Ana", value="Mate")
    assert last.superseded == (corrected.id,)


def test_within_one_batch_the_later_answer_wins(ana: Memory) -> None:
    batch = ana.remember_many(
        ["I live in Rome.", "I like figs.", "I moved to Oslo.", "I moved to Bern."]
    )
    stored = [one.id for one in batch.stored]
    statuses = [ana.get(id).status for id in stored]
    assert statuses == ["superseded", "active", "superseded", "active"]
    assert ana.get(stored[0]).superseded_by == stored[2]


def test_people_and_places_do_not_contradict_each_other(world: World) -> None:
    for user in ("ana", "bob"):
        assert world.memory.scope(user=user).remember(f"I live in {user}ville.").superseded == ()
    ana = world.memory.scope(user="ana")
    ana.remember("Bob lives in Bern.")
    ana.remember("My sister lives in Rome.")
    assert ana.remember("We are based in Oslo.").superseded == ()
    assert ana.count() == 4


UNCLEAR = [
    ("I live in Lisbon and my cat is called Tom.", {}, "I moved to Porto.", {}),
    ("I live in Lisbon.", {}, "I live in Porto.", {"source": "agent"}),
    (
        "I live in Lisbon.",
        {"occurred_at": "2025-01-01"},
        "I live in Porto.",
        {"occurred_at": "2025-01-01"},
    ),
]


@pytest.mark.parametrize(("first", "fields", "second", "more"), UNCLEAR)
def test_what_is_not_clear_is_listed_and_not_guessed(
    ana: Memory, first: str, fields: dict[str, str], second: str, more: dict[str, str]
) -> None:
    old = ana.remember(first, **fields)  # type: ignore[arg-type]
    new = ana.remember(second, **more)  # type: ignore[arg-type]
    assert (new.superseded, new.disputed) == ((), (old.id,))
    assert new.memory.stage == "disputed"
    assert {ana.get(one.id).status for one in (old, new)} == {"active"}
    assert [link.kind for link in ana.links(new)] == ["contradicts"]


NO_CLAIMS = [
    "I might move to Porto.",
    "I also work at Beta.",
    "Do I live in Porto?",
    "I used to live in Porto.",
    "My boss is nice.",
    "I would love to live in Porto.",
    "Everybody works at night.",
]


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_what_is_hedged_asked_or_one_of_several_contradicts_nothing(ana: Memory, text: str) -> None:
    for known in ("I live in Lisbon.", "I work at Acme.", "My boss is Bob."):
        ana.remember(known)
    told = ana.remember(text)
    assert (told.superseded, told.disputed) == ((), ())
    assert ana.count() == 4


def test_messages_are_kept_as_they_were_said(ana: Memory) -> None:
    ana.remember("I live in Lisbon.")
    chat = ana.session("s")
    assert chat.add("user", "I live in Porto.").superseded == ()
    assert chat.add("user", "I live in Rome.").superseded == ()
    assert ana.count() == 3


def test_contradictions_can_be_kept_or_all_be_reviewed() -> None:
    with open_memory(contradictions="keep") as memory:
        memory.remember("I live in Lisbon.")
        assert memory.remember("I live in Porto.").superseded == ()
        assert memory.count() == 2
    with open_memory(contradictions="review") as memory:
        old = memory.remember("I live in Lisbon.")
        assert memory.remember("I live in Porto.").disputed == (old.id,)
