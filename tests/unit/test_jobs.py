"""Jobs as a keeper carries them out: what becomes of them, when, and in which order."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import recollect
from recollect.client.runner import Inline, off_loop
from recollect.domain import times
from recollect.domain.errors import NotFound, StorageUnavailable, ValidationError
from recollect.domain.jobs import Job, JobQuery, QueuedJob
from recollect.domain.operations import Enqueue, Operation, Remember
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope
from recollect.engine.core import Ports
from recollect.lifecycle import embedding, serving
from recollect.lifecycle import keeper as keeping
from recollect.lifecycle.duties import Duty
from recollect.lifecycle.keeper import Keeper
from recollect.lifecycle.serving import InThread
from recollect.lifecycle.working import BACKOFF_MAX_S, BACKOFF_S, LEASE_INLINE_S
from recollect.ports.store import Store
from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, HashEmbedder, InMemoryStore, SeededEntropy

HOME = Scope().home
DAY = 86_400.0


def silent(doing: str, done: int, total: int | None) -> None:
    pass


class Diary(Keeper):
    """A keeper whose duties are written down; `note` also remembers what it was told."""

    ran: list[str]

    async def note(self, job: Job) -> Sequence[Operation]:
        self.ran.append(str(job.payload.get("text", job.kind)))
        told = self._stamp("note", Because())
        from recollect.domain.drafts import new_record

        text = self.ran[-1]
        record = new_record(self._new_id("mem"), Scope(), text, {}, times.show(told.at))
        return [Remember(told, record, await self._entry(record))]

    async def fail(self, job: Job) -> Sequence[Operation]:
        self.ran.append("fail")
        raise KeyError("what it is about, which nobody else is to read")

    async def tidy(self, job: Job) -> Sequence[Operation]:
        self.ran.append("tidy")
        return []

    duties: ClassVar[Any] = {
        duty.kind: duty
        for duty in (
            Duty("note", note),
            Duty("fail", fail, tries_max=3),
            Duty("tidy", tidy, every_s=DAY),
            Duty("unable", note, able=lambda _: False),
        )
    }


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = InMemoryStore()
    if request.param == "sqlite":
        made = SqliteStore(str(tmp_path / "memory.db"), durability="relaxed")
    yield made
    Inline().run(made.close())


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock("2026-01-01")


def diary(store: Store, clock: Any, seed: int = 1) -> Diary:
    keeper = Diary(Ports(store, clock, SeededEntropy(seed), Analyser()))
    keeper.ran = []
    return keeper


@pytest.fixture
def keeper(store: Store, clock: FrozenClock) -> Diary:
    return diary(store, clock)


def run(coroutine: Any) -> Any:
    return Inline().run(coroutine)


def queue(keeper: Diary, kind: str, text: str = "text", **options: Any) -> int:
    job = Enqueue(keeper._clock.now(), kind, {"text": text}, HOME, **options)
    (number,) = run(keeper._store.apply([job]))
    return int(number)


def listed(keeper: Diary) -> list[QueuedJob]:
    return list(run(keeper._store.jobs(JobQuery(keeper._clock.now()))))


def test_what_a_duty_returns_is_committed_with_the_end_of_its_job(keeper: Diary) -> None:
    queue(keeper, "note", "first")
    queue(keeper, "note", "second", priority=1)
    queue(keeper, "unable")
    queue(keeper, "of a later version")
    done = run(keeper.run_due(silent))
    assert keeper.ran == ["second", "first"]
    assert dict(done.done) == {"note": 2}
    assert run(keeper._store.stats("local"))["memories"] == 2
    assert [job.kind for job in listed(keeper)] == ["unable", "of a later version"]


def test_a_limit_and_who_has_enough_end_a_run(keeper: Diary) -> None:
    for number in range(5):
        queue(keeper, "note", str(number))
    assert run(keeper.run_due(silent, limit=2)).total == 2
    assert run(keeper.run_due(silent, enough=lambda: len(keeper.ran) == 4)).total == 2
    assert run(keeper.run_due(silent, kinds=["fail"])).total == 0
    assert run(keeper.run_due(silent)).total == 1


def test_a_job_that_fails_is_tried_again_ever_later_and_then_given_up(
    keeper: Diary, clock: FrozenClock
) -> None:
    number = queue(keeper, "fail")
    waits: list[float] = []
    for tries in (1, 2):
        assert dict(run(keeper.run_due(silent)).failed) == {"fail": 1}
        (job,) = listed(keeper)
        assert (job.state, job.tries, job.reason) == ("waiting", tries, "KeyError")
        waits.append((times.to_micros(job.run_at) - clock.now()) / times.SECOND)
        assert run(keeper.run_due(silent)).total == 0, "not before its time"
        clock.set(job.run_at)
    assert all(0 <= wait <= BACKOFF_S * 2**n for n, wait in enumerate(waits))
    assert dict(run(keeper.run_due(silent)).dead) == {"fail": 1}
    clock.advance(days=30)
    assert run(keeper.run_due(silent)).total == 0
    (job,) = listed(keeper)
    assert (job.state, job.tries, job.reason) == ("dead", 3, "KeyError")
    assert keeper.ran == ["fail"] * 3
    run(keeper.retry_job(number))
    assert dict(run(keeper.run_due(silent)).failed) == {"fail": 1}
    assert listed(keeper)[0].tries == 1


def test_waits_after_failures_are_spread_and_bounded(store: Store, clock: FrozenClock) -> None:
    keeper = diary(store, clock)
    for tries in (1, 5, 60):
        longest = min(BACKOFF_MAX_S, BACKOFF_S * 2 ** (tries - 1)) * times.SECOND
        waits = [keeper._backoff_us(tries) for _ in range(200)]
        assert 0 <= min(waits) < longest * 0.1
        assert longest * 0.9 < max(waits) <= longest


def test_a_job_whose_holders_never_come_back_is_given_up_without_being_run(
    keeper: Diary, clock: FrozenClock
) -> None:
    queue(keeper, "fail")
    for _ in range(3):
        run(keeper._store.claim_jobs(["fail"], 1, now=clock.now(), lease_us=1))
        clock.advance(seconds=1)
    assert dict(run(keeper.run_due(silent)).dead) == {"fail": 1}
    assert keeper.ran == []
    assert listed(keeper)[0].reason == "abandoned"


def test_a_poisoned_job_holds_up_no_other(keeper: Diary) -> None:
    for number in range(20):
        queue(keeper, "fail" if number % 2 else "note", str(number), priority=number % 2)
    told = run(keeper.run_due(silent))
    assert (told.done["note"], told.failed["fail"]) == (10, 10)


def test_a_duty_that_runs_by_itself_is_planted_once_and_missed_runs_are_caught_up_once(
    store: Store, keeper: Diary, clock: FrozenClock
) -> None:
    other = diary(store, clock, seed=2)
    for one in (keeper, other, keeper):
        run(one.plant())
    assert [job.kind for job in listed(keeper)] == ["tidy"]
    run(keeper.maintain(silent))
    assert keeper.ran == ["tidy"]
    (job,) = listed(keeper)
    wait = times.to_micros(job.run_at) - clock.now()
    assert 0.9 * DAY * times.SECOND <= wait <= DAY * times.SECOND
    run(other.maintain(silent))
    assert other.ran == []
    clock.advance(days=10)
    for _ in range(3):
        run(other.maintain(silent))
    assert other.ran == ["tidy"]
    assert len(listed(keeper)) == 1


def test_runs_of_many_stores_are_spread(clock: FrozenClock) -> None:
    due: set[float] = set()
    for seed in range(20):
        keeper = diary(InMemoryStore(), clock, seed)
        run(keeper.maintain(silent))
        due.add(listed(keeper)[0].run_at.timestamp())
    assert len(due) == 20


def test_a_duty_that_was_given_up_runs_again_at_its_next_time(
    store: Store, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sick(Diary):
        async def sick(self, job: Job) -> Sequence[Operation]:
            raise ValueError

        duties: ClassVar[Any] = {"tidy": Duty("tidy", sick, tries_max=1, every_s=DAY)}

    keeper = Sick(Ports(store, clock, SeededEntropy(), Analyser()))
    for _ in range(2):
        assert run(keeper.maintain(silent)).dead == {"tidy": 1}
        clock.advance(days=1)
    assert [job.state for job in listed(keeper)] == ["dead", "dead", "waiting"]


def test_an_interrupted_run_gives_its_job_back_and_the_try_does_not_count(
    store: Store, clock: FrozenClock
) -> None:
    class Interrupted(Diary):
        async def stop(self, job: Job) -> Sequence[Operation]:
            raise KeyboardInterrupt

        duties: ClassVar[Any] = {"fail": Duty("fail", stop)}

    keeper = Interrupted(Ports(store, clock, SeededEntropy(), Analyser()))
    queue(keeper, "fail")
    with pytest.raises(KeyboardInterrupt):
        run(keeper.run_due(silent))
    (job,) = listed(keeper)
    assert (job.state, job.tries, job.reason) == ("waiting", 0, None)


def test_the_public_face_lists_retries_and_maintains() -> None:
    with recollect.testing.open_memory(embedder=Failing()) as memory:
        memory.remember("owed a vector")
        (job,) = memory.jobs()
        assert (job.kind, job.state) == ("embed", "waiting")
        told = memory.maintain()
        assert (told.done.get("embed"), told.failed, told.dead) == (None, {"embed": 1}, {})
        assert memory.jobs(state="waiting", kind="embed", limit=1)[0].reason == (
            "provider-unavailable"
        )
        assert memory.jobs(after=job.number, kind="embed") == []
        with pytest.raises(NotFound):
            memory.retry_job(job.number)
        for wrong in ({"state": "lost"}, {"limit": 0}, {"after": -1}, {"kind": ""}):
            with pytest.raises(ValidationError):
                memory.jobs(**wrong)  # type: ignore[arg-type]


class Failing(HashEmbedder):
    """An embedder that does not answer until it is told to."""

    answers = False

    async def embed(self, texts: Any, purpose: Any) -> Any:
        if not self.answers:
            from recollect.domain.errors import ProviderError

            raise ProviderError("away")
        return await super().embed(texts, purpose)


# -- beside the foreground -------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backgrounds begin at once and never rest."""
    monkeypatch.setattr(serving, "GRACE_S", 0.0)
    monkeypatch.setattr(serving, "REST_MAX_S", 0.0)
    monkeypatch.setattr(keeping, "LOOK_US", 0)


