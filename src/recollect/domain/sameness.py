"""When two memories say the same: alike but for case, spaces and final marks, about the same time.

A repetition strengthens what is there in place of standing beside it. It must lose nothing: what
was said with other tags, in another session or of another day is another memory.
"""

from hashlib import blake2b
from typing import Any

from recollect.domain.records import Kind, MemoryRecord, Status, Tier, Trust
from recollect.domain.reinforcing import reinforced

#: What may stand around a word without changing what is said; a question mark does change it.
_AROUND = ".,;:!\"'()[]…“”„‘’«»"
#: What holds until something else is said: saying it again at another time is no other event.
TIMELESS = frozenset({Kind.FACT.value, Kind.PREFERENCE.value, Kind.INSTRUCTION.value})
_STATUSES = frozenset({Status.ACTIVE.value, Status.QUARANTINED.value})
_TRUST = [trust.value for trust in Trust]
_TIERS = [tier.value for tier in Tier]
_ALWAYS = ("status", "kind", "agent", "session", "speaker", "parent")
_TIMES = ("valid_to", "expires_at", "occurred_at", "valid_from")


def plain(text: str) -> str:
    """A text without what does not change its meaning.

    >>> plain("I like  green tea!")
    'i like green tea'
    """
    words = text.casefold().split()
    return " ".join(filter(None, [word.strip(_AROUND) for word in words])) or " ".join(words)


def mark_of(record: MemoryRecord) -> int | None:
    """The number under which others that say the same are found.

    None for messages, which are kept verbatim, and for items, which have a key of their own.
    """
    if record.role is not None or record.item_key is not None:
        return None
    if record.kind == Kind.INTERACTION.value:
        return None
    return number_of("says", plain(record.text))


def number_of(what: str, text: str) -> int:
    """A 64-bit number of a text, another one for each purpose."""
    digest = blake2b(text.encode(), digest_size=8, person=what.encode()).digest()
    return int.from_bytes(digest, "little", signed=True)


def strengthened(old: MemoryRecord, new: MemoryRecord, factor: float, at: int) -> dict[str, Any]:
    """The changes by which a repetition strengthens a memory."""
    changes = reinforced(old, factor, at)
    return {**changes, "importance": max(changes["importance"], new.importance)}


def repeats(new: MemoryRecord, old: MemoryRecord) -> bool:
    """Whether a new memory says nothing that an old one of the same place does not say.

    What is believed more, or is to be kept longer, is more than a repetition.
    """
    if old.status not in _STATUSES or plain(new.text) != plain(old.text):
        return False
    if any(getattr(new, name) != getattr(old, name) for name in _ALWAYS):
        return False
    times = _TIMES[:2] if new.kind in TIMELESS else _TIMES
    if any(getattr(new, name) != getattr(old, name) for name in times):
        return False
    if set(new.tags) != set(old.tags) or new.metadata != old.metadata:
        return False
    return not (
        _TRUST.index(new.trust) > _TRUST.index(old.trust)
        or _TIERS.index(new.tier) > _TIERS.index(old.tier)
    )
