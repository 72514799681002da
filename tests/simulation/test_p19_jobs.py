"""P19, of jobs: seeded days of workers that die, freeze and fail, against a list of what was asked.

Workers are stepped from one await point to the next, in an order that the seed decides, so that
they meet in every way that processes can; the disk fails, the clock jumps, everybody is killed.
"""

import os
import random
import tempfile
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from recollect.client.runner import Inline
from recollect.domain.errors import StorageError
from recollect.domain.jobs import Job, JobQuery
from recollect.domain.operations import Enqueue, Operation
from recollect.domain.queries import Scan, View
from recollect.lifecycle.duties import Duty
from recollect.lifecycle.working import LEASE_INLINE_S
from recollect.ports.store import Store
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore
from tests.faults.invariants import broken
from tests.faults.mortal import HOME, Killed, Labourer, Mortal, Unfenced, labourer, suspended
from tests.faults.vfs import Disk, Fault

SEEDS, STEPS = 200, 200
ON_DISK = 24
WORKERS = 3
KINDS = ("work", "work", "flaky", "chain", "poison")
_RAM = "/dev/shm"


class Stepping(Mortal):
    """A store at each await point of which a worker stands still until it is stepped again."""

    async def point(self, where: str) -> None:
        if self.died is not None:
            raise Killed
        await suspended(where)
        if self.died is not None:
            raise Killed


class Day(Labourer):
    """A labourer with more kinds of work."""

    async def flaky(self, job: Job) -> Sequence[Operation]:
        if self._chance() < 0.4:
            raise OSError
        return await self.work(job)

    async def chain(self, job: Job) -> Sequence[Operation]:
        further = {"number": f"{job.payload['number']} and on"}
        return [*await self.work(job), Enqueue(self._clock.now(), "work", further, HOME)]

    duties: ClassVar[Any] = {
        **Labourer.duties,
        "flaky": Duty("flaky", flaky, tries_max=50),
        "chain": Duty("chain", chain, tries_max=50),
    }


@dataclass
class Worker:
    """A worker between two of its steps."""

    store: Stepping
    work: Coroutine[Any, Any, Any]


