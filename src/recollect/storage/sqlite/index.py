"""The index of one place, held in memory: who holds a term, who lies near a vector.

A place is loaded from its segments and unsealed entries when it is first searched and follows the
events from then on. Each entry has a slot; a memory whose text changed gets a new slot and its old
one goes dark. Postings are kept as one sorted run and a small dictionary of recent ones, which
is merged into the run when it has grown.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect.storage.facets import Names
from recollect.storage.sqlite.facets import NOBODY, Facets
from recollect.storage.sqlite.segments import Columns, Indexed, by_space, columns_of, unpack_codes
from recollect.storage.sqlite.vectors import VectorBlock

RECENT_MAX = 2048
#: Messages before and after a candidate that come along with it.
WINDOW = 2
#: Slots that a place has room for beyond those it was loaded with.
SPARE = 64


class PlaceIndex:
    """Everything that candidates of one place are found with."""

    def __init__(self, names: Names, slots: int = 0) -> None:
        room = slots + SPARE
        self.size = 0
        self.rows = np.empty(room, dtype=np.int64)
        self.lengths = np.empty(room, dtype=np.float32)
        self.lit = np.zeros(room, dtype=bool)  # the slot holds its memory's present entry
        self.slot_of: dict[int, int] = {}
        self.special: dict[int, tuple[str, int | None, int | None]] = {}
        self.blocks: dict[int, VectorBlock] = {}
        self.facets = Facets(names, room)
        self._terms = np.empty(0, dtype=np.int64)
        self._holders = np.empty(0, dtype=np.int32)
        self._counts = np.empty(0, dtype=np.uint8)
        self._recent: dict[int, list[tuple[int, int]]] = {}
        self._recent_slots = 0

    # -- filling ---------------------------------------------------------------------------------

    def add_columns(self, parts: Iterable[Columns]) -> None:
        """Take over sealed entries, oldest first; later entries of a memory win."""
        terms, holders, counts = [self._terms], [self._holders], [self._counts]
        for columns in parts:
            base = self._new_slots(columns.rows, columns.lengths)
            terms.append(columns.terms.copy())  # a view would keep the whole segment in memory
            holders.append(columns.holders + np.int32(base))
            counts.append(_capped(columns.counts))
            if columns.space is not None and len(columns.coded):
                block = self.block(columns.space, columns.codes.shape[1])
                block.add(columns.coded + np.int32(base), columns.codes, columns.scales)
        self._set_run(np.concatenate(terms), np.concatenate(holders), np.concatenate(counts))

    def add_entry(self, entry: Indexed) -> None:
        """Take over one entry; an earlier one of the same memory goes dark."""
        numbers = np.frombuffer(entry.terms, dtype="<i8").tolist()
        slot = self._new_slots(np.array([entry.row]), np.array([len(numbers)]))
        held: dict[int, int] = {}
        for number in numbers:
            held[number] = held.get(number, 0) + 1
        for number, count in held.items():
            self._recent.setdefault(number, []).append((slot, count))
        if entry.space is not None and entry.code is not None and entry.dimensions is not None:
            self.put_code(slot, entry.space, entry.code, entry.dimensions)
        self._recent_slots += 1
        if self._recent_slots >= RECENT_MAX:
            self._merge_recent()

    def put_code(self, slot: int, space: int, code: bytes, dimensions: int) -> None:
        """Take over the vectors of a slot."""
        codes, scales = unpack_codes(code, dimensions)
        owners = np.full(len(scales), slot, dtype=np.int32)
        self.block(space, dimensions).add(owners, codes, scales)

    def block(self, space: int, dimensions: int) -> VectorBlock:
        """The vectors of a space."""
        block = self.blocks.get(space)
        if block is None:
            block = self.blocks[space] = VectorBlock(dimensions, len(self.rows))
        return block

    def darken(self, row: int) -> None:
        """Forget the entry of a memory."""
        slot = self.slot_of.pop(row, None)
        if slot is not None:
            self.lit[slot] = False
            self.facets.remove(slot)
        self.special.pop(row, None)

    def _new_slots(self, rows: NDArray[np.int64], lengths: NDArray[np.int32]) -> int:
        base, count = self.size, len(rows)
        if base + count > len(self.rows):
            size = max(base + count, len(self.rows) * 3 // 2)
            self.rows = np.resize(self.rows, size)
            self.lengths = np.resize(self.lengths, size)
            self.lit = np.concatenate([self.lit[:base], np.zeros(size - base, dtype=bool)])
        self.rows[base : base + count] = rows
        self.lengths[base : base + count] = lengths
        self.lit[base : base + count] = True
        for offset, row in enumerate(rows.tolist()):
            earlier = self.slot_of.get(row)
            if earlier is not None:
                self.lit[earlier] = False
                self.facets.remove(earlier)
            self.slot_of[row] = base + offset
        self.size = base + count
        return base

    def _set_run(
        self, terms: NDArray[np.int64], holders: NDArray[np.int32], counts: NDArray[np.uint8]
    ) -> None:
        order = np.argsort(terms, kind="stable")
        self._terms, self._holders, self._counts = terms[order], holders[order], counts[order]

    def _merge_recent(self) -> None:
        terms = [number for number, held in self._recent.items() for _ in held]
        pairs = [pair for held in self._recent.values() for pair in held]
        self._recent, self._recent_slots = {}, 0
        recent = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        self._set_run(
            np.concatenate([self._terms, np.array(terms, dtype=np.int64)]),
            np.concatenate([self._holders, recent[:, 0]]),
            np.concatenate([self._counts, _capped(recent[:, 1])]),
        )

    # -- asking ----------------------------------------------------------------------------------

    def holders(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The slots that hold a term, and how often; dark ones included."""
        start = int(np.searchsorted(self._terms, term, side="left"))
        stop = int(np.searchsorted(self._terms, term, side="right"))
        slots = self._holders[start:stop]
        counts = self._counts[start:stop].astype(np.float32)
        recent = self._recent.get(term)
        if recent:
            pairs = np.array(recent, dtype=np.int32)
            slots = np.concatenate([slots, pairs[:, 0]])
            counts = np.concatenate([counts, _capped(pairs[:, 1]).astype(np.float32)])
        return slots, counts

    def shown(self, now: int, statuses: tuple[str, ...] | None) -> NDArray[np.bool_]:
        """Which slots the present shows."""
        mask = self.lit[: self.size].copy()
        wanted = statuses or ("active",)
        if "active" not in wanted:
            mask[:] = False
        for row, (status, valid_to, expires_at) in self.special.items():
            slot = self.slot_of.get(row)
            if slot is not None:
                mask[slot] = (
                    status in wanted
                    and (valid_to is None or valid_to > now or status != "active")
                    and (expires_at is None or expires_at > now)
                )
        return mask

    def with_neighbours(
        self, chosen: NDArray[np.bool_], shown: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Chosen slots, and of messages those next to them in their conversation, as shown."""
        self.facets.settle(self.size)
        widened = chosen.copy()
        for beside in (self.facets.before, self.facets.after):
            edge = np.flatnonzero(chosen).astype(np.int32)
            for _ in range(WINDOW):
                edge = beside[edge]
                edge = edge[edge != NOBODY]
                edge = edge[shown[edge]]  # what the view hides is nobody's neighbour
                widened[edge] = True
        return np.flatnonzero(widened & shown)

    def slots_of_rows(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which slots hold the present entries of some memories."""
        return self.lit[: self.size] & np.isin(self.rows[: self.size], rows)


def from_entries(
    names: Names, slots: int, segments: Iterable[Columns], unsealed: Sequence[Indexed]
) -> PlaceIndex:
    """The index of a place from what its tables hold, with room for as many slots as expected."""
    waiting = (columns_of(entries) for entries in by_space(unsealed))
    index = PlaceIndex(names, slots + len(unsealed))
    index.add_columns(chain(segments, waiting))
    return index


def _capped(counts: NDArray[np.int32]) -> NDArray[np.uint8]:
    """How often a term is held, up to 255: beyond that it says nothing more."""
    return np.minimum(counts, 255).astype(np.uint8)
