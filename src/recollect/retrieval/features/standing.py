"""Standing: instructions apply to every question, preferences to every question for advice.

They need not share a word with it. So a part of the hits is kept for them: the best few are lifted
to just above the last of the others, never beyond.
"""

import numpy as np
from numpy.typing import NDArray

from recollect.domain.records import Kind
from recollect.ports.store import Candidates
from recollect.retrieval.features.units import GRAIN, Column
from recollect.retrieval.question import Understood

NAME = "standing"
#: Kinds whose memories are candidates for every question.
KINDS = (Kind.INSTRUCTION.value, Kind.PREFERENCE.value)
PART = 5  #: one of so many hits is kept for them


def lift(
    found: Candidates, asked: Understood, scores: NDArray[np.float64], limit: int
) -> Column | None:
    """What the best standing memories lack to be among the hits; None if there are none."""
    wanted = KINDS if asked.wants_advice else KINDS[:1]
    kinds = found.facets["kind"]
    numbers = [n for n in np.unique(kinds).tolist() if found.names[n] in wanted]
    lines = np.flatnonzero(np.isin(kinds, numbers)) if numbers else np.empty(0, dtype=np.intp)
    if not len(lines) or limit < PART:
        return None
    importance = found.facets["importance"][lines]
    order = np.lexsort((-found.keys[lines], -importance, -scores[lines]))
    best = lines[order[: limit // PART]]
    others = np.sort(np.delete(scores, best))[::-1][: limit - len(best)]
    others = others[others > 0]
    enough = (others[-1] if len(others) else 0.0) + GRAIN
    lifted = np.zeros(len(scores), dtype=np.float32)
    lifted[best] = np.maximum(enough - scores[best], 0)
    return lifted
