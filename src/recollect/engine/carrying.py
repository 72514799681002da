"""Export, import, backup and checks: memories on the move, and proof that they are sound."""

import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain import times
from recollect.domain.drafts import check_fields, check_json, check_text
from recollect.domain.errors import ValidationError
from recollect.domain.ids import MEMORY, require
from recollect.domain.limits import METADATA_BYTES_MAX, PROFILE_BYTES_MAX, share
from recollect.domain.operations import OpenSession, Operation, Remember, SetLink, WriteProfile
from recollect.domain.records import JsonObject, MemoryRecord, Verification
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, PlaceKind, Scope, check_name
from recollect.engine.core import LOG, SALT_BYTES, Core
from recollect.engine.remembering import replace_salt
from recollect.logs import ms_since, note
from recollect.ports.store import Progress

FORMAT = "recollect-export"
FORMAT_VERSION = 1
PAGE = 500
#: Fields of a line that are restored as they were, beside what callers may set themselves.
_RESTORED = ("superseded_by", "position", "session", "reinforcements")


class Carrying(Core):
    """Moving memories in and out, and keeping them safe."""

    async def export(self, scope: Scope, *, everything: bool) -> AsyncIterator[JsonObject]:
        """Every line of an export: a header, then memories, sessions, links and profile."""
        own = scope.narrowed(shared=False)
        scopes = [own]
        if everything:
            scopes = [_scope_of(place, own) for place in await self._store.places(scope.tenant)]
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
        view, after = self._everything(scope), 0
        while True:
            listed = await self._store.entries(view, after, PAGE)
            if not listed:
                break
            for _, record in listed:
                yield {"type": "memory", **record.to_dict()}
            for link in await self._store.links([r.id for _, r in listed], scope.places):
                if any(record.id == link.source for _, record in listed):
                    yield {
                        "type": "link",
                        "source": link.source,
                        "target": link.target,
                        "kind": link.kind,
                        "strength": link.strength,
                    }
            after = listed[-1][0]

    async def import_lines(
        self, scope: Scope, lines: Sequence[JsonObject], because: Because
    ) -> JsonObject:
        """Take over lines of an export, in one transaction; ids and times stay what they were.

        Lines that are here already are counted and left; memories and people that were erased do
        not come back.
        """
        stamp = self._stamp("import", because)
        told = {"memories": 0, "links": 0, "profiles": 0, "sessions": 0, "known": 0, "erased": 0}
        erased = await self._erased(scope, lines)
        known = await self._known(scope, lines)
        operations: list[Operation] = []
        for line in lines:
            target = _target(scope, line)
            if _mentions(line, target, erased):
                told["erased"] += 1
                continue
            if line.get("type") == "memory" and line.get("id") in known:
                told["known"] += 1
                continue
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            made = self._operation(salted, target, line)
            if made is not None:
                operations.append(made)
                told[f"{line['type']}s" if line["type"] != "memory" else "memories"] += 1
        await self._embed_all(operations)
        if operations:
            await self._store.apply(_in_order(operations))
        note(LOG, logging.INFO, "imported", lines=len(lines), **told)
        return told

    def _operation(self, stamp: Any, scope: Scope, line: JsonObject) -> Operation | None:
        kind = line.get("type")
        if kind == FORMAT:
            if line.get("version") != FORMAT_VERSION:
                raise ValidationError(f"unknown export version {line.get('version')!r}")
            return None
        if kind == "memory":
            record = _record(scope, line, times.show(stamp.at))
            return Remember(stamp, record, self._entry(record.text, None))
        if kind == "session":
            data = check_json(line["metadata"], field="metadata", bytes_max=METADATA_BYTES_MAX)
            until = line.get("expires_at")
            expires = None if until is None else times.parse(until, field="expires_at")
            name = check_name(line["id"], field="session")
            return OpenSession(stamp, scope.home, name, str(line["kind"]), data, expires)
        if kind == "profile":
            data = check_json(line["data"], field="data", bytes_max=PROFILE_BYTES_MAX)
            category = check_name(line["category"], field="category")
            return WriteProfile(stamp, scope.home, category, "merge", data)
        if kind == "link":
            source = require(line["source"], MEMORY, field="source")
            target = require(line["target"], MEMORY, field="target")
            name = check_name(line["kind"], field="kind")
            strength = share(line["strength"], field="strength")
            return SetLink(stamp, source, target, name, strength, scope.places)
        raise ValidationError(f"a line of unknown type {kind!r:.80}; is this an export?")

    async def _embed_all(self, operations: list[Operation]) -> None:
        """Give the imported memories their vectors, if there is an embedder."""
        wanted = [i for i, op in enumerate(operations) if isinstance(op, Remember)]
        texts = [op.record.text for op in operations if isinstance(op, Remember)]
        made = await self._embed(texts, "passage")
        if made is None:
            return
        for index, vector in zip(wanted, made, strict=True):
            op = operations[index]
            assert isinstance(op, Remember)
            operations[index] = replace(op, entry=self._entry(op.record.text, vector))

    async def _erased(self, scope: Scope, lines: Sequence[JsonObject]) -> set[str]:
        names = {str(line["id"]) for line in lines if line.get("type") == "memory"}
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

    async def stats(self, scope: Scope) -> JsonObject:
        """Counts and sizes of the tenant's store."""
        return await self._store.stats(scope.tenant)


def _scope_of(place: Place, like: Scope) -> Scope:
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
    return _scope_of(Place(scope.tenant, app, PlaceKind(kind), name), scope)


def _person(scope: Scope) -> str:
    return f"user:{scope.home.app}/{scope.home.name}"


def _mentions(line: JsonObject, target: Scope, erased: set[str]) -> bool:
    return bool(
        erased & {str(line.get("id")), str(line.get("source")), str(line.get("target"))}
    ) or (target.home.kind is PlaceKind.USER and _person(target) in erased)


def _record(scope: Scope, line: JsonObject, now: Any) -> MemoryRecord:
    """A record from a line of an export."""
    settable = {name: line[name] for name in _SETTABLE if name in line and line[name] is not None}
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
                raise ValidationError(f"{name} must be a whole number, not {value!r}", field=name)
        else:
            check_name(value, field=name)
    return dict(restored)


def _in_order(operations: list[Operation]) -> list[Operation]:
    """Memories before links, and parents before their children."""
    memories = [op for op in operations if isinstance(op, Remember)]
    others = [op for op in operations if not isinstance(op, Remember | SetLink)]
    links = [op for op in operations if isinstance(op, SetLink)]
    return [*others, *memories, *links]


_SETTABLE = (
    *("kind", "tier", "status", "importance", "agent", "role", "speaker", "parent", "item_key"),
    *("stage", "priority", "source", "trust", "occurred_at", "valid_from", "valid_to"),
    *("expires_at", "tags", "metadata"),
)
