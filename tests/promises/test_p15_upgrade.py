"""P15: a file of every released schema opens, and changing its schema can be interrupted."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import wiring
from recollect.domain.errors import RecollectError, SchemaError, StorageCorrupt
from recollect.storage.sqlite import upkeep
from recollect.storage.sqlite.store import SqliteStore
from tests.faults.invariants import broken, states
from tests.faults.migrating import NEXT, stage, with_next
from tests.faults.power import cuts
from tests.faults.vfs import Disk, Entry
from tests.fixtures.make import SCHEMAS

pytestmark = pytest.mark.promise("P15")
CUTS = 20
KILLS = 20
ROUNDS = 20
FIXTURES = sorted(SCHEMAS.glob("*.db.gz"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name.split(".")[0])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file as a released version wrote it."""
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """This program is a version to come, which knows one more schema."""
    monkeypatch.setattr(upkeep, "migrations", with_next)


def test_every_schema_that_was_released_has_a_stored_file() -> None:
    assert [int(path.name[:4]) for path in FIXTURES] == [n for n, _ in upkeep.migrations()]


def test_a_file_of_every_released_schema_opens_with_all_that_is_in_it(stored: Path) -> None:
    held = states(stored)
    with recollect.open(str(stored)) as memory:
        assert memory.verify().ok
        ana = memory.scope(user="person-0")
        assert ana.count() > 270
        assert ana.recall("told under a key").top is not None
        assert ana.profile("preferences").get().data["food"] == {
            "avoid": ["peanuts"],
            "likes": "tea",
        }
        assert [one.text for one in ana.group("kitchen").members()] == ["early note 0"]
        with ana.session(id="s1") as chat:
            assert [one.text for one in chat.messages()] == ["hi", "hello there"]
        new = ana.remember("and it goes on")
    assert states(stored) == {**held, new.id: "active:and it goes on"}
    assert broken(stored) == []


@pytest.mark.usefixtures("next_version")
def test_changing_the_schema_keeps_everything_and_a_copy_of_the_old_file(stored: Path) -> None:
    before, old = states(stored), stage(stored)
    recollect.open(str(stored)).close()
    assert stage(stored) == (NEXT, [])
    assert states(stored) == before
    assert broken(stored) == []
    copy = stored.with_name(f"memory.db.before-schema-{NEXT}")
    assert stage(copy) == old
    assert states(copy) == before
    assert copy.stat().st_mode & 0o077 == 0
    assert wiring.verify_file(str(copy), lambda *_: None).checked["file"] == 1


