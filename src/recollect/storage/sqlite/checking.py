"""Checking a file: everything in it is read and compared with its digests and checksums."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from recollect.domain import digests
from recollect.domain.errors import SchemaError, StorageCorrupt
from recollect.domain.records import Finding, Verification
from recollect.ports.store import Progress
from recollect.storage.sqlite import segments, upkeep
from recollect.storage.sqlite.connection import connect, know_sums, translated
from recollect.storage.sqlite.sql import query, stream
from recollect.storage.sqlite.upkeep import fixed_part, refuse_by_header, sha256_of


def check_file(path: str, progress: Progress) -> Verification:
    """Check a file, a backup for instance, without changing a byte of it.

    A backup is first compared as a whole with the checksum that was written beside it.
    """
    checked: dict[str, int] = {}
    findings: list[Finding] = []
    with translated(f"check {path}"):
        beside = Path(f"{path}.sha256")
        if beside.exists():
            checked["file"] = 1
            if beside.read_text(encoding="utf-8").split()[:1] != [sha256_of(Path(path))]:
                findings.append(Finding("file", _DIFFERS, _RESTORE))
        try:
            refuse_by_header(path)
            connection = connect(path, readonly=True)
        except (SchemaError, StorageCorrupt) as exc:
            if isinstance(exc, SchemaError) and not findings:
                raise
            return Verification(checked, (*findings, Finding("file", str(exc), _RESTORE)))
        try:
            within = check(connection, progress)
        finally:
            connection.close()
    return Verification({**checked, **within.checked}, (*findings, *within.findings))


def check(connection: apsw.Connection, progress: Progress) -> Verification:
    """Read everything and compare it with its digests and checksums."""
    checked: dict[str, int] = {}
    findings: list[Finding] = []
    for name, examine in _CHECKS.items():
        try:
            count = 0
            for finding in examine(connection):
                count += 1
                if finding is not None:
                    findings.append(finding)
                if count % 5000 == 0:
                    progress(f"checking {name}", count, None)
            checked[name] = count
        # Whatever damaged rows do to the code that reads them.
        except (apsw.Error, ArithmeticError, LookupError, TypeError, ValueError) as exc:
            findings.append(Finding(name, f"cannot be read: {exc}", _RESTORE))
    return Verification(checked, tuple(findings))


_DIFFERS = "is not the file that its .sha256 was written for: damaged, or written to since"
_RESTORE = "restore the latest backup that `recollect verify` finds sound"
Findings = Iterator[Finding | None]


def _check_structure(connection: apsw.Connection) -> Findings:
    for (message,) in stream(connection, "check_structure"):
        yield None if message == "ok" else Finding("structure", str(message), _RESTORE)
    for table, row, target, _ in stream(connection, "loose_references"):
        yield Finding(table, f"row {row} refers to nothing in {target}", _RESTORE)
    for (table,) in stream(connection, "counters_behind"):
        yield Finding(table, "its numbers would be given out again", _RESTORE)


def _check_schema(connection: apsw.Connection) -> Findings:
    """Tables and indexes are defined as the schema steps define them, to the letter."""
    model = apsw.Connection(":memory:")
    know_sums(model)
    try:
        for _, script in upkeep.migrations():
            model.execute(script)
        wanted = query(model, "definitions")
    finally:
        model.close()
    same = query(connection, "definitions") == wanted
    yield None if same else Finding("schema", "is not the one of this version", _RESTORE)


def _check_seals(connection: apsw.Connection) -> Findings:
    previous, expected = b"", 1
    for start, last, stored in query(connection, "seals"):
        listed = stream(connection, "unsealed_events", start - 1, last)
        previous = digests.chain(previous, map(fixed_part, listed))
        sound = start == expected and previous == stored
        where = f"events {start} to {last}"
        yield None if sound else Finding(where, "were altered after they were sealed", _RESTORE)
        previous, expected = stored, last + 1


def _check_events(connection: apsw.Connection) -> Findings:
    """What an event says is what its digests say, and so are the states that came and went."""
    last: tuple[Any, ...] = ()
    for seq, what, about, before, after, salt, detail, digest, body in stream(
        connection, "events_with_states"
    ):
        said = detail and digests.of_data(json.loads(detail), salt)
        sound = said == digest
        if body is not None:
            state = json.loads(body)
            digest_of = digests.of_packed if what == "memory" else digests.of_data
            sound = sound and before in (None, digest_of(state, salt))
            if last[:2] == (what, about) and last[2] is not None:
                sound = sound and digest_of(state, last[3]) == last[2]
        yield None if sound else Finding(f"event {seq}", "is not what was written", _RESTORE)
        if after is not None or last[:2] != (what, about):
            last = (what, about, after, salt)


def _check_memories(connection: apsw.Connection) -> Findings:
    for row in stream(connection, "memories_with_digest"):
        number, place, event_place, after, salt, *packed = row
        sound = salt is not None and digests.of_packed(packed, salt) == after
        if not sound or place != event_place:
            yield Finding(f"memory {packed[0]}", f"row {number} is not what was written", _RESTORE)
        else:
            yield None


def _check_profiles(connection: apsw.Connection) -> Findings:
    for number, data, after, salt, same in stream(connection, "profiles_with_digest"):
        sound = same and salt is not None and digests.of_data(json.loads(data), salt) == after
        yield None if sound else Finding(f"profile {number}", "is not what was written", _RESTORE)


def _check_segments(connection: apsw.Connection) -> Findings:
    """Every memory is indexed, and indexes hold nothing that is not a memory."""
    indexed: dict[int, set[int]] = {}
    for place, row in stream(connection, "all_unsealed"):
        indexed.setdefault(place, set()).add(row)
    for place, payload in stream(connection, "all_segments"):
        indexed.setdefault(place, set()).update(segments.decode(payload).rows.tolist())
    for place, row in stream(connection, "all_memories"):
        known = row in indexed.get(place, set())
        indexed.get(place, set()).discard(row)
        yield None if known else Finding(f"index of row {row}", "is missing", _REINDEX)
    for rows in indexed.values():
        for row in rows:
            yield Finding(f"index of row {row}", "has no memory", _REINDEX)


_REINDEX = "run `recollect verify --repair`: the index is rebuilt from the memories"


def _checked_sums(table: str) -> Callable[[apsw.Connection], Findings]:
    def examine(connection: apsw.Connection) -> Findings:
        for *values, total in stream(connection, f"sums_{table}"):
            sound = digests.checksum(*values) == total
            yield (
                None
                if sound
                else Finding(table, f"a row is not what was written: {values[:2]}", _RESTORE)
            )

    return examine


_SUMMED = (
    *("places", "spaces", "vectors", "unsealed", "segments", "versions"),
    *("links", "groups", "members", "sessions", "once", "accesses"),
    *("jobs", "duties", "tombstones", "marks"),
    *("model_clients", "agents", "charges", "budgets"),
)
_CHECKS: dict[str, Callable[[apsw.Connection], Findings]] = {
    "structure": _check_structure,
    "schema": _check_schema,
    "seals": _check_seals,
    "events": _check_events,
    "memories": _check_memories,
    "profiles": _check_profiles,
    "index": _check_segments,
    **{table: _checked_sums(table) for table in _SUMMED},
}
