"""Role: what an assistant or a tool said counts half, unless the question asks for just that.

People ask about what they said themselves; what an assistant said is longer, and shares more words
with every question.
"""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "role"
FACTOR = 0.5
PEOPLE = ("", "user")  #: what has no role is nobody's answer


def value(found: Candidates, asked: Understood) -> Column | None:
    """What to multiply with."""
    if asked.asks_assistant:
        return None
    roles = found.facets["role"]
    others = [n for n in np.unique(roles).tolist() if found.names[n] not in PEOPLE]
    if not others:
        return None
    factor = np.ones(len(roles), dtype=np.float32)
    for number in others:
        factor[roles == number] = FACTOR
    return factor
