"""What a recall answers: hits and near misses, each with why; and why a memory is not a hit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.domain.records import MemoryRecord
from recollect.domain.requests import Question
from recollect.domain.scopes import PlaceKind


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory has its score. The shares add up to it."""

    shares: Mapping[str, float]
    words: tuple[str, ...] = ()  #: terms of the question that the memory holds
    cut: str | None = None  #: for a near miss: what kept it out
    dates: tuple[str, ...] = ()  #: times that the question names and that the memory lies in
    sources: tuple[str, ...] = ()  #: ids of the memories that it was derived from


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that answers, how well, and why."""

    memory: MemoryRecord
    score: float
    why: Why
    note: str | None = None  #: what has to be said along: until when it was true, and what is now

    @property
    def text(self) -> str:
        """The memory's text."""
        return self.memory.text

    @property
    def rendered(self) -> str:
        """The text as a reader should see it: what is no longer true says so."""
        return self.text if self.note is None else f"{self.text} ({self.note})"

    @property
    def shared(self) -> bool:
        """True for what the app shares with everybody, rather than one's own."""
        return self.memory.place.kind is PlaceKind.SHARED

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Recall:
    """The hits of one question, best first, and what came close."""

    question: str
    hits: tuple[Hit, ...]
    near_misses: tuple[Hit, ...] = ()
    searched: int = 0  #: how many memories the view showed
    lanes: tuple[str, ...] = ("words",)  #: what took part: words, meaning
    degraded: tuple[str, ...] = field(default=())  #: what could not take part
    cues: tuple[str, ...] = ()  #: what the form of the question asks for: when, order, told_me, …
    dates: tuple[str, ...] = ()  #: times that the question names, and which days they are
    as_of: datetime | None = None  #: the moment whose state answers, if the question names one
    asked: Question | None = field(default=None, repr=False, compare=False)

    @property
    def top(self) -> Hit | None:
        """The best hit; None when nothing answers."""
        return self.hits[0] if self.hits else None

    @property
    def asks_for_order(self) -> bool:
        """Whether the question is about what came first and what next."""
        return "order" in self.cues

    def timeline(self) -> tuple[Hit, ...]:
        """The hits in the order in which they happened, the earliest first.

        >>> [hit.text for hit in recall.timeline()]
        """
        return tuple(sorted(self.hits, key=lambda hit: (hit.memory.begins, hit.id)))

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


class Obstacle(StrEnum):
    """What keeps a memory from being a hit."""

    UNKNOWN = "unknown"  #: this scope sees no memory with the id
    ERASED = "erased"
    FILTERED = "filtered"
    OTHER_SESSION = "other_session"
    OTHER_AGENT = "other_agent"
    STATUS = "status"  #: superseded, archived or quarantined
    ENDED = "ended"
    EXPIRED = "expired"
    NOT_YET = "not_yet"  #: at the moment that is asked about it was not true, or not known
    NO_MATCH = "no_match"  #: it shares no word, and its meaning is not among the nearest
    THRESHOLD = "threshold"  #: it matches, but nothing about it stands out
    BUDGET = "budget"  #: it stands behind the last hit


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps a memory out, in a word and in a sentence."""

    obstacle: Obstacle
    said: str


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a memory is not among the hits of a question, or as what it is."""

    question: str
    id: str
    reasons: tuple[Reason, ...]  #: everything that keeps it out; none when it is a hit
    rank: int | None = None  #: its place among all that match, from 1
    hit: Hit | None = None  #: its score and its shares, as far as it has any
    needed: float | None = None  #: the score of the last hit
    superseded_by: MemoryRecord | None = None  #: what holds now in its place

    @property
    def is_hit(self) -> bool:
        """True when nothing keeps it out."""
        return not self.reasons

    def __str__(self) -> str:
        """All reasons in a sentence each."""
        if self.reasons:
            return " ".join(f"{reason.said}." for reason in self.reasons)
        return f"It is hit number {self.rank}."
