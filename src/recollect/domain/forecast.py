"""What will fade when, if nobody uses it: a look ahead that changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from recollect.domain import times
from recollect.domain.records import JsonObject, MemoryRecord


@dataclass(frozen=True, slots=True)
class Outlook:
    """What becomes of one memory: its strength at each of the forecast's moments."""

    memory: MemoryRecord
    strengths: tuple[float, ...]
    archived_at: datetime  #: when it leaves recall, unless it is read or reinforced


@dataclass(frozen=True, slots=True)
class Forecast:
    """The memories that will leave recall, soonest first, and how many are left at each moment."""

    moments: tuple[datetime, ...]  #: from now to the end of the forecast
    left: tuple[int, ...]  #: memories that still take part in recall, at each moment
    outlooks: tuple[Outlook, ...]

    @property
    def leaving(self) -> int:
        """How many leave until the end, listed here or not."""
        return self.left[0] - self.left[-1]

    def __iter__(self) -> Iterator[Outlook]:
        return iter(self.outlooks)

    def __len__(self) -> int:
        return len(self.outlooks)

    def to_dict(self) -> JsonObject:
        """The JSON form."""
        return {
            "moments": [times.iso(moment) for moment in self.moments],
            "left": list(self.left),
            "leaving": self.leaving,
            "outlooks": [
                {
                    "memory": one.memory.to_dict(),
                    "strengths": [round(strength, 4) for strength in one.strengths],
                    "archived_at": times.iso(one.archived_at),
                }
                for one in self.outlooks
            ],
        }
