"""Named SQL: every statement lives in a `.sql` file, behind a `-- name:` line and a comment.

`{other_name}` inside a statement stands for another one of the same file, above it.
"""

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


def read(filename: str) -> dict[str, str]:
    """The statements of one file by name."""
    parts = _NAME.split((files(__package__) / filename).read_text(encoding="utf-8"))
    statements: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = (line for line in body.splitlines() if not line.startswith("--"))
        text = "\n".join(lines).strip().removesuffix(";")
        statements[name] = _PART.sub(lambda found: statements[found[1]], text)
    return statements



SQL = read("statements.sql")
