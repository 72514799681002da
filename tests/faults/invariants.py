"""What holds in every file, whatever happened to the program that wrote it."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import apsw

from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite import checking, segments


@cache
def _analyser() -> Analyser:
    return Analyser()


def broken(path: Path | str, *, verify: bool = True) -> list[str]:
    """Everything wrong with a file that nobody has open; an empty list is what one wants."""
    connection = apsw.Connection(str(path))
    try:
        return [*_broken(connection, str(path), verify=verify)]
    finally:
        connection.close()


def _broken(connection: apsw.Connection, path: str, *, verify: bool) -> Iterator[str]:
    if connection.pragma("user_version") == 0:
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
        if tables:
            yield f"{tables} tables of a schema that was never finished"
        return
    for name, sql in ORPHANS.items():
        count = connection.execute(f"SELECT count(*) FROM ({sql})").get
        if count:
            yield f"{count} x {name}"
    yield from _index_faults(connection)
    yield from _history_faults(connection)
    if verify:
        for finding in checking.check(connection, lambda *_: None).findings:
            yield f"verify: {finding}"


#: Each selects rows that must not exist.
ORPHANS = {
    "reference to nothing": "SELECT * FROM pragma_foreign_key_check",
    "vector of no memory": "SELECT 1 FROM vectors WHERE memory NOT IN (SELECT row FROM memories)",
    "counter of no memory": "SELECT 1 FROM accesses WHERE memory NOT IN (SELECT row FROM memories)",
    "key of no memory": "SELECT 1 FROM once WHERE memory NOT IN (SELECT row FROM memories)",
    "member that is no memory": """SELECT 1 FROM members
        WHERE memory NOT IN (SELECT row FROM memories)""",
    "job of no memory": """SELECT 1 FROM jobs WHERE memory IS NOT NULL
        AND memory NOT IN (SELECT row FROM memories)""",
    "job without payload": "SELECT 1 FROM jobs WHERE payload IS NULL OR payload = ''",
    "version of no memory": """SELECT 1 FROM versions WHERE what = 'memory'
        AND about NOT IN (SELECT row FROM memories)""",
    "version of no profile": """SELECT 1 FROM versions WHERE what = 'profile'
        AND about NOT IN (SELECT number FROM profiles)""",
    "link with a loose end": """SELECT 1 FROM links
        WHERE source NOT IN (SELECT id FROM memories) OR target NOT IN (SELECT id FROM memories)""",
    "successor that does not exist": """SELECT 1 FROM memories
        WHERE superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM memories)""",
    "parent that does not exist": """SELECT 1 FROM memories
        WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM memories)""",
    "memory in no place": "SELECT 1 FROM memories WHERE place NOT IN (SELECT id FROM places)",
    "batch that is not whole": """SELECT 1 FROM memories
        WHERE json_extract(metadata, '$.batch') IS NOT NULL
        GROUP BY json_extract(metadata, '$.batch')
        HAVING count(*) <> max(json_extract(metadata, '$.of'))""",
    "memory in two places": """SELECT 1 FROM unsealed
        GROUP BY memory HAVING count(DISTINCT place) > 1""",
}


def _index_faults(connection: apsw.Connection) -> Iterator[str]:
    """A memory has one entry, or one more for each time that its text was rewritten."""
    entries: Counter[tuple[int, int]] = Counter()
    latest: dict[tuple[int, int], tuple[int, bool]] = {}
    for place, payload in connection.execute("SELECT place, payload FROM segments ORDER BY id"):
        columns = segments.decode(payload)
        coded = set(columns.coded.tolist())
        for at, row in enumerate(columns.rows.tolist()):
            entries[place, row] += 1
            latest[place, row] = (int(columns.lengths[at]), at in coded)
    for place, row, terms, code in connection.execute(
        "SELECT place, memory, terms, code FROM unsealed"
    ):
        entries[place, row] += 1
        latest[place, row] = (len(terms) // 8, code is not None)
    rewritten: Counter[int] = Counter()
    for row, detail in connection.execute(
        "SELECT about, detail FROM events WHERE what = 'memory' AND detail IS NOT NULL"
    ):
        changed = json.loads(detail).get("fields", [])
        rewritten[row] += "text" in changed or "speaker" in changed
    with_vector = {row for (row,) in connection.execute("SELECT memory FROM vectors")}
    for place, row, text, speaker in connection.execute(
        "SELECT place, row, text, speaker FROM memories"
    ):
        found = entries.pop((place, row), 0)
        if not 1 <= found <= 1 + rewritten[row]:
            yield f"memory {row} has {found} index entries"
            continue
        length, coded_there = latest[place, row]
        spoken = f"{speaker}: {text}" if speaker else text
        if length != len(_analyser().packed(spoken)) // 8:
            yield f"memory {row} is indexed with {length} terms that are not its own"
        if coded_there and row not in with_vector:
            yield f"memory {row} is indexed with a vector that it does not have"
        if row in with_vector and not coded_there and not rewritten[row]:
            yield f"memory {row} has a vector that is not indexed"
    if entries:
        yield f"{len(entries)} index entries without a memory"


def _history_faults(connection: apsw.Connection) -> Iterator[str]:
    """Events number the versions of a memory 1, 2, …; replaced states are kept for each.

    Only what an erasure changed in memories that stay is not kept: it named what was erased.
    """
    events: dict[int, list[int]] = {}
    by_erasure: set[tuple[int, int]] = set()
    for row, version, action in connection.execute(
        """SELECT about, version, action FROM events
        WHERE what = 'memory' AND version IS NOT NULL ORDER BY seq"""
    ):
        events.setdefault(row, []).append(version)
        if action == "erase":
            by_erasure.add((row, version))
    kept: dict[int, list[int]] = {}
    for row, version in connection.execute(
        "SELECT about, version FROM versions WHERE what = 'memory' ORDER BY version"
    ):
        kept.setdefault(row, []).append(version)
    for row, version in connection.execute("SELECT row, version FROM memories"):
        said = events.pop(row, [])
        if said != list(range(1, version + 1)):
            yield f"memory {row} is at version {version}, its events say {said}"
        owed = [one for one in range(1, version) if (row, one + 1) not in by_erasure]
        if kept.get(row, []) != owed:
            yield f"memory {row} is at version {version}, kept are {kept.get(row)}"
    for row, said in events.items():
        if said != list(range(1, len(said) + 1)) or len(said) < 2:
            yield f"memory {row} is gone, its events say {said}"


def states(path: Path | str) -> dict[str, str]:
    """What a file holds, by name, in the words of the workload."""
    connection = apsw.Connection(str(path))
    try:
        if connection.pragma("user_version") == 0:
            return {}
        found = dict(connection.execute("SELECT id, status || ':' || text FROM memories"))
        for category, count in connection.execute(
            "SELECT category, json_extract(data, '$.count') FROM profiles"
        ):
            found[f"profile:{category}"] = str(count)
        return found
    finally:
        connection.close()
