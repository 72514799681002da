"""What ranking asks about memories besides their words and vectors, by slot, held in memory.

Who said it, of which kind it is, when it was true, how strong it is; and for a message which slots
hold the message before it and the one after it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.ports.store import FACETS
from recollect.storage.facets import Names

NOBODY = -1
#: Session, position, role, speaker, kind, beginning, importance, tier and last reinforcement.
Facet = tuple[str | None, int | None, str | None, str | None, str, int, float, str, int]


class Facets:
    """The facets of the slots of one place."""

    def __init__(self, names: Names, room: int) -> None:
        self.columns = np.zeros(room, dtype=np.dtype(FACETS))
        self.before = np.full(room, NOBODY, dtype=np.int32)
        self.after = np.full(room, NOBODY, dtype=np.int32)
        self._sessions = np.zeros(room, dtype=np.int32)  # 0 for what is no message
        self._positions = np.zeros(room, dtype=np.int32)
        self._names = names
        #: The slot of the last message of each session; None while the order is not known.
        self._last: dict[int, int] | None = {}

    def load(self, slots: Sequence[int], facets: Sequence[Facet]) -> None:
        """Take over many at once."""
        if not slots:
            return
        number = self._names.number
        at = np.array(slots)
        self._make_room(int(at.max()) + 1)
        sessions, positions, roles, speakers, kinds, *numeric, tiers, fresh = zip(
            *facets, strict=True
        )
        for name, texts in (("role", roles), ("speaker", speakers), ("kind", kinds)):
            self.columns[name][at] = [number(text) for text in texts]
        self.columns["begins"][at], self.columns["importance"][at] = numeric
        self.columns["tier"][at] = [number(text) for text in tiers]
        self.columns["reinforced"][at] = fresh
        said = [position is not None for position in positions]
        self._positions[at] = [position or 0 for position in positions]
        self._sessions[at] = [
            number(session) if is_message else 0
            for session, is_message in zip(sessions, said, strict=True)
        ]
        self._last = None

    def put(self, slot: int, facet: Facet) -> None:
        """Take over one, or what became of it."""
        number = self._names.number
        session, position, role, speaker, kind, begins, importance, tier, fresh = facet
        self._make_room(slot + 1)
        self.columns[slot] = (
            *(number(role), number(speaker), number(kind)),
            *(begins, importance, number(tier), fresh),
        )
        if position is None or self._sessions[slot]:
            return
        self._sessions[slot], self._positions[slot] = number(session), position
        if self._last is not None:
            self._append(slot, number(session), position)

    def remove(self, slot: int) -> None:
        """Take a slot out of its conversation."""
        session = int(self._sessions[slot])
        if not session:
            return
        self._sessions[slot] = 0
        for ends, other in ((self.after, self.before[slot]), (self.before, self.after[slot])):
            if other != NOBODY:
                ends[other] = NOBODY
        self.before[slot] = self.after[slot] = NOBODY
        if self._last is not None and self._last.get(session) == slot:
            self._last = None

    def settle(self, size: int) -> None:
        """Make `before` and `after` right for the first slots."""
        if self._last is not None:
            return
        said = np.flatnonzero(self._sessions[:size])
        order = said[np.lexsort((self._positions[said], self._sessions[said]))]
        first, second = order[:-1], order[1:]
        same = self._sessions[first] == self._sessions[second]
        next_to = same & (self._positions[first] + 1 == self._positions[second])
        self.before[:size] = self.after[:size] = NOBODY
        self.after[first[next_to]] = second[next_to]
        self.before[second[next_to]] = first[next_to]
        self._last = dict(zip(self._sessions[order].tolist(), order.tolist(), strict=True))

    def _append(self, slot: int, session: int, position: int) -> None:
        """Link a message behind the last one of its session, if that is where it belongs."""
        assert self._last is not None
        last = self._last.get(session, NOBODY)
        if last != NOBODY and self._positions[last] >= position:
            self._last = None
            return
        if last != NOBODY and self._positions[last] + 1 == position:
            self.after[last], self.before[slot] = slot, last
        self._last[session] = slot

    def _make_room(self, size: int) -> None:
        if size <= len(self.columns):
            return
        room = max(size, len(self.columns) * 3 // 2 + 64)
        for name in ("columns", "before", "after", "_sessions", "_positions"):
            earlier: NDArray[np.generic] = getattr(self, name)
            later = np.full(room, NOBODY if name in ("before", "after") else 0, earlier.dtype)
            later[: len(earlier)] = earlier
            setattr(self, name, later)
