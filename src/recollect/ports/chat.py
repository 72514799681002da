"""The chat: a language model that answers one request.

A memory model and a reasoning model are two of these. Who is charged, how long a call may take and
what happens when it fails is decided around this port, not behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from recollect.domain.clients import ModelClient
from recollect.domain.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool to be run."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a request."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()  #: tools that an assistant's message asks for
    answers: str | None = None  #: for a tool's message: the id of the call that it answers


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: what is said so far, and what may be answered."""

    turns: tuple[Turn, ...]
    purpose: str  #: what the ledger books it under: reply, summary, facts, rewrite, …
    tokens_max: int = 1024  #: of the answer
    schema: Mapping[str, Any] | None = None  #: JSON schema that the answer has to fulfil
    tools: tuple[Mapping[str, Any], ...] = ()  #: name, description and parameters of each
    deadline_s: float = 60.0  #: for everything: retries, repairs and fallback models included


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, and what it took."""

    text: str
    model: str  #: provider:name of the model that answered, which may be a fallback
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0  #: of `tokens_in`, those that the provider had kept from before
    data: Any = None  #: the answer as JSON, for a request with a schema
    calls: tuple[ToolCall, ...] = ()
    before: tuple[Usage, ...] = ()  #: what tries took whose answers could not be used

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Everything that the answer took."""
        own = Usage(self.model, self.tokens_in, self.tokens_out, self.tokens_cached)
        return (*self.before, own)


class Chat(Protocol):
    """A language model behind one name."""

    @property
    def inline(self) -> bool:
        """True when no method ever suspends."""
        ...

    @property
    def model(self) -> str:
        """provider:name of the model."""
        ...

    @property
    def window(self) -> int:
        """How many tokens a request and its answer may have together."""
        ...

    async def answer(self, ask: Ask) -> Answer:
        """The whole answer; a ProviderError when there is none."""
        ...

    def stream(self, ask: Ask) -> AsyncIterator[str | Answer]:
        """The answer piece by piece, and at the end as a whole."""
        ...

    async def close(self) -> None:
        """Release connections; idempotent."""
        ...


Connect = Callable[[Sequence[ModelClient]], Chat]
"""Makes a chat of a client and of those that stand in for it; opens nothing before it is asked."""
