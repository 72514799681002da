"""Words: how well a memory's own words answer the question's."""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval import bm25
from recollect.retrieval.features.units import Column, in_spreads
from recollect.retrieval.question import Understood

NAME = "words"
WEIGHT = 0.1
WEIGHT_ALONE = 0.35  #: where there are no vectors, and words are all there is
DAMPING = bm25.Damping(repeats=1.2, length=0.75)


def value(found: Candidates, _asked: Understood) -> Column:
    """BM25 of each memory by itself."""
    texts = bm25.Texts(
        found.counts, found.lengths, found.total, found.mean_length, np.array(found.holding, float)
    )
    weight = WEIGHT_ALONE if found.similarity is None else WEIGHT
    return in_spreads(bm25.scores(texts, DAMPING), found.total) * np.float32(weight)
