"""The conversation of a context: what is sent word for word, and what a summary stands for.

Summaries are memories of kind `summary`, derived from what they summarise, so that erasing it
erases them. They take no part in recall; the messages do.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from recollect.context import conversation, summaries
from recollect.context.assembly import Count, Material, Said, size
from recollect.context.quoting import Line, indented
from recollect.domain import filters, ids, times
from recollect.domain.drafts import new_record
from recollect.domain.errors import (
    BudgetExceeded,
    ConflictError,
    NotFound,
    ProviderBadResponse,
    ProviderError,
    StorageError,
    ValidationError,
)
from recollect.domain.limits import LIST_LIMIT_MAX
from recollect.domain.operations import Alter, Entry, Operation, Remember, SetLink
from recollect.domain.queries import Scan, View
from recollect.domain.records import Kind, MemoryRecord, Source, Status, Trust
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.asking import Asking
from recollect.engine.conversing import Conversing
from recollect.engine.core import LOG, SALT_BYTES
from recollect.engine.deriving import DERIVED_FROM
from recollect.engine.itemising import Itemising
from recollect.engine.remembering import replace_salt
from recollect.logs import note
from recollect.ports.chat import Ask, Chat, Turn
from recollect.ports.tokens import TokenCount

#: How long one call of the memory model may take while somebody waits for a context.
DEADLINE_S = 30.0
#: Of a model's window what a request leaves free: another tokenizer may count more.
MARGIN = 0.1
#: Summaries that are looked through for the one that reaches furthest.
SUMMARIES_READ = 50
#: What was undone is archived, and no longer sent.
SHOWN = (Status.ACTIVE.value, Status.SUPERSEDED.value)
TRUSTS = (Trust.UNTRUSTED.value, Trust.LIMITED.value, Trust.TRUSTED.value)
BY_RULE = "rule"


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation as material for a context, and what could not help to make it."""

    material: Material
    asked: str | None  #: what memories are recalled for: the last message, if it is the user's
    degraded: tuple[str, ...] = ()


