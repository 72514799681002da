"""Any function from texts to vectors as an embedder.

Decides what such a function may answer; what it calls, and how long that takes, is its own affair.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.errors import ProviderError, ValidationError
from recollect.domain.limits import DIMENSIONS_MAX
from recollect.ports.embedder import Purpose

Function = Callable[[list[str]], Any]
PROBE = "dimensions"


class CallableEmbedder:
    """A function that takes a list of texts and answers one vector for each.

    Its space is its name, unless another is given: a function that changes its model should change
    its name as well. How many dimensions it has shows in its first answer.

    >>> CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], space="toy").dimensions
    2
    """

    inline = True

    def __init__(self, function: Function, *, space: str | None = None) -> None:
        if inspect.iscoroutinefunction(function):
            raise ValidationError(
                "the embedder is an async function; give an object with `embed`, `space`, "
                "`dimensions` and inline = False instead",
                field="embedder",
            )
        self._function = function
        self._name = space or getattr(function, "__name__", type(function).__name__)
        self._dimensions = 0

    @property
    def space(self) -> str:
        """The name of the function and the length of its vectors."""
        return f"{self._name}-{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; asks for one if none was made yet."""
        if not self._dimensions:
            self._vectors([PROBE])
        return self._dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text; the function is not told the purpose."""
        return self._vectors(list(texts))

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            answer = self._function(texts)
            vectors = np.asarray(answer, dtype=np.float32)
        except Exception as exc:
            raise ProviderError(f"the embedder {self._name} failed: {exc}") from exc
        shape = vectors.shape
        if vectors.ndim != 2 or len(vectors) != len(texts) or not 0 < shape[1] <= DIMENSIONS_MAX:
            raise ProviderError(
                f"the embedder {self._name} answered an array of shape {shape} for "
                f"{len(texts)} texts; one vector for each is wanted"
            )
        if self._dimensions not in (0, shape[1]):
            raise ProviderError(
                f"the embedder {self._name} answered {shape[1]} dimensions, "
                f"before it were {self._dimensions}"
            )
        if not np.isfinite(vectors).all():
            raise ProviderError(f"the embedder {self._name} answered NaN or infinity")
        self._dimensions = shape[1]
        return vectors
