"""Sharing the budget: how many tokens each section may take of what there is.

The system text and the current message come first and whole. Of what is left each section gets
its floor, the most urgent first, then more up to its share, again the most urgent first, and then
whatever it needs of what is left over.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.domain.context import Section

RECENT, OLDER = "recent", "older"


@dataclass(frozen=True, slots=True)
class Portion:
    """What a section is entitled to, as parts of the whole budget."""

    floor: float
    share: float
    whole: float = 1.0


#: The most urgent first. `messages` are two portions: the most recent ones, and those before.
PORTIONS = {
    Section.PROFILE.value: Portion(0.10, 0.20),
    RECENT: Portion(0.30, 1.0),
    Section.INSTRUCTIONS.value: Portion(0.05, 0.15),
    Section.SUMMARY.value: Portion(0.05, 0.25),
    Section.FACTS.value: Portion(0.05, 0.15),
    Section.MEMORIES.value: Portion(0.10, 0.25),
    Section.DOCUMENTS.value: Portion(0.10, 0.40),
    OLDER: Portion(0.0, 1.0),
}


def allot(left: int, budget: int, needs: Mapping[str, int]) -> dict[str, int]:
    """How many of the tokens that are left each section may take of what it needs."""
    given = dict.fromkeys(PORTIONS, 0)
    for part in ("floor", "share", "whole"):
        for name, portion in PORTIONS.items():
            entitled = int(getattr(portion, part) * budget)
            more = max(0, min(needs.get(name, 0), entitled) - given[name])
            more = min(more, left)
            given[name] += more
            left -= more
    return given
