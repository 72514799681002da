"""Ranking: the raw values of candidates as one score, with every feature's share in it.

Each feature is measured in units of its spread over all memories that the view shows (zeros
included), from its least value up, so that shares are never negative and add up to the score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.ports.store import Candidates
from recollect.retrieval import bm25

#: What each feature counts.
WEIGHTS = {"words": 1.0, "meaning": 1.0}


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates best first: their keys, scores and the shares of each feature."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float32]
    shares: dict[str, NDArray[np.float32]]
    order: NDArray[np.intp]


def rank(candidates: Candidates) -> Ranked:
    """Candidates by score; of equals the one written last comes first."""
    shares = {"words": _words(candidates)}
    if candidates.similarity is not None:
        shares["meaning"] = _meaning(candidates)
    total = np.zeros(len(candidates.keys), dtype=np.float32)
    for share in shares.values():
        total += share
    order = np.lexsort((-candidates.keys, -total))
    return Ranked(candidates.keys, total, shares, order)


def _words(candidates: Candidates) -> NDArray[np.float32]:
    scores = bm25.scores(candidates)
    if not candidates.total:
        return scores
    mean = float(scores.sum()) / candidates.total
    spread = max(float(np.square(scores).sum()) / candidates.total - mean * mean, 0.0) ** 0.5
    return scores * np.float32(WEIGHTS["words"] / spread) if spread > 1e-6 else scores


def _meaning(candidates: Candidates) -> NDArray[np.float32]:
    assert candidates.similarity is not None
    above, spread = candidates.similarity, candidates.similarity_spread
    if spread > 1e-3:  # else nothing stands out, as with a single memory, and all count as they are
        above = (above - candidates.similarity_mean) / spread
    lifted = np.clip(np.nan_to_num(above, nan=0.0), 0.0, None)
    return (lifted * WEIGHTS["meaning"]).astype(np.float32)
