"""Time: how close to a time that the question names something happened."""

import numpy as np

from recollect.domain.times import DAY
from recollect.ports.store import Candidates
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "time"
WEIGHT = 2.0
WIDTH_MAX = 60 * DAY  #: also of what has no beginning or no end


def value(found: Candidates, asked: Understood) -> Column | None:
    """1 inside a span of time that is asked about, falling off like a bell beside it.

    The longer the span, the vaguer its ends: the bell is half as wide as it, half a day at least.
    """
    if not asked.periods:
        return None
    begins = found.facets["begins"].astype(np.float64)
    best = np.zeros(len(begins), dtype=np.float32)
    for period in asked.periods:
        first = -np.inf if period.begins is None else period.begins
        last = np.inf if period.ends is None else period.ends
        outside = np.maximum(np.maximum(first - begins, begins - last), 0.0)
        width = min(max(last - first, DAY), WIDTH_MAX) / 2
        near = np.exp(-0.5 * np.square(outside / width))
        np.maximum(best, near, out=best, casting="same_kind")
    return best * np.float32(WEIGHT)
