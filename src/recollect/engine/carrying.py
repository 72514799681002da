"""Export, import, backup and checks: memories on the move, and proof that they are sound."""

import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain import times
from recollect.domain.drafts import check_fields, check_json, check_text
from recollect.domain.errors import ContentRefused, ValidationError, shown
from recollect.domain.ids import GROUP, MEMORY, require
from recollect.domain.limits import METADATA_BYTES_MAX, PROFILE_BYTES_MAX, share
from recollect.domain.operations import (
    Alter,
    Entry,
    OpenSession,
    Operation,
    Remember,
    SetGroup,
    SetLink,
    SetMember,
    WriteProfile,
)
from recollect.domain.records import (
    TRUST_OF_SOURCE,
    JsonObject,
    MemoryRecord,
    Source,
    Verification,
)
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, PlaceKind, Scope, check_name
from recollect.engine.core import LOG, SALT_BYTES
from recollect.engine.remembering import replace_salt
from recollect.engine.safeguarding import Safeguarding
from recollect.logs import ms_since, note
from recollect.ports.store import Progress

FORMAT = "recollect-export"
FORMAT_VERSION = 1
PAGE = 500
#: Stands for an index entry until all lines of an import are read together.
NOT_YET = Entry(b"")
#: Fields of a line that are restored as they were, beside what callers may set themselves.
_RESTORED = ("superseded_by", "position", "session", "reinforcements")


