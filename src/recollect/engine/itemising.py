"""Items: a person's notes with a key, a status of their own and a priority."""

from typing import Any

from recollect.domain import filters, items, times
from recollect.domain.errors import ConflictError, NotFound, PermissionDenied, ValidationError
from recollect.domain.limits import whole
from recollect.domain.queries import Scan, View
from recollect.domain.records import MemoryRecord, Status
from recollect.domain.requests import Because, NewMemory
from recollect.domain.scopes import Scope, check_name
from recollect.engine.remembering import Remembering

ITEMS_MAX = 200


class Itemising(Remembering):
    """Creating, changing and listing items."""

    async def put_item(
        self,
        scope: Scope,
        category: str,
        key: str,
        fields: dict[str, Any],
        because: Because,
        *,
        create_only: bool,
    ) -> MemoryRecord:
        """Create an item or, unless `create_only`, change the one with this key."""
        kind, known = items.category(category)
        check_name(key, field="key")
        given = _given(kind, fields)
        found = await self._by_key(scope, kind, key)
        if found is None:
            text = given.pop("text", None)
            given.setdefault("stage", known.stages[0])
            given.setdefault("priority", known.priority)
            given["stage_changed_at"] = times.show(self._clock.now())
            stored = await self.remember(
                scope, NewMemory(text or "", {"kind": kind, "item_key": key, **given}), because
            )
            return stored.memory
        if create_only:
            raise ConflictError(f"{kind} already has an item {key!r} ({found.id}); change that one")
        return await self._changed(scope, found, given, because)

    async def change_item(
        self, scope: Scope, category: str, id: str, fields: dict[str, Any], because: Because
    ) -> MemoryRecord:
        """Change an item by its id."""
        kind, _ = items.category(category)
        return await self._changed(
            scope, await self.item(scope, category, id), _given(kind, fields), because
        )

    async def item(self, scope: Scope, category: str, id: str) -> MemoryRecord:
        """An item by its id: NotFound without one, PermissionDenied if it is somebody else's."""
        kind, _ = items.category(category)
        for place in await self._store.places(scope.tenant):
            found = await self._store.get([id], self._at(place))
            if id in found and found[id].kind == kind:
                if place != scope.home:
                    raise PermissionDenied(f"{id} belongs to somebody else")
                return found[id]
        raise NotFound(f"no {kind} with id {id}")

    async def items(
        self, scope: Scope, category: str, *, status: str | None, limit: int
    ) -> list[MemoryRecord]:
        """The items of a category: most urgent first, then the longest unchanged.

        Those that retired are shown when their status is asked for.
        """
        kind, known = items.category(category)
        whole(limit, 1, ITEMS_MAX, field="limit")
        shown = known.shown if status is None else (items.check_stage(kind, status),)
        found: list[MemoryRecord] = []
        cursor: str | None = None
        view = self._at(scope.home, {"kind": kind, "item_key": {"exists": True}})
        while True:
            page = await self._store.scan(Scan(view, 500, cursor=cursor))
            found += [
                one
                for one in page.items
                if (shown is None or one.stage in shown)
                and (status is not None or one.status != Status.ARCHIVED)
            ]
            cursor = page.cursor
            if cursor is None:
                break
        found.sort(key=urgency)
        return found[:limit]

    async def _changed(
        self, scope: Scope, found: MemoryRecord, given: dict[str, Any], because: Because
    ) -> MemoryRecord:
        moved = {name: value for name, value in given.items() if getattr(found, name) != value}
        if not moved:
            return found
        if "stage" in moved:
            moved["stage_changed_at"] = times.show(self._clock.now())
        if found.status == Status.ARCHIVED:  # it had retired, and matters again
            moved["status"] = Status.ACTIVE.value
        return await self.update(scope, found.id, moved, because, if_version=None)

    async def _by_key(self, scope: Scope, kind: str, key: str) -> MemoryRecord | None:
        view = self._at(scope.home, {"kind": kind, "item_key": key})
        page = await self._store.scan(Scan(view, 1))
        return page.items[0] if page.items else None

    def _at(self, place: Any, where: dict[str, Any] | None = None) -> View:
        return View(
            (place,),
            self._clock.now(),
            statuses=(Status.ACTIVE.value, Status.SUPERSEDED.value, Status.ARCHIVED.value),
            where=filters.parse(where),
        )


def _given(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an item that were given, under the names that a memory has for them."""
    allowed = {"content": "text", "status": "stage", "priority": "priority"}
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in allowed:
            raise ValidationError(
                f"unknown field {name!r} of an item; known: {', '.join(allowed)}", field=name
            )
        if name == "status" and value is not None:
            items.check_stage(kind, value)
        if value is not None or name == "priority":
            given[allowed[name]] = value
    return given


def urgency(item: MemoryRecord) -> tuple[Any, ...]:
    """What items are sorted by: the most urgent first, then the longest unchanged."""
    return (item.priority is None, item.priority or 0, item.updated_at, item.id)
