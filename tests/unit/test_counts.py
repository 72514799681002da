"""Speed, as counts that do not depend on the machine: statements, commits, syncs, bytes, modules.

`make bench` measures seconds; these bounds are what keeps them from creeping up unseen.
"""

import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import recollect
from bench.amplification import counted_memory

DIMENSIONS = 64
STATEMENTS_PER_REMEMBER = 11
#: To begin and end a snapshot, and to find by mark what a memory may contradict.
STATEMENTS_TO_LOOK = 7
#: Besides one insert per memory into each of five tables.
STATEMENTS_PER_BATCH = 6
STATEMENTS_PER_RECALL = 12
#: To follow one memory that was written since the last recall.
STATEMENTS_TO_FOLLOW = 2
MODULES_ON_IMPORT = 40
MODULES_ON_OPEN = 400
RECALL_PEAK_BYTES = 80_000
REMEMBER_PEAK_BYTES = 30_000


@pytest.fixture
def statements() -> Iterator[Counter[str]]:
    """What SQLite is asked to do, by the statement's first word."""
    counted: Counter[str] = Counter()

    def count(event: dict[str, str]) -> None:
        if not event["sql"].startswith("--"):  # a trigger's own statements
            counted[event["sql"].split(None, 1)[0].upper()] += 1

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, count)

    apsw.connection_hooks.append(watch)
    yield counted
    apsw.connection_hooks.remove(watch)


@pytest.fixture
def ana(statements: Counter[str], tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(str(tmp_path / "memory.db")) as memory:
        handle = memory.scope(user="ana")
        for number in range(50):
            handle.remember(f"note {number} about tea and trains", vector=vector_of(number))
        handle.recall("tea trains", vector=vector_of(1))
        statements.clear()
        yield handle


def vector_of(number: int) -> list[float]:
    return [float((number * step) % 97) + 1.0 for step in range(1, DIMENSIONS + 1)]


def test_remembering_one_memory_takes_few_statements_and_one_commit(
    ana: recollect.Memory, statements: Counter[str]
) -> None:
    ana.remember("Lisbon was sunny in March.", vector=vector_of(7))
    assert statements["COMMIT"] == 1
    assert 0 < statements.total() <= STATEMENTS_PER_REMEMBER, statements


def test_what_answers_a_question_looks_once_for_what_answered_it_before(
    ana: recollect.Memory, statements: Counter[str]
) -> None:
    ana.remember("I moved to Lisbon in March.", vector=vector_of(7))
    assert 0 < statements.total() <= STATEMENTS_PER_REMEMBER + STATEMENTS_TO_LOOK, statements


def test_a_batch_takes_one_commit_and_no_statement_per_memory_but_its_inserts(
    ana: recollect.Memory, statements: Counter[str]
) -> None:
    ana.remember_many([{"text": f"cake {n}", "vector": vector_of(n)} for n in range(100)])
    inserts = statements.pop("INSERT")
    assert statements["COMMIT"] == 1
    assert 100 <= inserts <= 5 * 100
    assert statements.total() <= STATEMENTS_PER_BATCH, statements


def test_recalling_takes_few_statements_however_many_hits_there_are(
    ana: recollect.Memory, statements: Counter[str]
) -> None:
    found = ana.recall("tea trains", vector=vector_of(3), limit=40)
    assert len(found.hits) == 40
    assert 0 < statements.total() <= STATEMENTS_PER_RECALL, statements
    assert not {"INSERT", "UPDATE", "DELETE"} & set(statements), "a recall writes nothing"


def test_recalling_after_a_write_reads_what_is_new_and_not_everything(
    ana: recollect.Memory, statements: Counter[str]
) -> None:
    ana.recall("tea", vector=vector_of(3))
    unchanged = statements.total()
    ana.remember("tea with lemon", vector=vector_of(60))
    statements.clear()
    ana.recall("tea", vector=vector_of(3))
    assert statements.total() <= unchanged + STATEMENTS_TO_FOLLOW, statements


def test_a_durable_memory_is_one_sync() -> None:
    per_write: list[int] = []
    with counted_memory() as (memory, counted, _):
        memory.remember("the first one makes the user")
        for number in range(30):
            before = counted["syncs"]
            memory.remember(f"note {number}", vector=vector_of(number))
            per_write.append(counted["syncs"] - before)
    assert per_write == [1] * 30


def test_recalling_and_remembering_allocate_little(ana: recollect.Memory) -> None:
    assert peak_of(lambda: ana.recall("tea trains", vector=vector_of(5))) <= RECALL_PEAK_BYTES
    assert peak_of(lambda: ana.remember("tea", vector=vector_of(5))) <= REMEMBER_PEAK_BYTES


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes that were held at once during a call, beyond those before it."""
    call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("names", "modules_max"),
    [
        ("recollect", MODULES_ON_IMPORT),
        ("recollect.client.memory, recollect.wiring", MODULES_ON_OPEN),
    ],
)
def test_importing_loads_few_modules(names: str, modules_max: int) -> None:
    code = f"import sys; old = len(sys.modules); import {names}; print(len(sys.modules) - old)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(told.stdout) <= modules_max
