"""Limits on everything that comes from outside, in one table. Errors name the constant."""

from recollect.domain.errors import PayloadTooLarge, ValidationError, shown

TEXT_BYTES_MAX = 1024 * 1024  #: UTF-8 bytes of one memory's text
METADATA_BYTES_MAX = 64 * 1024  #: bytes of one memory's metadata, as JSON
PROFILE_BYTES_MAX = 64 * 1024  #: bytes of one profile category, as JSON
BATCH_ITEMS_MAX = 1000  #: items of one batch
RECALL_LIMIT_MAX = 1000  #: hits of one recall
LIST_LIMIT_MAX = 1000  #: rows of one page
NAME_CHARS_MAX = 256  #: characters of a user, agent, session, kind, tag, group or category name
TAGS_MAX = 64  #: tags of one memory
KEY_CHARS_MAX = 100  #: characters of an item's key
IDEMPOTENCY_KEY_CHARS_MAX = 256  #: characters of the key that makes a write safe to retry
FILTER_DEPTH_MAX = 5  #: nested levels of a filter
FILTER_NODES_MAX = 50  #: conditions of a filter
FILTER_VALUES_MAX = 1000  #: values that the lists of a filter may name
LINK_DEPTH_MAX = 5  #: steps from a memory to a related one
TREE_DEPTH_MAX = 32  #: levels of children under one memory
QUESTION_CHARS_MAX = 10_000  #: characters of a question
CONTEXT_TOKENS_MAX = 10_000_000  #: tokens that a context may be given
DIMENSIONS_MAX = 8192  #: numbers of one vector
JSON_DEPTH_MAX = 32  #: nested levels of metadata or profile data
YEAR_MIN = 1  #: first year of an event time
YEAR_MAX = 9999  #: last year of an event time
INTEGER_MAX = 2**63 - 1  #: largest integer that can be stored
SPACES_MAX = 4095  #: embedding spaces that a store has ever held
IDEMPOTENCY_HOURS = 24  #: hours for which a key is remembered, at least
FORECAST_DAYS_MAX = 3650  #: days that a forecast looks ahead
VERSIONS_READ_MAX = 10_000  #: events of one memory that `history` returns


def at_most(size: int, limit: int, *, name: str, field: str) -> None:
    """Refuse what is larger than its limit, and say which limit it is."""
    if size > limit:
        raise PayloadTooLarge(f"{field} is {size:,}, over {name} = {limit:,}", field=field)


def share(value: object, *, field: str) -> float:
    """A number from 0 to 1; booleans and NaN are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValidationError(
            f"{field} must be a number from 0 to 1, not {shown(value)}", field=field
        )
    return float(value)


def whole(value: object, low: int, high: int, *, field: str) -> int:
    """A whole number within bounds; booleans are not numbers here."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValidationError(f"{field} must be a whole number, not {shown(value)}", field=field)
    if not low <= value <= high:
        raise ValidationError(
            f"{field} must be from {low} to {high}, not {shown(value)}", field=field
        )
    return value
