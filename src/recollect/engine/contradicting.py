"""Contradictions: which memories a new one closes, is closed by, or puts in doubt.

Of two claims with the same subject and attribute and another value, the one that began later is
true now. Nothing is guessed: a memory that says more than the claim, a source that is believed
less, or two values of one date are left as they are, linked, and listed for review.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.domain.operations import Alter, Operation, SetLink, Stamp
from recollect.domain.records import MemoryRecord, Status, Trust
from recollect.domain.sameness import repeats
from recollect.engine.core import SALT_BYTES, Core
from recollect.extraction.claims import Claim, contradictions

#: The stage of a memory that contradicts another one, until somebody has decided.
DISPUTED = "disputed"
CONTRADICTS, SUPERSEDES = "contradicts", "supersedes"
#: Of the memories of a place that answer the questions of a batch, so many are compared with.
KNOWN_MAX = 100
_TRUST = [trust.value for trust in Trust]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a new memory means for those that it contradicts."""

    closed: tuple[MemoryRecord, ...] = ()  #: no longer true
    doubted: tuple[MemoryRecord, ...] = ()  #: contradicted, but which is true is not clear
    later: MemoryRecord | None = None  #: what replaced the new one before we learned of it


NONE = Verdict()


class Contradicting(Core):
    """Truth maintenance by claims."""

    def _claims_of(self, record: MemoryRecord) -> tuple[Claim, ...]:
        if self._conduct.contradictions == "keep" or record.status != Status.ACTIVE.value:
            return ()
        return self._claims.of(record)

    async def _verdicts(
        self, new: Mapping[int, MemoryRecord], claims: Mapping[int, Sequence[Claim]]
    ) -> dict[int, Verdict]:
        """For each memory of a batch that claims something, in order, what follows."""
        known = await self._answering({i: new[i] for i, made in claims.items() if made}, claims)
        verdicts: dict[int, Verdict] = {}
        for index, made in claims.items():
            if not made:
                continue
            record = new[index]
            there = known.setdefault(record.place, [])
            verdicts[index] = verdict = self._verdict(record, made, there)
            gone = {old.id for old in verdict.closed}
            kept = [pair for pair in there if pair[0].id not in gone]
            if verdict.later is None:
                kept.insert(0, (record, made))
            known[record.place] = kept[:KNOWN_MAX]
        return verdicts

    async def _answering(
        self, new: Mapping[int, MemoryRecord], claims: Mapping[int, Sequence[Claim]]
    ) -> dict[Any, list[tuple[MemoryRecord, Sequence[Claim]]]]:
        """By place, the active memories that answer the same questions, with what they claim."""
        asked: dict[Any, dict[int, None]] = {}
        for index, record in new.items():
            asked.setdefault(record.place, {}).update((one.mark, None) for one in claims[index])
        known: dict[Any, list[tuple[MemoryRecord, Sequence[Claim]]]] = {}
        for place, marks in asked.items():
            found = await self._store.marked(place, tuple(marks))
            known[place] = [(old, self._claims_of(old)) for old in found]
        return known

    def _verdict(
        self,
        new: MemoryRecord,
        claims: Sequence[Claim],
        known: Sequence[tuple[MemoryRecord, Sequence[Claim]]],
    ) -> Verdict:
        """The verdict on one memory, of those that answer the same questions, newest first."""
        closed: list[MemoryRecord] = []
        doubted: list[MemoryRecord] = []
        later: MemoryRecord | None = None
        pairs = [(old, next(contradictions(claims, theirs), None)) for old, theirs in known]
        if all(pair is None for _, pair in pairs):
            return NONE
        if any(pair is None and repeats(new, old) for old, pair in pairs):
            return NONE
        for old, pair in pairs:
            if pair is None:
                continue
            if self._conduct.contradictions == "review" or _unclear(new, old, *pair):
                doubted.append(old)
            elif new.begins >= old.begins:
                closed.append(old)
            elif later is None or old.begins < later.begins:
                later = old
        # One open question is enough: the newest answer is the one to compare with.
        return Verdict(tuple(closed), tuple(doubted[:1]), None if doubted else later)

    def _following(self, stamp: Stamp, new: MemoryRecord, verdict: Verdict) -> list[Operation]:
        """What a verdict does to the other memories."""
        places = (new.place,)
        made: list[Operation] = []
        for old in verdict.closed:
            made.append(self._closing(stamp, old, new))
            made.append(SetLink(self._salted(stamp), new.id, old.id, SUPERSEDES, 1.0, places))
        made += [
            SetLink(self._salted(stamp), new.id, old.id, CONTRADICTS, 1.0, places)
            for old in verdict.doubted
        ]
        if verdict.later is not None:
            ends = (verdict.later.id, new.id)
            made.append(SetLink(self._salted(stamp), *ends, SUPERSEDES, 1.0, places))
        return made

    def _closing(self, stamp: Stamp, old: MemoryRecord, new: MemoryRecord) -> Alter:
        """The end of a memory that another one replaces."""
        changes: dict[str, Any] = {
            "status": Status.SUPERSEDED.value,
            "valid_to": max(new.begins, old.begins),
            "superseded_by": new.id,
        }
        if old.stage == DISPUTED:
            changes["stage"] = None
        closing = replace(self._salted(stamp), action="supersede")
        return Alter(closing, old.id, (old.place,), changes, {"status": old.status})

    def _salted(self, stamp: Stamp) -> Stamp:
        """The same change for another thing: one event id, a salt of its own."""
        return replace(stamp, salt=self._entropy.bytes(SALT_BYTES))


def judged(new: MemoryRecord, verdict: Verdict) -> MemoryRecord:
    """A new memory as the verdict leaves it."""
    if verdict.doubted:
        doubtful = replace(new, stage=DISPUTED)
        untrusted = new.trust == Trust.UNTRUSTED.value
        return replace(doubtful, status=Status.QUARANTINED.value) if untrusted else doubtful
    if verdict.later is None:
        return new
    until = verdict.later
    return replace(
        new,
        status=Status.SUPERSEDED.value,
        valid_to=max(until.begins, new.begins),
        superseded_by=until.id,
    )


def _unclear(new: MemoryRecord, old: MemoryRecord, mine: Claim, theirs: Claim) -> bool:
    """Whether it takes somebody to say which of two contradicting memories is true."""
    if _TRUST.index(new.trust) < _TRUST.index(old.trust):
        return True
    loses, claim = (old, theirs) if new.begins >= old.begins else (new, mine)
    if not claim.whole or loses.parent is not None:
        return True  # whoever hides it hides more than the claim
    dated = (new.valid_from or new.occurred_at, old.valid_from or old.occurred_at)
    return new.begins == old.begins and None not in dated
