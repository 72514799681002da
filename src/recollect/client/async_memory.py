"""`AsyncMemory`: everything that can be asked of a memory, from inside an event loop.

`Memory` mirrors it; `tools/gen_sync.py` writes `client/memory.py` from this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack

from recollect.client import asking
from recollect.client.asking import Chosen, Filter, Packed, Which, listed, memory_id, selection
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
from recollect.client.files import checked_path, read_lines, write_lines
from recollect.client.opening import open_backend
from recollect.domain.consolidation import Consolidation
from recollect.domain.context import Context
from recollect.domain.costs import Cost
from recollect.domain.drafts import Fields, Moment, NewFields
from recollect.domain.forecast import Forecast
from recollect.domain.health import Health
from recollect.domain.jobs import Maintenance, QueuedJob
from recollect.domain.limits import BATCH_ITEMS_MAX, share
from recollect.domain.recall import Recall, WhyNot
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
from recollect.domain.scopes import Scope, check_name
from recollect.ports.backend import Backend, ErrorListener
from recollect.ports.chat import Chat
from recollect.ports.store import Progress


class AsyncMemory:
    """A memory, seen from one scope. `scope()` gives handles for other scopes."""

    def __init__(self, backend: Backend, scope: Scope) -> None:
        self._backend = backend
        self._scope = scope

    @classmethod
    def open(cls, url: str | None = None, **options: Any) -> Self:
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
        asking.check_parts(parts)
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
        force: bool = False,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[NewFields],
    ) -> Remembered:
        """Store a memory. With `key` the same call may be repeated safely.

        What says the same as a memory strengthens that one (`similar`), unless `force`. Another
        answer to a question supersedes the former one, or waits in `review()` if it is not clear.

        >>> ana.remember("I moved to Lisbon in March.", kind="fact", tags=["home"])
        """
        new = NewMemory(text, fields, key, vector, force)
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
        drafts = [asking.draft(item) for item in listed(items, "items")]
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
        """Change fields of a memory; what it was stays in its history. None clears a field."""
        changes: dict[str, Any] = dict(fields)
        if text is not None:
            changes["text"] = text
        return await self._backend.update(
            self._scope, memory_id(id), changes, Because(actor, reason), if_version=if_version
        )

    async def correct(
        self,
        id: Which,
        text: str,
        *,
        vector: Sequence[float] | None = None,
        actor: str | None = None,
        reason: str | None = None,
        **fields: Unpack[NewFields],
    ) -> Remembered:
        """Replace what is no longer true: the old memory stays, closed and linked to the new one.

        >>> ana.correct(trip.id, "I moved to Porto in March.")
        """
        new = NewMemory(text, fields, None, vector)
        return await self._backend.correct(self._scope, memory_id(id), new, Because(actor, reason))

    async def reinforce(
        self,
        id: Which,
        factor: float | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> MemoryRecord:
        """Multiply a memory's importance by 1.2 or a factor, up to 1; it fades anew from now on."""
        because = Because(actor, reason)
        return await self._backend.reinforce(self._scope, memory_id(id), factor, because)

    async def restore(
        self, id: Which, *, actor: str | None = None, reason: str | None = None
    ) -> MemoryRecord:
        """Call an archived memory back: it is recalled again and fades from now on."""
        return await self._backend.restore(self._scope, memory_id(id), Because(actor, reason))

    async def consolidate(
        self,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Consolidation:
        """Make one linked memory of each group of older ones that belong together; they stay.

        >>> ana.consolidate(dry_run=True).made
        """
        return await self._backend.consolidate(
            self._scope, progress or asking.silent, Because(actor, reason), dry_run=dry_run
        )

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
        at = Selection(as_of=as_of, known_at=known_at)
        return await self._backend.get(self._scope, memory_id(id), at)

    async def get_many(self, ids: Sequence[Which]) -> Sequence[MemoryRecord]:
        """Those of the memories that exist in this scope, in the order asked for."""
        return await self._backend.get_many(
            self._scope, [memory_id(id) for id in listed(ids, "ids")]
        )

    async def list(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        sort: str = "created_at",
        order: str = "desc",
        **chosen: Unpack[Chosen],
    ) -> Page[MemoryRecord]:
        """A page of memories, newest first unless told otherwise; `cursor` fetches the next page.

        Choose them by `where` (a filter), `kind`, `tags`, `status`, `as_of`, `known_at`.

        >>> ana.list(kind="fact", limit=20)
        """
        listing = Listing(limit, sort, asking.descending(order), cursor, selection(chosen))
        return await self._backend.list(self._scope, listing)

    async def count(self, **chosen: Unpack[Chosen]) -> int:
        """How many memories there are; choose them as for `list`."""
        return await self._backend.count(self._scope, selection(chosen))

    async def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        now: Moment | None = None,
        vector: Sequence[float] | None = None,
        **chosen: Unpack[Chosen],
    ) -> Recall:
        """The memories that answer a question, best first, each with the reason.

        `as_of` asks how things stood at a moment; `known_at` leaves out what was learned later.

        >>> ana.recall("where does she live?").top.text
        """
        asked = Question(question, limit, replace(selection(chosen), now=now), vector)
        return await self._backend.recall(self._scope, asked)

    async def why_not(
        self,
        question: str | Recall,
        id: Which,
        *,
        limit: int = 10,
        now: Moment | None = None,
        vector: Sequence[float] | None = None,
        **chosen: Unpack[Chosen],
    ) -> WhyNot:
        """What keeps a memory from being a hit of a recall, or of a question put as to `recall`.

        >>> print(ana.why_not("where does she live?", trip.id))
        """
        if isinstance(question, Recall) and question.asked is not None:
            asked = question.asked
        else:
            text = question.question if isinstance(question, Recall) else question
            asked = Question(text, limit, replace(selection(chosen), now=now), vector)
        return await self._backend.why_not(self._scope, asked, memory_id(id))

    async def context(
        self,
        question: str | None = None,
        *,
        tokens_max: int | None = None,
        session: str | None = None,
        system: str | None = None,
        after: Context | None = None,
        **further: Unpack[Packed],
    ) -> Context:
        """What a model call is sent, in `tokens_max`: the conversation and what it recalls.
        With `after`, the context before, only new things are added. Also `model`, `documents`, ….

        >>> ana.context("plan a dinner", tokens_max=800).to_openai()
        """
        scope = self._scope if session is None else self._scope.narrowed(session=session)
        asked = asking.packing(question, tokens_max, system, after, further)
        return await self._backend.context(scope, asked)

    async def forecast(self, *, days: int = 90, limit: int = 20) -> Forecast:
        """Which memories leave recall in the next days if nobody uses them, soonest first."""
        return await self._backend.forecast(self._scope, days, limit)

    async def history(self, id: Which) -> Sequence[Change]:
        """Everything that happened to a memory, oldest first, with the states before and after."""
        return await self._backend.history(self._scope, memory_id(id))

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
        ends = (memory_id(source), memory_id(target))
        weight = share(strength, field="strength")  # not None, which would take the link away
        return await self._backend.link(self._scope, *ends, kind, weight)

    async def unlink(self, source: Which, target: Which, *, kind: str = "related") -> None:
        """Take a link away."""
        await self._backend.link(self._scope, memory_id(source), memory_id(target), kind, None)

    async def links(self, id: Which, *, kind: str | None = None) -> Sequence[Link]:
        """The links that start or end at a memory."""
        return await self._backend.links(self._scope, memory_id(id), kind)

    async def related(
        self, id: Which, *, depth: int = 1, kind: str | None = None
    ) -> Sequence[Related]:
        """Memories that links lead to, in either direction, nearest and strongest first."""
        return await self._backend.related(self._scope, memory_id(id), depth=depth, kind=kind)

    async def children(
        self,
        id: Which,
        *,
        limit: int | None = None,
        sort: str = "created_at",
        order: str = "asc",
    ) -> Sequence[MemoryRecord]:
        """The memories that name this one as their parent, whatever their status, oldest first.

        `limit`, `sort` and `order` are those of `list`.
        """
        falling = asking.descending(order)
        return await self._backend.children(
            self._scope, memory_id(id), limit=limit, sort=sort, descending=falling
        )

    async def tree(self, id: Which, *, depth: int = 3) -> Tree:
        """A memory and what hangs below it."""
        return await self._backend.tree(self._scope, memory_id(id), depth)

    def review(self) -> AsyncReviews:
        """A handle for what waits for a decision: list, approve, reject or merge it."""
        return AsyncReviews(self._backend, self._scope)

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

    def person(self) -> AsyncPerson:
        """A handle for all that is known of the person: its summary, upkeep and reset."""
        return AsyncPerson(self._backend, self._scope)

    async def profiles(self) -> dict[str, Profile]:
        """All categories of the person's profile."""
        return await self._backend.profiles(self._scope)

    def items(self, category: str) -> AsyncItems:
        """A handle for the items of a category: short notes with a key, a status, a priority."""
        return AsyncItems(self._backend, self._scope, category)

    # -- the whole store -------------------------------------------------------------------------

    async def model(self, model: Chat | str | None = None) -> Chat | None:
        """The model that answers for this scope, or another by label, by name or as it is.

        Its calls are allowed by the budgets first, and booked to the scope. It is asked from
        inside an event loop. None where there is none.
        """
        return await self._backend.model(self._scope, model)

    async def users(self) -> Sequence[str]:
        """Everybody of this app who has memories of their own, by name.

        >>> memory.users()
        """
        return await self._backend.users(self._scope)

    async def merge_users(self, origin: str, destination: str) -> Mapping[str, int]:
        """Move everything of one user to another, for instance after a sign-in."""
        for field, name in (("origin", origin), ("destination", destination)):
            check_name(name, field=field)
        there = self._scope.narrowed(user=destination, space=None)
        here = self._scope.narrowed(user=origin, space=None)
        return await self._backend.merge_users(there, here, Because())

    async def export(
        self,
        path: str,
        *,
        user: str | None = None,
        everything: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Write this scope, a `user`, or `everything` to a JSONL file; how many lines.

        >>> memory.export("ana.jsonl", user="ana")
        """
        scope = self._scope if user is None else self._scope.narrowed(user=user)
        lines = self._backend.export(scope, everything=everything)
        return await write_lines(path, lines, progress or asking.silent)

    async def import_(
        self, path: str, *, user: str | None = None, progress: Progress | None = None
    ) -> JsonObject:
        """Take over a JSONL export; ids and times stay. What was erased does not come back.

        Lines go back to the places they came from, or all to `user`.
        """
        scope = self._scope if user is None else self._scope.narrowed(user=user)
        if user is None and scope.user == "local":
            scope = scope.narrowed(user=None)
        told: JsonObject = {}
        read = 0
        for lines in read_lines(path, BATCH_ITEMS_MAX):
            answer = await self._backend.import_lines(scope, lines, Because())
            for name, count in answer.items():
                told[name] = told.get(name, 0) + count
            read += len(lines)
            (progress or asking.silent)("importing lines", read, None)
        return told

    async def backup(self, path: str, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the store, and its checksum beside it."""
        await self._backend.backup(str(checked_path(path)), progress or asking.silent)

    async def verify(
        self, *, repair: bool = False, progress: Progress | None = None
    ) -> Verification:
        """Read everything and compare it with its digests; `repair` rebuilds the index first."""
        return await self._backend.verify(progress or asking.silent, repair=repair)

    async def catch_up(self, *, limit: int = 100) -> int:
        """Give vectors to memories stored while the embedder did not answer; how many it were."""
        return await self._backend.catch_up(limit)

    async def maintain(self, *, progress: Progress | None = None) -> Maintenance:
        """Carry out now whatever is due, here, and wait for it; what was done.

        The background does the same by itself, and so does `recollect worker`.

        >>> memory.maintain().done
        """
        return await self._backend.maintain(progress or asking.silent)

    async def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[QueuedJob]:
        """What waits to be done, in order of the jobs' numbers, from behind one on.

        `state` is `waiting`, `running` or `dead`.

        >>> memory.jobs(state="dead")
        """
        return await self._backend.jobs(state=state, kind=kind, after=after, limit=limit)

    async def retry_job(self, number: int) -> None:
        """Try a dead job again, as if it had never failed."""
        await self._backend.retry_job(number)

    async def health(self) -> Health:
        """How each part does, and what to do about it. No provider is asked.

        >>> memory.health().state
        """
        return await self._backend.health(self._scope)

    async def watch_errors(self, listener: ErrorListener) -> Callable[[], None]:
        """Have `listener` told of every error from now on, once and without what memories say.

        It is called where the error was met, so it should be quick. What is returned ends it.

        >>> stop = memory.watch_errors(lambda error: print(error.severity, error.message))
        """
        return await self._backend.watch_errors(listener)

    # -- models ----------------------------------------------------------------------------------

    def models(self) -> AsyncModels:
        """A handle for the model clients: how models are reached, each under a label.

        >>> memory.models().set("cheap", model="openai:gpt-4o-mini")
        """
        return AsyncModels(self._backend, self._scope)

    def agents(self) -> AsyncAgents:
        """A handle for the agents of this app: what they are told, and with which models they
        think and remember.

        >>> memory.agents().set("tutor", model_client="dear", memory_model_client="cheap")
        """
        return AsyncAgents(self._backend, self._scope)

    async def status(self) -> JsonObject:
        """Which models work for this scope and why those, and what may still be spent."""
        models = await self._backend.models_status(self._scope)
        budgets = await self._backend.budgets(self._scope)
        return {"models": models, "budgets": [one.to_dict() for one in budgets]}

    async def cost(
        self,
        *,
        by: str | Sequence[str] = "model",
        since: Moment | None = None,
        until: Moment | None = None,
        **only: str | None,
    ) -> Cost:
        """What calls of models took: tokens and money, of all users together.

        `by` names what to tell apart: model, purpose, operation, task, user, session, agent, app,
        day. Each of these can be given too, and narrows it down.

        >>> memory.cost(by=["user", "purpose"], since="2026-03-01", agent="tutor").usd
        """
        parts = [by] if isinstance(by, str) else listed(by, "by")
        return await self._backend.cost(self._scope, parts, only, since, until)

    def budgets(self) -> AsyncBudgets:
        """A handle for the bounds of what calls of models may cost.

        >>> memory.budgets().set(5.0, user="ana", period="month")
        """
        return AsyncBudgets(self._backend, self._scope)

    async def stats(self) -> JsonObject:
        """Counts and sizes of the store."""
        return await self._backend.stats(self._scope)
