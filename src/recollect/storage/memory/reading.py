"""Reading the tables: views, listings, neighbours and history. Answers share nothing with them."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from recollect.domain import cursors, times
from recollect.domain.filters import matches
from recollect.domain.queries import EventQuery, Scan, View
from recollect.domain.records import (
    Change,
    Event,
    Group,
    JsonObject,
    MemoryRecord,
    Page,
    Profile,
    SessionRecord,
    Status,
)
from recollect.domain.scopes import Place
from recollect.storage.memory.tables import EventRow, ProfileRow, Tables

PRESENT = (Status.ACTIVE.value,)
PAST = (Status.ACTIVE.value, Status.SUPERSEDED.value)


def handed_out(record: MemoryRecord) -> MemoryRecord:
    """A record that its reader may keep and change."""
    return replace(record, metadata=copy.deepcopy(record.metadata))


# -- views -----------------------------------------------------------------------------------------


def shown(tables: Tables, view: View) -> dict[int, MemoryRecord]:
    """The memories that a view shows in their present state, in order of writing.

    For a past view these are the rows that were the same then, and those learned later about
    that time; `shown_versions` gives the others.
    """
    test = _showed if view.in_the_past else _shows
    return {
        number: tables.memories[number].record
        for number in sorted(tables.memories)
        if _belongs(tables.memories[number].record, view)
        and test(tables.memories[number].record, view)
    }


def _belongs(record: MemoryRecord, view: View) -> bool:
    return (
        record.place in view.places
        and (view.session is None or record.session == view.session)
        and (view.agent is None or record.agent == view.agent)
        and (view.where is None or matches(view.where, record))
    )


def _shows(record: MemoryRecord, view: View) -> bool:
    now = times.show(view.now)
    over = record.valid_to is not None and record.valid_to <= now
    return (
        record.status in (view.statuses or PRESENT)
        and (record.expires_at is None or record.expires_at > now)
        and not (over and record.status == Status.ACTIVE.value)
    )


def _showed(record: MemoryRecord, view: View) -> bool:
    words = times.show(_words_of(view))
    learned_later = view.known_at is None and record.created_at > words
    return (record.updated_at <= words or learned_later) and _true_then(record, view)


def _true_then(record: MemoryRecord, view: View) -> bool:
    return record.status in (view.statuses or PAST) and (
        view.as_of is None or record.true_at(times.show(view.as_of))
    )


def _words_of(view: View) -> int:
    """The moment whose wording a past view shows."""
    moment = view.as_of if view.known_at is None else view.known_at
    return times.LAST if moment is None else moment


def shown_versions(tables: Tables, view: View) -> dict[int, MemoryRecord]:
    """The earlier states that a past view shows, by the number of their memory."""
    if not view.in_the_past:
        return {}
    found: dict[int, MemoryRecord] = {}
    for number, record in _worded(tables, _words_of(view)):
        ended = times.to_micros_optional(tables.memories[number].record.valid_to)
        if _belongs(record, view) and _true_then(record, view) and not view.had_ended(ended):
            found[number] = record
    return found


def _worded(tables: Tables, words: int) -> Iterator[tuple[int, MemoryRecord]]:
    """The replaced states that were in force at a moment."""
    for (number, _), state in sorted(tables.past.items(), key=lambda item: item[0]):
        if state.since <= words < state.until:
            yield number, replace(state.record, place=tables.memories[number].record.place)


def get(tables: Tables, ids: Sequence[str], view: View) -> dict[str, MemoryRecord]:
    """Memories by id, as they are or as they were, whatever their status."""
    found: dict[str, MemoryRecord] = {}
    for id in ids:
        number = tables.row_of.get(id)
        if number is None or tables.memories[number].record.place not in view.places:
            continue
        record = _wording(tables, number, view) if view.in_the_past else _record(tables, number)
        if record is not None:
            found[id] = handed_out(record)
    return found


def _record(tables: Tables, number: int) -> MemoryRecord:
    return tables.memories[number].record


def _wording(tables: Tables, number: int, view: View) -> MemoryRecord | None:
    """A memory in the words it had then; None when a reader could not know it."""
    record, words = _record(tables, number), _words_of(view)
    if record.created_at > times.show(words):
        return record if view.known_at is None else None
    if record.updated_at <= times.show(words):
        return record
    earlier = dict(_worded(tables, words)).get(number)
    return None if earlier is None else replace(earlier, access_count=record.access_count)


# -- listings --------------------------------------------------------------------------------------


def scan(tables: Tables, scan: Scan) -> Page[MemoryRecord]:
    """One page of a listing; a cursor names the last row that was seen."""
    everything = [*shown_versions(tables, scan.view).items(), *shown(tables, scan.view).items()]
    ranks = ((_rank(scan, _sort_value(scan, one), n), n, one) for n, one in everything)
    ranked = sorted(ranks, key=itemgetter(0))
    after = cursors.read(scan)
    if after is not None:
        border = _rank(scan, *after)
        ranked = [one for one in ranked if one[0] > border]
    page = ranked[: scan.limit]
    cursor = None
    if len(ranked) > scan.limit and page:
        _, number, record = page[-1]
        cursor = cursors.write(scan, _sort_value(scan, record), number)
    return Page(tuple(handed_out(record) for _, _, record in page), cursor)


def _rank(scan: Scan, value: float | None, number: int) -> tuple[bool, float, int]:
    """Missing values last either way, then the value, then the order of writing."""
    sign = -1 if scan.descending else 1
    return value is None, sign * (value or 0), sign * number


def _sort_value(scan: Scan, record: MemoryRecord) -> float | None:
    if scan.sort == "created_at":
        return 0  # the order of writing, which the number of the row tells
    value = getattr(record, scan.sort)
    return times.to_micros(value) if scan.sort in ("updated_at", "occurred_at") and value else value


# -- what surrounds memories -----------------------------------------------------------------------


#: Of those that bear one mark, so many of the newest are looked at.
MARKED_MAX = 20


def marked(tables: Tables, place: Place, marks: Sequence[int]) -> list[MemoryRecord]:
    """The active memories of a place that bear any of these marks, newest first."""
    found: set[int] = set()
    for mark in marks:
        bearing = tables.bearing(place, mark)
        active = [n for n in bearing if tables.memories[n].record.status == "active"]
        found.update(active[-MARKED_MAX:])
    return [handed_out(tables.memories[number].record) for number in sorted(found, reverse=True)]


def group_of(tables: Tables, number: int) -> Group:
    """A group as its readers see it."""
    row = tables.groups[number]
    size = sum(group == number for group, _ in tables.members)
    created_at = times.show(row.created_at)
    return Group(row.id, number, row.name, row.description, size, created_at)


def session_of(tables: Tables, place: Place, id: str) -> SessionRecord:
    """A session as its readers see it."""
    row = tables.sessions[(place, id)]
    records = (row.record for row in tables.memories.values())
    return SessionRecord(
        id,
        place,
        row.kind,
        copy.deepcopy(row.metadata),
        times.show(row.started_at),
        times.show_optional(row.expires_at),
        messages=sum(
            one.place == place and one.session == id and one.position is not None for one in records
        ),
    )


def profile_of(category: str, row: ProfileRow) -> Profile:
    """A profile category as its readers see it."""
    data = copy.deepcopy(row.data)
    return Profile(category, data, row.version, times.show(row.updated_at))


def past_profiles(tables: Tables, place: Place, category: str) -> list[Profile]:
    """Every version of a category."""
    present = tables.profiles.get((place, category))
    if present is None:
        return []
    past = sorted((k, row) for k, row in tables.past_profiles.items() if k[0] == present.number)
    return [profile_of(category, row) for row in (*(row for _, row in past), present)]


# -- history ---------------------------------------------------------------------------------------


def changes(tables: Tables, query: EventQuery) -> list[Change]:
    """Events with the states around them."""
    subject = None
    if query.subject is not None:
        subject = tables.row_of.get(query.subject)
        if subject is None or _record(tables, subject).place not in query.places:
            return []
    listed = [
        (number, event)
        for number, event in sorted(tables.events.items())
        if number > query.after
        and tables.places.get(event.place) in query.places
        and (query.event is None or event.id == query.event)
        and (subject is None or (event.about, event.what) == (subject, "memory"))
    ]
    return [_change(tables, query, *one) for one in listed[: query.limit]]


def _change(tables: Tables, query: EventQuery, number: int, row: EventRow) -> Change:
    states: Mapping[int, MemoryRecord] = {}
    if row.what in ("memory", "link", "member"):
        states = _states(tables, query, row.about)
    id = next(iter(states.values())).id if states else None
    version = row.version or 0
    return Change(_event(number, row, id), states.get(version - 1), states.get(version))


def _states(tables: Tables, query: EventQuery, number: int) -> dict[int, MemoryRecord]:
    """Every version of a memory that is still held."""
    row = tables.memories.get(number)
    if row is None or row.record.place not in query.places:
        return {}
    states = {
        version: handed_out(replace(state.record, place=row.record.place))
        for (about, version), state in tables.past.items()
        if about == number
    }
    return {**states, row.record.version: handed_out(row.record)}


def _event(number: int, row: EventRow, id: str | None) -> Event:
    detail: JsonObject = copy.deepcopy(row.detail or {})
    actor, reason = detail.pop("actor", None), detail.pop("reason", None)
    subject = id or "erased"
    if row.what == "place":
        subject = "place"
    elif row.what != "memory":
        named: Any = detail.get("category") or detail.get("id") or id
        subject = f"{row.what}:{named or 'erased'}"
    return Event(
        id=row.id,
        sequence=number,
        at=times.show(row.at),
        action=row.action,
        subject=subject,
        version=row.version,
        actor=actor,
        reason=reason,
        detail=detail,
        before_digest=row.before.hex() if row.before else None,
        after_digest=row.after.hex() if row.after else None,
    )


def without_vector(
    tables: Tables, spaces: Sequence[str], after: int, limit: int
) -> list[tuple[int, Place, str]]:
    """Memories without a vector in these spaces, in order of writing."""
    found = [
        (number, row.record.place, row.record.id)
        for number, row in sorted(tables.memories.items())
        if number > after and not set(spaces) & row.vectors.keys()
    ]
    return found[:limit]
