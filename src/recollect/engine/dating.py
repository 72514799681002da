"""What a question says about time, applied: the view that answers it, the day of an event that it
names, and notes on what is no longer true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from recollect.domain import times
from recollect.domain.queries import Search, View
from recollect.domain.recall import Hit
from recollect.domain.records import MemoryRecord, Status
from recollect.domain.requests import Selection
from recollect.engine.core import Core
from recollect.retrieval.question import Cue, Edge, Period, Understood, understand
from recollect.retrieval.ranking import rank

#: Steps from a memory to what holds now: each correction of a correction is one.
CORRECTIONS_MAX = 50
#: How many of the nearest to look at for an event that a question names; words alone find it.
EVENT_BREADTH = 1


class Dating(Core):
    """Time in questions and answers."""

    async def _dated(self, view: View, asked: Understood) -> Understood:
        """A question with the day of the event that it names: "before I moved"."""
        if asked.edge is None:
            return asked
        period = await self._period_beside(view, asked.edge)
        return asked if period is None else replace(asked, periods=(*asked.periods, period))

    async def _period_beside(self, view: View, edge: Edge) -> Period | None:
        """The time before or after an event, if one memory tells all of it."""
        event = understand(edge.event, self._analyser, now=view.now)
        terms = tuple(map(self._analyser.number, event.terms))
        search = Search(view, terms, breadth=EVENT_BREADTH, analyse=self._analyser.packed)
        found = await self._store.candidates(search)
        ranked = rank(found, event, 1)
        if not len(ranked.order):
            return None
        best = ranked.order[0]
        if not (found.counts[best] > 0).all():
            return None
        moment = int(found.facets["begins"][best])
        said = f"{edge.relation} {edge.event}"
        if edge.relation == "before":
            return Period(None, moment, said, "before")
        return Period(moment + 1, None, said, "after")

    async def _noted(self, view: View, hits: Sequence[Hit]) -> list[Hit]:
        """Hits, of which those that hold no longer say so and what holds now."""
        over = [hit.id for hit in hits if view.in_the_past or _is_over(hit.memory, view.now)]
        if not over:
            return list(hits)
        today = replace(view, as_of=None, known_at=None)
        present = await self._store.get(over, today)
        successors = await self._successors(present, today)
        return [
            replace(hit, note=_note(present.get(hit.id), successors.get(hit.id), view.now))
            if hit.id in present
            else hit
            for hit in hits
        ]

    async def _successors(
        self, records: Mapping[str, MemoryRecord], view: View
    ) -> dict[str, MemoryRecord]:
        """What holds now in the place of memories that were superseded, by their ids."""
        found: dict[str, MemoryRecord] = {}
        last = dict(records)
        for _ in range(CORRECTIONS_MAX):
            wanted = {id: one.superseded_by for id, one in last.items() if one.superseded_by}
            if not wanted:
                break
            next_ones = await self._store.get(list(wanted.values()), view)
            last = {id: next_ones[to] for id, to in wanted.items() if to in next_ones}
            found.update(last)
        return found


def in_its_time(view: View, asked: Understood, selection: Selection) -> View:
    """The view that answers a question, unless its caller chose a time or a status.

    "As of May" is answered by how things stood at the end of May; a question that looks back
    sees what was true once and is not any more.
    """
    if view.in_the_past or selection.statuses is not None:
        return view
    for period in asked.periods:
        if period.relation == "as_of" and period.ends is not None and period.ends <= view.now:
            return replace(view, as_of=period.ends - 1)
    if looks_back(asked, view.now):
        return replace(view, statuses=(Status.ACTIVE.value, Status.SUPERSEDED.value))
    return view


def looks_back(asked: Understood, now: int) -> bool:
    """Whether a question is about a time that is over, or about what was replaced."""
    return (
        asked.edge is not None
        or not asked.cues.isdisjoint((Cue.INSTEAD, Cue.FIRST))
        or any(period.ends is not None and period.ends <= now for period in asked.periods)
    )


def _is_over(record: MemoryRecord, now: int) -> bool:
    over = record.valid_to is not None and times.to_micros(record.valid_to) <= now
    return over or record.superseded_by is not None


def _note(record: MemoryRecord | None, successor: MemoryRecord | None, now: int) -> str | None:
    """Until when something was true and what is now: "until 3 May 2026; now: I live in Porto."."""
    if record is None or not _is_over(record, now):
        return None
    until = f"until {times.day_of(record.valid_to)}" if record.valid_to else "no longer true"
    return until if successor is None else f"{until}; now: {successor.text}"
