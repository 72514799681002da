"""Erasing memories and moving a person's rows: what touches every table at once."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from recollect.domain import digests, merging, operations
from recollect.domain.filters import matches
from recollect.domain.records import JsonObject, pack
from recollect.domain.scopes import Place, PlaceKind
from recollect.storage.sqlite import rows, sealing
from recollect.storage.sqlite.writing import Transaction, find_group, read_row, write_profile

_HANGING = (
    "accesses",
    "vectors",
    "unsealed",
    "versions",
    "links",
    "members",
    "once",
    "jobs",
    "marks",
)
_OF_PLACE = (
    "place_members",
    "place_groups",
    "place_sessions",
    "place_profile_versions",
    "place_profiles",
    "place_once",
    "place_jobs",
    "place_budgets",
    "place_charges",
    "place_segments",
    "place_unsealed",
    "place_marks",
)


def erase(tx: Transaction, op: operations.Erase) -> dict[str, int]:
    """Erase memories, and whole places, and leave tombstones. Answers with rows by table."""
    tx.run("make_doomed")
    tx.run("clear_doomed")
    _collect(tx, op)
    chosen = tx.scalar("doomed_count")
    if op.cascade:
        _spread(tx, "doom_children")
    beyond = tx.scalar("doomed_count")
    _spread(tx, "doom_derived")
    counts = {"memories": tx.scalar("doomed_count")}
    counts["children"] = beyond - chosen
    counts["derived"] = counts["memories"] - beyond
    _release_survivors(tx, op)
    _drop_rows(tx, op, counts)
    tombs = _names(tx)
    if op.everything:
        tombs += _erase_places(tx, op, counts)
    for tenant, name in tombs:
        values = (digests.of_name(name), tenant, op.stamp.at)
        tx.run("insert_tombstone", *values, digests.checksum(*values))
    counts["tombstones"] = len(tombs)
    tx.run("clear_doomed")
    return counts


def _collect(tx: Transaction, op: operations.Erase) -> None:
    """Put what was asked for into the temporary table."""
    numbers = rows.place_ids(tx.connection, op.places)
    if op.ids is not None:
        tx.run("doom_ids", rows.json_list(op.ids), rows.json_list(numbers))
    elif op.everything:
        for number in numbers:
            tx.run("doom_place", number)
    elif op.where is not None:
        chosen: list[int] = []
        for number in numbers:
            for (row,) in tx.query("rows_of_place", number):
                if matches(op.where, read_row(tx, row)[1]):
                    chosen.append(row)
        tx.run("doom_rows", rows.json_list(chosen))


def _spread(tx: Transaction, name: str) -> None:
    """Repeat until nothing more is reached."""
    while True:
        before = tx.scalar("doomed_count")
        tx.run(name)
        if tx.scalar("doomed_count") == before:
            return


def _release_survivors(tx: Transaction, op: operations.Erase) -> None:
    """Children that stay move up to an ancestor that stays; successors that go are let go."""
    doomed = {id for _, id, _ in tx.query("doomed_rows")}
    for row, parent in tx.query("orphans"):
        above: str | None = parent
        while above is not None and above in doomed:
            above = tx.scalar("parent_of", above)
        _amend(tx, op.stamp, row, parent=above)
    for (row,) in tx.query("pointing_at_doomed"):
        _amend(tx, op.stamp, row, superseded_by=None)


def _amend(tx: Transaction, stamp: operations.Stamp, row: int, **changes: Any) -> None:
    """Change a memory that an erasure leaves behind; what it pointed to is not kept."""
    _, old = read_row(tx, row)
    new = replace(old, version=old.version + 1, **changes)
    packed = pack(new)
    tx.run("update_memory", *packed, row)
    tx.event(
        stamp,
        tx.place(new.place),
        "memory",
        row,
        version=new.version,
        after=digests.of_packed(packed, stamp.salt),
        detail={"fields": sorted(changes)},
    )


def _drop_rows(tx: Transaction, op: operations.Erase, counts: dict[str, int]) -> None:
    tx.run("erase_event_details")
    tx.run("erase_event_targets")
    # The event of the erasure itself stays: who, when and why, as the caller put it.
    for place, row, version in _doomed_versions(tx):
        tx.event(op.stamp, place, "memory", row, version=version)
    for place, listed in tx.query("doomed_by_place"):
        sealing.drop_rows(tx.connection, place, json.loads(listed))
    for table in _HANGING:
        tx.run(f"erase_{table}")
        counts[table] = tx.connection.changes()
    tx.run("erase_memories")


def _doomed_versions(tx: Transaction) -> Iterable[tuple[int, int, int]]:
    for row, _, place in tx.query("doomed_rows"):
        yield place, row, read_row(tx, row)[1].version + 1


def _names(tx: Transaction) -> list[tuple[str, str]]:
    named: list[tuple[str, str]] = []
    tenants: dict[int, str] = {}
    for _, id, place in tx.query("doomed_rows"):
        if place not in tenants:
            found = rows.place_of(tx.connection, place)
            assert found is not None
            tenants[place] = found.tenant
        named.append((tenants[place], id))
    return named


def _erase_places(
    tx: Transaction, op: operations.Erase, counts: dict[str, int]
) -> list[tuple[str, str]]:
    """Erase what a place holds besides memories, its name included."""
    tombs: list[tuple[str, str]] = []
    for number, place in rows.place_ids(tx.connection, op.places).items():
        tx.run("erase_place_event_details", number)
        for table in _OF_PLACE:
            tx.run(f"erase_{table}", number)
            name = table.removeprefix("place_")
            counts[name] = counts.get(name, 0) + tx.connection.changes()
        tx.event(op.stamp, number, "place", number)
        tx.run("delete_place", number)
        tx.place_numbers.pop(place, None)
        if place.kind is PlaceKind.USER:
            tombs.append((place.tenant, user_name(place)))
    return tombs


def user_name(place: Place) -> str:
    """The name under which a tombstone knows a user."""
    return f"user:{place.app}/{place.name}"


def rehome(tx: Transaction, op: operations.Rehome) -> dict[str, int]:
    """Move everything of one place to another; clashing items and sessions keep both."""
    origin = rows.place_id(tx.connection, op.origin)
    if origin is None:
        return {"memories": 0, "profiles": 0, "sessions": 0, "groups": 0}
    destination = tx.place(op.destination)
    counts = {
        "profiles": _unite_profiles(tx, op, origin),
        "groups": _unite_groups(tx, origin, destination),
        "sessions": _unite_sessions(tx, op, origin, destination),
    }
    for (row,) in tx.query("clashing_keys", origin, destination):
        _amend(tx, op.stamp, row, item_key=None)
    moved = [row for (row,) in tx.query("rows_of_place", origin)]
    for name in ("memories", "unsealed", "segments", "versions", "jobs", "marks", "charges"):
        tx.run(f"move_{name}", origin, destination)
    for row in moved:
        packed = pack(read_row(tx, row)[1])
        digest = digests.of_packed(packed, op.stamp.salt)
        tx.event(op.stamp, destination, "memory", row, before=digest, after=digest)
    tx.run("erase_place_once", origin)
    tx.run("erase_place_budgets", origin)
    tx.event(op.stamp, origin, "place", origin)
    tx.event(op.stamp, destination, "place", destination)
    tx.run("erase_place_event_details", origin)
    tx.run("delete_place", origin)
    tx.place_numbers.pop(op.origin, None)
    return {"memories": len(moved), **counts}


def _unite_profiles(tx: Transaction, op: operations.Rehome, origin: int) -> int:
    """What the destination already says wins; what it does not say is taken over."""
    found = tx.query("profiles_of_place", origin)
    for _, category, text, _, _ in found:
        there = tx.first("get_profile", tx.place(op.destination), category)
        data: JsonObject = json.loads(text)
        if there is not None:
            data = merging.deep_merge(data, json.loads(there[1]))
        write_profile(
            tx, operations.WriteProfile(op.stamp, op.destination, category, "replace", data)
        )
    tx.run("erase_place_profile_versions", origin)
    tx.run("erase_place_profiles", origin)
    return len(found)


def _unite_groups(tx: Transaction, origin: int, destination: int) -> int:
    found = tx.query("groups_to_move", origin)
    for number, id, name, description, created_at in found:
        twin = tx.first("group_by_name", destination, name)
        if twin is None:
            values = (id, destination, name, description, created_at)
            tx.run("move_group", destination, digests.checksum(*values), number)
        else:
            tx.run("move_members", number, find_group(tx.connection, destination, twin[1])[0])
            tx.run("drop_members", number)
            tx.run("drop_group", number)
    return len(found)


def _unite_sessions(tx: Transaction, op: operations.Rehome, origin: int, destination: int) -> int:
    found = tx.query("sessions_to_move", origin)
    for number, id, *rest in found:
        name, twins = id, 0
        while tx.first("get_session", destination, name) is not None:
            twins += 1
            counted = f" {twins}" if twins > 1 else ""
            name = f"{id} ({op.origin.name}{counted})"
        total = digests.checksum(destination, name, *rest)
        tx.run("rename_session", destination, name, total, number)
        if name != id:
            tx.run("rename_session_of_memories", origin, id, name)
    return len(found)


ERASING: dict[type, Callable[[Transaction, Any], Any]] = {
    operations.Erase: erase,
    operations.Rehome: rehome,
}
