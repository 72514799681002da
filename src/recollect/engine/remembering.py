"""Remembering, correcting and changing memories."""

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from recollect.domain import ids, times
from recollect.domain.drafts import check_fields, new_record, without_value
from recollect.domain.errors import (
    ClosedError,
    ConflictError,
    NotFound,
    RecollectError,
    ValidationError,
)
from recollect.domain.limits import (
    BATCH_ITEMS_MAX,
    IDEMPOTENCY_KEY_CHARS_MAX,
    INTEGER_MAX,
    at_most,
    whole,
)
from recollect.domain.operations import (
    Alter,
    Enqueue,
    Entry,
    Once,
    Operation,
    Remember,
    Repeated,
    SetLink,
    Stamp,
)
from recollect.domain.records import (
    TRUST_OF_SOURCE,
    Batch,
    Failed,
    MemoryRecord,
    Remembered,
    Source,
    Status,
    Treated,
    Trust,
)
from recollect.domain.requests import Because, NewMemory
from recollect.domain.scopes import Place, Scope, check_name
from recollect.engine.contradicting import NONE, Contradicting, Verdict, judged
from recollect.engine.core import LOG, SALT_BYTES, given_vector, given_vectors
from recollect.engine.deriving import Deriving
from recollect.engine.safeguarding import Safeguarding
from recollect.extraction.claims import Claim
from recollect.logs import ms_since, note

#: Reads are written down with the first write after this many memories were read.
TOUCH_AT = 64
#: A memory that is said again becomes so much more important, up to 1.0.
REPEATED = 1.2
EMBED_JOB = "embed"


#: Changes of these have a memory judged anew.
_JUDGED = frozenset({"text", "speaker", "source", "trust"})
_TRUST = [trust.value for trust in Trust]
#: Another process may change what a write closes, between looking and writing.
TRIES = 4


@dataclass(frozen=True, slots=True)
class _Writing:
    """One memory of a batch on its way into the store, and what follows from it."""

    index: int
    store: Remember
    following: Sequence[Operation]
    jobs: Sequence[Operation]
    verdict: Verdict


