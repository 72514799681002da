"""Forgetting: erasure with a receipt, and moving a person's memories to another name."""

import logging
from collections.abc import Mapping

from recollect.domain import filters, ids, times
from recollect.domain.errors import NotFound, ValidationError
from recollect.domain.operations import Erase, Rehome
from recollect.domain.records import Receipt
from recollect.domain.requests import Because, Forgetting
from recollect.domain.scopes import PlaceKind, Scope
from recollect.engine.core import LOG, Core
from recollect.logs import note


class Erasing(Core):
    """Erasing and moving."""

    async def forget(self, scope: Scope, what: Forgetting, because: Because) -> Receipt:
        """Erase memories with every trace of them, and say what was erased.

        Rows, index entries, vectors, versions, links, memberships, jobs and the content of events
        go in one transaction; then the write-ahead log is emptied. The receipt is `complete` when
        nothing was in the way of that.
        """
        wanted = None
        if what.ids is not None:
            wanted = tuple(ids.require(one, ids.MEMORY, field="id") for one in what.ids)
            await self._require_all(scope, wanted)
        where = filters.parse(what.where)
        if sum((wanted is not None, where is not None, what.everything)) != 1:
            raise ValidationError(
                "say what to forget: one or more ids, a filter, or everything", field="forget"
            )
        stamp = self._stamp("erase", because)
        op = Erase(stamp, (scope.home,), wanted, where, what.everything, what.cascade)
        counts: Mapping[str, int] = (await self._store.apply([op]))[0]
        self._touched = {id: n for id, n in self._touched.items() if id not in set(wanted or ())}
        complete = await self._store.scrub()
        rows = {
            name: count
            for name, count in counts.items()
            if name not in ("derived", "children", "tombstones")
        }
        receipt = Receipt(
            id=self._new_id(ids.RECEIPT),
            at=times.show(stamp.at),
            erased=rows,
            derived=counts["derived"],
            complete=complete,
            tombstones=counts["tombstones"],
        )
        gone = rows.get("memories", 0)
        note(LOG, logging.INFO, "erased", receipt=receipt.id, memories=gone, complete=complete)
        return receipt

    async def _require_all(self, scope: Scope, wanted: tuple[str, ...]) -> None:
        if not wanted:
            raise ValidationError("the list of ids is empty", field="id")
        own = scope.narrowed(shared=False)
        found = await self._store.get(wanted, self._everything(own))
        missing = [id for id in wanted if id not in found]
        if missing:
            raise NotFound(f"no memory {missing[0]} in this scope; nothing was erased")

    async def merge_users(self, scope: Scope, origin: Scope, because: Because) -> Mapping[str, int]:
        """Move everything of one person's place to another's, for instance after a sign-in.

        Where both say something about the same profile key, the destination's word stands.
        """
        if origin.home == scope.home:
            raise ValidationError("both are the same place: nothing to merge", field="origin")
        if scope.home.kind is not PlaceKind.USER:
            raise ValidationError("memories are merged into a user's place", field="scope")
        op = Rehome(self._stamp("merge", because), origin.home, scope.home)
        counts: Mapping[str, int] = (await self._store.apply([op]))[0]
        await self._store.scrub()
        return counts
