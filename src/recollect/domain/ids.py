"""Identifiers: a prefix that says what it is, then 128 bits that sort by time.

The first 48 bits are milliseconds, the rest is a counter over random bits, so that ids made by
one source rise strictly even within a millisecond and cannot be guessed.
"""

import re

from recollect.domain.errors import ValidationError, shown

MEMORY, EVENT, GROUP, SESSION, RECEIPT = "mem", "evt", "grp", "ses", "rcp"
_RANDOM_BITS = 80
_SHAPE = re.compile(r"(?:mem|evt|grp|ses|rcp)_[0-9a-f]{32}\Z")


def compose(milliseconds: int, low: int) -> int:
    """One 128-bit number from a time and 80 further bits."""
    return (milliseconds << _RANDOM_BITS) | (low & ((1 << _RANDOM_BITS) - 1))


def render(prefix: str, number: int) -> str:
    """The text form: `mem_` and 32 hexadecimal digits."""
    return f"{prefix}_{number:032x}"


def require(value: object, prefix: str, *, field: str) -> str:
    """The id inside `value` (an id, or anything with an `.id`), checked for its shape."""
    candidate = value if isinstance(value, str) else getattr(value, "id", None)
    if (
        not isinstance(candidate, str)
        or not candidate.startswith(prefix + "_")
        or not _SHAPE.match(candidate)
    ):
        raise ValidationError(f"{field} is not a {prefix}_… id: {shown(value)}", field=field)
    return candidate