class Remembering(Contradicting, Deriving, Safeguarding):
    """Writing memories."""

    async def remember(self, scope: Scope, new: NewMemory, because: Because) -> Remembered:
        """Store one memory."""
        batch = await self.remember_many(scope, [new], because, atomic=True)
        return batch.stored[0]

    async def remember_many(
        self, scope: Scope, items: Sequence[NewMemory], because: Because, *, atomic: bool
    ) -> Batch:
        """Store many memories in one transaction: all of them, or each that can be."""
        at_most(len(items), BATCH_ITEMS_MAX, name="BATCH_ITEMS_MAX", field="items")
        if not items:
            raise ValidationError("the batch is empty: there is nothing to remember", field="items")
        begun = time.perf_counter()
        stamp = self._stamp("remember", because)
        drafts, treated = self._drafts(scope, items, stamp, atomic=atomic)
        if treated:  # a vector of what was taken out is not kept either
            items = [
                replace(one, vector=None) if i in treated else one for i, one in enumerate(items)
            ]
        good = {index: made for index, made in drafts.items() if isinstance(made, MemoryRecord)}
        echoes = await self._echoes(scope, items, good)
        good = {index: made for index, made in good.items() if index not in echoes}
        claims = {index: self._claims_of(record) for index, record in good.items()}
        entries = dict(zip(good, await self._written(items, good, claims), strict=True))
        told: dict[int, Remembered | Failed] = {}
        for attempt in reversed(range(TRIES)):
            verdicts = await self._verdicts(good, claims) if any(claims.values()) else {}
            writing = self._planned(stamp, items, good, entries, verdicts)
            try:
                told = await self._carried_out(writing, stamp, atomic=atomic)
                break
            except (ConflictError, NotFound):
                # Somebody else closed what was to be closed: look again.
                if not attempt or not any(one.closed for one in verdicts.values()):
                    raise
        failed = {
            index: Failed(index, made)
            for index, made in drafts.items()
            if not isinstance(made, MemoryRecord)
        }
        for index, record in echoes.items():
            told[index] = Remembered(record, "echo", self._store.durability)
        results = ((told.get(index) or failed[index]) for index in range(len(items)))
        batch = Batch(tuple(with_treated(results, treated) if treated else results))
        await self._heed(scope, [one.memory for one in batch.stored if one.outcome == "stored"])
        if LOG.isEnabledFor(logging.DEBUG):
            _note_written(batch, begun)
        return batch

    async def _heed(self, scope: Scope, stored: Sequence[MemoryRecord]) -> None:
        """What new memories give rise to; see `engine/extracting.py`."""

    def _planned(
        self,
        stamp: Stamp,
        items: Sequence[NewMemory],
        good: Mapping[int, MemoryRecord],
        entries: Mapping[int, Entry],
        verdicts: Mapping[int, Verdict],
    ) -> list[_Writing]:
        """For each memory of a batch the operations that store it and what follows from it."""
        salts = self._entropy.bytes(SALT_BYTES * len(items))
        planned: list[_Writing] = []
        for index, asked in good.items():
            verdict = verdicts.get(index, NONE)
            record = asked if verdict is NONE else judged(asked, verdict)
            own = replace_salt(stamp, salts[index * SALT_BYTES : (index + 1) * SALT_BYTES])
            once = _once(items[index], asked)
            factor = None if items[index].force else self._factor
            store = Remember(own, record, entries[index], once, factor)
            following = [] if verdict is NONE else self._following(stamp, record, verdict)
            jobs = self._embedding_job(record.id, record.place, entries[index], stamp.at)
            planned.append(_Writing(index, store, following, jobs, verdict))
        return planned

    async def _carried_out(
        self, planned: Sequence[_Writing], stamp: Stamp, *, atomic: bool
    ) -> dict[int, Remembered | Failed]:
        """Store a batch in one transaction; what became of each memory."""
        if not planned:
            return {}
        stores: list[Operation] = [one.store for one in planned]
        further = [op for one in planned for op in (*one.following, *one.jobs)]
        further += self._due_touches()
        answers = await self._store.apply([*stores, *further], atomic=atomic)
        return {
            one.index: self._told(one, answer)
            for one, answer in zip(planned, answers[: len(stores)], strict=True)
        }

    def _drafts(
        self, scope: Scope, items: Sequence[NewMemory], stamp: Stamp, *, atomic: bool
    ) -> tuple[dict[int, MemoryRecord | RecollectError], dict[int, tuple[Treated, ...]]]:
        """Each item as a record, or what is wrong with it; and what the content policy did."""
        now = times.show(stamp.at)
        drafts: dict[int, MemoryRecord | RecollectError] = {}
        treated: dict[int, tuple[Treated, ...]] = {}
        for index, item in enumerate(items):
            try:
                id = self._new_id(ids.MEMORY)
                made = new_record(id, scope, item.text, item.fields, now)
                drafts[index], done = self._safe(made)
                if done:
                    treated[index] = done
                _check_key(item.key)
                if item.vector is not None and not atomic:
                    self._space(len(given_vector(item.vector)), given=True)
            except RecollectError as exc:
                if atomic:
                    raise
                drafts[index] = exc
        return drafts, treated

    async def _written(
        self,
        items: Sequence[NewMemory],
        good: Mapping[int, MemoryRecord],
        claims: Mapping[int, Sequence[Claim]] | None = None,
    ) -> list[Entry]:
        """The index entries of good items, with the vectors that came with them or are made."""
        given = [line for line, index in enumerate(good) if items[index].vector is not None]
        rows = given_vectors([items[i].vector for i in good if items[i].vector is not None])
        known = None if claims is None else [claims[index] for index in good]
        return await self._entries([*good.values()], dict(zip(given, rows, strict=True)), known)

    @property
    def _factor(self) -> float | None:
        """By how much saying a thing again strengthens it; None to store it again."""
        return REPEATED if self._conduct.duplicates == "strengthen" else None

    def _due_touches(self) -> list[Operation]:
        if len(self._touched) < TOUCH_AT:
            return []
        return self._take_touched()

    def _told(self, writing: _Writing, answer: Any) -> Remembered | Failed:
        if isinstance(answer, RecollectError):
            return Failed(writing.index, answer)
        if isinstance(answer, Repeated):
            return Remembered(answer.record, "similar", self._store.durability)
        if answer.id != writing.store.record.id:
            return Remembered(answer, "replayed", self._store.durability)
        return Remembered(
            answer,
            "stored",
            self._store.durability,
            bool(writing.jobs),
            tuple(old.id for old in writing.verdict.closed),
            tuple(old.id for old in writing.verdict.doubted),
        )

    async def update(
        self,
        scope: Scope,
        id: str,
        fields: Mapping[str, Any],
        because: Because,
        *,
        if_version: int | None,
    ) -> MemoryRecord:
        """Change fields of a memory."""
        if not fields:
            raise ValidationError("nothing to change: name at least one field", field="fields")
        changes = self._safe_changes(check_fields(fields))
        entry, later = None, list[Operation]()
        now = self._clock.now()
        if not _JUDGED.isdisjoint(changes):
            old = await self._one(scope, id)
            if "text" in changes and "metadata" not in changes:
                changes["metadata"] = without_value(old.metadata)
            if "source" in changes and "trust" not in changes:
                deserved = TRUST_OF_SOURCE[Source(changes["source"])].value
                changes["trust"] = min(old.trust, deserved, key=_TRUST.index)
            new = self._set_apart(replace(old, **changes))
            if new.status != old.status:
                changes["status"] = new.status
            if "text" in changes or "speaker" in changes:
                entry = await self._entry(new)
                later = self._embedding_job(id, scope.home, entry, now)
        expect: dict[str, Any] = {}
        if if_version is not None:
            expect["version"] = whole(if_version, 0, INTEGER_MAX, field="if_version")
        stamp = self._stamp("update", because)
        alter = Alter(stamp, id, (scope.home,), changes, expect, entry)
        gone = await self._outdated(scope, [id], changes)
        return (await self._store.apply([alter, *later, *gone]))[0]

    async def correct(self, scope: Scope, id: str, new: NewMemory, because: Because) -> Remembered:
        """Supersede a memory: the old one stays, closed and linked to the new one.

        The new one takes over what was said about the old one unless told otherwise. The old one
        stops being true when the new one begins: at its `valid_from` or `occurred_at` if given,
        otherwise now.
        """
        old = await self._one(scope, id)
        stamp = self._stamp("correct", because)
        begins = check_fields(
            {k: v for k, v in new.fields.items() if k in ("valid_from", "occurred_at")}
        )
        since = begins.get("valid_from") or begins.get("occurred_at") or times.show(stamp.at)
        fields = {**inherited(old, new.fields), "valid_from": since, **new.fields}
        home = replace(scope, session=old.session) if old.session != scope.session else scope
        record = new_record(self._new_id(ids.MEMORY), home, new.text, fields, times.show(stamp.at))
        record, treated = self._safe(replace(record, place=old.place))
        if treated:
            new = replace(new, vector=None)
        (entry,) = await self._written([new], {0: record})
        closing = {
            "status": Status.SUPERSEDED.value,
            "valid_to": max(since, old.begins),
            "superseded_by": record.id,
        }
        where = (scope.home,)
        salts = [self._entropy.bytes(SALT_BYTES) for _ in range(3)]
        later = self._embedding_job(record.id, record.place, entry, stamp.at)
        await self._store.apply(
            [
                Remember(replace_salt(stamp, salts[0]), record, entry),
                Alter(replace_salt(stamp, salts[1]), id, where, closing, {"status": "active"}),
                SetLink(replace_salt(stamp, salts[2]), record.id, id, "supersedes", 1.0, where),
                *later,
                *await self._outdated(scope, [id]),
            ]
        )
        told = Remembered(record, "stored", self._store.durability, bool(later))
        return replace(told, superseded=(id,), treated=treated)

    def _embedding_job(self, id: str, place: Place, entry: Entry, at: int) -> list[Operation]:
        """The job that a text needs when the embedder did not answer."""
        if self._embedder is None or entry.vector is not None:
            return []
        return [self._queued(Enqueue(at, EMBED_JOB, {}, place, id))]

    async def close(self) -> None:
        """Write down outstanding reads, seal and release the store."""
        touched = self._take_touched()
        try:
            if touched:
                with suppress(ClosedError):  # closed before, or this is a forked child
                    await self._store.apply(touched, atomic=False)
        finally:
            await self._store.close()
            note(LOG, logging.INFO, "closed")


