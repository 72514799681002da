"""Upkeep of the file: schema, seals over events, wiping, copying."""

import hashlib
import json
import os
import struct
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw

from recollect.domain import digests, times
from recollect.domain.errors import SchemaError, StorageCorrupt, StorageError
from recollect.domain.limits import IDEMPOTENCY_HOURS
from recollect.ports.store import Progress
from recollect.storage.sqlite import gaps
from recollect.storage.sqlite.connection import BUSY_TIMEOUT_MS
from recollect.storage.sqlite.sql import first, query, run, scalar

#: "RCLT": marks the file as ours.
APPLICATION_ID = 0x52434C54
SEAL_EVENTS = 1024
_COPY_PAGES = 2000
#: The first bytes of a SQLite file: its magic, the schema cookie, the version and the owner.
_HEADER = struct.Struct(">16s24xI16xI4xI28x")
_MAGIC = b"SQLite format 3\0"
WIPE_WAIT_MS = 1_000
WIPE_TRIES = 3


def migrations() -> list[tuple[int, str]]:
    """All schema steps in order: number and SQL."""
    folder = files("recollect.storage.sqlite") / "schema"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text(encoding="utf-8")) for name in found]


def prepare_schema(connection: apsw.Connection, path: str) -> None:
    """Bring the file to the schema of this version; refuse files that are newer or not ours."""
    steps = migrations()
    refuse_foreign(connection, path)
    if _version(connection) == steps[-1][0]:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again: another process may have been faster, or be newer.
        refuse_foreign(connection, path)
        version = _version(connection)
        if 0 < version < steps[-1][0]:
            _keep_old(connection, f"{path}.before-schema-{steps[-1][0]}")
        for number, script in steps:
            if number > version:
                connection.execute(script)
                connection.pragma("user_version", number)
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep_old(connection: apsw.Connection, path: str) -> None:
    """A copy of the file before its schema changes; it replaces that of a try that was cut short.

    The copy is made through a connection of its own, since this one holds the lock of the writer.
    """
    reader = apsw.Connection(connection.filename, vfs=connection.open_vfs)
    try:
        copy(reader, path, _unwatched, replace=True)
    finally:
        reader.close()


def _unwatched(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""


def refuse_foreign(connection: apsw.Connection, path: str) -> None:
    """Never touch a file that a newer Recollect or another program wrote."""
    tables = first(connection, "any_table") is not None
    _refuse(path, _version(connection), connection.pragma("application_id"), tables=tables)


def refuse_by_header(path: str) -> None:
    """The same, by the file's first bytes: for SQLite to open a file may mean to change it."""
    with Path(path).open("rb") as opened:
        header = opened.read(_HEADER.size)
    if not header.startswith(_MAGIC[: len(header)]):
        raise StorageCorrupt(
            f"{path} is damaged or not a Recollect file: it does not begin as one. "
            "Nothing was changed"
        )
    if len(header) == _HEADER.size:
        _, cookie, version, owner = _HEADER.unpack(header)
        _refuse(path, version, owner, tables=cookie > 0)


def _refuse(path: str, version: int, owner: int, *, tables: bool) -> None:
    newest = migrations()[-1][0]
    if owner != APPLICATION_ID and (version or tables):
        raise SchemaError(f"{path} is a database of another program. Nothing was changed")
    if version > newest:
        raise SchemaError(
            f"{path} has schema {version}, this Recollect knows {newest}. "
            "Nothing was changed; install the newer version"
        )


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
        previous = digests.chain(previous, map(fixed_part, listed))
        run(connection, "insert_seal", stop, last + 1, previous)
        sealed += len(listed)
        last = stop
    if sealed:
        oldest = scalar(connection, "newest_event_time")
        run(connection, "expire_once", oldest - IDEMPOTENCY_HOURS * times.HOUR)
    return sealed


def fixed_part(row: Any) -> bytes:
    """An event as seals see it: everything that an erasure leaves untouched."""
    return json.dumps([v.hex() if isinstance(v, bytes) else v for v in row]).encode()


def wipe(connection: apsw.Connection, path: str, vfs: str | None) -> bool:
    """Leave no copy of anything erased in the log or the file; False while a reader prevents it.

    Nobody can write while this waits for a reader, so it does not wait for long.
    """
    connection.set_busy_timeout(WIPE_WAIT_MS)
    try:
        for _ in range(WIPE_TRIES):
            if not _empty_log(connection):
                return False
            if _zero_gaps(connection, path, vfs):
                return _empty_log(connection)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return False


def _empty_log(connection: apsw.Connection) -> bool:
    """Move the log into the file and cut it to nothing."""
    busy, _, _ = first(connection, "truncate_log") or (1, 0, 0)
    return not busy


def _zero_gaps(connection: apsw.Connection, path: str, vfs: str | None) -> bool:
    """Zero stale gaps while nobody can write; False if somebody has written since."""
    page_bytes: int = connection.pragma("page_size")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if os.path.getsize(f"{path}-wal"):
            return False
        file = gaps.opened(path, vfs)
        try:
            stale = gaps.stale(file, page_bytes)
            if stale:
                gaps.zero(file, stale)
                # A commit, so that others drop the pages that they hold in memory.
                connection.pragma("user_version", _version(connection))
        finally:
            file.xClose()
    finally:
        connection.execute("COMMIT")
    connection.release_memory()
    return stale is not None


def copy(
    connection: apsw.Connection, path: str, progress: Progress, *, replace: bool = False
) -> None:
    """A consistent copy of the file, and its checksum beside it in `sha256sum` format.

    The copy is one file that needs no log beside it, so that reading it leaves its bytes alone.
    """
    target = Path(path)
    if target.exists() and not replace:
        raise StorageError(f"{path} exists already; a backup never overwrites. Choose a new name")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    try:
        _copy_pages(connection, partial, progress)
        target.unlink(missing_ok=True)
        beside = Path(f"{path}.sha256")
        beside.write_text(f"{sha256_of(partial)}  {target.name}\n", encoding="utf-8")
        _sync(beside)
        partial.replace(target)
        _sync(target.parent)
    finally:
        # After a failure: what there is of the copy only takes up space.
        partial.unlink(missing_ok=True)


def _copy_pages(connection: apsw.Connection, target: Path, progress: Progress) -> None:
    copied = apsw.Connection(str(target), vfs=connection.open_vfs)
    try:
        with copied.backup("main", connection, "main") as backup:
            while not backup.done:
                backup.step(_COPY_PAGES)
                progress("copying pages", backup.page_count - backup.remaining, backup.page_count)
        copied.pragma("journal_mode", "delete")
    finally:
        copied.close()


def _sync(path: Path) -> None:
    """Have the disk keep a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
