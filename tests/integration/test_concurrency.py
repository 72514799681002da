"""Many threads, processes and tasks on one file: no error, nothing lost, all see everything."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import AsyncMemory, Memory
from recollect.domain.errors import ClosedError
from recollect.storage.sqlite.commit import Committer
from recollect.storage.sqlite.store import READERS_MAX

WRITERS = 8
EACH = 50
PATIENCE_S = 60
TIMER_S = 1.0  #: a timer that has not come by then never will
#: At how many moments of a write and a search Ctrl-C is tried.
POINTS = 100
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "m.db")


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every transaction that SQLite commits."""
    seen: list[int] = []

    def count(connection: apsw.Connection) -> None:
        connection.set_commit_hook(lambda: bool(seen.append(1)))

    monkeypatch.setattr(apsw, "connection_hooks", [count])
    return seen


def add_and_search(memory: Memory, who: str) -> list[str]:
    """Writes, each followed by a search that has to find it; the ids that were acknowledged."""
    stored: list[str] = []
    for n in range(EACH):
        word = f"{who}word{n}"
        stored.append(memory.remember(f"{word} shared").id)
        found = memory.recall(f"{word} shared", limit=1)
        assert [hit.memory.id for hit in found] == stored[-1:], f"{who} does not see its {n}"
    return stored


def check(path: str, stored: set[str]) -> None:
    """After reopening: everything that was acknowledged is there, once, and found by its word."""
    assert len(stored) == WRITERS * EACH
    with recollect.open(path) as memory:
        assert memory.count() == len(stored)
        assert {one.id for one in pages(memory)} == stored
        assert {hit.memory.id for hit in memory.recall("shared", limit=1000)} == stored
        verified = memory.verify()
        assert verified.ok, verified.findings


