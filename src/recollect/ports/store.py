"""The store: where memories live.

A store executes whole operations atomically, answers listings and finds candidates. It does not
rank, expire, decide or phrase anything; that is the engine's, so that every store behaves alike.
The contract is `recollect.testing.contract`; every store passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, CostQuery, CostRow
from recollect.domain.jobs import Job, JobQuery, Queue, QueuedJob
from recollect.domain.operations import Operation
from recollect.domain.queries import EventQuery, Scan, Search, View
from recollect.domain.records import (
    Change,
    Group,
    JsonObject,
    Link,
    MemoryRecord,
    Page,
    Profile,
    SessionRecord,
    Verification,
)
from recollect.domain.scopes import Place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and how much there is (if known)."""


#: What is known of a candidate besides words and vectors. Texts are positions in
#: `Candidates.names`, 0 is none; moments are microseconds since 1970.
FACETS = [
    ("role", "<i4"),
    ("speaker", "<i4"),
    ("kind", "<i4"),
    ("begins", "<i8"),
    ("importance", "<f4"),
    ("tier", "<i4"),
    ("reinforced", "<i8"),
]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Memories that may answer a search, in columns, with the raw values that ranking needs.

    They are those that hold a searched term, those whose vectors are nearest, those of the kinds
    that a search always wants and of the times it is about, and of messages those up to two before
    and after any of these in the same session: a line of a conversation is understood by the lines
    around it.

    The statistics (`total`, `mean_length`, `holding`, `similarity_mean`, `similarity_spread`) are
    those of the memories that the search's view allows, never of anything outside it.
    """

    total: int
    mean_length: float
    holding: tuple[int, ...]  #: for each searched term, how many memories hold it
    keys: NDArray[np.int64]  #: handle of each candidate, for `load`
    counts: NDArray[np.float32]  #: candidates x terms: how often each holds each term
    lengths: NDArray[np.float32]  #: number of terms of each candidate
    similarity: NDArray[np.float32] | None  #: cosine of the nearest passage; NaN without a vector
    similarity_mean: float
    similarity_spread: float
    facets: NDArray[np.void]  #: see `FACETS`
    names: Sequence[str]  #: the texts that facets refer to; some may belong to nobody here
    before: NDArray[np.int32]  #: on which line the message before this one is, -1 if on none
    after: NDArray[np.int32]  #: and the message after it
    past: Mapping[int, MemoryRecord] = field(default_factory=dict[int, MemoryRecord])
    #: candidates that are earlier versions, by handle


class Store(Protocol):
    """Where memories live."""

    @property
    def inline(self) -> bool:
        """True when no method ever suspends, so that callers without a loop can step through."""
        ...

    @property
    def durability(self) -> str:
        """`full` when an acknowledged write survives a power cut, else `relaxed`."""
        ...

    async def apply(self, operations: Sequence[Operation], *, atomic: bool = True) -> list[Any]:
        """Execute operations in one transaction and answer each in order.

        With `atomic` the first failure undoes everything and is raised. Without, a failed
        operation leaves no trace, its answer is the error, and the others stand.
        """
        ...

    async def get(self, ids: Sequence[str], view: View) -> dict[str, MemoryRecord]:
        """Those of the memories that lie in the view's places (whatever their status)."""
        ...

    async def scan(self, scan: Scan) -> Page[MemoryRecord]:
        """One page of a listing."""
        ...

    async def count(self, view: View) -> int:
        """How many memories a view shows."""
        ...

    async def candidates(self, search: Search) -> Candidates:
        """What may answer a search: all that hold a term, and the nearest vectors."""
        ...

    async def load(self, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """The records of candidates by their handles; those erased meanwhile are left out."""
        ...

    async def marked(self, place: Place, marks: Sequence[int]) -> list[MemoryRecord]:
        """The active memories of a place that bear any of these marks, newest first.

        Of each mark only the newest few.
        """
        ...

    async def vectors(self, keys: Sequence[int], space: str) -> dict[int, bytes]:
        """The vectors of memories in a space, by their handles, as entries hold them."""
        ...

    async def links(
        self, ids: Sequence[str], places: Sequence[Place], *, kind: str | None = None
    ) -> list[Link]:
        """All links that start or end at these memories and stay within the places."""
        ...

    async def children(self, ids: Sequence[str], places: Sequence[Place]) -> list[MemoryRecord]:
        """The direct children of these memories, in order of writing."""
        ...

    async def groups(self, place: Place) -> list[Group]:
        """The groups of a place."""
        ...

    async def members(self, place: Place, group: str) -> list[MemoryRecord]:
        """The memories of a group (by id, name or number), in the order they were added."""
        ...

    async def session(self, place: Place, id: str) -> SessionRecord | None:
        """A session of a place."""
        ...

    async def sessions(self, place: Place) -> list[SessionRecord]:
        """The sessions of a place, newest first."""
        ...

    async def profiles(self, place: Place) -> list[Profile]:
        """All categories of a profile that hold or held something."""
        ...

    async def changes(self, query: EventQuery) -> list[Change]:
        """Events with the states before and after them, oldest first."""
        ...

    async def past_profiles(self, place: Place, category: str) -> list[Profile]:
        """Every version of a category, oldest first, the present one last."""
        ...

    async def places(self, tenant: str | None) -> list[Place]:
        """All places of a tenant that hold anything; with None, of every tenant."""
        ...

    async def tombstoned(self, tenant: str, names: Sequence[str]) -> set[str]:
        """Those of the names (memory ids, or `user:app/name`) that were erased before."""
        ...

    async def claim_jobs(
        self, kinds: Sequence[str], limit: int, *, now: int, lease_us: int
    ) -> list[Job]:
        """Lease due jobs, the highest priority and then the oldest first; never two of a kind
        and place that are to run alone. Each claim has a higher `attempt`.
        """
        ...

    async def jobs(self, query: JobQuery) -> list[QueuedJob]:
        """Jobs that wait, run or are dead."""
        ...

    async def queue(self, now: int) -> Queue:
        """The queue at a moment."""
        ...

    async def model_clients(self, tenant: str) -> list[ModelClient]:
        """The model clients of a tenant, by label."""
        ...

    async def agents(self, tenant: str, app: str) -> list[AgentRecord]:
        """The agents of an app, by label."""
        ...

    async def costs(self, query: CostQuery) -> list[CostRow]:
        """What calls took, summed by day at most: rows of different names are never joined."""
        ...

    async def spent(self, tenant: str, place: Place | None, agent: str | None, since: int) -> int:
        """Billionths of a dollar that a user, an agent or, with neither, everybody spent since."""
        ...

    async def budgets(self, tenant: str) -> list[Budget]:
        """The budgets of a tenant; what was spent of them is not filled in."""
        ...

    async def entries(self, view: View, after: int, limit: int) -> list[tuple[int, MemoryRecord]]:
        """Memories in order of writing with their handles, from behind a handle on."""
        ...

    async def without_vector(
        self, spaces: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Place, str]]:
        """Everybody's memories that have no vector in any of some spaces, in order of writing.

        For each its handle, place and id, from behind a handle on.
        """
        ...

    async def stats(self, tenant: str) -> JsonObject:
        """Counts by kind, tier, status and place kind; sizes; schema; pending work."""
        ...

    async def room(self) -> int | None:
        """How many bytes the store may still grow by; None if it cannot tell."""
        ...

    async def seal(self) -> int:
        """Chain the hashes of events that are not sealed yet; how many were sealed."""
        ...

    async def scrub(self) -> bool:
        """Wipe what erased rows left in logs and freed space; False while a reader prevents it."""
        ...

    async def rebuild(self, packed: Callable[[str], bytes], progress: Progress) -> int:
        """Build the index anew from the memories; `packed` gives the terms of a text."""
        ...

    async def verify(self, progress: Progress) -> Verification:
        """Read everything and compare it with its digests."""
        ...

    async def backup(self, path: str, progress: Progress) -> None:
        """Write a consistent copy while others go on reading and writing."""
        ...

    async def close(self) -> None:
        """Flush, release and forget everything; idempotent."""
        ...
