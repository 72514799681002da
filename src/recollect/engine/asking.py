"""Which model does the memory's work, and who is asked for it."""

from recollect.domain.clients import ModelClient, named_client
from recollect.domain.scopes import Scope
from recollect.engine.core import Core
from recollect.ports.chat import Chat


class Asking(Core):
    """Asking language models on behalf of a scope."""

    async def _memory_model(self, scope: Scope, operation: str) -> Chat | None:
        """The model for summaries, facts and rewrites in a scope; None to do it without one.

        `operation` is what the call serves (`remember`, `recall`, `context`, …). Whoever asks
        catches ProviderError and BudgetExceeded, and then does it without a model too.
        """
        chosen = self._memory_chat or self._reasoning_chat
        if not isinstance(chosen, str):
            return chosen
        client = named_client(chosen)
        return self._chats.of((client, *map(self._standing_in, client.fallbacks)))

    def _standing_in(self, name: str) -> ModelClient:
        return named_client(name)
