"""Residue: whether bytes that should be gone are still in the files of a folder.

This looks at files as an intruder would, byte by byte and knowing nothing of their formats. It
decides nothing about what should be gone; the caller brings the needles.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CHUNK_BYTES = 4 * 1024 * 1024
#: Needles shorter than this would be found by chance.
NEEDLE_BYTES_MIN = 6


@dataclass(frozen=True, slots=True)
class Residue:
    """Something that should be gone and is not: which needle, in which file, at which byte."""

    needle: str
    file: str
    offset: int


def scan(folder: str | Path, needles: Mapping[str, str | bytes]) -> list[Residue]:
    """Every file below `folder` that still holds one of the named needles, and where first.

    Texts are looked for as UTF-8. Each needle is reported once per file.

    >>> scan("store", {"text": "my secret"})
    []
    """
    names: dict[bytes, list[str]] = {}
    for name, needle in needles.items():
        names.setdefault(_encoded(name, needle), []).append(name)
    found: list[Residue] = []
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and names:
            file = str(path.relative_to(folder))
            for needle, at in _found_in(path, names.keys()).items():
                found += [Residue(name, file, at) for name in names[needle]]
    return found


def _encoded(name: str, needle: str | bytes) -> bytes:
    data = needle.encode() if isinstance(needle, str) else bytes(needle)
    if len(data) < NEEDLE_BYTES_MIN:
        raise ValueError(f"the needle {name!r} is too short to be told from chance")
    return data


def _found_in(path: Path, wanted: Collection[bytes]) -> dict[bytes, int]:
    """Where each needle lies first, in one pass however many there are.

    A table of the needles' first three bytes names the few places that are worth a look; chunks
    overlap by the longest needle.
    """
    lengths = sorted(set(map(len, wanted)))
    begins = np.zeros(1 << 24, dtype=bool)
    begins[[int.from_bytes(needle[:3], "little") for needle in wanted]] = True
    found: dict[bytes, int] = {}
    tail, start = b"", 0
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            window = tail + chunk
            data = np.frombuffer(window, dtype=np.uint8).astype(np.uint32)
            triples = data[:-2] | data[1:-1] << 8 | data[2:] << 16
            for at in np.flatnonzero(begins[triples]).tolist():
                for length in lengths:
                    piece = window[at : at + length]
                    if piece in wanted:
                        found.setdefault(piece, start + at)
            tail = window[-lengths[-1] :]
            start += len(window) - len(tail)
    return found
