"""The stores that properties are proved on: another one joins by one entry."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import recollect
from recollect import Memory
from recollect.ports.store import Store
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore, SeededEntropy

#: How to make a store in a folder. `keeps` says whether opening it again finds what was there.
MAKE: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(str(folder / "memory.db"), durability="relaxed"),
    "memory": lambda _: InMemoryStore(),
}
KEEPS = {"sqlite": True, "memory": False}


def opened(store: Store, clock: FrozenClock, **options: Any) -> Memory:
    """A memory on a store, in a world that can be repeated."""
    chance = options.pop("entropy", None) or SeededEntropy(7)
    return recollect.open("memory.db", store=store, clock=clock, entropy=chance, **options)


@contextmanager
def fresh(kind: str, **options: Any) -> Iterator[Memory]:
    """An empty memory of a kind, for one example."""
    with tempfile.TemporaryDirectory() as folder:
        memory = opened(MAKE[kind](Path(folder)), FrozenClock("2026-01-01"), **options)
        try:
            yield memory
        finally:
            memory.close()
