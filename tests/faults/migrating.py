"""A schema step of the future, and processes that carry it out together or are killed in it.

`python -m tests.faults.migrating kill FOLDER FIXTURE COUNT` and
`python -m tests.faults.migrating open FOLDER FIXTURE ROUNDS` print JSON. Without a fixture the
processes open a file that does not exist yet.
"""

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

import recollect
from recollect.storage.sqlite import upkeep
from recollect.storage.sqlite.store import SqliteStore
from tests.faults.vfs import Disk

OPENERS = 16
NEXT = upkeep.migrations()[-1][0] + 1
#: Every sort of change: a new column, new rows, rows changed, an index, and a mark of having run.
STEP = """
CREATE TABLE moods (memory INTEGER PRIMARY KEY, mood TEXT NOT NULL) STRICT;
INSERT INTO moods SELECT row, 'calm' FROM memories;
ALTER TABLE memories ADD COLUMN mood TEXT;
UPDATE memories SET mood = 'calm';
CREATE INDEX memories_mood ON memories (mood);
CREATE TABLE applied (times INTEGER NOT NULL) STRICT;
INSERT INTO applied VALUES (1);
"""
_released = upkeep.migrations


def with_next() -> list[tuple[int, str]]:
    """The schema steps of a version to come."""
    return [*_released(), (NEXT, STEP)]


def stage(path: Path) -> tuple[int, list[str]]:
    """The schema number of a file, and what is wrong if it is between two of them."""
    connection = apsw.Connection(str(path))
    try:
        version = connection.pragma("user_version")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        if version == 0:
            return 0, [f"there is already {name}" for name in tables]
        columns = {row[1] for row in connection.execute("PRAGMA table_info(memories)")}
        done = {*({"moods", "memories_mood", "applied"} & tables), *({"mood"} & columns)}
        if version < NEXT:
            return version, [f"schema {version} has {name} already" for name in sorted(done)]
        wrong = [] if len(done) == 4 else [f"schema {version} has only {sorted(done)}"]
        times = connection.execute("SELECT count(*) FROM applied").get
        calm = connection.execute("SELECT count(*) FROM moods").get
        if times != 1:
            wrong.append(f"the step ran {times} times")
        if calm != connection.execute("SELECT count(*) FROM memories WHERE mood = 'calm'").get:
            wrong.append(f"{calm} moods, but other memories are calm")
        return version, wrong
    finally:
        connection.close()


class Killing(Disk):
    """A disk at whose N-th call the process is gone."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.number = number

    def call(self, kind: str) -> None:
        super().call(kind)
        if kind != "read" and self.changes == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Callable[[], None]) -> int:
    """Start a process that does some work; its exit status is 0 if that went well."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as exc:
            os.write(2, f"{type(exc).__name__}: {exc}\n".encode())
            os._exit(1)
        os._exit(0)
    return child


def calls_of_opening(path: Path) -> int:
    """How many calls to the disk it takes to open a file and change its schema."""
    disk = Disk("counting")
    recollect.open(store=SqliteStore(str(path), vfs=disk.name)).close()
    disk.unregister()
    return disk.changes


def kill(folder: Path, fixture: Path, count: int) -> dict[str, Any]:
    """Kill that many processes while they change the schema; the stages that they left."""
    shutil.copy(fixture, folder / "counted.db")
    calls = calls_of_opening(folder / "counted.db")
    rng, left, wrong = random.Random(15), [], []
    for number in range(count):
        path = folder / f"killed-{number}.db"
        shutil.copy(fixture, path)
        at = 1 + number * calls // count + rng.randrange(max(1, calls // count))

        def opening(path: Path = path, at: int = at) -> None:
            disk = Killing("killing", at)
            recollect.open(store=SqliteStore(str(path), vfs=disk.name)).close()

        _, status = os.waitpid(forked(opening), 0)
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            wrong.append(f"{number} was not killed at call {at} of {calls}: {status}")
        version, found = stage(path)
        left.append(version)
        wrong += [f"{number}, killed at call {at}: {one}" for one in found]
    return {"calls": calls, "left": left, "wrong": wrong}


def open_together(folder: Path, fixture: Path | None, rounds: int) -> dict[str, Any]:
    """In each round let all open one file at once and write to it."""
    failed, wrong = 0, []
    for number in range(rounds):
        path = folder / f"opened-{number}.db"
        if fixture is not None:
            shutil.copy(fixture, path)
        reading, writing = os.pipe()

        def opening(path: Path = path, reading: int = reading, writing: int = writing) -> None:
            os.close(writing)
            os.read(reading, 1)  # until all have been started
            with recollect.open(str(path)) as memory:
                memory.remember(f"written by {os.getpid()}")

        children = [forked(opening) for _ in range(OPENERS)]
        os.close(reading)
        os.close(writing)
        failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
        version, found = stage_of_new(path) if fixture is None else stage(path)
        wrong += found if version == NEXT else [f"round {number} ended at schema {version}"]
        wrong += missing(path, OPENERS)
    return {"failed": failed, "wrong": wrong, "rounds": rounds}


def stage_of_new(path: Path) -> tuple[int, list[str]]:
    """The same for a file that had no memories when the step ran."""
    version, wrong = stage(path)
    return version, [one for one in wrong if "calm" not in one]


def missing(path: Path, count: int) -> list[str]:
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT count(*) FROM memories WHERE text LIKE 'written by %'").get
    connection.close()
    return [] if found == count else [f"{found} of {count} processes' memories are there"]


def main(what: str, folder: Path, fixture: Path | None, count: int) -> dict[str, Any]:
    upkeep.migrations = with_next
    # Whatever is loaded lazily is loaded now, once, and not by every process.
    with recollect.open(str(folder / "warm.db")) as memory:
        memory.remember("warm")
    if what == "open":
        return open_together(folder, fixture, count)
    assert fixture is not None
    return kill(folder, fixture, count)


if __name__ == "__main__":
    _, what, folder, fixture, count = sys.argv
    told = main(what, Path(folder), Path(fixture) if fixture else None, int(count))
    print(json.dumps(told))
