"""Living: memories that are made strong again, and those that are called back."""

from typing import Any

from recollect.domain import times
from recollect.domain.errors import ConflictError
from recollect.domain.operations import Alter, Reinforce
from recollect.domain.records import MemoryRecord, Status
from recollect.domain.reinforcing import check_factor
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.core import Core


class Living(Core):
    """Reinforcing and restoring."""

    async def reinforce(
        self, scope: Scope, id: str, factor: float | None, because: Because
    ) -> MemoryRecord:
        """Make a memory more important, at most 1, and let it fade anew from now on."""
        if factor is None:
            record = await self._one(scope, id)
            factor = self._conduct.policies.of(scope.tenant, record.kind).reinforce_factor
        stamp = self._stamp("reinforce", because)
        op = Reinforce(stamp, id, (scope.home,), check_factor(factor))
        return (await self._store.apply([op]))[0]

    async def restore(self, scope: Scope, id: str, because: Because) -> MemoryRecord:
        """Call an archived memory back: it takes part in recall again, and fades from now on."""
        record = await self._one(scope, id)
        if record.status != Status.ARCHIVED:
            raise ConflictError(f"{id} is {record.status}, not archived: nothing to restore")
        stamp = self._stamp("restore", because)
        now = times.show(stamp.at)
        changes: dict[str, Any] = {"status": Status.ACTIVE.value, "reinforced_at": now}
        if record.expires_at is not None and record.expires_at <= now:
            changes["expires_at"] = None
        expect = {"status": Status.ARCHIVED.value}
        return (await self._store.apply([Alter(stamp, id, (scope.home,), changes, expect)]))[0]
