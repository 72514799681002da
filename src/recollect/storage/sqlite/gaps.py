"""Gaps: copies of erased content that SQLite leaves in the unused middle of its pages.

`secure_delete` overwrites what is deleted where it lies. But when SQLite splits or packs a page it
leaves the former bytes of moved cells in the space between the page's cell pointers and its cells,
and a cell that is deleted later is not overwritten there: one in a few thousand erased texts would
stay readable in the file. So after an erasure every page's gap is looked at and zeroed. Nothing
ever reads a gap, so this changes no content and is safe for readers and against power cuts.
"""

from collections.abc import Iterator

import apsw
import numpy as np

CHUNK_PAGES = 1024
#: From this many pages on, the first byte of an overflow page could look like that of a b-tree.
PAGES_MAX = 0x0200_0000
_LEAVES, _INNER = (10, 13), (2, 5)
_FILE_HEADER = 100
Gap = tuple[int, int]


def opened(path: str, vfs: str | None) -> apsw.VFSFile:
    """The database file, through SQLite, whose locks a plain `open` and `close` would drop."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    return apsw.VFSFile(vfs or "", path, [flags, 0])


def stale(file: apsw.VFSFile, page_bytes: int) -> list[Gap] | None:
    """Where each gap lies that holds anything, and its length; None if the file is too large."""
    size = file.xFileSize()
    if size // page_bytes >= PAGES_MAX:
        return None
    found: list[Gap] = []
    for offset in range(0, size, CHUNK_PAGES * page_bytes):
        chunk = file.xRead(min(CHUNK_PAGES * page_bytes, size - offset), offset)
        found += [(offset + at, length) for at, length in _in_chunk(chunk, page_bytes, offset == 0)]
    return found


def _in_chunk(chunk: bytes, page_bytes: int, begins: bool) -> Iterator[Gap]:
    """The gaps of some pages that are not all zeros; `begins` when the file header comes first."""
    pages = np.frombuffer(chunk, dtype=np.uint8)
    pages = pages[: len(pages) // page_bytes * page_bytes].reshape(-1, page_bytes)
    for number in np.flatnonzero(np.isin(pages[:, 0], (*_LEAVES, *_INNER))).tolist():
        yield from _in_page(chunk, pages, number, 0)
    if begins and len(pages):
        yield from _in_page(chunk, pages, 0, _FILE_HEADER)


def _in_page(
    chunk: bytes, pages: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]", number: int, header: int
) -> Iterator[Gap]:
    page_bytes = pages.shape[1]
    base = number * page_bytes + header
    kind = chunk[base]
    cells = int.from_bytes(chunk[base + 3 : base + 5], "big")
    stop = int.from_bytes(chunk[base + 5 : base + 7], "big")
    start = header + (8 if kind in _LEAVES else 12) + 2 * cells
    sound = kind in (*_LEAVES, *_INNER) and start < stop <= page_bytes
    if sound and pages[number, start:stop].any():
        yield number * page_bytes + start, stop - start


def zero(file: apsw.VFSFile, gaps: list[Gap]) -> None:
    """Overwrite gaps. Nobody else may be writing, and the log must be empty."""
    for offset, length in gaps:
        file.xWrite(bytes(length), offset)
    if gaps:
        file.xSync(apsw.SQLITE_SYNC_NORMAL)
