"""The one engine runs in three ways, and each behaves like plain code: interrupts, errors, context.

The way is chosen by the ports: an embedder that does real I/O (`inline = False`) moves a `Memory`
from stepping to a loop thread; `AsyncMemory` always runs in the caller's loop.
"""

import asyncio
import contextvars
import gc
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import AsyncMemory, Memory
from recollect.client.runner import Inline, LoopThread
from recollect.domain.errors import ClosedError, InternalError, ProviderError
from tools import gen_sync

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")
WAYS = ["inline", "loop thread"]


class Words:
    """An embedder that does something before it answers; its vectors say little."""

    space = "words-2"
    dimensions = 2

    def __init__(self, does: Callable[[], Awaitable[object]], *, inline: bool = False) -> None:
        self.does = does
        self.inline = inline

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        await self.does()
        return np.ones((len(texts), 2), dtype=np.float32)


async def nothing() -> None:
    """What an inline port waits for."""


def opened(tmp_path: Path, way: str, does: Callable[[], Awaitable[object]] = nothing) -> Memory:
    return recollect.open(str(tmp_path / "m.db"), embedder=Words(does, inline=way == "inline"))


def frames(error: BaseException) -> list[str]:
    return [Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)]


# -- choosing the way ----------------------------------------------------------------------------


def test_local_ports_need_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with recollect.open(str(tmp_path / "m.db")) as memory:
        memory.remember("x")
        assert threading.active_count() == before


def test_a_port_that_does_io_gets_one_thread_which_goes_with_the_memory(tmp_path: Path) -> None:
    before = threading.active_count()
    with opened(tmp_path, "loop thread") as memory:
        memory.remember("x")
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


@pytest.mark.parametrize("way", WAYS)
def test_a_memory_works_inside_a_running_loop(tmp_path: Path, way: str) -> None:
    async def notebook() -> str:
        with opened(tmp_path, way) as memory:
            memory.remember("tea at four")
            return memory.recall("tea").hits[0].text

    assert asyncio.run(notebook()) == "tea at four"


