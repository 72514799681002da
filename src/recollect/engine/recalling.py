"""Recalling: from a question to hits, and why."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recollect.domain import times
from recollect.domain.costs import Payer
from recollect.domain.errors import ValidationError
from recollect.domain.filters import All, Compare
from recollect.domain.limits import QUESTION_CHARS_MAX, RECALL_LIMIT_MAX, at_most, whole
from recollect.domain.policy import Fading
from recollect.domain.queries import Scan, Search, View
from recollect.domain.recall import Hit, Recall, Why
from recollect.domain.records import Kind, MemoryRecord
from recollect.domain.requests import Question
from recollect.domain.scopes import Scope, check_characters
from recollect.engine.core import LOG, given_vector
from recollect.engine.dating import Dating, in_its_time
from recollect.engine.safeguarding import Safeguarding
from recollect.logs import ms_since, note
from recollect.ports.store import Candidates
from recollect.retrieval.explanation import in_days, whys
from recollect.retrieval.features import standing
from recollect.retrieval.question import Cue, Understood, understand
from recollect.retrieval.ranking import Ranked, rank

NEAR_MISSES = 5
BREADTH_MIN = 200
#: Kinds of which no memory is derived from others, so that nobody needs to look.
ORIGINAL = (Kind.GENERAL.value, Kind.INTERACTION.value)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question as it is searched for."""

    asked: Understood
    limit: int
    view: View
    vector: NDArray[np.float32] | None
    space: str | None
    degraded: tuple[str, ...]

    @property
    def lanes(self) -> tuple[str, ...]:
        """What takes part."""
        return ("words",) if self.vector is None else ("words", "meaning")


