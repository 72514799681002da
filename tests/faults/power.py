"""Power cuts: the files as a cut at some moment could have left them.

Everything that was synced is there. What was written since is all there (`keep`), all gone
(`drop`), or each write is there, gone or torn at sectors of 512 bytes (`torn`). Deletions and new
names count as synced with the next sync of any file, as journalling file systems do it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.vfs import Deleted, Entry, Said, Synced, Truncated, Written

MODES = ("keep", "drop", "torn")
SECTOR = 512
Images = dict[str, bytearray]


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut before entry `position` of the log, and the files that it left."""

    position: int
    mode: str
    images: Images

    def write(self, folder: Path) -> None:
        """Put the files into a folder, in place of what was there."""
        for old in folder.iterdir():
            old.unlink()
        for name, image in self.images.items():
            (folder / name).write_bytes(image)


def cuts(
    log: Sequence[Entry],
    count: int,
    seed: int,
    *,
    start: Mapping[str, bytes] | None = None,
    first: int = 0,
) -> Iterator[Cut]:
    """That many cuts at random moments from entry `first` on, in the order of time."""
    rng = random.Random(seed)
    moments = sorted(rng.randint(first, len(log)) for _ in range(count))
    durable: Images = {name: bytearray(data) for name, data in (start or {}).items()}
    pending: list[Entry] = []
    at = 0
    for number, moment in enumerate(moments):
        while at < moment:
            pending = _advanced(durable, pending, log[at])
            at += 1
        mode = MODES[number % len(MODES)]
        images = {name: bytearray(image) for name, image in durable.items()}
        for entry in pending:
            _survive(images, entry, mode, rng)
        yield Cut(moment, mode, images)


def _advanced(durable: Images, pending: list[Entry], entry: Entry) -> list[Entry]:
    """What is pending after one more entry; a sync makes what was written to its file durable."""
    if isinstance(entry, Said):
        return pending
    if not isinstance(entry, Synced):
        return [*pending, entry]
    rest: list[Entry] = []
    for one in pending:
        if isinstance(one, Deleted) or one.file == entry.file:  # type: ignore[union-attr]
            _apply(durable, one)
        else:
            rest.append(one)
    return rest


def _survive(images: Images, entry: Entry, mode: str, rng: random.Random) -> None:
    fate = rng.choice(("keep", "drop", "torn")) if mode == "torn" else mode
    if fate == "drop":
        return
    if fate == "torn" and isinstance(entry, Written):
        for part in _sectors(entry):
            if rng.random() < 0.5:
                _apply(images, part)
        return
    _apply(images, entry)


def _sectors(entry: Written) -> Iterator[Written]:
    at, end = entry.offset, entry.offset + len(entry.data)
    while at < end:
        stop = min(end, (at // SECTOR + 1) * SECTOR)
        piece = entry.data[at - entry.offset : stop - entry.offset]
        yield Written(entry.file, at, piece)
        at = stop


def _apply(images: Images, entry: Entry) -> None:
    if isinstance(entry, Deleted):
        images.pop(entry.file, None)
    elif isinstance(entry, Written):
        image = images.setdefault(entry.file, bytearray())
        if len(image) < entry.offset:
            image.extend(bytes(entry.offset - len(image)))
        image[entry.offset : entry.offset + len(entry.data)] = entry.data
    elif isinstance(entry, Truncated):
        image = images.setdefault(entry.file, bytearray())
        del image[entry.size :]
        image.extend(bytes(entry.size - len(image)))
