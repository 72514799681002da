"""The embedder: texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from recollect.domain.usage import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Purpose = Literal["passage", "question"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors, one row per text, and what they took."""

    vectors: NDArray[np.float32]
    usage: tuple[Usage, ...]


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
        """How many numbers a vector has, read from the model; 0 while that is not known yet."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text."""
        ...


class Metered(Embedder, Protocol):
    """An embedder whose calls are counted, since each of them costs something."""

    @property
    def model(self) -> str:
        """provider:name of the model."""
        ...

    async def embed_counted(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """One row per text, and what that took; a ProviderError when there is none."""
        ...

    async def close(self) -> None:
        """Release connections; idempotent."""
        ...