class Carrying(Safeguarding):
    """Moving memories in and out, and keeping them safe."""

    async def export(self, scope: Scope, *, everything: bool) -> AsyncIterator[JsonObject]:
        """Every line of an export: a header, then memories, sessions, links and profile."""
        own = scope.narrowed(shared=False)
        scopes = [own]
        if everything:
            scopes = [scope_of(place, own) for place in await self._store.places(scope.tenant)]
        yield {"type": FORMAT, "version": FORMAT_VERSION}
        for one in scopes:
            async for line in self._export_place(one):
                yield {**line, "place": [one.home.app, one.home.kind.value, one.home.name]}

    async def _export_place(self, scope: Scope) -> AsyncIterator[JsonObject]:
        for session in reversed(await self._store.sessions(scope.home)):
            until = session.expires_at
            yield {
                "type": "session",
                "id": session.id,
                "kind": session.kind,
                "metadata": session.metadata,
                "expires_at": times.iso(until) if until else None,
            }
        for profile in await self._store.profiles(scope.home):
            yield {"type": "profile", "category": profile.category, "data": profile.data}
        seen: set[str] = set()
        async for record in self._every_record(scope):
            seen.add(record.id)
            line = {"type": "memory", **record.to_dict()}
            if record.parent not in seen:  # it comes later, and so does the line that says so
                line["parent"] = None
            yield line
        async for line in self._export_relations(scope):
            yield line

    async def _export_relations(self, scope: Scope) -> AsyncIterator[JsonObject]:
        """What refers to memories, behind all of them, so that an import finds both ends."""
        earlier: set[str] = set()
        async for record in self._every_record(scope):
            if record.parent is not None and record.parent not in earlier:
                yield {"type": "parent", "id": record.id, "parent": record.parent}
            earlier.add(record.id)
            for link in await self._store.links([record.id], scope.places):
                if record.id == link.source:
                    yield {
                        "type": "link",
                        "source": link.source,
                        "target": link.target,
                        "kind": link.kind,
                        "strength": link.strength,
                    }
        for group in await self._store.groups(scope.home):
            yield {"type": "group", "name": group.name, "description": group.description}
            for member in await self._store.members(scope.home, group.id):
                yield {"type": "member", "group": group.name, "id": member.id}

    async def _every_record(self, scope: Scope) -> AsyncIterator[MemoryRecord]:
        """Every memory of a place in the order of writing."""
        view, after = self._everything(scope), 0
        while listed := await self._store.entries(view, after, PAGE):
            for _, record in listed:
                yield record
            after = listed[-1][0]

    async def import_lines(
        self, scope: Scope, lines: Sequence[JsonObject], because: Because
    ) -> JsonObject:
        """Take over lines of an export, in one transaction; ids and times stay what they were.

        Lines that are here already are counted and left; memories and people that were erased do
        not come back; what the content policy refuses is counted and left as well.
        """
        stamp = self._stamp("import", because)
        told = dict.fromkeys((*_COUNTED.values(), "known", "erased", "refused"), 0)
        for line in lines:
            _check_line(line)
        erased = await self._erased(scope, lines)
        known = await self._known(scope, lines)
        operations: list[Operation] = []
        refused = await self._missing(scope, lines) if self._content.refuses else set[str]()
        for line in lines:
            target = _target(scope, line)
            if _mentions(line, target, erased):
                told["erased"] += 1
                continue
            if line.get("type") == "memory" and line.get("id") in known:
                told["known"] += 1
                continue
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            try:
                made = (
                    None
                    if _mentions(line, target, refused)
                    else self._operation(salted, target, line)
                )
            except ContentRefused:
                refused.update(str(line[name]) for name in ("id",) if name in line)
                told["refused"] += 1
                continue
            if made is not None:
                operations.append(made)
                told[_COUNTED[line["type"]]] += 1
        await self._index_all(operations)
        if operations:
            await self._store.apply(_in_order(operations))
        note(LOG, logging.INFO, "imported", lines=len(lines), **told)
        return told

    def _operation(self, stamp: Any, scope: Scope, line: JsonObject) -> Operation | None:
        kind = line.get("type")
        if kind == FORMAT:
            if line.get("version") != FORMAT_VERSION:
                raise ValidationError(f"unknown export version {shown(line.get('version'))}")
            return None
        if kind == "memory":
            record, _ = self._safe(_record(scope, line, times.show(stamp.at)))
            return Remember(stamp, record, NOT_YET)
        if kind == "session":
            data = check_json(line["metadata"], field="metadata", bytes_max=METADATA_BYTES_MAX)
            until = line.get("expires_at")
            expires = None if until is None else times.parse(until, field="expires_at")
            name = check_name(line["id"], field="session")
            return OpenSession(stamp, scope.home, name, str(line["kind"]), data, expires)
        if kind == "profile":
            data = check_json(line["data"], field="data", bytes_max=PROFILE_BYTES_MAX)
            data, _ = self._content.treat_data(data)
            category = check_name(line["category"], field="category")
            return WriteProfile(stamp, scope.home, category, "merge", data)
        if kind == "group":
            name = check_name(line["name"], field="name")
            return SetGroup(stamp, scope.home, self._new_id(GROUP), name, line["description"])
        if kind == "member":
            group = check_name(line["group"], field="group")
            member = require(line["id"], MEMORY, field="id")
            return SetMember(stamp, scope.home, group, member, present=True)
        if kind == "parent":
            parent = require(line["parent"], MEMORY, field="parent")
            child = require(line["id"], MEMORY, field="id")
            return Alter(stamp, child, (scope.home,), {"parent": parent})
        if kind == "link":
            source = require(line["source"], MEMORY, field="source")
            target = require(line["target"], MEMORY, field="target")
            name = check_name(line["kind"], field="kind")
            strength = share(line["strength"], field="strength")
            return SetLink(stamp, source, target, name, strength, scope.places, scope.home)
        raise ValidationError(f"a line of unknown type {shown(kind)}; is this an export?")

    async def _index_all(self, operations: list[Operation]) -> None:
        """Give the imported memories what the indexes hold of them."""
        wanted = {i: op for i, op in enumerate(operations) if isinstance(op, Remember)}
        entries = await self._entries([op.record for op in wanted.values()], {})
        for (index, op), entry in zip(wanted.items(), entries, strict=True):
            operations[index] = replace(op, entry=entry)

    async def _erased(self, scope: Scope, lines: Sequence[JsonObject]) -> set[str]:
        about = ("memory", "member", "parent")
        names = {str(line["id"]) for line in lines if line.get("type") in about}
        for end in ("source", "target"):
            names.update(str(line[end]) for line in lines if line.get("type") == "link")
        names.update(_person(_target(scope, line)) for line in lines)
        return await self._store.tombstoned(scope.tenant, sorted(names))

    async def _known(self, scope: Scope, lines: Sequence[JsonObject]) -> set[str]:
        known: set[str] = set()
        by_scope: dict[Scope, list[str]] = {}
        for line in lines:
            if line.get("type") == "memory":
                by_scope.setdefault(_target(scope, line), []).append(str(line["id"]))
        for target, names in by_scope.items():
            known.update(await self._store.get(names, self._everything(target)))
        return known

    async def _missing(self, scope: Scope, lines: Sequence[JsonObject]) -> set[str]:
        """What lines refer to and neither they nor the store hold: an earlier line was refused."""
        here = {str(line["id"]) for line in lines if line.get("type") == "memory"}
        named: dict[Scope, set[str]] = {}
        for line in lines:
            if line.get("type") in ("link", "member", "parent"):
                ends = {str(line[name]) for name in ("id", "source", "target") if name in line}
                named.setdefault(_target(scope, line), set()).update(ends - here)
        missing: set[str] = set()
        for target, ids in named.items():
            missing |= ids - set(await self._store.get(list(ids), self._everything(target)))
        return missing

    async def backup(self, path: str, progress: Progress) -> None:
        """Write a consistent copy while others go on reading and writing."""
        begun = time.perf_counter()
        sealed = await self._store.seal()
        await self._store.backup(path, progress)
        note(LOG, logging.INFO, "backed up", sealed_events=sealed, ms=ms_since(begun))

    async def verify(self, progress: Progress, *, repair: bool) -> Verification:
        """Read everything and compare it with its digests; `repair` rebuilds the index first."""
        if repair:
            rebuilt = await self._store.rebuild(self._analyser.packed, progress)
            note(LOG, logging.INFO, "index rebuilt", memories=rebuilt)
        begun = time.perf_counter()
        found = await self._store.verify(progress)
        level = logging.INFO if found.ok else logging.ERROR
        note(LOG, level, "verified", findings=len(found.findings), ms=ms_since(begun))
        return found

    async def users(self, scope: Scope) -> list[str]:
        """Everybody of the app who has memories of their own."""
        places = await self._store.places(scope.tenant)
        mine = (one for one in places if one.app == scope.app and one.kind is PlaceKind.USER)
        return sorted(place.name for place in mine)

    async def stats(self, scope: Scope) -> JsonObject:
        """Counts and sizes of the tenant's store."""
        return await self._store.stats(scope.tenant)


