"""What each feature of the ranking is worth: the order that is left without it.

Shares add up to a score, so the order without a feature can be had from the shares alone. Asks for
as many hits as a recall gives; in larger memories a turn that only the rest would have found far
behind those is missed.
"""

from collections.abc import Mapping

from recollect.domain.recall import Recall
from recollect.retrieval.ranking import ADDING, SCALING

FEATURES = tuple(feature.NAME for feature in (*ADDING, *SCALING))
_SCALING = frozenset(feature.NAME for feature in SCALING)


def without(shares: Mapping[str, float], name: str) -> float:
    """The score that the other shares would have made.

    >>> without({"words": 2.0, "speaker": 2.0, "role": -2.0}, "speaker")
    1.0
    """
    reached = left = 0.0
    for feature, share in shares.items():
        if feature in _SCALING:
            factor = 1 + share / reached if reached else 1.0
            left *= 1.0 if feature == name else factor
        elif feature != name:
            left += share
        reached += share
    return left


def orders(recall: Recall) -> dict[str, list[int]]:
    """For each feature the hits by their scores without it, as positions; equals stay in order."""
    scores = {name: [without(hit.why.shares, name) for hit in recall] for name in FEATURES}
    return {
        name: sorted(range(len(found)), key=lambda index: -found[index])
        for name, found in scores.items()
    }
