"""A disk that writes down what is done to it, and fails when it is told to.

It wraps the operating system's VFS of SQLite. What it writes down is enough to rebuild the files
as a power cut could have left them (`power.py`).
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

#: What the operating system says when a call of a kind fails.
ERRORS = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "open": apsw.SQLITE_CANTOPEN,
}


@dataclass(frozen=True, slots=True)
class Written:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    file: str


@dataclass(frozen=True, slots=True)
class Deleted:
    file: str


@dataclass(frozen=True, slots=True)
class Said:
    """What the program said between two calls: a message of the workload."""

    message: dict[str, Any]


Entry = Written | Truncated | Synced | Deleted | Said


@dataclass(slots=True)
class Fault:
    """The call that fails, counted from 1 among those of its kind, or among all but reads.

    A lasting fault fails every further call too, until the disk is healed.
    """

    number: int
    kind: str | None = None
    code: int | None = None
    lasting: bool = False


class Disk(apsw.VFS):
    """Register with a name and open a store with `SqliteStore(path, vfs=name)`."""

    def __init__(self, name: str, *, recording: bool = False) -> None:
        super().__init__(name, "")
        self.name = name
        self.recording = recording
        self.log: list[Entry] = []
        self.fault: Fault | None = None
        self.calls: Counter[str] = Counter()
        self.failed = 0

    def note(self, entry: Entry) -> None:
        if self.recording:
            self.log.append(entry)

    def call(self, kind: str) -> None:
        """Count a call, and let it fail if it is its turn."""
        self.calls[kind] += 1
        fault = self.fault
        if fault is None or (fault.kind or kind) != kind or (kind == "read" and not fault.kind):
            return
        number = self.calls[kind] if fault.kind else self.changes
        if number == fault.number or (fault.lasting and number > fault.number):
            self.failed += 1
            raise apsw.exception_for(fault.code or ERRORS[kind])

    def break_at(self, fault: Fault) -> None:
        """Count anew, and fail as told."""
        self.calls.clear()
        self.failed = 0
        self.fault = fault

    @property
    def changes(self) -> int:
        """The calls so far, without those that only read."""
        return self.calls.total() - self.calls["read"]

    def heal(self) -> None:
        self.fault = None

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        self.call("open")
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.note(Deleted(Path(filename).name))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary"
        self._name = Path(path).name

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.call("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.call("write")
        super().xWrite(data, offset)
        self._disk.note(Written(self._name, offset, bytes(data)))

    def xSync(self, _: int) -> None:
        self._disk.call("sync")
        # The real disk need not hurry: nobody cuts its power, and the log says what was synced.
        self._disk.note(Synced(self._name))

    def xTruncate(self, newsize: int) -> None:
        self._disk.call("truncate")
        super().xTruncate(newsize)
        self._disk.note(Truncated(self._name, newsize))
