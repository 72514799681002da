"""4.10: mastered and outdated items retire by the clock, and maintenance delays nobody."""

import pytest

from recollect import Memory
from recollect.lifecycle.keeper import Keeper
from recollect.testing import FrozenClock
from tests.faces import World

pytestmark = pytest.mark.acceptance("4.10")


def test_mastered_items_retire_after_three_days_and_outdated_ones_after_fourteen(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    areas, info = ana.items("area_to_improve"), ana.items("personal_info")
    cases = areas.create("cases", "Mixes up cases")
    areas.create("verbs", "Forgets the verb")
    job = info.create("job", "Works at a bank")
    clock.advance(days=30)  # items do not fade: nothing happens to them by age alone
    world.memory.maintain()
    assert [len(areas.list()), len(info.list())] == [2, 1]
    areas.update(cases, status="mastered")
    info.update(job, status="outdated")
    for days, mastered, outdated in ((2, 1, 1), (2, 0, 1), (9, 0, 1), (2, 0, 0)):
        clock.advance(days=days)
        world.memory.maintain()
        shown = [one.id for one in areas.list()], ana.list(kind="personal_info")
        assert [cases.id in shown[0], len(shown[1])] == [bool(mastered), outdated], days
    # Nothing is lost: it is there when it is asked for, and comes back when it matters again.
    assert [one.id for one in areas.list(status="mastered")] == [cases.id]
    assert ana.history(cases)[-1].event.reason == "mastered"
    again = areas.upsert("cases", "Mixes up cases", status="struggling")
    assert (again.id, again.status) == (cases.id, "active")
    assert len(areas.list()) == 2


def test_looking_after_a_profile_delays_nobody_runs_once_and_says_what_it_did(
    world: World, ana: Memory, clock: FrozenClock
) -> None:
    areas = ana.items("area_to_improve")
    cases = areas.create("cases", "Mixes up cases", status="mastered")
    areas.create("verbs", "Forgets the verb")
    clock.advance(days=4)
    person = ana.person()
    assert not person.summary().running
    assert person.refresh() is True  # a session was reset: this only queues a job
    assert person.refresh() is False  # once per user
    assert world.memory.scope(user="bob").person().refresh() is True
    before = person.summary()
    assert before.running
    assert "Mixes up cases" in before.text
    (job, _) = world.memory.jobs(kind="distil_profile")
    assert (job.state, job.place) == ("waiting", cases.place)
    assert world.memory.maintain().done["distil_profile"] == 2
    after = person.summary()
    assert (after.running, after.retired) == (False, (cases.id,))
    assert after.text == "struggling: Forgets the verb."
    assert person.refresh() is True  # and once more, when the first is done


def test_looking_after_a_profile_has_a_time_limit() -> None:
    assert Keeper.duties["distil_profile"].timeout_s == 60
