"""Index entries and how they are laid out on disk.

An entry is the terms of one memory (64-bit numbers, in order) and perhaps its vector as int8 with
one scale. Entries are appended one by one; a few hundred of them are sealed into a segment, which
holds the same in columns: rows, lengths, postings sorted by term, codes. Both are an index that
can be rebuilt from the rows, so a wrong checksum here costs time, never memories.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Entries of a place that are sealed together.
SEAL_AT = 256
_MAGIC = 0x52434C31
_HEADER = np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class Columns:
    """Entries of several memories in columns. `holders` are positions in `rows`."""

    rows: NDArray[np.int64]
    lengths: NDArray[np.int32]
    terms: NDArray[np.int64]  # sorted
    holders: NDArray[np.int32]  # for each posting, which entry holds the term
    counts: NDArray[np.int32]  # and how often
    space: int | None
    coded: NDArray[np.int32]  # positions of the entries that have a code
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]


def columns_of(
    rows: Sequence[int], terms: Sequence[bytes], codes: Sequence[bytes | None], space: int | None
) -> Columns:
    """Put entries into columns. All codes must be of one space."""
    sizes = np.fromiter((len(t) // 8 for t in terms), dtype=np.int32, count=len(terms))
    flat = np.frombuffer(b"".join(terms), dtype="<i8").astype(np.int64, copy=False)
    holders = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
    order = np.lexsort((holders, flat))
    flat, holders = flat[order], holders[order]
    first = np.ones(len(flat), dtype=bool)
    if len(flat):
        first[1:] = (flat[1:] != flat[:-1]) | (holders[1:] != holders[:-1])
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(flat))).astype(np.int32)
    have = [i for i, code in enumerate(codes) if code is not None]
    code_block, scales = unpack_codes([codes[i] or b"" for i in have])
    return Columns(
        np.asarray(rows, dtype=np.int64),
        sizes,
        flat[starts],
        holders[starts],
        counts,
        space if have else None,
        np.asarray(have, dtype=np.int32),
        code_block,
        scales,
    )


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


def quantised(vectors: Sequence[bytes]) -> list[bytes]:
    """Float32 vectors of one size, as `quantise` packs them."""
    joined = np.frombuffer(b"".join(vectors), dtype="<f4")
    return quantise(joined.reshape(len(vectors), -1))


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each vector as a float32 scale followed by int8 numbers."""
    scales = np.abs(vectors).max(axis=1) / 127.0
    scales[scales == 0.0] = 1.0
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    packed = np.empty((len(vectors), 4 + vectors.shape[1]), dtype=np.uint8)
    packed[:, :4] = scales.astype("<f4").view(np.uint8).reshape(-1, 4)
    packed[:, 4:] = codes.view(np.uint8)
    return [row.tobytes() for row in packed]


def unpack_codes(codes: Sequence[bytes]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Codes and scales of what `quantise` packed."""
    if not codes:
        return np.empty((0, 0), dtype=np.int8), np.empty(0, dtype=np.float32)
    block = np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(len(codes), -1)
    return block[:, 4:].view(np.int8), block[:, :4].copy().view("<f4").reshape(-1)
