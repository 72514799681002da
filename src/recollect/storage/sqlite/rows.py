"""Between rows of SQLite and records of the domain."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from recollect.domain import times
from recollect.domain.digests import checksum
from recollect.domain.records import (
    Group,
    JsonObject,
    MemoryRecord,
    Profile,
    SessionRecord,
    unpack,
)
from recollect.domain.scopes import Place, PlaceKind
from recollect.storage.sqlite.sql import first, scalar


def place_id(connection: apsw.Connection, place: Place) -> int | None:
    """The number of a place, if it holds anything."""
    key = (place.tenant, place.app, place.kind, place.name)
    return scalar(connection, "place_id", *key)


def make_place(connection: apsw.Connection, place: Place) -> int:
    """The number of a place, made if need be."""
    found = place_id(connection, place)
    if found is not None:
        return found
    key = (place.tenant, place.app, str(place.kind), place.name)
    return scalar(connection, "insert_place", *key, checksum(*key))


def place_ids(connection: apsw.Connection, places: Iterable[Place]) -> dict[int, Place]:
    """The numbers of those places that hold anything."""
    found: dict[int, Place] = {}
    for place in places:
        number = place_id(connection, place)
        if number is not None:
            found[number] = place
    return found


def place_of(connection: apsw.Connection, number: int) -> Place | None:
    """The place with a number; None when it was erased."""
    row = first(connection, "place_of_id", number)
    return None if row is None else Place(row[0], row[1], PlaceKind(row[2]), row[3])


def record_of(row: Sequence[Any], places: dict[int, Place]) -> MemoryRecord:
    """The record in a row of `memory_columns`."""
    return unpack(row[2:-1], places[row[1]], row[-1])


def session_of(row: Sequence[Any], place: Place) -> SessionRecord:
    """The session in a row."""
    id, kind, metadata, started_at, expires_at, messages = row
    return SessionRecord(
        id,
        place,
        kind,
        json.loads(metadata),
        times.show(started_at),
        times.show_optional(expires_at),
        messages,
    )


def group_of(row: Sequence[Any]) -> Group:
    """The group in a row."""
    number, id, name, description, created_at, size = row
    return Group(id, number, name, description, size, times.show(created_at))


def profile_of(category: str, data: str, version: int, updated_at: int | None) -> Profile:
    """The profile category in a row."""
    document: JsonObject = json.loads(data)
    return Profile(category, document, version, times.show_optional(updated_at))


def json_list(values: Iterable[Any]) -> str:
    """A list as SQLite's json_each reads it."""
    return json.dumps(list(values), ensure_ascii=False)
