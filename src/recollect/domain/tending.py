"""Tending: what age, use and strength make of a memory, as a pure decision.

The decision is a fixed point: what it says of a memory that was just tended is that nothing is due.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.domain import times
from recollect.domain.policy import Policy
from recollect.domain.records import Kind, MemoryRecord, Status, Tier
from recollect.domain.times import DAY

PROMOTE, ARCHIVE = "promote", "archive"
#: Statuses of items after which they retire, and the word of the policy that says when.
RETIRING = {"mastered": "mastered_days", "outdated": "outdated_days"}


@dataclass(frozen=True, slots=True)
class Due:
    """What is due for a memory: an event, why, and the fields that it changes."""

    action: str
    reason: str
    changes: Mapping[str, Any]


def due(record: MemoryRecord, policy: Policy, now: int) -> Due | None:
    """What is due for a memory at a moment, if anything.

    Items do not fade: they retire some days after they were mastered or outdated.
    """
    if record.status != Status.ACTIVE:
        return None
    if _is_item(record):
        reason = _retiring(record, policy, now)
        return None if reason is None else Due(ARCHIVE, reason, _ARCHIVED)
    tier = promoted(record, policy, now)
    moved = {} if tier == record.tier else {"tier": tier}
    reason = _leaving(record, tier, policy, now)
    if reason is not None:
        return Due(ARCHIVE, reason, {**moved, **_ARCHIVED})
    return Due(PROMOTE, f"used {_uses(record)} times", moved) if moved else None


_ARCHIVED = {"status": Status.ARCHIVED.value}


def promoted(record: MemoryRecord, policy: Policy, now: int) -> str:
    """The tier that age and use have earned a memory; never a lower one than it has."""
    days = (now - times.to_micros(record.created_at)) / DAY
    uses = _uses(record)
    tier = record.tier
    if tier == Tier.SHORT and days >= policy.medium_days and uses >= policy.medium_uses:
        tier = Tier.MEDIUM.value
    if tier == Tier.MEDIUM and days >= policy.long_days and uses >= policy.long_uses:
        tier = Tier.LONG.value
    return tier


def archived_at(record: MemoryRecord, policy: Policy) -> int | None:
    """The moment at which a memory will be archived if nobody uses it; None for never."""
    if record.status != Status.ACTIVE:
        return None
    ends = [_expires(record, policy), _retires(record, policy)]
    if not _is_item(record):
        ends.append(_fades(record, record.tier, policy))
    return min((end for end in ends if end is not None), default=None)


def _is_item(record: MemoryRecord) -> bool:
    """Whether it is an item of a list. A consolidated memory has a key only to be made once."""
    return record.item_key is not None and record.kind != Kind.CONSOLIDATED


def _uses(record: MemoryRecord) -> int:
    return record.access_count + record.reinforcements


def _leaving(record: MemoryRecord, tier: str, policy: Policy, now: int) -> str | None:
    """Why a memory has to leave recall, if it has to."""
    ends = {"expired": _expires(record, policy), "faded": _fades(record, tier, policy)}
    return next((why for why, end in ends.items() if end is not None and end <= now), None)


def _retiring(record: MemoryRecord, policy: Policy, now: int) -> str | None:
    """Why an item has to retire, if it has to."""
    ends = {"expired": _expires(record, policy), str(record.stage): _retires(record, policy)}
    return next((why for why, end in ends.items() if end is not None and end <= now), None)


def _since(record: MemoryRecord) -> int:
    return times.to_micros(record.reinforced_at or record.created_at)


def _expires(record: MemoryRecord, policy: Policy) -> int | None:
    said = times.to_micros_optional(record.expires_at)
    if policy.expire_days is None:
        return said
    by_age = _since(record) + int(policy.expire_days * DAY)
    return by_age if said is None else min(by_age, said)


def _fades(record: MemoryRecord, tier: str, policy: Policy) -> int | None:
    since = _since(record)
    weak = policy.falls_below(policy.archive_below, record.importance, tier, since)
    return None if weak is None else max(weak, since + int(policy.archive_days * DAY))


def _retires(record: MemoryRecord, policy: Policy) -> int | None:
    word = RETIRING.get(record.stage or "")
    if word is None or not _is_item(record):
        return None
    since = record.stage_changed_at or record.updated_at
    return times.to_micros(since) + int(getattr(policy, word) * DAY)
