"""Safeguards on the way in: the content policy, orders from strangers, and echoes.

An echo is a text that was recalled a moment ago and comes back to be remembered, as agents do with
what stands in their prompt. It is known by a number of its text; no content is kept for that.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain.records import MemoryRecord, Source, Status, Treated
from recollect.domain.requests import NewMemory
from recollect.domain.scopes import Place, Scope
from recollect.engine.core import Core, Ports
from recollect.guarding.content import Content
from recollect.guarding.orders import Orders

#: Of each place the texts that were recalled last, and of so many places.
ECHOES_MAX = 512
ECHOING_PLACES_MAX = 1_000
#: What agents put around a line that they copy.
_FRAME = " \t-*•>\"'“”"


class Safeguarding(Core):
    """What is done to a text before it becomes a memory."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self._content = Content(ports.conduct)
        self._orders = Orders(ports.conduct.language)
        self._heard: OrderedDict[Place, OrderedDict[int, str]] = OrderedDict()

    def _safe(self, record: MemoryRecord) -> tuple[MemoryRecord, tuple[Treated, ...]]:
        """A memory as it may be stored, and what was taken out of it."""
        text, treated = self._content.treat(record.text, message=record.role is not None)
        if treated:
            record = replace(record, text=text)
        if record.metadata:
            metadata, done = self._content.treat_data(record.metadata)
            if done:
                record, treated = replace(record, metadata=metadata), (*treated, *done)
        return self._set_apart(record), treated

    def _set_apart(self, record: MemoryRecord) -> MemoryRecord:
        """Quarantined, if it gives orders and comes from where none are taken."""
        wary = self._conduct.quarantine == "on" and record.status == Status.ACTIVE.value
        if wary and self._orders.within(record):
            return replace(record, status=Status.QUARANTINED.value)
        return record

    def _safe_changes(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Changes of a memory as they may be stored."""
        safe = dict(changes)
        if "text" in safe:
            safe["text"], _ = self._content.treat(safe["text"])
        if safe.get("metadata"):
            safe["metadata"], _ = self._content.treat_data(safe["metadata"])
        return safe

    # -- echoes ----------------------------------------------------------------------------------

    def _note_recalled(self, scope: Scope, records: Sequence[MemoryRecord]) -> None:
        """Keep in mind what was recalled for a place: numbers of texts, and the memories' ids."""
        if self._conduct.echoes == "keep":
            return
        heard = self._heard.get(scope.home)
        if heard is None:
            heard = self._heard[scope.home] = OrderedDict()
            if len(self._heard) > ECHOING_PLACES_MAX:
                self._heard.popitem(last=False)
        for record in records:
            number = hash(record.text)
            heard[number] = record.id
            heard.move_to_end(number)
        while len(heard) > ECHOES_MAX:
            heard.popitem(last=False)

    async def _echoes(
        self, scope: Scope, items: Sequence[NewMemory], good: Mapping[int, MemoryRecord]
    ) -> dict[int, MemoryRecord]:
        """Which of some new memories only repeat what was recalled, and what each repeats."""
        heard = self._heard.get(scope.home)
        if not heard:
            return {}
        found: dict[int, str] = {}
        for index, record in good.items():
            if not items[index].force and items[index].key is None:
                id = _echo_of(items[index], record, heard)
                if id is not None:
                    found[index] = id
        if not found:
            return {}
        there = await self._store.get(list(set(found.values())), self._view(scope))
        return {index: there[id] for index, id in found.items() if id in there}


def _echo_of(item: NewMemory, record: MemoryRecord, heard: Mapping[int, str]) -> str | None:
    """The recalled memory that a new one repeats word for word, line by line."""
    if record.role is not None or record.item_key is not None:
        return None
    if record.source == Source.USER.value and "kind" in item.fields:
        return None  # a person says what it is: that is news
    id: str | None = heard.get(hash(item.text))
    if id is None:
        for line in item.text.splitlines():
            if not line.strip():
                continue
            id = heard.get(hash(line.strip())) or heard.get(hash(line.strip(_FRAME)))
            if id is None:
                return None
    return id
