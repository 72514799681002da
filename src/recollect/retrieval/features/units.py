"""Units that features are added up in."""

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float32]
#: Values that spread less than this are the same; nothing stands out among them.
FLAT = 1e-6
#: Shares are multiples of this. So they add up exactly, and what is equal is equal in every store
#: and on every machine, though each adds up its statistics in an order of its own.
GRAIN = 2.0**-16


def in_spreads(values: Column, total: int) -> Column:
    """Values in units of their spread over `total` memories, of which all others have 0."""
    if not total:
        return values
    exact = values.astype(np.float64)
    mean = float(exact.sum()) / total
    square = float(np.square(exact).sum()) / total
    spread = max(square - mean * mean, 0.0) ** 0.5
    return values * np.float32(1 / spread) if spread > FLAT else values


def in_grains(values: NDArray[np.floating]) -> Column:
    """Values as multiples of a grain."""
    return (np.rint(values * (1 / GRAIN)) * GRAIN).astype(np.float32)
