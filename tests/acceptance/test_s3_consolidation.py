"""3.10: related older memories become one linked memory, wholly or not at all."""

from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain.consolidation import Consolidated
from recollect.domain.errors import ProviderError
from recollect.ports.chat import Ask
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import HashEmbedder, InMemoryStore, ScriptedChat
from tests.faces import FACES, World, opened

pytestmark = pytest.mark.acceptance("3.10")

TEA = ("I drink green tea at breakfast.", "At breakfast I drink green tea.", "Green tea it is.")
OTHERS = ("The bank closes at four.", "My sister lives in Braga.")


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    policy = {"consolidate_similarity": 0.5}
    with opened(request.param, tmp_path, embedder=HashEmbedder(64), policy=policy) as made:
        yield made


def told(ana: Memory, *texts: str, **fields: Any) -> list[str]:
    return [ana.remember(text, **fields).id for text in texts]


def aged(world: World, **by: float) -> None:
    world.clock.advance(**(by or {"hours": 25}))


def only(found: Any) -> Consolidated:
    (one,) = found.made
    return one


def state(memory: Memory) -> Any:
    """What a user can see."""
    listed = [one.to_dict() for one in memory.list(limit=100)]
    hits = [hit.id for hit in memory.recall("green tea at breakfast")]
    return [[{**one, "access_count": 0} for one in listed], hits]


def test_related_memories_become_one_that_is_linked_to_them(world: World, ana: Memory) -> None:
    ids = told(ana, *TEA)
    told(ana, *OTHERS)
    aged(world)
    made = only(ana.consolidate(reason="tidy"))
    assert [one.id for one in made.sources] == ids
    stored = ana.get(made.memory)
    assert (stored.kind, stored.tier, stored.importance) == ("consolidated", "medium", 0.7)
    assert stored.text == made.memory.text
    assert {link.target for link in ana.links(stored, kind="derived_from")} == set(ids)
    assert [ana.get(id).status for id in ids] == ["active"] * 3
    assert {one.memory.id for one in ana.related(stored)} == set(ids)
    assert stored.id in {hit.id for hit in ana.recall("green tea")}
    events = {change.event.id for change in ana.events() if change.event.action == "consolidate"}
    assert events == {made.event}


def test_what_was_consolidated_is_no_source_again(world: World, ana: Memory) -> None:
    told(ana, *TEA)
    aged(world)
    assert len(ana.consolidate().made) == 1
    assert ana.consolidate().made == ()
    aged(world, days=2)
    assert ana.consolidate().made == ()


def test_the_young_the_few_and_the_unlike_are_left_alone(world: World, ana: Memory) -> None:
    told(ana, *TEA)
    assert ana.consolidate().looked_at == 0
    aged(world, hours=23)
    assert ana.consolidate().looked_at == 0
    bob = world.memory.scope(user="bob")
    told(bob, *TEA[:2], *OTHERS)
    aged(world)
    assert bob.consolidate().made == ()
    passing = world.memory.scope(user="eve")
    told(passing, *TEA, expires_at="2027-01-01")
    aged(world)
    assert passing.consolidate().made == ()


def test_a_dry_run_shows_exactly_what_would_be_and_changes_nothing(
    world: World, ana: Memory
) -> None:
    told(ana, *TEA, *OTHERS)
    aged(world)
    before, events = state(ana), len(ana.events())
    dry = only(ana.consolidate(dry_run=True))
    assert (state(ana), len(ana.events()), dry.event) == (before, events, None)
    real = only(ana.consolidate())
    moving = {"id", "created_at", "updated_at", "reinforced_at"}
    shown, stored = dry.memory.to_dict(), ana.get(real.memory).to_dict()
    assert {name: value for name, value in shown.items() if name not in moving} == {
        name: value for name, value in stored.items() if name not in moving
    }
    assert [one.id for one in dry.sources] == [one.id for one in real.sources]


def test_undo_takes_it_back_for_good(world: World, ana: Memory) -> None:
    told(ana, *TEA)
    aged(world)
    before = state(ana)
    made = only(ana.consolidate())
    assert state(ana) != before
    ana.undo(str(made.event))
    assert state(ana) == before
    assert ana.consolidate().made == ()  # it is not made again behind one's back


def test_trust_is_the_least_of_the_sources(world: World, ana: Memory) -> None:
    told(ana, *TEA[:2])
    told(ana, TEA[2], source="web")
    aged(world)
    assert only(ana.consolidate()).memory.trust == "untrusted"


@pytest.mark.promise("P17")
def test_what_is_forgotten_leaves_the_consolidated_text_too(world: World, ana: Memory) -> None:
    ids = told(ana, *TEA, "Green tea at breakfast, says Mallory.")
    aged(world)
    made = only(ana.consolidate())
    assert "Mallory" in made.memory.text
    receipt = ana.forget(ids[3])
    assert receipt.derived == 1
    assert not [one for one in ana.list(limit=100) if "Mallory" in one.text]
    again = only(ana.consolidate())
    assert [one.id for one in again.sources] == ids[:3]
    assert "Mallory" not in again.memory.text


