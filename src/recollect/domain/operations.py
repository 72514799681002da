"""Operations as values: what a store does in one transaction, and what it answers.

The engine decides and builds operations; a store executes a sequence of them atomically. Batching,
auditing and replay come from this one seam. Every operation that changes something carries a
`Stamp`, from which the store writes one event per changed thing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Charge, Period
from recollect.domain.filters import Filter
from recollect.domain.records import JsonObject, MemoryRecord
from recollect.domain.scopes import Place


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who changes something, when and why. Rows with one event id are undone together."""

    event: str
    at: int
    action: str
    salt: bytes
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What the indexes hold of one text: its terms in order, as packed 64-bit numbers, and
    perhaps its vectors in a named embedding space.

    A text has one vector per passage, one after another, as little-endian float32 of unit length.
    """

    terms: bytes
    vector: bytes | None = None
    space: str | None = None
    passages: int = 1
    marks: tuple[int, ...] = ()  #: numbers by which a write finds it; see `domain.sameness`

    @property
    def dimensions(self) -> int:
        """How many numbers each of the vectors has."""
        return 0 if self.vector is None else len(self.vector) // 4 // self.passages


@dataclass(frozen=True, slots=True)
class Once:
    """What makes a write safe to retry: a key, and a digest of what was asked under it."""

    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Remember:
    """Store a new memory. Answers with the record: the earlier one when `once` was seen before.

    With `strengthen` a memory of the place that says the same (`domain.sameness`) is strengthened
    instead: its importance is multiplied by that, up to 1.0. The answer is then `Repeated`.
    """

    stamp: Stamp
    record: MemoryRecord
    entry: Entry
    once: Once | None = None
    strengthen: float | None = None


@dataclass(frozen=True, slots=True)
class Repeated:
    """The answer to a write that said what was known: the memory that was strengthened."""

    record: MemoryRecord


@dataclass(frozen=True, slots=True)
class Alter:
    """Change fields of a memory that lies in one of `places`. Answers with the new record.

    `expect` names values that must hold now (`version`, `status`); otherwise VersionMismatch or
    ConflictError. `entry` comes with a new text. What changes nothing leaves no trace.
    """

    stamp: Stamp
    id: str
    places: tuple[Place, ...]
    changes: Mapping[str, Any]
    expect: Mapping[str, Any] = field(default_factory=dict[str, Any])
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Reinforce:
    """Multiply the importance of a memory as it is now, and let it fade anew from the stamp on.

    Answers with the new record.
    """

    stamp: Stamp
    id: str
    places: tuple[Place, ...]
    factor: float


@dataclass(frozen=True, slots=True)
class SetLink:
    """Link two memories, or unlink them with `strength=None`. Idempotent. Answers True if new."""

    stamp: Stamp
    source: str
    target: str
    kind: str
    strength: float | None
    places: tuple[Place, ...]
    home: Place | None = None  #: where the source has to lie; None for any of the places


@dataclass(frozen=True, slots=True)
class SetGroup:
    """Make sure that a group exists in a place. Answers with the Group."""

    stamp: Stamp
    place: Place
    id: str
    name: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class SetMember:
    """Put a memory into a group or take it out. Answers True if that changed anything."""

    stamp: Stamp
    place: Place
    group: str
    memory: str
    present: bool


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Make sure that a session exists. Answers with the SessionRecord."""

    stamp: Stamp
    place: Place
    id: str
    kind: str
    metadata: JsonObject
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class WriteProfile:
    """Change one category of a profile. Answers with the Profile.

    merge: see `domain.merging`; replace: the data as given; remove: the key at `path`;
    clear: nothing left.
    """

    stamp: Stamp
    place: Place
    category: str
    mode: Literal["merge", "replace", "remove", "clear"]
    data: JsonObject = field(default_factory=dict[str, Any])
    path: tuple[str, ...] = ()
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Erase:
    """Erase memories with everything that hangs on them: by id, by filter, or a whole place.

    Answers with the rows erased by table. `cascade` takes children along, otherwise they move up
    to the erased one's parent. What was derived from an erased memory is erased too.
    """

    stamp: Stamp
    places: tuple[Place, ...]
    ids: tuple[str, ...] | None = None
    where: Filter | None = None
    everything: bool = False
    cascade: bool = True


