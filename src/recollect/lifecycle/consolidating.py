"""Consolidating: related memories become one that is linked to them, a group in one transaction.

What is alike is found from sketches of the vectors, and from links. Before anything is written,
each group is compared exactly and read anew; a source that changed meanwhile leaves its group for
another time. Whoever is stopped in between has consolidated some groups wholly and others not at
all, and goes on where it was: a memory that was consolidated is no source again.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from recollect.domain import filters, ids, times
from recollect.domain.consolidation import (
    DERIVED,
    NOT_RELATING,
    TEXT_CHARS_MAX,
    Consolidated,
    Consolidation,
    Group,
    extract,
    fields_of,
    selecting,
)
from recollect.domain.drafts import new_record
from recollect.domain.errors import (
    BudgetExceeded,
    ConflictError,
    ContentRefused,
    NotFound,
    ProviderError,
)
from recollect.domain.jobs import Job
from recollect.domain.operations import Alter, Enqueue, Operation, Remember, SetLink
from recollect.domain.policy import Policy
from recollect.domain.queries import View
from recollect.domain.records import Kind, Link, MemoryRecord, Status
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, Scope
from recollect.engine.asking import Asking
from recollect.engine.carrying import scope_of
from recollect.engine.core import GIVEN_SPACE, SALT_BYTES, Ports, unit_rows
from recollect.engine.remembering import Remembering, replace_salt
from recollect.ports.chat import Ask, Turn
from recollect.ports.store import Progress
from recollect.retrieval.sketching import Pair, Sketch, grouped, settled

CONSOLIDATE, CONSOLIDATE_PLACE = "consolidate", "consolidate_place"
#: Memories that are looked at, and groups that are written, in one step of a job.
STEP, GROUPS_STEP = 500, 5
#: So many memories are grouped among themselves; a larger place is taken in parts.
WINDOW = 2**17
WORDS_MAX = 120
BY_RECOLLECT = Because("recollect", "related")
#: While a consolidated memory is one of these, its sources are spent.
_SPENDING = (Status.ACTIVE.value, Status.ARCHIVED.value, Status.QUARANTINED.value)


@dataclass(slots=True)
class _Plan:
    """What was seen of a place, and the groups found in it."""

    place: Place
    sketch: Sketch = field(default_factory=Sketch)
    links: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    handles: dict[str, int] = field(default_factory=dict[str, int])  #: of what is linked
    looked_at: int = 0
    next: int | None = 0  #: the handle to look behind; None when everything was seen
    groups: list[list[int]] = field(default_factory=list[list[int]])

    def linked(self) -> Iterable[Pair]:
        """Pairs that are linked, the closest first."""
        for (one, other), strength in sorted(self.links.items(), key=lambda item: -item[1]):
            if one in self.handles and other in self.handles:
                yield self.handles[one], self.handles[other], strength


class Consolidating(Asking, Remembering):
    """Consolidating at once, and as the duties `consolidate` and `consolidate_place`."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self._plans: dict[Place, _Plan] = {}

    @property
    def consolidates(self) -> bool:
        """Whether jobs consolidate by themselves."""
        return self._conduct.consolidation == "on"

    async def consolidate(
        self, scope: Scope, progress: Progress, because: Because, *, dry_run: bool
    ) -> Consolidation:
        """Consolidate what is related in the scope's own place, or only say what would be."""
        made: list[Consolidated] = []
        seen = 0
        after: int | None = 0
        while after is not None:
            plan = _Plan(scope.home, next=after)
            while await self._look(plan):
                progress("looking at memories", seen + plan.looked_at, None)
            for number, handles in enumerate(plan.groups, start=1):
                for group in await self._verified(plan, handles):
                    done = await self._settle(scope, plan.place, group, because, dry_run=dry_run)
                    made += [] if done is None else [done]
                progress("consolidating groups", number, len(plan.groups))
            seen += plan.looked_at
            after = plan.next
        return Consolidation(tuple(made), seen, dry_run)

    async def _settle(
        self, scope: Scope, place: Place, group: Group, because: Because, *, dry_run: bool
    ) -> Consolidated | None:
        """One group, consolidated wholly or not at all."""
        try:
            done, operations = await self._drafted(scope, place, group, because)
            if dry_run:
                return replace(done, event=None)
            await self._store.apply(operations)
        except ContentRefused:  # by rules that are newer than the sources
            return None
        except (ConflictError, NotFound):  # somebody changed a source, or made the same of them
            return None
        return done

    # -- as jobs ---------------------------------------------------------------------------------

    async def consolidate_all(self, job: Job) -> Sequence[Operation]:
        """A job for every place."""
        now = self._clock.now()
        places = await self._store.places(None)
        return [Enqueue(now, CONSOLIDATE_PLACE, {}, place, unique=True) for place in places]

    async def consolidate_place(self, job: Job) -> Sequence[Operation]:
        """One step through a place. A process that does not know the plan begins it anew."""
        place = job.place
        if place is None:
            return []
        plan = self._plans.get(place)
        if plan is None or not job.payload:
            plan = self._plans[place] = _Plan(place)
        now = self._clock.now()
        again = Enqueue(now, CONSOLIDATE_PLACE, {"looked_at": plan.looked_at}, place)
        if not plan.groups and await self._look(plan):
            return [again]
        scope = scope_of(place, Scope(tenant=place.tenant))
        operations: list[Operation] = []
        for handles in plan.groups[:GROUPS_STEP]:
            for group in await self._verified(plan, handles):
                with suppress(ContentRefused):
                    operations += (await self._drafted(scope, place, group, BY_RECOLLECT))[1]
        del plan.groups[:GROUPS_STEP]
        if plan.groups:
            return [*operations, again]
        del self._plans[place]
        if plan.next is not None:
            self._plans[place] = _Plan(place, next=plan.next)
            return [*operations, again]
        return operations

    # -- finding what belongs together -----------------------------------------------------------

    def _policy(self, place: Place) -> Policy:
        return self._conduct.policies.of(place.tenant, Kind.CONSOLIDATED.value)

    async def _look(self, plan: _Plan) -> bool:
        """Look at the next memories of a place; after the last of them form the groups."""
        assert plan.next is not None
        policy, now = self._policy(plan.place), self._clock.now()
        chosen = filters.parse(selecting(now, policy.consolidate_hours))
        found = await self._store.entries(View((plan.place,), now, where=chosen), plan.next, STEP)
        await self._take(plan, found)
        plan.next = found[-1][0] if len(found) == STEP else None
        if plan.next is not None and plan.looked_at < WINDOW:
            return True
        least = policy.consolidate_similarity
        linked = [pair for pair in plan.linked() if pair[2] >= least]
        pairs = [*linked, *plan.sketch.pairs(least)]
        groups = grouped(pairs, policy.consolidate_group)
        plan.groups = [group for group in groups if len(group) >= policy.consolidate_related]
        return False

    async def _take(self, plan: _Plan, found: Sequence[tuple[int, MemoryRecord]]) -> None:
        """Take memories into a plan, unless they were consolidated before."""
        handles = {record.id: handle for handle, record in found}
        links = await self._store.links(list(handles), (plan.place,))
        spent = await self._spent(plan.place, links)
        for link in links:
            if link.kind not in NOT_RELATING:
                plan.links[(link.source, link.target)] = link.strength
                for end in (link.source, link.target):
                    if end in handles and end not in spent:
                        plan.handles[end] = handles[end]
        fresh = [handle for id, handle in handles.items() if id not in spent]
        plan.looked_at += len(fresh)
        vectors = await self._vectors(fresh)
        if vectors:
            plan.sketch.add(list(vectors), np.stack(list(vectors.values())))

    async def _spent(self, place: Place, links: Sequence[Link]) -> set[str]:
        """Of linked memories those that something was made of."""
        derived = [link for link in links if link.kind == DERIVED]
        view = replace(View((place,), self._clock.now()), statuses=_SPENDING)
        made = await self._store.get(list({link.source for link in derived}), view)
        return {
            link.target
            for link in derived
            if link.source in made and made[link.source].status in _SPENDING
        }

    async def _vectors(self, handles: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """One vector for each memory that has any: where its passages lie on average."""
        embedder = self._embedder
        space = GIVEN_SPACE if embedder is None or self._automatic else embedder.space
        found = await self._store.vectors(handles, space)
        if not found and embedder is not None and space == GIVEN_SPACE:
            space = embedder.space
            found = await self._store.vectors(handles, space)
        # A vector that a caller brought along is the only one of its memory.
        width = None if embedder is None or space == GIVEN_SPACE else embedder.dimensions
        means: dict[int, NDArray[np.float32]] = {}
        for handle, packed in found.items():
            numbers = np.frombuffer(packed, dtype="<f4")
            passages = numbers.reshape(-1, width or len(numbers))
            means[handle] = unit_rows(passages.mean(axis=0, keepdims=True))[0]
        return means

    async def _verified(self, plan: _Plan, handles: Sequence[int]) -> list[Group]:
        """What a group is when it is read anew and compared exactly: one, several or none."""
        policy = self._policy(plan.place)
        loaded = await self._store.load(handles)
        links = await self._store.links([one.id for one in loaded.values()], (plan.place,))
        spent = await self._spent(plan.place, links)  # by another process, since they were seen
        active = {h: one for h, one in loaded.items() if one.status == Status.ACTIVE}
        there = {h: one for h, one in active.items() if one.id not in spent}
        vectors = await self._vectors(list(there))
        order = sorted(there, key=lambda handle: (there[handle].begins, there[handle].id))
        alike = np.eye(len(order))
        for i, left in enumerate(order):
            for j, right in enumerate(order[:i]):
                cosine = 0.0
                if left in vectors and right in vectors:
                    cosine = float(vectors[left] @ vectors[right])
                one, other = there[left].id, there[right].id
                linked = (plan.links.get(ends, 0.0) for ends in ((one, other), (other, one)))
                alike[i, j] = alike[j, i] = max(cosine, *linked)
        least, fewest = policy.consolidate_similarity, policy.consolidate_related
        return [
            Group(tuple(there[order[line]] for line in lines), _least(alike, lines, least))
            for lines in settled(alike, least, fewest)
        ]

    # -- making one of many ----------------------------------------------------------------------

    async def _drafted(
        self, scope: Scope, place: Place, group: Group, because: Because
    ) -> tuple[Consolidated, list[Operation]]:
        """The consolidated memory of a group, and the operations that make it."""
        text, by = await self._text_of(scope, group)
        stamp = self._stamp("consolidate", because)
        now = times.show(stamp.at)
        made = new_record(self._new_id(ids.MEMORY), scope, text, fields_of(group.sources, by), now)
        # Of the same sources there is one: whoever comes second is refused by the store.
        key = blake2b(" ".join(sorted(one.id for one in group.sources)).encode(), digest_size=16)
        made = replace(made, place=place, session=None, item_key=key.hexdigest())
        made, _ = self._safe(made)
        entry = await self._entry(made)
        salts = iter(lambda: self._entropy.bytes(SALT_BYTES), b"")
        where = (place,)
        operations: list[Operation] = [
            # A change of nothing: it leaves no trace, and refuses a source that is another by now.
            *(Alter(stamp, one.id, where, {}, {"version": one.version}) for one in group.sources),
            Remember(replace_salt(stamp, next(salts)), made, entry),
        ]
        strength = round(group.similarity, 6)
        for source in group.sources:
            salted = replace_salt(stamp, next(salts))
            operations.append(SetLink(salted, made.id, source.id, DERIVED, strength, where))
        operations += self._embedding_job(made.id, place, entry, stamp.at)
        return Consolidated(made, group.sources, group.similarity, stamp.event, by), operations

    async def _text_of(self, scope: Scope, group: Group) -> tuple[str, str]:
        """The text for a group, and who wrote it: the memory model, or nobody."""
        model = await self._memory_model(scope, "consolidate")
        if model is not None:
            lines = (f"- {one.begins:%Y-%m-%d} {one.spoken}" for one in group.sources)
            mark = self._entropy.bytes(8).hex()
            said = _prompt().format(mark=mark, memories="\n".join(lines), words=WORDS_MAX)
            try:
                answer = await model.answer(Ask((Turn("user", said),), "summary"))
            except (ProviderError, BudgetExceeded):
                return extract(group.sources), "extract"
            if 0 < len(answer.text.strip()) <= TEXT_CHARS_MAX:
                return answer.text.strip(), answer.model
        return extract(group.sources), "extract"


def _least(alike: NDArray[np.float64], lines: Sequence[int], least: float) -> float:
    """How alike those of a group are that just belong together."""
    inside = alike[np.ix_(lines, lines)]
    return min(float(inside[inside >= least].min()), 1.0)


@cache
def _prompt() -> str:
    folder = files("recollect.lifecycle") / "prompts"
    return (folder / "consolidate.md").read_text(encoding="utf-8")