@pytest.mark.promise("P17")
def test_what_was_undone_is_still_forgotten_with_its_source(world: World, ana: Memory) -> None:
    ids = told(ana, *TEA)
    aged(world)
    ana.undo(str(only(ana.consolidate()).event))
    assert ana.forget(ids[0]).derived == 1


def test_what_is_corrected_leaves_the_consolidated_memory_at_once(
    world: World, ana: Memory
) -> None:
    ids = told(ana, *TEA)
    aged(world)
    made = only(ana.consolidate())
    ana.correct(ids[0], "The kettle broke.")
    gone = ana.get(made.memory)
    assert (gone.status, gone.valid_to is not None) == ("superseded", True)
    assert gone.id not in {hit.id for hit in ana.recall("green tea at breakfast")}
    other = told(ana, "Breakfast: I drink green tea.")
    aged(world)
    again = only(ana.consolidate())
    assert {one.id for one in again.sources} == {ids[1], ids[2], *other}
    ana.reinforce(ids[1])  # says nothing else
    assert ana.get(again.memory).status == "active"


@pytest.mark.parametrize("face", FACES[:2])
def test_links_bring_together_what_no_vector_does(face: str, tmp_path: Path) -> None:
    with opened(face, tmp_path) as world:
        ids = told(world.memory, "Rent is due.", "The landlord is Rui.", "Flat 4.")
        world.memory.link(ids[0], ids[1], strength=0.9)
        world.memory.link(ids[1], ids[2], strength=0.8)
        aged(world)
        made = only(world.memory.consolidate())
        assert made.similarity == 0.8
        assert made.memory.text == "Rent is due. The landlord is Rui. Flat 4."


@pytest.mark.parametrize("face", FACES)
def test_the_memory_model_writes_the_text_and_its_failure_costs_nothing(
    face: str, tmp_path: Path
) -> None:
    options = {"embedder": HashEmbedder(64), "policy": {"consolidate_similarity": 0.5}}
    chat = ScriptedChat("Green tea for breakfast, always.", ProviderError("down"))
    with opened(face, tmp_path, memory_model=chat, **options) as world:
        ana, bob = (world.memory.scope(user=user) for user in ("ana", "bob"))
        told(ana, *TEA)
        told(bob, *TEA)
        aged(world)
        by_model, without = only(ana.consolidate()), only(bob.consolidate())
    assert (by_model.memory.text, by_model.by) == (
        "Green tea for breakfast, always.",
        "scripted:model",
    )
    assert (without.by, without.memory.text) == ("extract", " ".join(TEA))
    asked: Ask = chat.asked[0]
    assert asked.purpose == "summary"
    assert all(text in asked.turns[0].text for text in TEA)


class Crash(BaseException):
    """The process ends here."""


class Crashing:
    """A store whose user is stopped before, or right after, one of its calls."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls = 0
        self.stop_at: int | None = None
        self.after = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self.stop_at and not self.after:
                raise Crash
            answer = await found(*args, **kwargs)
            if self.calls == self.stop_at:
                raise Crash
            return answer

        return call


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_step_leaves_the_old_or_the_new_state(
    kind: str, after: bool, tmp_path: Path
) -> None:
    """Of two groups each is there wholly or not at all, and the next run completes the rest."""
    for stop_at in range(1, 40):
        file = str(tmp_path / f"{stop_at}.db")
        inner = SqliteStore(file, durability="relaxed") if kind == "sqlite" else InMemoryStore()
        store = Crashing(inner)
        options: Any = {"policy": {"consolidate_similarity": 0.4}, "embedder": HashEmbedder(256)}
        with opened("memory-file", tmp_path, store=store, **options) as world:
            told(world.memory, *TEA, *(f"Braga is where my sister lives {n}." for n in "abc"))
            aged(world)
            store.calls, store.stop_at, store.after = 0, stop_at, after
            try:
                world.memory.consolidate()
                finished = True
            except Crash:
                finished = False
            store.stop_at = None
            made = world.memory.list(kind="consolidated")
            assert len(made) == 2 if finished else len(made) in (0, 1, 2)
            for one in made:
                assert len(world.memory.links(one, kind="derived_from")) == 3
            assert len(made) + len(world.memory.consolidate().made) == 2
            assert world.memory.verify().ok
        if finished:
            break
    assert stop_at > 8


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
@pytest.mark.slow
def test_jobs_consolidate_every_place_in_steps(kind: str, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "m.db")) if kind == "sqlite" else InMemoryStore()
    face = "memory-file"
    options = {"embedder": HashEmbedder(256), "consolidation": "on", "store": store}
    with opened(face, tmp_path, **options) as world:
        for user in ("ana", "bob"):
            scope = world.memory.scope(user=user)
            for topic in range(12):
                told(scope, *(f"The {topic} of hearts is card {topic} {n}." for n in "abc"))
            told(scope, *(f"unrelated thing {n * 7919}" for n in range(490)))
        aged(world)
        done = world.memory.maintain().done
        # Two steps of looking for each of two users, and three of writing.
        assert done["consolidate_place"] >= 6
        for user in ("ana", "bob"):
            assert world.memory.scope(user=user).count(kind="consolidated") >= 12
