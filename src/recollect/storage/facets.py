"""Facets of records as columns, the same in every store; see `recollect.ports.store.FACETS`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.domain import times
from recollect.domain.queries import Search
from recollect.domain.records import MemoryRecord
from recollect.ports.store import FACETS


class Names:
    """Texts that recur, as numbers; 0 is no text."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self._numbers: dict[str | None, int] = {None: 0, "": 0}

    def number(self, text: str | None) -> int:
        """The number of a text, a new one if need be."""
        found = self._numbers.get(text)
        if found is None:
            assert text is not None
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


def during(begins: NDArray[np.int64], shown: NDArray[np.bool_], search: Search) -> NDArray[np.intp]:
    """The lines of what happened in the times of a search: the latest, if they are too many."""
    inside = np.zeros(len(begins), dtype=bool)
    for first, last in search.during:
        inside |= (begins >= first) & (begins < last)
    lines = np.flatnonzero(inside & shown)
    latest = np.argsort(begins[lines], kind="stable")[-search.breadth :]
    return lines[latest]


def of_records(records: Sequence[MemoryRecord], names: Names) -> NDArray[np.void]:
    """The facets of records, a line each."""
    number = names.number
    return np.array(
        [
            (
                number(record.role),
                number(record.speaker),
                number(record.kind),
                times.to_micros(record.occurred_at or record.valid_from or record.created_at),
                record.importance,
                number(record.tier),
                times.to_micros(record.reinforced_at or record.created_at),
            )
            for record in records
        ],
        dtype=np.dtype(FACETS),
    )
