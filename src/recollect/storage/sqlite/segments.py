"""Index entries and how they are laid out on disk.

An entry is the terms of one memory (64-bit numbers, in order) and perhaps its vectors, one per
passage, as int8 with a scale each. Entries are appended one by one; a few hundred of them are
sealed into a segment, which holds the same in columns: rows, lengths, postings sorted by term,
codes. Both are an index that can be rebuilt from the rows, so a wrong checksum here costs time,
never memories.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Entries of a place that are sealed together.
SEAL_AT = 256
_MAGIC = 0x52434C31
_HEADER = np.dtype("<i8")


class Indexed(NamedTuple):
    """The index entry of one memory."""

    row: int
    terms: bytes
    space: int | None
    code: bytes | None  #: for each passage a scale and the numbers, one after another
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Columns:
    """Entries of several memories in columns. `holders` are positions in `rows`."""

    rows: NDArray[np.int64]
    lengths: NDArray[np.int32]
    terms: NDArray[np.int64]  # sorted
    holders: NDArray[np.int32]  # for each posting, which entry holds the term
    counts: NDArray[np.int32]  # and how often
    space: int | None
    coded: NDArray[np.int32]  # for each code, which entry it is a passage of
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]


def columns_of(entries: Sequence[Indexed]) -> Columns:
    """Put entries into columns. All codes must be of one space."""
    count = len(entries)
    sizes = np.fromiter((len(e.terms) // 8 for e in entries), dtype=np.int32, count=count)
    flat = np.frombuffer(b"".join(e.terms for e in entries), dtype="<i8")
    flat = flat.astype(np.int64, copy=False)
    holders = np.repeat(np.arange(count, dtype=np.int32), sizes)
    order = np.lexsort((holders, flat))
    flat, holders = flat[order], holders[order]
    first = np.ones(len(flat), dtype=bool)
    if len(flat):
        first[1:] = (flat[1:] != flat[:-1]) | (holders[1:] != holders[:-1])
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(flat))).astype(np.int32)
    have = [e.code for e in entries if e.code is not None]
    dimensions = next((e.dimensions for e in entries if e.code is not None), None) or 0
    passages = [0 if e.code is None else len(e.code) // (4 + dimensions) for e in entries]
    code_block, scales = unpack_codes(b"".join(have), dimensions)
    return Columns(
        np.fromiter((e.row for e in entries), dtype=np.int64, count=count),
        sizes,
        flat[starts],
        holders[starts],
        counts,
        entries[0].space if have else None,
        np.repeat(np.arange(count, dtype=np.int32), passages),
        code_block,
        scales,
    )


def by_space(entries: Iterable[Indexed]) -> Iterator[list[Indexed]]:
    """Entries that may share a segment: those of one embedding space."""
    found: dict[int | None, list[Indexed]] = {}
    for entry in entries:
        found.setdefault(entry.space, []).append(entry)
    yield from found.values()


def without_rows(columns: Columns, gone: Sequence[int]) -> Columns:
    """The same entries but those of some rows."""
    keep = ~np.isin(columns.rows, np.asarray(gone, dtype=np.int64))
    moved = np.cumsum(keep, dtype=np.int32) - 1
    stays = keep[columns.holders]
    coded_stays = keep[columns.coded]
    return Columns(
        columns.rows[keep],
        columns.lengths[keep],
        columns.terms[stays],
        moved[columns.holders[stays]].astype(np.int32),
        columns.counts[stays],
        columns.space,
        moved[columns.coded[coded_stays]].astype(np.int32),
        columns.codes[coded_stays],
        columns.scales[coded_stays],
    )


def encode(columns: Columns) -> bytes:
    """The bytes of a segment."""
    width = columns.codes.shape[1] if columns.codes.ndim == 2 and len(columns.codes) else 0
    header = np.array(
        [
            _MAGIC,
            len(columns.rows),
            len(columns.terms),
            len(columns.coded),
            width,
            -1 if columns.space is None else columns.space,
        ],
        dtype=_HEADER,
    )
    return b"".join(
        part.tobytes()
        for part in (
            header,
            columns.rows,
            columns.terms,
            columns.lengths,
            columns.holders,
            columns.counts,
            columns.coded,
            columns.scales,
            columns.codes,
        )
    )


def decode(payload: bytes) -> Columns:
    """The columns of a segment."""
    magic, rows, postings, coded, width, space = (
        int(n) for n in np.frombuffer(payload, dtype=_HEADER, count=6)
    )
    if magic != _MAGIC:
        raise ValueError("not a segment")
    at = 6 * 8
    parts: list[NDArray[np.generic]] = []
    for dtype, count in (
        ("<i8", rows),
        ("<i8", postings),
        ("<i4", rows),
        ("<i4", postings),
        ("<i4", postings),
        ("<i4", coded),
        ("<f4", coded),
        ("i1", coded * width),
    ):
        part = np.frombuffer(payload, dtype=dtype, count=count, offset=at)
        at += part.nbytes
        parts.append(part)
    row_ids, terms, lengths, holders, counts, coded_at, scales, codes = parts
    return Columns(
        row_ids,  # type: ignore[arg-type]
        lengths,  # type: ignore[arg-type]
        terms,  # type: ignore[arg-type]
        holders,  # type: ignore[arg-type]
        counts,  # type: ignore[arg-type]
        None if space < 0 else space,
        coded_at,  # type: ignore[arg-type]
        codes.reshape(coded, width),  # type: ignore[arg-type]
        scales,  # type: ignore[arg-type]
    )


def coded(vectors: bytes, dimensions: int) -> bytes:
    """The float32 vectors of a text, each as `quantise` packs it."""
    return b"".join(quantise(np.frombuffer(vectors, dtype="<f4").reshape(-1, dimensions)))


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each vector as a float32 scale followed by int8 numbers."""
    scales = np.abs(vectors).max(axis=1) / 127.0
    scales[scales == 0.0] = 1.0
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    packed = np.empty((len(vectors), 4 + vectors.shape[1]), dtype=np.uint8)
    packed[:, :4] = scales.astype("<f4").view(np.uint8).reshape(-1, 4)
    packed[:, 4:] = codes.view(np.uint8)
    return [row.tobytes() for row in packed]


def unpack_codes(codes: bytes, dimensions: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Numbers and scales of what `quantise` packed."""
    if not codes:
        return np.empty((0, 0), dtype=np.int8), np.empty(0, dtype=np.float32)
    block = np.frombuffer(codes, dtype=np.uint8).reshape(-1, 4 + dimensions)
    return block[:, 4:].view(np.int8), block[:, :4].copy().view("<f4").reshape(-1)
