"""Scopes and places: who a memory belongs to, and which memories a reader sees.

A `Scope` is what a handle stands for. A `Place` is where rows lie: the rows of one user, the rows
that an app shares, the rows of one space, or the rows of one anonymous session. A memory is
written to exactly one place and read upwards from a scope.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import NAME_CHARS_MAX, at_most

LOCAL_TENANT = "local"
LOCAL_USER = "local"
DEFAULT_APP = "default"


class PlaceKind(StrEnum):
    """What a place holds the rows of."""

    USER = "user"
    SHARED = "shared"
    SPACE = "space"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows lie: `tenant / app / kind / name`."""

    tenant: str
    app: str
    kind: PlaceKind
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """Who a memory belongs to and who is asking."""

    tenant: str = LOCAL_TENANT
    app: str = DEFAULT_APP
    user: str | None = LOCAL_USER
    agent: str | None = None
    session: str | None = None
    space: str | None = None
    shared: bool = True
    only_session: bool = False

    @property
    def home(self) -> Place:
        """The one place that this scope writes to."""
        if self.space is not None:
            return Place(self.tenant, self.app, PlaceKind.SPACE, self.space)
        if self.user is not None:
            return Place(self.tenant, self.app, PlaceKind.USER, self.user)
        if self.session is not None:
            return Place(self.tenant, self.app, PlaceKind.ANONYMOUS, self.session)
        return Place(self.tenant, self.app, PlaceKind.SHARED, "")

    @property
    def places(self) -> tuple[Place, ...]:
        """Every place that this scope reads, its own first."""
        home = self.home
        if home.kind is PlaceKind.USER and self.shared:
            return (home, Place(self.tenant, self.app, PlaceKind.SHARED, ""))
        return (home,)

    def narrowed(self, **changes: object) -> "Scope":
        """The same scope with some parts named; every name is checked."""
        for field, value in changes.items():
            if field in ("shared", "only_session"):
                if not isinstance(value, bool):
                    raise ValidationError(f"{field} must be True or False", field=field)
            elif value is not None or field == "app":
                check_name(value, field=field)
        return replace(self, **changes)  # type: ignore[arg-type]


def check_name(value: object, *, field: str) -> str:
    """A name of a user, agent, session, kind, tag, group or category."""
    if not isinstance(value, str):
        raise ValidationError(f"{field} must be a text, not {shown(value)}", field=field)
    if not value.strip():
        raise ValidationError(f"{field} is empty; leave it out instead", field=field)
    at_most(len(value), NAME_CHARS_MAX, name="NAME_CHARS_MAX", field=field)
    check_characters(value, field=field)
    return value


def check_characters(value: str, *, field: str) -> None:
    """Refuse what cannot be stored as UTF-8 text: NUL and lone surrogates."""
    if "\x00" in value:
        raise ValidationError(f"{field} holds a NUL character", field=field)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            raise ValidationError(
                f"{field} holds a lone surrogate at character {exc.start}", field=field
            ) from exc
