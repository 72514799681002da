"""Ranking: the raw values of candidates as one score, with every feature's share in it.

Features that add come first: each in units of its spread over all memories that the view shows, so
that they can be added up, and never below zero. Those that scale come after; their share is what
they change. What stands for every question is lifted last. All shares of a candidate add up to its
score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.ports.store import Candidates
from recollect.retrieval.features import (
    meaning,
    meaning_around,
    role,
    speaker,
    standing,
    strength,
    time,
    words,
    words_around,
)
from recollect.retrieval.features.units import in_grains
from recollect.retrieval.question import Understood


class Feature(Protocol):
    """A module that says what one thing is worth; None where it has nothing to say."""

    @property
    def NAME(self) -> str: ...
    def value(self, found: Candidates, asked: Understood, /) -> NDArray[np.float32] | None: ...


#: What each adds to the score of a candidate.
ADDING: Sequence[Feature] = (words, words_around, meaning, meaning_around, speaker, time)
#: What each multiplies it with.
SCALING: Sequence[Feature] = (role, strength)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates best first: their keys, scores and the shares of each feature."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    shares: dict[str, NDArray[np.float32]]
    order: NDArray[np.intp]


def rank(found: Candidates, asked: Understood, limit: int) -> Ranked:
    """Candidates by score, for so many hits; of equals the one written last comes first."""
    shares: dict[str, NDArray[np.float32]] = {}
    total = np.zeros(len(found.keys), dtype=np.float64)
    for feature in ADDING:
        share = feature.value(found, asked)
        if share is not None:
            shares[feature.NAME] = share = in_grains(share)
            total += share
    for feature in SCALING:
        factor = feature.value(found, asked)
        if factor is not None:
            shares[feature.NAME] = change = in_grains((factor - 1) * total)
            total += change
    lift = standing.lift(found, asked, total, limit)
    if lift is not None:
        shares[standing.NAME] = lift
        total += lift
    order = np.lexsort((-found.keys, -total))
    return Ranked(found.keys, total, shares, order)
