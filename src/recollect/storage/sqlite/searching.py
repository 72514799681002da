"""Finding candidates: the indexes of a search's places, kept current, and what they answer."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.domain.errors import StorageCorrupt
from recollect.domain.queries import Search
from recollect.domain.records import MemoryRecord
from recollect.ports.store import FACETS, Candidates
from recollect.storage import facets
from recollect.storage.facets import Names
from recollect.storage.sqlite import conditions, reading, rows, segments
from recollect.storage.sqlite.facets import NOBODY
from recollect.storage.sqlite.index import PlaceIndex, from_entries
from recollect.storage.sqlite.segments import Indexed
from recollect.storage.sqlite.sql import SQL, first, query, scalar, stream

#: Slots that are kept in memory over all places; the least recently searched place goes first.
SLOTS_MAX = 2_000_000
#: More changes than this at once, and the indexes are loaded anew instead of following them.
FOLLOW_MAX = 20_000
#: Of the nearest vectors this part is compared exactly, and at least so many.
RESCORE = 8
RESCORED_MIN = 24
#: Memories without a vector that a search looks one up for, the newest first.
SOUGHT_MAX = 5_000
_N = TypeVar("_N", bound=np.generic)


@dataclass(slots=True)
class _Part:
    """What one place contributes to a search."""

    index: PlaceIndex
    shown: NDArray[np.bool_]
    similarity: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class _Table:
    """Candidates in columns; see `Candidates`."""

    keys: NDArray[np.int64]
    counts: NDArray[np.float32]
    lengths: NDArray[np.float32]
    similarity: NDArray[np.float32]
    facets: NDArray[np.void]
    before: NDArray[np.int32]
    after: NDArray[np.int32]


class Searcher:
    """Holds the indexes of the places that were searched lately."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[int, PlaceIndex] = OrderedDict()
        self._names = Names()
        self._seq = 0
        self._state: tuple[int, int, int] | None = None
        self._lock = threading.Lock()

    def candidates(self, connection: apsw.Connection, search: Search) -> Candidates:
        """What may answer a search, as of the connection's snapshot."""
        with self._lock:
            self._follow(connection)
            if search.vector is not None:
                self._look_again(connection)
            places = rows.place_ids(connection, search.view.places)
            past: dict[int, MemoryRecord] = {}
            if search.view.in_the_past:
                past = reading.past_records(connection, search.view, places)
            parts = [self._part(connection, search, number) for number in places]
            # Inside the lock: others grow the indexes.
            found, compared = _merged(parts, search, self._names)
        if search.vector is not None:
            found = _rescored(connection, found, search, compared)
        return _with_past(found, past, search, self._names) if past else found

    def forget(self) -> None:
        """Drop all indexes; the next search loads what it needs."""
        with self._lock:
            self._indexes.clear()

    # -- staying current -------------------------------------------------------------------------

    def _follow(self, connection: apsw.Connection) -> None:
        """Bring the indexes up to the last event."""
        last = scalar(connection, "last_seq")
        if last <= self._seq:
            return
        if last - self._seq > FOLLOW_MAX or not self._indexes:
            self._indexes.clear()
        else:
            changed = query(connection, "changed_since", self._seq)
            self._apply(connection, changed)
        self._seq = last

    def _look_again(self, connection: apsw.Connection) -> None:
        """Vectors may be added to memories that had none, and no event tells of it."""
        blocks = [block for index in self._indexes.values() for block in index.blocks.values()]
        if not any(block.absent for block in blocks):
            return
        version = scalar(connection, "data_version")
        state = (id(connection), version, connection.total_changes())
        if state != self._state:
            self._state = state
            for block in blocks:
                block.absent.clear()

    def _apply(self, connection: apsw.Connection, changed: list[tuple[int, int, str, int]]) -> None:
        touched: dict[int, int] = {}
        for _, place, what, about in changed:
            if what == "place":
                self._indexes.pop(place, None)
            elif what == "memory":
                touched[about] = place
        for row, place in touched.items():
            index = self._indexes.get(place)
            if index is not None and not _refresh(connection, index, place, row):
                del self._indexes[place]

    def _index(self, connection: apsw.Connection, place: int) -> PlaceIndex:
        index = self._indexes.get(place)
        if index is None:
            index = self._indexes[place] = load_index(connection, place, self._names)
        self._indexes.move_to_end(place)
        while sum(i.size for i in self._indexes.values()) > SLOTS_MAX and len(self._indexes) > 1:
            self._indexes.popitem(last=False)
        return index

    # -- answering -------------------------------------------------------------------------------

    def _part(self, connection: apsw.Connection, search: Search, place: int) -> _Part:
        index = self._index(connection, place)
        view = search.view
        if view.in_the_past or view.where or view.session or view.agent:
            where, values = conditions.of_view(view, [place])
            found = connection.execute(f"{SQL['rows_only']} WHERE {where}", values).fetchall()
            shown = index.slots_of_rows(np.array(found, dtype=np.int64).reshape(-1))
        else:
            shown = index.shown(view.now, view.statuses)
        similarity = None
        if search.vector is not None and search.space is not None:
            similarity = self._similarity(connection, search, index)
        return _Part(index, shown, similarity)

    def _similarity(
        self, connection: apsw.Connection, search: Search, index: PlaceIndex
    ) -> NDArray[np.float32] | None:
        found = first(connection, "space_id", search.space)
        assert search.vector is not None
        vector = np.frombuffer(search.vector, dtype="<f4")
        if found is None or found[1] != len(vector):
            return None
        block = index.block(found[0], found[1])
        _fill_missing(connection, index, found[0])
        return block.similarities(vector, index.size)


