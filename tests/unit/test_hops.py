"""From a public call to SQL: how many of our files a reader has to open on the way.

At the moment each statement is executed the stack is read, and our own files on it are counted.
Three of them pass a call on and decide nothing; they are the price of writing the engine once and
of keeping SQL in one file, so they are named here and counted apart.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import AsyncMemory, Memory

PACKAGE = Path(recollect.__file__).parent
FORWARD = {
    "client/memory.py": "generated from async_memory.py",
    "client/runner.py": "runs the coroutine",
    "storage/sqlite/sql.py": "looks up a statement by its name",
}
FILES_MAX = 9
#: A write passes one more than a read: `commit.py`, which decides what shares a transaction.
DECIDING_MAX = {"recall": 5, "remember": 6}
WORK = {"recall": "FROM events", "remember": "INSERT INTO memories"}
WORK_MAX = 5


class Stacks:
    """Our files on the stack of every statement, outermost first, while it records."""

    def __init__(self) -> None:
        self.found: list[tuple[str, list[str]]] = []

    def watch(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self.note

    def note(self, _cursor: object, statement: str, _values: object) -> bool:
        frame, files = sys._getframe(1), dict[str, None]()
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE):
                files[path.relative_to(PACKAGE).as_posix()] = None
            frame = frame.f_back
        self.found.append((statement, [*reversed(files)]))
        return True


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> Stacks:
    stacks = Stacks()
    monkeypatch.setattr(apsw, "connection_hooks", [stacks.watch])
    return stacks


CALLS: dict[str, Callable[[Memory], object]] = {
    "recall": lambda memory: memory.recall("tea"),
    "remember": lambda memory: memory.remember("tea at five"),
}


def traced(tmp_path: Path, stacks: Stacks, call: str) -> list[tuple[str, list[str]]]:
    with recollect.open(str(tmp_path / "m.db")) as memory:
        memory.remember("tea at four")
        memory.recall("tea")
        stacks.found.clear()
        CALLS[call](memory)
        return list(stacks.found)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_reaches_sql_through_few_files(tmp_path: Path, stacks: Stacks, call: str) -> None:
    found = traced(tmp_path, stacks, call)
    assert found
    longest = max((files for _, files in found), key=len)
    deciding = max((decisive(files) for _, files in found), key=len)
    assert len(longest) <= FILES_MAX, longest
    assert len(deciding) <= DECIDING_MAX[call], deciding


@pytest.mark.parametrize("call", CALLS)
def test_the_statement_that_does_the_work_is_five_files_away(
    tmp_path: Path, stacks: Stacks, call: str
) -> None:
    ways = [decisive(f) for sql, f in traced(tmp_path, stacks, call) if WORK[call] in sql]
    assert ways
    assert all(len(way) <= WORK_MAX for way in ways), ways


def test_an_async_call_leaves_the_loop_once(tmp_path: Path, stacks: Stacks) -> None:
    async def use() -> None:
        async with AsyncMemory.open(str(tmp_path / "m.db")) as memory:
            await memory.remember("tea")

    asyncio.run(use())
    inside = [files for sql, files in stacks.found if WORK["remember"] in sql]
    assert inside  # the stack of the file's thread: from there on everything is one piece
    assert {files[0] for files in inside} == {"client/runner.py"}
    assert not any("client/async_memory.py" in files for files in inside)


def decisive(files: list[str]) -> list[str]:
    return [file for file in files if file not in FORWARD]