def background_threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "recollect-background"]


def test_a_background_thread_starts_when_a_job_is_queued_and_ends_when_none_is_due(
    store: Store, at_once: None
) -> None:
    from recollect.wiring import SystemClock

    keeper = diary(store, SystemClock())
    rested: list[float | None] = []
    ended = threading.Event()

    def resting(due_s: float | None) -> None:
        rested.append(due_s)
        ended.set()

    background = InThread(keeper, resting)
    assert background_threads() == []
    queue(keeper, "note", "one")
    background.begin()
    assert ended.wait(30)
    assert sorted(keeper.ran) == ["one", "tidy"]
    assert rested[0] is not None
    assert 0.8 * DAY < rested[0] <= DAY
    ended.clear()
    queue(keeper, "note", "two")
    background.begin()
    assert ended.wait(30)
    assert keeper.ran[-1] == "two"
    run(background.stop(inline=True))
    background.begin()
    assert background_threads() == []


def test_an_open_memory_pays_its_debts_in_the_background(tmp_path: Path, at_once: None) -> None:
    embedder = Failing()
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder=embedder, background="on") as memory:
        assert background_threads() == [], "nothing was asked for"
        memory.remember("owed a vector")
        embedder.answers = True
        assert until(lambda: memory.count() == 1 and memory.jobs(kind="embed") == [])
        assert memory.stats()["vectors"] == 1
    assert background_threads() == []


