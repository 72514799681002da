"""Upkeep of the file: schema, seals over events, wiping, checking, copying."""

import hashlib
import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw

from recollect.domain import digests, times
from recollect.domain.errors import SchemaError, StorageError
from recollect.domain.limits import IDEMPOTENCY_HOURS
from recollect.domain.records import Finding, Verification
from recollect.ports.store import Progress
from recollect.storage.sqlite import segments
from recollect.storage.sqlite.connection import BUSY_TIMEOUT_MS
from recollect.storage.sqlite.sql import first, query, run, scalar, stream

#: "RCLT": marks the file as ours.
APPLICATION_ID = 0x52434C54
SEAL_EVENTS = 1024
_COPY_PAGES = 2000
WIPE_WAIT_MS = 1_000


def migrations() -> list[tuple[int, str]]:
    """All schema steps in order: number and SQL."""
    folder = files("recollect.storage.sqlite") / "schema"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text(encoding="utf-8")) for name in found]


def prepare_schema(connection: apsw.Connection, path: str) -> None:
    """Bring the file to the schema of this version; refuse files that are newer or not ours."""
    steps = migrations()
    if _version(connection) == steps[-1][0]:
        return
    refuse_foreign(connection, path)
    if 0 < _version(connection) < steps[-1][0]:
        copy(connection, f"{path}.before-schema-{steps[-1][0]}", _unwatched)
    for number, script in steps:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection) < number:
                connection.execute(script)
                connection.pragma("user_version", number)
                connection.pragma("application_id", APPLICATION_ID)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _unwatched(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""


def refuse_foreign(connection: apsw.Connection, path: str) -> None:
    """Never touch a file that a newer Recollect or another program wrote."""
    newest = migrations()[-1][0]
    version, owner = _version(connection), connection.pragma("application_id")
    if version > newest:
        raise SchemaError(
            f"{path} has schema {version}, this Recollect knows {newest}. "
            "Nothing was changed; install the newer version"
        )
    if owner != APPLICATION_ID and (version or first(connection, "any_table")):
        raise SchemaError(f"{path} is a database of another program. Nothing was changed")


def _version(connection: apsw.Connection) -> int:
    return connection.pragma("user_version")


def seal(connection: apsw.Connection) -> int:
    """Chain the events that came since the last seal; also lets old retry keys go."""
    last, previous = first(connection, "last_seal") or (0, b"")
    newest = scalar(connection, "last_seq")
    sealed = 0
    while last < newest:
        stop = min(newest, last + SEAL_EVENTS)
        listed = query(connection, "unsealed_events", last, stop)
        previous = digests.chain(previous, map(_fixed_part, listed))
        run(connection, "insert_seal", stop, last + 1, previous)
        sealed += len(listed)
        last = stop
    if sealed:
        oldest = scalar(connection, "newest_event_time")
        run(connection, "expire_once", oldest - IDEMPOTENCY_HOURS * times.HOUR)
    return sealed


def _fixed_part(row: Any) -> bytes:
    """An event as seals see it: everything that an erasure leaves untouched."""
    return json.dumps([v.hex() if isinstance(v, bytes) else v for v in row]).encode()


def wipe(connection: apsw.Connection) -> bool:
    """Move the log into the file and cut it to nothing; False while a reader needs it.

    Nobody can write while this waits for a reader, so it does not wait for long.
    """
    connection.set_busy_timeout(WIPE_WAIT_MS)
    try:
        busy, _, _ = first(connection, "truncate_log") or (1, 0, 0)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return not busy


def copy(connection: apsw.Connection, path: str, progress: Progress) -> None:
    """A consistent copy of the file, and its checksum beside it in `sha256sum` format."""
    target = Path(path)
    if target.exists():
        raise StorageError(f"{path} exists already; a backup never overwrites. Choose a new name")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    copied = apsw.Connection(str(partial))
    try:
        with copied.backup("main", connection, "main") as backup:
            while not backup.done:
                backup.step(_COPY_PAGES)
                progress("copying pages", backup.page_count - backup.remaining, backup.page_count)
    finally:
        copied.close()
    digest = _sha256(partial)
    Path(f"{path}.sha256").write_text(f"{digest}  {target.name}\n", encoding="ascii")
    partial.rename(target)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(connection: apsw.Connection, path: str, progress: Progress) -> Verification:
    """Read everything and compare it with its digests and checksums."""
    checked: dict[str, int] = {}
    findings: list[Finding] = []
    for name, examine in _CHECKS.items():
        try:
            count = 0
            for finding in examine(connection, path):
                count += 1
                if finding is not None:
                    findings.append(finding)
                if count % 5000 == 0:
                    progress(f"checking {name}", count, None)
            checked[name] = count
        except (apsw.Error, ValueError, UnicodeDecodeError) as exc:
            findings.append(Finding(name, f"cannot be read: {exc}", _RESTORE))
    return Verification(checked, tuple(findings))


_RESTORE = "restore the latest backup that `recollect verify` finds sound"
Findings = Iterator[Finding | None]


def _check_copy(_: apsw.Connection, path: str) -> Findings:
    """A backup is checked byte by byte against the checksum that was written beside it."""
    beside = Path(f"{path}.sha256")
    if beside.exists():
        same = beside.read_text(encoding="ascii").split()[0] == _sha256(Path(path))
        yield None if same else Finding("file", "differs from its .sha256", _RESTORE)


def _check_structure(connection: apsw.Connection, _: str) -> Findings:
    for (message,) in stream(connection, "check_structure"):
        yield None if message == "ok" else Finding("structure", str(message), _RESTORE)


def _check_seals(connection: apsw.Connection, _: str) -> Findings:
    previous, expected = b"", 1
    for start, last, stored in query(connection, "seals"):
        listed = stream(connection, "unsealed_events", start - 1, last)
        previous = digests.chain(previous, map(_fixed_part, listed))
        sound = start == expected and previous == stored
        where = f"events {start} to {last}"
        yield None if sound else Finding(where, "were altered after they were sealed", _RESTORE)
        previous, expected = stored, last + 1


def _check_memories(connection: apsw.Connection, _: str) -> Findings:
    for row in stream(connection, "memories_with_digest"):
        number, place, event_place, after, salt, *packed = row
        sound = salt is not None and digests.of_packed(packed, salt) == after
        if not sound or place != event_place:
            yield Finding(f"memory {packed[0]}", f"row {number} is not what was written", _RESTORE)
        else:
            yield None


def _check_profiles(connection: apsw.Connection, _: str) -> Findings:
    for number, data, after, salt in stream(connection, "profiles_with_digest"):
        sound = salt is not None and digests.of_data(json.loads(data), salt) == after
        yield None if sound else Finding(f"profile {number}", "is not what was written", _RESTORE)


def _check_segments(connection: apsw.Connection, _: str) -> Findings:
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


def _checked_sums(table: str) -> Callable[[apsw.Connection, str], Findings]:
    def examine(connection: apsw.Connection, _: str) -> Findings:
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
)
_CHECKS: dict[str, Callable[[apsw.Connection, str], Findings]] = {
    "file": _check_copy,
    "structure": _check_structure,
    "seals": _check_seals,
    "memories": _check_memories,
    "profiles": _check_profiles,
    "index": _check_segments,
    **{table: _checked_sums(table) for table in _SUMMED},
}
