"""3.9: memories rise a tier by age and use, and the weak leave recall without being lost."""

from pathlib import Path

import pytest

from recollect import Memory
from recollect.domain.errors import ConflictError
from recollect.domain.records import MemoryRecord
from recollect.testing import FrozenClock
from tests.faces import FACES, World, opened

pytestmark = pytest.mark.acceptance("3.9")


def use(memory: Memory, record: MemoryRecord, times: int) -> None:
    for _ in range(times):
        memory.get(record.id)


def tended(world: World) -> None:
    """A day goes by, and what is due is done."""
    world.clock.advance(days=1.2)
    world.memory.maintain()


def test_memories_rise_by_age_and_use_together(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    used, idle, said = (ana.remember(text).memory for text in ("used", "idle", "said"))
    use(ana, used, 3)
    world.memory.maintain()
    assert {one.tier for one in ana.list()} == {"short"}  # young
    clock.advance(days=7)
    for _ in range(3):
        ana.reinforce(said)
    world.memory.maintain()
    assert {one.text: one.tier for one in ana.list()} == {
        "used": "medium",
        "idle": "short",
        "said": "medium",
    }
    (change,) = (one for one in ana.history(used) if one.event.action == "promote")
    assert (change.event.actor, change.event.reason) == ("recollect", "used 3 times")
    use(ana, used, 7)
    clock.advance(days=23)
    world.memory.maintain()
    assert {one.text: one.tier for one in ana.list()} == {
        "used": "long",
        "idle": "short",
        "said": "medium",
    }
    assert idle.tier == "short"


def test_tending_twice_changes_nothing(world: World, ana: Memory, clock: FrozenClock) -> None:
    for number in range(20):
        record = ana.remember(f"memory {number}", importance=number / 20).memory
        use(ana, record, number)
    clock.advance(days=95)
    world.memory.maintain()
    events = len(ana.events(limit=1000))
    assert events == 40  # every memory was written, and then promoted or archived
    tended(world)
    tended(world)
    assert len(ana.events(limit=1000)) == events


def test_the_weak_leave_recall_and_can_be_called_back(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    weak = ana.remember("The weak one likes tea.").memory
    strong = ana.remember("The strong one likes tea.", tier="long", importance=1.0).memory
    clock.advance(days=89)
    world.memory.maintain()
    assert ana.count() == 2  # weak for long, but not for long enough
    clock.advance(days=2)
    world.memory.maintain()
    assert [hit.id for hit in ana.recall("tea")] == [strong.id]
    assert [one.id for one in ana.list()] == [strong.id]
    (gone,) = ana.list(status="archived")
    assert (gone.id, gone.text, gone.tier, gone.importance) == (weak.id, weak.text, "short", 0.5)
    assert ana.history(weak)[-1].event.reason == "faded"
    back = ana.restore(weak)
    assert (back.status, back.tier) == ("active", "short")
    tended(world)
    assert {hit.id for hit in ana.recall("tea")} == {strong.id, weak.id}
    with pytest.raises(ConflictError):
        ana.restore(weak)


def test_what_has_expired_leaves_and_is_not_lost(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    code = ana.remember("The code is 4711.", expires_at="2026-01-05", tier="long").memory
    clock.set("2026-01-06")
    world.memory.maintain()
    assert [one.id for one in ana.list(status="archived")] == []  # expired: in no view
    assert ana.get(code).status == "archived"
    assert ana.restore(code).expires_at is None
    assert ana.recall("code").top is not None


def test_every_user_is_tended_and_large_places_in_steps(world: World, clock: FrozenClock) -> None:
    for user in ("ana", "bob"):
        texts = [f"memory {number} of {user}" for number in range(601)]
        world.memory.scope(user=user).remember_many(texts)
    clock.advance(days=91)
    world.memory.maintain()
    for user in ("ana", "bob"):
        scope = world.memory.scope(user=user)
        assert (scope.count(), scope.count(status="archived")) == (0, 601)


@pytest.mark.parametrize("face", FACES[:2])
def test_policies_decide_by_kind(face: str, tmp_path: Path) -> None:
    policy = {
        "medium_days": 1,
        "medium_uses": 1,
        "kinds": {"fact": {"archive_below": 0}, "episode": {"expire_days": 10}},
    }
    with opened(face, tmp_path, policy=policy) as world:
        kinds = ("general", "fact", "episode")
        made = {kind: world.memory.remember(kind, kind=kind, tier="long").memory for kind in kinds}
        young = world.memory.remember("young").memory
        use(world.memory, young, 1)
        world.clock.advance(days=11)
        world.memory.maintain()
        assert world.memory.get(young).tier == "medium"
        assert world.memory.get(made["episode"]).status == "archived"
        world.clock.advance(days=700)
        world.memory.maintain()
        assert world.memory.get(made["general"]).status == "archived"
        assert world.memory.get(made["fact"]).status == "active"


def test_a_forecast_says_what_tending_will_do(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    for number in range(1, 11):
        ana.remember(f"memory {number}", importance=number / 10, tier="long")
    found = ana.forecast(days=300, limit=5)
    assert [one.memory.importance for one in found] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert found.left[0] == 10
    assert found.leaving == 10
    for one in found:
        assert one.strengths[0] == one.memory.importance
        assert sorted(one.strengths, reverse=True) == list(one.strengths)
        clock.set(one.archived_at)
        world.memory.maintain()
        assert ana.get(one.memory).status == "archived"
    assert ana.count() == 5
    assert ana.forecast(days=1).leaving == 0


@pytest.mark.parametrize(("said", "left"), [({}, 1), ({"archive_below": 0.1}, 0)])
def test_messages_fade_and_stay_unless_told_otherwise(
    said: dict[str, float], left: int, tmp_path: Path
) -> None:
    with opened(FACES[0], tmp_path, policy=said) as world:
        with world.memory.session(id="s1") as chat:
            chat.add("user", "The spare key is under the blue pot.")
        world.clock.advance(days=200)
        world.memory.maintain()
        assert len(world.memory.recall("where is the spare key?")) == left
