"""Memory for what must not last: conversations of nobody in particular, and of agents without a
long-term memory. Each person's is a store of its own in this process, and goes with it.
"""

from collections import OrderedDict

from recollect.client.async_memory import AsyncMemory
from recollect.storage.memory.store import InMemoryStore

#: Of more people than this, the one who was silent longest is forgotten.
PEOPLE_MAX = 256


class Scratch:
    """A memory in dictionaries for each person."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, AsyncMemory] = OrderedDict()

    async def of(self, owner: str) -> AsyncMemory:
        """The memory of a person, made when it is first asked for."""
        memory = self._of.pop(owner, None)
        if memory is None:
            memory = AsyncMemory.open("scratch", store=InMemoryStore())
        self._of[owner] = memory
        if len(self._of) > PEOPLE_MAX:
            _, silent = self._of.popitem(last=False)
            await silent.close()
        return memory

    async def drop(self, owner: str) -> None:
        """Forget a person."""
        memory = self._of.pop(owner, None)
        if memory is not None:
            await memory.close()

    def owners(self) -> tuple[str, ...]:
        """Everybody who has one."""
        return tuple(self._of)

    async def close(self) -> None:
        """Forget everybody."""
        while self._of:
            _, memory = self._of.popitem()
            await memory.close()
