"""The memory that agents share: a buffer of the latest messages and a long-term memory.

Every message is stored once, with the agent as provenance: in the long-term memory if there is
one, else in a scratch memory that goes with the process. The buffer holds the latest of them. Who
is anonymous, `user_id=Anonymous("visit 7")`, leaves nothing durable and shares with nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Self

from recollect.agents.buffer import BufferMemory, Said, buffer_of
from recollect.agents.long_term import long_term_of
from recollect.agents.scratch import Scratch
from recollect.client.async_memory import AsyncMemory
from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import FILTER_VALUES_MAX, LIST_LIMIT_MAX
from recollect.domain.recall import Recall
from recollect.domain.scopes import LOCAL_USER, check_name

SEARCH = 5
CLEARED = "buffer_cleared"
NOBODY = "anonymous: "


class Anonymous(str):
    """Somebody whom nobody knows: a name for one visit, which leaves nothing durable.

    >>> await crew.chat("tutor", "Hello.", user=Anonymous("visitor 7"))
    """


class SharedMemory:
    """Buffer and long-term memory of many people, each seeing their own."""

    def __init__(self, buffer_memory: object, long_term_memory: object, **options: Any) -> None:
        self.buffer_memory: BufferMemory | None = buffer_of(buffer_memory)
        self.long_term_memory: AsyncMemory | None = long_term_of(long_term_memory, **options)
        self._scratch = Scratch()
        self._rebuilt: set[str] = set()

    async def close(self) -> None:
        """Close the memory."""
        await self._scratch.close()
        if self.long_term_memory is not None:
            await self.long_term_memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- remembering -----------------------------------------------------------------------------

    async def add_to_buffer_memory(
        self,
        message: str,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
        *,
        user_id: str | None = None,
        role: str = "user",
        session: str | None = None,
    ) -> bool:
        """Take in a message; False when there is no buffer."""
        if self.buffer_memory is None:
            return False
        said = Said(message, role, agent_id, _named_values(metadata, "metadata"))
        await self.hear(user_id, said, session=session)
        return True

    async def hear(self, user_id: str | None, said: Said, *, session: str | None = None) -> str:
        """Store a message once, and hold it in the buffer; the memory's id."""
        await self._rebuild(user_id)
        memory = (await self.memory_of(user_id)).scope(agent=said.agent)
        async with memory.session(id=session or said.agent or "chat") as chat:
            told = await chat.add(said.role, said.text, metadata=dict(said.metadata))
        if self.buffer_memory is not None:
            kept = Said(told.memory.text, said.role, said.agent, said.metadata, told.id)
            self.buffer_memory.add(_owner(user_id), kept)
        return told.id

    async def add_to_long_term_memory(
        self,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        embedding: Sequence[float] | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
    ) -> str | None:
        """Remember for good; the memory's id, or None when there is no such memory."""
        if not self._lasts(user_id):
            return None
        memory = (await self.memory_of(user_id)).scope(agent=agent_id)
        told = await memory.remember(
            content, metadata=_named_values(metadata, "metadata"), vector=embedding
        )
        return told.id

    # -- searching -------------------------------------------------------------------------------

    async def search_memory(
        self,
        query: str,
        agent_id: str | None = None,
        k: int = SEARCH,
        use_long_term: bool = True,
        user_id: str | None = None,
        *,
        filter_metadata: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """What answers a question, best first: from the buffer, the long-term memory, or both.

        All agents' memories, or those of `agent_id`. Each result has a text, metadata, a distance
        (smaller is better) and its source.
        """
        if agent_id is not None:
            check_name(agent_id, field="agent_id")
        chosen = _named_values(filter_metadata, "filter_metadata")
        await self._rebuild(user_id)
        buffered = self._buffered(user_id)
        parts: list[Mapping[Any, Any]] = [{"agent": agent_id}] if agent_id else []
        parts += [{("metadata", name): value} for name, value in chosen.items()]
        if not (use_long_term and self._lasts(user_id)):
            if not buffered:
                return []
            parts.append({"id": {"in": [*buffered][-FILTER_VALUES_MAX:]}})
        memory = await self.memory_of(user_id)
        found = await memory.recall(query, limit=k, where={"and": parts} if parts else None)
        return self._results(found, buffered)

    def _buffered(self, user_id: str | None) -> dict[str, float]:
        """The messages in the buffer by id, and how new each is: 1.0 is the newest."""
        kept = self.buffer_memory.all(_owner(user_id)) if self.buffer_memory else ()
        return {said.id: (place + 1) / len(kept) for place, said in enumerate(kept) if said.id}

    def _results(self, found: Recall, buffered: Mapping[str, float]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for hit in found:
            score, source = hit.score, "long_term"
            if hit.id in buffered and self.buffer_memory is not None:
                score = self.buffer_memory.fresh(score, buffered[hit.id])
                source = "buffer"
            metadata = dict(hit.memory.metadata)
            if hit.memory.agent is not None:
                metadata["agent_id"] = hit.memory.agent
            distance = 1.0 / (1.0 + max(score, 0.0))
            one = {"text": hit.text, "metadata": metadata, "distance": distance, "source": source}
            results.append(one)
        return sorted(results, key=lambda one: one["distance"])

    # -- clearing --------------------------------------------------------------------------------

    def clear_memory(
        self,
        clear_long_term: bool = False,
        agent_id: str | None = None,
        user_id: str | None = None,
    ) -> Any:
        """Clear the buffer: of an agent, of a user, of both, or of all; how many went, by store.

        `clear_long_term=True` erases them from the long-term memory too. Inside an event loop the
        answer is awaited; without one it is there at once.
        """
        return _now_or_awaited(self._clear(clear_long_term, agent_id, user_id))

    def clear_all_memories(self, clear_long_term: bool = False) -> Any:
        """Clear the buffers of everybody; as `clear_memory`."""
        return self.clear_memory(clear_long_term)

    async def _clear(
        self, clear_long_term: bool, agent_id: str | None, user_id: str | None
    ) -> dict[str, int]:
        if agent_id is not None:
            check_name(agent_id, field="agent_id")
        users = [user_id] if user_id is not None else await self._users()
        counts = {"buffer": 0, "long_term": 0}
        for user in users:
            await self._rebuild(user)
            memory = (await self.memory_of(user)).scope(shared=False)
            if self.buffer_memory is not None:
                counts["buffer"] += self.buffer_memory.clear([_owner(user)], agent_id)
            if not self._lasts(user) or clear_long_term:
                where = {"agent": agent_id} if agent_id else None
                gone = await memory.forget(where=where, everything=where is None)
                counts["long_term"] += gone.erased.get("memories", 0) if self._lasts(user) else 0
            else:
                await _note_cleared(memory, agent_id)
        return counts

    async def _users(self) -> list[str]:
        """Everybody who has a buffer or a memory."""
        stored = await self.long_term_memory.users() if self.long_term_memory else ()
        held = self.buffer_memory.owners() if self.buffer_memory else ()
        return [_user(owner) for owner in dict.fromkeys((*stored, *held, *self._scratch.owners()))]

    # -- whose -----------------------------------------------------------------------------------

    def _lasts(self, user_id: str | None) -> bool:
        """Whether what a user says is kept for good."""
        return self.long_term_memory is not None and not isinstance(user_id, Anonymous)

    def remembers(self, user_id: str | None) -> bool:
        """Whether anything that a user says is there for the next message."""
        return self.buffer_memory is not None or self._lasts(user_id)

    async def drop(self, user_id: str | None) -> None:
        """Forget the scratch memory of a user."""
        await self._scratch.drop(_owner(user_id))

    async def memory_of(self, user_id: str | None) -> AsyncMemory:
        """The memory of a user: the long-term one, or a scratch memory of the process."""
        if self.long_term_memory is None or isinstance(user_id, Anonymous):
            return await self._scratch.of(_owner(user_id))
        if user_id is None:
            return self.long_term_memory
        return self.long_term_memory.scope(user=user_id)

    async def _rebuild(self, user_id: str | None) -> None:
        """Fill the buffer of a person from the store, once: after a restart it is as it was."""
        owner, buffer = _owner(user_id), self.buffer_memory
        if buffer is None or owner in self._rebuilt or not self._lasts(user_id):
            return
        self._rebuilt.add(owner)
        own = (await self.memory_of(user_id)).scope(shared=False)
        count = min(buffer.capacity, LIST_LIMIT_MAX)
        page = await own.list(kind="interaction", limit=count)
        notes = await own.list(kind=CLEARED, status=["archived"])
        cleared = {note.agent: note.updated_at for note in notes.items}
        for one in reversed(page.items):
            marks = [cleared[agent] for agent in (None, one.agent) if agent in cleared]
            if one.role is not None and all(one.created_at > mark for mark in marks):
                said = Said(one.text, one.role, one.agent, dict(one.metadata), one.id)
                buffer.add(owner, said)


async def _note_cleared(memory: AsyncMemory, agent_id: str | None) -> None:
    """Write down that the buffer was cleared, so that a restart does not fill it again."""
    key = f"{CLEARED}:{agent_id or ''}"
    found = await memory.list(where={"kind": CLEARED, "item_key": key}, status=["archived"])
    if found.items:
        count = found.items[0].metadata["times"] + 1
        await memory.update(found.items[0].id, metadata={"times": count})
        return
    await memory.scope(agent=agent_id).remember(
        "The buffer was cleared.",
        kind=CLEARED,
        status="archived",
        item_key=key,
        metadata={"times": 1},
    )


def _named_values(given: object, field: str) -> dict[str, Any]:
    """What was given as names and values; nothing for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValidationError(f"{field} must be names and values, not {shown(given)}", field=field)
    return dict(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _owner(user_id: str | None) -> str:
    """Whose messages they are in the buffer."""
    if user_id is None:
        return LOCAL_USER
    check_name(user_id, field="user_id")
    return f"{NOBODY}{user_id}" if isinstance(user_id, Anonymous) else user_id


def _user(owner: str) -> str:
    """Who that is."""
    return Anonymous(owner.removeprefix(NOBODY)) if owner.startswith(NOBODY) else owner


def _now_or_awaited(work: Coroutine[Any, Any, dict[str, int]]) -> Any:
    """The coroutine where a loop runs that can await it; elsewhere its answer."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return work
