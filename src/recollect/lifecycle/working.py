"""Carrying out jobs: claimed, run, committed with their effects, tried again or given up."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from recollect.domain import times
from recollect.domain.errors import (
    Abandoned,
    ClosedError,
    LeaseLost,
    RecollectError,
    StorageError,
)
from recollect.domain.health import Severity
from recollect.domain.jobs import Job, Maintenance
from recollect.domain.operations import (
    BuryJob,
    Enqueue,
    FinishJob,
    Operation,
    RenewJob,
    RetryJob,
)
from recollect.engine.core import Core, Ports
from recollect.lifecycle.duties import Duty
from recollect.logs import note
from recollect.ports.store import Progress

LOG = logging.getLogger("recollect.jobs")
#: Who holds a job keeps it for so long, and in a loop renews the lease three times in that time.
LEASE_S = 60.0
#: Where nothing can happen beside a job, the lease is as long as the longest try.
LEASE_INLINE_S = 300.0
#: A job that failed is tried again after a random time of up to this, doubled with each failure.
BACKOFF_S = 2.0
BACKOFF_MAX_S = 15 * 60.0
#: A duty that runs by itself does so up to this part of its interval earlier, by chance, so that
#: many stores do not all work at once.
JITTER = 0.1


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

    def told(self) -> Maintenance:
        """As callers are told."""
        return Maintenance(dict(self.done), dict(self.failed), dict(self.dead))


def never() -> bool:
    """Nobody wants it to end early."""
    return False


class Working(Core):
    """Runs jobs, one at a time: that of a neighbour never pays for one that ends the process."""

    duties: ClassVar[Mapping[str, Duty]] = {}
    lease_s: float = LEASE_S

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self._tally = Tally()

    @property
    def worked(self) -> Maintenance:
        """What `maintain` and `serve` have done so far."""
        return self._tally.told()

    async def run_due(
        self,
        progress: Progress,
        *,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
        enough: Callable[[], bool] = never,
        tally: Tally | None = None,
    ) -> Tally:
        """Carry out what is due now, of some kinds or all, until nothing is or it is `enough`.

        What becomes of the jobs is added to `tally`, also while it goes on.
        """
        wanted = self._able(kinds)
        lease_s = LEASE_INLINE_S if self.inline else self.lease_s
        lease_us = int(lease_s * times.SECOND)
        tally = Tally() if tally is None else tally
        while not enough() and (limit is None or tally.total < limit):
            now = self._clock.now()
            claimed = await self._store.claim_jobs(wanted, 1, now=now, lease_us=lease_us)
            if not claimed:
                break
            await self._carry_out(claimed[0], tally)
            progress("running jobs", tally.total, limit)
        return tally

    async def plant(self) -> None:
        """See to it that every duty that runs by itself is queued; the first run is due at once."""
        own = [kind for kind in self._able(None) if self.duties[kind].every_s is not None]
        now = self._clock.now()
        queued = await self._store.queue(now)
        known = {*queued.next_by_kind, *queued.running_kinds}
        missing = [kind for kind in own if kind not in known]
        if missing:
            await self._store.apply([_planted(kind, now, now) for kind in missing])

    def _able(self, kinds: Sequence[str] | None) -> list[str]:
        """Those of the kinds whose duties this keeper can carry out."""
        return [
            kind
            for kind, duty in self.duties.items()
            if (kinds is None or kind in kinds) and duty.able(self)
        ]

    # -- one try ---------------------------------------------------------------------------------

    async def _carry_out(self, job: Job, tally: Tally) -> None:
        """One try of one job, with whatever becomes of it."""
        duty = self.duties[job.kind]
        try:
            if job.tries > duty.tries_max:
                await self._fail(job, duty, Abandoned(), tally)
                return
            try:
                effects = await self._effects(job, duty)
                end = FinishJob(job.number, job.attempt, self._clock.now())
                await self._store.apply([end, *effects, *self._next(duty)])
                tally.done[job.kind] += 1
                note(LOG, logging.INFO, "a job is done", kind=job.kind, tries=job.tries)
            except (LeaseLost, ClosedError):
                raise
            except (asyncio.CancelledError, KeyboardInterrupt):
                await self._give_back(job)
                raise
            except Exception as exc:
                await self._fail(job, duty, exc, tally)
        except LeaseLost:
            tally.lost[job.kind] += 1
            note(LOG, logging.INFO, "somebody else has the job by now", kind=job.kind)

    async def _effects(self, job: Job, duty: Duty) -> Sequence[Operation]:
        """What a duty makes of a job; in a loop its lease is renewed meanwhile."""
        if self.inline:
            return await duty.run(self, job)
        renewing = asyncio.create_task(self._renew(job))
        try:
            async with asyncio.timeout(duty.timeout_s):
                return await duty.run(self, job)
        finally:
            renewing.cancel()

    async def _renew(self, job: Job) -> None:
        """Keep a job until this is cancelled, or somebody else has it."""
        while True:
            await asyncio.sleep(self.lease_s / 3)
            until = self._clock.now() + int(self.lease_s * times.SECOND)
            try:
                await self._store.apply([RenewJob(job.number, job.attempt, until)])
            except StorageError:
                continue  # the store may answer again before the lease runs out
            except (LeaseLost, ClosedError):
                return

    async def _fail(self, job: Job, duty: Duty, error: Exception, tally: Tally) -> None:
        """Try a job again later, or give it up after its last try."""
        now = self._clock.now()
        reason = error.code if isinstance(error, RecollectError) else type(error).__name__
        if job.tries < duty.tries_max:
            again = now + self._backoff_us(job.tries)
            await self._store.apply([RetryJob(job.number, job.attempt, now, again, reason)])
            tally.failed[job.kind] += 1
            what, severity = "a job failed and will be tried again", Severity.WARNING
        else:
            bury = BuryJob(job.number, job.attempt, now, reason)
            await self._store.apply([bury, *self._next(duty)])
            tally.dead[job.kind] += 1
            what, severity = "a job was given up", Severity.ERROR
        note(LOG, logging.WARNING, what, kind=job.kind, tries=job.tries, error=reason)
        self._report("jobs", error, severity=severity)

    async def _give_back(self, job: Job) -> None:
        """Let others have a job at once that is not our fault and not its own."""
        now = self._clock.now()
        await self._store.apply([RetryJob(job.number, job.attempt, now, now)])

    def _next(self, duty: Duty) -> list[Operation]:
        """The next run of a duty that runs by itself; runs that were missed are not made up."""
        if duty.every_s is None:
            return []
        now = self._clock.now()
        wait_s = duty.every_s * (1 - JITTER * self._chance())
        return [_planted(duty.kind, now, now + int(wait_s * times.SECOND))]

    def _backoff_us(self, tries: int) -> int:
        """A random wait, at most twice as long as after the try before."""
        longest = min(BACKOFF_MAX_S, BACKOFF_S * 2 ** (tries - 1))
        return int(longest * self._chance() * times.SECOND)

    def _chance(self) -> float:
        """From 0 to 1."""
        return int.from_bytes(self._entropy.bytes(4), "little") / 2**32


def _planted(kind: str, now: int, run_at: int) -> Operation:
    return Enqueue(now, kind, {}, None, run_at=run_at, unique=True)