def pages(memory: Memory) -> Iterator[Any]:
    cursor = None
    while True:
        page = memory.list(limit=100, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


# -- threads -------------------------------------------------------------------------------------


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns so often that what is not guarded breaks."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
@pytest.mark.promise("P3", half="one process")
def test_eight_threads_add_and_search_at_once(path: str) -> None:
    ready = threading.Barrier(WRITERS, timeout=PATIENCE_S)
    with recollect.open(path) as memory, ThreadPoolExecutor(WRITERS) as threads:

        def work(n: int) -> list[str]:
            ready.wait()
            stored = add_and_search(memory, f"thread{n}")
            ready.wait()
            assert memory.recall("shared", limit=1).searched == WRITERS * EACH
            return stored

        answers = list(threads.map(work, range(WRITERS)))
    check(path, {id for stored in answers for id in stored})


class Standing:
    """A clock that stands still and a source of nothing but zeros: each id is the last plus one."""

    def now(self) -> int:
        return 1_800_000_000_000_000

    def bytes(self, count: int) -> bytes:
        return bytes(count)


@pytest.mark.usefixtures("hurried")
def test_no_two_threads_draw_the_same_id(path: str) -> None:
    still = Standing()
    with recollect.open(path, clock=still, entropy=still) as memory:
        draw = memory._inner._backend._new_id
        with ThreadPoolExecutor(WRITERS) as threads:
            drawn = list(threads.map(lambda _: [draw("mem") for _ in range(2000)], range(WRITERS)))
        assert len({id for ids in drawn for id in ids}) == WRITERS * 2000


def test_one_thread_commits_exactly_once_per_write(path: str, commits: list[int]) -> None:
    with recollect.open(path) as memory:
        commits.clear()
        for n in range(EACH):
            memory.remember(f"{n}")
            memory.recall(f"{n}")
        assert len(commits) == EACH


def test_one_failing_write_takes_no_other_of_its_group_with_it(path: str) -> None:
    with recollect.open(path) as memory, ThreadPoolExecutor(WRITERS) as threads:
        memory.remember("first", key="taken")

        def work(n: int) -> str:
            if n % 2:
                return memory.remember(f"good {n}").outcome
            with pytest.raises(recollect.RecollectError, match="key"):
                memory.remember(f"bad {n}", key="taken")
            return "refused"

        answers = list(threads.map(work, range(100)))
        assert answers == ["refused", "stored"] * 50
        assert memory.count() == 51
        assert memory.verify().ok


def test_more_readers_than_connections_just_wait(path: str) -> None:
    readers = 3 * READERS_MAX
    ready = threading.Barrier(readers, timeout=PATIENCE_S)
    with recollect.open(path) as memory, ThreadPoolExecutor(readers) as threads:
        memory.remember("tea")

        def read(_: int) -> list[str]:
            ready.wait()
            return [memory.recall("tea").hits[0].text for _ in range(5)]

        assert list(threads.map(read, range(readers))) == [["tea"] * 5] * readers


def test_closing_while_others_read_and_write_is_an_orderly_end(path: str) -> None:
    memory = recollect.open(path)
    memory.remember("tea 0")
    begun = threading.Barrier(5, timeout=PATIENCE_S)
    acknowledged: list[str] = []

    def work(use: Callable[[], Any]) -> BaseException:
        begun.wait()
        try:
            while True:
                use()
        except ClosedError as exc:
            return exc

    def write() -> None:
        acknowledged.append(memory.remember("tea").id)

    with ThreadPoolExecutor(4) as threads:
        uses = (lambda: memory.recall("tea"), memory.list, write, write)
        ends = [threads.submit(work, use) for use in uses]
        begun.wait()
        memory.close()
        for end in ends:
            assert "open it again" in str(end.result(PATIENCE_S))
    with recollect.open(path) as again:
        assert set(acknowledged) <= {one.id for one in pages(again)}
        assert again.verify().ok


# -- tasks ---------------------------------------------------------------------------------------


def test_a_hundred_tasks_write_and_search_at_once(path: str, commits: list[int]) -> None:
    async def work(memory: AsyncMemory, n: int) -> str:
        stored = await memory.remember(f"word{n} shared")
        found = await memory.recall(f"word{n}")
        assert [hit.memory.id for hit in found] == [stored.id]
        return stored.id

    async def use() -> None:
        async with AsyncMemory.open(path) as memory:
            commits.clear()
            ids = await asyncio.gather(*(work(memory, n) for n in range(100)))
            assert len(commits) < 100
            assert len(set(ids)) == 100
            assert await memory.count() == 100
            assert (await memory.verify()).ok

    asyncio.run(use())


# -- processes -----------------------------------------------------------------------------------


def process_that_adds_and_searches(path: str, n: int, ready: Barrier, told: Connection) -> None:
    with recollect.open(path) as memory:
        ready.wait(PATIENCE_S)
        stored = add_and_search(memory, f"process{n}")
        ready.wait(PATIENCE_S)
        told.send((stored, memory.recall("shared", limit=1).searched))


@pytest.mark.slow
@pytest.mark.promise("P3", half="embedded")
def test_eight_processes_add_and_search_at_once(path: str) -> None:
    ready = SPAWN.Barrier(WRITERS)
    answers = []
    for n in range(WRITERS):
        here, there = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(
            target=process_that_adds_and_searches, args=(path, n, ready, there), daemon=True
        )
        process.start()
        there.close()
        answers.append((process, here))
    stored: set[str] = set()
    for process, here in answers:
        assert here.poll(PATIENCE_S), "a process did not answer"
        ids, seen = here.recv()
        assert seen == WRITERS * EACH, "a process does not see what the others wrote"
        stored.update(ids)
        process.join(PATIENCE_S)
        assert process.exitcode == 0
        here.close()
    check(path, stored)


def process_that_obeys(path: str, orders: Connection) -> None:
    with recollect.open(path) as memory:
        orders.send("ready")
        while order := orders.recv():
            name, *values = order
            answer = getattr(memory, name)(*values)
            if name == "recall":
                answer = [hit.text for hit in answer]
            orders.send(answer if name == "recall" else answer and getattr(answer, "id", None))


@pytest.mark.slow
@pytest.mark.promise("P3", half="embedded")
def test_each_process_reads_at_once_what_another_one_wrote(path: str) -> None:
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=process_that_obeys, args=(path, there), daemon=True)
    process.start()

    def other(*order: Any) -> Any:
        here.send(order)
        assert here.poll(PATIENCE_S)
        return here.recv()

    with recollect.open(path) as memory:
        assert here.poll(PATIENCE_S)
        assert here.recv() == "ready"
        assert other("recall", "tea") == []  # its index is loaded, and has to follow from here on
        for n in range(20):
            mine = memory.remember(f"tea number{n}")
            assert other("recall", f"number{n}") == [f"tea number{n}"]
            theirs = other("correct", mine.id, f"coffee number{n}")
            assert [hit.text for hit in memory.recall(f"number{n}")] == [f"coffee number{n}"]
            memory.forget(theirs)
            assert other("recall", f"number{n}") == []
        here.send(None)
        process.join(PATIENCE_S)
        assert process.exitcode == 0
        assert memory.verify().ok
    here.close()
    there.close()


# -- interrupts ----------------------------------------------------------------------------------


