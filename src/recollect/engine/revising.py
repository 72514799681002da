"""History and undo: what happened, and taking it back."""

from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any

from recollect.domain import ids
from recollect.domain.consolidation import DERIVED
from recollect.domain.errors import ConflictError, NotFound
from recollect.domain.limits import INTEGER_MAX, LIST_LIMIT_MAX, VERSIONS_READ_MAX, whole
from recollect.domain.operations import Alter, Operation, SetLink, Stamp, WriteProfile
from recollect.domain.queries import EventQuery
from recollect.domain.records import Change, MemoryRecord, Status
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.core import SALT_BYTES
from recollect.engine.deriving import Deriving
from recollect.engine.remembering import replace_salt

#: Fields that a change always moves and an undo never moves back.
_MOVING = frozenset({"version", "updated_at", "access_count", "place", "id", "created_at"})


class Revising(Deriving):
    """Looking back and taking back."""

    async def history(self, scope: Scope, id: str) -> list[Change]:
        """What happened to a memory, oldest first, with the states before and after."""
        await self._one(scope, id)
        query = EventQuery(scope.places, subject=id, limit=VERSIONS_READ_MAX)
        return await self._store.changes(query)

    async def events(self, scope: Scope, after: int, limit: int) -> list[Change]:
        """What happened in a scope after an event, oldest first."""
        whole(after, 0, INTEGER_MAX, field="after")
        whole(limit, 1, LIST_LIMIT_MAX, field="limit")
        return await self._store.changes(EventQuery(scope.places, after=after, limit=limit))

    async def undo(self, scope: Scope, event: str, because: Because) -> list[MemoryRecord]:
        """Take back what an event did to the memories of this scope; itself an event.

        What was remembered is archived, what was changed gets its former values, a correction is
        reopened, a link is set or dropped. Whatever was changed again since is a conflict; what
        was erased cannot come back.
        """
        ids.require(event, ids.EVENT, field="event")
        changes = await self._store.changes(EventQuery((scope.home,), event=event))
        if not changes:
            raise NotFound(f"no event {event} in this scope, or its content was erased")
        stamp = self._stamp("undo", because)
        operations: list[Operation] = []
        for change in reversed(changes):
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            operations += await self._reversal(scope, change, salted)
        changed = [change.after.id for change in changes if change.after is not None]
        operations += await self._outdated(scope, changed)
        answers = await self._store.apply(operations)
        return [answer for answer in answers if isinstance(answer, MemoryRecord)]

    async def _reversal(self, scope: Scope, change: Change, stamp: Stamp) -> list[Operation]:
        what = change.event.subject.partition(":")[0]
        if what == "link" and change.event.detail.get("kind") == DERIVED:
            return []  # what it was made of stays known: who forgets that, forgets this too
        if what == "link":
            return [_link_reversal(scope, change, stamp)]
        if what == "profile":
            return [await self._profile_reversal(scope, change, stamp)]
        if change.after is None:
            raise ConflictError(
                f"{change.event.id} ({change.event.action}) cannot be taken back: "
                "its content is gone or it changed nothing that has a former value"
            )
        return [await self._memory_reversal(scope, change, change.after, stamp)]

    async def _memory_reversal(
        self, scope: Scope, change: Change, after: MemoryRecord, stamp: Stamp
    ) -> Operation:
        where = (scope.home,)
        present = await self._one(scope, after.id)
        if change.before is None:
            wanted: dict[str, Any] = {"status": Status.ARCHIVED.value}
        else:
            moved = _differences(change.before, after)
            for name in moved:
                if getattr(present, name) != getattr(after, name):
                    raise ConflictError(
                        f"{after.id}: {name} was changed again after {change.event.id}; "
                        "take that back first"
                    )
            wanted = {name: getattr(change.before, name) for name in moved}
        entry = None
        if "text" in wanted or "speaker" in wanted:
            entry = await self._entry(replace(present, **wanted))
        return Alter(stamp, after.id, where, wanted, {"version": present.version}, entry)

    async def _profile_reversal(self, scope: Scope, change: Change, stamp: Stamp) -> Operation:
        category = change.event.subject.partition(":")[2]
        versions = {
            one.version: one for one in await self._store.past_profiles(scope.home, category)
        }
        made = change.event.version or 0
        if made not in versions or max(versions) != made:
            raise ConflictError(
                f"{category} was changed again after {change.event.id}; take that back first"
            )
        before = versions[made - 1].data if made - 1 in versions else {}
        return WriteProfile(stamp, scope.home, category, "replace", before, (), made)


def _link_reversal(scope: Scope, change: Change, stamp: Stamp) -> Operation:
    detail = change.event.detail
    if "target" not in detail:
        raise ConflictError(f"{change.event.id} cannot be taken back: its content was erased")
    source = change.event.subject.partition(":")[2]
    ends = (source, detail["target"])
    return SetLink(stamp, *ends, detail["kind"], detail["before"], scope.places, scope.home)


def _differences(before: MemoryRecord, after: MemoryRecord) -> list[str]:
    names = [field.name for field in dataclass_fields(MemoryRecord) if field.name not in _MOVING]
    return [name for name in names if getattr(before, name) != getattr(after, name)]
