"""Recalling: from a question to hits, and why."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from recollect.domain.errors import ValidationError
from recollect.domain.limits import QUESTION_CHARS_MAX, RECALL_LIMIT_MAX, at_most, whole
from recollect.domain.policy import Fading
from recollect.domain.queries import Search
from recollect.domain.recall import Hit, Recall, Why
from recollect.domain.records import MemoryRecord
from recollect.domain.requests import Question
from recollect.domain.scopes import Scope, check_characters
from recollect.engine.core import LOG, Core, given_vector
from recollect.logs import ms_since, note
from recollect.ports.store import Candidates
from recollect.retrieval.features import standing
from recollect.retrieval.question import understand
from recollect.retrieval.ranking import Ranked, rank

NEAR_MISSES = 5
BREADTH_MIN = 200


class Recalling(Core):
    """Searching memories."""

    async def recall(self, scope: Scope, question: Question) -> Recall:
        """The memories that answer a question best, each with the reason."""
        begun = time.perf_counter()
        text = _check_question(question.text)
        limit = whole(question.limit, 1, RECALL_LIMIT_MAX, field="limit")
        view = self._view(scope, question.selection)
        asked = understand(text, self._analyser, now=view.now)
        asked = replace(asked, fading=Fading(view.now, self._conduct.policies, scope.tenant))
        terms = asked.terms
        given = question.vector is not None
        vector, degraded = await self._question_vector(question)
        search = Search(
            view=view,
            terms=tuple(self._analyser.number(term) for term in terms),
            vector=None if vector is None else vector.astype("<f4").tobytes(),
            space=None if vector is None else self._space(len(vector), given=given),
            breadth=max(BREADTH_MIN, 2 * limit),
            always=standing.KINDS,
            analyse=self._analyser.packed,
        )
        found = await self._store.candidates(search)
        ranked = rank(found, asked, limit)
        chosen = [line for line in ranked.order[: limit + NEAR_MISSES] if ranked.scores[line] > 0]
        keys = found.keys[chosen].tolist()
        records = await self._records(found, keys)
        whys = _whys(found, ranked, chosen, terms)
        hits = [
            Hit(records[key], sum(why.shares.values()), why)
            for key, why in zip(keys, whys, strict=True)
            if key in records
        ]
        self._count_read([hit.memory for hit in hits[:limit]])
        if LOG.isEnabledFor(logging.DEBUG):
            told = {"hits": min(len(hits), limit), "searched": found.total, "terms": len(terms)}
            note(LOG, logging.DEBUG, "recalled", **told, ms=ms_since(begun))
        lanes = ("words",) if vector is None else ("words", "meaning")
        misses = tuple(_missed(hit, limit) for hit in hits[limit:])
        return Recall(text, tuple(hits[:limit]), misses, found.total, lanes, degraded)

    async def _question_vector(
        self, question: Question
    ) -> tuple[np.ndarray | None, tuple[str, ...]]:
        if question.vector is not None:
            vector = given_vector(question.vector)
            if not await self._knows_dimensions():
                return None, ("meaning",)
            self._space(len(vector), given=True)
            return vector, ()
        made = await self._embed([question.text], "question")
        if made is not None:
            return made[0], ()
        return None, (("meaning",) if self._embedder is not None else ())

    async def _records(self, found: Candidates, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        present = [key for key in keys if key not in found.past]
        loaded = await self._store.load(present)
        records = {key: found.past[key] for key in keys if key in found.past}
        records.update(loaded)
        return records


def _check_question(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValidationError(
            "the question is empty; use list() to see memories without a question", field="question"
        )
    check_characters(text, field="question")
    at_most(len(text), QUESTION_CHARS_MAX, name="QUESTION_CHARS_MAX", field="question")
    return text


def _whys(
    found: Candidates, ranked: Ranked, chosen: list[np.intp], terms: Sequence[str]
) -> list[Why]:
    """For each chosen candidate each feature's share, and the words of the question it holds."""
    names = list(ranked.shares)
    shares = np.stack([ranked.shares[name][chosen] for name in names], axis=1).tolist()
    held = (found.counts[chosen] > 0).tolist()
    return [
        Why(dict(zip(names, share, strict=True)), tuple(compress(terms, holds)))
        for share, holds in zip(shares, held, strict=True)
    ]


def _missed(hit: Hit, limit: int) -> Hit:
    why = Why(hit.why.shares, hit.why.words, f"beyond the first {limit}")
    return Hit(hit.memory, hit.score, why)
