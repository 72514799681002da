"""Finding candidates by looking at every memory: exact, and slow on purpose."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.queries import Search
from recollect.ports.store import Candidates
from recollect.storage.memory import reading
from recollect.storage.memory.tables import Tables


def candidates(tables: Tables, search: Search) -> Candidates:
    """What may answer a search, with the statistics of everything that its view shows."""
    past = {-n - 1: record for n, record in reading.shown_versions(tables, search.view).items()}
    texts: dict[int, bytes] = {
        number: tables.memories[number].terms for number in reading.shown(tables, search.view)
    }
    similarity = _similarities(tables, search, list(texts))
    if past:
        assert search.analyse is not None
        texts |= {key: search.analyse(record.text) for key, record in past.items()}
    counts, lengths = _counted(list(texts.values()), search.terms)
    keys = np.fromiter(texts, dtype=np.int64, count=len(texts))
    near = np.array([similarity.get(key, np.nan) for key in texts], dtype=np.float32)
    picked = counts.any(axis=1) | _nearest(near, search.breadth)
    known = near[~np.isnan(near)]
    return Candidates(
        total=len(texts),
        mean_length=float(lengths.mean()) if len(lengths) else 0.0,
        holding=tuple(np.count_nonzero(counts, axis=0).tolist()),
        keys=keys[picked],
        counts=counts[picked],
        lengths=lengths[picked],
        similarity=None if search.vector is None else near[picked],
        similarity_mean=float(known.mean()) if len(known) else 0.0,
        similarity_spread=float(known.std()) if len(known) else 0.0,
        past={key: reading.handed_out(record) for key, record in past.items()},
    )


def _counted(
    packed: Sequence[bytes], terms: Sequence[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How often each text holds each term, and how many terms it has."""
    counts = np.zeros((len(packed), len(terms)), dtype=np.float32)
    lengths = np.zeros(len(packed), dtype=np.float32)
    for line, text in enumerate(packed):
        held = np.frombuffer(text, dtype="<i8")
        lengths[line] = len(held)
        for column, term in enumerate(terms):
            counts[line, column] = np.count_nonzero(held == term)
    return counts, lengths


def _similarities(
    tables: Tables, search: Search, numbers: Sequence[int]
) -> Mapping[int, np.float32]:
    """The cosine of each memory that has a vector in the searched space."""
    if search.vector is None or search.space is None:
        return {}
    wanted = np.frombuffer(search.vector, dtype="<f4")
    if tables.spaces.get(search.space) != len(wanted):
        return {}
    vectors = {number: tables.memories[number].vectors.get(search.space) for number in numbers}
    return {
        number: np.dot(np.frombuffer(vector, dtype="<f4"), wanted)
        for number, vector in vectors.items()
        if vector is not None
    }


def _nearest(similarity: NDArray[np.float32], breadth: int) -> NDArray[np.bool_]:
    """Which lines are among the nearest; never those without a vector."""
    chosen = np.zeros(len(similarity), dtype=bool)
    known = int(np.count_nonzero(~np.isnan(similarity)))
    chosen[np.argsort(-similarity, kind="stable")[: min(known, breadth)]] = True
    return chosen
