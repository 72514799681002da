"""Reviewing: what was set apart or contradicts something, and what a person decides about it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recollect.domain import filters, times
from recollect.domain.drafts import new_record
from recollect.domain.errors import ConflictError
from recollect.domain.ids import MEMORY
from recollect.domain.limits import LIST_LIMIT_MAX, whole
from recollect.domain.operations import Alter, Operation, Remember, SetLink, Stamp
from recollect.domain.queries import Scan
from recollect.domain.records import MemoryRecord, Remembered, Review, Status
from recollect.domain.requests import Because, NewMemory, Selection
from recollect.domain.scopes import Scope
from recollect.engine.contradicting import CONTRADICTS, DISPUTED, SUPERSEDES
from recollect.engine.remembering import Remembering, inherited

_PRESENT = (Status.ACTIVE.value, Status.QUARANTINED.value)


class Reviewing(Remembering):
    """The list of what waits for a decision, and the decisions."""

    async def reviews(self, scope: Scope, limit: int) -> list[Review]:
        """What is quarantined or disputed in the scope's place, oldest first."""
        whole(limit, 1, LIST_LIMIT_MAX, field="limit")
        own = scope.narrowed(shared=False)
        set_apart = self._view(own, Selection(statuses=[Status.QUARANTINED.value]))
        disputed = replace(self._view(own), where=filters.parse({"stage": DISPUTED}))
        found: list[Review] = []
        for view in (set_apart, disputed):
            page = await self._store.scan(Scan(view, limit, descending=False))
            for memory in page.items:
                why = DISPUTED if memory.stage == DISPUTED else Status.QUARANTINED.value
                found.append(Review(memory, why, tuple(await self._contradicted(own, memory))))
        return sorted(found, key=lambda one: one.memory.id)[:limit]

    async def approve(self, scope: Scope, id: str, because: Because, *, keep: bool) -> MemoryRecord:
        """Let a memory take part in recall; what it contradicts is closed, unless `keep`."""
        memory = await self._waiting(scope, id)
        stamp = self._stamp("approve", because)
        changes: dict[str, Any] = {"status": Status.ACTIVE.value, "stage": None}
        operations: list[Operation] = [self._decided(stamp, memory, changes)]
        if not keep:
            for old in await self._contradicted(scope, memory):
                operations += self._replaced(stamp, old, memory)
        return (await self._store.apply(operations))[0]

    async def reject(self, scope: Scope, id: str, because: Because) -> MemoryRecord:
        """Put a memory aside for good; what it contradicts stays as it is."""
        memory = await self._waiting(scope, id)
        stamp = self._stamp("reject", because)
        changes: dict[str, Any] = {"status": Status.ARCHIVED.value, "stage": None}
        return (await self._store.apply([self._decided(stamp, memory, changes)]))[0]

    async def merge(self, scope: Scope, id: str, new: NewMemory, because: Because) -> Remembered:
        """One memory in place of a disputed one and all that it contradicts."""
        memory = await self._waiting(scope, id)
        others = await self._contradicted(scope, memory)
        stamp = self._stamp("merge", because)
        fields = {**inherited(memory, new.fields), **new.fields}
        now = times.show(stamp.at)
        record = new_record(self._new_id(MEMORY), scope, new.text, fields, now)
        record, treated = self._safe(replace(record, place=memory.place, session=memory.session))
        (entry,) = await self._written([new], {0: record})
        operations: list[Operation] = [Remember(self._salted(stamp), record, entry)]
        for old in (memory, *others):
            operations += self._replaced(stamp, old, record)
        jobs = self._embedding_job(record.id, record.place, entry, stamp.at)
        await self._store.apply([*operations, *jobs])
        closed = tuple(old.id for old in (memory, *others))
        durability = self._store.durability
        return Remembered(record, "stored", durability, bool(jobs), closed, treated=treated)

    async def _waiting(self, scope: Scope, id: str) -> MemoryRecord:
        """A memory of the scope's own place that waits for a decision."""
        memory = await self._one(scope.narrowed(shared=False), id)
        if memory.status != Status.QUARANTINED.value and memory.stage != DISPUTED:
            raise ConflictError(f"{id} does not wait for a decision; it is {memory.status}")
        return memory

    async def _contradicted(self, scope: Scope, memory: MemoryRecord) -> Sequence[MemoryRecord]:
        """The memories of its place that it contradicts and that are still there."""
        links = await self._store.links([memory.id], (memory.place,), kind=CONTRADICTS)
        targets = [link.target for link in links if link.source == memory.id]
        found = await self._store.get(targets, self._everything(scope))
        return [found[id] for id in targets if id in found and found[id].status in _PRESENT]

    def _decided(self, stamp: Stamp, memory: MemoryRecord, changes: dict[str, Any]) -> Alter:
        expect = {"version": memory.version}
        return Alter(self._salted(stamp), memory.id, (memory.place,), changes, expect)

    def _replaced(self, stamp: Stamp, old: MemoryRecord, new: MemoryRecord) -> list[Operation]:
        linked = SetLink(self._salted(stamp), new.id, old.id, SUPERSEDES, 1.0, (new.place,))
        return [self._closing(stamp, old, new), linked]
