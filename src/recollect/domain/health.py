"""How a memory does: the state of each of its parts, and the errors that it met."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.domain.errors import (
    BudgetExceeded,
    InternalError,
    ProviderError,
    RecollectError,
    SchemaError,
    StorageCorrupt,
    StorageError,
)

Fact = str | int | float | bool | None


class State(StrEnum):
    """How well a part does; the whole does as well as its worst part."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"  #: everything works, some of it less well
    FAILING = "failing"  #: something does not work


class Severity(StrEnum):
    """How grave an error is."""

    INFO = "info"  #: whoever asked was told, and it is theirs to mend
    WARNING = "warning"  #: it goes on without
    ERROR = "error"  #: something was not done
    CRITICAL = "critical"  #: somebody has to look at it


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """One error, told once, without anything that a memory says."""

    timestamp: datetime
    component: str  #: store, embedder, model, jobs or engine
    type: str  #: the class of the error
    message: str
    severity: str
    agent: str | None = None  #: whose call it was, if an agent's


@dataclass(frozen=True, slots=True)
class Part:
    """How one part does, what is known of it, and what to do if it does not do well."""

    name: str
    state: str
    facts: Mapping[str, Fact]
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """How a memory does, part by part, and the latest errors that it dealt with itself."""

    state: str
    parts: tuple[Part, ...]
    errors: tuple[ErrorEvent, ...] = ()

    def part(self, name: str) -> Part:
        """A part by its name."""
        return next(part for part in self.parts if part.name == name)


def worst(states: list[State]) -> State:
    """The state of a whole."""
    return max(states, key=list(State).index)


def component_of(error: BaseException) -> str:
    """Where an error comes from, by its class."""
    if isinstance(error, StorageError):
        return "store"
    return "model" if isinstance(error, ProviderError | BudgetExceeded) else "engine"


def severity_of(error: BaseException) -> Severity:
    """How grave an error is, by its class."""
    if not isinstance(error, RecollectError):
        return Severity.CRITICAL
    if isinstance(error, StorageCorrupt | SchemaError | InternalError):
        return Severity.CRITICAL
    if isinstance(error, StorageError):
        return Severity.ERROR
    return Severity.WARNING if component_of(error) == "model" else Severity.INFO


def message_of(error: BaseException) -> str:
    """What a class of errors means. The error's own words may quote what was asked or stored."""
    if isinstance(error, RecollectError):
        return " ".join((type(error).__doc__ or error.code).split())
    return "This should not happen: please report it."
