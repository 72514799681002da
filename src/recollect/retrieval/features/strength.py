"""Strength: of two memories that answer equally well, the one that time has worn less comes first.

It scales what the other features say, so that it never brings up what does not answer, and changes
nothing where all candidates are equally strong.
"""

import numpy as np

from recollect.domain.policy import Fading
from recollect.domain.times import DAY
from recollect.ports.store import Candidates
from recollect.retrieval.features.units import Column
from recollect.retrieval.question import Understood

NAME = "strength"
WEIGHT = 0.25
DIGITS = 3  #: so that a power that was rounded otherwise elsewhere makes no difference


def value(found: Candidates, asked: Understood) -> Column | None:
    """What to multiply with."""
    facets = found.facets
    if asked.fading is None or not len(facets):
        return None
    days = np.maximum(asked.fading.now - facets["reinforced"], 0) / DAY
    # Few kinds meet few tiers: each pair has one rate.
    width = int(facets["tier"].max()) + 1
    pairs = facets["kind"].astype(np.int64) * width + facets["tier"]
    met, which = np.unique(pairs, return_inverse=True)
    kept = np.array([1.0 - _rate(found, asked.fading, *divmod(int(one), width)) for one in met])
    strength = np.round(facets["importance"] * kept[which] ** days, DIGITS)
    if np.ptp(strength) <= 10**-DIGITS:
        return None
    return (1.0 + WEIGHT * strength).astype(np.float32)


def _rate(found: Candidates, fading: Fading, kind: int, tier: int) -> float:
    return fading.policy_of(found.names[kind]).rate(found.names[tier])
