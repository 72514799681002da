"""What is counted: pure functions from the ranks of the evidence to numbers.

A rank is 1 for the first hit and None for evidence that was not among the hits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2, sqrt
from statistics import fmean, stdev

Rank = int | None
Scores = Mapping[str, float]

CUTS = (1, 5, 10, 20, 50)
SESSION_CUTS = (5, 10)
DEPTH = 10  #: how many hits count for full hits, nDCG and the words returned
FULL, NDCG, MRR = f"full@{DEPTH}", f"nDCG@{DEPTH}", "MRR"
RECALLS = tuple(f"R@{cut}" for cut in CUTS)
SESSION_RECALLS = tuple(f"session R@{cut}" for cut in SESSION_CUTS)
#: Every metric, in the order of the tables.
METRICS = (*RECALLS, FULL, NDCG, MRR, *SESSION_RECALLS)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two runs differ over the questions that both answered."""

    count: int
    mean: float
    error: float  #: the standard error of the mean


@dataclass(frozen=True, slots=True)
class Folds:
    """The means that remain when each conversation in turn is left out."""

    means: Mapping[str, float]  #: by the conversation that was left out
    mean: float
    spread: float  #: their standard deviation


def ranks(found: Sequence[str], evidence: Iterable[str]) -> dict[str, Rank]:
    """Where each piece of evidence stands among what was found.

    >>> ranks(["a", "b", "c"], ["c", "x"])
    {'c': 3, 'x': None}
    """
    first: dict[str, int] = {}
    for rank, one in enumerate(found, start=1):
        first.setdefault(one, rank)
    return {one: first.get(one) for one in evidence}


def recall_at(cut: int, evidence: Sequence[Rank]) -> float:
    """The share of the evidence among the first hits."""
    return sum(rank is not None and rank <= cut for rank in evidence) / len(evidence)


def full_at(cut: int, evidence: Sequence[Rank]) -> float:
    """1 if all evidence is among the first hits, else 0."""
    return float(recall_at(cut, evidence) == 1)


def ndcg_at(cut: int, evidence: Sequence[Rank]) -> float:
    """Gain discounted by rank, in shares of what the best order would gain."""
    gained = sum(1 / log2(1 + rank) for rank in evidence if rank is not None and rank <= cut)
    best = sum(1 / log2(1 + rank) for rank in range(1, min(len(evidence), cut) + 1))
    return gained / best


def reciprocal_rank(evidence: Sequence[Rank]) -> float:
    """One over the rank of the first evidence; 0 if there is none."""
    return max((1 / rank for rank in evidence if rank is not None), default=0.0)


def scores(turns: Sequence[Rank], sessions: Sequence[Rank]) -> dict[str, float]:
    """Every metric of one question, from the ranks of its evidence."""
    return {
        **{name: recall_at(cut, turns) for name, cut in zip(RECALLS, CUTS, strict=True)},
        FULL: full_at(DEPTH, turns),
        NDCG: ndcg_at(DEPTH, turns),
        MRR: reciprocal_rank(turns),
        **{
            name: recall_at(cut, sessions)
            for name, cut in zip(SESSION_RECALLS, SESSION_CUTS, strict=True)
        },
    }


def means(answers: Sequence[Scores]) -> dict[str, float]:
    """Each metric's mean over questions, every question counting the same."""
    return {name: fmean(one[name] for one in answers) for name in METRICS} if answers else {}


def quantile(values: Iterable[float], share: float) -> float:
    """The least value that this share of all values does not exceed; 0 if there are none.

    >>> quantile([4, 1, 3, 2], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[max(ceil(share * len(ordered)), 1) - 1] if ordered else 0.0


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> Difference:
    """How much higher the second is, paired over what both have."""
    changes = [after[key] - before[key] for key in after if key in before]
    error = stdev(changes) / sqrt(len(changes)) if len(changes) > 1 else 0.0
    return Difference(len(changes), fmean(changes) if changes else 0.0, error)


def folds(values: Mapping[str, Sequence[float]]) -> Folds | None:
    """Means over questions with each conversation left out; None if there is only one."""
    if len(values) < 2:
        return None
    total = sum(map(sum, values.values()))
    count = sum(map(len, values.values()))
    left = {name: (total - sum(inside)) / (count - len(inside)) for name, inside in values.items()}
    return Folds(left, fmean(left.values()), stdev(left.values()))