@pytest.mark.parametrize("limit", [1, 2, 200])
def test_what_another_embedder_embedded_is_embedded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(embedding, "SURVEYED_MAX", limit)
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder="none") as memory:
        memory.remember("from before there was a model")
    with recollect.open(path, embedder=HashEmbedder()) as memory:
        memory.remember("of the old model")
        memory.scope(user="bob").remember("of the old model too")
    with recollect.open(path, embedder=HashEmbedder(128)) as memory:
        memory.remember("of the new model")
        told = memory.maintain()
        assert told.done["embed"] == 3
        assert told.failed == told.dead == {}
        assert memory.stats()["vectors"] == 2 + 4
        assert memory.recall("old model").degraded == ()
        assert len(memory.recall("old model")) == 3
        assert "embed" not in memory.maintain().done


def test_an_open_async_memory_does_too_in_its_loop_if_a_port_needs_that(
    tmp_path: Path, at_once: None
) -> None:
    class Remote(Failing):
        inline = False

        async def embed(self, texts: Any, purpose: Any) -> Any:
            await asyncio.sleep(0)
            return await super().embed(texts, purpose)

    async def use(embedder: Failing) -> None:
        path = str(tmp_path / f"{type(embedder).__name__}.db")
        async with recollect.AsyncMemory.open(path, embedder=embedder, background="on") as memory:
            await memory.remember("owed a vector")
            embedder.answers = True
            while await memory.count() and await memory.jobs(kind="embed"):
                assert not background_threads() or embedder.inline
            assert (await memory.stats())["vectors"] == 1
        assert background_threads() == []

    for embedder in (Failing(), Remote()):
        asyncio.run(asyncio.wait_for(use(embedder), 30))


