"""Health: what is known of each part without asking anybody outside, and what to do about it."""

from datetime import datetime, timedelta

from recollect.domain import times
from recollect.domain.errors import ProviderError, StorageError
from recollect.domain.health import Fact, Health, Part, State, message_of, worst
from recollect.domain.jobs import Queue
from recollect.domain.records import JsonObject
from recollect.domain.scopes import Scope
from recollect.engine.remembering import EMBED_JOB
from recollect.lifecycle.reporting import Reporting
from recollect.lifecycle.serving import Serving

#: For so long an error counts against the part that it came from.
RECENTLY = timedelta(minutes=15)
#: A job that has been due for longer than this is one that nobody runs.
OVERDUE = timedelta(hours=1)
#: A file needs about its own size again to be backed up or brought to a new schema.
ROOM = 1.0
ERRORS_SHOWN = 10


class Checking(Reporting, Serving):
    """Says how the memory does."""

    #: Where jobs run beside the foreground, for `health`.
    background = "off"

    async def health(self, scope: Scope) -> Health:
        """How each part does, by what is known already: no provider is asked."""
        try:
            now = self._clock.now()
            counts = await self._store.stats(scope.tenant)
            queue = await self._store.queue(now)
            room = await self._store.room()
        except StorageError as exc:
            self._report("store", exc)
            facts: dict[str, Fact] = {"error": type(exc).__name__}
            parts = [Part("store", State.FAILING, facts, message_of(exc))]
        else:
            parts = [
                self._store_part(counts, room),
                self._index_part(counts, queue),
                self._scheduler_part(queue),
            ]
        parts += [self._embedder_part(), self._models_part(), _CACHE]
        state = worst([State(part.state) for part in parts])
        return Health(state, tuple(parts), tuple(self.reports.recent)[-ERRORS_SHOWN:])

    def _store_part(self, counts: JsonObject, free: int | None) -> Part:
        size = counts.get("file_bytes", 0)
        facts: dict[str, Fact] = {
            "file": counts.get("file"),
            "bytes": size,
            "free_bytes": free,
            "schema": counts.get("schema"),
            "durability": self._store.durability,
            "memories": counts.get("memories"),
            "recent_errors": self._recently("store"),
        }
        if facts["recent_errors"]:
            return Part(
                "store", State.DEGRADED, facts, "look at the disk, and at who holds the file"
            )
        if free is not None and free < size * ROOM:
            remedy = "free some space: there is no room for a backup of the file"
            return Part("store", State.DEGRADED, facts, remedy)
        return Part("store", State.HEALTHY, facts)

    def _index_part(self, counts: JsonObject, queue: Queue) -> Part:
        owed_since = queue.next_by_kind.get(EMBED_JOB)
        facts: dict[str, Fact] = {
            "vectors": counts.get("vectors"),
            "owed": queue.waiting_by_kind.get(EMBED_JOB, 0),
            "given_up": queue.dead_by_kind.get(EMBED_JOB, 0),
        }
        if facts["given_up"]:
            remedy = f"`recollect jobs --kind {EMBED_JOB} --retry all` once the embedder answers"
            return Part("index", State.DEGRADED, facts, remedy)
        if owed_since is not None and self._embedder is None:
            remedy = "memories wait for vectors and no embedder is set: set one"
            return Part("index", State.DEGRADED, facts, remedy)
        return Part("index", State.HEALTHY, facts)

    def _scheduler_part(self, queue: Queue) -> Part:
        now = times.show(self._clock.now())
        facts: dict[str, Fact] = {
            "background": self.background,
            "waiting": queue.waiting,
            "running": queue.running,
            "due": queue.due,
            "due_since": _iso(queue.due_since),
            "dead": queue.dead,
        }
        for kind in sorted({*queue.records, *queue.next_by_kind}):
            record = queue.records.get(kind)
            facts[f"{kind}_last"] = _iso(record.last_done_at) if record else None
            facts[f"{kind}_next"] = _iso(queue.next_by_kind.get(kind))
        if queue.dead:
            remedy = "`recollect jobs --state dead` shows why; `--retry all` tries them again"
            return Part("scheduler", State.DEGRADED, facts, remedy)
        if queue.due_since is not None and now - queue.due_since > OVERDUE:
            remedy = "nobody runs the jobs: start `recollect worker`, or run `recollect maintain`"
            return Part("scheduler", State.DEGRADED, facts, remedy)
        return Part("scheduler", State.HEALTHY, facts)

    def _embedder_part(self) -> Part:
        if self._embedder is None:
            return Part("embedder", State.HEALTHY, {"space": None, "lane": "words"})
        facts: dict[str, Fact] = {"recent_errors": self._recently("embedder")}
        try:
            facts["space"] = self._embedder.space
        except ProviderError as exc:
            return Part("embedder", State.DEGRADED, facts, message_of(exc))
        if facts["recent_errors"]:
            remedy = "it does not answer; recall goes on by words, and vectors are made later"
            return Part("embedder", State.DEGRADED, facts, remedy)
        return Part("embedder", State.HEALTHY, facts)

    def _models_part(self) -> Part:
        chosen = {"memory_model": self._memory_chat, "reasoning_model": self._reasoning_chat}
        facts: dict[str, Fact] = {
            name: chat if chat is None or isinstance(chat, str) else chat.model
            for name, chat in chosen.items()
        }
        facts["recent_errors"] = self._recently("model")
        if facts["recent_errors"]:
            remedy = "a model does not answer; what needs it is done without it, or later"
            return Part("models", State.DEGRADED, facts, remedy)
        return Part("models", State.HEALTHY, facts)

    def _recently(self, component: str) -> int:
        """How many errors a component had lately."""
        since = times.show(self._clock.now()) - RECENTLY
        grave = [one for one in self.reports.recent if one.component == component]
        return sum(one.timestamp > since for one in grave)


#: A file needs none: what is hot is held in memory by the store itself.
_CACHE = Part("cache", State.HEALTHY, {"kind": "none"})


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else times.iso(moment)
