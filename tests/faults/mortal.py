"""Workers that die or freeze at a chosen await point, on a store that outlives them."""

from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from types import coroutine
from typing import Any, ClassVar

from recollect.domain import times
from recollect.domain.drafts import new_record
from recollect.domain.errors import LeaseLost
from recollect.domain.jobs import Job
from recollect.domain.operations import Enqueue, FinishJob, Operation, Remember
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.core import Ports
from recollect.lifecycle.duties import Duty
from recollect.lifecycle.keeper import Keeper
from recollect.ports.store import Store
from recollect.retrieval.analyser import Analyser
from recollect.testing import FrozenClock, SeededEntropy

HOME = Scope().home
TRIES_MAX = 4


class Killed(BaseException):
    """The process is gone: nothing of it runs any more, no handler and no cleaning up."""


@coroutine
def suspended(at: str) -> Generator[str, None, None]:
    yield at


class Mortal:
    """A store as a worker sees it; each operation is an await point before and one after it.

    At the point of `dies_at` the worker is killed, at the point of `freezes_at` it stands still
    until it is stepped again.
    """

    inline = True

    def __init__(
        self, store: Store, dies_at: int | None = None, freezes_at: int | None = None
    ) -> None:
        self._store = store
        self._dies_at, self._freezes_at = dies_at, freezes_at
        self.durability = store.durability
        self.passed: list[str] = []
        self.died: str | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._store, name)

        async def mortally(*args: Any, **kwargs: Any) -> Any:
            await self.point(f"before {name}")
            answer = await operation(*args, **kwargs)
            await self.point(f"after {name}")
            return answer

        return mortally

    async def point(self, where: str) -> None:
        """Pass an await point, if at all."""
        if self.died is not None:
            raise Killed
        number = len(self.passed)
        self.passed.append(where)
        if number == self._dies_at:
            self.die(where)
        if number == self._freezes_at:
            await suspended(where)

    def die(self, where: str) -> None:
        """Be gone."""
        self.died = where
        raise Killed


class Unfenced:
    """The control: a store that carries out effects whoever holds the job by now."""

    inline = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self.durability = store.durability

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, operations: Sequence[Operation], *, atomic: bool = True) -> list[Any]:
        """In two transactions: what takes effect, and the end of the job, which may fail."""
        ends = [one for one in operations if isinstance(one, FinishJob)]
        answers = await self._store.apply(
            [one for one in operations if one not in ends], atomic=atomic
        )
        for end in ends:
            with suppress(LeaseLost):
                await self._store.apply([end])
        return answers


class Labourer(Keeper):
    """A keeper with work to do: each `work` leaves one memory, `poison` fails, `killer` kills."""

    async def work(self, job: Job) -> Sequence[Operation]:
        stamp = self._stamp("work", Because())
        text = f"effect of {job.payload['number']}"
        await self._store.stats("local")  # whatever a duty reads
        record = new_record(self._new_id("mem"), Scope(), text, {}, times.show(stamp.at))
        return [Remember(stamp, record, await self._entry(record))]

    async def poison(self, job: Job) -> Sequence[Operation]:
        raise ZeroDivisionError

    async def killer(self, job: Job) -> Sequence[Operation]:
        store: Any = self._store
        store.die("in the duty")
        return []

    duties: ClassVar[Any] = {
        duty.kind: duty
        for duty in (
            Duty("work", work, tries_max=50),
            Duty("poison", poison, tries_max=TRIES_MAX),
            Duty("killer", killer, tries_max=TRIES_MAX),
        )
    }


def labourer(
    store: Any, clock: FrozenClock, seed: int, kind: type[Labourer] = Labourer
) -> Labourer:
    """A worker of its own: its ids and its chance are not those of others."""
    return kind(Ports(store, clock, SeededEntropy(seed), Analyser()))


def queued(clock: FrozenClock, count: int) -> list[Operation]:
    """Work; of every ten jobs one is poison, and every other of these kills who runs it."""
    kinds = ["work"] * 9 + ["poison"] + ["work"] * 9 + ["killer"]
    return [
        Enqueue(clock.now(), kinds[number % 20], {"number": number}, HOME)
        for number in range(count)
    ]


def stepped(work: Coroutine[Any, Any, Any]) -> Any:
    """Step a coroutine once: its answer, `Killed`, or where it stands still."""
    try:
        return work.send(None)
    except StopIteration as done:
        return done.value
    except Killed:
        return Killed
