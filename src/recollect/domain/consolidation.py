"""Consolidation: what becomes of memories that belong together, as pure decisions.

The sources stay as they are. The new memory is linked to each of them as `derived_from`, so that
erasing one erases it too, and correcting one makes it no longer true.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from recollect.domain import times
from recollect.domain.operations import Alter
from recollect.domain.records import JsonObject, Kind, MemoryRecord, Source, Status, Tier, Trust
from recollect.domain.sameness import plain

DERIVED = "derived_from"
#: Links that say how memories came about, not that they belong together.
NOT_RELATING = frozenset({DERIVED, "supersedes", "contradicts"})
TEXT_CHARS_MAX = 2000  #: of a text that a model wrote
PART_CHARS_MAX = 160  #: of what is taken over from one source
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_NO_LONGER_TRUE = frozenset({Status.SUPERSEDED.value, Status.QUARANTINED.value})
_WITH_SOURCES = frozenset({Status.ACTIVE.value, Status.QUARANTINED.value})
_TRUST = [trust.value for trust in Trust]


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that belong together, the oldest first, and how alike the least alike are."""

    sources: tuple[MemoryRecord, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class Consolidated:
    """One consolidated memory, and what it was made of."""

    memory: MemoryRecord
    sources: tuple[MemoryRecord, ...]
    similarity: float
    event: str | None  #: takes it back with `undo`; None when nothing was written
    by: str  #: the model that wrote the text, or `extract`

    def to_dict(self) -> JsonObject:
        """The JSON form."""
        return {
            "memory": self.memory.to_dict(),
            "sources": [{"id": one.id, "text": one.text} for one in self.sources],
            "similarity": round(self.similarity, 4),
            "event": self.event,
            "by": self.by,
        }


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a consolidation did, or would do."""

    made: tuple[Consolidated, ...]
    looked_at: int  #: memories that could have been sources
    dry_run: bool


def outdated_by(old: MemoryRecord, new: MemoryRecord) -> bool:
    """Whether what was made of a memory is no longer true, now that this has become of it."""
    said_otherwise = old.text != new.text or old.speaker != new.speaker
    return said_otherwise or (new.status != old.status and new.status in _NO_LONGER_TRUE)


def outdating(derived: MemoryRecord, op: Alter) -> Alter:
    """The change by which a consolidated memory goes, together with that of its source."""
    salt = blake2b(op.stamp.salt + derived.id.encode(), digest_size=len(op.stamp.salt)).digest()
    ended = max(times.show(op.stamp.at), derived.begins)
    # Its key is free again: something else may be made of the same sources.
    changes = {"status": Status.SUPERSEDED.value, "valid_to": ended, "item_key": None}
    return Alter(replace(op.stamp, salt=salt), derived.id, (derived.place,), changes)


def goes_along(derived: MemoryRecord) -> bool:
    """Whether it is one that goes with its sources."""
    return derived.kind == Kind.CONSOLIDATED and derived.status in _WITH_SOURCES


def selecting(now: int, hours: float) -> dict[str, Any]:
    """The filter of memories that may become sources: settled, lasting, and no items."""
    return {
        "kind": {"ne": Kind.CONSOLIDATED.value},
        "item_key": {"exists": False},
        "expires_at": {"exists": False},
        "valid_to": {"exists": False},
        "created_at": {"lte": times.show(now - int(hours * times.HOUR))},
    }


def fields_of(sources: Sequence[MemoryRecord], by: str) -> dict[str, Any]:
    """What is known about a consolidated memory besides its text."""
    return {
        "kind": Kind.CONSOLIDATED.value,
        "tier": Tier.MEDIUM.value,
        "importance": max(0.7, *(one.importance for one in sources)),
        "source": Source.AGENT.value,
        "trust": least_trust(sources),
        "occurred_at": max(one.begins for one in sources),
        "tags": sorted({tag for one in sources for tag in one.tags})[:16],
        "metadata": {"sources": len(sources), "since": times.iso(_since(sources)), "by": by},
    }


def least_trust(sources: Sequence[MemoryRecord]) -> str:
    """The trust that something made of these deserves."""
    return min((one.trust for one in sources), key=_TRUST.index, default=Trust.TRUSTED.value)


def _since(sources: Sequence[MemoryRecord]) -> datetime:
    return min(one.begins for one in sources)


def extract(sources: Sequence[MemoryRecord]) -> str:
    """A text without a model: of each source the sentence that says most of what all say.

    >>> from recollect.testing import open_memory
    >>> said = ("We met Ana. It rained.", "Ana met Bo. It was late.", "Ana and Bo met again.")
    >>> extract([open_memory().remember(text).memory for text in said])
    'We met Ana. Ana met Bo. Ana and Bo met again.'
    """
    common: dict[str, int] = {}
    for source in sources:
        for word in set(plain(source.text).split()):
            common[word] = common.get(word, 0) + 1
    parts: dict[str, str] = {}
    for source in sources:
        sentences = [part for part in _SENTENCE.split(source.text) if part.strip()]
        best = max(sentences, key=lambda part: _weight(part, common))
        said = f"{source.speaker}: {best}" if source.speaker else best
        parts.setdefault(plain(said), _cut(said.strip()))
    return " ".join(parts.values())


def _weight(sentence: str, common: dict[str, int]) -> float:
    words = plain(sentence).split()
    return sum(common.get(word, 0) - 1 for word in words) / (len(words) + 3)


def _cut(text: str) -> str:
    """A text that is not too long; what goes is said by an ellipsis."""
    if len(text) <= PART_CHARS_MAX:
        return text
    return text[: PART_CHARS_MAX - 1].rsplit(" ", 1)[0] + "…"
