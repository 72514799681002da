"""An embedder that embeds each text only once a run, and notes what that took.

Haystacks share most of their sessions. Questions are never kept: what they take is part of what
a recall takes.
"""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.ports.embedder import Embedder, Purpose


class RememberingEmbedder:
    """Keeps the vectors of passages that another embedder made."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._kept: dict[str, NDArray[np.float32]] = {}
        self.embedded = 0  #: passages that the embedder below was asked for
        self.seconds = 0.0  #: what those took

    @property
    def inline(self) -> bool:
        """As the embedder below."""
        return self._inner.inline

    @property
    def space(self) -> str:
        """As the embedder below."""
        return self._inner.space

    @property
    def dimensions(self) -> int:
        """As the embedder below."""
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text."""
        if purpose == "question":
            return await self._inner.embed(texts, purpose)
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if missing:
            begun = time.perf_counter()
            made = await self._inner.embed(missing, purpose)
            self.seconds += time.perf_counter() - begun
            self.embedded += len(missing)
            self._kept.update(zip(missing, made, strict=True))
        return np.stack([self._kept[text] for text in texts])
