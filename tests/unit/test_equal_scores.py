"""Memories with the same words have the same score, wherever they lie among the candidates."""

import numpy as np
import pytest

from recollect.retrieval import bm25

DAMPING = bm25.Damping(repeats=1.2, length=0.75)


@pytest.mark.parametrize("terms", range(1, 13))
def test_equal_candidates_have_equal_scores(terms: int) -> None:
    chance = np.random.default_rng(terms)
    for lines in range(2, 60):
        row = chance.integers(0, 9, terms).astype(np.float32)
        texts = bm25.Texts(
            counts=np.tile(row, (lines, 1)),
            lengths=np.full(lines, 17, dtype=np.float32),
            total=100,
            mean_length=float(chance.uniform(1, 30)),
            holding=chance.integers(1, 100, terms).astype(float),
        )
        assert len(set(bm25.scores(texts, DAMPING).tolist())) == 1
