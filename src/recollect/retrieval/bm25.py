"""BM25 over columns: how well each candidate's words answer the question's."""

import numpy as np
from numpy.typing import NDArray

from recollect.ports.store import Candidates

#: How fast repetitions of a word stop counting.
K1 = 1.2
#: How far a long text is held against it.
B = 0.75


def rarity(total: int, holding: tuple[int, ...]) -> NDArray[np.float32]:
    """The weight of each term: the fewer memories hold it, the more it says."""
    held = np.array(holding, dtype=np.float64)
    return np.log1p((total - held + 0.5) / (held + 0.5)).astype(np.float32)


def scores(candidates: Candidates) -> NDArray[np.float32]:
    """The BM25 score of every candidate; 0 for those that hold no term."""
    if not candidates.holding or not len(candidates.keys):
        return np.zeros(len(candidates.keys), dtype=np.float32)
    length = candidates.lengths / max(candidates.mean_length, 1e-9)
    damping = K1 * (1 - B + B * length)
    counts = candidates.counts
    weight = rarity(candidates.total, candidates.holding)
    saturated = counts * (K1 + 1) / (counts + damping[:, None])
    # Not `@`, which may add up equal rows in different orders: equals must stay equal.
    return np.einsum("ij,j->i", saturated, weight).astype(np.float32)
