"""Memories with the same words have the same score, wherever they lie among the candidates."""

import numpy as np
import pytest

from recollect.ports.store import FACETS, Candidates
from recollect.retrieval import bm25


@pytest.mark.parametrize("terms", range(1, 13))
def test_equal_candidates_have_equal_scores(terms: int) -> None:
    chance = np.random.default_rng(terms)
    for lines in range(2, 60):
        row = chance.integers(0, 9, terms).astype(np.float32)
        candidates = Candidates(
            total=100,
            mean_length=float(chance.uniform(1, 30)),
            holding=tuple(chance.integers(1, 100, terms).tolist()),
            keys=np.arange(lines),
            counts=np.tile(row, (lines, 1)),
            lengths=np.full(lines, 17, dtype=np.float32),
            similarity=None,
            similarity_mean=0.0,
            similarity_spread=0.0,
            facets=np.zeros(lines, dtype=np.dtype(FACETS)),
            names=[""],
            before=np.full(lines, -1, dtype=np.int32),
            after=np.full(lines, -1, dtype=np.int32),
        )
        assert len(set(bm25.scores(candidates).tolist())) == 1
