"""Write amplification: what one remembered memory costs in bytes written, syncs and disk space.

A VFS between SQLite and the operating system counts every byte written to the log and to the file,
and every sync. Prints a Markdown table; run it with `python -m bench.amplification`.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

import recollect
from recollect.storage.sqlite.store import SqliteStore

MEMORIES = 2000
BATCH = 500
DIMENSIONS = 384
SEED = 11
WORDS = [f"{a}{b}" for a in ("bak", "mov", "lik", "sail", "teach") for b in ("ed", "ing", "er")]
WORDS += [f"place{number}" for number in range(400)]


class CountedFile(apsw.VFSFile):
    """A file that counts what is written to it."""

    def __init__(self, filename: Any, flags: list[int], counted: Counter[str]) -> None:
        name = filename if isinstance(filename, str) else filename.filename()
        self._kind = "log" if str(name).endswith("-wal") else "file"
        self._counted = counted
        super().__init__("", filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._counted[self._kind] += len(data)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._counted["syncs"] += 1
        super().xSync(flags)


class CountingDisk(apsw.VFS):
    """The default file system, counted."""

    def __init__(self, counted: Counter[str]) -> None:
        self._counted = counted
        super().__init__("counting", "")

    def xOpen(self, name: Any, flags: list[int]) -> CountedFile:
        return CountedFile(name, flags, self._counted)


@contextmanager
def counted_memory() -> Iterator[tuple[recollect.Memory, Counter[str], Path]]:
    """An open memory with nothing in it, and what it has written since."""
    counted: Counter[str] = Counter()
    disk = CountingDisk(counted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        store = SqliteStore(str(path), vfs="counting")
        memory = recollect.open(str(path), store=store)
        counted.clear()
        yield memory, counted, path
    disk.unregister()


def text_of(size: int, chance: random.Random) -> str:
    """A text of that many bytes."""
    text = ""
    while len(text) < size:
        text += chance.choice(WORDS) + " "
    return text[:size]


def measure(size: int, *, vector: bool, batch: int) -> list[str]:
    """One row of the table."""
    chance = random.Random(SEED)
    with counted_memory() as (memory, counted, path):
        for _ in range(MEMORIES // batch):
            items: list[dict[str, Any]] = []
            for _ in range(batch):
                item: dict[str, Any] = {"text": text_of(size, chance)}
                if vector:
                    item["vector"] = [chance.gauss(0, 1) for _ in range(DIMENSIONS)]
                items.append(item)
            memory.remember_many(items)
        log, syncs = counted["log"] / MEMORIES, counted["syncs"] / MEMORIES
        memory.close()
        file, disk = counted["file"] / MEMORIES, path.stat().st_size / MEMORIES
    given = size + (DIMENSIONS * 4 if vector else 0)
    return [
        f"{size:,} B" + (f" + {DIMENSIONS} numbers" if vector else ""),
        "one at a time" if batch == 1 else f"batches of {batch}",
        f"{log:,.0f} B",
        f"{file:,.0f} B",
        f"{(log + file) / given:.1f}",
        f"{syncs:.2f}",
        f"{disk:,.0f} B",
    ]


def main() -> None:
    """Measure every combination."""
    print(
        "| memory | written | to the log | to the file | bytes per byte given | syncs | on disk |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for size in (100, 1024):
        for vector in (False, True):
            for batch in (1, BATCH):
                print(f"| {' | '.join(measure(size, vector=vector, batch=batch))} |", flush=True)


if __name__ == "__main__":
    main()
