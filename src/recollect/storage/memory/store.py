"""The in-memory store: the contract in plain dictionaries, for tests and for trying things out."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from recollect.domain import digests, times
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, CostQuery, CostRow
from recollect.domain.errors import ClosedError, RecollectError, StorageError
from recollect.domain.jobs import Job, JobQuery, Queue, QueuedJob
from recollect.domain.operations import Operation
from recollect.domain.queries import EventQuery, Scan, Search, View
from recollect.domain.records import (
    Change,
    Group,
    JsonObject,
    Link,
    MemoryRecord,
    Page,
    Profile,
    SessionRecord,
    Verification,
)
from recollect.domain.scopes import Place
from recollect.ports.store import Candidates, Progress
from recollect.storage.memory import jobs, modelling, reading, searching, upkeep
from recollect.storage.memory.erasing import ERASING
from recollect.storage.memory.tables import Tables
from recollect.storage.memory.writing import WRITING

_CARRIERS = {**WRITING, **ERASING, **jobs.JOBS, **modelling.MODELLING}


class InMemoryStore:
    """Memories in dictionaries. Behaves like every store, keeps nothing, and looks at every row."""

    inline = True
    durability = "relaxed"  #: nothing survives the process

    def __init__(self) -> None:
        self._tables = Tables()
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def _reading(self) -> Generator[Tables]:
        """The tables, for one thread at a time."""
        with self._lock:
            if self._closed:
                raise ClosedError("the store is closed; open it again")
            yield self._tables

    @contextmanager
    def _writing(self) -> Generator[Tables]:
        """The tables, for a change that happens wholly or not at all."""
        with self._reading() as tables:
            try:
                yield tables
                tables.journal.clear()
            finally:
                tables.rollback()

    # -- writing ---------------------------------------------------------------------------------

    async def apply(self, operations: Sequence[Operation], *, atomic: bool = True) -> list[Any]:
        """Execute operations in one transaction and answer each in order."""
        with self._writing() as tables:
            carry_out = _carry_out if atomic else _attempt
            return [carry_out(tables, operation) for operation in operations]

    # -- reading ---------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], view: View) -> dict[str, MemoryRecord]:
        """Those of the memories that lie in the view's places."""
        with self._reading() as tables:
            return reading.get(tables, ids, view)

    async def scan(self, scan: Scan) -> Page[MemoryRecord]:
        """One page of a listing."""
        with self._reading() as tables:
            return reading.scan(tables, scan)

    async def count(self, view: View) -> int:
        """How many memories a view shows."""
        with self._reading() as tables:
            return len(reading.shown(tables, view)) + len(reading.shown_versions(tables, view))

    async def candidates(self, search: Search) -> Candidates:
        """What may answer a search."""
        with self._reading() as tables:
            return searching.candidates(tables, search)

    async def load(self, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """The records of candidates."""
        with self._reading() as tables:
            rows = tables.memories
            return {key: reading.handed_out(rows[key].record) for key in keys if key in rows}

    async def marked(self, place: Place, marks: Sequence[int]) -> list[MemoryRecord]:
        """Memories by their marks."""
        with self._reading() as tables:
            return reading.marked(tables, place, marks)

    async def vectors(self, keys: Sequence[int], space: str) -> dict[int, bytes]:
        """The vectors of memories in a space."""
        with self._reading() as tables:
            there = (key for key in keys if key in tables.memories)
            found = {key: tables.memories[key].vectors.get(space) for key in there}
            return {key: vector for key, vector in found.items() if vector is not None}

    async def links(
        self, ids: Sequence[str], places: Sequence[Place], *, kind: str | None = None
    ) -> list[Link]:
        """Links that touch some memories."""
        with self._reading() as tables:
            inside = {r.record.id for r in tables.memories.values() if r.record.place in places}
            found = [
                Link(source, target, name, strength, times.show(created_at))
                for (source, name, target), (strength, created_at) in tables.links.items()
                if (source in ids or target in ids)
                and {source, target} <= inside
                and kind in (None, name)
            ]
            return sorted(found, key=lambda one: (one.created_at, one.source, one.kind, one.target))

    async def children(self, ids: Sequence[str], places: Sequence[Place]) -> list[MemoryRecord]:
        """Direct children."""
        with self._reading() as tables:
            records = (row.record for _, row in sorted(tables.memories.items(), key=_number))
            return [
                reading.handed_out(record)
                for record in records
                if record.parent in ids and record.place in places
            ]

    async def groups(self, place: Place) -> list[Group]:
        """Groups of a place."""
        with self._reading() as tables:
            own = sorted(number for number, row in tables.groups.items() if row.place == place)
            return [reading.group_of(tables, number) for number in own]

    async def members(self, place: Place, group: str) -> list[MemoryRecord]:
        """Memories of a group."""
        with self._reading() as tables:
            wanted = tables.group(place, group)
            added = sorted((at, row) for (g, row), at in tables.members.items() if g == wanted)
            return [reading.handed_out(tables.memories[row].record) for _, row in added]

    async def session(self, place: Place, id: str) -> SessionRecord | None:
        """One session."""
        with self._reading() as tables:
            known = (place, id) in tables.sessions
            return reading.session_of(tables, place, id) if known else None

    async def sessions(self, place: Place) -> list[SessionRecord]:
        """Sessions of a place."""
        with self._reading() as tables:
            own = [(row.number, id) for (p, id), row in tables.sessions.items() if p == place]
            return [reading.session_of(tables, place, id) for _, id in sorted(own, reverse=True)]

    async def profiles(self, place: Place) -> list[Profile]:
        """Categories of a profile."""
        with self._reading() as tables:
            own = {name: row for (p, name), row in tables.profiles.items() if p == place}
            return [reading.profile_of(name, own[name]) for name in sorted(own)]

    async def past_profiles(self, place: Place, category: str) -> list[Profile]:
        """Every version of a category."""
        with self._reading() as tables:
            return reading.past_profiles(tables, place, category)

    async def changes(self, query: EventQuery) -> list[Change]:
        """Events with the states around them."""
        with self._reading() as tables:
            return reading.changes(tables, query)

    async def places(self, tenant: str | None) -> list[Place]:
        """Places of a tenant."""
        with self._reading() as tables:
            listed = sorted(tables.places.items(), key=_number)
            return [place for _, place in listed if tenant in (None, place.tenant)]

    async def tombstoned(self, tenant: str, names: Sequence[str]) -> set[str]:
        """Names that were erased."""
        with self._reading() as tables:
            return {n for n in names if (tenant, digests.of_name(n)) in tables.tombstones}

    async def entries(self, view: View, after: int, limit: int) -> list[tuple[int, MemoryRecord]]:
        """Memories in order of writing, with their handles."""
        with self._reading() as tables:
            later = [(n, one) for n, one in reading.shown(tables, view).items() if n > after]
            return [(number, reading.handed_out(record)) for number, record in later[:limit]]

    async def without_vector(
        self, spaces: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Place, str]]:
        """Memories without a vector in these spaces."""
        with self._reading() as tables:
            return reading.without_vector(tables, spaces, after, limit)

    async def stats(self, tenant: str) -> JsonObject:
        """Counts."""
        with self._reading() as tables:
            return upkeep.stats(tables, tenant)

    async def room(self) -> int | None:
        """Nobody knows."""
        with self._reading():
            return None

    # -- jobs ------------------------------------------------------------------------------------

    async def claim_jobs(
        self, kinds: Sequence[str], limit: int, *, now: int, lease_us: int
    ) -> list[Job]:
        """Lease due jobs."""
        with self._writing() as tables:
            return jobs.claim(tables, kinds, limit, now, now + lease_us)

    async def jobs(self, query: JobQuery) -> list[QueuedJob]:
        """Jobs that wait, run or are dead."""
        with self._reading() as tables:
            return jobs.listed(tables, query)

    async def queue(self, now: int) -> Queue:
        """The queue at a moment."""
        with self._reading() as tables:
            return jobs.queue(tables, now)

    # -- models ----------------------------------------------------------------------------------

    async def model_clients(self, tenant: str) -> list[ModelClient]:
        """Model clients of a tenant."""
        with self._reading() as tables:
            return modelling.clients(tables, tenant)

    async def agents(self, tenant: str, app: str) -> list[AgentRecord]:
        """Agents of an app."""
        with self._reading() as tables:
            return modelling.agents(tables, tenant, app)

    async def costs(self, query: CostQuery) -> list[CostRow]:
        """What calls took."""
        with self._reading() as tables:
            return modelling.costs(tables, query)

    async def spent(self, tenant: str, place: Place | None, agent: str | None, since: int) -> int:
        """What somebody spent."""
        with self._reading() as tables:
            return modelling.spent(tables, tenant, place, agent, since)

    async def budgets(self, tenant: str) -> list[Budget]:
        """Budgets of a tenant."""
        with self._reading() as tables:
            return modelling.budgets(tables, tenant)

    # -- upkeep ----------------------------------------------------------------------------------

    async def seal(self) -> int:
        """Chain the events that are not sealed yet."""
        with self._writing() as tables:
            return upkeep.seal(tables)

    async def scrub(self) -> bool:
        """Nothing to wipe: there are no logs and no freed pages."""
        with self._reading():
            return True

    async def rebuild(self, packed: Callable[[str], bytes], progress: Progress) -> int:
        """Make every index entry anew."""
        with self._writing() as tables:
            return upkeep.rebuild(tables, packed, progress)

    async def verify(self, progress: Progress) -> Verification:
        """Compare everything with its digests."""
        with self._reading() as tables:
            return upkeep.check(tables, progress)

    async def backup(self, path: str, progress: Progress) -> None:
        """Refused: there is no file."""
        with self._reading():
            raise StorageError(
                f"cannot back up to {path}: the store lives in memory and has no file to copy. "
                "Export it, or open a file"
            )

    async def close(self) -> None:
        """Let everything go."""
        with self._lock:
            self._closed = True
            self._tables = Tables()


def _number(item: tuple[int, Any]) -> int:
    return item[0]


def _carry_out(tables: Tables, operation: Operation) -> Any:
    return _CARRIERS[type(operation)](tables, operation)


def _attempt(tables: Tables, operation: Operation) -> Any:
    """An operation that leaves no trace when it fails; its answer is then the error."""
    mark = len(tables.journal)
    try:
        return _carry_out(tables, operation)
    except RecollectError as exc:
        tables.rollback(mark)
        return exc
