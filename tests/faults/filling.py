"""A program that fills its disk: `python -m tests.faults.filling FILE LIMIT`, prints JSON.

With a LIMIT in bytes the system refuses longer files to this process (RLIMIT_FSIZE), and later
allows them; with LIMIT 0 the folder is a small disk with a file `ballast` on it, and later that
is deleted.
"""

import json
import resource
import sys
from pathlib import Path
from typing import Any

import recollect
from recollect.domain.errors import StorageError

TRIES = 200
TEXT = "a note of a thousand characters " * 32


def main(path: Path, limit: int) -> dict[str, Any]:
    """Write until it is refused, read, make room, write again."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    stored: list[str] = []
    errors: list[str] = []
    with recollect.open(str(path)) as memory:
        while len(errors) < 10 and len(stored) < TRIES:
            try:
                stored.append(memory.remember(f"{len(stored)} {TEXT}").id)
            except StorageError as error:
                errors.append(type(error).__name__)
        try:
            memory.backup(str(path.with_name("copy.db")))
        except StorageError as error:
            errors.append(f"backup: {type(error).__name__}")
        read = len(memory.get_many(stored))
        found = len(memory.recall("note", limit=5).hits)
        if limit:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
        else:
            path.with_name("ballast").unlink()
        stored.append(memory.remember("there is room again").id)
        left = sorted(entry.name for entry in path.parent.iterdir())
    return {"stored": stored, "errors": errors, "read": read, "found": found, "left": left}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
