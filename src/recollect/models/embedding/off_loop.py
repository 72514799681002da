"""An embedder that computes, used from an event loop: it works in threads beside the loop."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.ports.embedder import Embedder, Purpose


class OffLoop:
    """Another embedder, whose work never holds up the loop."""

    inline = False

    def __init__(self, embedder: Embedder) -> None:
        self.local = embedder

    @property
    def space(self) -> str:
        """The other's."""
        return self.local.space

    @property
    def dimensions(self) -> int:
        """The other's."""
        return self.local.dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, made in a thread."""
        return await asyncio.to_thread(self._embed, texts, purpose)

    def _embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        work: Coroutine[Any, Any, NDArray[np.float32]] = self.local.embed(texts, purpose)
        try:
            work.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("an inline embedder suspended; it must declare inline = False")
