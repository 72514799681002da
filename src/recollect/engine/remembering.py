"""Remembering, correcting and changing memories."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from recollect.domain import ids, times
from recollect.domain.drafts import check_fields, new_record
from recollect.domain.errors import ClosedError, RecollectError, ValidationError
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
    Touch,
)
from recollect.domain.records import Batch, Failed, MemoryRecord, Remembered, Status
from recollect.domain.requests import Because, NewMemory
from recollect.domain.scopes import Place, Scope, check_name
from recollect.engine.core import LOG, SALT_BYTES, Core, given_vector, given_vectors
from recollect.logs import ms_since, note

#: Reads are written down with the first write after this many memories were read.
TOUCH_AT = 64
#: A memory that is said again becomes so much more important, up to 1.0.
REPEATED = 1.2
EMBED_JOB = "embed"


class Remembering(Core):
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
        drafts = self._drafts(scope, items, stamp, atomic=atomic)
        good = {index: made for index, made in drafts.items() if isinstance(made, MemoryRecord)}
        entries = await self._written(items, good)
        operations: list[Operation] = []
        jobs: dict[int, list[Operation]] = {}
        salts = self._entropy.bytes(SALT_BYTES * len(items))
        for (index, record), entry in zip(good.items(), entries, strict=True):
            salt = salts[index * SALT_BYTES : (index + 1) * SALT_BYTES]
            once = _once(items[index], record)
            factor = None if items[index].force else self._factor
            operations.append(Remember(replace_salt(stamp, salt), record, entry, once, factor))
            jobs[index] = self._embedding_job(record.id, record.place, entry, stamp.at)
        further = [job for queued in jobs.values() for job in queued]
        further += self._due_touches(stamp.at)
        answers: dict[int, Any] = {}
        if operations:
            told = await self._store.apply([*operations, *further], atomic=atomic)
            answers = dict(zip(good, told[: len(operations)], strict=True))
        results: list[Remembered | Failed] = []
        for index in range(len(items)):
            failure = drafts[index]
            if isinstance(failure, MemoryRecord):
                results.append(self._told(index, good[index], answers[index], bool(jobs[index])))
            else:
                results.append(Failed(index, failure))
        batch = Batch(tuple(results))
        if LOG.isEnabledFor(logging.DEBUG):
            _note_written(batch, begun)
        return batch

    def _drafts(
        self, scope: Scope, items: Sequence[NewMemory], stamp: Stamp, *, atomic: bool
    ) -> dict[int, MemoryRecord | RecollectError]:
        """Each item as a record, or what is wrong with it."""
        now = times.show(stamp.at)
        drafts: dict[int, MemoryRecord | RecollectError] = {}
        for index, item in enumerate(items):
            try:
                id = self._new_id(ids.MEMORY)
                drafts[index] = new_record(id, scope, item.text, item.fields, now)
                _check_key(item.key)
                if item.vector is not None and not atomic:
                    self._space(len(given_vector(item.vector)), given=True)
            except RecollectError as exc:
                if atomic:
                    raise
                drafts[index] = exc
        return drafts

    async def _written(
        self, items: Sequence[NewMemory], good: Mapping[int, MemoryRecord]
    ) -> list[Entry]:
        """The index entries of good items, with the vectors that came with them or are made."""
        given = [line for line, index in enumerate(good) if items[index].vector is not None]
        rows = given_vectors([items[i].vector for i in good if items[i].vector is not None])
        return await self._entries([*good.values()], dict(zip(given, rows, strict=True)))

    @property
    def _factor(self) -> float | None:
        """By how much saying a thing again strengthens it; None to store it again."""
        return REPEATED if self._conduct.duplicates == "strengthen" else None

    def _due_touches(self, at: int) -> list[Operation]:
        if len(self._touched) < TOUCH_AT:
            return []
        return [Touch(self._take_touched(), at)]

    def _told(
        self, index: int, asked: MemoryRecord, answer: Any, pending: bool
    ) -> Remembered | Failed:
        if isinstance(answer, RecollectError):
            return Failed(index, answer)
        if isinstance(answer, Repeated):
            return Remembered(answer.record, "similar", self._store.durability)
        outcome = "stored" if answer.id == asked.id else "replayed"
        waiting = pending and outcome == "stored"
        return Remembered(answer, outcome, self._store.durability, waiting)

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
        changes = check_fields(fields)
        entry, later = None, list[Operation]()
        now = self._clock.now()
        if "text" in changes or "speaker" in changes:
            entry = await self._entry(replace(await self._one(scope, id), **changes))
            later = self._embedding_job(id, scope.home, entry, now)
        expect: dict[str, Any] = {}
        if if_version is not None:
            expect["version"] = whole(if_version, 0, INTEGER_MAX, field="if_version")
        stamp = self._stamp("update", because)
        alter = Alter(stamp, id, (scope.home,), changes, expect, entry)
        return (await self._store.apply([alter, *later]))[0]

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
        fields = {**_inherited(old), "valid_from": since, **new.fields}
        home = replace(scope, session=old.session) if old.session != scope.session else scope
        record = new_record(self._new_id(ids.MEMORY), home, new.text, fields, times.show(stamp.at))
        record = replace(record, place=old.place)
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
                Alter(replace_salt(stamp, salts[0]), id, where, closing, {"status": "active"}),
                Remember(replace_salt(stamp, salts[1]), record, entry),
                SetLink(replace_salt(stamp, salts[2]), record.id, id, "supersedes", 1.0, where),
                *later,
            ]
        )
        return Remembered(record, "stored", self._store.durability, bool(later))

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
                    await self._store.apply([Touch(touched, self._clock.now())], atomic=False)
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


def _inherited(old: MemoryRecord) -> dict[str, Any]:
    """What a correction takes over from the memory it corrects."""
    names = ("kind", "tier", "importance", "parent", "role", "speaker", "tags", "metadata")
    return {name: getattr(old, name) for name in (*names, "occurred_at", "source", "trust")}
