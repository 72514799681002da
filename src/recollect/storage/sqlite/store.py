"""The SQLite store: one file, one writer at a time, any number of readers."""

import os
import shutil
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import apsw
import numpy as np

from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, CostQuery, CostRow
from recollect.domain.errors import ClosedError, RecollectError, StorageError
from recollect.domain.jobs import Job, JobQuery, Queue, QueuedJob
from recollect.domain.operations import Operation, Remember
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
from recollect.storage.sqlite import checking, jobs, modelling, reading, sealing, segments, upkeep
from recollect.storage.sqlite.commit import Committer
from recollect.storage.sqlite.connection import connect, create_private, translated
from recollect.storage.sqlite.erasing import ERASING
from recollect.storage.sqlite.jobs import JOBS
from recollect.storage.sqlite.searching import Searcher
from recollect.storage.sqlite.segments import SEAL_AT
from recollect.storage.sqlite.sql import first, stream
from recollect.storage.sqlite.writing import Transaction, execute

T = TypeVar("T")
_FURTHER = {**JOBS, **modelling.MODELLING}
READERS_MAX = 8


@dataclass(slots=True)
class _Reader:
    """A place for one who reads, with the connection that the last one left there."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    connection: apsw.Connection | None = None


class SqliteStore:
    """Memories in one SQLite file. Never suspends, so it needs neither a loop nor a thread."""

    inline = True

    def __init__(self, path: str, *, durability: str = "full", vfs: str | None = None) -> None:
        self.path = os.path.abspath(path)
        self.durability = durability
        self._vfs = vfs
        if vfs is None:
            with translated(f"create {path}"):
                create_private(self.path)
        self._committer = Committer(self._connect)
        self._searcher = Searcher()
        self._readers = [_Reader() for _ in range(READERS_MAX)]
        self._turns = count()
        self._pooling = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._unsealed: dict[int, int] = {}

    def _connect(self) -> apsw.Connection:
        with translated(f"open {self.path}"), ExitStack() as undo:
            if os.path.exists(self.path):
                upkeep.refuse_by_header(self.path)
            connection = connect(self.path, durability=self.durability, vfs=self._vfs)
            undo.callback(connection.close, True)
            upkeep.prepare_schema(connection, self.path)
            undo.pop_all()
            return connection

    # -- writing ---------------------------------------------------------------------------------

    async def apply(self, operations: Sequence[Operation], *, atomic: bool = True) -> list[Any]:
        """Execute operations in one transaction and answer each in order."""
        self._require_open()
        return self._committer.run(lambda connection: self._apply(connection, operations, atomic))

    def _apply(
        self, connection: apsw.Connection, operations: Sequence[Operation], atomic: bool
    ) -> list[Any]:
        tx = Transaction(connection, codes=_quantised(operations), wanted=_sought(operations))
        if atomic:
            answers = [self._carry_out(tx, operation) for operation in operations]
        else:
            answers = [self._attempt(tx, operation) for operation in operations]
        self._index_added(tx)
        return answers

    def _carry_out(self, tx: Transaction, operation: Operation) -> Any:
        carrier = ERASING.get(type(operation))
        if carrier is None:
            carrier = _FURTHER.get(type(operation), execute)
            return carrier(tx, operation)
        self._index_added(tx)
        return carrier(tx, operation)

    def _attempt(self, tx: Transaction, operation: Operation) -> Any:
        """An operation that leaves no trace when it fails; its answer is then the error."""
        if isinstance(operation, Remember):  # refuses before it writes
            try:
                return self._carry_out(tx, operation)
            except RecollectError as exc:
                return exc
        mark = tx.mark()
        try:
            return self._carry_out(tx, operation)
        except RecollectError as exc:
            tx.back_to(mark)
            return exc

    def _index_added(self, tx: Transaction) -> None:
        """Write the new index entries; seal those of a place when many have piled up."""
        tx.flush()
        for place, entries in tx.entries.items():
            known = self._unsealed.get(place)
            waiting = tx.scalar("unsealed_count", place) if known is None else known
            if waiting + len(entries) >= SEAL_AT:
                sealing.seal_place(tx.connection, place, entries)
                self._unsealed[place] = 0
            else:
                sealing.add_entries(tx.connection, place, entries)
                self._unsealed[place] = waiting + len(entries)
        tx.entries.clear()

    # -- reading ---------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], view: View) -> dict[str, MemoryRecord]:
        """Those of the memories that lie in the view's places."""
        return self._read(lambda connection: reading.get(connection, ids, view))

    async def scan(self, scan: Scan) -> Page[MemoryRecord]:
        """One page of a listing."""
        return self._read(lambda connection: reading.scan(connection, scan))

    async def count(self, view: View) -> int:
        """How many memories a view shows."""
        return self._read(lambda connection: reading.count(connection, view))

    async def candidates(self, search: Search) -> Candidates:
        """What may answer a search."""
        return self._read(lambda connection: self._searcher.candidates(connection, search))

    async def load(self, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """The records of candidates."""
        return self._read(lambda connection: reading.load(connection, keys))

    async def marked(self, place: Place, marks: Sequence[int]) -> list[MemoryRecord]:
        """Memories by their marks."""
        return self._read(lambda connection: reading.marked(connection, place, marks))

    async def vectors(self, keys: Sequence[int], space: str) -> dict[int, bytes]:
        """The vectors of memories in a space."""
        return self._read(lambda connection: reading.vectors(connection, keys, space))

    async def links(
        self, ids: Sequence[str], places: Sequence[Place], *, kind: str | None = None
    ) -> list[Link]:
        """Links that touch some memories."""
        return self._read(lambda connection: reading.links(connection, ids, places, kind))

    async def children(self, ids: Sequence[str], places: Sequence[Place]) -> list[MemoryRecord]:
        """Direct children."""
        return self._read(lambda connection: reading.children(connection, ids, places))

    async def groups(self, place: Place) -> list[Group]:
        """Groups of a place."""
        return self._read(lambda connection: reading.groups(connection, place))

    async def members(self, place: Place, group: str) -> list[MemoryRecord]:
        """Memories of a group."""
        return self._read(lambda connection: reading.members(connection, place, group))

    async def session(self, place: Place, id: str) -> SessionRecord | None:
        """One session."""
        return self._read(lambda connection: reading.session(connection, place, id))

    async def sessions(self, place: Place) -> list[SessionRecord]:
        """Sessions of a place."""
        return self._read(lambda connection: reading.sessions(connection, place))

    async def profiles(self, place: Place) -> list[Profile]:
        """Categories of a profile."""
        return self._read(lambda connection: reading.profiles(connection, place))

    async def past_profiles(self, place: Place, category: str) -> list[Profile]:
        """Every version of a category."""
        return self._read(lambda connection: reading.past_profiles(connection, place, category))

    async def changes(self, query: EventQuery) -> list[Change]:
        """Events with the states around them."""
        return self._read(lambda connection: reading.changes(connection, query))

    async def places(self, tenant: str | None) -> list[Place]:
        """Places of a tenant."""
        return self._read(lambda connection: reading.places(connection, tenant))

    async def tombstoned(self, tenant: str, names: Sequence[str]) -> set[str]:
        """Names that were erased."""
        return self._read(lambda connection: reading.tombstoned(connection, tenant, names))

    async def entries(self, view: View, after: int, limit: int) -> list[tuple[int, MemoryRecord]]:
        """Memories in order of writing, with their handles."""
        return self._read(lambda connection: reading.entries(connection, view, after, limit))

    async def without_vector(
        self, spaces: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Place, str]]:
        """Memories without a vector in these spaces."""
        return self._read(lambda c: reading.without_vector(c, spaces, after, limit))

    async def stats(self, tenant: str) -> JsonObject:
        """Counts and sizes."""
        return self._read(lambda connection: _stats(connection, tenant, self.path))

    async def room(self) -> int | None:
        """Bytes that the disk has left."""
        self._require_open()
        with translated("measure the disk"):
            return shutil.disk_usage(os.path.dirname(self.path)).free

    # -- jobs ------------------------------------------------------------------------------------

    async def claim_jobs(
        self, kinds: Sequence[str], limit: int, *, now: int, lease_us: int
    ) -> list[Job]:
        """Lease due jobs."""
        self._require_open()
        until = now + lease_us
        return self._committer.run(lambda c: jobs.claim(c, kinds, limit, now, until))

    async def jobs(self, query: JobQuery) -> list[QueuedJob]:
        """Jobs that wait, run or are dead."""
        return self._read(lambda connection: jobs.listed(connection, query))

    async def queue(self, now: int) -> Queue:
        """The queue at a moment."""
        return self._read(lambda connection: jobs.queue(connection, now))

    # -- models ----------------------------------------------------------------------------------

    async def model_clients(self, tenant: str) -> list[ModelClient]:
        """Model clients of a tenant."""
        return self._read(lambda connection: modelling.clients(connection, tenant))

    async def agents(self, tenant: str, app: str) -> list[AgentRecord]:
        """Agents of an app."""
        return self._read(lambda connection: modelling.agents(connection, tenant, app))

    async def costs(self, query: CostQuery) -> list[CostRow]:
        """What calls took."""
        return self._read(lambda connection: modelling.costs(connection, query))

    async def spent(self, tenant: str, place: Place | None, agent: str | None, since: int) -> int:
        """What somebody spent."""
        return self._read(lambda c: modelling.spent(c, tenant, place, agent, since))

    async def budgets(self, tenant: str) -> list[Budget]:
        """Budgets of a tenant."""
        return self._read(lambda connection: modelling.budgets(connection, tenant))

    # -- upkeep ----------------------------------------------------------------------------------

    async def seal(self) -> int:
        """Chain the events that are not sealed yet."""
        self._require_open()
        return self._committer.run(upkeep.seal)

    async def scrub(self) -> bool:
        """Wipe what erased rows left in the log."""
        self._require_open()
        self._drop_readers()
        return self._committer.alone(lambda c: upkeep.wipe(c, self.path, self._vfs))

    async def rebuild(self, packed: Callable[[str], bytes], progress: Progress) -> int:
        """Build the index anew from the memories."""
        self._require_open()
        done = self._committer.run(lambda c: sealing.rebuild(c, packed, progress))
        self._unsealed.clear()
        self._searcher.forget()
        return done

    async def verify(self, progress: Progress) -> Verification:
        """Read everything and compare it with its digests."""
        return self._read(lambda connection: checking.check(connection, progress))

    async def backup(self, path: str, progress: Progress) -> None:
        """Write a consistent copy."""
        self._read(lambda connection: upkeep.copy(connection, path, progress))

    async def close(self) -> None:
        """Seal, release and forget everything."""
        if self._closed:
            return
        try:
            if os.getpid() == self._process:
                self._committer.run(upkeep.seal)
        finally:
            self._closed = True
            self._drop_readers()
            self._committer.close()
            self._searcher.forget()

    # -- connections -----------------------------------------------------------------------------

    def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run work on one snapshot of the file."""
        self._require_open()
        with self._reader() as connection, translated("read"):
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                if connection.in_transaction:  # an I/O error may have ended it
                    connection.execute("COMMIT")

    @contextmanager
    def _reader(self) -> Generator[apsw.Connection]:
        reader = self._next_reader()
        # A lock and not a semaphore: an interrupt cannot fall between taking it and the block.
        with reader.turn:
            with self._pooling:
                connection, reader.connection = reader.connection, None
            if connection is None:
                connection = connect(self.path, durability=self.durability, vfs=self._vfs)
            try:
                yield connection
            except BaseException as exc:
                if isinstance(exc, RecollectError) and not isinstance(exc, StorageError):
                    self._give_back(reader, connection)
                else:  # in an unknown state
                    connection.close(True)
                raise
            self._give_back(reader, connection)

    def _next_reader(self) -> _Reader:
        """One that nobody uses just now, or else whose turn it is to be waited for."""
        for reader in self._readers:
            if not reader.turn.locked():
                return reader
        return self._readers[next(self._turns) % READERS_MAX]

    def _give_back(self, reader: _Reader, connection: apsw.Connection) -> None:
        with self._pooling:
            if not self._closed:
                reader.connection = connection
                return
        connection.close()

    def _drop_readers(self) -> None:
        with self._pooling:
            idle = [reader.connection for reader in self._readers]
            for reader in self._readers:
                reader.connection = None
        for connection in idle:
            if connection is not None:
                connection.close()

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedError("the store is closed; open it again")
        if os.getpid() != self._process:
            raise ClosedError(
                "the store was opened before this process was forked; open it again in the child"
            )


def _sought(operations: Sequence[Operation]) -> dict[Place, list[int]]:
    """By place, the marks under which a batch looks for what it repeats."""
    sought: dict[Place, list[int]] = {}
    for operation in operations:
        if isinstance(operation, Remember) and operation.strengthen is not None:
            sought.setdefault(operation.record.place, []).extend(operation.entry.marks[:1])
    return sought


def _quantised(operations: Sequence[Operation]) -> dict[bytes, bytes]:
    """The codes of all vectors in a batch, made at once where texts have one passage."""
    by_size: dict[int, list[bytes]] = {}
    for operation in operations:
        if isinstance(operation, Remember):
            entry = operation.entry
            if entry.vector is not None and entry.passages == 1:
                by_size.setdefault(entry.dimensions, []).append(entry.vector)
    codes: dict[bytes, bytes] = {}
    for dimensions, vectors in by_size.items():
        if len(vectors) > 1:
            joined = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, dimensions)
            codes.update(zip(vectors, segments.quantise(joined), strict=True))
    return codes


def _stats(connection: apsw.Connection, tenant: str, path: str) -> JsonObject:
    counts: dict[str, dict[str, int]] = {"place": {}, "kind": {}, "tier": {}, "status": {}}
    total = 0
    for *values, number in stream(connection, "counts_by", tenant):
        total += number
        for name, value in zip(counts, values, strict=True):
            counts[name][value] = counts[name].get(value, 0) + number
    tables = first(connection, "count_tables", tenant) or ()
    names = ("places", "events", "vectors", "links", "jobs", "tombstones")
    return {
        "memories": total,
        **{f"by_{name}": dict(sorted(found.items())) for name, found in counts.items()},
        **dict(zip(names, tables, strict=True)),
        "file": path,
        "file_bytes": sum(
            os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)
        ),
        "schema": connection.pragma("user_version"),
    }
