"""Which model does the memory's work, who is asked for it, and what that costs.

An agent's memory work is done by its memory model, else by the system's where that is configured
to come first, else by the model that the agent thinks with. Without an agent that is known it is
the system's memory model, else its reasoning model. Whoever is asked, is asked through the ledger.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from recollect.domain.clients import AgentRecord, ModelClient, named_client
from recollect.domain.costs import Payer
from recollect.domain.errors import ProviderError, ProviderRejected
from recollect.domain.scopes import Scope
from recollect.engine.core import Core
from recollect.engine.ledger import Call, Ledger
from recollect.ports.chat import Answer, Ask, Chat


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that was chosen, and by what rule; without one, work is done without a model."""

    chat: Chat | None = None
    clients: tuple[ModelClient, ...] = ()  #: none for a chat that was brought along
    why: str = "no model is configured"

    @property
    def names(self) -> tuple[str, ...]:
        """provider:name of those that may answer."""
        if self.clients:
            return tuple(one.name for one in self.clients)
        return () if self.chat is None else (self.chat.model,)


class LedgerChat:
    """A chat whose every call is first allowed by the budgets, and then written down."""

    def __init__(self, chat: Chat, ledger: Ledger, call: Call) -> None:
        self._chat = chat
        self._ledger = ledger
        self._call = call

    @property
    def inline(self) -> bool:
        """The other's; the store's as well, which is inline wherever that matters."""
        return self._chat.inline

    @property
    def model(self) -> str:
        """The other's."""
        return self._chat.model

    @property
    def window(self) -> int:
        """The other's."""
        return self._chat.window

    async def answer(self, ask: Ask) -> Answer:
        """The other's; BudgetExceeded before anything is sent."""
        await self._ledger.check(self._call)
        try:
            answer = await self._chat.answer(ask)
        except ProviderError as exc:
            await self._ledger.book(self._call, ask.purpose, exc.spent)
            raise
        await self._ledger.book(self._call, ask.purpose, answer.usage)
        return answer

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Answer]:
        """The other's; BudgetExceeded before anything is sent."""
        await self._ledger.check(self._call)
        try:
            async for piece in self._chat.stream(ask):
                if isinstance(piece, Answer):
                    await self._ledger.book(self._call, ask.purpose, piece.usage)
                yield piece
        except ProviderError as exc:
            await self._ledger.book(self._call, ask.purpose, exc.spent)
            raise

    async def close(self) -> None:
        """Nothing: the engine closes what it has opened, and callers what they brought."""


class Asking(Core):
    """Asking language models on behalf of a scope."""

    async def _memory_model(self, scope: Scope, operation: str) -> Chat | None:
        """The model for summaries, facts and rewrites in a scope; None to do it without one.

        `operation` is what the call serves (`remember`, `recall`, `context`, …). Every call is
        booked under it, for the scope's user, session and agent. Whoever asks catches
        ProviderError and BudgetExceeded, and then does it without a model too.
        """
        return self._through_ledger(await self._for_memory(scope), scope, operation, "memory")

    async def _reasoning_model(self, scope: Scope, operation: str) -> Chat | None:
        """The model that answers for a scope: its agent's, else the system's reasoning model."""
        return self._through_ledger(await self._for_reasoning(scope), scope, operation, "reasoning")

    async def model(self, scope: Scope, chosen: Chat | str | None) -> Chat | None:
        """The model that answers for a scope, or another that is named or brought along.

        Every call of it is allowed by the budgets first, and booked.
        """
        if chosen is None:
            return await self._reasoning_model(scope, "chat")
        clients: dict[str, ModelClient] = {}
        if isinstance(chosen, str):
            clients = {one.label: one for one in await self._store.model_clients(scope.tenant)}
        choice = self._named(chosen, clients, "the model that was asked for")
        return self._through_ledger(choice, scope, "chat", "reasoning")

    def _through_ledger(
        self, choice: Choice, scope: Scope, operation: str, purpose: str
    ) -> Chat | None:
        if choice.chat is None:
            return None
        call = Call(Payer.of(scope), operation, purpose, choice.names, choice.clients)
        return self._booked(choice, call)

    def _booked(self, choice: Choice, call: Call) -> Chat:
        assert choice.chat is not None
        return LedgerChat(choice.chat, self._ledger, call)

    # -- choosing --------------------------------------------------------------------------------

    async def _for_memory(self, scope: Scope) -> Choice:
        agent, clients = await self._registered(scope)
        system = self._memory_chat
        if agent is not None:
            remembers = clients.get(agent.memory_model_client or "")
            if remembers is not None and remembers.active:
                return self._open(remembers, clients, f"the memory model of agent {agent.label}")
            if system is None or self._conduct.memory_model_first == "off":
                return self._thinking(agent, clients)
        if system is not None:
            return self._named(system, clients, "the system's memory model")
        if self._reasoning_chat is not None:
            return self._named(self._reasoning_chat, clients, "the system's reasoning model")
        return Choice()

    async def _for_reasoning(self, scope: Scope) -> Choice:
        agent, clients = await self._registered(scope)
        if agent is not None:
            return self._thinking(agent, clients)
        if self._reasoning_chat is not None:
            return self._named(self._reasoning_chat, clients, "the system's reasoning model")
        return Choice()

    def _thinking(self, agent: AgentRecord, clients: Mapping[str, ModelClient]) -> Choice:
        thinks = clients[agent.model_client]
        if not thinks.active:
            return Choice(why=f"the model client {thinks.label} of agent {agent.label} is off")
        return self._open(thinks, clients, f"the model that agent {agent.label} thinks with")

    async def _registered(
        self, scope: Scope
    ) -> tuple[AgentRecord | None, Mapping[str, ModelClient]]:
        """The scope's agent, if it is one that is known, and all clients by label."""
        agents: list[AgentRecord] = []
        if scope.agent is not None:
            agents = await self._store.agents(scope.tenant, scope.app)
        agent = next((one for one in agents if one.label == scope.agent), None)
        named = isinstance(self._memory_chat, str) or isinstance(self._reasoning_chat, str)
        if agent is None and not named:
            return None, {}
        clients = await self._store.model_clients(scope.tenant)
        return agent, {one.label: one for one in clients}

    def _named(self, chosen: Any, clients: Mapping[str, ModelClient], why: str) -> Choice:
        if not isinstance(chosen, str):
            return Choice(chosen, (), why)
        return self._open(_client(chosen, clients, why), clients, why)

    def _open(self, client: ModelClient, clients: Mapping[str, ModelClient], why: str) -> Choice:
        also = (
            _client(name, clients, f"a fallback of {client.label}") for name in client.fallbacks
        )
        together = (client, *(one for one in also if one.active and one != client))
        return Choice(self._chats.of(together), together, why)


def _client(name: str, clients: Mapping[str, ModelClient], why: str) -> ModelClient:
    """A client by its label, or by provider and model."""
    if name in clients:
        return clients[name]
    if ":" in name:
        return named_client(name)
    known = f"; known: {', '.join(clients)}" if clients else ""
    raise ProviderRejected(f"{why} is {name!r}, and there is no such model client{known}")
