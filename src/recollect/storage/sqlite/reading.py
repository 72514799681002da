"""Reading: records, listings, neighbours and history. Every function gets a read connection."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from recollect.domain import cursors, times
from recollect.domain.digests import of_name
from recollect.domain.filters import matches
from recollect.domain.queries import EventQuery, Scan, View
from recollect.domain.records import (
    Change,
    Event,
    Group,
    Link,
    MemoryRecord,
    Page,
    Profile,
    SessionRecord,
    Status,
    unpack,
)
from recollect.domain.scopes import Place, PlaceKind
from recollect.storage.sqlite import conditions, rows
from recollect.storage.sqlite.sql import SQL, Row, first, query, stream
from recollect.storage.sqlite.writing import find_group

_SORT_COLUMNS = {
    "updated_at": "m.updated_at",
    "occurred_at": "m.occurred_at",
    "importance": "m.importance",
    "priority": "m.priority",
    "position": "m.position",
    "access_count": "coalesce(a.count, 0)",
}


def get(connection: apsw.Connection, ids: Sequence[str], view: View) -> dict[str, MemoryRecord]:
    """Memories by id, as they are or as they were."""
    places = rows.place_ids(connection, view.places)
    found = query(connection, "memories_by_ids", rows.json_list(ids))
    records = [rows.record_of(row, places) for row in found if row[1] in places]
    if view.in_the_past:
        words = conditions.words_of(view)
        numbers = {record.id: row[0] for row in found for record in records if row[2] == record.id}
        kept = (_wording(connection, numbers[one.id], one, words, view) for one in records)
        records = [one for one in kept if one is not None]
    return {record.id: record for record in records}


def _wording(
    connection: apsw.Connection, row: int, record: MemoryRecord, words: int, view: View
) -> MemoryRecord | None:
    """A record in the words it had at a moment; None when a reader could not know it."""
    if times.to_micros(record.created_at) > words:
        return record if view.known_at is None else None
    if times.to_micros(record.updated_at) <= words:
        return record
    for _, since, until, body in stream(connection, "versions_of", "memory", row):
        if since <= words < until:
            return unpack(json.loads(body), record.place, record.access_count)
    return None


def past_records(
    connection: apsw.Connection, view: View, places: Mapping[int, Place]
) -> dict[int, MemoryRecord]:
    """The earlier versions that a past view shows, by row."""
    words = conditions.words_of(view)
    statuses = view.statuses or (Status.ACTIVE, Status.SUPERSEDED)
    shown: dict[int, MemoryRecord] = {}
    for number, place in places.items():
        for row, body, ended in stream(connection, "versions_at", number, words, words):
            record = unpack(json.loads(body), place)
            if (
                record.status in statuses
                and (view.as_of is None or record.true_at(times.show(view.as_of)))
                and not view.had_ended(ended)
                and (view.session is None or record.session == view.session)
                and (view.agent is None or record.agent == view.agent)
                and (view.where is None or matches(view.where, record))
            ):
                shown[row] = record
    return shown


def scan(connection: apsw.Connection, scan: Scan) -> Page[MemoryRecord]:
    """One page of a listing, by keyset: nothing is skipped or repeated when rows come and go."""
    places = rows.place_ids(connection, scan.view.places)
    after = cursors.read(scan)
    if scan.view.in_the_past:
        return _scan_past(connection, scan, places, after)
    where, values = conditions.of_view(scan.view, list(places))
    order, resume, resumed = _order(scan, after)
    sql = f"{SQL['memory_columns']} WHERE {where}{resume} ORDER BY {order} LIMIT ?"
    found: list[Row] = connection.execute(sql, (*values, *resumed, scan.limit + 1)).fetchall()
    shown = [(row[0], rows.record_of(row, places)) for row in found]
    return _page(scan, shown)


def _scan_past(
    connection: apsw.Connection,
    scan: Scan,
    places: dict[int, Place],
    after: tuple[Any, int] | None,
) -> Page[MemoryRecord]:
    shown = list(past_records(connection, scan.view, places).items())
    where, values = conditions.of_view(scan.view, list(places))
    present = connection.execute(f"{SQL['memory_columns']} WHERE {where}", values)
    shown.extend((row[0], rows.record_of(row, places)) for row in present)

    def rank(pair: tuple[int, MemoryRecord]) -> tuple[Any, ...]:
        return _rank(scan, _sort_value(scan, pair[1]), pair[0])

    shown.sort(key=rank)
    if after is not None:
        border = _rank(scan, after[0], after[1])
        shown = [pair for pair in shown if rank(pair) > border]
    return _page(scan, shown[: scan.limit + 1])


def _rank(scan: Scan, value: Any, row: int) -> tuple[Any, ...]:
    """What sorts as SQL does: missing values last, then the value, then the order of writing."""
    sign = -1 if scan.descending else 1
    return (value is None, 0 if value is None else sign * value, sign * row)


def _sort_value(scan: Scan, record: MemoryRecord) -> Any:
    if scan.sort == "created_at":
        return 0
    value = getattr(record, scan.sort)
    return times.to_micros(value) if hasattr(value, "tzinfo") else value


def _order(scan: Scan, after: tuple[Any, int] | None) -> tuple[str, str, list[Any]]:
    """ORDER BY, the condition that resumes behind a cursor, and its values."""
    way, sign = ("DESC", "<") if scan.descending else ("ASC", ">")
    column = _SORT_COLUMNS.get(scan.sort)
    if column is None:
        if after is None:
            return f"m.row {way}", "", []
        return f"m.row {way}", f" AND m.row {sign} ?", [after[1]]
    order = f"({column} IS NULL), {column} {way}, m.row {way}"
    if after is None:
        return order, "", []
    value, row = after
    if value is None:
        return order, f" AND {column} IS NULL AND m.row {sign} ?", [row]
    further = f"{column} {sign} ? OR ({column} = ? AND m.row {sign} ?)"
    return order, f" AND ({column} IS NULL OR {further})", [value, value, row]


def _page(scan: Scan, shown: list[tuple[int, MemoryRecord]]) -> Page[MemoryRecord]:
    items = shown[: scan.limit]
    cursor = None
    if len(shown) > scan.limit and items:
        row, record = items[-1]
        cursor = cursors.write(scan, _sort_value(scan, record), row)
    return Page(tuple(record for _, record in items), cursor)


def count(connection: apsw.Connection, view: View) -> int:
    """How many memories a view shows."""
    places = rows.place_ids(connection, view.places)
    where, values = conditions.of_view(view, list(places))
    present = connection.execute(f"{SQL['count_only']} WHERE {where}", values).get
    return present + (len(past_records(connection, view, places)) if view.in_the_past else 0)


def load(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, MemoryRecord]:
    """Memories by row; those that are gone are left out."""
    found = query(connection, "memories_by_rows", rows.json_list(keys))
    places: dict[int, Place] = {}
    records: dict[int, MemoryRecord] = {}
    for row in found:
        if row[1] not in places:
            place = rows.place_of(connection, row[1])
            if place is None:
                continue
            places[row[1]] = place
        records[row[0]] = rows.record_of(row, places)
    return records


def marked(connection: apsw.Connection, place: Place, marks: Sequence[int]) -> list[MemoryRecord]:
    """The active memories of a place that bear any of these marks, newest first."""
    number = rows.place_id(connection, place)
    if number is None:
        return []
    found = {
        row: None
        for mark in marks
        for (row,) in query(connection, "active_rows_marked", number, mark)
    }
    listed = query(connection, "memories_by_rows", rows.json_list(found))
    return [rows.record_of(row, {number: place}) for row in sorted(listed, reverse=True)]


def vectors(connection: apsw.Connection, keys: Sequence[int], space: str) -> dict[int, bytes]:
    """The vectors of memories in a space."""
    found = first(connection, "space_id", space)
    if found is None:
        return {}
    return dict(stream(connection, "vectors_of_rows", found[0], rows.json_list(keys)))


def links(
    connection: apsw.Connection, ids: Sequence[str], places: Sequence[Place], kind: str | None
) -> list[Link]:
    """Links that touch some memories."""
    numbers = rows.place_ids(connection, places)
    values = (rows.json_list(ids), rows.json_list(numbers), kind)
    return [
        Link(source, target, name, strength, times.show(created_at))
        for source, target, name, strength, created_at in stream(connection, "links_of", *values)
    ]


def children(
    connection: apsw.Connection, ids: Sequence[str], places: Sequence[Place]
) -> list[MemoryRecord]:
    """Direct children."""
    numbers = rows.place_ids(connection, places)
    found = stream(connection, "children_of", rows.json_list(ids))
    return [rows.record_of(row, numbers) for row in found if row[1] in numbers]


def groups(connection: apsw.Connection, place: Place) -> list[Group]:
    """Groups of a place."""
    number = rows.place_id(connection, place)
    return [rows.group_of(row) for row in stream(connection, "groups_of_place", number)]


def members(connection: apsw.Connection, place: Place, group: str) -> list[MemoryRecord]:
    """Memories of a group."""
    number = rows.place_id(connection, place)
    found = find_group(connection, -1 if number is None else number, group)
    numbers = {} if number is None else {number: place}
    listed = stream(connection, "members_of_group", found[0])
    return [rows.record_of(row, numbers) for row in listed if row[1] in numbers]


def session(connection: apsw.Connection, place: Place, id: str) -> SessionRecord | None:
    """One session."""
    number = rows.place_id(connection, place)
    row = first(connection, "get_session", number, id)
    return None if row is None else rows.session_of(row, place)


def sessions(connection: apsw.Connection, place: Place) -> list[SessionRecord]:
    """Sessions of a place."""
    number = rows.place_id(connection, place)
    listed = stream(connection, "sessions_of_place", number)
    return [rows.session_of(row, place) for row in listed]


def profiles(connection: apsw.Connection, place: Place) -> list[Profile]:
    """Categories of a profile."""
    number = rows.place_id(connection, place)
    listed = stream(connection, "profiles_of_place", number)
    return [rows.profile_of(*row[1:]) for row in listed]


def past_profiles(connection: apsw.Connection, place: Place, category: str) -> list[Profile]:
    """Every version of a category."""
    number = rows.place_id(connection, place)
    present = first(connection, "get_profile", number, category)
    if present is None:
        return []
    kept = stream(connection, "versions_of", "profile", present[0])
    past = [rows.profile_of(category, body, version, since) for version, since, _, body in kept]
    return [*past, rows.profile_of(category, *present[1:])]


def changes(connection: apsw.Connection, wanted: EventQuery) -> list[Change]:
    """Events with the states around them."""
    places = rows.place_ids(connection, wanted.places)
    if wanted.subject is not None:
        found = first(connection, "memory_by_id", wanted.subject)
        if found is None or found[1] not in places:
            return []
        values: tuple[Any, ...] = (found[0], "memory", wanted.after, wanted.limit)
        listed = query(connection, "events_of", *values)
    elif wanted.event is not None:
        values = (wanted.event, wanted.after, wanted.limit)
        listed = query(connection, "events_with_id", *values)
    else:
        values = (rows.json_list(places), wanted.after, wanted.limit)
        listed = query(connection, "events_of_places", *values)
    return _with_states(connection, [row for row in listed if row[3] in places], places)


def _with_states(
    connection: apsw.Connection, listed: list[Sequence[Any]], places: dict[int, Place]
) -> list[Change]:
    states: dict[int, dict[int, MemoryRecord]] = {}
    shown: list[Change] = []
    for row in listed:
        about, version = row[6], row[7]
        mine: dict[int, MemoryRecord] = {}
        if row[5] in ("memory", "link", "member"):
            if about not in states:
                states[about] = _states(connection, about, places)
            mine = states[about]
        ids = next(iter(mine.values())).id if mine else None
        event = _event(row, ids)
        shown.append(Change(event, mine.get((version or 0) - 1), mine.get(version or 0)))
    return shown


def _states(
    connection: apsw.Connection, row: int, places: dict[int, Place]
) -> dict[int, MemoryRecord]:
    """Every version of a memory that is still held, by number."""
    present = first(connection, "memory_by_row", row)
    if present is None or present[1] not in places:
        return {}
    place = places[present[1]]
    kept = stream(connection, "versions_of", "memory", row)
    states = {version: unpack(json.loads(body), place) for version, _, _, body in kept}
    record = rows.record_of(present, places)
    states[record.version] = record
    return states


def _event(row: Sequence[Any], id: str | None) -> Event:
    seq, event, at, _, action, what, _, version, before, after, detail = row
    said: dict[str, Any] = json.loads(detail) if detail else {}
    subject = id or "erased"
    if what != "memory":
        named = said.get("category") or said.get("id") or id
        subject = "place" if what == "place" else f"{what}:{named or 'erased'}"
    return Event(
        event,
        seq,
        times.show(at),
        action,
        subject,
        version,
        said.pop("actor", None),
        said.pop("reason", None),
        said,
        before.hex() if before else None,
        after.hex() if after else None,
    )


def places(connection: apsw.Connection, tenant: str | None) -> list[Place]:
    """Places of a tenant, or of all."""
    listed = stream(connection, "places_of_tenant", tenant)
    return [Place(of, app, PlaceKind(kind), name) for of, app, kind, name in listed]


def tombstoned(connection: apsw.Connection, tenant: str, names: Iterable[str]) -> set[str]:
    """Names that were erased."""
    return {name for name in names if first(connection, "has_tombstone", of_name(name), tenant)}


def entries(
    connection: apsw.Connection, view: View, after: int, limit: int
) -> list[tuple[int, MemoryRecord]]:
    """Memories in order of writing, with their handles."""
    places = rows.place_ids(connection, view.places)
    where, values = conditions.of_view(view, list(places))
    sql = f"{SQL['memory_columns']} WHERE {where} AND m.row > ? ORDER BY m.row LIMIT ?"
    found = connection.execute(sql, (*values, after, limit))
    return [(row[0], rows.record_of(row, places)) for row in found]


def without_vector(
    connection: apsw.Connection, spaces: Sequence[str], after: int, limit: int
) -> list[tuple[int, Place, str]]:
    """Memories without a vector in these spaces, in order of writing."""
    found = stream(connection, "without_vector", after, json.dumps(list(spaces)), limit)
    return [
        (row, Place(tenant, app, PlaceKind(kind), name), id)
        for row, id, tenant, app, kind, name in found
    ]
