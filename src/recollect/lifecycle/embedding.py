"""The vectors that an embedder owes: memories that were stored while it did not answer."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.domain.errors import ProviderError
from recollect.domain.jobs import Job
from recollect.domain.operations import Operation, PutEmbedding
from recollect.domain.scopes import Scope
from recollect.engine.core import Core


class Embedding(Core):
    """The duty `embed`."""

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
