"""Moments: what counts as a time, and how it is stored.

Inside, a moment is a whole number of microseconds since 1970 in UTC. At the edges it is an
aware `datetime`. A time without a zone is read as UTC; a bare date means its first moment.
"""

from datetime import UTC, date, datetime, timedelta

from recollect.domain.errors import ValidationError, shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
#: The first and the last moment that `datetime` can show in every zone.
FIRST = (datetime(1, 1, 2, tzinfo=UTC) - EPOCH) // MICROSECOND
LAST = (datetime(9999, 12, 30, tzinfo=UTC) - EPOCH) // MICROSECOND

Moment = datetime | date | str


def parse(value: object, *, field: str) -> int:
    """Microseconds of what a caller gave as a time.

    >>> parse("2026-03-04", field="occurred_at")
    1772582400000000
    """
    if isinstance(value, str):
        value = _from_text(value, field)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        micros = (moment - EPOCH) // MICROSECOND
    elif isinstance(value, date):
        micros = (datetime(value.year, value.month, value.day, tzinfo=UTC) - EPOCH) // MICROSECOND
    else:
        raise ValidationError(
            f"{field} must be a datetime, a date or an ISO 8601 text, not {shown(value)}",
            field=field,
        )
    if not FIRST <= micros <= LAST:
        raise ValidationError(f"{field} is outside the years 1 to 9999: {value}", field=field)
    return micros


def show(micros: int) -> datetime:
    """The aware datetime of a stored moment."""
    return EPOCH + timedelta(microseconds=micros)


def show_optional(micros: int | None) -> datetime | None:
    """Like `show`, for a moment that may be missing."""
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def to_micros(moment: datetime) -> int:
    """Microseconds of an aware datetime."""
    return (moment - EPOCH) // MICROSECOND


def to_micros_optional(moment: datetime | None) -> int | None:
    """Like `to_micros`, for a moment that may be missing."""
    return None if moment is None else (moment - EPOCH) // MICROSECOND


def iso(moment: datetime) -> str:
    """The text form used in JSON: UTC, with a Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def day_of(moment: datetime) -> str:
    """A day as a sentence names it, whatever the machine's language: 3 May 2026."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _from_text(text: str, field: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as exc:
        raise ValidationError(
            f"{field} is not an ISO 8601 date or time: {text[:64]!r}", field=field
        ) from exc
