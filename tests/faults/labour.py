"""Workers as processes on one file, killed with SIGKILL and stopped beyond their leases.

Run as a program; prints what was lost, doubled and stuck.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from recollect.client.runner import Inline, off_loop
from recollect.domain.jobs import Job, JobQuery
from recollect.domain.operations import Operation
from recollect.domain.queries import Scan, View
from recollect.engine.core import Ports
from recollect.lifecycle import serving
from recollect.lifecycle import working as carrying_out
from recollect.lifecycle.duties import Duty
from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite.store import SqliteStore
from recollect.wiring import SystemClock, SystemEntropy
from tests.faults.migrating import forked
from tests.faults.mortal import HOME, TRIES_MAX, Labourer, queued

JOBS, KILLS, WORKERS = 500, 50, 3
LEASE_S = 0.4
FREEZES = 5


class Short(Labourer):
    """Leases are short, so that a test need not wait for long."""

    lease_s = LEASE_S

    async def killer(self, job: Job) -> Sequence[Operation]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    duties: ClassVar[Any] = {**Labourer.duties, "killer": Duty("killer", killer, TRIES_MAX)}


def work(path: str) -> None:
    """A worker, for as long as it lives."""
    serving.POLL_S = 0.02
    carrying_out.BACKOFF_S = 0.02

    async def serve() -> None:
        store = off_loop(SqliteStore(path))
        keeper = Short(Ports(store, SystemClock(), SystemEntropy(), Analyser()))
        await keeper.serve(asyncio.Event(), lambda *_: None)

    asyncio.run(serve())


def living(children: set[int]) -> set[int]:
    """Those that have not ended."""
    return {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}


def disturb(path: str) -> tuple[int, int]:
    """Kill and freeze workers until enough were killed and all jobs have ended."""
    chance, clock = random.Random(10), SystemClock()
    store = SqliteStore(path)
    children: set[int] = set()
    killed = frozen = 0
    patience = time.monotonic() + 180
    while time.monotonic() < patience:
        children = living(children)
        while len(children) < WORKERS:
            children.add(forked(lambda: work(path)))
        time.sleep(chance.uniform(0.02, 0.12))
        victim = chance.choice(sorted(children))
        if killed < KILLS:
            killed += 1
            if killed % (KILLS // FREEZES) == 0:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(2 * LEASE_S)
                os.kill(victim, signal.SIGCONT)
                frozen += 1
                time.sleep(LEASE_S / 4)
            os.kill(victim, signal.SIGKILL)
        else:
            queue = Inline().run(store.queue(clock.now()))
            if not queue.waiting + queue.running:
                break
    for child in living(children):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Inline().run(store.close())
    return killed, frozen


def main(path: str) -> dict[str, Any]:
    """What became of all jobs."""
    clock = SystemClock()
    run = Inline().run
    store = SqliteStore(path)
    run(store.apply(queued(clock, JOBS)))  # type: ignore[arg-type]
    run(store.close())
    killed, frozen = disturb(path)
    store = SqliteStore(path)
    jobs = run(store.jobs(JobQuery(clock.now(), limit=1000)))
    found: Counter[str] = Counter()
    cursor = None
    while True:
        page = run(store.scan(Scan(View(places=(HOME,), now=clock.now()), 500, cursor=cursor)))
        found.update(record.text for record in page)
        cursor = page.cursor
        if cursor is None:
            break
    wanted = Counter(f"effect of {n}" for n in range(JOBS) if n % 10 != 9)
    return {
        "killed": killed,
        "frozen": frozen,
        "lost": sorted(wanted - found),
        "doubled": sorted(found - wanted),
        "stuck": [job.number for job in jobs if job.state != "dead"],
        "dead": dict(Counter(job.kind for job in jobs if job.state == "dead")),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