def scope_of(place: Place, like: Scope) -> Scope:
    """The scope whose own place this is."""
    bare = Scope(tenant=like.tenant, app=place.app, user=None, shared=False)
    if place.kind is PlaceKind.USER:
        return replace(bare, user=place.name)
    if place.kind is PlaceKind.SPACE:
        return replace(bare, space=place.name)
    return replace(bare, session=place.name) if place.kind is PlaceKind.ANONYMOUS else bare


def _target(scope: Scope, line: JsonObject) -> Scope:
    """Where a line belongs: the place it came from, for imports into a whole store."""
    place = line.get("place")
    if scope.user is not None or scope.space is not None or place is None:
        return scope.narrowed(shared=False)
    app, kind, name = place
    return scope_of(Place(scope.tenant, app, PlaceKind(kind), name), scope)


#: What a line of each type must hold.
_NEEDED = {
    FORMAT: (),
    "memory": ("id", "text"),
    "session": ("id", "kind", "metadata"),
    "profile": ("category", "data"),
    "link": ("source", "target", "kind", "strength"),
    "group": ("name", "description"),
    "member": ("group", "id"),
    "parent": ("id", "parent"),
}


def _check_line(line: JsonObject) -> None:
    kind = line.get("type")
    if not isinstance(kind, str) or kind not in _NEEDED:
        raise ValidationError(f"a line of unknown type {shown(kind)}; is this an export?")
    for name in _NEEDED[kind]:
        if name not in line:
            raise ValidationError(f"a line of type {kind} lacks its {name}", field=name)
    place = line.get("place")
    if place is not None:
        if not isinstance(place, list) or len(place) != 3 or place[1] not in list(PlaceKind):
            raise ValidationError(f"no place of an export: {shown(place)}", field="place")
        for name in (place[0], place[2]):
            if name != "" or place[1] != PlaceKind.SHARED:
                check_name(name, field="place")


def _person(scope: Scope) -> str:
    return f"user:{scope.home.app}/{scope.home.name}"


def _mentions(line: JsonObject, target: Scope, erased: set[str]) -> bool:
    return bool(
        erased & {str(line.get(name)) for name in ("id", "source", "target", "parent")}
    ) or (target.home.kind is PlaceKind.USER and _person(target) in erased)


def _record(scope: Scope, line: JsonObject, now: Any) -> MemoryRecord:
    """A record from a line of an export."""
    settable = {name: line[name] for name in _SETTABLE if name in line and line[name] is not None}
    settable.setdefault("source", Source.IMPORT.value)
    if "trust" not in settable and settable["source"] in list(Source):
        settable["trust"] = TRUST_OF_SOURCE[Source(settable["source"])].value
    restored = {name: line[name] for name in _RESTORED if line.get(name) is not None}
    learned = line.get("created_at")
    created = now if learned is None else times.show(times.parse(learned, field="created_at"))
    return MemoryRecord(
        id=require(line.get("id"), MEMORY, field="id"),
        text=check_text(line.get("text")),
        place=scope.home,
        created_at=created,
        updated_at=now,
        reinforced_at=created,
        **check_fields(settable),
        **_checked_restored(restored),
    )


def _checked_restored(restored: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in restored.items():
        if name in ("position", "reinforcements"):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValidationError(
                    f"{name} must be a whole number, not {shown(value)}", field=name
                )
        else:
            check_name(value, field=name)
    return dict(restored)


def _in_order(operations: list[Operation]) -> list[Operation]:
    """Memories before links, and parents before their children."""
    memories = [op for op in operations if isinstance(op, Remember)]
    others = [op for op in operations if not isinstance(op, (Remember, *_RELATING))]
    relations = [op for op in operations if isinstance(op, _RELATING)]
    return [*others, *memories, *relations]


_SETTABLE = (
    *("kind", "tier", "status", "importance", "agent", "role", "speaker", "parent", "item_key"),
    *("stage", "priority", "source", "trust", "occurred_at", "valid_from", "valid_to"),
    *("expires_at", "tags", "metadata", "stage_changed_at"),
)
#: What an import counts each type of line as.
_COUNTED = {
    "memory": "memories",
    "session": "sessions",
    "profile": "profiles",
    "link": "links",
    "group": "groups",
    "member": "members",
    "parent": "parents",
}
#: What refers to memories and is carried out behind them.
_RELATING = (SetLink, SetMember, Alter)
