"""What the in-memory store holds: plain dictionaries that can take back a failed transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from recollect.domain import digests
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, Charge
from recollect.domain.errors import NotFound
from recollect.domain.jobs import JobState, Record
from recollect.domain.operations import Stamp
from recollect.domain.records import JsonObject, MemoryRecord
from recollect.domain.scopes import Place

K = TypeVar("K")
V = TypeVar("V")
Journal = list[Callable[[], None]]


class Table(dict[K, V]):
    """A dictionary that notes how to undo each change. Values are never changed in place."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def __setitem__(self, key: K, value: V) -> None:
        self._note(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self._note(key)
        super().__delitem__(key)

    def drop(self, chosen: Callable[[K, V], bool]) -> int:
        """Delete the entries that are chosen; how many they were."""
        gone = [key for key, value in self.items() if chosen(key, value)]
        for key in gone:
            del self[key]
        return len(gone)

    def _note(self, key: K) -> None:
        if key in self:
            self._journal.append(partial(super().__setitem__, key, self[key]))
        else:
            self._journal.append(partial(super().__delitem__, key))


@dataclass(frozen=True, slots=True)
class Row:
    """A memory with its index entry: packed terms, and its vector in each space."""

    record: MemoryRecord
    terms: bytes
    marks: tuple[int, ...] = ()
    vectors: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class PastState:
    """A state that was replaced: what it was from `since` to `until`."""

    record: MemoryRecord
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One category of a profile, now or at an earlier version."""

    number: int
    data: JsonObject
    version: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session."""

    number: int
    kind: str
    metadata: JsonObject
    started_at: int
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group."""

    id: str
    place: Place
    name: str
    description: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event. An erasure empties `salt` and `detail`; the rest is sealed."""

    id: str
    at: int
    place: int
    action: str
    what: str
    about: int
    version: int | None
    before: bytes | None
    after: bytes | None
    detail_digest: bytes | None
    salt: bytes | None
    detail: JsonObject | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """A queued job."""

    kind: str
    place: Place | None
    memory: int | None
    payload: JsonObject
    due_at: int
    priority: int
    alone: bool
    attempt: int = 0
    tries: int = 0
    leased_until: int = 0
    dead_at: int | None = None
    reason: str | None = None

    def state(self, now: int) -> JobState:
        """What is becoming of it."""
        if self.dead_at is not None:
            return JobState.DEAD
        return JobState.RUNNING if self.leased_until > now else JobState.WAITING


@dataclass(frozen=True, slots=True)
class OnceRow:
    """What was written under a key that made a write safe to retry."""

    body: bytes
    row: int
    at: int


class Tables:
    """All tables. Rows and places are numbered in order of writing; numbers are never reused."""

    def __init__(self) -> None:
        self.journal: Journal = []
        self.counters: Table[str, int] = Table(self.journal)
        self.places: Table[int, Place] = Table(self.journal)
        self.place_numbers: Table[Place, int] = Table(self.journal)
        self.memories: Table[int, Row] = Table(self.journal)
        self.row_of: Table[str, int] = Table(self.journal)
        self.marked: Table[int, tuple[int, ...]] = Table(self.journal)
        self.past: Table[tuple[int, int], PastState] = Table(self.journal)
        self.events: Table[int, EventRow] = Table(self.journal)
        self.seals: Table[int, tuple[int, bytes]] = Table(self.journal)
        self.links: Table[tuple[str, str, str], tuple[float, int]] = Table(self.journal)
        self.groups: Table[int, GroupRow] = Table(self.journal)
        self.members: Table[tuple[int, int], int] = Table(self.journal)
        self.sessions: Table[tuple[Place, str], SessionRow] = Table(self.journal)
        self.profiles: Table[tuple[Place, str], ProfileRow] = Table(self.journal)
        self.past_profiles: Table[tuple[int, int], ProfileRow] = Table(self.journal)
        self.once: Table[tuple[Place, str], OnceRow] = Table(self.journal)
        self.jobs: Table[int, JobRow] = Table(self.journal)
        self.duties: Table[str, Record] = Table(self.journal)
        self.clients: Table[tuple[str, str], ModelClient] = Table(self.journal)
        self.agents: Table[tuple[str, str, str], AgentRecord] = Table(self.journal)
        self.charges: Table[int, Charge] = Table(self.journal)
        self.budgets: Table[tuple[str, Place | None, str | None], Budget] = Table(self.journal)
        self.spaces: Table[str, int] = Table(self.journal)
        self.tombstones: Table[tuple[str, bytes], int] = Table(self.journal)

    def rollback(self, mark: int = 0) -> None:
        """Take back every change since the journal had this length."""
        while len(self.journal) > mark:
            self.journal.pop()()

    def next(self, name: str) -> int:
        """A number that was never given before."""
        number = self.counters.get(name, 0) + 1
        self.counters[name] = number
        return number

    def place(self, place: Place) -> int:
        """The number of a place, made if need be."""
        if place not in self.place_numbers:
            number = self.next("place")
            self.places[number] = place
            self.place_numbers[place] = number
        return self.place_numbers[place]

    def find(self, id: str, places: tuple[Place, ...], *, field: str = "id") -> tuple[int, Row]:
        """A memory by id, if it lies in one of the places."""
        number = self.row_of.get(id)
        if number is not None and self.memories[number].record.place in places:
            return number, self.memories[number]
        raise NotFound(f"no memory {id} in this scope ({field})")

    def bear(self, number: int, marks: tuple[int, ...]) -> None:
        """Have a memory bear these marks and no others."""
        for mark in self.memories[number].marks:
            self.marked[mark] = tuple(one for one in self.marked[mark] if one != number)
        for mark in marks:
            self.marked[mark] = (*self.marked.get(mark, ()), number)

    def bearing(self, place: Place, mark: int) -> list[int]:
        """The memories of a place that bear a mark, oldest first."""
        found = self.marked.get(mark, ())
        return [number for number in found if self.memories[number].record.place == place]

    def group(self, place: Place, name: str) -> int:
        """The number of a group of a place, found by id, by name, or by number."""
        own = {number: group for number, group in self.groups.items() if group.place == place}
        for wanted in ("id", "name"):
            for number, group in own.items():
                if getattr(group, wanted) == name:
                    return number
        if name.isdecimal() and int(name) in own:
            return int(name)
        raise NotFound(f"no group {name!r} in this scope")

    def rows_of(self, place: Place) -> list[int]:
        """The numbers of a place's memories, in order of writing."""
        return sorted(n for n, row in self.memories.items() if row.record.place == place)

    def event(
        self,
        stamp: Stamp,
        place: int,
        what: str,
        about: int,
        *,
        version: int | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        detail: JsonObject | None = None,
    ) -> None:
        """Write down what happened."""
        said = {"actor": stamp.actor, "reason": stamp.reason}
        detail = {**(detail or {}), **{k: v for k, v in said.items() if v is not None}}
        self.events[self.next("event")] = EventRow(
            *(stamp.event, stamp.at, place, stamp.action, what, about, version, before, after),
            detail_digest=digests.of_data(detail, stamp.salt) if detail else None,
            salt=stamp.salt,
            detail=detail or None,
        )
