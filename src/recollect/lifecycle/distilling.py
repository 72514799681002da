"""Distilling: a person's profile in short, kept fresh, and put back to how it began.

The short form is worked out when it is read, from what is known then; so what was cleared or
forgotten is missing at once. Only where that is too much for the limit, and there is a memory
model, a job has it written by the model, and that text counts as long as nothing has changed.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.domain import distilling, filters, ids, tending, times
from recollect.domain.consolidation import DERIVED, least_trust
from recollect.domain.distilling import FACTS_MAX, SUMMARY_CHARS_MAX, Summary
from recollect.domain.drafts import check_json, new_record
from recollect.domain.jobs import Job, JobQuery
from recollect.domain.limits import PROFILE_BYTES_MAX
from recollect.domain.operations import Alter, Enqueue, Operation, Remember, SetLink, WriteProfile
from recollect.domain.queries import Scan, View
from recollect.domain.records import Kind, MemoryRecord, Profile, Source, Status
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, Scope, check_name
from recollect.engine.asking import Asking
from recollect.engine.carrying import scope_of
from recollect.engine.core import SALT_BYTES
from recollect.engine.itemising import Itemising
from recollect.engine.remembering import replace_salt
from recollect.ports.chat import Ask, Turn

DISTIL = "distil_profile"
#: The kind and the key of the text that a model wrote; it is archived, so that nothing recalls it.
SUMMARY = "profile_summary"
PAGE = 200
BY_RECOLLECT = Because("recollect", "profile")


class Distilling(Asking, Itemising):
    """The summary of a profile, its maintenance as a job, and its reset."""

    async def profile_summary(self, scope: Scope) -> Summary:
        """What is known of the scope's person in short, as things are now."""
        said, _, retired = await self._known_of(scope.home)
        whole = " ".join(said)
        text, by, made_at = whole, "whole", None
        if len(whole) > SUMMARY_CHARS_MAX:
            text, by = distilling.shortened(whole), "extract"
            written = await self._by_key(scope, SUMMARY, SUMMARY)
            if written is not None and written.metadata.get("digest") == distilling.digest(said):
                text, by, made_at = written.text, written.metadata["by"], written.updated_at
        jobs = await self._store.jobs(JobQuery(self._clock.now(), kinds=(DISTIL,)))
        running = any(job.place == scope.home and job.state != "dead" for job in jobs)
        return Summary(text, by, len(whole), made_at, running, tuple(one.id for one in retired))

    async def refresh_profile(self, scope: Scope) -> bool:
        """Have a job look after the profile; False when one waits already. Waits for nothing."""
        job = Enqueue(self._clock.now(), DISTIL, {}, scope.home, alone=True, unique=True)
        return (await self._store.apply([job]))[0] is not None

    async def reset_profile(
        self, scope: Scope, template: Mapping[str, Any], because: Because
    ) -> dict[str, Profile]:
        """Put every category back to a template, in one event that can be taken back."""
        wanted = {
            check_name(name, field="template"): check_json(
                data, field=name, bytes_max=PROFILE_BYTES_MAX
            )
            for name, data in template.items()
        }
        stamp = self._stamp("reset profile", because)
        there = {one.category for one in await self._store.profiles(scope.home)}
        operations = [
            WriteProfile(
                replace_salt(stamp, self._entropy.bytes(SALT_BYTES)),
                scope.home,
                name,
                "replace",
                wanted.get(name, {}),
            )
            for name in sorted(there | {name for name, data in wanted.items() if data})
        ]
        await self._store.apply(operations)
        return {one.category: one for one in await self._store.profiles(scope.home)}

    async def distil(self, job: Job) -> Sequence[Operation]:
        """Retire the items of a person that are due to, and have a long profile put in short."""
        if job.place is None:
            return []
        scope = scope_of(job.place, Scope(tenant=job.place.tenant))
        stamp = self._stamp(tending.ARCHIVE, BY_RECOLLECT)
        operations: list[Operation] = []
        for item in await self._items(job.place, (Status.ACTIVE.value,)):
            policy = self._conduct.policies.of(job.place.tenant, item.kind)
            due = tending.due(item, policy, stamp.at)
            if due is not None:
                salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
                salted = replace(salted, reason=due.reason)
                expect = {"version": item.version}
                operations.append(Alter(salted, item.id, (job.place,), due.changes, expect))
        gone = {op.id for op in operations if isinstance(op, Alter)}
        said, sources, _ = await self._known_of(job.place, without=gone)
        if len(" ".join(said)) > SUMMARY_CHARS_MAX:
            operations += await self._written_short(scope, job.place, said, sources)
        return operations

    async def _written_short(
        self, scope: Scope, place: Place, said: Sequence[str], sources: Sequence[MemoryRecord]
    ) -> list[Operation]:
        """The summary as a model writes it, unless it has or there is none."""
        model = await self._memory_model(scope, "profile")
        found = await self._by_key(scope, SUMMARY, SUMMARY)
        mark = distilling.digest(said)
        if model is None or (found is not None and found.metadata.get("digest") == mark):
            return []
        fence = self._entropy.bytes(8).hex()
        known = "\n".join(said)
        text = _prompt().format(mark=fence, known=known, characters=SUMMARY_CHARS_MAX)
        answer = await model.answer(Ask((Turn("user", text),), "summary"))
        short = distilling.shortened(" ".join(answer.text.split()))
        if not short:
            return []
        stamp = self._stamp("distil", BY_RECOLLECT)
        metadata = {"digest": mark, "by": answer.model}
        if found is not None:
            entry = await self._entry(replace(found, text=short))
            changes = {"text": short, "metadata": metadata}
            made, write = found.id, Alter(stamp, found.id, (place,), changes, {}, entry)
            operations: list[Operation] = [write]
        else:
            fields = {
                "kind": SUMMARY,
                "item_key": SUMMARY,
                "status": Status.ARCHIVED.value,
                "source": Source.AGENT.value,
                "trust": least_trust(sources),
                "metadata": metadata,
            }
            now = times.show(stamp.at)
            record = new_record(self._new_id(ids.MEMORY), scope, short, fields, now)
            operations = [Remember(stamp, record, await self._entry(record))]
            made = record.id
        # Links stay, also of what it says no more: earlier versions of the text were made of it.
        for source in sources:
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            operations.append(SetLink(salted, made, source.id, DERIVED, 1.0, (place,)))
        return operations

    async def _known_of(
        self, place: Place, *, without: set[str] | None = None
    ) -> tuple[list[str], list[MemoryRecord], list[MemoryRecord]]:
        """What is known of a person: as sentences, the memories they are from, retired items."""
        profiles = await self._store.profiles(place)
        found = await self._items(place, (Status.ACTIVE.value, Status.ARCHIVED.value))
        items = [
            one for one in found if one.status == Status.ACTIVE and one.id not in (without or ())
        ]
        items.sort(
            key=lambda one: (one.priority is None, one.priority or 0, one.updated_at, one.id)
        )
        retired = [one for one in found if one.status == Status.ARCHIVED and one.kind != SUMMARY]
        facts = await self._facts(place)
        sources = [*items, *facts]
        return distilling.sentences(profiles, items, facts), sources, retired

    async def _items(self, place: Place, statuses: tuple[str, ...]) -> list[MemoryRecord]:
        where = filters.parse({"item_key": {"exists": True}})
        view = View((place,), self._clock.now(), statuses=statuses, where=where)
        return [one async for one in self._all(view)]

    async def _facts(self, place: Place) -> list[MemoryRecord]:
        """The strongest facts and preferences."""
        kinds = [Kind.FACT.value, Kind.PREFERENCE.value]
        where = filters.parse({"kind": {"in": kinds}, "item_key": {"exists": False}})
        now = times.show(self._clock.now())
        view = View((place,), self._clock.now(), where=where)

        def weakness(one: MemoryRecord) -> tuple[float, str]:
            policy = self._conduct.policies.of(place.tenant, one.kind)
            return -round(one.strength(now, policy), 6), one.id

        found = [one async for one in self._all(view)]
        return sorted(found, key=weakness)[:FACTS_MAX]

    async def _all(self, view: View) -> AsyncIterator[MemoryRecord]:
        cursor: str | None = None
        while True:
            page = await self._store.scan(Scan(view, PAGE, cursor=cursor))
            for one in page.items:
                yield one
            cursor = page.cursor
            if cursor is None:
                return


@cache
def _prompt() -> str:
    folder = files("recollect.lifecycle") / "prompts"
    return (folder / "distil.md").read_text(encoding="utf-8")
