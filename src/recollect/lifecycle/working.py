"""Carrying out jobs: claimed, run, committed with their effects, tried again or given up."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from recollect.domain import times
from recollect.domain.errors import ClosedError, LeaseLost, RecollectError, StorageError
from recollect.domain.jobs import Job
from recollect.domain.operations import (
    BuryJob,
    Enqueue,
    FinishJob,
    Operation,
    RetryJob,
)
from recollect.engine.core import Core
from recollect.lifecycle.duties import Duty
from recollect.logs import note
from recollect.ports.store import Progress

LOG = logging.getLogger("recollect.jobs")
#: Who holds a job keeps it for so long, and renews the lease three times in that time.
LEASE_US = 60 * times.SECOND
#: A job that failed is tried again after a random time of up to this, doubled with each failure.
BACKOFF_US = 2 * times.SECOND
BACKOFF_MAX_US = 15 * 60 * times.SECOND


@dataclass(slots=True)
class Tally:
    """What became of the jobs of one run, by kind."""

    done: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])  #: will be tried again
    dead: Counter[str] = field(default_factory=Counter[str])
    lost: Counter[str] = field(default_factory=Counter[str])  #: somebody else had them by then

    @property
    def total(self) -> int:
        """How many tries there were."""
        return sum(map(Counter.total, (self.done, self.failed, self.dead, self.lost)))


class Working(Core):
    """Runs jobs, one at a time: that of a neighbour never pays for one that ends the process."""

    duties: ClassVar[Mapping[str, Duty]] = {}

    async def run_due(
        self,
        progress: Progress,
        *,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Tally:
        """Carry out what is due now, of some kinds or all, until nothing is or `limit` is met."""
        wanted = [
            kind
            for kind, duty in self.duties.items()
            if (kinds is None or kind in kinds) and duty.able(self)
        ]
        tally = Tally()
        while limit is None or tally.total < limit:
            now = self._clock.now()
            claimed = await self._store.claim_jobs(wanted, 1, now=now, lease_us=LEASE_US)
            if not claimed:
                break
            await self._carry_out(claimed[0], tally)
            progress("running jobs", tally.total, limit)
        return tally

    async def _carry_out(self, job: Job, tally: Tally) -> None:
        """One try of one job, with whatever becomes of it."""
        duty = self.duties[job.kind]
        try:
            if job.tries > duty.tries_max:  # who held it before never came to say how it went
                await self._fail(job, duty, "abandoned", tally)
                return
            try:
                effects = await duty.run(self, job)
                await self._store.apply([self._finished(job), *effects, *self._next(duty)])
                tally.done[job.kind] += 1
            except (LeaseLost, ClosedError, StorageError):
                raise
            except Exception as exc:
                reason = exc.code if isinstance(exc, RecollectError) else type(exc).__name__
                await self._fail(job, duty, reason, tally)
        except LeaseLost:
            tally.lost[job.kind] += 1
            note(LOG, logging.INFO, "somebody else has the job by now", kind=job.kind)

    async def _fail(self, job: Job, duty: Duty, reason: str, tally: Tally) -> None:
        """Try a job again later, or give it up after its last try."""
        now = self._clock.now()
        if job.tries < duty.tries_max:
            again = now + self._backoff(job.tries)
            await self._store.apply([RetryJob(job.number, job.attempt, now, again, reason)])
            tally.failed[job.kind] += 1
            what = "a job failed and is tried again"
        else:
            bury = BuryJob(job.number, job.attempt, now, reason)
            await self._store.apply([bury, *self._next(duty)])
            tally.dead[job.kind] += 1
            what = "a job was given up"
        note(LOG, logging.WARNING, what, kind=job.kind, tries=job.tries, error=reason)

    def _finished(self, job: Job) -> Operation:
        """The end of a job, fenced by the attempt under which it was claimed."""
        return FinishJob(job.number, job.attempt, self._clock.now())

    def _next(self, duty: Duty) -> list[Operation]:
        """The next run of a duty that runs by itself; runs that were missed are not made up."""
        if duty.every_s is None:
            return []
        now = self._clock.now()
        every = int(duty.every_s * times.SECOND)
        # Up to a tenth later, so that many stores do not all work at once.
        run_at = now + every + int(every / 10 * self._chance())
        return [Enqueue(now, duty.kind, {}, None, run_at=run_at, unique=True)]

    def _backoff(self, tries: int) -> int:
        """A random wait: up to twice as long as after the try before."""
        return int(min(BACKOFF_MAX_US, BACKOFF_US * 2 ** (tries - 1)) * self._chance())

    def _chance(self) -> float:
        """From 0 to 1."""
        return int.from_bytes(self._entropy.bytes(4), "little") / 2**32