def load_index(connection: apsw.Connection, place: int, names: Names) -> PlaceIndex:
    """The index of a place from its tables."""
    slots = scalar(connection, "sealed_count", place)
    sealed = (
        segments.decode(payload) for (payload,) in stream(connection, "segments_of_place", place)
    )
    unsealed = list(map(Indexed._make, query(connection, "unsealed_of_place", place)))
    try:
        index = from_entries(names, slots, sealed, unsealed)
    except ValueError as exc:
        raise StorageCorrupt(
            "a segment is damaged; `recollect verify --repair` rebuilds it"
        ) from exc
    for row, status, valid_to, expires_at in stream(connection, "special", place):
        index.special[row] = (status, valid_to, expires_at)
    known = [
        (index.slot_of[found[0]], found[1:])
        for found in stream(connection, "facets_of_place", place)
        if found[0] in index.slot_of
    ]
    index.facets.load([slot for slot, _ in known], [facet for _, facet in known])
    return index


def _refresh(connection: apsw.Connection, index: PlaceIndex, place: int, row: int) -> bool:
    """Bring one memory up to date; False when the whole place has to be loaded anew."""
    found = first(connection, "index_state", row)
    if found is None or found[0] != place:
        index.darken(row)
        return True
    status, valid_to, expires_at = found[1:4]
    if found[4] is not None:
        index.add_entry(Indexed(row, *found[4:8]))
    elif row not in index.slot_of:
        return False
    index.facets.put(index.slot_of[row], found[8:])
    if status == "active" and valid_to is None and expires_at is None:
        index.special.pop(row, None)
    else:
        index.special[row] = (status, valid_to, expires_at)
    return True


def _fill_missing(connection: apsw.Connection, index: PlaceIndex, space: int) -> None:
    """Fetch vectors of a space that the index entries do not carry (they carry the latest one)."""
    block = index.blocks[space]
    lacking = np.flatnonzero(index.lit[: index.size] & ~block.holders(index.size))
    unknown = [slot for slot in lacking.tolist() if slot not in block.absent][-SOUGHT_MAX:]
    if not unknown:
        return
    wanted = {int(index.rows[slot]): slot for slot in unknown}
    listed = stream(connection, "vectors_of_rows", space, rows.json_list(wanted))
    for row, vectors in listed:
        code = segments.coded(vectors, block.dimensions)
        index.put_code(wanted.pop(row), space, code, block.dimensions)
    block.absent.update(wanted.values())


