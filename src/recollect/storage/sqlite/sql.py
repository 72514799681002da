"""Named SQL: every statement lives in a `.sql` file, behind a `-- name:` line and a comment.

`{other_name}` inside a statement stands for another one of the same file, above it.
"""

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import apsw

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


def read(filename: str) -> dict[str, str]:
    """The statements of one file by name."""
    parts = _NAME.split((files("recollect.storage.sqlite") / filename).read_text(encoding="utf-8"))
    statements: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = (line for line in body.splitlines() if not line.startswith("--"))
        text = "\n".join(lines).strip().removesuffix(";")
        statements[name] = _PART.sub(lambda found: statements[found[1]], text)
    return statements


SQL = read("statements.sql")

Row = tuple[Any, ...]


def run(connection: apsw.Connection, name: str, *values: Any) -> None:
    """Execute a statement for its effect."""
    connection.execute(SQL[name], values)


def run_many(connection: apsw.Connection, name: str, rows: Sequence[Row]) -> None:
    """Execute a statement for each row of values."""
    connection.executemany(SQL[name], rows)


def stream(connection: apsw.Connection, name: str, *values: Any) -> Iterator[Row]:
    """The rows that a statement answers, one after the other."""
    return connection.execute(SQL[name], values)


def query(connection: apsw.Connection, name: str, *values: Any) -> list[Row]:
    """All rows that a statement answers."""
    return connection.execute(SQL[name], values).fetchall()


def first(connection: apsw.Connection, name: str, *values: Any) -> Row | None:
    """The first row that a statement answers."""
    return connection.execute(SQL[name], values).fetchone()


def scalar(connection: apsw.Connection, name: str, *values: Any) -> Any:
    """The first value that a statement answers; None when it answers nothing."""
    row = connection.execute(SQL[name], values).fetchone()
    return None if row is None else row[0]
