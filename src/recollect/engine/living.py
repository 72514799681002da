"""Living: memories that are made strong again, called back, or about to leave."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from heapq import heappush, heappushpop
from typing import Any

from recollect.domain import times
from recollect.domain.errors import ConflictError
from recollect.domain.forecast import Forecast, Outlook
from recollect.domain.limits import FORECAST_DAYS_MAX, LIST_LIMIT_MAX, whole
from recollect.domain.operations import Alter, Reinforce
from recollect.domain.queries import View
from recollect.domain.records import MemoryRecord, Status
from recollect.domain.reinforcing import check_factor
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, Scope
from recollect.domain.tending import archived_at
from recollect.domain.times import DAY
from recollect.engine.safeguarding import Safeguarding

PAGE = 500
#: A forecast is looked at in so many equal steps.
PARTS = 30


class Living(Safeguarding):
    """Reinforcing, restoring and looking ahead."""

    async def reinforce(
        self, scope: Scope, id: str, factor: float | None, because: Because
    ) -> MemoryRecord:
        """Make a memory more important, at most 1, and let it fade anew from now on."""
        if factor is None:
            record = await self._one(scope, id)
            factor = self._conduct.policies.of(scope.tenant, record.kind).reinforce_factor
        stamp = self._stamp("reinforce", because)
        op = Reinforce(stamp, id, (scope.home,), check_factor(factor))
        return (await self._store.apply([op]))[0]

    async def restore(self, scope: Scope, id: str, because: Because) -> MemoryRecord:
        """Call an archived memory back: it takes part in recall again, and fades from now on.

        What gives orders and comes from where none are taken waits for a review instead.
        """
        record = await self._one(scope, id)
        if record.status != Status.ARCHIVED:
            raise ConflictError(f"{id} is {record.status}, not archived: nothing to restore")
        stamp = self._stamp("restore", because)
        now = times.show(stamp.at)
        back = self._set_apart(replace(record, status=Status.ACTIVE.value))
        changes: dict[str, Any] = {"status": back.status, "reinforced_at": now}
        if record.expires_at is not None and record.expires_at <= now:
            changes["expires_at"] = None
        expect = {"status": Status.ARCHIVED.value}
        return (await self._store.apply([Alter(stamp, id, (scope.home,), changes, expect)]))[0]

    async def forecast(self, scope: Scope, days: int, limit: int) -> Forecast:
        """Which memories leave recall in so many days if nobody uses them, soonest first."""
        whole(days, 1, FORECAST_DAYS_MAX, field="days")
        whole(limit, 1, LIST_LIMIT_MAX, field="limit")
        now = self._clock.now()
        moments = [now + days * DAY * part // PARTS for part in range(PARTS + 1)]
        left = [0] * len(moments)
        soonest: list[tuple[int, int, MemoryRecord]] = []
        async for handle, record in self._active(scope.home, now):
            end = archived_at(record, self._conduct.policies.of(scope.tenant, record.kind))
            stays = len(moments) if end is None else bisect_right(moments, max(end - 1, now))
            for part in range(stays):
                left[part] += 1
            if end is not None and end <= moments[-1]:
                # Negative, since a heap gives up its least: the one that leaves last.
                push = heappush if len(soonest) < limit else heappushpop
                push(soonest, (-end, -handle, record))
        outlooks = [self._outlook(one, -end, moments) for end, _, one in sorted(soonest)[::-1]]
        return Forecast(tuple(map(times.show, moments)), tuple(left), tuple(outlooks))

    def _outlook(self, record: MemoryRecord, end: int, moments: Sequence[int]) -> Outlook:
        policy = self._conduct.policies.of(record.place.tenant, record.kind)
        strengths = tuple(record.strength(times.show(moment), policy) for moment in moments)
        return Outlook(record, strengths, times.show(end))

    async def _active(self, place: Place, now: int) -> AsyncIterator[tuple[int, MemoryRecord]]:
        """What takes part in recall with its handles, in order of writing, a page at a time."""
        after = 0
        while page := await self._store.entries(View((place,), now), after, PAGE):
            for line in page:
                yield line
            after = page[-1][0]