def _merged(parts: list[_Part], search: Search, names: Names) -> tuple[Candidates, int]:
    """One table of candidates over all places, with statistics over what the view shows.

    And over how many vectors the statistics of similarity are.
    """
    total = sum(int(part.shown.sum()) for part in parts)
    length = sum(float(part.index.lengths[: part.index.size][part.shown].sum()) for part in parts)
    holding = [0] * len(search.terms)
    always = [names.number(kind) for kind in search.always]
    tables = [_table(part, search, holding, always) for part in parts]
    seen = [
        part.similarity[part.shown & ~np.isnan(part.similarity)]
        for part in parts
        if part.similarity is not None
    ]
    known = np.concatenate(seen) if seen else np.empty(0, dtype=np.float32)
    ends = np.cumsum([0, *(len(table.keys) for table in tables)])
    together = _Table(
        keys=_stacked([t.keys for t in tables], np.empty(0, dtype=np.int64)),
        counts=_stacked(
            [t.counts for t in tables], np.empty((0, len(search.terms)), dtype=np.float32)
        ),
        lengths=_stacked([t.lengths for t in tables], np.empty(0, dtype=np.float32)),
        similarity=_stacked([t.similarity for t in tables], np.empty(0, dtype=np.float32)),
        facets=_stacked([t.facets for t in tables], np.empty(0, dtype=np.dtype(FACETS))),
        before=_stacked(_moved([t.before for t in tables], ends), np.empty(0, dtype=np.int32)),
        after=_stacked(_moved([t.after for t in tables], ends), np.empty(0, dtype=np.int32)),
    )
    merged = Candidates(
        total=total,
        mean_length=length / total if total else 0.0,
        holding=tuple(holding),
        keys=together.keys,
        counts=together.counts,
        lengths=together.lengths,
        similarity=together.similarity if search.vector is not None else None,
        similarity_mean=float(known.mean()) if len(known) else 0.0,
        similarity_spread=float(known.std()) if len(known) else 0.0,
        facets=together.facets,
        names=names.texts,
        before=together.before,
        after=together.after,
    )
    return merged, len(known)


def _moved(columns: list[NDArray[np.int32]], starts: NDArray[np.intp]) -> list[NDArray[np.int32]]:
    """Lines of each table as lines of all of them together."""
    return [
        np.where(lines == NOBODY, NOBODY, lines + np.int32(start))
        for lines, start in zip(columns, starts, strict=False)
    ]


def _table(part: _Part, search: Search, holding: list[int], always: list[int]) -> _Table:
    """One place's candidates; `always` are the kinds that the search always wants."""
    index = part.index
    chosen = np.zeros(index.size, dtype=bool)
    held: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
    for column, term in enumerate(search.terms):
        slots, counts = index.holders(term)
        visible = part.shown[slots]
        slots, counts = slots[visible], counts[visible]
        holding[column] += len(slots)
        held.append((slots, counts))
        chosen[slots] = True
    if part.similarity is not None:
        chosen[_nearest(part, search.breadth)] = True
    kinds = index.facets.columns["kind"][: index.size]
    for kind in always:
        chosen |= part.shown & (kinds == kind)
    if search.during:
        begins = index.facets.columns["begins"][: index.size]
        chosen[facets.during(begins, part.shown, search)] = True
    picked = index.with_neighbours(chosen, part.shown)
    where = np.full(index.size + 1, NOBODY, dtype=np.int32)  # the last one is nobody's line
    where[picked] = np.arange(len(picked), dtype=np.int32)
    counted = np.zeros((len(picked), len(search.terms)), dtype=np.float32)
    for column, (slots, counts) in enumerate(held):
        counted[where[slots], column] = counts
    return _Table(
        keys=index.rows[picked],
        counts=counted,
        lengths=index.lengths[picked],
        similarity=np.full(len(picked), np.nan, dtype=np.float32)
        if part.similarity is None
        else part.similarity[picked],
        facets=index.facets.columns[picked],
        before=where[index.facets.before[picked]],
        after=where[index.facets.after[picked]],
    )


def _nearest(part: _Part, breadth: int) -> NDArray[np.intp]:
    """The slots of the nearest vectors that the view shows."""
    assert part.similarity is not None
    near = np.where(part.shown, part.similarity, np.nan)
    known = np.flatnonzero(~np.isnan(near))
    if len(known) <= breadth:
        return known
    best = np.argpartition(near[known], len(known) - breadth)[len(known) - breadth :]
    return known[best]


