"""P16: a backup taken under writes is consistent and can be restored; checking finds damage."""

import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import wiring
from recollect.domain.errors import SchemaError, StorageCorrupt, StorageError
from recollect.domain.records import Verification
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, SeededEntropy
from tests.faults.invariants import broken, states
from tests.faults.workload import Message, Workload, early, furnish

pytestmark = pytest.mark.promise("P16")
FLIPS = 50
ROUNDS = 10


def checked(path: Path) -> Verification:
    return wiring.verify_file(str(path), lambda *_: None)


@contextmanager
def writer(path: Path) -> Iterator[list[Message]]:
    """Somebody who writes to a file all the time, and the list of what they said."""
    said: list[Message] = []
    failures: list[BaseException] = []
    enough = threading.Event()

    def write() -> None:
        try:
            with recollect.open(str(path), store=SqliteStore(str(path))) as memory:
                work = Workload(memory, 16, said.append, known=states(path))
                while not enough.is_set():
                    work.step()
        except BaseException as exc:
            failures.append(exc)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield said
    finally:
        enough.set()
        thread.join()
    assert failures == []


def answered(said: list[Message]) -> int:
    return sum("did" in message for message in said)


def prefixes(start: dict[str, str], said: list[Message]) -> list[dict[str, str | None]]:
    """The states after none, one, two, … of the writes that were answered."""
    present: dict[str, str | None] = dict(start)
    passed = [present]
    for message in said:
        if "did" in message:
            present = {**present, **message["did"]}
            present = {name: state for name, state in present.items() if state is not None}
            passed.append(present)
    return passed


@pytest.mark.slow
def test_ten_backups_under_writes_are_consistent_prefixes_and_can_be_restored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    taken: list[tuple[Path, int, int]] = []
    with recollect.open(str(path)) as memory:
        memory.remember_many(early(300))
        start = states(path)
        with writer(path) as said:
            for number in range(ROUNDS):
                copy = tmp_path / f"copy-{number}.db"
                before = answered(said)
                memory.backup(str(copy))
                taken.append((copy, before, answered(said)))
                while answered(said) < taken[-1][2] + 5:
                    pass
        passed = prefixes(start, said)
    assert passed[-1] == states(path)
    for copy, before, after in taken:
        assert checked(copy).ok
        held = states(copy)
        assert held in passed[before : after + 2], "not a prefix that was there meanwhile"
        restored = tmp_path / "restored.db"
        shutil.copy(copy, restored)
        with recollect.open(str(restored)) as memory:
            assert memory.verify().ok
            new = memory.remember("restored")
        assert states(restored) == {**held, new.id: "active:restored"}
        assert broken(restored) == []
    assert len({before for _, before, _ in taken}) == ROUNDS, "somebody wrote all the time"