@dataclass(frozen=True, slots=True)
class Rehome:
    """Move all rows of one place to another and unite their profiles. Answers with row counts."""

    stamp: Stamp
    origin: Place
    destination: Place


@dataclass(frozen=True, slots=True)
class Touch:
    """Count reads. Buffered by the engine and flushed in batches; leaves no event.

    With a `stamp` what was read is reinforced by `factor` as well, once however often it was read,
    and that is an event.
    """

    counts: Mapping[str, int]
    at: int
    stamp: Stamp | None = None
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Queue a job in the same transaction. Answers with its number.

    None for a memory that is not there, since its write repeated an earlier one, and for a
    `unique` job when another of the same kind, place and memory waits already. A job that is to
    run `alone` is not claimed while another of its kind and place runs. Without a place it is
    about the whole store.
    """

    at: int
    kind: str
    payload: JsonObject
    place: Place | None
    memory: str | None = None
    run_at: int | None = None
    priority: int = 0  #: the highest of those that are due is claimed first
    alone: bool = False
    unique: bool = False


@dataclass(frozen=True, slots=True)
class RenewJob:
    """Hold a claimed job until a later moment. LeaseLost when somebody else has it by now."""

    number: int
    attempt: int
    until: int


@dataclass(frozen=True, slots=True)
class FinishJob:
    """Take a job that is done off the queue. LeaseLost when somebody else has it by now: what
    comes with it in the transaction is then undone too, so that it has its effects once.
    """

    number: int
    attempt: int
    at: int


@dataclass(frozen=True, slots=True)
class RetryJob:
    """Let go of a job that failed, to be tried again at `run_at`; without a reason it did not
    fail but was only given back, and the try does not count. LeaseLost as for `FinishJob`.
    """

    number: int
    attempt: int
    at: int
    run_at: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BuryJob:
    """Give a job up: it stays, dead, with the reason. LeaseLost as for `FinishJob`."""

    number: int
    attempt: int
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReviveJob:
    """Try a dead job again from now on. NotFound if there is no dead job of this number."""

    number: int
    at: int


@dataclass(frozen=True, slots=True)
class PutEmbedding:
    """Add vectors to a memory. Answers False if the memory changed since it was read, or raises
    VersionMismatch if it `must` fit, so that nothing else of the transaction happens either.
    """

    id: str
    version: int
    entry: Entry
    must: bool = False


@dataclass(frozen=True, slots=True)
class SetModelClient:
    """Store a model client under its label, or change it. Answers with it."""

    stamp: Stamp
    tenant: str
    client: ModelClient


@dataclass(frozen=True, slots=True)
class RemoveModelClient:
    """Remove a model client. ConflictError while an agent thinks with it; one that remembers
    with it is let go only with `release`: it then remembers with another.
    """

    stamp: Stamp
    tenant: str
    label: str
    release: bool = False


@dataclass(frozen=True, slots=True)
class SetAgent:
    """Store an agent under its label, or change it. NotFound for a client that does not exist."""

    stamp: Stamp
    tenant: str
    app: str
    agent: AgentRecord


@dataclass(frozen=True, slots=True)
class RemoveAgent:
    """Remove an agent; its memories stay."""

    stamp: Stamp
    tenant: str
    app: str
    label: str


@dataclass(frozen=True, slots=True)
class BookCharge:
    """Write down what a call of a model took. Leaves no event: the ledger is a record itself."""

    charge: Charge


@dataclass(frozen=True, slots=True)
class SetBudget:
    """Set what may be spent by a user (a place), an agent or, with neither, a tenant; None for
    the money takes the budget away. Leaves no event.
    """

    tenant: str
    place: Place | None
    agent: str | None
    period: Period
    money: int | None


Operation = (
    Remember
    | Alter
    | Reinforce
    | SetLink
    | SetGroup
    | SetMember
    | OpenSession
    | WriteProfile
    | Erase
    | Rehome
    | Touch
    | Enqueue
    | RenewJob
    | FinishJob
    | RetryJob
    | BuryJob
    | ReviveJob
    | PutEmbedding
    | SetModelClient
    | RemoveModelClient
    | SetAgent
    | RemoveAgent
    | BookCharge
    | SetBudget
)
