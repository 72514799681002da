"""Summaries follow what they summarise: what is changed is not told by an old summary any more."""

from collections.abc import Collection, Sequence

from recollect.domain.operations import Erase, Operation
from recollect.domain.records import Kind
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.core import Core

DERIVED_FROM = "derived_from"
#: A summary tells of these fields of its sources.
TOLD = frozenset({"text", "status", "speaker", "role", "valid_to", "expires_at"})


class Deriving(Core):
    """Keeping what is derived in step."""

    async def _outdated(
        self, scope: Scope, ids: Sequence[str], changed: Collection[str] = TOLD
    ) -> list[Operation]:
        """Erases the summaries of memories whose fields are changed, and what is made of them.

        An erasure takes what is derived along by itself; a change has to say so.
        """
        if TOLD.isdisjoint(changed):
            return []
        links = await self._store.links(ids, (scope.home,), kind=DERIVED_FROM)
        derived = sorted({link.source for link in links} - set(ids))
        if not derived:
            return []
        found = await self._store.get(derived, self._everything(scope))
        summaries = tuple(id for id, one in found.items() if one.kind == Kind.SUMMARY)
        if not summaries:
            return []
        stamp = self._stamp("erase", Because())
        return [Erase(stamp, (scope.home,), summaries, cascade=False)]
