"""Handles for parts of a memory: conversations, groups, profiles, items.

Written by `tools/gen_sync.py` from `async_handles.py`; change that one and run `make fix`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from recollect.client.asking import AgentFields, ClientFields, Packed, Which
from recollect.client.async_handles import (
    AsyncAgents,
    AsyncBudgets,
    AsyncConversation,
    AsyncGrouping,
    AsyncItems,
    AsyncModels,
    AsyncPerson,
    AsyncProfileCategory,
    AsyncReviews,
)
from recollect.client.runner import Runner
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.context import Context
from recollect.domain.costs import Budget
from recollect.domain.distilling import Summary
from recollect.domain.drafts import MessageFields, NewFields
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


class Conversation:
    """A conversation and its messages, kept verbatim and in order."""

    def __init__(self, inner: AsyncConversation, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def __enter__(self) -> Self:
        self._runner.run(self._inner.open())
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def open(self) -> SessionRecord:
        """Begin the conversation or come back to it; done by the first message as well.

        NotFound once it has expired.
        """
        return self._runner.run(self._inner.open())

    def add(
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
        return self._runner.run(self._inner.add(role, text, key=key, vector=vector, **fields))

    def add_many(self, messages: Sequence[Mapping[str, Any]], *, atomic: bool = True) -> Batch:
        """Add messages in one transaction; each a mapping with `role`, `text` and more."""
        return self._runner.run(self._inner.add_many(messages, atomic=atomic))

    def messages(self, *, last: int | None = None) -> Sequence[MemoryRecord]:
        """The messages in order: all of them, or the last few."""
        return self._runner.run(self._inner.messages(last=last))

    def extract(self) -> Sequence[MemoryRecord]:
        """Store what the messages tell, by rule: files changed, functions and classes added,
        decisions, errors fixed, preferences, instructions, facts about the person. Messages that
        were read before are left.
        """
        return self._runner.run(self._inner.extract())

    def files(self, *, limit: int = 100) -> Sequence[MemoryRecord]:
        """The file changes that this conversation told of, oldest first."""
        return self._runner.run(self._inner.files(limit=limit))

    def recall(self, question: str, *, limit: int = 10) -> Recall:
        """Search the memories of this conversation alone."""
        return self._runner.run(self._inner.recall(question, limit=limit))

    def context(
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
        return self._runner.run(
            self._inner.context(
                question, tokens_max=tokens_max, system=system, after=after, **further
            )
        )


class Grouping:
    """A named set of memories."""

    def __init__(self, inner: AsyncGrouping, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def make(self, description: str | None = None) -> Group:
        """Make sure that the group exists, even while it is empty."""
        return self._runner.run(self._inner.make(description))

    def add(self, id: Which) -> bool:
        """Put a memory into the group; False if it was in it already."""
        return self._runner.run(self._inner.add(id))

    def remove(self, id: Which) -> bool:
        """Take a memory out of the group; False if it was not in it."""
        return self._runner.run(self._inner.remove(id))

    def members(self) -> Sequence[MemoryRecord]:
        """The memories of the group, in the order they were added."""
        return self._runner.run(self._inner.members())


class ProfileCategory:
    """One category of a person's profile: keyed JSON with a history."""

    def __init__(self, inner: AsyncProfileCategory, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def get(self) -> Profile:
        """What is known, and its version."""
        return self._runner.run(self._inner.get())

    def merge(
        self,
        data: Mapping[str, Any],
        *,
        if_version: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Profile:
        """Merge deeply: objects key by key, lists united in order, None removes its key."""
        return self._runner.run(
            self._inner.merge(data, if_version=if_version, actor=actor, reason=reason)
        )

    def replace(
        self,
        data: Mapping[str, Any],
        *,
        if_version: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Profile:
        """Put this in place of what was known."""
        return self._runner.run(
            self._inner.replace(data, if_version=if_version, actor=actor, reason=reason)
        )

    def remove(self, *path: str) -> Profile:
        """Remove one key, however deep: `remove("food", "avoid")`."""
        return self._runner.run(self._inner.remove(*path))

    def clear(self) -> Profile:
        """Remove everything in the category; its history stays until the person is forgotten."""
        return self._runner.run(self._inner.clear())

    def history(self) -> Sequence[Profile]:
        """Every version of the category, oldest first, the present one last."""
        return self._runner.run(self._inner.history())


class Person:
    """What is known of a person as a whole."""

    def __init__(self, inner: AsyncPerson, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def summary(self) -> Summary:
        """Profile, items and facts in at most 690 characters, as they are now."""
        return self._runner.run(self._inner.summary())

    def refresh(self) -> bool:
        """Have a job retire what is due and put a long profile in short; False if one waits.

        Returns at once; `summary().running` tells when it is done.
        """
        return self._runner.run(self._inner.refresh())

    def reset(
        self,
        template: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> dict[str, Profile]:
        """Put the whole profile back to a template, empty unless given; `undo` takes it back."""
        return self._runner.run(self._inner.reset(template, actor=actor, reason=reason))


class Reviews:
    """What waits for a decision: quarantined memories, and disputed ones."""

    def __init__(self, inner: AsyncReviews, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def list(self, *, limit: int = 50) -> Sequence[Review]:
        """Each with why it waits and the memories that it contradicts, oldest first."""
        return self._runner.run(self._inner.list(limit=limit))

    def approve(
        self, id: Which, *, keep: bool = False, actor: str | None = None, reason: str | None = None
    ) -> MemoryRecord:
        """Let a memory that waits take part in recall. What it contradicts is superseded; with
        `keep` that stays true as well.
        """
        return self._runner.run(self._inner.approve(id, keep=keep, actor=actor, reason=reason))

    def reject(
        self, id: Which, *, actor: str | None = None, reason: str | None = None
    ) -> MemoryRecord:
        """Archive a memory that waits; what it contradicts stays as it is."""
        return self._runner.run(self._inner.reject(id, actor=actor, reason=reason))

    def merge(
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
        return self._runner.run(
            self._inner.merge(id, text, vector=vector, actor=actor, reason=reason, **fields)
        )


class Items:
    """Items of a category: memories with a key, a status of their own and a priority."""

    def __init__(self, inner: AsyncItems, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def create(
        self, key: str, content: str, *, status: str | None = None, priority: int | None = None
    ) -> MemoryRecord:
        """Create an item; ConflictError if the key is taken."""
        return self._runner.run(self._inner.create(key, content, status=status, priority=priority))

    def upsert(
        self, key: str, content: str, *, status: str | None = None, priority: int | None = None
    ) -> MemoryRecord:
        """Create an item or change the one with this key; what is not given stays as it was."""
        return self._runner.run(self._inner.upsert(key, content, status=status, priority=priority))

    def update(self, id: Which, **fields: Any) -> MemoryRecord:
        """Change `content`, `status` or `priority` of an item; `priority=None` clears it."""
        return self._runner.run(self._inner.update(id, **fields))

    def get(self, id: Which) -> MemoryRecord:
        """An item by its id."""
        return self._runner.run(self._inner.get(id))

    def list(self, *, status: str | None = None, limit: int = 100) -> Sequence[MemoryRecord]:
        """The items, most urgent first."""
        return self._runner.run(self._inner.list(status=status, limit=limit))


class Models:
    """How models are reached: clients, each under a label."""

    def __init__(self, inner: AsyncModels, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def set(
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
        return self._runner.run(self._inner.set(label, actor=actor, reason=reason, **fields))

    def get(self, label: str) -> ModelClient:
        """A client by its label."""
        return self._runner.run(self._inner.get(label))

    def list(self) -> Sequence[ModelClient]:
        """All clients, by label."""
        return self._runner.run(self._inner.list())

    def remove(
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
        self._runner.run(self._inner.remove(label, release=release, actor=actor, reason=reason))

    def test(self, label: str) -> JsonObject:
        """Ask a model, by label or `provider:model`, for one word: whether it answers, how long
        that takes, or the error.
        """
        return self._runner.run(self._inner.test(label))


class Agents:
    """Agents as data: what they are told, and with which models they think and remember."""

    def __init__(self, inner: AsyncAgents, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def set(
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
        return self._runner.run(self._inner.set(label, actor=actor, reason=reason, **fields))

    def get(self, label: str) -> AgentRecord:
        """An agent by its label."""
        return self._runner.run(self._inner.get(label))

    def list(self) -> Sequence[AgentRecord]:
        """All agents, by label."""
        return self._runner.run(self._inner.list())

    def remove(self, label: str, *, actor: str | None = None, reason: str | None = None) -> None:
        """Remove an agent; its memories stay."""
        self._runner.run(self._inner.remove(label, actor=actor, reason=reason))

    def load(
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
        return self._runner.run(self._inner.load(source, actor=actor, reason=reason))

    def dump(self) -> JsonObject:
        """Everything that `load` would need to make the same."""
        return self._runner.run(self._inner.dump())


class Budgets:
    """Bounds of what calls of models may cost, looked at before every call."""

    def __init__(self, inner: AsyncBudgets, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    def set(
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
        self._runner.run(self._inner.set(usd, user=user, agent=agent, period=period))

    def list(self) -> Sequence[Budget]:
        """All budgets, and what was spent of each in its present period."""
        return self._runner.run(self._inner.list())

    def remove(self, *, user: str | None = None, agent: str | None = None) -> None:
        """Take a bound away."""
        self._runner.run(self._inner.remove(user=user, agent=agent))