class Recalling(Dating, Safeguarding):
    """Searching memories."""

    async def recall(self, scope: Scope, question: Question) -> Recall:
        """The memories that answer a question best, each with the reason."""
        begun = time.perf_counter()
        inquiry, hits, searched = await self._answered(scope, question)
        view, asked, limit = inquiry.view, inquiry.asked, inquiry.limit
        best = await self._noted(view, await self._sourced(view, hits[:limit]))
        self._count_read([hit.memory for hit in best])
        self._note_recalled(scope, [hit.memory for hit in best])
        if LOG.isEnabledFor(logging.DEBUG):
            told = {"hits": len(best), "searched": searched, "terms": len(asked.terms)}
            note(LOG, logging.DEBUG, "recalled", **told, ms=ms_since(begun))
        inferred = question.selection.as_of is None and question.selection.known_at is None
        return Recall(
            asked.text,
            tuple(best),
            tuple(_missed(hit, limit) for hit in hits[limit : limit + NEAR_MISSES]),
            searched,
            inquiry.lanes,
            inquiry.degraded,
            tuple(sorted(asked.cues)),
            tuple(map(in_days, asked.periods)),
            times.show_optional(view.as_of) if inferred else None,
            question,
        )

    async def _answered(self, scope: Scope, question: Question) -> tuple[Inquiry, list[Hit], int]:
        """All that may be hits or near misses, best first, and how many memories were searched."""
        inquiry = await self._inquiry(scope, question)
        hits, searched = await self._hits(inquiry)
        if not hits and inquiry.view.as_of is not None and question.selection.as_of is None:
            # Nobody said when the memories became true: better what is known than nothing.
            inquiry = replace(inquiry, view=self._view(scope, question.selection))
            hits, searched = await self._hits(inquiry)
        if Cue.EARLIER in inquiry.asked.cues:
            hits = await self._with_latest(scope, inquiry, hits)
        return inquiry, hits, searched

    async def _inquiry(self, scope: Scope, question: Question) -> Inquiry:
        text = _check_question(question.text)
        limit = whole(question.limit, 1, RECALL_LIMIT_MAX, field="limit")
        view = self._view(scope, question.selection)
        asked = understand(text, self._analyser, now=view.now)
        asked = replace(asked, fading=Fading(view.now, self._conduct.policies, scope.tenant))
        view = in_its_time(view, asked, question.selection)
        vector, degraded = await self._question_vector(scope, question)
        given = question.vector is not None
        space = None if vector is None else self._space(len(vector), given=given)
        asked = await self._dated(view, asked)
        return Inquiry(asked, limit, view, vector, space, degraded)

    async def _searched(self, inquiry: Inquiry) -> tuple[Candidates, Ranked]:
        """All candidates for a question, ranked."""
        vector = inquiry.vector
        search = Search(
            view=inquiry.view,
            terms=tuple(map(self._analyser.number, inquiry.asked.terms)),
            vector=None if vector is None else vector.astype("<f4").tobytes(),
            space=inquiry.space,
            breadth=max(BREADTH_MIN, 2 * inquiry.limit),
            always=standing.KINDS,
            during=_spans(inquiry.asked),
            analyse=self._analyser.packed,
        )
        found = await self._store.candidates(search)
        return found, rank(found, inquiry.asked, inquiry.limit)

    async def _hits(self, inquiry: Inquiry) -> tuple[list[Hit], int]:
        found, ranked = await self._searched(inquiry)
        first = ranked.order[: inquiry.limit + NEAR_MISSES]
        lines = [line for line in first if ranked.scores[line] > 0]
        keys = found.keys[lines].tolist()
        records = await self._records(found, keys)
        hits = [
            Hit(records[key], sum(why.shares.values()), why)
            for key, why in zip(keys, whys(found, ranked, lines, inquiry.asked), strict=True)
            if key in records
        ]
        return hits, found.total

    async def _question_vector(
        self, scope: Scope, question: Question
    ) -> tuple[np.ndarray | None, tuple[str, ...]]:
        if question.vector is not None:
            vector = given_vector(question.vector)
            if not await self._knows_dimensions(Payer.of(scope)):
                return None, ("meaning",)
            self._space(len(vector), given=True)
            return vector, ()
        made = await self._embed([question.text], "question", Payer.of(scope))
        if made is not None:
            return made[0], ()
        return None, (("meaning",) if self._embedder is not None else ())

    async def _records(self, found: Candidates, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        present = [key for key in keys if key not in found.past]
        loaded = await self._store.load(present)
        records = {key: found.past[key] for key in keys if key in found.past}
        records.update(loaded)
        return records

    # -- what was said before --------------------------------------------------------------------

    async def _with_latest(self, scope: Scope, inquiry: Inquiry, hits: Sequence[Hit]) -> list[Hit]:
        """The latest turns before what matches: each memory once, and on one scale."""
        latest = await self._latest(scope, inquiry)
        best = max((hit.score for hit in hits), default=0.0)
        known = {hit.id: hit for hit in hits}
        for place, record in enumerate(latest):
            hit = known.get(record.id) or Hit(record, 0.0, Why({}))
            share = best + 1 - place / len(latest)
            shares = {**hit.why.shares, "latest": share}
            why = replace(hit.why, shares=shares)
            known[record.id] = Hit(hit.memory, sum(shares.values()), why)
        return sorted(known.values(), key=lambda hit: -hit.score)

    async def _latest(self, scope: Scope, inquiry: Inquiry) -> list[MemoryRecord]:
        """The newest messages, of the scope's session first; any memories where there are none."""
        view = inquiry.view
        roles = _roles(inquiry.asked)
        said = Compare("role", (), "exists", True) if roles is None else roles
        turns = replace(view, where=said if view.where is None else All((view.where, said)))
        found: dict[str, MemoryRecord] = {}
        views = [replace(turns, session=scope.session)] if scope.session else []
        for one in (*views, turns):
            page = await self._store.scan(Scan(one, inquiry.limit))
            found.update((record.id, record) for record in page if record.id not in found)
        if not found:
            page = await self._store.scan(Scan(view, inquiry.limit))
            found = {record.id: record for record in page}
        return [*found.values()][: inquiry.limit]

    async def _sourced(self, view: View, hits: Sequence[Hit]) -> list[Hit]:
        """Hits with the memories that they were derived from."""
        derived = [hit.id for hit in hits if hit.memory.kind not in ORIGINAL]
        if not derived:
            return list(hits)
        sources: dict[str, list[str]] = {}
        for link in await self._store.links(derived, view.places, kind="derived_from"):
            sources.setdefault(link.source, []).append(link.target)
        return [
            replace(hit, why=replace(hit.why, sources=tuple(sorted(sources[hit.id]))))
            if hit.id in sources
            else hit
            for hit in hits
        ]


def _spans(asked: Understood) -> tuple[tuple[int, int], ...]:
    """The times that a question is about; what happened then may answer it without its words."""
    return tuple(
        (period.begins, period.ends)
        for period in asked.periods
        if period.begins is not None and period.ends is not None
    )


def _roles(asked: Understood) -> Compare | None:
    """Whose turns are asked for: one's own, the assistant's, or both."""
    if Cue.I_TOLD in asked.cues and Cue.TOLD_ME not in asked.cues:
        return Compare("role", (), "eq", "user")
    if Cue.TOLD_ME in asked.cues and Cue.I_TOLD not in asked.cues and "we" not in asked.words:
        return Compare("role", (), "eq", "assistant")
    return None


def _check_question(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValidationError(
            "the question is empty; use list() to see memories without a question", field="question"
        )
    check_characters(text, field="question")
    at_most(len(text), QUESTION_CHARS_MAX, name="QUESTION_CHARS_MAX", field="question")
    return text


def _missed(hit: Hit, limit: int) -> Hit:
    return replace(hit, why=replace(hit.why, cut=f"beyond the first {limit}"))