def test_control_a_plain_copy_of_the_file_alone_is_no_backup(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with recollect.open(str(path)) as memory:
        stored = memory.remember("in the log, not yet in the file")
        shutil.copy(path, copy)
        assert stored.id in states(path)
        assert stored.id not in (states(copy) if copy.stat().st_size else {})


def test_a_backup_is_one_private_file_that_checking_and_restoring_leave_alone(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copies" / "copy.db"
    copy.parent.mkdir()
    with recollect.open(str(path)) as memory:
        memory.remember_many(early(5))
        memory.backup(str(copy))
        with pytest.raises(StorageError, match="never overwrites"):
            memory.backup(str(copy))
    image = copy.read_bytes()
    assert checked(copy).ok
    assert checked(copy).checked["file"] == 1
    assert copy.read_bytes() == image
    assert sorted(entry.name for entry in copy.parent.iterdir()) == ["copy.db", "copy.db.sha256"]
    assert copy.stat().st_mode & 0o077 == 0


def test_checking_a_file_changes_none_of_its_bytes_while_it_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(str(path)) as memory:
        memory.remember_many(early(5))
        log = path.with_name("memory.db-wal")
        before = path.read_bytes(), log.read_bytes()
        assert checked(path).ok
        assert (path.read_bytes(), log.read_bytes()) == before
        memory.remember("and on it goes")
    assert checked(path).ok


def test_checking_a_foreign_or_a_newer_file_says_so(tmp_path: Path) -> None:
    foreign, newer = tmp_path / "foreign.db", tmp_path / "newer.db"
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    recollect.open(str(newer)).close()
    connection = apsw.Connection(str(newer))
    connection.pragma("user_version", 99)
    connection.close()
    for path, told in ((foreign, "another program"), (newer, "schema 99")):
        with pytest.raises(SchemaError, match=told):
            checked(path)


# -- flipped bits ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed file with something in every table, and a backup of it."""
    folder = tmp_path_factory.mktemp("furnished")
    path = str(folder / "memory.db")
    with recollect.open(path, clock=FrozenClock(), entropy=SeededEntropy(16)) as memory:
        furnish(memory)
        memory.backup(str(folder / "copy.db"))
    assert broken(folder / "memory.db") == []
    assert checked(folder / "copy.db").ok
    return folder


def flipped(image: bytes, at: int, bit: int) -> bytes:
    return image[:at] + bytes([image[at] ^ 1 << bit]) + image[at + 1 :]


@pytest.mark.slow
def test_checking_a_backup_finds_50_of_50_flipped_bits(furnished: Path, quick_path: Path) -> None:
    image = (furnished / "copy.db").read_bytes()
    shutil.copy(furnished / "copy.db.sha256", quick_path)
    chance = random.Random(16)
    damaged = quick_path / "copy.db"
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(image)), chance.randrange(8)
        damaged.write_bytes(flipped(image, at, bit))
        assert not checked(damaged).ok, f"bit {bit} of byte {at}"
    damaged.write_bytes(image)
    assert checked(damaged).ok, "and nothing else"


#: What is stored in rows, by what it is for.
STORED = {
    "text": "SELECT text FROM memories",
    "metadata": "SELECT metadata FROM memories WHERE metadata <> '{}'",
    "ids": "SELECT id FROM memories",
    "digests": "SELECT after FROM events WHERE after IS NOT NULL",
    "earlier digests": "SELECT before FROM events WHERE before IS NOT NULL",
    "event details": "SELECT detail FROM events WHERE length(detail) > 40",
    "seals": "SELECT hash FROM seals",
    "vectors": "SELECT vector FROM vectors WHERE memory > 275",
    "segments": "SELECT payload FROM segments",
    "index entries": "SELECT terms FROM unsealed WHERE length(terms) > 16",
    "links": "SELECT source || kind FROM links",
    "profiles": "SELECT data FROM profiles",
    "versions": "SELECT body FROM versions",
    "sessions": "SELECT metadata FROM sessions",
    "keys": "SELECT body FROM once",
    "tombstones": "SELECT digest FROM tombstones",
}


def places(path: Path, image: bytes, chance: random.Random) -> Iterator[tuple[str, int]]:
    """Random bytes of stored values, kind after kind: what it is, and where in the file it lies."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    held = {what: [row[0] for row in connection.execute(sql)] for what, sql in STORED.items()}
    connection.close()
    while True:
        for what, values in held.items():
            value: Any = chance.choice(values)
            value = value.encode() if isinstance(value, str) else value
            start = chance.randrange(max(1, len(value) - 12))
            piece = value[start : start + 12]
            found = [match.start() for match in re.finditer(re.escape(piece), image)]
            if found:  # unless the value runs over two pages
                yield what, chance.choice(found) + chance.randrange(len(piece))


def readable(path: Path) -> Any:
    """Everything in a file that can be read; None if it cannot be."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [
            connection.pragma("user_version"),
            connection.pragma("application_id"),
            connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall(),
            *(
                connection.execute(f'SELECT * FROM "{name}"').fetchall()
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_schema WHERE type = 'table'"
                ).fetchall()
            ),
        ]
    except (apsw.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close(True)


@pytest.mark.slow
def test_verifying_a_file_finds_50_of_50_flipped_bits_in_stored_rows(
    furnished: Path, quick_path: Path
) -> None:
    image = (furnished / "memory.db").read_bytes()
    whole = readable(furnished / "memory.db")
    chance = random.Random(17)
    tried: Counter[str] = Counter()
    damaged = quick_path / "memory.db"
    for what, at in places(furnished / "memory.db", image, chance):
        damaged.write_bytes(flipped(image, at, chance.randrange(8)))
        if readable(damaged) == whole:
            continue  # the same bytes in a place that nobody reads
        with suppress(StorageCorrupt), recollect.open(str(damaged)) as memory:
            assert not memory.verify().ok, f"{what}: byte {at}"
        tried[what] += 1
        if tried.total() == FLIPS:
            break
    print(f"found {tried.total()} of {FLIPS}: {dict(tried)}")
    assert set(tried) == set(STORED)


@pytest.mark.slow
def test_no_flipped_bit_anywhere_in_a_file_changes_what_is_read_without_being_found(
    furnished: Path, quick_path: Path
) -> None:
    """Without the checksum of a backup: bits that go unnoticed lie where nothing is stored."""
    image = (furnished / "memory.db").read_bytes()
    whole = readable(furnished / "memory.db")
    damaged = quick_path / "memory.db"
    chance = random.Random(18)
    found = 0
    for _ in range(6 * FLIPS):
        at, bit = chance.randrange(len(image)), chance.randrange(8)
        damaged.write_bytes(flipped(image, at, bit))
        if checked(damaged).ok:
            assert readable(damaged) == whole, f"bit {bit} of byte {at} was not noticed"
        else:
            found += 1
    print(f"{found} of {6 * FLIPS} flipped bits found; the others lie in unused bytes")
    assert found > 2 * FLIPS
