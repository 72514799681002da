"""Questions to a store, as values."""

from collections.abc import Callable
from dataclasses import dataclass

from recollect.domain.filters import Filter
from recollect.domain.scopes import Place

#: What a listing may be sorted by. `created_at` is the order of writing.
SORTS = (
    "created_at",
    "updated_at",
    "occurred_at",
    "importance",
    "priority",
    "position",
    "access_count",
)


@dataclass(frozen=True, slots=True)
class View:
    """Which memories a reader sees: places, perhaps one session, perhaps one agent, at a time.

    Without `as_of` it is the present: what is active, not over and not expired at `now`.
    With `as_of` it is how things stood then: what was true at that moment, in the words it had
    then; what was learned later about that time, endings included, counts as well. With
    `known_at` nothing counts that was learned after that moment, and the words are of then.
    `statuses` of None means whatever the default is: active ones.
    """

    places: tuple[Place, ...]
    now: int
    session: str | None = None
    agent: str | None = None
    as_of: int | None = None
    known_at: int | None = None
    statuses: tuple[str, ...] | None = None
    where: Filter | None = None

    @property
    def in_the_past(self) -> bool:
        """Whether earlier versions have to be consulted."""
        return self.as_of is not None or self.known_at is not None

    def had_ended(self, valid_to: int | None) -> bool:
        """Whether a memory that ends then, as we learned later, was over at `as_of` already."""
        if self.as_of is None or self.known_at is not None:
            return False
        return valid_to is not None and valid_to <= self.as_of


@dataclass(frozen=True, slots=True)
class Scan:
    """A listing in order, a page at a time."""

    view: View
    limit: int
    sort: str = "created_at"
    descending: bool = True
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: term numbers, and perhaps a vector in a space; the `breadth` nearest
    vectors join the memories that hold any of the terms, and so do all of the kinds in `always`,
    and of those that happened in any of the times of `during` the `breadth` latest.
    """

    view: View
    terms: tuple[int, ...]
    vector: bytes | None = None
    space: str | None = None
    breadth: int = 200
    always: tuple[str, ...] = ()
    during: tuple[tuple[int, int], ...] = ()  #: each from its first moment on, before its last
    analyse: Callable[[str], bytes] | None = None  #: packed terms of a text, for earlier versions


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events to read: of one subject, with one id, or all of some places, newest last."""

    places: tuple[Place, ...]
    subject: str | None = None
    event: str | None = None
    after: int = 0
    limit: int = 10_000