def test_closing_stops_the_background_without_waiting_for_what_waits(
    tmp_path: Path, at_once: None
) -> None:
    with recollect.open(str(tmp_path / "m.db"), embedder=Failing(), background="on") as memory:
        for number in range(20):
            memory.remember(f"text {number}")
    with recollect.open(str(tmp_path / "m.db")) as memory:
        assert len(memory.jobs(kind="embed")) == 20
        assert memory.jobs(state="running") == []


def until(true: Callable[[], bool]) -> bool:
    """Whether something comes true within half a minute, looked at again and again."""
    import time

    patience = time.monotonic() + 30
    while time.monotonic() < patience:
        if true():
            return True
    return False


# -- workers ---------------------------------------------------------------------------------------


def test_a_worker_serves_until_it_is_told_to_stop_and_outlives_a_store_that_fails(
    store: Store, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "POLL_S", 0.0)
    monkeypatch.setattr(serving, "STORE_REST_S", 0.0)

    class Flaky:
        """A store that fails every other claim."""

        inline = False
        calls = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def claim_jobs(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls % 2:
                raise StorageUnavailable("busy")
            return await store.claim_jobs(*args, **kwargs)

    keeper = diary(Flaky(), clock)  # type: ignore[arg-type]
    for number in range(5):
        queue(diary(store, clock), "note", str(number))

    async def serve() -> None:
        stop = asyncio.Event()

        def seen(doing: str, done: int, total: int | None) -> None:
            if len(keeper.ran) == 4:
                stop.set()

        await keeper.serve(stop, seen)

    asyncio.run(asyncio.wait_for(serve(), 30))
    assert len(keeper.ran) == 4
    assert len(listed(diary(store, clock))) == 2, "a note and tidy"


def test_a_try_that_takes_too_long_is_ended_and_one_that_is_cancelled_given_back(
    tmp_path: Path, clock: FrozenClock
) -> None:
    class Slow(Diary):
        hanging = asyncio.Event()

        async def hang(self, job: Job) -> Sequence[Operation]:
            if job.kind == "long":
                self.hanging.set()
            await asyncio.Event().wait()
            return []

        duties: ClassVar[Any] = {
            "short": Duty("short", hang, timeout_s=0.001),
            "long": Duty("long", hang),
        }

    async def work() -> list[tuple[str, int, str | None]]:
        store = off_loop(SqliteStore(str(tmp_path / "memory.db")))
        keeper = Slow(Ports(store, clock, SeededEntropy(), Analyser()))
        kinds = ("short", "long")
        await store.apply([Enqueue(clock.now(), kind, {}, HOME) for kind in kinds])
        await keeper.run_due(silent, kinds=["short"])
        task = asyncio.create_task(keeper.run_due(silent, kinds=["long"]))
        await keeper.hanging.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await store.jobs(JobQuery(clock.now()))
        await store.close()
        return [(job.state, job.tries, job.reason) for job in found]

    found = asyncio.run(asyncio.wait_for(work(), 30))
    assert found == [("waiting", 1, "TimeoutError"), ("waiting", 0, None)]


def test_in_a_loop_the_lease_is_renewed_while_a_duty_works(
    tmp_path: Path, clock: FrozenClock
) -> None:
    class Long(Diary):
        lease_s = 0.001

        async def _state(self) -> str:
            (job,) = await self._store.jobs(JobQuery(clock.now()))
            return job.state

        async def wait(self, job: Job) -> Sequence[Operation]:
            clock.advance(hours=1)
            while await self._state() != "running":
                pass
            self.ran.append("renewed")
            return []

        duties: ClassVar[Any] = {"long": Duty("long", wait)}

    async def work() -> Any:
        store = off_loop(SqliteStore(str(tmp_path / "memory.db")))
        keeper = Long(Ports(store, clock, SeededEntropy(), Analyser()))
        keeper.ran = []
        await store.apply([Enqueue(clock.now(), "long", {}, HOME)])
        told = await keeper.run_due(silent)
        await store.close()
        return keeper.ran, dict(told.done)

    # An hour passes at once for the lease: without a renewal the job would be up for grabs.
    assert asyncio.run(asyncio.wait_for(work(), 30)) == (["renewed"], {"long": 1})
    assert max(duty.timeout_s for duty in Keeper.duties.values()) <= LEASE_INLINE_S
