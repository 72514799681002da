"""The vectors that an embedder owes.

It owes them to memories that were stored while it did not answer, before it was there, or when
another one was.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect.domain.errors import ProviderError
from recollect.domain.jobs import Job
from recollect.domain.operations import Enqueue, Operation, PutEmbedding
from recollect.domain.scopes import Scope
from recollect.engine.core import GIVEN_SPACE, Core
from recollect.engine.remembering import EMBED_JOB

SURVEY_JOB, SURVEY_STEP_JOB = "survey", "survey_step"
SURVEYED_MAX = 200  #: memories of a step


class Embedding(Core):
    """The duties `embed` and `survey`."""

    @property
    def has_embedder(self) -> bool:
        """Whether there is anything to make vectors with."""
        return self._embedder is not None

    async def embed_later(self, job: Job) -> Sequence[Operation]:
        """The vectors of one memory; nothing if they are of no use any more."""
        if job.memory is None or job.place is None:
            return []
        everything = self._everything(Scope(tenant=job.place.tenant))
        found = await self._store.get([job.memory], replace(everything, places=(job.place,)))
        record = found.get(job.memory)
        if record is None:
            return []
        entry = await self._entry(record)
        if entry.vector is None:
            raise ProviderError("the embedder does not answer yet")
        return [PutEmbedding(record.id, record.version, entry, must=True)]

    async def survey(self, job: Job) -> Sequence[Operation]:
        """Queue what has no vector in the space of today's embedder, some hundred at a time.

        A vector that a caller brought along stands for its memory, and no other is made.
        """
        assert self._embedder is not None
        after = int(job.payload.get("after", 0))
        spaces = (self._embedder.space, GIVEN_SPACE)
        found = await self._store.without_vector(spaces, after, SURVEYED_MAX)
        now = self._clock.now()
        queued: list[Operation] = [
            Enqueue(now, EMBED_JOB, {}, place, id, unique=True) for _, place, id in found
        ]
        if len(found) == SURVEYED_MAX:
            queued.append(Enqueue(now, SURVEY_STEP_JOB, {"after": found[-1][0]}, None, unique=True))
        return queued
