"""One way to ask for all of them: `Memory` and `AsyncMemory`, on a file and in memory.

Acceptance tests are written once, against `Memory`. For `AsyncMemory` each call is run to its end
on a loop of its own thread, so that the same sentences prove both.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recollect import AsyncMemory, Memory
from recollect.client.runner import LoopThread
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore, SeededEntropy

FACES = ("memory-file", "memory-in-memory", "async-file", "async-in-memory")


class Stepping:
    """An `AsyncMemory`, or one of its handles, asked from code without a loop."""

    def __init__(self, inner: Any, runner: LoopThread) -> None:
        self._inner = inner
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        asked = getattr(self._inner, name)

        def ask(*args: Any, **kwargs: Any) -> Any:
            answer = asked(*args, **kwargs)
            if inspect.iscoroutine(answer):
                return self._runner.run(answer)
            return Stepping(answer, self._runner)

        return ask

    def __enter__(self) -> "Stepping":
        self._runner.run(self._inner.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._inner.__aexit__(*error))


@dataclass(frozen=True)
class World:
    """A memory under test, its clock, and how to open it with something else."""

    memory: Memory
    clock: FrozenClock
    store: SqliteStore | InMemoryStore


@contextmanager
def opened(face: str, folder: Path, **options: Any) -> Iterator[World]:
    """An empty memory behind one of the faces, at a standing clock."""
    clock = FrozenClock("2026-01-01")
    file = str(folder / "memory.db")
    store = InMemoryStore() if face.endswith("in-memory") else SqliteStore(file)
    options = {"store": store, "clock": clock, "entropy": SeededEntropy(), **options}
    if not face.startswith("async"):
        with Memory.open(file, **options) as memory:
            yield World(memory, clock, store)
        return
    runner = LoopThread()
    inner = AsyncMemory.open(file, **options)
    try:
        yield World(cast(Memory, Stepping(inner, runner)), clock, store)
    finally:
        runner.close(inner.close())
