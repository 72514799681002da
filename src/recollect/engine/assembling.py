"""Contexts: what one model call is sent, from the conversation, the profile and recall."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial

from recollect.context.assembly import Count, Material, Said, assemble, data_piece
from recollect.context.profile import focus, focus_line, profile_lines
from recollect.context.quoting import Line, dated, digest, entry, indented
from recollect.domain import filters, times
from recollect.domain.context import Context, Injected, LeftOut, Section
from recollect.domain.limits import (
    CONTEXT_TOKENS_MAX,
    QUESTION_CHARS_MAX,
    RECALL_LIMIT_MAX,
    whole,
)
from recollect.domain.queries import Scan, View
from recollect.domain.recall import Hit
from recollect.domain.records import Kind, MemoryRecord, Status, Trust
from recollect.domain.requests import Packing, Question
from recollect.domain.scopes import PlaceKind, Scope
from recollect.engine.core import LOG
from recollect.engine.itemising import ITEMS_MAX
from recollect.engine.recalling import Recalling
from recollect.engine.summarising import Summarising, Talk
from recollect.logs import ms_since, note

#: Kinds of memories that state something; the others are shown as what was said.
FACT_KINDS = frozenset(
    {Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.FILE_CHANGE, Kind.INSTRUCTION}
)
INSTRUCTIONS_MAX = 10
#: How many hits are asked for: some of them the window holds already.
BREADTH = 50
CONTRADICTS = "contradicts"
FOCUS_CATEGORY = "areas_to_improve"
DONE_STAGES = frozenset({"mastered", "archived", "outdated"})
BELOW = "far below the best hit"
BEYOND = "beyond the limit"


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled for a call, what was found and is not shown, and what could not help."""

    records: tuple[MemoryRecord, ...] = ()
    facts: tuple[Line, ...] = ()
    memories: tuple[Line, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    degraded: tuple[str, ...] = ()


class Assembling(Recalling, Summarising):
    """Assembling contexts."""

    async def context(self, scope: Scope, asked: Packing) -> Context:
        """All that one model call is sent, within a budget of tokens.

        The conversation is the one of the scope's session. Memories are recalled for the last
        message if it is the user's, and only those that the window does not hold yet.
        """
        begun = time.perf_counter()
        model = asked.model or self._rules.model
        budget = self._rules.tokens_of(model) if asked.tokens_max is None else asked.tokens_max
        whole(budget, 1, CONTEXT_TOKENS_MAX, field="tokens_max")
        # Most texts are counted more than once in a call: for what is needed, and for what fits.
        count = cache(partial(self._tokens, model))
        injected, withdrawn = await self._still_shown(scope, asked.after, count)
        material = Material(
            current=Said("user", asked.question or "", 0),
            system=asked.system or "",
            profile=await self._profile_lines(scope),
            instructions=await self._instructions(scope),
            injected=injected,
            documents=[_document(name, text) for name, text in asked.documents.items()],
        )
        talk = await self._talk(scope, asked.question, material, budget, count)
        recalled = await self._recalled(scope, asked, talk)
        material = replace(talk.material, facts=recalled.facts, memories=recalled.memories)
        if scope.session is None:  # the caller's own window holds what was shown before
            packed = assemble(replace(material, injected=()), budget, self._rules.recent, count)
            packed.injected[:0] = injected
        else:
            packed = assemble(material, budget, self._rules.recent, count)
        sent = {id for piece in packed.pieces for id in piece.shows}
        if LOG.isEnabledFor(logging.DEBUG):
            told = {"tokens": sum(piece.tokens for piece in packed.pieces), "tokens_max": budget}
            note(LOG, logging.DEBUG, "assembled", **told, ms=ms_since(begun))
        return Context(
            question=talk.asked,
            messages=tuple(packed.pieces),
            tokens_max=budget,
            model=model,
            counted=self._counted(model, "").method,
            memories=tuple(one for one in recalled.records if one.id in sent),
            left_out=(*packed.left_out, *recalled.left_out),
            degraded=(*talk.degraded, *recalled.degraded),
            withdrawn=withdrawn,
            injected=tuple(packed.injected),
        )

    # -- what stands before the conversation -----------------------------------------------------

    async def _profile_lines(self, scope: Scope) -> list[Line]:
        """The person's own profile, and what to work on; nothing for a scope of nobody's."""
        if scope.home.kind is not PlaceKind.USER:
            return []
        profiles = await self._store.profiles(scope.home)
        lines = [Line("", entry(line), "") for line in profile_lines(profiles)]
        found = await self.items(scope, FOCUS_CATEGORY, status=None, limit=ITEMS_MAX)
        chosen = focus([one for one in found if one.stage not in DONE_STAGES and _own(one)])
        return [*lines, *(Line(one.id, focus_line(one), digest(one)) for one in chosen)]

    async def _instructions(self, scope: Scope) -> list[Line]:
        """What the person asked for in general, oldest first, so that new ones go last."""
        view = View(
            places=(scope.home,),
            now=self._clock.now(),
            where=filters.parse({"kind": Kind.INSTRUCTION.value}),
        )
        page = await self._store.scan(Scan(view, INSTRUCTIONS_MAX))
        return [dated(one) for one in reversed(page.items) if _own(one)]

    async def _still_shown(
        self, scope: Scope, after: Context | None, count: Count
    ) -> tuple[list[Injected], tuple[str, ...]]:
        """What earlier contexts injected and may still be shown; and the ids of what may not."""
        if after is None or not after.injected:
            return [], ()
        shown = [id for one in after.injected for id in one.piece.shows]
        found = await self._store.get(list(dict.fromkeys(shown)), self._everything(scope))
        now = times.show(self._clock.now())
        kept: list[Injected] = []
        withdrawn: list[str] = []
        for one in after.injected:
            as_was = dict(zip(one.piece.shows, one.digests, strict=True))
            stay = [
                found[id]
                for id, was in as_was.items()
                if id in found and _visible(found[id], now) and digest(found[id]) == was
            ]
            withdrawn += [id for id in as_was if id not in {record.id for record in stay}]
            if len(stay) == len(as_was):
                kept.append(one)
            elif stay:
                lines = [dated(record) for record in stay]
                piece = data_piece(Section(one.piece.section), lines, count)
                kept.append(Injected(one.position, piece, tuple(line.digest for line in lines)))
        return kept, tuple(withdrawn)

    # -- recall ----------------------------------------------------------------------------------

    async def _recalled(self, scope: Scope, asked: Packing, talk: Talk) -> Recalled:
        """The memories that the last message asks for and that the window does not hold."""
        limit = self._rules.limit if asked.limit is None else asked.limit
        whole(limit, 0, RECALL_LIMIT_MAX, field="limit")
        if talk.asked is None or not talk.asked.strip() or limit == 0:
            return Recalled()
        text = talk.asked[:QUESTION_CHARS_MAX]
        found = await self.recall(scope, Question(text, BREADTH + limit, vector=asked.vector))
        held = {one.id for one in (*talk.material.history, talk.material.current)}
        held |= {id for one in talk.material.injected for id in one.piece.shows}
        held |= {line.id for line in (*talk.material.instructions, *talk.material.profile)}
        new = [hit for hit in found if hit.id not in held]
        chosen, left_out = self._chosen(new, limit)
        lines, records = await self._lines_of(scope, chosen)
        facts = {record.id for record in records if record.kind in FACT_KINDS}
        return Recalled(
            tuple(records),
            tuple(line for line in lines if line.id in facts),
            tuple(line for line in lines if line.id not in facts),
            tuple(left_out),
            found.degraded,
        )

    def _chosen(self, hits: Sequence[Hit], limit: int) -> tuple[list[MemoryRecord], list[LeftOut]]:
        """The best facts and the best other memories; why the others are left out."""
        floor = self._rules.floor * max((hit.score for hit in hits), default=0.0)
        room = {True: self._rules.facts, False: limit}
        chosen: list[MemoryRecord] = []
        left_out: list[LeftOut] = []
        for hit in hits:
            fact = hit.memory.kind in FACT_KINDS
            section = Section.FACTS if fact else Section.MEMORIES
            if hit.score < floor:
                left_out.append(LeftOut(section.value, BELOW, 0, hit.id))
            elif not room[fact]:
                left_out.append(LeftOut(section.value, BEYOND, 0, hit.id))
            else:
                room[fact] -= 1
                chosen.append(hit.memory)
        return chosen, left_out

    async def _lines_of(
        self, scope: Scope, chosen: Sequence[MemoryRecord]
    ) -> tuple[list[Line], list[MemoryRecord]]:
        """Each memory as a line; what contradicts one stands beside it, both with their dates."""
        records = {one.id: one for one in chosen}
        if not records:
            return [], []
        links = await self._store.links([*records], scope.places, kind=CONTRADICTS)
        others = {end for link in links for end in (link.source, link.target)} - records.keys()
        if others:
            now = times.show(self._clock.now())
            found = await self._store.get(sorted(others), self._everything(scope))
            records |= {id: one for id, one in found.items() if _visible(one, now)}
        against: dict[str, set[str]] = {}
        for link in links:
            if link.source in records and link.target in records:
                for one, other in ((link.source, link.target), (link.target, link.source)):
                    date = f"{records[other].begins:%Y-%m-%d}"
                    against.setdefault(one, set()).add(date)
        lines = [dated(one, sorted(against.get(one.id, ()))) for one in records.values()]
        return lines, list(records.values())


def _document(name: str, text: str) -> Line:
    """A text that the caller brings along, under its name."""
    return Line("", f"{entry(name)}\n{indented(text)}", "")


def _own(record: MemoryRecord) -> bool:
    """Whether the person said it, rather than something that was read or run."""
    return record.trust == Trust.TRUSTED


def _visible(record: MemoryRecord, now: datetime) -> bool:
    """Whether a memory may be shown at present."""
    over = any(end is not None and end <= now for end in (record.valid_to, record.expires_at))
    return record.status == Status.ACTIVE and not over
