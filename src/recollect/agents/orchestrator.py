"""The orchestrator and its agents: the memory is the orchestrator's, all agents share it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from typing import Any, cast

from recollect.agents.buffer import BufferMemory, Said
from recollect.agents.chatting import (
    NO_MODEL,
    Reply,
    Spoken,
    Told,
    converse,
    converse_in_writing,
    recite,
    reply_of,
)
from recollect.agents.sharing import Anonymous, SharedMemory
from recollect.agents.toolbox import ALL, Toolbox, schemas
from recollect.client.async_memory import AsyncMemory
from recollect.domain.clients import checked_name
from recollect.domain.context import Context
from recollect.domain.errors import (
    AgentExists,
    BudgetExceeded,
    NotFound,
    ValidationError,
    shown,
)
from recollect.domain.scopes import check_name
from recollect.ports.chat import Chat

#: What an agent could be given when each had a memory of its own.
LEGACY = ("buffer_memory", "long_term_memory")
#: Conversations whose last context is kept, so that the next one begins with the same bytes.
CONTEXTS_MAX = 1000


class Agent:
    """A name, a model and what it is told. Its memory is the orchestrator's.

    `buffer_memory` and `long_term_memory` are of the time when each agent had its own: without an
    orchestrator they still work, with one they are ignored; both say that they are deprecated.
    """

    def __init__(
        self,
        model: Chat | str | None,
        orchestrator: Orchestrator | None = None,
        *,
        system_message: str = "",
        agent_id: str = "agent",
        description: str | None = None,
        tools: Sequence[str] | None = None,
        function_calling: bool = True,
        **legacy: Any,
    ) -> None:
        self.agent_id = agent_id
        self.model = checked_model(model)
        self.system_message = system_message
        self.description = description
        self.tools = tools
        self.function_calling = function_calling
        warn_of_legacy(legacy)
        if orchestrator is None:
            orchestrator = Orchestrator(**legacy)
            orchestrator.adopt(self)
        self.orchestrator = orchestrator

    def __await__(self) -> Generator[Any, None, Agent]:
        """`await app.add_agent(…)` gives the agent, as `app.add_agent(…)` does."""
        return self
        yield

    @property
    def buffer_memory(self) -> BufferMemory | None:
        """The orchestrator's buffer."""
        return self.orchestrator.buffer_memory

    @property
    def long_term_memory(self) -> AsyncMemory | None:
        """The orchestrator's long-term memory."""
        return self.orchestrator.long_term_memory

    def speak(self, model: Chat, context: Context, toolbox: Toolbox) -> AsyncIterator[str | Spoken]:
        """The answer of a model to the last message of a context, piece by piece."""
        offered = schemas(ALL if self.tools is None else self.tools)
        talk = converse if self.function_calling or not offered else converse_in_writing
        return talk(model, context, toolbox, offered)

    async def chat(self, message: str, **told: Any) -> Reply:
        """Answer a message; `told` is what `Orchestrator.chat` takes."""
        return await self.orchestrator.chat(self.agent_id, message, **told)