class Yard:
    """Where the work is asked for and done."""

    def __init__(self, seed: int, folder: Path | None, *, fenced: bool = True) -> None:
        self.rng = random.Random(seed)
        self.clock = FrozenClock("2026-01-01")
        self.workers: list[Worker] = []
        self.wanted: Counter[str] = Counter()
        self.asked = self.failures = self.deaths = self.hired = 0
        self.fenced = fenced
        self.disk = None if folder is None else Disk(f"yard-{id(self)}")
        self.path = None if folder is None else str(folder / "memory.db")
        self.store = self.opened()

    def opened(self) -> Store:
        if self.path is None or self.disk is None:
            return InMemoryStore()
        return SqliteStore(self.path, vfs=self.disk.name)

    def run(self, coroutine: Any) -> Any:
        return Inline().run(coroutine)

    # -- moves -----------------------------------------------------------------------------------

    def ask(self) -> None:
        """Queue a job of some kind, urgency and manner."""
        self.asked += 1
        kind = self.rng.choice(KINDS)
        manner = {"alone": self.rng.random() < 0.3, "unique": self.rng.random() < 0.2}
        job = Enqueue(self.clock.now(), kind, {"number": self.asked}, HOME, **manner)
        (number,) = self.run(self.store.apply([job]))
        if number is not None and kind != "poison":
            self.wanted[f"effect of {self.asked}"] += 1
            if kind == "chain":
                self.wanted[f"effect of {self.asked} and on"] += 1

    def hire(self) -> None:
        """Let another worker begin."""
        if len(self.workers) < WORKERS:
            self.hired += 1
            mortal = Stepping(self.store if self.fenced else Unfenced(self.store))
            keeper = labourer(mortal, self.clock, self.hired, Day)
            self.workers.append(Worker(mortal, keeper.run_due(lambda *_: None)))

    def step(self) -> None:
        """One worker goes on to its next await point, now and then on a failing disk."""
        if not self.workers:
            self.hire()
        worker = self.rng.choice(self.workers)
        if self.disk is not None and self.rng.random() < 0.1:
            self.disk.break_at(Fault(self.rng.randint(1, 6), lasting=self.rng.random() < 0.5))
        try:
            worker.work.send(None)
        except StopIteration:
            self.workers.remove(worker)
        except StorageError:
            self.failures += 1
            self.workers.remove(worker)
        finally:
            if self.disk is not None:
                self.disk.heal()

    def kill(self) -> None:
        """A worker is gone, with nothing done to clean up."""
        if self.workers:
            worker = self.workers.pop(self.rng.randrange(len(self.workers)))
            worker.store.died = "killed"
            worker.work.close()
            self.deaths += 1

    def sleep(self) -> None:
        """Time goes by: a moment, or longer than leases last."""
        self.clock.advance(seconds=self.rng.choice((1, 30, LEASE_INLINE_S + 1)))

    def restart(self) -> None:
        """Everybody is killed; what is on the disk is what there is."""
        if self.path is not None:
            while self.workers:
                self.kill()
            left, self.store = self.store, self.opened()
            self.run(left.close())

    # -- the end of the day ----------------------------------------------------------------------

    def finish(self) -> None:
        """Everything that was asked for gets done by somebody, within bounded time."""
        while self.workers:
            self.kill()
        for number in range(200):
            keeper = labourer(self.store, self.clock, 10_000 + number, Day)
            self.run(keeper.run_due(lambda *_: None))
            queue = self.run(self.store.queue(self.clock.now()))
            if not queue.waiting + queue.running:
                return
            self.clock.advance(seconds=LEASE_INLINE_S)
        raise AssertionError(f"stuck: {self.run(self.store.jobs(JobQuery(self.clock.now())))}")

    def done(self) -> Counter[str]:
        view = View(places=(HOME,), now=self.clock.now())
        return Counter(one.text for one in self.run(self.store.scan(Scan(view, limit=1000))))

    def close(self) -> None:
        self.run(self.store.close())
        if self.disk is not None:
            self.disk.unregister()


MOVES = ("ask", "hire", "step", "kill", "sleep", "restart")
WEIGHTS = (15, 8, 65, 4, 7, 1)


def simulate(seed: int, steps: int, folder: Path | None = None, *, fenced: bool = True) -> Yard:
    """One day; what goes wrong in it names the seed."""
    yard = Yard(seed, folder, fenced=fenced)
    try:
        for _ in range(steps):
            getattr(yard, yard.rng.choices(MOVES, WEIGHTS)[0])()
        yard.finish()
        done = yard.done()
        told = f"seed {seed}: lost {yard.wanted - done}, doubled or made up {done - yard.wanted}"
        assert done == yard.wanted, told
        dead = yard.run(yard.store.jobs(JobQuery(yard.clock.now(), limit=1000)))
        assert {job.kind for job in dead} <= {"poison"}, f"seed {seed}: {dead}"
    finally:
        yard.close()
    return yard


@pytest.mark.slow
@pytest.mark.promise("P10", "P19")
def test_200_days_of_200_steps_lose_nothing_and_double_nothing() -> None:
    yards = [simulate(seed, STEPS) for seed in range(SEEDS)]
    assert sum(yard.deaths for yard in yards) > SEEDS
    assert sum(yard.wanted.total() for yard in yards) > 10 * SEEDS


@pytest.mark.promise("P10", "P19")
def test_days_on_a_failing_disk_lose_nothing_and_double_nothing() -> None:
    failures = 0
    for seed in range(ON_DISK):
        beside = _RAM if os.access(_RAM, os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=beside, prefix="recollect-") as folder:
            failures += simulate(seed, STEPS, Path(folder)).failures
            assert broken(Path(folder) / "memory.db") == [], f"seed {seed}"
    assert failures > ON_DISK, "the disk failed too seldom to prove anything"


@pytest.mark.promise("P10", "P19")
def test_control_the_simulation_notices_a_missing_fence() -> None:
    with pytest.raises(AssertionError, match="doubled"):
        _ = [simulate(seed, STEPS, fenced=False) for seed in range(20)]
