"""What is remembered: the memory record and the values that surround it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, TypeVar

from recollect.domain import times
from recollect.domain.policy import Policy
from recollect.domain.scopes import Place, PlaceKind

JsonObject = dict[str, Any]
T = TypeVar("T")


class Kind(StrEnum):
    """The kinds that Recollect itself knows; any other name is a kind too."""

    GENERAL = "general"
    INTERACTION = "interaction"
    EPISODE = "episode"
    FACT = "fact"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    DECISION = "decision"
    FILE_CHANGE = "file_change"
    CONSOLIDATED = "consolidated"
    SUMMARY = "summary"


class Tier(StrEnum):
    """How durable a memory has become."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"
    ARCHIVED = "archived"


class Status(StrEnum):
    """Whether a memory takes part in recall."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"


class Source(StrEnum):
    """Where a memory came from."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"
    IMPORT = "import"


class Trust(StrEnum):
    """How far a memory's origin is believed; consolidation takes the least of its sources."""

    UNTRUSTED = "untrusted"
    LIMITED = "limited"
    TRUSTED = "trusted"


TRUST_OF_SOURCE = {
    Source.USER: Trust.TRUSTED,
    Source.AGENT: Trust.LIMITED,
    Source.TOOL: Trust.UNTRUSTED,
    Source.WEB: Trust.UNTRUSTED,
    Source.IMPORT: Trust.LIMITED,
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryRecord:
    """One memory, as it was read or written. A message is a memory with a role."""

    id: str
    text: str
    place: Place
    created_at: datetime
    updated_at: datetime
    kind: str = Kind.GENERAL.value
    tier: str = Tier.SHORT.value
    status: str = Status.ACTIVE.value
    importance: float = 0.5
    agent: str | None = None
    session: str | None = None
    position: int | None = None
    role: str | None = None
    speaker: str | None = None
    parent: str | None = None
    item_key: str | None = None
    stage: str | None = None
    stage_changed_at: datetime | None = None
    priority: int | None = None
    source: str = Source.USER.value
    trust: str = Trust.TRUSTED.value
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    reinforced_at: datetime | None = None
    reinforcements: int = 0
    access_count: int = 0
    superseded_by: str | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict[str, Any])
    version: int = 1

    def __repr__(self) -> str:
        """The id, the text, whose it is, and whatever is not as usual."""
        text = self.text if len(self.text) <= _REPR_CHARS else f"{self.text[:_REPR_CHARS]}…"
        said = [f"id={self.id!r}", f"text={text!r}", f"user={self.user!r}"]
        for name, usual in _USUAL.items():
            value = getattr(self, name)
            if value != usual:
                shown = times.iso(value) if isinstance(value, datetime) else value
                said.append(f"{name}={shown!r}")
        return f"MemoryRecord({', '.join(said)})"

    @property
    def user(self) -> str | None:
        """The user whose memory it is; None for shared, space and anonymous rows."""
        return self.place.name if self.place.kind is PlaceKind.USER else None

    @property
    def space(self) -> str | None:
        """The space it lies in, if any."""
        return self.place.name if self.place.kind is PlaceKind.SPACE else None

    @property
    def begins(self) -> datetime:
        """When it began to be true: as said, else when it happened, else when we learned it."""
        return self.valid_from or self.occurred_at or self.created_at

    @property
    def spoken(self) -> str:
        """The text as it is searched: with the name of who said it, as a transcript has it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    def strength(self, now: times.Moment, policy: Policy | None = None) -> float:
        """What time has left of its importance: by its tier, since it was last reinforced."""
        since = times.to_micros(self.reinforced_at or self.created_at)
        at = times.parse(now, field="now")
        return (policy or _POLICY).strength(self.importance, self.tier, since, at)

    def true_at(self, moment: datetime) -> bool:
        """Whether it was true in the world at a moment, as far as we know."""
        return self.begins <= moment and (self.valid_to is None or moment < self.valid_to)

    def to_dict(self) -> JsonObject:
        """The JSON form used by export, REST and the command line."""
        out: JsonObject = {}
        for name in _JSON_FIELDS:
            value = getattr(self, name)
            if isinstance(value, datetime):
                value = times.iso(value)
            elif isinstance(value, tuple):
                value = list(value)
            out[name] = value
        out["user"], out["space"] = self.user, self.space
        return out


_POLICY = Policy()
_REPR_CHARS = 80
#: What most fields hold, which `repr` leaves out.
_USUAL = {
    field.name: {} if field.default is MISSING else field.default
    for field in fields(MemoryRecord)
    if field.name not in ("id", "text", "place", "created_at", "updated_at", "reinforced_at")
}
#: The fields of a record in the order in which `pack` lists them. Reads change nothing in here.
PACKED = tuple(f.name for f in fields(MemoryRecord) if f.name not in ("place", "access_count"))
_JSON_FIELDS = (*PACKED, "access_count")
_MOMENTS = tuple(
    PACKED.index(name)
    for name in (
        "created_at",
        "updated_at",
        "stage_changed_at",
        "occurred_at",
        "valid_from",
        "valid_to",
        "expires_at",
        "reinforced_at",
    )
)
_TAGS, _METADATA = PACKED.index("tags"), PACKED.index("metadata")
_values_of = attrgetter(*PACKED)
Packed = tuple[str | int | float | None, ...]


def pack(record: MemoryRecord) -> Packed:
    """The record but its place and read counter as plain values: what stores keep and digest."""
    values = list(_values_of(record))
    for index in _MOMENTS:
        moment = values[index]
        if moment is not None:
            values[index] = times.to_micros(moment)
    values[_TAGS] = compact(values[_TAGS]) if values[_TAGS] else "[]"
    values[_METADATA] = compact(values[_METADATA]) if values[_METADATA] else "{}"
    return tuple(values)


def unpack(packed: Sequence[Any], place: Place, access_count: int = 0) -> MemoryRecord:
    """The record that `pack` listed."""
    values = list(packed)
    for index in _MOMENTS:
        moment = values[index]
        if moment is not None:
            values[index] = times.show(moment)
    tags, metadata = values[_TAGS], values[_METADATA]
    values[_TAGS] = () if tags == "[]" else tuple(json.loads(tags))
    values[_METADATA] = {} if metadata == "{}" else json.loads(metadata)
    record = dict(zip(PACKED, values, strict=True))
    return MemoryRecord(place=place, access_count=access_count, **record)


def compact(data: Any) -> str:
    """JSON without spaces, in the order given."""
    return _encode(data)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Treated:
    """What the content policy did to a text: to which class of content, and how often."""

    what: str
    action: str
    count: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `remember` did: the memory, and how it got there."""

    memory: MemoryRecord
    #: stored; replayed when the key was seen before; similar when a memory that says the same was
    #: strengthened instead; echo when it was recalled from here a moment ago, and nothing was done
    outcome: str = "stored"
    durability: str = "full"  #: full: on disk; relaxed: would not survive a power cut yet
    pending_embedding: bool = False  #: True when the vector will follow later
    superseded: tuple[str, ...] = ()  #: ids of memories that are no longer true because of it
    disputed: tuple[str, ...] = ()  #: ids of memories that it contradicts; listed for review
    treated: tuple[Treated, ...] = ()  #: what the content policy took out of the text

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def text(self) -> str:
        """The memory's text."""
        return self.memory.text

    @property
    def similar(self) -> MemoryRecord | None:
        """The memory that said the same already, if there was one."""
        return self.memory if self.outcome == "similar" else None


