"""Cursors: where a listing left off, as a text that only the same listing understands."""

import base64
import json
from typing import Any

from recollect.domain.errors import InvalidCursor, shown
from recollect.domain.limits import INTEGER_MAX
from recollect.domain.queries import Scan

CURSOR_CHARS_MAX = 512


def write(scan: Scan, value: float | None, row: int) -> str:
    """The cursor behind a row: its sort value, and its number in order of writing."""
    line = json.dumps([scan.sort, scan.descending, value, row])
    return base64.urlsafe_b64encode(line.encode()).decode().rstrip("=")


def read(scan: Scan) -> tuple[float | None, int] | None:
    """The sort value and the row that the scan's cursor names; None without a cursor."""
    if scan.cursor is None:
        return None
    sort, descending, value, row = _parsed(scan.cursor)
    if (sort, descending) != (scan.sort, scan.descending) or not _well_formed(value, row):
        raise InvalidCursor(
            "the cursor belongs to a listing with another order; start again", field="cursor"
        )
    return value, row


def _parsed(cursor: object) -> list[Any]:
    if isinstance(cursor, str) and len(cursor) <= CURSOR_CHARS_MAX:
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            line: Any = json.loads(base64.urlsafe_b64decode(padded.encode()))
        except ValueError:
            line = None
        if isinstance(line, list) and len(line) == 4:  # pyright: ignore[reportUnknownArgumentType]
            return line  # pyright: ignore[reportUnknownVariableType]
    raise InvalidCursor(f"not a cursor of this listing: {shown(cursor)}", field="cursor")


def _well_formed(value: object, row: object) -> bool:
    """NaN is not within any bounds either."""
    numbers = (row,) if value is None else (row, value)
    return isinstance(row, int) and all(
        isinstance(one, int | float)
        and not isinstance(one, bool)
        and -INTEGER_MAX <= one <= INTEGER_MAX
        for one in numbers
    )
