"""Units that features are added up in."""

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float32]
#: Values that spread less than this are the same; nothing stands out among them.
FLAT = 1e-6


def in_spreads(values: Column, total: int) -> Column:
    """Values in units of their spread over `total` memories, of which all others have 0."""
    if not total:
        return values
    mean = float(values.sum(dtype=np.float64)) / total
    square = float(np.square(values, dtype=np.float64).sum()) / total
    spread = max(square - mean * mean, 0.0) ** 0.5
    return values * np.float32(1 / spread) if spread > FLAT else values
