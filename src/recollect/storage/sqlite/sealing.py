"""Sealing: turning a place's single index entries into one segment."""

from collections.abc import Callable, Sequence

import apsw

from recollect.domain.digests import checksum
from recollect.ports.store import Progress
from recollect.storage.sqlite import segments
from recollect.storage.sqlite.segments import SEAL_AT, Indexed
from recollect.storage.sqlite.sql import first, query, run, run_many


def seal_place(connection: apsw.Connection, place: int, further: Sequence[Indexed] = ()) -> None:
    """Move all unsealed entries of a place into segments, one per embedding space.

    `further` entries join them; of several for one memory the last counts.
    """
    waiting = map(Indexed._make, query(connection, "unsealed_of_place", place))
    latest = {entry.row: entry for entry in (*waiting, *further)}
    for entries in segments.by_space(latest[row] for row in sorted(latest)):
        insert_segment(connection, place, segments.columns_of(entries))
    run(connection, "delete_unsealed_of_place", place)


def add_entries(connection: apsw.Connection, place: int, entries: Sequence[Indexed]) -> None:
    """Keep entries until there are enough of them to seal."""
    listed = [(place, *entry[:4], checksum(*entry[1:4])) for entry in entries]
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
    entries: list[Indexed] = []
    for row, text in batch:
        latest = first(connection, "latest_vector", row)
        space, code, dimensions = None, None, None
        if latest is not None:
            space, vectors, dimensions = latest
            code = segments.coded(vectors, dimensions)
        entries.append(Indexed(row, packed(text), space, code, dimensions))
    for together in segments.by_space(entries):
        insert_segment(connection, place, segments.columns_of(together))
