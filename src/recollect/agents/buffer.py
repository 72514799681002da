"""The buffer: the latest messages of each person, in memory, shared by all agents."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import share, whole

SIZE = 10
MULTIPLIER = 10
RECENCY_WEIGHT = 0.3
SIZE_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the buffer holds it; `id` is that of the memory that keeps it for good."""

    text: str
    role: str = "user"
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None


class BufferMemory:
    """The latest messages of each person: `max_size` are shown, `capacity` are kept for search.

    When it is full the oldest message goes. Of messages that answer a question equally well the
    newer is better, by `recency_weight`.

    >>> buffer = BufferMemory(max_size=15)
    >>> buffer.capacity
    150
    """

    def __init__(
        self,
        max_size: int = SIZE,
        buffer_multiplier: int = MULTIPLIER,
        recency_weight: float = RECENCY_WEIGHT,
    ) -> None:
        self.max_size = whole(max_size, 1, SIZE_MAX, field="max_size")
        multiplier = whole(buffer_multiplier, 1, SIZE_MAX, field="buffer_multiplier")
        self.capacity = self.max_size * multiplier
        self.recency_weight = share(recency_weight, field="recency_weight")
        self._of: dict[str, deque[Said]] = {}

    def add(self, owner: str, said: Said) -> None:
        """Take in a message of a person; the oldest goes if there is no room."""
        self._of.setdefault(owner, deque(maxlen=self.capacity)).append(said)

    def window(self, owner: str, count: int | None = None) -> tuple[Said, ...]:
        """The newest messages of a person, oldest of them first."""
        wanted = self.max_size if count is None else count
        return tuple(self._of.get(owner, ()))[-wanted:] if wanted > 0 else ()

    def all(self, owner: str) -> tuple[Said, ...]:
        """Every message of a person that is kept, oldest first."""
        return tuple(self._of.get(owner, ()))

    def owners(self) -> tuple[str, ...]:
        """The people whose messages are kept."""
        return tuple(self._of)

    def clear(self, owners: Iterable[str], agent: str | None = None) -> int:
        """Drop messages, those of one agent or all; how many went."""
        gone = 0
        for owner in owners:
            kept = self._of.get(owner, deque())
            stays = [one for one in kept if agent is not None and one.agent != agent]
            gone += len(kept) - len(stays)
            self._of[owner] = deque(stays, maxlen=self.capacity)
        return gone

    def fresh(self, score: float, newness: float) -> float:
        """A score that is better the newer a message is: 1.0 is the newest that is kept."""
        return score * (1 - self.recency_weight * (1 - newness))


def buffer_of(given: object) -> BufferMemory | None:
    """A buffer from a size, a mapping of its settings, or itself; None for no buffer."""
    if given is None or isinstance(given, BufferMemory):
        return given
    if isinstance(given, bool) or not isinstance(given, int | Mapping):
        raise ValidationError(
            "buffer_memory is a size, a mapping with window_size and buffer_multiplier, "
            f"a BufferMemory or None, not {shown(given)}",
            field="buffer_memory",
        )
    if isinstance(given, int):
        return BufferMemory(given)
    known = {"window_size": "max_size", "max_size": "max_size"}
    known |= {name: name for name in ("buffer_multiplier", "recency_weight")}
    for name in given:
        if name not in known:
            raise ValidationError(
                f"buffer_memory has no setting {shown(name)}; known: {', '.join(sorted(known))}",
                field="buffer_memory",
            )
    return BufferMemory(**{known[name]: value for name, value in given.items()})