def _note_written(batch: Batch, begun: float) -> None:
    """Log the size of a batch, and the id of a memory that came alone."""
    note(
        LOG,
        logging.DEBUG,
        "remembered",
        stored=len(batch.stored),
        failed=len(batch.failed),
        bytes=sum(len(one.text.encode()) for one in batch.stored),
        id=batch.stored[0].id if len(batch) == 1 and batch.stored else None,
        ms=ms_since(begun),
    )


def replace_salt(stamp: Stamp, salt: bytes) -> Stamp:
    """The same change for another thing: one event id, a salt of its own."""
    return Stamp(stamp.event, stamp.at, stamp.action, salt, stamp.actor, stamp.reason)


def _check_key(key: str | None) -> None:
    if key is not None:
        check_name(key, field="key")
        at_most(len(key), IDEMPOTENCY_KEY_CHARS_MAX, name="IDEMPOTENCY_KEY_CHARS_MAX", field="key")


def _once(item: NewMemory, record: MemoryRecord) -> Once | None:
    """The key of a write with a digest of everything that was asked under it."""
    if item.key is None:
        return None
    asked = json.dumps([record.text, dict(item.fields)], sort_keys=True, default=str)
    return Once(item.key, blake2b(asked.encode(), digest_size=16).digest())


def with_treated(
    results: Iterable[Remembered | Failed], treated: Mapping[int, tuple[Treated, ...]]
) -> Iterator[Remembered | Failed]:
    """What became of each item, with what the content policy did to it."""
    for index, told in enumerate(results):
        done = treated.get(index, ())
        yield replace(told, treated=done) if done and isinstance(told, Remembered) else told


def inherited(old: MemoryRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a correction takes over from the memory it corrects.

    One that comes from elsewhere is trusted as far as that is, not as the old one was.
    """
    names = ("kind", "tier", "importance", "parent", "role", "speaker", "tags", "metadata")
    origin = () if "source" in given else ("source", "trust")
    found = {name: getattr(old, name) for name in (*names, "occurred_at", *origin)}
    return {**found, "metadata": without_value(old.metadata)}
