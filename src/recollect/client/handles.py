"""Handles for parts of a memory: conversations, groups, profiles, items.

Written by `tools/gen_sync.py` from `async_handles.py`; change that one and run `make fix`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from recollect.client.asking import Which
from recollect.client.async_handles import (
    AsyncConversation,
    AsyncGrouping,
    AsyncItems,
    AsyncProfileCategory,
)
from recollect.client.runner import Runner
from recollect.domain.drafts import MessageFields
from recollect.domain.recall import Recall
from recollect.domain.records import Batch, Group, MemoryRecord, Profile, Remembered, SessionRecord


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

    def recall(self, question: str, *, limit: int = 10) -> Recall:
        """Search the memories of this conversation alone."""
        return self._runner.run(self._inner.recall(question, limit=limit))


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
