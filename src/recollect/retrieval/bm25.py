"""BM25 over columns: how well the words of texts answer the question's."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Damping:
    """What holds a score down."""

    repeats: float  #: how fast repetitions of a word stop counting
    length: float  #: how far a long text is held against it, from 0 to 1


@dataclass(frozen=True, slots=True)
class Texts:
    """Some texts of many, in columns, and what is known of all of them."""

    counts: NDArray[np.float32]  #: texts x terms: how often each holds each term
    lengths: Column  #: number of terms of each
    total: int  #: of all texts, those that hold no term included
    mean_length: float
    holding: NDArray[np.float64]  #: for each term, how many texts hold it


def rarity(texts: Texts) -> Column:
    """The weight of each term: the fewer texts hold it, the more it says."""
    held = texts.holding
    return np.log1p((texts.total - held + 0.5) / (held + 0.5)).astype(np.float32)


def scores(texts: Texts, damping: Damping) -> Column:
    """The BM25 score of every text; 0 for those that hold no term."""
    if not texts.counts.size:
        return np.zeros(len(texts.counts), dtype=np.float32)
    length = texts.lengths * np.float32(damping.length / max(texts.mean_length, 1e-9))
    held_down = np.float32(damping.repeats) * (np.float32(1 - damping.length) + length)
    saturated = texts.counts / (texts.counts + held_down[:, None])
    # Not `@`, which may add up equal rows in different orders: equals must stay equal.
    weights = rarity(texts) * np.float32(damping.repeats + 1)
    return np.einsum("ij,j->i", saturated, weights)
