"""Ports that suspend, for code without a loop: they run on a loop of a thread beside it.

A memory on a file needs neither loop nor thread; only a call of a model crosses over, and waits.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from recollect.ports.chat import Answer, Ask, Chat
from recollect.ports.embedder import Embedded, Metered, Purpose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Loop(Protocol):
    """A loop in a thread of its own."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        ...

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run one last coroutine, then end the thread."""
        ...


class _Beside:
    """A loop that is started when it is first needed."""

    inline = True

    def __init__(self, start: Callable[[], Loop]) -> None:
        self._start = start
        self._loop: Loop | None = None
        self._starting = threading.Lock()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._starting:
            loop = self._loop = self._loop or self._start()
        return loop.run(coroutine)

    def _end(self, last: Coroutine[Any, Any, None]) -> None:
        loop, self._loop = self._loop, None
        (loop or self._start()).close(last)


class ChatBeside(_Beside):
    """Another chat, waited for."""

    def __init__(self, chat: Chat, start: Callable[[], Loop]) -> None:
        super().__init__(start)
        self._chat = chat

    @property
    def model(self) -> str:
        """The other's."""
        return self._chat.model

    @property
    def window(self) -> int:
        """The other's."""
        return self._chat.window

    async def answer(self, ask: Ask) -> Answer:
        """The other's."""
        return self._run(self._chat.answer(ask))

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Answer]:
        """The other's, piece by piece."""
        pieces = self._chat.stream(ask)
        while True:
            piece = self._run(_next(pieces))
            if piece is None:
                return
            yield piece

    async def close(self) -> None:
        """Close the other, and end the thread."""
        self._end(self._chat.close())


async def _next(pieces: AsyncIterator[str | Answer]) -> str | Answer | None:
    return await anext(pieces, None)


class EmbedderBeside(_Beside):
    """Another embedder, waited for."""

    def __init__(self, embedder: Metered, start: Callable[[], Loop]) -> None:
        super().__init__(start)
        self._embedder = embedder

    @property
    def space(self) -> str:
        """The other's."""
        return self._embedder.space

    @property
    def dimensions(self) -> int:
        """The other's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """The other's."""
        return self._run(self._embedder.embed(texts, purpose))

    @property
    def model(self) -> str:
        """The other's."""
        return self._embedder.model

    async def embed_counted(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """The other's."""
        return self._run(self._embedder.embed_counted(texts, purpose))

    async def close(self) -> None:
        """Close the other, and end the thread."""
        self._end(self._embedder.close())
