"""The embedder: texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Purpose = Literal["passage", "question"]


class Embedder(Protocol):
    """Turns texts into vectors of one space. Vectors of different spaces are never compared."""

    @property
    def inline(self) -> bool:
        """True when `embed` never suspends."""
        ...

    @property
    def space(self) -> str:
        """The name of the space: model, version and dimension."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has, read from the model."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text."""
        ...
