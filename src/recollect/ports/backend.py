"""The backend: whatever `Memory` and `AsyncMemory` speak to.

The engine is one; the client of a server will be another. Every method takes the scope it acts in.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.consolidation import Consolidation
from recollect.domain.context import Context
from recollect.domain.costs import Budget, Cost
from recollect.domain.distilling import Summary
from recollect.domain.drafts import Moment
from recollect.domain.forecast import Forecast
from recollect.domain.health import ErrorEvent, Health
from recollect.domain.jobs import Maintenance, QueuedJob
from recollect.domain.recall import Recall, WhyNot
from recollect.domain.records import (
    Batch,
    Change,
    Group,
    JsonObject,
    Link,
    MemoryRecord,
    Page,
    Profile,
    Receipt,
    Related,
    Remembered,
    Review,
    SessionRecord,
    Tree,
    Verification,
)
from recollect.domain.requests import (
    Because,
    Forgetting,
    Listing,
    NewMemory,
    Packing,
    Question,
    Selection,
)
from recollect.domain.scopes import Scope
from recollect.ports.chat import Chat
from recollect.ports.store import Progress

#: Is told of an error; in the thread that met it, so it should be quick.
ErrorListener = Callable[[ErrorEvent], None]
ProfileMode = Literal["merge", "replace", "remove", "clear"]


class Backend(Protocol):
    """Everything that can be asked of a memory."""

    @property
    def inline(self) -> bool:
        """True when no method ever suspends."""
        ...

    async def remember(self, scope: Scope, new: NewMemory, because: Because) -> Remembered:
        """Store one memory."""
        ...

    async def remember_many(
        self, scope: Scope, items: Sequence[NewMemory], because: Because, *, atomic: bool
    ) -> Batch:
        """Store many memories in one transaction."""
        ...

    async def get(self, scope: Scope, id: str, selection: Selection) -> MemoryRecord:
        """One memory."""
        ...

    async def get_many(self, scope: Scope, ids: Sequence[str]) -> Sequence[MemoryRecord]:
        """Those of the memories that exist, in the order asked for."""
        ...

    async def list(self, scope: Scope, listing: Listing) -> Page[MemoryRecord]:
        """One page of a listing."""
        ...

    async def count(self, scope: Scope, selection: Selection) -> int:
        """How many memories a selection shows."""
        ...

    async def recall(self, scope: Scope, question: Question) -> Recall:
        """Search."""
        ...

    async def why_not(self, scope: Scope, question: Question, id: str) -> WhyNot:
        """What keeps a memory from being a hit."""
        ...

    async def context(self, scope: Scope, asked: Packing) -> Context:
        """All that one model call is sent, within a budget of tokens."""
        ...

    async def update(
        self,
        scope: Scope,
        id: str,
        fields: Mapping[str, Any],
        because: Because,
        *,
        if_version: int | None,
    ) -> MemoryRecord:
        """Change fields."""
        ...

    async def correct(self, scope: Scope, id: str, new: NewMemory, because: Because) -> Remembered:
        """Supersede a memory by a new one."""
        ...

    async def reviews(self, scope: Scope, limit: int) -> Sequence[Review]:
        """What waits for a decision."""
        ...

    async def approve(self, scope: Scope, id: str, because: Because, *, keep: bool) -> MemoryRecord:
        """Let a memory that waits take part in recall."""
        ...

    async def reject(self, scope: Scope, id: str, because: Because) -> MemoryRecord:
        """Put a memory that waits aside."""
        ...

    async def merge(self, scope: Scope, id: str, new: NewMemory, because: Because) -> Remembered:
        """One memory in place of one that waits and those that it contradicts."""
        ...

    async def link(
        self, scope: Scope, source: str, target: str, kind: str, strength: float | None
    ) -> bool:
        """Link two memories, or unlink them."""
        ...

    async def links(self, scope: Scope, id: str, kind: str | None) -> Sequence[Link]:
        """The links of a memory."""
        ...

    async def related(
        self, scope: Scope, id: str, *, depth: int, kind: str | None
    ) -> Sequence[Related]:
        """Memories that links lead to."""
        ...

    async def children(
        self, scope: Scope, id: str, *, limit: int | None, sort: str, descending: bool
    ) -> Sequence[MemoryRecord]:
        """Direct children, all of them or the first few."""
        ...

    async def tree(self, scope: Scope, id: str, depth: int) -> Tree:
        """A memory and what hangs below it."""
        ...

    async def make_group(self, scope: Scope, name: str, description: str | None) -> Group:
        """Make sure that a group exists."""
        ...

    async def groups(self, scope: Scope) -> Sequence[Group]:
        """All groups."""
        ...

    async def set_member(self, scope: Scope, group: str, id: str, *, present: bool) -> bool:
        """Put a memory into a group or take it out."""
        ...

    async def members(self, scope: Scope, group: str) -> Sequence[MemoryRecord]:
        """The memories of a group."""
        ...

    async def open_session(
        self,
        scope: Scope,
        id: str | None,
        kind: str,
        metadata: Mapping[str, Any],
        expires_at: Moment | None,
    ) -> SessionRecord:
        """Begin a session or come back to it."""
        ...

    async def sessions(self, scope: Scope) -> Sequence[SessionRecord]:
        """All sessions."""
        ...

    async def messages(
        self, scope: Scope, session: str, *, last: int | None
    ) -> Sequence[MemoryRecord]:
        """The messages of a session in order."""
        ...

    async def extract(self, scope: Scope, session: str) -> Sequence[MemoryRecord]:
        """The facts of a session's messages, stored."""
        ...

    async def write_profile(
        self,
        scope: Scope,
        category: str,
        mode: ProfileMode,
        data: Mapping[str, Any] | Sequence[str],
        because: Because,
        *,
        if_version: int | None,
    ) -> Profile:
        """Change one category of the profile."""
        ...

    async def profile(self, scope: Scope, category: str) -> Profile:
        """One category of the profile."""
        ...

    async def profiles(self, scope: Scope) -> dict[str, Profile]:
        """All categories of the profile."""
        ...

    async def past_profiles(self, scope: Scope, category: str) -> Sequence[Profile]:
        """Every version of a category."""
        ...

    async def profile_summary(self, scope: Scope) -> Summary:
        """The profile in short."""
        ...

    async def refresh_profile(self, scope: Scope) -> bool:
        """Have the profile looked after; False when that is queued already."""
        ...

    async def reset_profile(
        self, scope: Scope, template: Mapping[str, Any], because: Because
    ) -> dict[str, Profile]:
        """Put every category back to a template."""
        ...

    async def put_item(
        self,
        scope: Scope,
        category: str,
        key: str,
        fields: dict[str, Any],
        because: Because,
        *,
        create_only: bool,
    ) -> MemoryRecord:
        """Create an item or, unless `create_only`, change the one with this key."""
        ...

    async def change_item(
        self, scope: Scope, category: str, id: str, fields: dict[str, Any], because: Because
    ) -> MemoryRecord:
        """Change an item by its id."""
        ...

    async def item(self, scope: Scope, category: str, id: str) -> MemoryRecord:
        """An item by its id."""
        ...

    async def items(
        self, scope: Scope, category: str, *, status: str | None, limit: int
    ) -> Sequence[MemoryRecord]:
        """The items of a category, most urgent first."""
        ...

    async def history(self, scope: Scope, id: str) -> Sequence[Change]:
        """What happened to a memory."""
        ...

    async def events(self, scope: Scope, after: int, limit: int) -> Sequence[Change]:
        """What happened in a scope."""
        ...

    async def undo(self, scope: Scope, event: str, because: Because) -> Sequence[MemoryRecord]:
        """Take back what an event did."""
        ...

    async def reinforce(
        self, scope: Scope, id: str, factor: float | None, because: Because
    ) -> MemoryRecord:
        """Make a memory strong again."""
        ...

    async def restore(self, scope: Scope, id: str, because: Because) -> MemoryRecord:
        """Call an archived memory back."""
        ...

    async def forecast(self, scope: Scope, days: int, limit: int) -> Forecast:
        """What will fade when."""
        ...

    async def consolidate(
        self, scope: Scope, progress: Progress, because: Because, *, dry_run: bool
    ) -> Consolidation:
        """Make one memory of those that belong together."""
        ...

    async def forget(self, scope: Scope, what: Forgetting, because: Because) -> Receipt:
        """Erase."""
        ...

    async def merge_users(self, scope: Scope, origin: Scope, because: Because) -> Mapping[str, int]:
        """Move everything of one scope's place into another's."""
        ...

    def export(self, scope: Scope, *, everything: bool) -> AsyncIterator[JsonObject]:
        """Every line of an export."""
        ...

    async def import_lines(
        self, scope: Scope, lines: Sequence[JsonObject], because: Because
    ) -> JsonObject:
        """Take over lines of an export."""
        ...

    async def backup(self, path: str, progress: Progress) -> None:
        """Write a consistent copy."""
        ...

    async def verify(self, progress: Progress, *, repair: bool) -> Verification:
        """Read everything and compare it with its digests."""
        ...

    async def model(self, scope: Scope, chosen: Chat | str | None) -> Chat | None:
        """A model whose calls are allowed by the budgets first, and booked to the scope."""
        ...

    async def users(self, scope: Scope) -> Sequence[str]:
        """Everybody of the app who has memories of their own."""
        ...

    async def stats(self, scope: Scope) -> JsonObject:
        """Counts and sizes."""
        ...

    async def catch_up(self, limit: int) -> int:
        """Give vectors to memories that were stored while the embedder did not answer."""
        ...

    async def maintain(self, progress: Progress) -> Maintenance:
        """Carry out whatever is due."""
        ...

    async def jobs(
        self, *, state: str | None, kind: str | None, after: int, limit: int
    ) -> Sequence[QueuedJob]:
        """Jobs that wait, run or are dead."""
        ...

    async def retry_job(self, number: int) -> None:
        """Try a dead job again."""
        ...

    async def health(self, scope: Scope) -> Health:
        """How each part does."""
        ...

    async def watch_errors(self, listener: ErrorListener) -> Callable[[], None]:
        """Have a listener told of every error from now on; what is returned ends that."""
        ...

    async def set_model(
        self, scope: Scope, fields: Mapping[str, Any], because: Because
    ) -> ModelClient:
        """Store a model client, or change it."""
        ...

    async def model_clients(self, scope: Scope) -> Sequence[ModelClient]:
        """All model clients."""
        ...

    async def remove_model(
        self, scope: Scope, label: str, because: Because, *, release: bool
    ) -> None:
        """Remove a model client that no agent needs."""
        ...

    async def test_model(self, scope: Scope, label: str) -> JsonObject:
        """Ask a model for one word."""
        ...

    async def set_agent(
        self, scope: Scope, fields: Mapping[str, Any], because: Because
    ) -> AgentRecord:
        """Store an agent, or change it."""
        ...

    async def agents(self, scope: Scope) -> Sequence[AgentRecord]:
        """All agents."""
        ...

    async def remove_agent(self, scope: Scope, label: str, because: Because) -> None:
        """Remove an agent."""
        ...

    async def load_agents(
        self, scope: Scope, said: Mapping[str, Any], because: Because
    ) -> JsonObject:
        """Take over model clients and agents as a file lists them."""
        ...

    async def cost(
        self,
        scope: Scope,
        by: Sequence[str],
        only: Mapping[str, str | None],
        since: Moment | None,
        until: Moment | None,
    ) -> Cost:
        """What calls of models took."""
        ...

    async def set_budget(
        self, scope: Scope, usd: float | None, period: str, user: str | None, agent: str | None
    ) -> None:
        """Set what calls of models may cost."""
        ...

    async def budgets(self, scope: Scope) -> Sequence[Budget]:
        """All budgets."""
        ...

    async def models_status(self, scope: Scope) -> JsonObject:
        """Which models work for a scope, and why those."""
        ...

    async def close(self) -> None:
        """Flush and release everything."""
        ...
