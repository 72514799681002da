"""Explaining: why a memory is not among the hits of a question."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.domain.queries import View
from recollect.domain.recall import Hit, Obstacle, Reason, WhyNot
from recollect.domain.records import MemoryRecord
from recollect.domain.requests import Question
from recollect.domain.scopes import Scope
from recollect.engine.recalling import Inquiry, Recalling
from recollect.ports.store import Candidates
from recollect.retrieval.explanation import kept_out, not_among, whys
from recollect.retrieval.ranking import Ranked

#: Candidates that are read at a time while one of them is looked for.
READ_AT_ONCE = 500


class Explaining(Recalling):
    """Answers about answers."""

    async def why_not(self, scope: Scope, question: Question, id: str) -> WhyNot:
        """What keeps a memory from being a hit of a question."""
        inquiry, hits, _ = await self._answered(scope, question)
        text, view, limit = inquiry.asked.text, inquiry.view, inquiry.limit
        needed = hits[limit - 1].score if len(hits) >= limit else None
        for place, hit in enumerate(hits[:limit], start=1):
            if hit.id == id:
                return WhyNot(text, id, (), place, hit, needed)
        today = replace(view, as_of=None, known_at=None)
        present = (await self._store.get([id], today)).get(id)
        if present is None:
            return WhyNot(text, id, (await self._unseen(scope, id),))
        successor = (await self._successors({id: present}, today)).get(id)
        reasons = tuple(kept_out(await self._as_judged(present, view), view))
        if reasons:
            return WhyNot(text, id, reasons, needed=needed, superseded_by=successor)
        reason, rank, near = await self._outranked(inquiry, present, hits[:limit])
        return WhyNot(text, id, (reason,), rank, near, needed, successor)

    async def _unseen(self, scope: Scope, id: str) -> Reason:
        if id in await self._store.tombstoned(scope.tenant, [id]):
            return Reason(Obstacle.ERASED, "It was erased, and nothing of it is left")
        return Reason(Obstacle.UNKNOWN, "This scope sees no memory with this id")

    async def _as_judged(self, present: MemoryRecord, view: View) -> MemoryRecord:
        """A memory as a view judges it: as it is, or as it was known at a moment."""
        if view.known_at is None:
            return present
        return (await self._store.get([present.id], view)).get(present.id, present)

    async def _outranked(
        self, inquiry: Inquiry, record: MemoryRecord, hits: Sequence[Hit]
    ) -> tuple[Reason, int | None, Hit | None]:
        """What is said of a memory that the view shows: it does not match, or not well enough."""
        found, ranked = await self._searched(inquiry)
        place = await self._place(found, ranked, record.id)
        if place is None:
            return not_among(inquiry.asked.terms, inquiry.lanes), None, None
        line = ranked.order[place]
        why = whys(found, ranked, [line], inquiry.asked)[0]
        hit = Hit(record, sum(why.shares.values()), why)
        if ranked.scores[line] <= 0:
            said = "It matches no better than any other memory does, so it has no score"
            return Reason(Obstacle.THRESHOLD, said), None, hit
        number = place + 1
        if hits:
            last = hits[-1].score
            said = (
                f"It is number {number} of all that match, and {inquiry.limit} were asked for: "
                f"its score is {hit.score:.2f}, that of the last hit {last:.2f}"
            )
        else:
            said = f"It is number {number} of all that match"
        return Reason(Obstacle.BUDGET, said), number, hit

    async def _place(self, found: Candidates, ranked: Ranked, id: str) -> int | None:
        """Where in the order of candidates a memory stands."""
        keys = found.keys[ranked.order].tolist()
        for start in range(0, len(keys), READ_AT_ONCE):
            part = keys[start : start + READ_AT_ONCE]
            records = await self._records(found, part)
            for place, key in enumerate(part, start):
                if key in records and records[key].id == id:
                    return place
        return None
