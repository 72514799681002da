"""What callers ask of an engine, near or far, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect.domain.context import Context
from recollect.domain.drafts import Moment


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One thing to remember."""

    text: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    key: str | None = None
    vector: Sequence[float] | None = None
    force: bool = False  #: store it even if it says what is known


@dataclass(frozen=True, slots=True)
class Because:
    """Who changes something and why; kept with the event."""

    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories a reader wants: at a time, with some statuses, fulfilling a filter."""

    where: Mapping[Any, Any] | None = None
    statuses: Sequence[str] | None = None
    as_of: Moment | None = None
    known_at: Moment | None = None
    now: Moment | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a recall."""

    text: str
    limit: int = 10
    selection: Selection = field(default_factory=Selection)
    vector: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Packing:
    """What is asked of a context. None means whatever the rules or the session say."""

    question: str | None = None
    tokens_max: int | None = None
    model: str | None = None
    system: str | None = None
    documents: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: int | None = None
    vector: Sequence[float] | None = None
    after: Context | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What is asked of a listing."""

    limit: int = 50
    sort: str = "created_at"
    descending: bool = True
    cursor: str | None = None
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What to erase: some memories by id, those that fulfil a filter, or everything."""

    ids: Sequence[Any] | None = None
    where: Mapping[Any, Any] | None = None
    everything: bool = False
    cascade: bool = True
