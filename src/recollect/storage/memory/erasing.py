"""Erasing memories and moving a person's rows: what touches every table at once."""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from recollect.domain import digests, merging, operations
from recollect.domain.filters import matches
from recollect.domain.records import pack
from recollect.domain.scopes import Place, PlaceKind
from recollect.storage.memory.modelling import forget_payer, move_payer
from recollect.storage.memory.tables import EventRow, Tables
from recollect.storage.memory.writing import write_profile


def erase(tables: Tables, op: operations.Erase) -> dict[str, int]:
    """Erase memories, and whole places, and leave tombstones. Answers with rows by table."""
    chosen = _chosen(tables, op)
    family = _spread(chosen, lambda doomed: _children(tables, doomed)) if op.cascade else chosen
    doomed = _spread(family, lambda doomed: _derived(tables, doomed))
    counts = {
        "memories": len(doomed),
        "children": len(family) - len(chosen),
        "derived": len(doomed) - len(family),
    }
    tombs = [(tables.memories[n].record.place.tenant, _id(tables, n)) for n in sorted(doomed)]
    _release_survivors(tables, op, doomed)
    _drop_rows(tables, op, doomed, counts)
    if op.everything:
        tombs += _erase_places(tables, op, counts)
    for tenant, name in tombs:
        tables.tombstones[(tenant, digests.of_name(name))] = op.stamp.at
    return {**counts, "tombstones": len(tombs)}


def _chosen(tables: Tables, op: operations.Erase) -> set[int]:
    """What was asked for."""
    own = {n: row.record for n, row in tables.memories.items() if row.record.place in op.places}
    if op.ids is not None:
        return {number for number, record in own.items() if record.id in op.ids}
    if op.everything:
        return set(own)
    where = op.where
    return set() if where is None else {n for n, record in own.items() if matches(where, record)}


def _spread(start: Set[int], reach: Callable[[Set[int]], set[int]]) -> set[int]:
    """Everything that is reached, step by step."""
    found = set(start)
    while not (further := reach(found)) <= found:
        found |= further
    return found


def _children(tables: Tables, doomed: Set[int]) -> set[int]:
    ids = {_id(tables, number) for number in doomed}
    return {number for number, row in tables.memories.items() if row.record.parent in ids}


def _derived(tables: Tables, doomed: Set[int]) -> set[int]:
    ids = {_id(tables, number) for number in doomed}
    return {
        tables.row_of[source]
        for source, kind, target in tables.links
        if kind == "derived_from" and target in ids
    }


def _id(tables: Tables, number: int) -> str:
    return tables.memories[number].record.id


def _release_survivors(tables: Tables, op: operations.Erase, doomed: Set[int]) -> None:
    """Children that stay move up to an ancestor that stays; successors that go are let go."""
    parents = {_id(tables, number): tables.memories[number].record.parent for number in doomed}
    staying = sorted(set(tables.memories) - doomed)
    for number in staying:
        above = tables.memories[number].record.parent
        if above in parents:
            while above in parents:
                above = parents[above]
            _amend(tables, op.stamp, number, parent=above)
    for number in staying:
        if tables.memories[number].record.superseded_by in parents:
            _amend(tables, op.stamp, number, superseded_by=None)


def _amend(tables: Tables, stamp: operations.Stamp, number: int, **changes: Any) -> None:
    """Change a memory that an erasure leaves behind; what it pointed to is not kept."""
    row = tables.memories[number]
    record = replace(row.record, version=row.record.version + 1, **changes)
    tables.memories[number] = replace(row, record=record)
    tables.event(
        stamp,
        tables.place(record.place),
        "memory",
        number,
        version=record.version,
        after=digests.of_packed(pack(record), stamp.salt),
        detail={"fields": sorted(changes)},
    )


def _drop_rows(
    tables: Tables, op: operations.Erase, doomed: Set[int], counts: dict[str, int]
) -> None:
    ids = {_id(tables, number) for number in doomed}
    _empty_events(tables, {n for n, one in tables.events.items() if _tells_of(one, doomed, ids)})
    # The event of the erasure itself stays: who, when and why, as the caller put it.
    for number in sorted(doomed):
        record = tables.memories[number].record
        place = tables.place(record.place)
        tables.event(op.stamp, place, "memory", number, version=record.version + 1)
    rows = [tables.memories[number] for number in doomed]
    counts["accesses"] = sum(row.record.access_count > 0 for row in rows)
    counts["vectors"] = sum(len(row.vectors) for row in rows)
    counts["versions"] = tables.past.drop(lambda key, _: key[0] in doomed)
    counts["links"] = tables.links.drop(lambda key, _: key[0] in ids or key[2] in ids)
    counts["members"] = tables.members.drop(lambda key, _: key[1] in doomed)
    counts["once"] = tables.once.drop(lambda _, once: once.row in doomed)
    counts["jobs"] = tables.jobs.drop(lambda _, job: job.memory in doomed)
    counts["marks"] = sum(len(row.marks) for row in rows)
    for number in doomed:
        tables.bear(number, ())
    tables.row_of.drop(lambda id, _: id in ids)
    tables.memories.drop(lambda number, _: number in doomed)


def _tells_of(event: EventRow, doomed: Set[int], ids: Set[str]) -> bool:
    """Whether an event is about an erased memory, or about a link that led to one."""
    if event.about in doomed and event.what in ("memory", "link", "member"):
        return True
    return event.what == "link" and (event.detail or {}).get("target") in ids


def _empty_events(tables: Tables, numbers: Set[int]) -> None:
    """Leave of events only that something happened."""
    for number in numbers:
        tables.events[number] = replace(tables.events[number], salt=None, detail=None)


