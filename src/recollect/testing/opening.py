"""Opening a memory that needs nothing and repeats itself."""

from typing import Any

from recollect.client.async_memory import AsyncMemory
from recollect.client.memory import Memory
from recollect.storage.memory.store import InMemoryStore
from recollect.testing.world import FrozenClock, SeededEntropy

_NO_FILE = "memory.db"  #: a store is given, so no file of this name is opened


def open_memory(**options: Any) -> Memory:
    """A memory in dictionaries at a standing clock, with the same ids in every run.

    Options are those of `recollect.open`, and `store`, `clock` and `entropy`.

    >>> memory = open_memory(clock=FrozenClock("2026-03-01"))
    """
    return Memory.open(_NO_FILE, **_with_defaults(options))


def open_async_memory(**options: Any) -> AsyncMemory:
    """The same for use inside an event loop."""
    return AsyncMemory.open(_NO_FILE, **_with_defaults(options))


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    ports = {"store": InMemoryStore, "clock": FrozenClock, "entropy": SeededEntropy}
    made = {name: make() for name, make in ports.items() if options.get(name) is None}
    chosen = options.get("embedder")
    return {**options, **made, "embedder": "none" if chosen is None else chosen}
