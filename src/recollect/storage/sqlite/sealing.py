"""Sealing: turning a place's single index entries into one segment."""

from collections.abc import Callable, Sequence

import apsw
import numpy as np

from recollect.domain.digests import checksum
from recollect.ports.store import Progress
from recollect.storage.sqlite import segments
from recollect.storage.sqlite.segments import SEAL_AT
from recollect.storage.sqlite.sql import first, query, run, run_many

#: Row, terms, space and code of one memory.
Entry = tuple[int, bytes, int | None, bytes | None]


def seal_place(connection: apsw.Connection, place: int, further: Sequence[Entry] = ()) -> None:
    """Move all unsealed entries of a place into segments, one per embedding space.

    `further` entries join them; of several for one memory the last counts.
    """
    latest = {entry[0]: entry for entry in query(connection, "unsealed_of_place", place)}
    latest.update({entry[0]: entry for entry in further})
    entries = [latest[row] for row in sorted(latest)]
    by_space: dict[int | None, list[tuple[int, bytes, bytes | None]]] = {}
    for row, terms, space, code in entries:
        by_space.setdefault(space, []).append((row, terms, code))
    for space, members in by_space.items():
        rows, terms_of, codes = zip(*members, strict=True)
        insert_segment(connection, place, segments.columns_of(rows, terms_of, codes, space))
    run(connection, "delete_unsealed_of_place", place)


def add_entries(connection: apsw.Connection, place: int, entries: Sequence[Entry]) -> None:
    """Keep entries until there are enough of them to seal."""
    listed = [(place, *entry, checksum(*entry[1:])) for entry in entries]
    run_many(connection, "insert_unsealed", listed)


def insert_segment(connection: apsw.Connection, place: int, columns: segments.Columns) -> None:
    """Store a segment."""
    payload = segments.encode(columns)
    values = (
        place,
        int(columns.rows.min()),
        int(columns.rows.max()),
        len(columns.rows),
        payload,
    )
    run(connection, "insert_segment", *values, checksum(*values))


def drop_rows(connection: apsw.Connection, place: int, gone: list[int]) -> None:
    """Take memories out of a place's segments, byte by byte."""
    bounds = (place, max(gone), min(gone))
    for number, payload in query(connection, "segments_between", *bounds):
        before = segments.decode(payload)
        after = segments.without_rows(before, gone)
        if len(after.rows) == len(before.rows):
            continue
        if len(after.rows) == 0:
            run(connection, "delete_segment", number)
            continue
        lean = segments.encode(after)
        values = (int(after.rows.min()), int(after.rows.max()), len(after.rows), lean)
        total = checksum(place, *values)
        run(connection, "update_segment", *values, total, number)


def rebuild(connection: apsw.Connection, packed: Callable[[str], bytes], progress: Progress) -> int:
    """Build every index entry anew from the memories and their vectors."""
    run(connection, "delete_all_unsealed")
    run(connection, "delete_all_segments")
    done = 0
    for (place,) in query(connection, "all_place_numbers"):
        batch: list[tuple[int, str]] = []
        for row, text in query(connection, "texts_of_place", place):
            batch.append((row, text))
            if len(batch) == SEAL_AT:
                _rebuild_batch(connection, place, batch, packed)
                batch = []
            done += 1
            if done % 1000 == 0:
                progress("rebuilding the index", done, None)
        if batch:
            _rebuild_batch(connection, place, batch, packed)
    return done


def _rebuild_batch(
    connection: apsw.Connection,
    place: int,
    batch: list[tuple[int, str]],
    packed: Callable[[str], bytes],
) -> None:
    by_space: dict[int | None, list[tuple[int, bytes, bytes | None]]] = {}
    for row, text in batch:
        latest = first(connection, "latest_vector", row)
        space, code = None, None
        if latest is not None:
            space = latest[0]
            vector = np.frombuffer(latest[1], dtype="<f4").reshape(1, -1)
            code = segments.quantise(vector)[0]
        by_space.setdefault(space, []).append((row, packed(text), code))
    for space, entries in by_space.items():
        rows, terms, codes = zip(*entries, strict=True)
        insert_segment(connection, place, segments.columns_of(rows, terms, codes, space))
