"""The one place where adapters meet the engine."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from recollect.client.runner import Inline
from recollect.domain.errors import ValidationError
from recollect.engine.core import Ports
from recollect.engine.engine import Engine
from recollect.ports.embedder import Embedder
from recollect.ports.store import Store
from recollect.ports.world import Clock, Entropy
from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite.store import SqliteStore

#: Threads that an async memory uses for its file; writes of several tasks share commits.
FILE_THREADS = 4


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Microseconds since 1970 in UTC."""
        return time.time_ns() // 1000


class SystemEntropy:
    """The operating system's randomness."""

    def bytes(self, count: int) -> bytes:
        """That many random bytes."""
        return os.urandom(count)


class OffLoop:
    """A local store used from an event loop: its operations run in threads of their own."""

    inline = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(FILE_THREADS, thread_name_prefix="recollect-file")
        self.durability = store.durability

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._store, name)

        async def in_thread(*args: Any, **kwargs: Any) -> Any:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._threads, lambda: Inline().run(operation(*args, **kwargs))
            )

        return in_thread

    async def close(self) -> None:
        """Close the store, then let the threads go."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, lambda: Inline().run(self._store.close()))
        self._threads.shutdown(wait=False)


def open_engine(
    url: str,
    *,
    threaded: bool,
    durability: str = "full",
    language: str = "english",
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    store: Store | None = None,
) -> Engine:
    """An engine on the store that a URL names."""
    if durability not in ("full", "relaxed"):
        raise ValidationError(
            f"durability must be full or relaxed, not {durability!r}", field="durability"
        )
    local = store or SqliteStore(file_of(url), durability=durability)
    ports = Ports(
        store=cast(Store, OffLoop(local)) if threaded else local,
        clock=clock or SystemClock(),
        entropy=entropy or SystemEntropy(),
        analyser=Analyser(language),
        embedder=embedder,
    )
    return Engine(ports)


def file_of(url: str) -> str:
    """The file that a path or a `sqlite:///` URL names."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    scheme, mark, _ = url.partition("://")
    if mark:
        raise ValidationError(
            f"cannot open {scheme}:// URLs; give a path or sqlite:///path", field="url"
        )
    return url