def test_a_schema_step_that_fails_leaves_the_old_file_and_may_be_tried_again(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, old = states(stored), stage(stored)
    good = with_next()
    bad = [*good[:-1], (NEXT, good[-1][1] + "INSERT INTO nowhere VALUES (1);")]
    for _ in range(2):  # the copy of the first try is not in the way of the second
        monkeypatch.setattr(upkeep, "migrations", lambda: bad)
        with pytest.raises(RecollectError, match="nowhere"):
            recollect.open(str(stored))
        assert stage(stored) == old
        assert states(stored) == before
    monkeypatch.setattr(upkeep, "migrations", lambda: good)
    recollect.open(str(stored)).close()
    assert stage(stored) == (NEXT, [])
    assert states(stored) == before


# -- interrupted -----------------------------------------------------------------------------------


def recorded(path: Path) -> list[Entry]:
    """What opening a file does to the disk."""
    disk = Disk("migrating", recording=True)
    try:
        recollect.open(store=SqliteStore(str(path), vfs=disk.name)).close()
        return disk.log
    finally:
        disk.unregister()


def interrupted(stored: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """The file after each of the power cuts while its schema was changed."""
    image = stored.read_bytes()
    log = recorded(stored)
    folder.mkdir()
    for cut in cuts(log, CUTS, 15, start={stored.name: image}):
        cut.write(folder)
        yield f"cut {cut.position} of {len(log)}, {cut.mode}", folder / stored.name


@pytest.mark.slow
@pytest.mark.usefixtures("next_version")
def test_power_cuts_while_the_schema_changes_leave_the_old_or_the_new(
    stored: Path, quick_path: Path
) -> None:
    before, (old, _) = states(stored), stage(stored)
    left: set[int] = set()
    for cut, path in interrupted(stored, quick_path / "cut"):
        version, wrong = stage(path)
        left.add(version)
        assert (wrong, states(path)) == ([], before), cut
        recollect.open(str(path)).close()
        assert stage(path) == (NEXT, []), cut
        assert (broken(path), states(path)) == ([], before), cut
    assert left == {old, NEXT}


@pytest.mark.slow
@pytest.mark.usefixtures("next_version")
def test_control_a_change_that_is_no_transaction_is_caught_half_way(
    stored: Path, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(connection: apsw.Connection, _: str) -> None:
        for statement in with_next()[-1][1].split(";"):
            connection.execute(statement)
        connection.pragma("user_version", NEXT)

    monkeypatch.setattr(upkeep, "prepare_schema", careless)
    assert any(stage(path)[1] for _, path in interrupted(stored, quick_path / "cut"))


def program(*arguments: object) -> Any:
    command = [sys.executable, "-m", "tests.faults.migrating", *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=110, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout) | {"said": ended.stderr}


@pytest.mark.slow
def test_processes_killed_while_the_schema_changes_leave_the_old_or_the_new(
    stored: Path, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = states(stored)
    told = program("kill", quick_path, stored, KILLS)
    assert told["wrong"] == []
    assert len(told["left"]) == KILLS
    monkeypatch.setattr(upkeep, "migrations", with_next)
    for number in range(KILLS):
        path = quick_path / f"killed-{number}.db"
        recollect.open(str(path)).close()
        assert stage(path) == (NEXT, [])
        assert (broken(path), states(path)) == ([], before)


@pytest.mark.slow
@pytest.mark.parametrize("new", [False, True], ids=["an old file", "a new file"])
def test_16_processes_that_open_a_file_at_once_are_never_locked_out_and_change_it_once(
    quick_path: Path, new: bool
) -> None:
    old = quick_path / "old.db"
    old.write_bytes(gzip.decompress(FIXTURES[-1].read_bytes()))
    told = program("open", quick_path, "" if new else old, ROUNDS)
    assert told == {"failed": 0, "wrong": [], "rounds": ROUNDS, "said": ""}


# -- refused ---------------------------------------------------------------------------------------


def files_of(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def foreign(path: Path, *, log: bool = False, version: int = 0) -> None:
    """A database that another program wrote."""
    connection = apsw.Connection(str(path))
    if log:
        connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    connection.pragma("user_version", version)
    connection.close()


def test_a_newer_schema_is_refused_and_not_a_byte_is_touched(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(upkeep, "migrations", with_next)
        recollect.open(str(stored)).close()
    before = files_of(tmp_path)
    with pytest.raises(SchemaError, match=f"has schema {NEXT}.*newer version"):
        recollect.open(str(stored))
    assert files_of(tmp_path) == before


def test_a_newer_schema_that_is_only_in_the_log_yet_is_refused(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(upkeep, "migrations", with_next)
        memory = recollect.open(str(stored))
    before = stored.read_bytes()
    with pytest.raises(SchemaError, match=f"has schema {NEXT}"):
        recollect.open(str(stored))
    assert stored.read_bytes() == before
    memory.close()


@pytest.mark.parametrize(
    ("log", "version"), [(False, 0), (True, 0), (False, 1), (True, 7)], ids=str
)
def test_the_database_of_another_program_is_refused_and_not_a_byte_is_touched(
    tmp_path: Path, log: bool, version: int
) -> None:
    foreign(tmp_path / "theirs.db", log=log, version=version)
    before = files_of(tmp_path)
    with pytest.raises(SchemaError, match="of another program"):
        recollect.open(str(tmp_path / "theirs.db"))
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("size", [1, 50, 100, 512, 5000])
def test_a_file_that_is_no_database_is_refused_and_not_a_byte_is_touched(
    tmp_path: Path, size: int
) -> None:
    (tmp_path / "letter.txt").write_bytes(b"Dear Ana, " * 500)
    os.truncate(tmp_path / "letter.txt", size)
    before = files_of(tmp_path)
    with pytest.raises(StorageCorrupt, match="not a Recollect file"):
        recollect.open(str(tmp_path / "letter.txt"))
    assert files_of(tmp_path) == before


def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    shutil.copy("/dev/null", tmp_path / "new.db")
    with recollect.open(str(tmp_path / "new.db")) as memory:
        memory.remember("hello")
    assert broken(tmp_path / "new.db") == []