@dataclass(frozen=True, slots=True)
class Review:
    """A memory that waits for a decision: why, and the memories that it contradicts."""

    memory: MemoryRecord
    why: str  #: quarantined or disputed
    others: tuple[MemoryRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """One item of a batch that was not stored, and why."""

    index: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch did, item by item and in order."""

    results: tuple[Remembered | Failed, ...]

    @property
    def stored(self) -> tuple[Remembered, ...]:
        """The items that were stored."""
        return tuple(r for r in self.results if isinstance(r, Remembered))

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The items that were not."""
        return tuple(r for r in self.results if isinstance(r, Failed))

    def __iter__(self) -> Iterator[Remembered | Failed]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `cursor` fetches the next, None when this was the last."""

    items: tuple[T, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, weighted, directed relation between two memories."""

    source: str
    target: str
    kind: str
    strength: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Related:
    """A memory reached over links: the last link taken and how many steps away it is."""

    memory: MemoryRecord
    link: Link
    depth: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A memory and what hangs below it."""

    memory: MemoryRecord
    children: tuple["Tree", ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A named set of memories. `number` is a short id for people and old clients."""

    id: str
    number: int
    name: str
    description: str | None
    size: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A conversation: where its messages lie and until when it is open."""

    id: str
    place: Place
    kind: str
    metadata: JsonObject
    started_at: datetime
    expires_at: datetime | None
    messages: int


@dataclass(frozen=True, slots=True)
class Profile:
    """One category of a person's profile: keyed JSON, and the version it is at."""

    category: str
    data: JsonObject
    version: int
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Event:
    """One change: who did what to which thing, when and why, with digests of before and after."""

    id: str
    sequence: int
    at: datetime
    action: str
    subject: str
    version: int | None
    actor: str | None
    reason: str | None
    detail: JsonObject  #: what is needed to read or undo it: fields, or both ends of a link
    before_digest: str | None
    after_digest: str | None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a memory that were changed."""
        return tuple(self.detail.get("fields", ()))


@dataclass(frozen=True, slots=True)
class Change:
    """An event together with the states that it led from and to; erased content is None."""

    event: Event
    before: MemoryRecord | None
    after: MemoryRecord | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an erasure: what was removed, and that no copy is left in the store's files."""

    id: str
    at: datetime
    erased: Mapping[str, int]  #: rows by table
    derived: int  #: of these, memories that were derived from erased ones
    complete: bool  #: True when the write-ahead log and freed pages were wiped too
    tombstones: int  #: hashes of ids and names that keep later imports from bringing it back


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `verify` found wrong, and what to do about it."""

    subject: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` read and what it found."""

    checked: Mapping[str, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True when nothing was found wrong."""
        return not self.findings
