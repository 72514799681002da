"""Reinforcement: what makes a memory strong again.

How strong it is then, `MemoryRecord.strength` works out from what is recorded and the time. Fading
writes nothing, so it does not matter how often a job runs, or whether one runs at all.
"""

import math
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from recollect.domain import times
from recollect.domain.errors import ValidationError, shown
from recollect.domain.operations import Reinforce, Stamp
from recollect.domain.records import MemoryRecord
from recollect.domain.scopes import Place


def check_factor(factor: object) -> float:
    """What importance can be multiplied by."""
    number = isinstance(factor, int | float) and not isinstance(factor, bool) and factor
    if not 0 < number < math.inf:
        raise ValidationError(
            f"factor must be a number above 0, 1.2 for instance, not {shown(factor)}",
            field="factor",
        )
    return float(number)


def used(id: str, place: Place, stamp: Stamp, factor: float) -> Reinforce:
    """The reinforcement of one of several memories that were read: one event, a salt for each."""
    salt = blake2b(stamp.salt + id.encode(), digest_size=len(stamp.salt)).digest()
    return Reinforce(replace(stamp, salt=salt), id, (place,), factor)


def reinforced(record: MemoryRecord, factor: float, at: int) -> dict[str, Any]:
    """The fields that a reinforcement changes: more important, at most 1, and fresh again."""
    return {
        "importance": min(record.importance * factor, 1.0),
        "reinforced_at": times.show(at),
        "reinforcements": record.reinforcements + 1,
    }
