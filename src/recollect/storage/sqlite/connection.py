"""Connections to one SQLite file: how they are opened, and what their errors mean."""

import errno
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from recollect.domain.digests import checksum
from recollect.domain.errors import (
    RecollectError,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)

BUSY_TIMEOUT_MS = 30_000
_RETRY_S = 0.002
CACHE_KIB = 16_384
#: Pages in the log before SQLite moves them into the file on its own.
CHECKPOINT_PAGES = 2000
#: What the system says when there is no room: on the disk, for this user, for this process.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def connect(
    path: str, *, durability: str = "full", vfs: str | None = None, readonly: bool = False
) -> apsw.Connection:
    """Open the file. Writers sync every commit unless durability is `relaxed`."""
    flags = (
        apsw.SQLITE_OPEN_READONLY
        if readonly
        else (apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    )
    with translated(f"open {path}"), ExitStack() as undo:
        connection = apsw.Connection(path, flags=flags, vfs=vfs, statementcachesize=256)
        undo.callback(connection.close, True)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if not readonly:
            _prepare(connection, durability)
        undo.pop_all()
        return connection


def _prepare(connection: apsw.Connection, durability: str) -> None:
    _use_log(connection)
    connection.pragma("synchronous", "full" if durability == "full" else "normal")
    connection.pragma("secure_delete", "on")
    connection.pragma("cache_size", -CACHE_KIB)
    connection.pragma("temp_store", "memory")
    connection.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
    know_sums(connection)


def know_sums(connection: apsw.Connection) -> None:
    """Have SQL, schema steps among it, compute the checksums of rows that it changes."""
    for name, values in (
        ("access_sum", 3),
        ("agent_sum", 10),
        ("charge_sum", 13),
        ("duty_sum", 6),
        ("job_sum", 14),
        ("member_sum", 3),
        ("segment_sum", 5),
        ("version_sum", 7),
    ):
        connection.create_scalar_function(name, checksum, values, deterministic=True)


def _use_log(connection: apsw.Connection) -> None:
    """Have the file use a write-ahead log; waits while others open a new file at the same moment.

    SQLite does not wait by itself here, since two that upgrade their locks could wait for ever.
    """
    patience_until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > patience_until:
                raise
            time.sleep(_RETRY_S)


def create_private(path: str) -> None:
    """Make the file readable by its owner alone before anything is written to it."""
    file = Path(path)
    if not file.parent.exists():
        file.parent.mkdir(mode=0o700, parents=True)
    if not file.exists():
        file.touch(mode=0o600)


@contextmanager
def translated(doing: str) -> Generator[None]:
    """Raise what SQLite or the system reports as one of our errors, saying what was being done."""
    try:
        yield
    except RecollectError:
        raise
    except OSError as exc:
        if exc.errno in _FULL:
            raise StorageFull(f"could not {doing}: {exc}. Free some space") from exc
        raise StorageUnavailable(f"could not {doing}: {exc}. Check the path and the disk") from exc
    except apsw.FullError as exc:
        raise StorageFull(
            f"could not {doing}: no space left ({exc}). Nothing was stored; free some space"
        ) from exc
    except (apsw.CorruptError, apsw.NotADBError) as exc:
        raise StorageCorrupt(
            f"could not {doing}: the file is damaged or not a Recollect file ({exc}). "
            "Run `recollect verify`, then restore a backup"
        ) from exc
    except (apsw.BusyError, apsw.LockedError) as exc:
        raise StorageUnavailable(
            f"could not {doing}: another process held the file for over "
            f"{BUSY_TIMEOUT_MS // 1000} s ({exc}). Try again"
        ) from exc
    except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as exc:
        raise StorageUnavailable(f"could not {doing}: {exc}. Check the path and the disk") from exc
    except apsw.Error as exc:
        raise StorageError(f"could not {doing}: {type(exc).__name__}: {exc}") from exc
