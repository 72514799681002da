"""Programs against the public API, for type checkers only: nothing here is run."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

import recollect
from recollect import AsyncMemory, Memory, MemoryRecord
from recollect.client.async_handles import AsyncConversation
from recollect.client.handles import Conversation
from recollect.domain.recall import Hit, Recall
from recollect.domain.records import (
    Batch,
    Change,
    Page,
    Profile,
    Receipt,
    Related,
    Remembered,
    Verification,
)


def sync_face() -> None:
    with recollect.open("memory.db", durability="relaxed") as memory:
        assert_type(memory, Memory)
        ana = memory.scope(user="ana")
        assert_type(ana, Memory)
        trip = ana.remember("I moved.", kind="fact", tags=["home"], occurred_at="2026-03-04")
        assert_type(trip, Remembered)
        assert_type(trip.memory, MemoryRecord)
        assert_type(ana.remember_many(["tea", {"text": "no peanuts"}]), Batch)
        assert_type(ana.get(trip.id), MemoryRecord)
        assert_type(ana.list(kind="fact", limit=5), Page[MemoryRecord])
        assert_type(ana.recall("where?", as_of="2026-03-10"), Recall)
        assert_type(list(ana.recall("where?")), list[Hit])
        assert_type(ana.recall("where?").top, Hit | None)
        assert_type(ana.correct(trip.id, "I moved again."), Remembered)
        assert_type(ana.update(trip.id, importance=0.9, if_version=1), MemoryRecord)
        assert_type(ana.history(trip.id), Sequence[Change])
        assert_type(ana.related(trip.id), Sequence[Related])
        assert_type(ana.link(trip.id, trip.id, kind="caused"), bool)
        assert_type(ana.profile("preferences").merge({"food": "tea"}), Profile)
        with ana.session(id="s1") as chat:
            assert_type(chat, Conversation)
            assert_type(chat.add("user", "hi", speaker="Ana"), Remembered)
            assert_type(chat.messages(last=8), Sequence[MemoryRecord])
        assert_type(memory.forget(user="ana"), Receipt)
        assert_type(memory.verify(), Verification)
        assert_type(memory.merge_users("anonymous", "ana"), Mapping[str, int])
        assert_type(memory.stats(), dict[str, Any])


async def async_face() -> None:
    async with AsyncMemory.open("memory.db") as memory:
        assert_type(memory, AsyncMemory)
        ana = memory.scope(user="ana")
        assert_type(ana, AsyncMemory)
        assert_type(await ana.remember("I moved."), Remembered)
        assert_type(await ana.recall("where?"), Recall)
        assert_type(await ana.list(), Page[MemoryRecord])
        async with ana.session() as chat:
            assert_type(chat, AsyncConversation)
            assert_type(await chat.add("user", "hi"), Remembered)
