"""The keeper: the engine, and everything that runs later."""

from collections.abc import Mapping
from typing import ClassVar

from recollect.domain.limits import BATCH_ITEMS_MAX, whole
from recollect.engine.engine import Engine
from recollect.engine.remembering import EMBED_JOB
from recollect.lifecycle.duties import Duty
from recollect.lifecycle.embedding import Embedding
from recollect.lifecycle.working import Working

#: A provider may be away for a day: about 100 tries, a quarter of an hour or less apart.
EMBED_TRIES_MAX = 100


class Keeper(Embedding, Working, Engine):
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
        )
    }

    async def catch_up(self, limit: int) -> int:
        """Give vectors to memories that were stored while the embedder did not answer."""
        whole(limit, 1, BATCH_ITEMS_MAX, field="limit")
        tally = await self.run_due(_silent, kinds=[EMBED_JOB], limit=limit)
        return tally.done.total()


def _silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""
