"""P10: jobs run at least once and take effect once, whoever dies or freezes meanwhile."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.client.runner import Inline
from recollect.domain import times
from recollect.domain.jobs import JobQuery
from recollect.domain.operations import Enqueue
from recollect.domain.queries import Scan, View
from recollect.lifecycle.working import LEASE_INLINE_S
from recollect.ports.store import Store
from recollect.storage.sqlite import sql
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore
from tests.faults.mortal import (
    HOME,
    TRIES_MAX,
    Killed,
    Mortal,
    Unfenced,
    labourer,
    queued,
    stepped,
)

pytestmark = pytest.mark.promise("P10")
JOBS = 500
KILLS = 50
LEASE_US = int(LEASE_INLINE_S * times.SECOND)


def silent(doing: str, done: int, total: int | None) -> None:
    pass


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, quick_path: Path) -> Iterator[Store]:
    made: Store = InMemoryStore()
    if request.param == "sqlite":
        made = SqliteStore(str(quick_path / "memory.db"))
    yield made
    Inline().run(made.close())


def run(coroutine: Any) -> Any:
    return Inline().run(coroutine)


def effects(store: Store, clock: FrozenClock) -> Counter[str]:
    """How often each effect is there."""
    found: Counter[str] = Counter()
    cursor = None
    while True:
        view = View(places=(HOME,), now=clock.now())
        page = run(store.scan(Scan(view, limit=200, cursor=cursor)))
        found.update(record.text for record in page)
        cursor = page.cursor
        if cursor is None:
            return found


def wanted(count: int) -> Counter[str]:
    """What every job but the poisoned ones leaves behind."""
    return Counter(f"effect of {n}" for n in range(count) if n % 10 != 9)


def work_until_all_have_ended(store: Store, clock: FrozenClock, leases_max: int) -> set[str]:
    """Worker after worker until nothing waits; the await points at which they were killed.

    The first fifty are killed at await points further and further on; each lives again as another
    once the lease of the dead one has run out.
    """
    where: set[str] = set()
    begun = clock.now()
    for number in range(leases_max):
        mortal = Mortal(store, dies_at=2 + number * 3 if number < KILLS else None)
        ended = stepped(labourer(mortal, clock, number).run_due(silent))
        if ended is Killed:
            where.add(str(mortal.died))
        queue = run(store.queue(clock.now()))
        assert queue.running <= 1, "one job was in the hands of the dead one, no more"
        if not queue.waiting + queue.running:
            assert clock.now() - begun <= leases_max * LEASE_US
            return where
        clock.advance(seconds=LEASE_INLINE_S)
    raise AssertionError(f"stuck: {run(store.jobs(JobQuery(clock.now())))}")


@pytest.mark.slow
def test_500_jobs_and_50_workers_killed_at_every_await_point(store: Store) -> None:
    clock = FrozenClock("2026-01-01")
    run(store.apply(queued(clock, JOBS)))
    killers = JOBS // 20
    where = work_until_all_have_ended(store, clock, KILLS + killers * TRIES_MAX + 20)
    found = effects(store, clock)
    lost = wanted(JOBS) - found
    doubled = found - wanted(JOBS)
    dead = run(store.jobs(JobQuery(clock.now(), limit=1000)))
    print(f"{JOBS} jobs, {KILLS}+{killers * TRIES_MAX} kills at {sorted(where)}")
    print(f"{len(lost)} lost, {len(doubled)} double effects, {len(dead)} dead of {JOBS // 10}")
    assert (lost, doubled) == (Counter(), Counter())
    assert Counter((job.kind, job.reason, job.tries) for job in dead) == {
        ("poison", "ZeroDivisionError", TRIES_MAX): JOBS // 20,
        ("killer", "abandoned", TRIES_MAX + 1): JOBS // 20,
    }
    calls = ("claim_jobs", "stats", "apply")
    assert where == {
        "in the duty",
        *(f"{when} {call}" for call in calls for when in ("before", "after")),
    }


def points_of_one_job(store: Store, clock: FrozenClock) -> list[str]:
    """The await points that a worker passes while it carries out one job."""
    watched = Mortal(store)
    run(store.apply([Enqueue(clock.now(), "work", {"number": 0}, HOME)]))
    stepped(labourer(watched, clock, 0).run_due(silent, limit=1))
    return watched.passed


def frozen_and_thawed(store: Store, clock: FrozenClock, wrapped: Any) -> tuple[int, list[str]]:
    """A worker stands still at each await point in turn until its job is another's, then goes on.

    How many found that they had lost their job, and the effects that are there too often.
    """
    lost = 0
    points = points_of_one_job(store, clock)
    for number in range(len(points)):
        run(store.apply([Enqueue(clock.now(), "work", {"number": number + 1}, HOME)]))
        frozen = labourer(Mortal(wrapped, freezes_at=number), clock, 2 * number + 1)
        going = frozen.run_due(silent, limit=1)
        assert going.send(None) == points[number]
        clock.advance(seconds=LEASE_INLINE_S + 1)
        run(labourer(wrapped, clock, 2 * number + 2).run_due(silent))
        lost += stepped(going).lost.total()
    once = Counter({f"effect of {number}": 1 for number in range(len(points) + 1)})
    return lost, sorted(effects(store, clock) - once)


def test_a_worker_that_wakes_with_a_stale_token_changes_nothing(store: Store) -> None:
    clock = FrozenClock("2026-01-01")
    lost, doubled = frozen_and_thawed(store, clock, store)
    assert doubled == []
    assert lost >= 3, "it stood still after it had claimed the job, before and after it read"
    assert effects(store, clock).total() == len(points_of_one_job(store, clock)) + 1
    assert run(store.jobs(JobQuery(clock.now()))) == []


def test_control_without_the_fence_effects_happen_twice(store: Store) -> None:
    clock = FrozenClock("2026-01-01")
    _, doubled = frozen_and_thawed(store, clock, Unfenced(store))
    assert doubled


def two_at_one_job(store: Store, clock: FrozenClock) -> int:
    """A worker stands still before the end of a job, another claims it, both go on; the effects."""
    run(store.apply([Enqueue(clock.now(), "work", {"number": 0}, HOME)]))
    late = labourer(Mortal(store, freezes_at=4), clock, 1).run_due(silent, limit=1)
    assert late.send(None) == "before apply"
    clock.advance(seconds=LEASE_INLINE_S + 1)
    next_holder = labourer(Mortal(store, freezes_at=4), clock, 2).run_due(silent, limit=1)
    assert next_holder.send(None) == "before apply"
    told = [stepped(late), stepped(next_holder)]
    assert [one.done.total() + one.lost.total() for one in told] == [1, 1]
    return effects(store, clock).total()


def test_of_two_that_hold_a_job_the_later_one_ends_it(store: Store) -> None:
    assert two_at_one_job(store, FrozenClock()) == 1
    assert run(store.jobs(JobQuery(0))) == []


def test_control_a_fence_that_ignores_the_token_lets_the_wrong_one_through(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(str(quick_path / "memory.db"))
    fenced = sql.SQL["finish_job"]
    assert "attempt = ?2" in fenced
    monkeypatch.setitem(sql.SQL, "finish_job", fenced.replace("attempt = ?2", "?2 IS NOT NULL"))
    clock = FrozenClock()
    run(store.apply([Enqueue(clock.now(), "work", {"number": 0}, HOME)]))
    late = labourer(Mortal(store, freezes_at=4), clock, 1).run_due(silent, limit=1)
    late.send(None)
    clock.advance(seconds=LEASE_INLINE_S + 1)
    run(store.claim_jobs(["work"], 1, now=clock.now(), lease_us=LEASE_US))
    assert stepped(late).done.total() == 1, "it took away the job of another"
    run(store.close())


@pytest.mark.slow
def test_processes_killed_and_frozen_at_random_lose_nothing_and_double_nothing(
    quick_path: Path,
) -> None:
    command = [sys.executable, "-m", "tests.faults.labour", str(quick_path / "memory.db")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    print(told)
    assert told["killed"] == KILLS
    assert told["frozen"] >= 3
    assert (told["lost"], told["doubled"], told["stuck"]) == ([], [], [])
    assert told["dead"] == {"poison": JOBS // 20, "killer": JOBS // 20}
