"""The engine: all use-cases over one set of ports."""

from recollect.engine.assembling import Assembling
from recollect.engine.carrying import Carrying
from recollect.engine.chats import close_all
from recollect.engine.explaining import Explaining
from recollect.engine.extracting import Extracting
from recollect.engine.forgetting import Erasing
from recollect.engine.living import Living
from recollect.engine.modelling import Modelling
from recollect.engine.relating import Relating
from recollect.engine.reviewing import Reviewing
from recollect.engine.revising import Revising


class Engine(
    Extracting,
    Assembling,
    Modelling,
    Reviewing,
    Explaining,
    Relating,
    Revising,
    Living,
    Erasing,
    Carrying,
):
    """Implements `ports.backend.Backend` on a store."""

    async def close(self) -> None:
        """Release the store, then every model that was opened for it."""
        try:
            await super().close()
        finally:
            await close_all((self._chats, *self._owned))
