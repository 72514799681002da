"""`Memory`: everything that can be asked of a memory, without an event loop.

Written by `tools/gen_sync.py` from `async_memory.py`; change that one and run `make fix`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack

from recollect.client.asking import Chosen, Filter, Packed, Which
from recollect.client.async_memory import AsyncMemory
from recollect.client.handles import (
    Agents,
    Budgets,
    Conversation,
    Grouping,
    Items,
    Models,
    Person,
    ProfileCategory,
    Reviews,
)
from recollect.client.opening import open_backend
from recollect.client.runner import Inline, LoopThread, Runner
from recollect.domain.consolidation import Consolidation
from recollect.domain.context import Context
from recollect.domain.costs import Cost
from recollect.domain.drafts import Fields, Moment, NewFields
from recollect.domain.forecast import Forecast
from recollect.domain.health import Health
from recollect.domain.jobs import Maintenance, QueuedJob
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
from recollect.ports.backend import ErrorListener
from recollect.ports.chat import Chat
from recollect.ports.store import Progress


class Memory:
    """A memory, seen from one scope. `scope()` gives handles for other scopes."""

    def __init__(self, inner: AsyncMemory, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    @classmethod
    def open(cls, url: str | None = None, **options: Any) -> Self:
        """Open a memory; options as for `recollect.open`."""
        backend, scope = open_backend(url, threaded=False, **options)
        runner = Inline() if backend.inline else LoopThread()
        return cls(AsyncMemory(backend, scope), runner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Flush and release everything. Handles of this memory stop working."""
        self._runner.close(self._inner.close())

    def scope(self, **parts: Any) -> Memory:
        """A handle for another scope: `user`, `agent`, `session`, `app`, `shared`, `only_session`.

        `user=None` means nobody in particular: rows that the app shares or, together with
        `session`, an anonymous conversation.

        >>> ana = memory.scope(user="ana")
        """
        return Memory(self._inner.scope(**parts), self._runner)

    def space(self, name: str) -> Memory:
        """A handle for a space that several users or agents write to."""
        return Memory(self._inner.space(name), self._runner)

    def remember(
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
        return self._runner.run(
            self._inner.remember(
                text, key=key, vector=vector, force=force, actor=actor, reason=reason, **fields
            )
        )

    def remember_many(
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
        return self._runner.run(
            self._inner.remember_many(items, atomic=atomic, actor=actor, reason=reason)
        )

    def update(
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
        return self._runner.run(
            self._inner.update(
                id, if_version=if_version, actor=actor, reason=reason, text=text, **fields
            )
        )

    def correct(
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
        return self._runner.run(
            self._inner.correct(id, text, vector=vector, actor=actor, reason=reason, **fields)
        )

    def reinforce(
        self,
        id: Which,
        factor: float | None = None,
        *,
        actor: str | None = None,
        reason: str | None = None,
    ) -> MemoryRecord:
        """Multiply a memory's importance by 1.2 or a factor, up to 1; it fades anew from now on."""
        return self._runner.run(self._inner.reinforce(id, factor, actor=actor, reason=reason))

    def restore(
        self, id: Which, *, actor: str | None = None, reason: str | None = None
    ) -> MemoryRecord:
        """Call an archived memory back: it is recalled again and fades from now on."""
        return self._runner.run(self._inner.restore(id, actor=actor, reason=reason))

    def consolidate(
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
        return self._runner.run(
            self._inner.consolidate(dry_run=dry_run, progress=progress, actor=actor, reason=reason)
        )

    def undo(
        self, event: str, *, actor: str | None = None, reason: str | None = None
    ) -> Sequence[MemoryRecord]:
        """Take back what an event did; the undoing is an event too.

        >>> ana.undo(ana.history(trip.id)[-1].event.id)
        """
        return self._runner.run(self._inner.undo(event, actor=actor, reason=reason))

    def forget(
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
        return self._runner.run(
            self._inner.forget(
                id,
                user=user,
                where=where,
                everything=everything,
                cascade=cascade,
                actor=actor,
                reason=reason,
            )
        )

    def get(
        self, id: Which, *, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> MemoryRecord:
        """One memory, whatever its status; NotFound if there is none in this scope.

        >>> ana.get(trip.id).text
        """
        return self._runner.run(self._inner.get(id, as_of=as_of, known_at=known_at))

    def get_many(self, ids: Sequence[Which]) -> Sequence[MemoryRecord]:
        """Those of the memories that exist in this scope, in the order asked for."""
        return self._runner.run(self._inner.get_many(ids))

    def list(
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
        return self._runner.run(
            self._inner.list(limit=limit, cursor=cursor, sort=sort, order=order, **chosen)
        )

    def count(self, **chosen: Unpack[Chosen]) -> int:
        """How many memories there are; choose them as for `list`."""
        return self._runner.run(self._inner.count(**chosen))

    def recall(
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
        return self._runner.run(
            self._inner.recall(question, limit=limit, now=now, vector=vector, **chosen)
        )

    def why_not(
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
        return self._runner.run(
            self._inner.why_not(question, id, limit=limit, now=now, vector=vector, **chosen)
        )

    def context(
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
        return self._runner.run(
            self._inner.context(
                question,
                tokens_max=tokens_max,
                session=session,
                system=system,
                after=after,
                **further,
            )
        )

    def forecast(self, *, days: int = 90, limit: int = 20) -> Forecast:
        """Which memories leave recall in the next days if nobody uses them, soonest first."""
        return self._runner.run(self._inner.forecast(days=days, limit=limit))

    def history(self, id: Which) -> Sequence[Change]:
        """Everything that happened to a memory, oldest first, with the states before and after."""
        return self._runner.run(self._inner.history(id))

    def events(self, *, after: int = 0, limit: int = 100) -> Sequence[Change]:
        """What happened in this scope, oldest first, from behind an event's `sequence` on."""
        return self._runner.run(self._inner.events(after=after, limit=limit))

    def link(
        self, source: Which, target: Which, *, kind: str = "related", strength: float = 1.0
    ) -> bool:
        """Link two memories; False if they were linked so already.

        >>> ana.link(cause, effect, kind="caused", strength=0.8)
        """
        return self._runner.run(self._inner.link(source, target, kind=kind, strength=strength))

    def unlink(self, source: Which, target: Which, *, kind: str = "related") -> None:
        """Take a link away."""
        self._runner.run(self._inner.unlink(source, target, kind=kind))

    def links(self, id: Which, *, kind: str | None = None) -> Sequence[Link]:
        """The links that start or end at a memory."""
        return self._runner.run(self._inner.links(id, kind=kind))

    def related(self, id: Which, *, depth: int = 1, kind: str | None = None) -> Sequence[Related]:
        """Memories that links lead to, in either direction, nearest and strongest first."""
        return self._runner.run(self._inner.related(id, depth=depth, kind=kind))

    def children(
        self, id: Which, *, limit: int | None = None, sort: str = "created_at", order: str = "asc"
    ) -> Sequence[MemoryRecord]:
        """The memories that name this one as their parent, whatever their status, oldest first.

        `limit`, `sort` and `order` are those of `list`.
        """
        return self._runner.run(self._inner.children(id, limit=limit, sort=sort, order=order))

    def tree(self, id: Which, *, depth: int = 3) -> Tree:
        """A memory and what hangs below it."""
        return self._runner.run(self._inner.tree(id, depth=depth))

    def review(self) -> Reviews:
        """A handle for what waits for a decision: list, approve, reject or merge it."""
        return Reviews(self._inner.review(), self._runner)

    def group(self, name: str) -> Grouping:
        """A handle for a named set of memories; it is made when something is added.

        >>> ana.group("kitchen").add(trip.id)
        """
        return Grouping(self._inner.group(name), self._runner)

    def groups(self) -> Sequence[Group]:
        """All groups of this scope."""
        return self._runner.run(self._inner.groups())

    def session(
        self,
        id: str | None = None,
        *,
        kind: str = "conversation",
        metadata: Mapping[str, Any] | None = None,
        expires_at: Moment | None = None,
    ) -> Conversation:
        """A conversation, new or continued: `with ana.session(id="s1") as chat: ...`."""
        return Conversation(
            self._inner.session(id, kind=kind, metadata=metadata, expires_at=expires_at),
            self._runner,
        )

    def sessions(self) -> Sequence[SessionRecord]:
        """All conversations of this scope, newest first."""
        return self._runner.run(self._inner.sessions())

    def profile(self, category: str) -> ProfileCategory:
        """A handle for one category of the person's profile.

        >>> ana.profile("preferences").merge({"food": {"avoid": ["peanuts"]}})
        """
        return ProfileCategory(self._inner.profile(category), self._runner)

    def person(self) -> Person:
        """A handle for all that is known of the person: its summary, upkeep and reset."""
        return Person(self._inner.person(), self._runner)

    def profiles(self) -> dict[str, Profile]:
        """All categories of the person's profile."""
        return self._runner.run(self._inner.profiles())

    def items(self, category: str) -> Items:
        """A handle for the items of a category: short notes with a key, a status, a priority."""
        return Items(self._inner.items(category), self._runner)

    def model(self, model: Chat | str | None = None) -> Chat | None:
        """The model that answers for this scope, or another by label, by name or as it is.

        Its calls are allowed by the budgets first, and booked to the scope. It is asked from
        inside an event loop. None where there is none.
        """
        return self._runner.run(self._inner.model(model))

    def users(self) -> Sequence[str]:
        """Everybody of this app who has memories of their own, by name.

        >>> memory.users()
        """
        return self._runner.run(self._inner.users())

    def merge_users(self, origin: str, destination: str) -> Mapping[str, int]:
        """Move everything of one user to another, for instance after a sign-in."""
        return self._runner.run(self._inner.merge_users(origin, destination))

    def export(
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
        return self._runner.run(
            self._inner.export(path, user=user, everything=everything, progress=progress)
        )

    def import_(
        self, path: str, *, user: str | None = None, progress: Progress | None = None
    ) -> JsonObject:
        """Take over a JSONL export; ids and times stay. What was erased does not come back.

        Lines go back to the places they came from, or all to `user`.
        """
        return self._runner.run(self._inner.import_(path, user=user, progress=progress))

    def backup(self, path: str, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the store, and its checksum beside it."""
        self._runner.run(self._inner.backup(path, progress=progress))

    def verify(self, *, repair: bool = False, progress: Progress | None = None) -> Verification:
        """Read everything and compare it with its digests; `repair` rebuilds the index first."""
        return self._runner.run(self._inner.verify(repair=repair, progress=progress))

    def catch_up(self, *, limit: int = 100) -> int:
        """Give vectors to memories stored while the embedder did not answer; how many it were."""
        return self._runner.run(self._inner.catch_up(limit=limit))

    def maintain(self, *, progress: Progress | None = None) -> Maintenance:
        """Carry out now whatever is due, here, and wait for it; what was done.

        The background does the same by itself, and so does `recollect worker`.

        >>> memory.maintain().done
        """
        return self._runner.run(self._inner.maintain(progress=progress))

    def jobs(
        self, *, state: str | None = None, kind: str | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[QueuedJob]:
        """What waits to be done, in order of the jobs' numbers, from behind one on.

        `state` is `waiting`, `running` or `dead`.

        >>> memory.jobs(state="dead")
        """
        return self._runner.run(self._inner.jobs(state=state, kind=kind, after=after, limit=limit))

    def retry_job(self, number: int) -> None:
        """Try a dead job again, as if it had never failed."""
        self._runner.run(self._inner.retry_job(number))

    def health(self) -> Health:
        """How each part does, and what to do about it. No provider is asked.

        >>> memory.health().state
        """
        return self._runner.run(self._inner.health())

    def watch_errors(self, listener: ErrorListener) -> Callable[[], None]:
        """Have `listener` told of every error from now on, once and without what memories say.

        It is called where the error was met, so it should be quick. What is returned ends it.

        >>> stop = memory.watch_errors(lambda error: print(error.severity, error.message))
        """
        return self._runner.run(self._inner.watch_errors(listener))

    def models(self) -> Models:
        """A handle for the model clients: how models are reached, each under a label.

        >>> memory.models().set("cheap", model="openai:gpt-4o-mini")
        """
        return Models(self._inner.models(), self._runner)

    def agents(self) -> Agents:
        """A handle for the agents of this app: what they are told, and with which models they
        think and remember.

        >>> memory.agents().set("tutor", model_client="dear", memory_model_client="cheap")
        """
        return Agents(self._inner.agents(), self._runner)

    def status(self) -> JsonObject:
        """Which models work for this scope and why those, and what may still be spent."""
        return self._runner.run(self._inner.status())

    def cost(
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
        return self._runner.run(self._inner.cost(by=by, since=since, until=until, **only))

    def budgets(self) -> Budgets:
        """A handle for the bounds of what calls of models may cost.

        >>> memory.budgets().set(5.0, user="ana", period="month")
        """
        return Budgets(self._inner.budgets(), self._runner)

    def stats(self) -> JsonObject:
        """Counts and sizes of the store."""
        return self._runner.run(self._inner.stats())
