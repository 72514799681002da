"""The keeper: the engine, and everything that runs later."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from recollect.domain import times
from recollect.domain.errors import ValidationError, shown
from recollect.domain.jobs import JobQuery, JobState, Maintenance, QueuedJob
from recollect.domain.limits import BATCH_ITEMS_MAX, INTEGER_MAX, LIST_LIMIT_MAX, whole
from recollect.domain.operations import Enqueue, ReviveJob, Stamp
from recollect.domain.queries import View
from recollect.domain.requests import Because, Selection
from recollect.domain.scopes import Scope, check_name
from recollect.engine.core import Ports
from recollect.engine.engine import Engine
from recollect.engine.remembering import EMBED_JOB
from recollect.lifecycle.checking import Checking
from recollect.lifecycle.consolidating import CONSOLIDATE, CONSOLIDATE_PLACE, Consolidating
from recollect.lifecycle.distilling import DISTIL, Distilling
from recollect.lifecycle.duties import Duty
from recollect.lifecycle.embedding import SURVEY_JOB, SURVEY_STEP_JOB, Embedding
from recollect.lifecycle.serving import Background
from recollect.lifecycle.tending import TEND, TEND_PLACE, Tending
from recollect.ports.store import Progress

DAY_S = 24 * 3600.0
#: A provider may be away for half a day: about 100 tries, a quarter of an hour or less apart.
EMBED_TRIES_MAX = 100
#: A process looks so often for jobs that it did not queue itself, and after so long for the first
#: time: a short script never does.
LOOK_US = 10 * times.SECOND
NEVER = INTEGER_MAX


class Keeper(Embedding, Tending, Consolidating, Distilling, Checking, Engine):
    """Implements `ports.backend.Backend`; a new duty is a line in `duties`."""

    duties: ClassVar[Mapping[str, Duty]] = {
        duty.kind: duty
        for duty in (
            Duty(
                EMBED_JOB,
                Embedding.embed_later,
                tries_max=EMBED_TRIES_MAX,
                able=lambda keeper: keeper.has_embedder,
            ),
            Duty(
                SURVEY_JOB,
                Embedding.survey,
                every_s=DAY_S,
                able=lambda keeper: keeper.has_embedder,
            ),
            Duty(SURVEY_STEP_JOB, Embedding.survey, able=lambda keeper: keeper.has_embedder),
            Duty(TEND, Tending.tend, every_s=DAY_S),
            Duty(TEND_PLACE, Tending.tend_place),
            Duty(
                CONSOLIDATE,
                Consolidating.consolidate_all,
                every_s=DAY_S / 2,
                able=lambda keeper: keeper.consolidates,
            ),
            Duty(CONSOLIDATE_PLACE, Consolidating.consolidate_place),
            Duty(DISTIL, Distilling.distil, timeout_s=60),
        )
    }

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self._background: Background | None = None
        #: From when on a call sees to it that jobs are run.
        self._look_at = NEVER

    # -- in the background -----------------------------------------------------------------------

    def run_in(self, background: Background) -> None:
        """Have jobs run in a background, when some are due and somebody calls."""
        self._background, self.background = background, "on"
        self._look_at = self._clock.now() + LOOK_US

    def rest(self, due_s: float | None) -> None:
        """The background has ended; in so many seconds something is due."""
        wait_us = LOOK_US if due_s is None else min(LOOK_US, int(due_s * times.SECOND))
        self._look_at = self._clock.now() + wait_us

    def _mind(self) -> None:
        if self._clock.now() >= self._look_at and self._background is not None:
            self._look_at = NEVER
            self._background.begin()

    def _stamp(self, action: str, because: Because) -> Stamp:
        self._mind()
        return super()._stamp(action, because)

    def _view(self, scope: Scope, selection: Selection | None = None) -> View:
        self._mind()
        return super()._view(scope, selection)

    def _queued(self, job: Enqueue) -> Enqueue:
        if self._background is not None:
            self._background.begin()
        return job

    async def close(self) -> None:
        """End what runs in the background, then flush and release everything."""
        background, self._background = self._background, None
        if background is not None:
            await background.stop(inline=self.inline)
        await super().close()

    # -- in the foreground -----------------------------------------------------------------------

    async def maintain(self, progress: Progress) -> Maintenance:
        """Carry out whatever is due."""
        await self.plant()
        return (await self.run_due(progress)).told()

    async def catch_up(self, limit: int) -> int:
        """Give vectors to memories that were stored while the embedder did not answer."""
        whole(limit, 1, BATCH_ITEMS_MAX, field="limit")
        tally = await self.run_due(_silent, kinds=[EMBED_JOB], limit=limit)
        return tally.done.total()

    async def jobs(
        self, *, state: str | None, kind: str | None, after: int, limit: int
    ) -> Sequence[QueuedJob]:
        """Jobs that wait, run or are dead."""
        states = [one.value for one in JobState]
        if state is not None and state not in states:
            raise ValidationError(
                f"state must be one of {', '.join(states)}, not {shown(state)}", field="state"
            )
        if kind is not None:
            check_name(kind, field="kind")
        query = JobQuery(
            now=self._clock.now(),
            state=None if state is None else JobState(state),
            kinds=None if kind is None else (kind,),
            after=whole(after, 0, INTEGER_MAX, field="after"),
            limit=whole(limit, 1, LIST_LIMIT_MAX, field="limit"),
        )
        return await self._store.jobs(query)

    async def retry_job(self, number: int) -> None:
        """Try a dead job again."""
        whole(number, 1, INTEGER_MAX, field="number")
        await self._store.apply([ReviveJob(number, self._clock.now())])


def _silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""
