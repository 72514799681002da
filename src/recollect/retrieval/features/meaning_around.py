"""Meaning around: how near a message lies together with the one before and the one after it."""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval.features.meaning import above_average
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "meaning_around"
WEIGHT = 1.0
NEIGHBOUR = 0.4  #: what a neighbour counts beside the message itself


def value(found: Candidates, _asked: Understood) -> Column | None:
    """The average cosine of a message and its neighbours, measured as `meaning` is."""
    if found.similarity is None:
        return None
    size = len(found.keys)
    known = ~np.isnan(found.similarity)
    # One more line for nobody; beside each cosine whether there is one.
    table = np.zeros((size + 1, 2), dtype=np.float32)
    table[:size, 0] = np.where(known, found.similarity, np.float32(0))
    table[:size, 1] = known
    sums = table[:size] + np.float32(NEIGHBOUR) * (table[found.before] + table[found.after])
    mean = np.full(size, np.nan, dtype=np.float32)
    np.divide(sums[:, 0], sums[:, 1], out=mean, where=sums[:, 1] > 0)
    return above_average(mean, found) * np.float32(WEIGHT)