class Summarising(Asking, Itemising, Conversing):
    """Reading conversations for contexts."""

    async def _talk(
        self, scope: Scope, question: str | None, material: Material, budget: int, count: Count
    ) -> Talk:
        """The session's messages since the last summary, with a new summary if it is time."""
        if scope.session is None:
            if question is None:
                raise ValidationError("ask something, or name a session", field="question")
            position = 1 + max((one.position for one in material.injected), default=-1)
            return Talk(replace(material, current=Said("user", question, position)), question)
        try:
            return await self._read_talk(scope, question, material, budget, count)
        except (ConflictError, NotFound):
            # Something was changed or erased while it was being summarised: read it as it is now.
            return await self._read_talk(scope, question, material, budget, count)

    async def _read_talk(
        self, scope: Scope, question: str | None, material: Material, budget: int, count: Count
    ) -> Talk:
        summary = await self._latest_summary(scope, budget)
        through = -1 if summary is None else summary.metadata["through"]
        records = await self._said_since(scope, through)
        asked = _asked(records, question)
        current, records = _current(records, question, through)
        said, by_rule = await self._as_sent(scope, records, count)
        material = replace(
            material,
            current=current,
            history=said,
            summary=_lines(summary),
            injected=[one for one in material.injected if one.position > through],
        )
        foldable = len(records) - self._rules.recent
        needed = size(material, count)
        over = needed > self._rules.threshold * budget
        if over and foldable > 0 and (foldable >= self._rules.every or needed > budget):
            summary = await self._folded(scope, summary, records[:foldable], budget, count)
            through = summary.metadata["through"]
            material = replace(
                material,
                history=said[foldable:],
                summary=_lines(summary),
                injected=[one for one in material.injected if one.position > through],
            )
        by_rule = by_rule or (summary is not None and summary.metadata["by"] == BY_RULE)
        return Talk(material, asked, ("summary",) if by_rule else ())

    # -- reading ---------------------------------------------------------------------------------

    async def _latest_summary(self, scope: Scope, budget: int) -> MemoryRecord | None:
        """The summary that reaches furthest, of those made for at least this budget."""
        where = {"kind": Kind.SUMMARY.value, "metadata.tokens_max": {"gte": budget}}
        page = await self._store.scan(Scan(self._summaries(scope, where), SUMMARIES_READ))
        made = [one for one in page.items if _is_summary(one)]
        return max(made, key=lambda one: one.metadata["through"], default=None)

    def _summaries(self, scope: Scope, where: dict[str, Any]) -> View:
        return View(
            places=(scope.home,),
            now=self._clock.now(),
            session=scope.session,
            statuses=(Status.ARCHIVED.value,),
            where=filters.parse(where),
        )

    async def _said_since(self, scope: Scope, through: int) -> list[MemoryRecord]:
        """The messages behind a position in order, corrected ones in the words of today."""
        view = View(
            places=(scope.home,),
            now=self._clock.now(),
            session=scope.session,
            statuses=SHOWN,
            where=filters.parse({"position": {"gt": through}}),
        )
        found: list[MemoryRecord] = []
        cursor: str | None = None
        while True:
            page = await self._store.scan(
                Scan(view, LIST_LIMIT_MAX, sort="position", descending=False, cursor=cursor)
            )
            found += page.items
            cursor = page.cursor
            if cursor is None:
                break
        return conversation.corrected(found, await self._corrections(scope, found))

    async def _corrections(
        self, scope: Scope, messages: Sequence[MemoryRecord]
    ) -> dict[str, MemoryRecord]:
        """The memories that correct messages: of these ones, or of ones before them."""
        everything = self._everything(scope)
        successors: dict[str, MemoryRecord] = {}
        wanted = {one.superseded_by for one in messages if one.superseded_by}
        # Only a correction has a beginning of its own: whatever it corrects may be summarised.
        maybe = [one.id for one in messages if one.valid_from is not None]
        if maybe:
            links = await self._store.links(maybe, scope.places, kind="supersedes")
            wanted |= {link.source for link in links}
        while wanted:
            found = await self._store.get(sorted(wanted), everything)
            successors.update(found)
            wanted = {one.superseded_by for one in found.values() if one.superseded_by}
            wanted -= successors.keys()
        return successors

    # -- messages over the threshold -------------------------------------------------------------

    async def _as_sent(
        self, scope: Scope, records: Sequence[MemoryRecord], count: Count
    ) -> tuple[list[Said], bool]:
        """Messages as they are sent, and whether one of them is summed up by rule."""
        limit = self._rules.reference_tokens
        # A token has at least one byte: most messages need no counting to be known as short.
        long = {
            one.id: tokens
            for one in records
            if len(one.text) * 4 > limit
            and one.role != "system"
            and (tokens := count(one.text)) > limit
        }
        known = await self._references(scope, [one for one in records if one.id in long])
        said = [
            conversation.said(one, conversation.reference(one.id, known[one.id].text, long[one.id]))
            if one.id in long
            else conversation.said(one)
            for one in records
        ]
        return said, any(one.metadata.get("by") == BY_RULE for one in known.values())

    async def _references(
        self, scope: Scope, records: Sequence[MemoryRecord]
    ) -> dict[str, MemoryRecord]:
        """A short summary of each message, made once and kept."""
        known: dict[str, MemoryRecord] = {}
        for start in range(0, len(records), LIST_LIMIT_MAX):
            some = [one.id for one in records[start : start + LIST_LIMIT_MAX]]
            where = {"kind": Kind.SUMMARY.value, "item_key": {"in": some}}
            page = await self._store.scan(Scan(self._summaries(scope, where), LIST_LIMIT_MAX))
            known.update({one.item_key: one for one in page.items if one.item_key})
        for one in records:
            if one.id not in known:
                known[one.id] = await self._referred(scope, one)
        return known

    async def _referred(self, scope: Scope, record: MemoryRecord) -> MemoryRecord:
        source = record.role or record.source
        words = summaries.REFERENCE_WORDS
        made = await self._condensed(scope, "refer", "", [record.text], words * 2)
        text = made[0] or summaries.reference_summary(record.text, source)
        about = {"by": made[1], "of": record.id}
        return await self._kept(scope, text, [record], about, item_key=record.id)

    # -- summaries -------------------------------------------------------------------------------

    async def _folded(
        self,
        scope: Scope,
        previous: MemoryRecord | None,
        records: Sequence[MemoryRecord],
        budget: int,
        count: Count,
    ) -> MemoryRecord:
        """The summary that takes in some messages too."""
        before = "" if previous is None else previous.text
        room = min(self._rules.summary_tokens, budget // 5)
        parts = [self._part(one, count) for one in records]
        text, by = await self._condensed(scope, "summarise", before, parts, room)
        if not text:
            text = summaries.extract([*before.splitlines(), *parts], room, count)
        else:
            text = summaries.cut(text, room, count)
        about = {
            "by": by,
            "through": max(one.position or 0 for one in records),
            "tokens_max": budget,
            "messages": len(records),
        }
        sources = [*([previous] if previous else []), *records]
        return await self._kept(scope, text or "…", sources, about)

    def _part(self, record: MemoryRecord, count: Count) -> str:
        """A message as a summary reads it; of a long one the sentences that say most."""
        text = record.text
        if count(text) > self._rules.reference_tokens:
            text = summaries.extract([text], summaries.LONG_TOKENS, count)
        return f"{record.speaker or record.role}: {text}"

    async def _condensed(
        self, scope: Scope, name: str, before: str, parts: Sequence[str], tokens_max: int
    ) -> tuple[str, str]:
        """What the memory model makes of texts, and its name; nothing when it does not answer."""
        try:
            chat = await self._memory_model(scope, "context")
            if chat is None:
                return "", BY_RULE
            return await self._in_chunks(chat, name, before, parts, tokens_max), chat.model
        except (ProviderError, BudgetExceeded) as exc:
            # The class alone: what a provider says may quote the texts that it was given.
            what = "the memory model did not answer"
            note(LOG, logging.WARNING, what, purpose=name, error=type(exc).__name__)
            return "", BY_RULE

    async def _in_chunks(
        self, chat: Chat, name: str, before: str, parts: Sequence[str], tokens_max: int
    ) -> str:
        """Ask as often as the model's window makes necessary; each answer goes into the next."""
        count = partial(self._tokens, chat.model)
        words = summaries.REFERENCE_WORDS if name == "refer" else tokens_max * 3 // 5
        told = summaries.prompt(name).format(words=words)
        # The answer, the answer before it, and the marks around the data.
        taken = count(told) + 2 * tokens_max + count(summaries.asked("-", ["-"]))
        room = int(chat.window * (1 - MARGIN)) - taken
        for chunk in summaries.chunks(parts, room, count):
            turns = (Turn("system", told), Turn("user", summaries.asked(before, chunk)))
            ask = Ask(turns, "summary", tokens_max, deadline_s=DEADLINE_S)
            answer = await chat.answer(ask)
            text = summaries.usable(answer.text, tokens_max, count)
            if text is None:
                raise ProviderBadResponse(f"{answer.model} said nothing when asked to {name}")
            before = text
        return before

    async def _kept(
        self,
        scope: Scope,
        text: str,
        sources: Sequence[MemoryRecord],
        about: dict[str, Any],
        *,
        item_key: str | None = None,
    ) -> MemoryRecord:
        """A summary, stored with where it comes from, if that is still as it was read."""
        stamp = self._stamp("summarise", Because())
        until = [one.expires_at for one in sources if one.expires_at is not None]
        fields = {
            "kind": Kind.SUMMARY.value,
            "status": Status.ARCHIVED.value,
            "source": Source.AGENT.value,
            "trust": min((one.trust for one in sources), key=TRUSTS.index),
            "metadata": about,
            "item_key": item_key,
            "expires_at": min(until, default=None),
        }
        id = self._new_id(ids.MEMORY)
        record = new_record(id, scope, text, fields, times.show(stamp.at))
        operations: list[Operation] = []
        for one in sources:
            as_read = {"text": one.text, "status": one.status}
            operations.append(Alter(stamp, one.id, (scope.home,), {}, as_read))
        entry = Entry(self._analyser.packed(text))
        operations.append(Remember(stamp, record, entry))
        for one in sources:
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            operations.append(SetLink(salted, id, one.id, DERIVED_FROM, 1.0, (scope.home,)))
        try:
            await self._store.apply(operations)
        except StorageError as exc:
            note(LOG, logging.WARNING, "a summary was not kept", error=type(exc).__name__)
        return record

    def _tokens(self, model: str, text: str) -> int:
        """How long a text is to a model."""
        return self._counted(model, text).count

    def _counted(self, model: str, text: str) -> TokenCount:
        """How long a text is to a model, and how that is known."""
        assert self._tokenizer is not None
        return self._tokenizer.count(text, model)


def _is_summary(record: MemoryRecord) -> bool:
    """Whether a memory of that kind says what a summary has to: anybody may write one."""
    through, by = record.metadata.get("through"), record.metadata.get("by")
    return isinstance(through, int) and not isinstance(through, bool) and isinstance(by, str)


def _asked(records: Sequence[MemoryRecord], question: str | None) -> str | None:
    """What the user says, if it is the user who spoke last."""
    if question is not None:
        return question
    return records[-1].text if records and records[-1].role == "user" else None


def _current(
    records: list[MemoryRecord], question: str | None, through: int
) -> tuple[Said, list[MemoryRecord]]:
    """The message to be answered, and those before it."""
    last = records[-1] if records else None
    if question is None:
        if last is None:
            raise ValidationError("the session has no message yet; ask something", field="question")
        return conversation.said(last), records[:-1]
    if last is not None and last.role == "user" and last.text == question:
        return conversation.said(last), records[:-1]
    position = through if last is None or last.position is None else last.position
    return Said("user", question, position + 1), records


def _lines(summary: MemoryRecord | None) -> list[Line]:
    return [] if summary is None else [Line(summary.id, indented(summary.text), "")]