def _stacked(arrays: list[NDArray[_N]], nothing: NDArray[_N]) -> NDArray[_N]:
    return np.concatenate(arrays) if arrays else nothing


def _rescored(
    connection: apsw.Connection, found: Candidates, search: Search, compared: int
) -> Candidates:
    """Replace the nearest candidates' similarities by exact ones, from their float32 vectors."""
    assert found.similarity is not None
    assert search.vector is not None
    space = first(connection, "space_id", search.space)
    known = np.flatnonzero(~np.isnan(found.similarity))
    if space is None or len(known) == 0:
        return found
    count = min(len(known), max(search.breadth // RESCORE, RESCORED_MIN))
    best = known[np.argpartition(found.similarity[known], len(known) - count)[-count:]]
    wanted = found.keys[best].tolist()
    places = dict(zip(wanted, best.tolist(), strict=True))
    listed = query(connection, "vectors_of_rows", space[0], rows.json_list(wanted))
    if not listed:
        return found
    exact = np.frombuffer(b"".join(vectors for _, vectors in listed), dtype="<f4")
    vector = np.frombuffer(search.vector, dtype="<f4")
    # Not `@`, which may add up equal vectors in different orders: equals must stay equal.
    by_passage = np.einsum("ij,j->i", exact.reshape(-1, len(vector)), vector)
    passages = [len(vectors) // vector.nbytes for _, vectors in listed]
    products = np.maximum.reduceat(by_passage, np.cumsum([0, *passages[:-1]]))
    lines = [places[row] for row, _ in listed]
    rough = found.similarity[lines].astype(np.float64)
    found.similarity[lines] = products
    # The statistics follow: where few vectors are compared, they would say more than they know.
    mean = found.similarity_mean + float((products - rough).sum()) / compared
    square = found.similarity_spread**2 + found.similarity_mean**2
    square += float((products.astype(np.float64) ** 2 - rough**2).sum()) / compared
    spread = max(square - mean * mean, 0.0) ** 0.5
    return replace(found, similarity_mean=mean, similarity_spread=spread)


def _with_past(
    found: Candidates, past: dict[int, MemoryRecord], search: Search, names: Names
) -> Candidates:
    """Add earlier versions to the candidates, each by itself; terms are read from their texts."""
    assert search.analyse is not None
    lengths: list[float] = []
    table = np.zeros((len(past), len(search.terms)), dtype=np.float32)
    for line, record in enumerate(past.values()):
        terms = np.frombuffer(search.analyse(record.spoken), dtype="<i8")
        lengths.append(float(len(terms)))
        for column, term in enumerate(search.terms):
            table[line, column] = np.count_nonzero(terms == term)
    wanted = [record.kind in search.always for record in past.values()]
    keep = np.any(table > 0, axis=1) | np.array(wanted, dtype=bool)
    if search.during:
        begins = facets.of_records([*past.values()], names)["begins"]
        keep[facets.during(begins, np.ones(len(past), dtype=bool), search)] = True
    kept = list(compress(past.values(), keep.tolist()))
    alone = np.full(len(kept), NOBODY, dtype=np.int32)
    keys = -np.fromiter(past, dtype=np.int64, count=len(past)) - 1
    total = found.total + len(past)
    length = found.mean_length * found.total + sum(lengths)
    similarity = found.similarity
    if similarity is not None:
        blank = np.full(int(keep.sum()), np.nan, dtype=np.float32)
        similarity = np.concatenate([similarity, blank])
    return Candidates(
        total=total,
        mean_length=length / total,
        holding=tuple(n + int(np.count_nonzero(table[:, i])) for i, n in enumerate(found.holding)),
        keys=np.concatenate([found.keys, keys[keep]]),
        counts=np.concatenate([found.counts, table[keep]]),
        lengths=np.concatenate([found.lengths, np.array(lengths, dtype=np.float32)[keep]]),
        similarity=similarity,
        similarity_mean=found.similarity_mean,
        similarity_spread=found.similarity_spread,
        facets=np.concatenate([found.facets, facets.of_records(kept, names)]),
        names=names.texts,
        before=np.concatenate([found.before, alone]),
        after=np.concatenate([found.after, alone]),
        past={-row - 1: record for row, record in past.items()},
    )
