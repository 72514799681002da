"""3.7, 3.8: what reinforcement and time do to a memory's strength."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain import times
from recollect.domain.errors import NotFound, ValidationError
from recollect.testing import FrozenClock
from tests.faces import FACES, opened

RATES = {"short": 0.9, "medium": 0.95, "long": 0.99}


@pytest.mark.acceptance("3.7")
def test_reinforcing_multiplies_up_to_one_and_starts_fading_anew(
    ana: Memory, clock: FrozenClock
) -> None:
    tea = ana.remember("I like tea.", importance=0.8).memory
    clock.advance(days=3)
    assert tea.strength(clock_now(clock)) == pytest.approx(0.8 * 0.9**3)
    first = ana.reinforce(tea)
    assert (first.importance, first.reinforcements) == (pytest.approx(0.96), 1)
    assert first.strength(clock_now(clock)) == first.importance
    assert first.reinforced_at == first.updated_at > tea.created_at
    # The copy that is held here is stale by now: what counts is how the memory is.
    again = ana.reinforce(tea, 1.2)
    assert (again.importance, again.reinforcements) == (1.0, 2)
    assert ana.reinforce(tea.id, 0.5).importance == 0.5
    assert ana.get(tea.id).importance == 0.5


@pytest.mark.acceptance("3.7")
def test_reinforcing_is_one_event_and_can_be_taken_back(ana: Memory) -> None:
    tea = ana.remember("I like tea.").memory
    ana.reinforce(tea, reason="she said it again")
    (_, change) = ana.history(tea)
    assert (change.event.action, change.event.reason) == ("reinforce", "she said it again")
    assert change.event.fields == ("importance", "reinforced_at", "reinforcements")
    ana.undo(change.event.id)
    back = ana.get(tea)
    assert (back.importance, back.reinforcements) == (tea.importance, 0)
    assert back.reinforced_at == tea.reinforced_at


@pytest.mark.acceptance("3.7")
@pytest.mark.parametrize("factor", [0, -1, 0.0, True, float("nan"), float("inf"), "2", [2]])
def test_a_factor_that_is_no_number_above_zero_is_refused(ana: Memory, factor: Any) -> None:
    tea = ana.remember("I like tea.").memory
    with pytest.raises(ValidationError) as failure:
        ana.reinforce(tea, factor)
    assert failure.value.field == "factor"
    assert ana.get(tea).version == 1


@pytest.mark.acceptance("3.7")
def test_only_ones_own_memories_are_reinforced(memory: Memory, ana: Memory) -> None:
    tea = ana.remember("I like tea.").memory
    with pytest.raises(NotFound):
        memory.scope(user="bob").reinforce(tea)
    with pytest.raises(NotFound):
        ana.reinforce("mem_" + "0" * 32, 1.5)


@pytest.mark.acceptance("3.8")
@pytest.mark.parametrize("tier", RATES)
def test_strength_falls_by_the_rate_of_the_tier_every_day(
    ana: Memory, clock: FrozenClock, tier: str
) -> None:
    tea = ana.remember("I like tea.", tier=tier, importance=1.0).memory
    for day in range(1, 10):
        clock.advance(days=1)
        assert tea.strength(clock_now(clock)) == pytest.approx(RATES[tier] ** day)
    # Looking changes nothing, however often, and a clock that goes back makes nothing stronger.
    assert ana.get(tea).importance == 1.0
    assert tea.strength("2020-01-01") == 1.0


@pytest.mark.acceptance("3.8")
@pytest.mark.parametrize("face", FACES[:2])
def test_a_kind_or_a_tenant_may_have_a_policy_of_its_own(face: str, tmp_path: Path) -> None:
    policy = {
        "reinforce_factor": 1.5,
        "kinds": {"fact": {"reinforce_factor": 1.1}},
        "tenants": {"elsewhere": {"reinforce_factor": 9}},
    }
    with opened(face, tmp_path, policy=policy) as world:
        told, fact = (world.memory.remember("tea", kind=kind) for kind in ("general", "fact"))
        assert world.memory.reinforce(told).importance == 0.75
        assert world.memory.reinforce(fact).importance == pytest.approx(0.55)


def clock_now(clock: FrozenClock) -> datetime:
    return times.show(clock.now())


@pytest.mark.acceptance("3.7")
@pytest.mark.parametrize("face", FACES)
def test_what_is_used_is_reinforced_only_where_that_is_wanted(face: str, tmp_path: Path) -> None:
    for factor, importance in ((1.0, 0.5), (1.1, 0.55)):
        folder = tmp_path / str(factor)
        folder.mkdir()
        with opened(face, folder, policy={"reinforce_used": factor}) as world:
            used, idle, gone = (world.memory.remember(text).memory for text in ("tea", "x", "y"))
            world.clock.advance(days=1)
            for _ in range(3):  # once, however often
                world.memory.recall("tea")
            world.memory.get(gone)
            world.memory.forget(gone)
            world.memory.maintain()
            after = world.memory.get(used)
            assert after.importance == pytest.approx(importance)
            assert after.access_count == 3
            assert (after.reinforced_at == used.reinforced_at) is (factor == 1.0)
            assert world.memory.get(idle).version == 1
            if factor > 1:
                event = world.memory.history(used)[-1].event
                assert (event.action, event.reason) == ("reinforce", "used")