def interrupted(work: Callable[[], Any], after_s: float) -> bool:
    """Whether Ctrl-C, that long after its beginning, came before the end of work."""
    done = False
    try:
        signal.setitimer(signal.ITIMER_REAL, after_s)
        work()
        done = True
        # For the interrupt, which must not hit what follows. Python itself drops one that falls
        # into a destructor.
        threading.Event().wait(TIMER_S)
    except KeyboardInterrupt:
        pass
    return not done


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A timer does what Ctrl-C does."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGALRM, before)


class Interrupted(apsw.Connection):
    """Ctrl-C arrives just when a statement is done."""

    after = ""

    def execute(self, statements: str, *values: Any, **options: Any) -> apsw.Cursor:
        cursor = super().execute(statements, *values, **options)
        if statements == Interrupted.after:
            Interrupted.after = ""
            raise KeyboardInterrupt
        return cursor


@pytest.mark.parametrize("after", ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "COMMIT"])
def test_ctrl_c_inside_a_transaction_ends_it_and_the_next_one_works(path: str, after: str) -> None:
    with Interrupted(path) as connection:
        connection.execute("CREATE TABLE t (n)")
    committer = Committer(lambda: Interrupted(path))
    Interrupted.after = after
    with pytest.raises(KeyboardInterrupt):
        committer.run(lambda connection: connection.execute("INSERT INTO t VALUES (1)"))
    committer.run(lambda connection: connection.execute("INSERT INTO t VALUES (2)"))
    rows = committer.run(lambda connection: connection.execute("SELECT n FROM t").fetchall())
    assert rows == ([(1,), (2,)] if after == "COMMIT" else [(2,)])
    committer.close()


class Held:
    """A writer that stands still in the middle of its transaction until it is let go."""

    def __init__(self, memory: Memory) -> None:
        self.inside, self.go_on = threading.Event(), threading.Event()
        self.committer = memory._inner._backend._store._committer  # the one place to stop a writer
        self.committer._connection.exec_trace = self.hold

    def hold(self, *_: object) -> bool:
        self.inside.set()
        return self.go_on.wait(PATIENCE_S)

    def wait_for_queue(self, length: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(self.committer._queue) < length:
            assert time.monotonic() < deadline
            os.sched_yield()

    def let_go(self) -> None:
        self.committer._connection.exec_trace = None
        self.go_on.set()


def test_all_that_wait_for_a_writer_share_the_next_commit(path: str, commits: list[int]) -> None:
    with recollect.open(path) as memory, ThreadPoolExecutor(WRITERS) as threads:
        held = Held(memory)
        commits.clear()
        writes = [threads.submit(memory.remember, "slow")]
        assert held.inside.wait(PATIENCE_S)
        writes += [threads.submit(memory.remember, f"waits {n}") for n in range(WRITERS - 1)]
        held.wait_for_queue(WRITERS - 1)
        held.let_go()
        assert {write.result(PATIENCE_S).outcome for write in writes} == {"stored"}
        assert len(commits) == 2


def test_a_writer_that_is_interrupted_while_it_waits_never_writes(path: str) -> None:
    with recollect.open(path) as memory, ThreadPoolExecutor(1) as threads:
        memory.remember("first")
        held = Held(memory)
        slow = threads.submit(memory.remember, "slow")
        assert held.inside.wait(PATIENCE_S)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        assert interrupted(lambda: memory.remember("interrupted"), 0.02)
        signal.signal(signal.SIGALRM, before)
        held.let_go()
        slow.result(PATIENCE_S)
        memory.remember("last")
        assert {one.text for one in memory.list()} == {"first", "slow", "last"}


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_ctrl_c_at_any_moment_of_a_write_and_a_search_leaves_the_memory_usable(path: str) -> None:
    with recollect.open(path) as memory:

        def work(key: str) -> None:
            memory.remember(f"{key} kettle", key=key)
            memory.recall(key)

        began = time.perf_counter()
        work("whole")
        work("again")
        whole_s = (time.perf_counter() - began) / 2
        hits = 0
        for n in range(POINTS):
            key, after_s = f"point{n}", max(1e-6, whole_s * n / POINTS)
            hits += interrupted(lambda key=key: work(key), after_s)
            stored = memory.remember(f"{key} kettle", key=key)
            assert [hit.memory.id for hit in memory.recall(key)] == [stored.id], f"{after_s} s"
        assert hits > POINTS / 4
        assert memory.count() == POINTS + 2
        assert len(memory.recall("kettle", limit=1000).hits) == POINTS + 2
        assert memory.verify().ok
