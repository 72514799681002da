"""Reading and relating memories: listings, links, trees, groups."""

from collections.abc import Sequence
from operator import attrgetter

from recollect.domain import ids
from recollect.domain.drafts import check_text
from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import (
    BATCH_ITEMS_MAX,
    LINK_DEPTH_MAX,
    LIST_LIMIT_MAX,
    TREE_DEPTH_MAX,
    at_most,
    share,
    whole,
)
from recollect.domain.operations import SetGroup, SetLink, SetMember
from recollect.domain.queries import SORTS, Scan
from recollect.domain.records import Group, Link, MemoryRecord, Page, Related, Tree
from recollect.domain.requests import Because, Listing, Selection
from recollect.domain.scopes import Scope, check_name
from recollect.engine.core import Core

NOBODY = Because()


class Relating(Core):
    """Getting, listing, linking and grouping."""

    async def get(self, scope: Scope, id: str, selection: Selection) -> MemoryRecord:
        """One memory, whatever its status, as it is or as it was."""
        record = await self._one(scope, id, selection)
        self._count_read([record])
        return record

    async def get_many(self, scope: Scope, ids: Sequence[str]) -> Sequence[MemoryRecord]:
        """Those of the memories that exist, in the order asked for."""
        at_most(len(ids), BATCH_ITEMS_MAX, name="BATCH_ITEMS_MAX", field="ids")
        found = await self._store.get(ids, self._everything(scope))
        records = [found[id] for id in ids if id in found]
        self._count_read(records)
        return records

    async def list(self, scope: Scope, listing: Listing) -> Page[MemoryRecord]:
        """One page of a listing."""
        _check_sort(listing.sort)
        scan = Scan(
            view=self._view(scope, listing.selection),
            limit=whole(listing.limit, 1, LIST_LIMIT_MAX, field="limit"),
            sort=listing.sort,
            descending=listing.descending,
            cursor=listing.cursor,
        )
        return await self._store.scan(scan)

    async def count(self, scope: Scope, selection: Selection) -> int:
        """How many memories a selection shows."""
        return await self._store.count(self._view(scope, selection))

    async def link(
        self, scope: Scope, source: str, target: str, kind: str, strength: float | None
    ) -> bool:
        """Link two memories, or unlink them with a strength of None.

        A link belongs to its source, and what is derived goes with its target: the source has to
        lie in the scope's own place, or whoever reads a shared memory could have it erased.
        """
        check_name(kind, field="kind")
        if source == target:
            raise ValidationError("a memory cannot be linked to itself", field="target")
        weight = None if strength is None else share(strength, field="strength")
        stamp = self._stamp("unlink" if strength is None else "link", NOBODY)
        op = SetLink(stamp, source, target, kind, weight, scope.places, scope.home)
        return (await self._store.apply([op]))[0]

    async def links(self, scope: Scope, id: str, kind: str | None) -> Sequence[Link]:
        """The links that start or end at a memory."""
        _check_kind(kind)
        await self._one(scope, id)
        return await self._store.links([id], scope.places, kind=kind)

    async def related(
        self, scope: Scope, id: str, *, depth: int, kind: str | None
    ) -> Sequence[Related]:
        """Memories that links lead to, in either direction, nearest and strongest first."""
        whole(depth, 1, LINK_DEPTH_MAX, field="depth")
        _check_kind(kind)
        await self._one(scope, id)
        seen, border = {id}, [id]
        reached: Sequence[Related] = ()
        for step in range(1, depth + 1):
            found = await self._store.links(border, scope.places, kind=kind)
            via: dict[str, Link] = {}
            for link in sorted(found, key=lambda link: -link.strength):
                for end in (link.source, link.target):
                    if end not in seen:
                        via.setdefault(end, link)
            records = await self._store.get(list(via), self._everything(scope))
            reached = [
                *reached,
                *(Related(records[end], via[end], step) for end in via if end in records),
            ]
            seen.update(via)
            border = list(via)
            if not border:
                break
        return reached

    async def children(
        self, scope: Scope, id: str, *, limit: int | None, sort: str, descending: bool
    ) -> Sequence[MemoryRecord]:
        """Direct children, sorted as a listing is: all of them, or the first few."""
        _check_sort(sort)
        if limit is not None:
            whole(limit, 1, LIST_LIMIT_MAX, field="limit")
        await self._one(scope, id)
        found = await self._store.children([id], scope.places)
        return _sorted(found, sort, descending=descending)[:limit]

    async def tree(self, scope: Scope, id: str, depth: int) -> Tree:
        """A memory and what hangs below it, a level at a time."""
        whole(depth, 1, TREE_DEPTH_MAX, field="depth")
        root = await self._one(scope, id)
        below: dict[str, list[MemoryRecord]] = {}
        level = [id]
        for _ in range(depth):
            children = await self._store.children(level, scope.places)
            for child in children:
                below.setdefault(str(child.parent), []).append(child)
            level = [child.id for child in children]
            if not level:
                break
        return _grown(root, below)

    async def make_group(self, scope: Scope, name: str, description: str | None) -> Group:
        """Make sure that a group exists."""
        check_name(name, field="group")
        if description is not None:
            check_text(description)
        op = SetGroup(
            self._stamp("group", NOBODY), scope.home, self._new_id(ids.GROUP), name, description
        )
        return (await self._store.apply([op]))[0]

    async def groups(self, scope: Scope) -> Sequence[Group]:
        """All groups of the scope's own place."""
        return await self._store.groups(scope.home)

    async def set_member(self, scope: Scope, group: str, id: str, *, present: bool) -> bool:
        """Put a memory into a group or take it out."""
        check_name(group, field="group")
        stamp = self._stamp("add to group" if present else "remove from group", NOBODY)
        op = SetMember(stamp, scope.home, group, id, present)
        return (await self._store.apply([op]))[0]

    async def members(self, scope: Scope, group: str) -> Sequence[MemoryRecord]:
        """The memories of a group, in the order they were added."""
        return await self._store.members(scope.home, check_name(group, field="group"))


def _check_kind(kind: str | None) -> None:
    if kind is not None:
        check_name(kind, field="kind")


def _check_sort(sort: str) -> None:
    if sort not in SORTS:
        raise ValidationError(
            f"cannot sort by {shown(sort)}; known: {', '.join(SORTS)}", field="sort"
        )


def _sorted(
    written: Sequence[MemoryRecord], sort: str, *, descending: bool
) -> Sequence[MemoryRecord]:
    """Records in order of writing as a listing sorts them: those without a value last."""
    records = written[::-1] if descending else written
    if sort == "created_at":
        return records
    value = attrgetter(sort)
    known = [record for record in records if value(record) is not None]
    known.sort(key=value, reverse=descending)
    return [*known, *(record for record in records if value(record) is None)]


def _grown(record: MemoryRecord, below: dict[str, list[MemoryRecord]]) -> Tree:
    return Tree(record, tuple(_grown(child, below) for child in below.get(record.id, ())))