def _erase_places(
    tables: Tables, op: operations.Erase, counts: dict[str, int]
) -> list[tuple[str, str]]:
    """Erase what a place holds besides memories, its name included."""
    tombs: list[tuple[str, str]] = []
    for place in op.places:
        number = tables.place_numbers.get(place)
        if number is None:
            continue
        for name, count in _clear_place(tables, place).items():
            counts[name] = counts.get(name, 0) + count
        tables.event(op.stamp, number, "place", number)
        _forget_place(tables, place)
        if place.kind is PlaceKind.USER:
            tombs.append((place.tenant, f"user:{place.app}/{place.name}"))
    return tombs


def _clear_place(tables: Tables, place: Place) -> dict[str, int]:
    groups = {number for number, group in tables.groups.items() if group.place == place}
    profiles = {row.number for key, row in tables.profiles.items() if key[0] == place}
    return {
        "members": tables.members.drop(lambda key, _: key[0] in groups),
        "groups": tables.groups.drop(lambda number, _: number in groups),
        "sessions": tables.sessions.drop(lambda key, _: key[0] == place),
        "profile_versions": tables.past_profiles.drop(lambda key, _: key[0] in profiles),
        "profiles": tables.profiles.drop(lambda key, _: key[0] == place),
        "once": tables.once.drop(lambda key, _: key[0] == place),
        "jobs": tables.jobs.drop(lambda _, job: job.place == place),
        "budgets": tables.budgets.drop(lambda key, _: key[1] == place),
        "charges": forget_payer(tables, place),
    }


def _forget_place(tables: Tables, place: Place) -> None:
    """A place that is made again under the same name is another one."""
    number = tables.place_numbers[place]
    _empty_events(tables, {n for n, event in tables.events.items() if event.place == number})
    del tables.places[number]
    del tables.place_numbers[place]


def rehome(tables: Tables, op: operations.Rehome) -> dict[str, int]:
    """Move everything of one place to another; clashing items and sessions keep both."""
    if op.origin not in tables.place_numbers:
        return {"memories": 0, "profiles": 0, "sessions": 0, "groups": 0}
    destination = tables.place(op.destination)
    counts = {
        "profiles": _unite_profiles(tables, op),
        "groups": _unite_groups(tables, op),
        "sessions": _unite_sessions(tables, op),
    }
    _free_keys(tables, op)
    moved = tables.rows_of(op.origin)
    for number in moved:
        row = tables.memories[number]
        record = replace(row.record, place=op.destination)
        tables.memories[number] = replace(row, record=record)
        digest = digests.of_packed(pack(record), op.stamp.salt)
        tables.event(op.stamp, destination, "memory", number, before=digest, after=digest)
    for number, job in list(tables.jobs.items()):
        if job.place == op.origin:
            tables.jobs[number] = replace(job, place=op.destination)
    tables.once.drop(lambda key, _: key[0] == op.origin)
    move_payer(tables, op.origin, op.destination)
    origin = tables.place_numbers[op.origin]
    tables.event(op.stamp, origin, "place", origin)
    tables.event(op.stamp, destination, "place", destination)
    _forget_place(tables, op.origin)
    return {"memories": len(moved), **counts}


def _unite_profiles(tables: Tables, op: operations.Rehome) -> int:
    """What the destination already says wins; what it does not say is taken over."""
    found = sorted(
        (category, row) for (place, category), row in tables.profiles.items() if place == op.origin
    )
    for category, row in found:
        there = tables.profiles.get((op.destination, category))
        data = row.data if there is None else merging.deep_merge(row.data, there.data)
        write_profile(
            tables, operations.WriteProfile(op.stamp, op.destination, category, "replace", data)
        )
        for version in range(1, row.version):
            del tables.past_profiles[(row.number, version)]
        del tables.profiles[(op.origin, category)]
    return len(found)


def _unite_groups(tables: Tables, op: operations.Rehome) -> int:
    moving = [(n, group) for n, group in tables.groups.items() if group.place == op.origin]
    names = {g.name: n for n, g in tables.groups.items() if g.place == op.destination}
    for number, group in moving:
        twin = names.get(group.name)
        if twin is None:
            tables.groups[number] = replace(group, place=op.destination)
            continue
        for (owner, row), added_at in list(tables.members.items()):
            if owner == number:
                del tables.members[(owner, row)]
                tables.members[(twin, row)] = added_at
        del tables.groups[number]
    return len(moving)


def _unite_sessions(tables: Tables, op: operations.Rehome) -> int:
    found = [(id, row) for (place, id), row in tables.sessions.items() if place == op.origin]
    for id, row in found:
        name, twins = id, 0
        while (op.destination, name) in tables.sessions:
            twins += 1
            counted = f" {twins}" if twins > 1 else ""
            name = f"{id} ({op.origin.name}{counted})"
        if name != id:
            for number in tables.rows_of(op.origin):
                moved = tables.memories[number]
                if moved.record.session == id:
                    record = replace(moved.record, session=name)
                    tables.memories[number] = replace(moved, record=record)
        del tables.sessions[(op.origin, id)]
        tables.sessions[(op.destination, name)] = row
    return len(found)


def _free_keys(tables: Tables, op: operations.Rehome) -> None:
    """Of two items with one key, the one that moves loses it."""
    taken = {
        (row.record.kind, row.record.item_key)
        for row in tables.memories.values()
        if row.record.place == op.destination and row.record.item_key is not None
    }
    for number in tables.rows_of(op.origin):
        record = tables.memories[number].record
        if (record.kind, record.item_key) in taken:
            _amend(tables, op.stamp, number, item_key=None)


ERASING: Mapping[type, Callable[[Tables, Any], Any]] = {
    operations.Erase: erase,
    operations.Rehome: rehome,
}
