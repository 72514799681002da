"""`AsyncMemory`: everything that can be asked of a memory, from inside an event loop.

`Memory` mirrors it; `tools/gen_sync.py` writes `client/memory.py` from this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack

from recollect.client.files import read_lines, write_lines
from recollect.client.opening import open_backend
from recollect.domain.drafts import Fields, Moment, message_fields
from recollect.domain.errors import ValidationError
from recollect.domain.ids import MEMORY, require
from recollect.domain.limits import BATCH_ITEMS_MAX
from recollect.domain.recall import Recall
from recollect.domain.records import (
    Batch,
    Change,
    Group,
    JsonObject,
    Link,
    MemoryRecord,
    Page,
    Profile,
    Receipt,
    Related,
    Remembered,
    SessionRecord,
    Tree,
    Verification,
)
from recollect.domain.requests import (
    Because,
    Forgetting,
    Listing,
    NewMemory,
    Question,
    Selection,
)
from recollect.domain.scopes import Scope
from recollect.ports.backend import Backend
from recollect.ports.store import Progress

#: A memory's id, or anything that has one: a record, a hit, what `remember` returned.
Which = Any
Filter = Mapping[Any, Any]


class AsyncMemory:
    """A memory, seen from one scope. `scope()` gives handles for other scopes."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    @classmethod
    def open(cls, url: str = "memory.db", **options: Any) -> Self:
        """Open a memory from inside an event loop; options as for `recollect.open`.

        >>> memory = AsyncMemory.open("memory.db")
        """
        return cls(*open_backend(url, threaded=True, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Flush and release everything. Handles of this memory stop working."""
        await self._backend.close()

    # -- scopes ----------------------------------------------------------------------------------

    def scope(self, **parts: Any) -> AsyncMemory:
        """A handle for another scope: `user`, `agent`, `session`, `app`, `shared`, `only_session`.

        `user=None` means nobody in particular: rows that the app shares or, together with
        `session`, an anonymous conversation.

        >>> ana = memory.scope(user="ana")
        """
        allowed = ("user", "agent", "session", "app", "shared", "only_session")
        for name in parts:
            if name not in allowed:
                raise ValidationError(
                    f"unknown part of a scope: {name!r}; known: {', '.join(allowed)}", field=name
                )
        return AsyncMemory(self._backend, self._scope.narrowed(**parts))

    def space(self, name: str) -> AsyncMemory:
        """A handle for a space that several users or agents write to."""
        return AsyncMemory(self._backend, self._scope.narrowed(space=name))

    # -- writing ---------------------------------------------------------------------------------

    async def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        vector: Sequence[float] | None = None,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[Fields],
    ) -> Remembered:
        """Store a memory. With `key` the same call may be repeated safely.

        >>> ana.remember("I moved to Lisbon in March.", kind="fact", tags=["home"])
        """
        new = NewMemory(text, fields, key, vector)
        return await self._backend.remember(self._scope, new, Because(actor, reason))

    async def remember_many(
        self,
        items: Sequence[str | Mapping[str, Any]],
        *,
        atomic: bool = True,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Batch:
        """Store many memories in one transaction. Each is a text, or a mapping with a `text`.

        With `atomic=False` items that cannot be stored are reported and the others stand.

        >>> ana.remember_many(["I like tea.", {"text": "I avoid peanuts.", "kind": "preference"}])
        """
        because = Because(actor, reason)
        drafts = [_draft(item) for item in items]
        return await self._backend.remember_many(self._scope, drafts, because, atomic=atomic)

    async def update(
        self,
        id: Which,
        *,
        if_version: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
        text: str | None = None,
        **fields: Unpack[Fields],
    ) -> MemoryRecord:
        """Change fields of a memory; what it was stays in its history. None clears a field.

        >>> ana.update(trip.id, importance=0.9, if_version=1)
        """
        changes: dict[str, Any] = dict(fields)
        if text is not None:
            changes["text"] = text
        return await self._backend.update(
            self._scope, _memory(id), changes, Because(actor, reason), if_version=if_version
        )

    async def correct(
        self,
        id: Which,
        text: str,
        *,
        vector: Sequence[float] | None = None,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[Fields],
    ) -> Remembered:
        """Replace what is no longer true: the old memory stays, closed and linked to the new one.

        >>> ana.correct(trip.id, "I moved to Porto in March.")
        """
        new = NewMemory(text, fields, None, vector)
        return await self._backend.correct(self._scope, _memory(id), new, Because(actor, reason))

    async def undo(
        self, event: str, *, actor: str | None = None, reason: str | None = None
    ) -> Sequence[MemoryRecord]:
        """Take back what an event did; the undoing is an event too.

        >>> ana.undo(ana.history(trip.id)[-1].event.id)
        """
        return await self._backend.undo(self._scope, event, Because(actor, reason))

    async def forget(
        self,
        id: Which = None,
        *,
        user: str | None = None,
        where: Filter | None = None,
        everything: bool = False,
        cascade: bool = True,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """Erase for good, and get a receipt: one memory, a list of them, all that fulfil a filter,
        all of a `user`, or `everything` in this scope. Children go along unless `cascade=False`.

        >>> memory.forget(user="ana")
        """
        scope = self._scope
        if user is not None:
            scope = self._scope.narrowed(user=user)
            everything = everything or (id is None and where is None)
        ids = None if id is None else id if isinstance(id, list | tuple) else [id]
        what = Forgetting(ids, where, everything, cascade)
        return await self._backend.forget(scope, what, Because(actor, reason))

    # -- reading ---------------------------------------------------------------------------------

    async def get(
        self, id: Which, *, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> MemoryRecord:
        """One memory, whatever its status; NotFound if there is none in this scope.

        >>> ana.get(trip.id).text
        """
        selection = Selection(as_of=as_of, known_at=known_at)
        return await self._backend.get(self._scope, _memory(id), selection)

    async def get_many(self, ids: Sequence[Which]) -> Sequence[MemoryRecord]:
        """Those of the memories that exist in this scope, in the order asked for."""
        return await self._backend.get_many(self._scope, [_memory(id) for id in ids])

    async def list(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        sort: str = "created_at",
        order: str = "desc",
        where: Filter | None = None,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        status: Sequence[str] | str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Page[MemoryRecord]:
        """A page of memories, newest first unless told otherwise; `cursor` fetches the next page.

        >>> ana.list(kind="fact", limit=20)
        """
        if order not in ("asc", "desc"):
            raise ValidationError(f"order must be asc or desc, not {order!r:.80}", field="order")
        selection = _selection(where, kind, tags, status, as_of, known_at)
        listing = Listing(limit, sort, order == "desc", cursor, selection)
        return await self._backend.list(self._scope, listing)

    async def count(
        self,
        *,
        where: Filter | None = None,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        status: Sequence[str] | str | None = None,
        as_of: Moment | None = None,
    ) -> int:
        """How many memories there are."""
        selection = _selection(where, kind, tags, status, as_of, None)
        return await self._backend.count(self._scope, selection)

    async def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        now: Moment | None = None,
        where: Filter | None = None,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        status: Sequence[str] | str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        vector: Sequence[float] | None = None,
    ) -> Recall:
        """The memories that answer a question, best first, each with the reason.

        `as_of` asks how things stood at a moment; `known_at` also leaves out what was learned later.

        >>> ana.recall("where does she live?").top.text
        """
        selection = _selection(where, kind, tags, status, as_of, known_at)
        asked = Question(question, limit, replace(selection, now=now), vector)
        return await self._backend.recall(self._scope, asked)

    async def history(self, id: Which) -> Sequence[Change]:
        """Everything that happened to a memory, oldest first, with the states before and after."""
        return await self._backend.history(self._scope, _memory(id))

    async def events(self, *, after: int = 0, limit: int = 100) -> Sequence[Change]:
        """What happened in this scope, oldest first, from behind an event's `sequence` on."""
        return await self._backend.events(self._scope, after, limit)

    # -- relations -------------------------------------------------------------------------------

    async def link(
        self, source: Which, target: Which, *, kind: str = "related", strength: float = 1.0
    ) -> bool:
        """Link two memories; False if they were linked so already.

        >>> ana.link(cause, effect, kind="caused", strength=0.8)
        """
        ends = (_memory(source), _memory(target))
        return await self._backend.link(self._scope, *ends, kind, strength)

    async def unlink(self, source: Which, target: Which, *, kind: str = "related") -> None:
        """Take a link away."""
        await self._backend.link(self._scope, _memory(source), _memory(target), kind, None)

    async def links(self, id: Which, *, kind: str | None = None) -> Sequence[Link]:
        """The links that start or end at a memory."""
        return await self._backend.links(self._scope, _memory(id), kind)

    async def related(
        self, id: Which, *, depth: int = 1, kind: str | None = None
    ) -> Sequence[Related]:
        """Memories that links lead to, in either direction, nearest and strongest first."""
        return await self._backend.related(self._scope, _memory(id), depth=depth, kind=kind)

    async def children(self, id: Which) -> Sequence[MemoryRecord]:
        """The memories that name this one as their parent."""
        return await self._backend.children(self._scope, _memory(id))

    async def tree(self, id: Which, *, depth: int = 3) -> Tree:
        """A memory and what hangs below it."""
        return await self._backend.tree(self._scope, _memory(id), depth)

    def group(self, name: str) -> AsyncGrouping:
        """A handle for a named set of memories; it is made when something is added.

        >>> ana.group("kitchen").add(trip.id)
        """
        return AsyncGrouping(self._backend, self._scope, name)

    async def groups(self) -> Sequence[Group]:
        """All groups of this scope."""
        return await self._backend.groups(self._scope)

    # -- conversations and profiles --------------------------------------------------------------

    def session(
        self,
        id: str | None = None,
        *,
        kind: str = "conversation",
        metadata: Mapping[str, Any] | None = None,
        expires_at: Moment | None = None,
    ) -> AsyncConversation:
        """A conversation, new or continued: `with ana.session(id="s1") as chat: ...`."""
        return AsyncConversation(
            self._backend, self._scope, id or self._scope.session, kind, metadata or {}, expires_at
        )

    async def sessions(self) -> Sequence[SessionRecord]:
        """All conversations of this scope, newest first."""
        return await self._backend.sessions(self._scope)

    def profile(self, category: str) -> AsyncProfileCategory:
        """A handle for one category of the person's profile.

        >>> ana.profile("preferences").merge({"food": {"avoid": ["peanuts"]}})
        """
        return AsyncProfileCategory(self._backend, self._scope, category)

    async def profiles(self) -> dict[str, Profile]:
        """All categories of the person's profile."""
        return await self._backend.profiles(self._scope)

    def items(self, category: str) -> AsyncItems:
        """A handle for the items of a category: short notes with a key, a status, a priority."""
        return AsyncItems(self._backend, self._scope, category)

    # -- the whole store -------------------------------------------------------------------------

    async def merge_users(self, origin: str, destination: str) -> Mapping[str, int]:
        """Move everything of one user to another, for instance after a sign-in."""
        scopes = [self._scope.narrowed(user=name, space=None) for name in (destination, origin)]
        return await self._backend.merge_users(*scopes, Because())

    async def export(
        self, path: str, *, user: str | None = None, everything: bool = False
    ) -> int:
        """Write this scope, a `user`, or `everything` to a JSONL file; how many lines.

        >>> memory.export("ana.jsonl", user="ana")
        """
        scope = self._scope if user is None else self._scope.narrowed(user=user)
        return await write_lines(path, self._backend.export(scope, everything=everything))

    async def import_(self, path: str, *, user: str | None = None) -> JsonObject:
        """Take over a JSONL export; ids and times stay. What was erased does not come back.

        Lines go back to the places they came from, or all to `user`.
        """
        scope = self._scope if user is None else self._scope.narrowed(user=user)
        if user is None and scope.user == "local":
            scope = scope.narrowed(user=None)
        told: JsonObject = {}
        for lines in read_lines(path, BATCH_ITEMS_MAX):
            answer = await self._backend.import_lines(scope, lines, Because())
            for name, count in answer.items():
                told[name] = told.get(name, 0) + count
        return told

    async def backup(self, path: str, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the store, and its checksum beside it."""
        await self._backend.backup(path, progress or _silent)

    async def verify(
        self, *, repair: bool = False, progress: Progress | None = None
    ) -> Verification:
        """Read everything and compare it with its digests; `repair` rebuilds the index first."""
        return await self._backend.verify(progress or _silent, repair=repair)

    async def stats(self) -> JsonObject:
        """Counts and sizes of the store."""
        return await self._backend.stats(self._scope)


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
        """Begin the conversation or come back to it; done by the first message as well."""
        if self._record is None:
            record = await self._backend.open_session(self._scope, *self._asked)
            self._scope = self._scope.narrowed(session=record.id)
            self._record = record
        return self._record

    async def add(
        self,
        role: str,
        text: str,
        *,
        key: str | None = None,
        vector: Sequence[float] | None = None,
        **fields: Unpack[Fields],
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
        for message in messages:
            draft = _draft(message)
            rest = {name: value for name, value in draft.fields.items() if name != "role"}
            fields = message_fields(draft.fields.get("role"), rest)
            drafts.append(NewMemory(draft.text, fields, draft.key, draft.vector))
        return await self._backend.remember_many(self._scope, drafts, Because(), atomic=atomic)

    async def messages(self, *, last: int | None = None) -> Sequence[MemoryRecord]:
        """The messages in order: all of them, or the last few."""
        record = await self.open()
        return await self._backend.messages(self._scope, record.id, last=last)

    async def recall(self, question: str, *, limit: int = 10) -> Recall:
        """Search the memories of this conversation alone."""
        await self.open()
        scope = self._scope.narrowed(only_session=True)
        return await self._backend.recall(scope, Question(question, limit))


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
        return await self._backend.set_member(self._scope, group.id, _memory(id), present=True)

    async def remove(self, id: Which) -> bool:
        """Take a memory out of the group; False if it was not in it."""
        return await self._backend.set_member(
            self._scope, self._name, _memory(id), present=False
        )

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
            self._scope, self._category, _memory(id), fields, Because()
        )

    async def get(self, id: Which) -> MemoryRecord:
        """An item by its id."""
        return await self._backend.item(self._scope, self._category, _memory(id))

    async def list(self, *, status: str | None = None, limit: int = 100) -> Sequence[MemoryRecord]:
        """The items, most urgent first."""
        return await self._backend.items(
            self._scope, self._category, status=status, limit=limit
        )


def _item_fields(content: str, status: str | None, priority: int | None) -> dict[str, Any]:
    given = {"content": content, "status": status, "priority": priority}
    return {name: value for name, value in given.items() if value is not None}


def _draft(item: str | Mapping[str, Any]) -> NewMemory:
    """An item of a batch: a text, or a mapping of a text and whatever else is known."""
    if isinstance(item, str):
        return NewMemory(item)
    if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"an item is a text or a mapping, not {item!r:.80}", field="items")
    fields = {name: value for name, value in item.items() if name not in ("text", "key", "vector")}
    return NewMemory(item.get("text", ""), fields, item.get("key"), item.get("vector"))


def _memory(which: Which) -> str:
    return require(which, MEMORY, field="id")


def _selection(
    where: Filter | None,
    kind: str | None,
    tags: Sequence[str] | None,
    status: Sequence[str] | str | None,
    as_of: Moment | None,
    known_at: Moment | None,
) -> Selection:
    """A filter and the shorthands for the most common ones, as one."""
    parts: list[Filter] = [] if where is None else [where]
    if kind is not None:
        parts.append({"kind": kind})
    if tags is not None:
        parts += [{"tags": {"contains": tag}} for tag in tags]
    joined = None if not parts else parts[0] if len(parts) == 1 else {"and": parts}
    statuses = [status] if isinstance(status, str) else status
    return Selection(joined, statuses, as_of, known_at)


def _silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""