class Orchestrator(SharedMemory):
    """One memory, many agents.

    >>> crew = Orchestrator(buffer_memory=10, long_term_memory="memory.db")
    >>> await crew.add_to_long_term_memory("Alice likes tea.", user_id="alice")
    >>> (await crew.search_memory("tea", user_id="alice"))[0]["text"]
    'Alice likes tea.'
    """

    def __init__(
        self, buffer_memory: object = None, long_term_memory: object = None, **options: Any
    ) -> None:
        super().__init__(buffer_memory, long_term_memory, **options)
        self.agents: dict[str, Agent] = {}
        self.default_agent_id: str | None = None
        self._contexts: dict[tuple[str | None, str], Context] = {}
        self._visits = itertools.count(1)

    def create_agent(
        self,
        agent_id: str,
        model: Chat | str | None = None,
        system_message: str = "",
        description: str | None = None,
        set_as_default: bool = False,
        *,
        tools: Sequence[str] | None = None,
        function_calling: bool = True,
        **legacy: Any,
    ) -> Agent:
        """Add an agent; the first one is the default. A name that is taken is an error.

        The model is a chat, `provider:model`, or the label of a model client of the memory; its
        calls are booked there. Without one it answers with what it remembers, word for word.

        `tools` names those that it may use; all of them unless told otherwise, none for `()`. A
        model without function calling (`function_calling=False`) writes its calls down instead.
        """
        warn_of_legacy(legacy)
        agent = Agent(
            model,
            self,
            system_message=system_message,
            agent_id=agent_id,
            description=description,
            tools=tools,
            function_calling=function_calling,
        )
        return self.adopt(agent, set_as_default=set_as_default)

    def adopt(self, agent: Agent, *, set_as_default: bool = False) -> Agent:
        """Take in an agent that was made elsewhere."""
        check_name(agent.agent_id, field="agent_id")
        if agent.agent_id in self.agents:
            raise AgentExists(f"there is an agent {agent.agent_id!r} already; choose another name")
        self.agents[agent.agent_id] = agent
        if set_as_default or self.default_agent_id is None:
            self.default_agent_id = agent.agent_id
        return agent

    def agent(self, agent_id: str | None = None) -> Agent:
        """An agent by name, or the default one."""
        wanted = agent_id or self.default_agent_id
        if wanted is None:
            raise NotFound("there is no agent yet; create_agent(…) makes one")
        if wanted not in self.agents:
            raise NotFound(f"there is no agent {wanted!r}; known: {', '.join(self.agents)}")
        return self.agents[wanted]

    def remove_agent(self, agent_id: str) -> None:
        """Remove an agent. What it was told stays; the next one becomes the default."""
        self.agent(agent_id)
        del self.agents[agent_id]
        if self.default_agent_id == agent_id:
            self.default_agent_id = next(iter(self.agents), None)

    # -- chatting --------------------------------------------------------------------------------

    async def chat(
        self,
        *said: str,
        agent_id: str | None = None,
        message: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> Reply:
        """The answer of an agent, or of the default one, to a message.

        The message is stored before the model is asked, the answer after it; an `Anonymous` user
        leaves nothing durable. The conversation is the agent's own unless `session` names another.

        >>> await crew.chat("tutor", "Remember my name is Alice.", user="alice")
        """
        reply: Reply | None = None
        pieces = self.stream(*said, agent_id=agent_id, message=message, user=user, session=session)
        async for piece in pieces:
            reply = piece if isinstance(piece, Reply) else None
        assert reply is not None, "a stream ends with the reply"
        return reply

    async def stream(
        self,
        *words: str,
        agent_id: str | None = None,
        message: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> AsyncIterator[str]:
        """As `chat`, piece by piece; the last is the whole `Reply`."""
        name, text = _addressed(words, agent_id, message)
        agent = self.agent(name)
        if self.remembers(user):
            async for piece in self._answered(agent, text, user, session):
                yield piece
            return
        once = Anonymous(f"once {next(self._visits)}")
        try:
            async for piece in self._answered(agent, text, once, session):
                yield piece
        finally:
            await self.drop(once)
            self._contexts.pop((once, session or agent.agent_id), None)

    async def _answered(
        self, agent: Agent, text: str, user: str | None, session: str | None
    ) -> AsyncIterator[str]:
        """The answer to one message, piece by piece; the last is the whole `Reply`."""
        where = session or agent.agent_id
        own = (await self.memory_of(user)).scope(agent=agent.agent_id)
        heard = await self.hear(user, Said(text, "user", agent.agent_id), session=where)
        model = None if agent.model is None else await own.model(agent.model)
        context = await self._context(own, agent, model, (user, where))
        last: Spoken | None = None
        async for piece in self._spoken(agent, model, context, own, text, heard):
            if isinstance(piece, Spoken):
                last = piece
            else:
                yield piece
        assert last is not None, "what is spoken has a last word"
        stored = [heard]
        if last.answer.model != NO_MODEL:  # what only repeats memories is no news
            answered = Said(last.answer.text, "assistant", agent.agent_id)
            stored.append(await self.hear(user, answered, session=where))
        told = Told(agent.agent_id, last.answer.model, context, last.used, tuple(stored))
        yield reply_of(last.answer.text, told)

    async def _spoken(
        self,
        agent: Agent,
        model: Chat | None,
        context: Context,
        own: AsyncMemory,
        text: str,
        heard: str,
    ) -> AsyncIterator[str | Spoken]:
        """What the model says; without one, or when its money is spent, what is remembered."""
        if model is not None:
            toolbox = Toolbox(own, text, agent.agent_id)
            try:
                async for piece in agent.speak(model, context, toolbox):
                    yield piece
            except BudgetExceeded as exc:
                yield f"({exc}) "
            else:
                return
        async for piece in recite(own, text, heard):
            yield piece

    async def _context(
        self, own: AsyncMemory, agent: Agent, model: Chat | None, key: tuple[str | None, str]
    ) -> Context:
        """What the model is sent: what it was sent before, and what is new."""
        async with own.session(id=key[1]) as conversation:
            context = await conversation.context(
                system=agent.system_message,
                model=None if model is None else model.model,
                after=self._contexts.pop(key, None),
            )
        self._contexts[key] = context
        if len(self._contexts) > CONTEXTS_MAX:  # the one that was used longest ago
            self._contexts.pop(next(iter(self._contexts)))
        return context


def checked_model(given: object) -> Chat | str | None:
    """A model that can be asked, or the name of one."""
    if given is None or hasattr(given, "answer"):
        return cast(Chat | None, given)
    if isinstance(given, str):
        return checked_name(given, field="model")
    raise ValidationError(
        f"model must be a chat, provider:model or the label of a model client, not {shown(given)}",
        field="model",
    )


def _addressed(
    said: tuple[str, ...], agent_id: str | None, message: str | None
) -> tuple[str | None, str]:
    """Who is asked and what: `chat(agent, message)`, `chat(message)` or by keyword."""
    if message is None and said:
        *said_first, message = said
        said = tuple(said_first)
    if agent_id is None and said:
        agent_id, said = said[0], said[1:]
    if said or not isinstance(message, str):
        raise ValidationError(
            "chat takes an agent and a message, or a message for the default agent: "
            'chat("tutor", "Hello."), chat("Hello."), chat(agent_id="tutor", message="Hello.")',
            field="message",
        )
    return agent_id, message


def warn_of_legacy(legacy: Mapping[str, Any]) -> None:
    """One warning for memory that is given to an agent, naming what to do in its place."""
    for name in legacy:
        if name not in LEGACY:
            raise ValidationError(f"an agent takes no {name!r}", field=name)
    names = [name for name, value in legacy.items() if value is not None]
    if names:
        warnings.warn(
            f"{' and '.join(names)} of an agent: memory belongs to the orchestrator; give it to "
            "Orchestrator(…) or runtime(…)",
            DeprecationWarning,
            stacklevel=3,
        )