@pytest.mark.parametrize("way", WAYS)
def test_several_threads_share_a_memory(tmp_path: Path, way: str) -> None:
    with opened(tmp_path, way) as memory:
        threads = [
            threading.Thread(target=lambda n=n: [memory.remember(f"{n} {i}") for i in range(10)])
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.count() == 40


@pytest.mark.parametrize("way", WAYS)
def test_closing_twice_is_closing_once_and_use_after_that_is_an_error(
    tmp_path: Path, way: str
) -> None:
    memory = opened(tmp_path, way)
    memory.remember("x")
    memory.close()
    memory.close()
    with pytest.raises(ClosedError):
        memory.remember("y")


def cheapest_us(run: Callable[[], object], times: int) -> float:
    """CPU of one call, in the best of several rounds."""
    rounds = []
    for _ in range(7):
        began = time.process_time_ns()
        for _ in range(times):
            run()
        rounds.append((time.process_time_ns() - began) / times / 1000)
    return min(rounds)


def test_stepping_costs_a_function_call_and_a_thread_less_than_a_loop_for_each_call() -> None:
    inline, thread = Inline(), LoopThread()
    stepped = cheapest_us(lambda: inline.run(nothing()), 3000)
    threaded = cheapest_us(lambda: thread.run(nothing()), 100)
    looped = cheapest_us(lambda: asyncio.run(nothing()), 20)
    thread.close(nothing())
    assert stepped * 20 < threaded < looped  # measured: 0.4, 36 and 120


# -- errors and tracebacks -----------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_traceback_holds_no_frames_of_a_loop(tmp_path: Path, way: str) -> None:
    async def fail() -> None:
        raise LookupError("the port's own")

    with opened(tmp_path, way, fail) as memory, pytest.raises(LookupError) as caught:
        memory.remember("x")
    seen = frames(caught.value)
    assert seen[0] == seen[-1] == Path(__file__).name
    assert "runner.py" in seen
    assert not {"base_events.py", "events.py", "_base.py", "tasks.py", "runners.py"} & set(seen)


def test_an_error_of_a_port_that_is_an_error_of_ours_stays_one(tmp_path: Path) -> None:
    async def fail() -> None:
        raise ProviderError("no answer")

    with opened(tmp_path, "loop thread", fail) as memory:
        assert memory.remember("x").pending_embedding  # stored all the same; the vector comes later
        assert memory.recall("x").degraded == ("meaning",)


async def pause() -> None:
    await asyncio.sleep(0)


async def long_pause() -> None:
    await asyncio.sleep(60)


async def in_a_thread() -> None:
    await asyncio.to_thread(list)


@pytest.mark.parametrize("does", [pause, long_pause, in_a_thread])
@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_a_port_that_lies_about_being_inline_is_found_out_at_once(
    tmp_path: Path, does: Callable[[], Awaitable[object]], *, inside_a_loop: bool
) -> None:
    def use() -> None:
        with opened(tmp_path, "inline", does) as memory:
            with pytest.raises(InternalError, match="must declare `inline = False`"):
                memory.remember("x")
            assert memory.count() == 0

    async def use_in_loop() -> None:
        use()

    if inside_a_loop:
        asyncio.run(use_in_loop())
    else:
        use()


async def gather() -> None:
    await asyncio.gather(nothing(), nothing())


def test_a_stray_gather_in_a_loop_of_the_caller_fails_loudly(tmp_path: Path) -> None:
    async def use() -> None:
        with opened(tmp_path, "inline", gather) as memory, pytest.raises(InternalError):
            memory.remember("x")

    asyncio.run(use())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stray_gather_without_a_loop_fails_loudly(tmp_path: Path) -> None:
    errors: list[str] = []

    def use() -> None:  # in a thread of its own: the main one may be given a loop by gather itself
        with opened(tmp_path, "inline", gather) as memory:
            try:
                memory.remember("x")
            except InternalError as exc:
                errors.append(str(exc))  # the error itself would keep the coroutines alive

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    gc.collect()
    assert len(errors) == 1


def test_a_runtime_error_of_a_port_is_not_taken_for_a_lie() -> None:
    async def fail() -> None:
        raise RuntimeError("out of tea")

    with pytest.raises(RuntimeError, match="out of tea"):
        Inline().run(fail())


# -- context variables ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_context_variables_pass_both_ways(tmp_path: Path, way: str) -> None:
    seen = []

    async def look() -> None:
        seen.append(WHO.get())
        WHO.set("the port")

    with opened(tmp_path, way, look) as memory:
        token = WHO.set("the caller")
        memory.remember("x")
        assert (seen, WHO.get()) == (["the caller"], "the port")
        WHO.reset(token)


def test_a_store_in_a_thread_sees_the_context_of_the_task(tmp_path: Path) -> None:
    seen = []

    def progress(doing: str, done: int, total: int | None) -> None:
        seen.append((WHO.get(), threading.current_thread() is threading.main_thread()))

    async def use() -> None:
        async with AsyncMemory.open(str(tmp_path / "m.db")) as memory:
            await memory.remember("x")
            WHO.set("the task")
            await memory.backup(str(tmp_path / "copy.db"), progress=progress)

    asyncio.run(use())
    assert set(seen) == {("the task", False)}


# -- interrupts and cancellation -----------------------------------------------------------------


def test_ctrl_c_cancels_the_coroutine_and_waits_for_its_end(tmp_path: Path) -> None:
    told = []

    async def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            told.append("cleaned up")
            raise

    words = Words(interrupted)
    with recollect.open(str(tmp_path / "m.db"), embedder=words) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.remember("x")
        assert told == ["cleaned up"]
        words.does = nothing
        assert memory.remember("y").outcome == "stored"
        assert memory.count() == 1


def test_a_second_ctrl_c_does_not_wait_for_a_coroutine_that_will_not_end() -> None:
    release, waiting = threading.Event(), threading.Event()
    loop = LoopThread()

    def interrupt(*_: object) -> None:
        if waiting.is_set():
            raise KeyboardInterrupt

    def insist() -> None:
        """Python drops an interrupt that hits a destructor: a person would press again, too."""
        while not release.wait(0.05):
            os.kill(os.getpid(), signal.SIGINT)

    async def stubborn() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.to_thread(insist)

    def run() -> None:
        waiting.set()
        try:
            loop.run(stubborn())
        finally:
            waiting.clear()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
        release.set()
        loop.close(nothing())
    finally:
        signal.signal(signal.SIGINT, before)


def test_closing_ends_what_other_threads_wait_for() -> None:
    loop = LoopThread()
    waiting, errors = threading.Event(), []

    async def wait() -> None:
        waiting.set()
        await asyncio.sleep(60)

    def other() -> None:
        try:
            loop.run(wait())
        except ClosedError as exc:
            errors.append(exc)

    thread = threading.Thread(target=other)
    thread.start()
    waiting.wait()
    loop.close(nothing())
    thread.join()
    assert len(errors) == 1


def test_a_port_that_calls_back_into_its_own_memory_is_told_so(tmp_path: Path) -> None:
    holder: list[Memory] = []

    async def call_back() -> None:
        holder[0].count()

    with opened(tmp_path, "loop thread", call_back) as memory:
        holder.append(memory)
        with pytest.raises(InternalError, match="called back"):
            memory.remember("x")


class Gate:
    """Holds a store's writes until it is opened, in the thread where they run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        from recollect.storage.sqlite.store import SqliteStore

        plain = SqliteStore.apply

        async def apply(store: SqliteStore, *args: Any, **kwargs: Any) -> Any:
            self.reached.set()
            self.open.wait()
            return await plain(store, *args, **kwargs)

        monkeypatch.setattr(SqliteStore, "apply", apply)


def stopped_by_timeout(work: Coroutine[Any, Any, Any], gate: Gate) -> Coroutine[Any, Any, bool]:
    async def timed() -> bool:
        try:
            async with asyncio.timeout(None) as limit:
                task = asyncio.ensure_future(work)
                await asyncio.to_thread(gate.reached.wait)
                limit.reschedule(asyncio.get_running_loop().time())
                await task
        except TimeoutError:
            return True
        return False

    return timed()


@pytest.mark.promise("P4", half="AsyncMemory")
def test_after_a_timeout_a_retry_with_the_same_key_has_one_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use() -> None:
        async with AsyncMemory.open(str(tmp_path / "m.db")) as memory:
            gate = Gate(monkeypatch)
            assert await stopped_by_timeout(memory.remember("tea", key="k1"), gate)
            gate.open.set()
            again = await memory.remember("tea", key="k1")
            assert again.outcome in ("stored", "replayed")
            assert [one.text for one in (await memory.list()).items] == ["tea"]
            assert (await memory.verify()).ok

    asyncio.run(use())


def test_a_write_that_was_cancelled_before_its_turn_never_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use() -> None:
        async with AsyncMemory.open(str(tmp_path / "m.db")) as memory:
            gate = Gate(monkeypatch)
            writes = [asyncio.ensure_future(memory.remember(f"{n}")) for n in range(20)]
            await asyncio.to_thread(gate.reached.wait)
            for late in writes[10:]:
                late.cancel()
            gate.open.set()
            answers = await asyncio.gather(*writes, return_exceptions=True)
            texts = {one.text for one in (await memory.list()).items}
            assert texts == {f"{n}" for n in range(10)}
            assert all(isinstance(one, asyncio.CancelledError) for one in answers[10:])

    asyncio.run(use())


def test_an_async_memory_that_is_closed_says_so(tmp_path: Path) -> None:
    async def use() -> None:
        memory = AsyncMemory.open(str(tmp_path / "m.db"))
        await memory.remember("x")
        await memory.close()
        await memory.close()
        with pytest.raises(ClosedError):
            await memory.remember("y")

    asyncio.run(use())


# -- forks ---------------------------------------------------------------------------------------


def in_a_child(work: Callable[[], None]) -> int:
    """The exit status of a forked child that does some work and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: forking with threads about
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        signal.alarm(20)  # a hang is a failure
        work()
        status = 0
    finally:
        os._exit(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("way", WAYS)
def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path, way: str) -> None:
    with opened(tmp_path, way) as memory:
        memory.remember("before")
        memory.recall("before")

        def child() -> None:
            for use in (memory.count, lambda: memory.remember("x"), lambda: memory.recall("x")):
                with pytest.raises(ClosedError, match="forked"):
                    use()
            memory.close()
            with recollect.open(str(tmp_path / "m.db")) as own:
                own.remember("from the child")

        assert in_a_child(child) == 0
        memory.remember("after")
        assert {one.text for one in memory.list().items} == {"before", "from the child", "after"}
        assert memory.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused_an_async_memory(tmp_path: Path) -> None:
    memories: list[AsyncMemory] = []

    async def begin() -> None:
        memories.append(AsyncMemory.open(str(tmp_path / "m.db")))
        await memories[0].remember("before")

    async def use() -> None:
        with pytest.raises(ClosedError, match="forked"):
            await memories[0].remember("x")
        await memories[0].close()

    async def end() -> None:
        assert await memories[0].count() == 1
        await memories[0].close()

    asyncio.run(begin())
    assert in_a_child(lambda: asyncio.run(use())) == 0
    asyncio.run(end())


# -- the generated face --------------------------------------------------------------------------


def test_the_generator_goes_red_when_the_sync_face_is_out_of_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    today = gen_sync.generated

    def tomorrow(target: str) -> str:
        return today(target).replace("def remember(", "def remembered(")

    monkeypatch.setattr("sys.argv", ["gen_sync.py", "--check"])
    assert gen_sync.main() == 0
    monkeypatch.setattr(gen_sync, "generated", tomorrow)
    assert gen_sync.main() == 1
    assert "memory.py is out of date" in capsys.readouterr().out
