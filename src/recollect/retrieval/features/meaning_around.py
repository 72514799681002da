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
    table = np.append(found.similarity, np.float32(np.nan))
    known = ~np.isnan(table)
    table[~known] = 0
    own = known[:-1]
    total, weight = table[:-1].copy(), own.astype(np.float32)
    for beside in (found.before, found.after):
        total += np.float32(NEIGHBOUR) * table[beside]
        weight += np.float32(NEIGHBOUR) * known[beside]
    mean = np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)
    return above_average(mean, found) * np.float32(WEIGHT)
