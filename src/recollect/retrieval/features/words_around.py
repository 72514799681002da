"""Words around: how well a message answers together with those two before and two after it.

An answer seldom repeats the words of what it answers; they stand a line or two away. A memory that
is no message stands alone, and its own words count once more.
"""

import numpy as np

from recollect.ports.store import Candidates
from recollect.retrieval import bm25
from recollect.retrieval.features.units import Column, in_spreads
from recollect.retrieval.question import Understood

NAME = "words_around"
WEIGHT = 0.5
WEIGHT_ALONE = 0.5  #: where there are no vectors, and words are all there is
#: Lengths of windows differ less than those of texts, and say less.
DAMPING = bm25.Damping(repeats=0.9, length=0.3)


def value(found: Candidates, _asked: Understood) -> Column:
    """BM25 of each window as one text, among all windows."""
    counts, lengths, lines = _windows(found)
    # Who holds no word and stands beside nobody who does is no candidate: the counts are complete.
    # Of the lengths only those of candidates are known, and what all texts have on average.
    held = counts > 0
    matched = lines[held.any(axis=1)]
    mean_length = found.mean_length * float(matched.mean()) if len(matched) else 0.0
    holding = np.count_nonzero(held, axis=0).astype(np.float64)
    texts = bm25.Texts(counts, lengths, found.total, mean_length, holding)
    weight = WEIGHT_ALONE if found.similarity is None else WEIGHT
    return in_spreads(bm25.scores(texts, DAMPING), found.total) * np.float32(weight)


def _windows(found: Candidates) -> tuple[Column, Column, Column]:
    """Counts of terms, lengths and numbers of messages of each candidate's window."""
    size = len(found.keys)
    # One more column for the length, one for the message itself; one more line for nobody.
    table = np.zeros((size + 1, found.counts.shape[1] + 2), dtype=np.float32)
    table[:size, :-2], table[:size, -2], table[:size, -1] = found.counts, found.lengths, 1
    window = table[:size].copy()
    for beside in (found.before, found.after):
        further = np.full(size + 1, -1, dtype=np.int32)
        further[:size] = beside
        window += table[beside]
        window += table[further[beside]]
    return window[:, :-2], window[:, -2], window[:, -1]
