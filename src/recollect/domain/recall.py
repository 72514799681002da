"""What a recall answers: hits, near misses, and for each why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recollect.domain.records import MemoryRecord
from recollect.domain.scopes import PlaceKind


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory has its score. The shares add up to it."""

    shares: Mapping[str, float]
    words: tuple[str, ...] = ()  #: terms of the question that the memory holds
    cut: str | None = None  #: for a near miss: what kept it out


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that answers, how well, and why."""

    memory: MemoryRecord
    score: float
    why: Why

    @property
    def text(self) -> str:
        """The memory's text."""
        return self.memory.text

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

    @property
    def top(self) -> Hit | None:
        """The best hit; None when nothing answers."""
        return self.hits[0] if self.hits else None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
