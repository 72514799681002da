"""Finding candidates by looking at every memory: exact, and slow on purpose."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain.queries import Search
from recollect.domain.records import MemoryRecord
from recollect.ports.store import Candidates
from recollect.storage import facets
from recollect.storage.memory import reading
from recollect.storage.memory.tables import Tables

NOBODY = -1
#: Messages before and after a candidate that come along with it.
WINDOW = 2


def candidates(tables: Tables, search: Search) -> Candidates:
    """What may answer a search, with the statistics of everything that its view shows."""
    past = {-n - 1: record for n, record in reading.shown_versions(tables, search.view).items()}
    present = reading.shown(tables, search.view)
    records = {**present, **past}
    texts = [tables.memories[number].terms for number in present]
    if past:
        assert search.analyse is not None
        texts += [search.analyse(record.spoken) for record in past.values()]
    similarity = _similarities(tables, search, list(present))
    counts, lengths = _counted(texts, search.terms)
    keys = np.fromiter(records, dtype=np.int64, count=len(records))
    near = np.array([similarity.get(key, np.nan) for key in records], dtype=np.float32)
    before, after = _neighbours(present, len(past))
    wanted = np.array([record.kind in search.always for record in records.values()], dtype=bool)
    chosen = counts.any(axis=1) | _nearest(near, search.breadth) | wanted
    names = facets.Names()
    known_of = facets.of_records([*records.values()], names)
    if search.during:
        everything = np.ones(len(records), dtype=bool)
        chosen[facets.during(known_of["begins"], everything, search)] = True
    picked = _widened(chosen, before, after)
    known = near[~np.isnan(near)]
    lines = np.append(np.where(picked, np.cumsum(picked) - 1, NOBODY), NOBODY).astype(np.int32)
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
        facets=known_of[picked],
        names=names.texts,
        before=lines[before[picked]],
        after=lines[after[picked]],
        past={key: reading.handed_out(record) for key, record in past.items()},
    )


def _neighbours(
    present: Mapping[int, MemoryRecord], further: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """On which lines the messages before and after each are; `further` lines have none."""
    said = {
        (record.place, record.session, record.position): line
        for line, record in enumerate(present.values())
        if record.position is not None
    }

    def beside(step: int) -> list[int]:
        return [
            NOBODY
            if record.position is None
            else said.get((record.place, record.session, record.position + step), NOBODY)
            for record in present.values()
        ] + [NOBODY] * further

    return np.array(beside(-1), dtype=np.int32), np.array(beside(1), dtype=np.int32)


def _widened(
    chosen: NDArray[np.bool_], before: NDArray[np.int32], after: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Chosen lines, and the messages next to them."""
    widened = chosen.copy()
    for beside in (before, after):
        edge = np.flatnonzero(chosen).astype(np.int32)
        for _ in range(WINDOW):
            edge = beside[edge]
            edge = edge[edge != NOBODY]
            widened[edge] = True
    return widened


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
    """The cosine of the nearest passage of each memory that has vectors in the searched space."""
    if search.vector is None or search.space is None:
        return {}
    wanted = np.frombuffer(search.vector, dtype="<f4")
    if tables.spaces.get(search.space) != len(wanted):
        return {}
    vectors = {number: tables.memories[number].vectors.get(search.space) for number in numbers}
    return {
        number: np.frombuffer(vector, dtype="<f4").reshape(-1, len(wanted)).dot(wanted).max()
        for number, vector in vectors.items()
        if vector is not None
    }


def _nearest(similarity: NDArray[np.float32], breadth: int) -> NDArray[np.bool_]:
    """Which lines are among the nearest; never those without a vector."""
    chosen = np.zeros(len(similarity), dtype=bool)
    known = int(np.count_nonzero(~np.isnan(similarity)))
    chosen[np.argsort(-similarity, kind="stable")[: min(known, breadth)]] = True
    return chosen
