"""Extraction: facts of the messages of a conversation, each linked to what it was derived from.

Runs by rule and without a model: with each message where the setting says so, or when asked.
"""

from collections.abc import Sequence
from typing import Any

from recollect.domain.operations import SetLink
from recollect.domain.records import Kind, MemoryRecord
from recollect.domain.requests import Because, NewMemory
from recollect.domain.scopes import Scope
from recollect.engine.conversing import Conversing
from recollect.engine.core import Ports
from recollect.engine.itemising import Itemising
from recollect.extraction.facts import OF_SESSION, Fact, Facts

DERIVED = "derived_from"


class Extracting(Itemising, Conversing):
    """Facts from turns."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self._telling = Facts(ports.conduct.language)

    async def _heed(self, scope: Scope, stored: Sequence[MemoryRecord]) -> None:
        """Store the facts of new messages, where the setting says so."""
        if self._conduct.facts == "rules":
            await self._extracted(scope, [one for one in stored if one.role is not None])

    async def extract(self, scope: Scope, session: str) -> list[MemoryRecord]:
        """The facts of a conversation's messages; those that were read before are left."""
        messages = await self.messages(scope, session, last=None)
        ids = [one.id for one in messages]
        links = await self._store.links(ids, (scope.home,), kind=DERIVED)
        done = {link.target for link in links}
        return await self._extracted(scope, [one for one in messages if one.id not in done])

    async def _extracted(
        self, scope: Scope, messages: Sequence[MemoryRecord]
    ) -> list[MemoryRecord]:
        """Store what messages tell, each thing once."""
        stored: list[MemoryRecord] = []
        for message in messages:
            told = self._telling.within(message)
            for of_session in (True, False):
                facts = [one for one in told if (one.kind in OF_SESSION) is of_session]
                keep = of_session or scope.user is None
                there = scope.narrowed(session=message.session if keep else None)
                if facts:
                    stored += await self._stored_facts(there, message, facts)
        return stored

    async def _stored_facts(
        self, scope: Scope, message: MemoryRecord, facts: Sequence[Fact]
    ) -> list[MemoryRecord]:
        drafts = [NewMemory(fact.text, _fields(message, fact)) for fact in facts]
        batch = await self.remember_many(scope, drafts, Because(), atomic=False)
        known = [one for one in batch.stored if one.outcome != "echo"]
        stamp = self._stamp("derive", Because())
        links = [
            SetLink(self._salted(stamp), one.id, message.id, DERIVED, 1.0, (message.place,))
            for one in known
        ]
        await self._store.apply(links, atomic=False)
        return [one.memory for one in known]


def _fields(message: MemoryRecord, fact: Fact) -> dict[str, Any]:
    """What a fact takes over from the message that tells it; its trust never rises."""
    fields: dict[str, Any] = {
        "kind": fact.kind,
        "source": message.source,
        "trust": message.trust,
        "agent": message.agent,
        "metadata": fact.metadata,
    }
    if message.role == "user" and message.speaker:
        fields["speaker"] = message.speaker
    if message.occurred_at is not None:
        fields["occurred_at"] = message.occurred_at
    if fact.kind == Kind.FILE_CHANGE.value:
        fields["tags"] = [fact.metadata["file"]]
    return fields
