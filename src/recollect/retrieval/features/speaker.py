"""Speaker: whether a message was said by the one person whom the question names."""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "speaker"
WEIGHT = 1.0


def value(found: Candidates, asked: Understood) -> Column | None:
    """What that person said; nothing if the question names none or several of the speakers."""
    speakers = found.facets["speaker"]
    present: list[int] = np.unique(speakers[speakers > 0]).tolist()
    names = asked.mentions(found.names[number] for number in present)
    if len(names) != 1:
        return None
    (named,) = (number for number in present if found.names[number] == names[0])
    return np.where(speakers == named, np.float32(WEIGHT), np.float32(0))
