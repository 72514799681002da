"""P1 and P2: what was acknowledged is on disk after a power cut or a kill, and nothing is half."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.storage.sqlite.store import SqliteStore
from tests.faults.invariants import broken, states
from tests.faults.power import cuts
from tests.faults.vfs import Disk, Entry, Said
from tests.faults.workload import Ledger, Workload, early

CUTS = 400
KILLS = 300
#: The index is sealed this often here, so that it happens many times in a short run.
SEAL_AT = 24
EARLY = 40
SEED = 20_260_304


@pytest.fixture(autouse=True)
def sealed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.storage.sqlite.store.SEAL_AT", SEAL_AT)


@dataclass
class Outcome:
    """What power cuts did to a file."""

    cuts: int = 0
    losing: int = 0
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def recorded(folder: Path, durability: str, seed: int) -> list[Entry]:
    """The log of a program that writes, seals, erases, closes and opens again."""
    disk = Disk(f"recording-{durability}", recording=True)
    try:
        for part in range(3):
            store = SqliteStore(str(folder / "memory.db"), durability=durability, vfs=disk.name)
            with recollect.open(store=store) as memory:
                if part == 0:
                    disk.note(Said({"will": "many", "touches": [], "extra": EARLY}))
                    stored = memory.remember_many(early(EARLY)).stored
                    told = {one.id: f"active:{one.memory.text}" for one in stored}
                    disk.note(Said({"did": told}))
                Workload(
                    memory,
                    seed + part,
                    lambda message: disk.note(Said(message)),
                    known=states(folder / "memory.db"),
                ).run(70)
        return disk.log
    finally:
        disk.unregister()


def cut_power(log: list[Entry], folder: Path, count: int, seed: int) -> Outcome:
    """Cut the power that many times, open what is left, write once more, and compare."""
    folder.mkdir()
    ledger, outcome, heard = Ledger(), Outcome(), 0
    for cut in cuts(log, count, seed):
        for entry in log[heard : cut.position]:
            if isinstance(entry, Said):
                ledger.hear(entry.message)
        heard = cut.position
        cut.write(folder)
        path = folder / "memory.db"
        with recollect.open(str(path)) as memory:
            after = memory.remember("after the cut")
        found = states(path)
        assert found.pop(after.id) == "active:after the cut"
        lost = list(ledger.lost(found))
        outcome.losing += bool(lost)
        outcome.lost += [f"cut {cut.position}, {cut.mode}: {one}" for one in lost]
        outcome.broken += [f"cut {cut.position}, {cut.mode}: {one}" for one in broken(path)]
        outcome.cuts += 1
    outcome.acknowledged = ledger.acknowledged
    return outcome


@pytest.mark.promise("P1", "P2")
def test_a_few_power_cuts_lose_nothing_and_leave_nothing_half(quick_path: Path) -> None:
    outcome = cut_power(recorded(quick_path, "full", SEED), quick_path / "cut", 9, SEED)
    assert (outcome.lost, outcome.broken) == ([], [])


@pytest.mark.slow
@pytest.mark.promise("P1", "P2")
def test_400_power_cuts_lose_no_acknowledged_write_and_corrupt_nothing(quick_path: Path) -> None:
    outcome = cut_power(recorded(quick_path, "full", SEED + 1), quick_path / "cut", CUTS, SEED)
    assert outcome.cuts == CUTS
    assert outcome.acknowledged > 150
    assert (outcome.lost, outcome.broken) == ([], [])


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_control_with_relaxed_durability_the_same_power_cuts_lose_acknowledged_writes(
    quick_path: Path,
) -> None:
    outcome = cut_power(
        recorded(quick_path, "relaxed", SEED + 1), quick_path / "cut", CUTS // 4, SEED
    )
    print(f"relaxed: {outcome.losing} of {outcome.cuts} cuts lost acknowledged writes")
    assert outcome.losing >= 1, "the cuts are too gentle to prove anything"
    assert outcome.broken == [], "relaxed may lose the last moments, never tear what it keeps"


@pytest.mark.promise("P1")
def test_a_relaxed_store_says_so_with_every_write(quick_path: Path) -> None:
    with recollect.open(str(quick_path / "full.db")) as memory:
        assert memory.remember("careful").durability == "full"
    with recollect.open(str(quick_path / "fast.db"), durability="relaxed") as memory:
        assert memory.remember("quick").durability == "relaxed"


@pytest.mark.slow
@pytest.mark.promise("P1", "P2")
@pytest.mark.acceptance("X.2")
def test_300_writers_killed_while_writing_leave_no_torn_row_and_lose_nothing(
    quick_path: Path,
) -> None:
    programs: list[subprocess.Popen[str]] = []
    for number in range(2):
        folder = quick_path / str(number)
        folder.mkdir()
        command = [sys.executable, "-m", "tests.faults.writer", str(folder), str(KILLS // 2)]
        programs.append(
            subprocess.Popen(
                [*command, str(number)],
                stdout=subprocess.PIPE,
                text=True,
                # One thread, so that the program may fork.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        )
    told = [json.loads(program.communicate(timeout=110)[0]) for program in programs]
    assert sum(one["kills"] for one in told) == KILLS
    assert sum(one["acknowledged"] for one in told) > KILLS
    assert [line for one in told for line in (*one["lost"], *one["broken"])] == []


# -- the checker itself ------------------------------------------------------------------------


@pytest.fixture
def sound(quick_path: Path) -> Path:
    """A file with something in every table that the checker looks at."""
    path = quick_path / "memory.db"
    with recollect.open(str(path)) as memory:
        memory.remember_many(early(EARLY))
        work = Workload(memory, 5, lambda _: None)
        for sort in ("add", "add", "add", "batch", "correct", "rewrite", "profile", "link"):
            work.write(sort)
    assert broken(path) == []
    return path


@pytest.mark.promise("P2")
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM unsealed WHERE memory = (SELECT max(row) FROM memories)", "0 index entries"),
        ("DELETE FROM segments", "0 index entries"),
        ("UPDATE unsealed SET terms = x'0102030405060708'", "terms that are not its own"),
        ("DELETE FROM vectors WHERE memory = 3", "vector that it does not have"),
        ("DELETE FROM events WHERE about = 3 AND what = 'memory'", "its events say []"),
        ("DELETE FROM versions WHERE what = 'memory'", "kept are"),
        (
            "DELETE FROM memories WHERE row = (SELECT max(row) FROM memories"
            " WHERE json_extract(metadata, '$.batch') IS NOT NULL)",
            "batch that is not whole",
        ),
        ("UPDATE links SET target = 'mem_nowhere'", "link with a loose end"),
        ("UPDATE memories SET text = 'another' WHERE row = 3", "verify: "),
    ],
)
def test_control_the_checker_notices(sound: Path, damage: str, told: str) -> None:
    connection = apsw.Connection(str(sound))
    connection.execute(damage)
    assert connection.changes() > 0
    connection.close()
    assert any(told in one for one in broken(sound)), broken(sound)


@pytest.mark.promise("P1")
def test_control_the_ledger_notices_a_lost_and_an_invented_memory() -> None:
    ledger = Ledger()
    ledger.hear({"will": "add", "touches": [], "extra": 1})
    ledger.hear({"did": {"a": "active:one"}})
    ledger.hear({"will": "forget", "touches": ["a"], "extra": 0})
    assert list(ledger.lost({})) == [], "under way: it may be gone or there"
    assert list(ledger.lost({"a": "active:one"})) == []
    assert len(list(ledger.lost({"b": "active:two"}))) == 1, "nobody wrote it"
    ledger.hear({"did": {"a": None}})
    assert list(ledger.lost({})) == []
    assert len(list(ledger.lost({"a": "active:one"}))) == 1, "it was forgotten"
