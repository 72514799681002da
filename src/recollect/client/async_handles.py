"""Handles for parts of a memory, from inside an event loop: conversations, groups, profiles, items.

The synchronous ones in `handles.py` are written from these by `tools/gen_sync.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from recollect.client.asking import (
    AgentFields,
    ClientFields,
    Packed,
    Which,
    draft,
    listed,
    memory_id,
    packing,
)
from recollect.client.files import read_document
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.context import Context
from recollect.domain.costs import Budget
from recollect.domain.distilling import TEMPLATE, Summary
from recollect.domain.drafts import MessageFields, Moment, NewFields, message_fields
from recollect.domain.errors import NotFound
from recollect.domain.recall import Recall
from recollect.domain.records import (
    Batch,
    Group,
    JsonObject,
    MemoryRecord,
    Profile,
    Remembered,
    Review,
    SessionRecord,
)
from recollect.domain.requests import Because, Listing, NewMemory, Question, Selection
from recollect.domain.scopes import Scope
from recollect.ports.backend import Backend


class AsyncConversation:
    """A conversation and its messages, kept verbatim and in order."""

    def __init__(
        self,
        backend: Backend,
        scope: Scope,
        id: str | None,
        kind: str,
        metadata: Mapping[str, Any],
        expires_at: Moment | None,
    ) -> None:
        self._backend = backend
        self._scope = scope
        self._asked = (id, kind, metadata, expires_at)
        self._record: SessionRecord | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def open(self) -> SessionRecord:
        """Begin the conversation or come back to it; done by the first message as well.

        NotFound once it has expired.
        """
        if self._record is None or self._record.expires_at is not None:
            record = await self._backend.open_session(self._scope, *self._asked)
            self._scope = self._scope.narrowed(session=record.id)
            self._asked = (record.id, *self._asked[1:])
            self._record = record
        return self._record

    async def add(
        self,
        role: str,
        text: str,
        *,
        key: str | None = None,
        vector: Sequence[float] | None = None,
        **fields: Unpack[MessageFields],
    ) -> Remembered:
        """Add a message.

        >>> chat.add("user", "hi", speaker="Ana", occurred_at="2026-03-01T09:00")
        """
        await self.open()
        new = NewMemory(text, message_fields(role, fields), key, vector)
        return await self._backend.remember(self._scope, new, Because())

    async def add_many(
        self, messages: Sequence[Mapping[str, Any]], *, atomic: bool = True
    ) -> Batch:
        """Add messages in one transaction; each a mapping with `role`, `text` and more."""
        await self.open()
        drafts: list[NewMemory] = []
        for message in listed(messages, "messages"):
            item = draft(message)
            rest = {name: value for name, value in item.fields.items() if name != "role"}
            fields = message_fields(item.fields.get("role"), rest)
            drafts.append(NewMemory(item.text, fields, item.key, item.vector))
        return await self._backend.remember_many(self._scope, drafts, Because(), atomic=atomic)

    async def messages(self, *, last: int | None = None) -> Sequence[MemoryRecord]:
        """The messages in order: all of them, or the last few."""
        record = await self.open()
        return await self._backend.messages(self._scope, record.id, last=last)

    async def extract(self) -> Sequence[MemoryRecord]:
        """Store what the messages tell, by rule: files changed, functions and classes added,
        decisions, errors fixed, preferences, instructions, facts about the person. Messages that
        were read before are left.
        """
        record = await self.open()
        return await self._backend.extract(self._scope, record.id)

    async def files(self, *, limit: int = 100) -> Sequence[MemoryRecord]:
        """The file changes that this conversation told of, oldest first."""
        record = await self.open()
        chosen = Selection({"kind": "file_change", "session": record.id})
        listing = Listing(limit, "created_at", False, None, chosen)
        return (await self._backend.list(self._scope, listing)).items

    async def recall(self, question: str, *, limit: int = 10) -> Recall:
        """Search the memories of this conversation alone."""
        await self.open()
        scope = self._scope.narrowed(only_session=True)
        return await self._backend.recall(scope, Question(question, limit))

    async def context(
        self,
        question: str | None = None,
        *,
        tokens_max: int | None = None,
        system: str | None = None,
        after: Context | None = None,
        **further: Unpack[Packed],
    ) -> Context:
        """All that the next model call is sent: the conversation with what its last message, or
        the question, recalls. See `Memory.context`.

        >>> chat.context(system="You are a cook.").to_openai()
        """
        asked = packing(question, tokens_max, system, after, further)
        await self.open()
        return await self._backend.context(self._scope, asked)


class AsyncGrouping:
    """A named set of memories."""

    def __init__(self, backend: Backend, scope: Scope, name: str) -> None:
        self._backend = backend
        self._scope = scope
        self._name = name

    async def make(self, description: str | None = None) -> Group:
        """Make sure that the group exists, even while it is empty."""
        return await self._backend.make_group(self._scope, self._name, description)

    async def add(self, id: Which) -> bool:
        """Put a memory into the group; False if it was in it already."""
        group = await self.make()
        return await self._backend.set_member(self._scope, group.id, memory_id(id), present=True)

    async def remove(self, id: Which) -> bool:
        """Take a memory out of the group; False if it was not in it."""
        return await self._backend.set_member(self._scope, self._name, memory_id(id), present=False)

    async def members(self) -> Sequence[MemoryRecord]:
        """The memories of the group, in the order they were added."""
        return await self._backend.members(self._scope, self._name)


class AsyncProfileCategory:
    """One category of a person's profile: keyed JSON with a history."""

    def __init__(self, backend: Backend, scope: Scope, category: str) -> None:
        self._backend = backend
        self._scope = scope
        self._category = category

    async def get(self) -> Profile:
        """What is known, and its version."""
        return await self._backend.profile(self._scope, self._category)

    async def merge(
        self,
        data: Mapping[str, Any],
        *,
        if_version: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Profile:
        """Merge deeply: objects key by key, lists united in order, None removes its key."""
        return await self._backend.write_profile(
            self._scope,
            self._category,
            "merge",
            data,
            Because(actor, reason),
            if_version=if_version,
        )

    async def replace(
        self,
        data: Mapping[str, Any],
        *,
        if_version: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Profile:
        """Put this in place of what was known."""
        return await self._backend.write_profile(
            self._scope,
            self._category,
            "replace",
            data,
            Because(actor, reason),
            if_version=if_version,
        )

    async def remove(self, *path: str) -> Profile:
        """Remove one key, however deep: `remove("food", "avoid")`."""
        return await self._backend.write_profile(
            self._scope, self._category, "remove", path, Because(), if_version=None
        )

    async def clear(self) -> Profile:
        """Remove everything in the category; its history stays until the person is forgotten."""
        return await self._backend.write_profile(
            self._scope, self._category, "clear", {}, Because(), if_version=None
        )

    async def history(self) -> Sequence[Profile]:
        """Every version of the category, oldest first, the present one last."""
        return await self._backend.past_profiles(self._scope, self._category)


class AsyncPerson:
    """What is known of a person as a whole."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    async def summary(self) -> Summary:
        """Profile, items and facts in at most 690 characters, as they are now."""
        return await self._backend.profile_summary(self._scope)

    async def refresh(self) -> bool:
        """Have a job retire what is due and put a long profile in short; False if one waits.

        Returns at once; `summary().running` tells when it is done.
        """
        return await self._backend.refresh_profile(self._scope)

    async def reset(
        self,
        template: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> dict[str, Profile]:
        """Put the whole profile back to a template, empty unless given; `undo` takes it back."""
        because = Because(actor, reason)
        return await self._backend.reset_profile(self._scope, template or TEMPLATE, because)


class AsyncReviews:
    """What waits for a decision: quarantined memories, and disputed ones."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    async def list(self, *, limit: int = 50) -> Sequence[Review]:
        """Each with why it waits and the memories that it contradicts, oldest first."""
        return await self._backend.reviews(self._scope, limit)

    async def approve(
        self,
        id: Which,
        *,
        keep: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> MemoryRecord:
        """Let a memory that waits take part in recall. What it contradicts is superseded; with
        `keep` that stays true as well.
        """
        because = Because(actor, reason)
        return await self._backend.approve(self._scope, memory_id(id), because, keep=keep)

    async def reject(
        self, id: Which, *, actor: str | None = None, reason: str | None = None
    ) -> MemoryRecord:
        """Archive a memory that waits; what it contradicts stays as it is."""
        return await self._backend.reject(self._scope, memory_id(id), Because(actor, reason))

    async def merge(
        self,
        id: Which,
        text: str,
        *,
        vector: Sequence[float] | None = None,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[NewFields],
    ) -> Remembered:
        """Store one memory in place of one that waits and those that it contradicts."""
        new = NewMemory(text, fields, None, vector)
        return await self._backend.merge(self._scope, memory_id(id), new, Because(actor, reason))


class AsyncItems:
    """Items of a category: memories with a key, a status of their own and a priority."""

    def __init__(self, backend: Backend, scope: Scope, category: str) -> None:
        self._backend = backend
        self._scope = scope
        self._category = category

    async def create(
        self, key: str, content: str, *, status: str | None = None, priority: int | None = None
    ) -> MemoryRecord:
        """Create an item; ConflictError if the key is taken."""
        fields = _item_fields(content, status, priority)
        return await self._backend.put_item(
            self._scope, self._category, key, fields, Because(), create_only=True
        )

    async def upsert(
        self, key: str, content: str, *, status: str | None = None, priority: int | None = None
    ) -> MemoryRecord:
        """Create an item or change the one with this key; what is not given stays as it was."""
        fields = _item_fields(content, status, priority)
        return await self._backend.put_item(
            self._scope, self._category, key, fields, Because(), create_only=False
        )

    async def update(self, id: Which, **fields: Any) -> MemoryRecord:
        """Change `content`, `status` or `priority` of an item; `priority=None` clears it."""
        return await self._backend.change_item(
            self._scope, self._category, memory_id(id), fields, Because()
        )

    async def get(self, id: Which) -> MemoryRecord:
        """An item by its id."""
        return await self._backend.item(self._scope, self._category, memory_id(id))

    async def list(self, *, status: str | None = None, limit: int = 100) -> Sequence[MemoryRecord]:
        """The items, most urgent first."""
        return await self._backend.items(self._scope, self._category, status=status, limit=limit)


def _item_fields(content: str, status: str | None, priority: int | None) -> dict[str, Any]:
    given = {"content": content, "status": status, "priority": priority}
    return {name: value for name, value in given.items() if value is not None}


class AsyncModels:
    """How models are reached: clients, each under a label."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    async def set(
        self,
        label: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[ClientFields],
    ) -> ModelClient:
        """Store a client, or change it: what is not said stays as it was.

        >>> models.set("cheap", model="openai:gpt-4o-mini", options={"temperature": 0})
        """
        said = {"label": label, **fields}
        return await self._backend.set_model(self._scope, said, Because(actor, reason))

    async def get(self, label: str) -> ModelClient:
        """A client by its label."""
        for one in await self._backend.model_clients(self._scope):
            if one.label == label:
                return one
        raise NotFound(f"no model client {label!r}")

    async def list(self) -> Sequence[ModelClient]:
        """All clients, by label."""
        return await self._backend.model_clients(self._scope)

    async def remove(
        self,
        label: str,
        *,
        release: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Remove a client. ConflictError while an agent thinks with it, or remembers with it
        unless `release` lets it remember with another.
        """
        because = Because(actor, reason)
        await self._backend.remove_model(self._scope, label, because, release=release)

    async def test(self, label: str) -> JsonObject:
        """Ask a model, by label or `provider:model`, for one word: whether it answers, how long
        that takes, or the error.
        """
        return await self._backend.test_model(self._scope, label)


class AsyncAgents:
    """Agents as data: what they are told, and with which models they think and remember."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    async def set(
        self,
        label: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[AgentFields],
    ) -> AgentRecord:
        """Store an agent, or change it: what is not said stays as it was.

        >>> agents.set("tutor", model_client="dear", memory_model_client="cheap")
        """
        said = {"label": label, **fields}
        return await self._backend.set_agent(self._scope, said, Because(actor, reason))

    async def get(self, label: str) -> AgentRecord:
        """An agent by its label."""
        for one in await self._backend.agents(self._scope):
            if one.label == label:
                return one
        raise NotFound(f"no agent {label!r}")

    async def list(self) -> Sequence[AgentRecord]:
        """All agents, by label."""
        return await self._backend.agents(self._scope)

    async def remove(
        self, label: str, *, actor: str | None = None, reason: str | None = None
    ) -> None:
        """Remove an agent; its memories stay."""
        await self._backend.remove_agent(self._scope, label, Because(actor, reason))

    async def load(
        self,
        source: str | Mapping[str, Any],
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> JsonObject:
        """Take over model clients and agents, all of them or none: from a mapping, or from a file
        in JSON, YAML or TOML, with the lists `model_clients` and `agents`. How many it were.

        >>> agents.load("agents.yaml")
        """
        said = read_document(source) if isinstance(source, str) else source
        return await self._backend.load_agents(self._scope, said, Because(actor, reason))

    async def dump(self) -> JsonObject:
        """Everything that `load` would need to make the same."""
        clients = await self._backend.model_clients(self._scope)
        agents = await self._backend.agents(self._scope)
        return {
            "model_clients": [one.to_dict() for one in clients],
            "agents": [one.to_dict() for one in agents],
        }


class AsyncBudgets:
    """Bounds of what calls of models may cost, looked at before every call."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    async def set(
        self,
        usd: float,
        *,
        user: str | None = None,
        agent: str | None = None,
        period: str = "month",
    ) -> None:
        """Bound in dollars what a `user`, an `agent` or everybody together may spend: each `day`,
        each `month`, or in `total`. What is over it goes on without a model.

        >>> budgets.set(5.0, user="ana")
        """
        await self._backend.set_budget(self._scope, usd, period, user, agent)

    async def list(self) -> Sequence[Budget]:
        """All budgets, and what was spent of each in its present period."""
        return await self._backend.budgets(self._scope)

    async def remove(self, *, user: str | None = None, agent: str | None = None) -> None:
        """Take a bound away."""
        await self._backend.set_budget(self._scope, None, "total", user, agent)
