"""The duties that tend memories: they rise a tier, leave recall, or retire, as the policy says."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.domain import tending, times
from recollect.domain.jobs import Job
from recollect.domain.operations import Alter, Enqueue, Operation
from recollect.domain.queries import View
from recollect.domain.requests import Because
from recollect.engine.core import SALT_BYTES, Core
from recollect.engine.remembering import replace_salt

TEND, TEND_PLACE = "tend", "tend_place"
#: Memories that one step reads, and at most changes.
STEP = 500


class Tending(Core):
    """The duties `tend`, for the whole store, and `tend_place`, a step of it."""

    async def tend(self, job: Job) -> Sequence[Operation]:
        """A job for every place."""
        now = self._clock.now()
        reads = self._take_touched()
        places = await self._store.places(None)
        return [*reads, *(Enqueue(now, TEND_PLACE, {}, place, unique=True) for place in places)]

    async def tend_place(self, job: Job) -> Sequence[Operation]:
        """One step through a place: what is due for its next memories, then the step after it."""
        if job.place is None:
            return []
        now = self._clock.now()
        # What has expired or is over is hidden from every view of the present.
        view = View((job.place,), times.FIRST)
        found = await self._store.entries(view, int(job.payload.get("after", 0)), STEP)
        stamps = {
            action: self._stamp(action, Because("recollect"))
            for action in (tending.PROMOTE, tending.ARCHIVE)
        }
        operations: list[Operation] = []
        for _, record in found:
            policy = self._conduct.policies.of(job.place.tenant, record.kind)
            due = tending.due(record, policy, now)
            if due is not None:
                stamp = replace_salt(stamps[due.action], self._entropy.bytes(SALT_BYTES))
                stamp = replace(stamp, reason=due.reason)
                expect = {"version": record.version}
                operations.append(Alter(stamp, record.id, (job.place,), due.changes, expect))
        if len(found) == STEP:
            payload = {"after": found[-1][0]}
            operations.append(Enqueue(now, TEND_PLACE, payload, job.place))
        return operations
