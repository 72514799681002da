"""Meaning: how much nearer to the question than the average memory its nearest passage lies."""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "meaning"
WEIGHT = 0.8
#: Where cosines differ less than this, as with a single memory, nothing stands out among them.
FLAT = 1e-3


def value(found: Candidates, _asked: Understood) -> Column | None:
    """The cosine over the average, in units of the spread; nothing for what lies farther."""
    if found.similarity is None:
        return None
    return above_average(found.similarity, found) * np.float32(WEIGHT)


def above_average(cosines: Column, found: Candidates) -> Column:
    """What cosines have over the average, in units of the spread; 0 for those without vectors."""
    over = cosines
    if found.similarity_spread > FLAT:
        over = (cosines - np.float32(found.similarity_mean)) / np.float32(found.similarity_spread)
    return np.fmax(over, np.float32(0))  # of a number and NaN it takes the number
