"""Seals over events, checks of every digest, counts."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, replace

from recollect.domain import digests, times
from recollect.domain.limits import IDEMPOTENCY_HOURS
from recollect.domain.records import Finding, JsonObject, Verification, pack
from recollect.ports.store import Progress
from recollect.storage.memory.tables import EventRow, Tables

_REMEDY = "nothing can be restored: the store lives in memory alone"


def seal(tables: Tables) -> int:
    """Chain the events that came since the last seal; also lets old retry keys go."""
    last = max(tables.seals, default=0)
    newest = max(tables.events, default=0)
    if newest == last:
        return 0
    previous = tables.seals[last][1] if last else b""
    tables.seals[newest] = (last + 1, _sealed(tables, previous, last + 1, newest))
    oldest = tables.events[newest].at - IDEMPOTENCY_HOURS * times.HOUR
    tables.once.drop(lambda _, once: once.at < oldest)
    return newest - last


def _sealed(tables: Tables, previous: bytes, first: int, last: int) -> bytes:
    listed = (number for number in sorted(tables.events) if first <= number <= last)
    return digests.chain(previous, (_fixed_part(n, tables.events[n]) for n in listed))


def _fixed_part(number: int, event: EventRow) -> bytes:
    """An event as seals see it: everything that an erasure leaves untouched."""
    fixed = astuple(replace(event, salt=None, detail=None))
    return json.dumps([number, *(v.hex() if isinstance(v, bytes) else v for v in fixed)]).encode()


def rebuild(tables: Tables, packed: Callable[[str], bytes], progress: Progress) -> int:
    """Make every index entry anew from the texts."""
    for number, row in list(tables.memories.items()):
        tables.memories[number] = replace(row, terms=packed(row.record.spoken))
    progress("rebuilding the index", len(tables.memories), len(tables.memories))
    return len(tables.memories)


def check(tables: Tables, progress: Progress) -> Verification:
    """Compare everything that has a digest with it."""
    checked: dict[str, int] = {}
    findings: list[Finding] = []
    checks = {"seals": _check_seals, "memories": _check_memories, "profiles": _check_profiles}
    for name, run in checks.items():
        found = list(run(tables))
        checked[name] = len(found)
        findings += [finding for finding in found if finding is not None]
        progress(f"checking {name}", len(found), len(found))
    return Verification(checked, tuple(findings))


def _check_seals(tables: Tables) -> Iterator[Finding | None]:
    previous = b""
    for last, (first, stored) in sorted(tables.seals.items()):
        sound = _sealed(tables, previous, first, last) == stored
        where = f"events {first} to {last}"
        yield None if sound else Finding(where, "were altered after they were sealed", _REMEDY)
        previous = stored


def _check_memories(tables: Tables) -> Iterator[Finding | None]:
    latest = _latest(tables, "memory")
    for number, row in tables.memories.items():
        event = latest.get(number)
        sound = (
            event is not None
            and event.salt is not None
            and tables.places.get(event.place) == row.record.place
            and digests.of_packed(pack(row.record), event.salt) == event.after
        )
        subject = f"memory {row.record.id}"
        yield None if sound else Finding(subject, "is not what was written", _REMEDY)


def _check_profiles(tables: Tables) -> Iterator[Finding | None]:
    latest = _latest(tables, "profile")
    for row in tables.profiles.values():
        event = latest.get(row.number)
        sound = (
            event is not None
            and event.salt is not None
            and digests.of_data(row.data, event.salt) == event.after
        )
        subject = f"profile {row.number}"
        yield None if sound else Finding(subject, "is not what was written", _REMEDY)


def _latest(tables: Tables, what: str) -> dict[int, EventRow]:
    """The last event of each thing of a sort."""
    return {event.about: event for _, event in sorted(tables.events.items()) if event.what == what}


def stats(tables: Tables, tenant: str) -> JsonObject:
    """Counts of what a tenant holds."""
    rows = [row for row in tables.memories.values() if row.record.place.tenant == tenant]
    records = [row.record for row in rows]
    return {
        "memories": len(rows),
        "by_place": _counted(str(record.place.kind) for record in records),
        "by_kind": _counted(record.kind for record in records),
        "by_tier": _counted(record.tier for record in records),
        "by_status": _counted(record.status for record in records),
        "places": sum(place.tenant == tenant for place in tables.places.values()),
        "events": len(tables.events),
        "vectors": sum(len(row.vectors) for row in tables.memories.values()),
        "links": len(tables.links),
        "jobs": len(tables.jobs),
        "tombstones": sum(owner == tenant for owner, _ in tables.tombstones),
        "file": None,
        "file_bytes": 0,
        "schema": 0,
    }


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
