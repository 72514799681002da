"""P17: what is forgotten is gone from every byte of every file, and stays gone."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import Memory
from recollect.domain.errors import ConflictError, NotFound
from recollect.domain.records import Receipt
from recollect.storage.sqlite import gaps, sealing, upkeep
from recollect.testing.residue import scan
from tests.promises.canaries import CANARIES, NEIGHBOUR, PERSON, Flock, mark, settle, vector_of

pytestmark = [pytest.mark.promise("P17"), pytest.mark.acceptance("X.3")]

WAYS = {
    "one by one": lambda person, flock: [person.forget(id) for id in flock.ids][-1],
    "as a list": lambda person, flock: person.forget(flock.ids),
    "by a filter": lambda person, _: person.forget(where={"tags": {"contains": "doomed"}}),
    "with the person": lambda person, _: person.forget(user=PERSON),
}
EACH_WAY = [
    pytest.param(way, marks=pytest.mark.slow if way == "one by one" else ()) for way in WAYS
]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Flock]:
    folder = tmp_path_factory.mktemp("canaries")
    return folder, settle(folder / "memory.db")


@pytest.fixture
def flock(settled: tuple[Path, Flock]) -> Flock:
    return settled[1]


@pytest.fixture
def folder(settled: tuple[Path, Flock], tmp_path: Path) -> Path:
    shutil.copytree(settled[0], tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with recollect.open(str(folder / "memory.db")) as opened:
        yield opened


def traces(folder: Path, flock: Flock, *, person: bool = False) -> list[str]:
    needles = {**flock.needles, **flock.salts, **(flock.personal if person else {})}
    return [f"{one.needle} in {one.file}" for one in scan(folder, needles)]


def test_the_scanner_finds_every_form_of_every_canary_before_it_is_forgotten(
    folder: Path, flock: Flock
) -> None:
    needles = {**flock.needles, **flock.salts, **flock.personal}
    found = {one.needle for one in scan(folder, needles)}
    missing = set(needles) - found
    cut_by_page_borders = len(needles) // 100
    assert len(missing) <= cut_by_page_borders, sorted(missing)
    for number in range(CANARIES):
        assert {f"before {number}", f"tag {number}", f"job {number}"} <= found


@pytest.mark.parametrize("way", EACH_WAY)
def test_no_byte_of_fifty_forgotten_memories_is_left_in_any_file(
    memory: Memory, folder: Path, flock: Flock, way: str
) -> None:
    memory.scope(user=PERSON).recall(mark(2, "before"), vector=vector_of(2))
    receipt: Receipt = WAYS[way](memory.scope(user=PERSON), flock)
    assert receipt.complete
    assert traces(folder, flock, person=way == "with the person") == []
    memory.close()
    assert traces(folder, flock, person=way == "with the person") == []


@pytest.mark.parametrize("way", EACH_WAY)
def test_nothing_else_goes_with_them_and_the_store_verifies(
    memory: Memory, flock: Flock, way: str
) -> None:
    neighbour, person = memory.scope(user=NEIGHBOUR), memory.scope(user=PERSON)
    before = [(hit.id, hit.score) for hit in neighbour.recall("tea trains", limit=50)]
    kept = person.count() - CANARIES - len(flock.derived)
    WAYS[way](person, flock)
    assert [(hit.id, hit.score) for hit in neighbour.recall("tea trains", limit=50)] == before
    assert person.count() == (0 if way == "with the person" else kept)
    assert memory.verify().findings == ()


def test_the_receipt_counts_what_went_table_by_table(memory: Memory, flock: Flock) -> None:
    receipt = memory.scope(user=PERSON).forget(flock.ids)
    assert receipt.erased["memories"] == CANARIES + len(flock.derived)
    assert receipt.derived == len(flock.derived)
    assert receipt.tombstones == CANARIES + len(flock.derived)
    assert receipt.erased["vectors"] == CANARIES // 2
    assert receipt.erased["jobs"] == CANARIES
    assert receipt.erased["once"] == CANARIES
    assert receipt.id.startswith("rcp_")


def test_every_channel_is_silent_about_what_was_forgotten(memory: Memory, flock: Flock) -> None:
    person = memory.scope(user=PERSON)
    event = person.history(flock.ids[1])[-1].event.id
    person.forget(flock.ids)
    for number, id in enumerate(flock.ids):
        recalled = person.recall(f"{mark(number, 'before')} what she said", limit=3)
        assert "xkv" not in repr((recalled.hits, recalled.near_misses))
        for asked in (person.get, person.history, person.links, person.related, person.tree):
            with pytest.raises(NotFound):
                asked(id)
    with pytest.raises((NotFound, ConflictError)):
        person.undo(event)
    told = repr([person.events(after=n, limit=1000) for n in (0, 1000)]) + repr(memory.stats())
    told += repr(person.list(limit=1000, status=["active", "superseded", "archived"]))
    assert not [id for id in flock.ids if id in told]
    assert "xkv" not in told


# -- coming back ---------------------------------------------------------------------------------


def test_an_import_does_not_bring_back_a_forgotten_memory(
    memory: Memory, tmp_path: Path, flock: Flock
) -> None:
    person = memory.scope(user=PERSON)
    person.export(str(tmp_path / "all.jsonl"))
    person.forget(flock.ids)
    told = memory.import_(str(tmp_path / "all.jsonl"))
    assert told["memories"] == 0
    assert told["erased"] >= CANARIES + len(flock.derived)
    assert person.get_many(flock.ids) == []
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    doomed = [line for line in lines if json.loads(line).get("type") == "memory"]
    doomed = [line for line in doomed if json.loads(line)["id"] in flock.ids]
    (tmp_path / "doomed.jsonl").write_text("\n".join(doomed), encoding="utf-8")
    told = memory.import_(str(tmp_path / "doomed.jsonl"), user="somebody-else")
    assert told["erased"] == CANARIES
    assert memory.scope(user="somebody-else").get_many(flock.ids) == []


def test_an_import_does_not_bring_back_a_forgotten_person(memory: Memory, tmp_path: Path) -> None:
    memory.export(str(tmp_path / "all.jsonl"), everything=True)
    memory.forget(user=PERSON)
    told = memory.import_(str(tmp_path / "all.jsonl"))
    assert told["memories"] == told["profiles"] == told["sessions"] == told["links"] == 0
    person = memory.scope(user=PERSON)
    assert person.count() == 0
    assert person.sessions() == []
    assert not [profile for profile in person.profiles().values() if profile.data]


def test_a_restored_line_of_a_forgotten_memory_is_refused_even_under_its_own_id(
    memory: Memory, tmp_path: Path, flock: Flock
) -> None:
    person = memory.scope(user=PERSON)
    person.forget(flock.ids[0])
    line = {"type": "memory", "id": flock.ids[0], "text": mark(0, "before")}
    (tmp_path / "one.jsonl").write_text(json.dumps(line), encoding="utf-8")
    assert memory.import_(str(tmp_path / "one.jsonl"), user=PERSON)["erased"] == 1
    with pytest.raises(NotFound):
        person.get(flock.ids[0])


# -- while others have the file ------------------------------------------------------------------


def test_a_reader_in_the_way_makes_the_receipt_incomplete_and_the_next_erasure_completes_it(
    memory: Memory, folder: Path, flock: Flock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "WIPE_WAIT_MS", 20)
    person = memory.scope(user=PERSON)
    reader = apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    assert not person.forget(flock.ids).complete
    assert person.get_many(flock.ids) == []
    assert traces(folder, flock) != []
    reader.execute("COMMIT")
    reader.close()
    rest = person.list(limit=1).items[0]
    assert person.forget(rest).complete
    assert traces(folder, flock) == []


def test_closing_completes_what_a_reader_prevented(
    memory: Memory, folder: Path, flock: Flock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "WIPE_WAIT_MS", 20)
    reader = apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    assert not memory.scope(user=PERSON).forget(flock.ids).complete
    reader.close()
    memory.close()
    assert traces(folder, flock) == []


ANOTHER_PROCESS = """
import sys, recollect
with recollect.open(sys.argv[1]) as memory:
    person = memory.scope(user=sys.argv[2])
    for line in sys.stdin:
        hits = person.recall(line.strip(), limit=1000)
        person.remember("a note from the other process")
        print(len(hits), any("xkv" in hit.text for hit in hits), flush=True)
"""


def test_erasing_reaches_a_process_that_has_the_file_open_and_its_cache_full(
    memory: Memory, folder: Path, flock: Flock
) -> None:
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(folder / "memory.db"), PERSON]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None

        def ask(question: str) -> str:
            other.stdin.write(question + "\n")  # type: ignore[union-attr]
            other.stdin.flush()  # type: ignore[union-attr]
            return other.stdout.readline().strip()  # type: ignore[union-attr]

        assert ask("what she said first") == "50 True"
        assert memory.scope(user=PERSON).forget(flock.ids).complete
        assert traces(folder, flock) == []
        assert ask("what she said first").endswith("False")
        assert ask("ordinary note").endswith("False")
        assert traces(folder, flock) == []
        other.stdin.close()
        assert other.wait() == 0
    assert traces(folder, flock) == []


# -- the many ways in which pages are split, packed and freed ------------------------------------


def churn(folder: Path, seed: int, rounds: int) -> Iterator[list[str]]:
    """Store, change and forget at random; each round yields what is left of the forgotten."""
    chance = random.Random(seed)
    words: dict[str, list[str]] = {}
    gone: dict[str, str] = {}

    def token() -> str:
        return f"zq{chance.getrandbits(64):016x}"

    def text(first: str) -> str:
        return " ".join([first, *(f"{chance.random():.9f}" for _ in range(chance.choice(SIZES)))])

    with recollect.open(str(folder / "memory.db")) as memory:
        for _ in range(rounds):
            drafts = [(token(), token(), token(), token()) for _ in range(150)]
            stored = memory.remember_many(
                [
                    {"text": text(a), "tags": [b], "item_key": c, "key": d, "metadata": {"n": c}}
                    for a, b, c, d in drafts
                ]
            ).stored
            words.update({one.id: list(said) for one, said in zip(stored, drafts, strict=True)})
            for id in chance.sample(sorted(words), 60):
                words[id].append(token())
                memory.update(id, text=text(words[id][-1]))
            doomed = chance.sample(sorted(words), 60)
            assert memory.forget(doomed).complete
            for id in doomed:
                gone.update({f"{id} {at}": said for at, said in enumerate([id, *words.pop(id)])})
            yield [f"{one.needle} in {one.file}" for one in scan(folder, gone)]
            for id in chance.sample(sorted(words), 30):
                memory.update(id, importance=chance.random())
            yield [f"{one.needle} in {one.file}" for one in scan(folder, gone)]
        assert memory.verify().findings == ()


SIZES = (1, 5, 20, 200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_copy_stays_where_pages_were_split_and_packed(tmp_path: Path, seed: int) -> None:
    for left in churn(tmp_path, seed, 12):
        assert left == []


# -- negative controls: each of these ways to do it wrong is found --------------------------------


def test_control_a_plain_delete_is_detected(folder: Path, flock: Flock) -> None:
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.pragma("secure_delete", "off")
    connection.execute("DELETE FROM memories WHERE tags LIKE '%doomed%'")
    connection.pragma("wal_checkpoint", "truncate")
    connection.close()
    found = {one.needle for one in scan(folder, flock.needles)}
    # Neighbouring deletions overwrite a few bytes of each other, hence not all of them.
    assert len({f"before {number}" for number in range(0, CANARIES, 2)} & found) > CANARIES // 3


def test_control_a_segment_that_is_not_rewritten_is_detected(
    memory: Memory, folder: Path, flock: Flock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "drop_rows", lambda *_: None)
    memory.scope(user=PERSON).forget(flock.ids)
    found = {needle.split()[0] for needle in traces(folder, flock)}
    assert {"term", "code"} <= found


def test_control_a_log_that_is_not_emptied_is_detected(
    memory: Memory, folder: Path, flock: Flock, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = memory.scope(user=PERSON)
    told = person.remember(f"{mark(0, 'late')} was said in passing")
    monkeypatch.setattr(upkeep, "wipe", lambda *_: True)
    person.forget(told)
    assert [one.file for one in scan(folder, {"late": mark(0, "late")})] == ["memory.db-wal"]


@pytest.mark.slow
def test_control_a_gap_that_is_not_zeroed_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps, "stale", lambda *_: [])
    for seed in range(1, 9):
        (tmp_path / str(seed)).mkdir()
        if any(left for left in churn(tmp_path / str(seed), seed, 12)):
            return
    raise AssertionError("copies in page gaps were not found: this control proves nothing")
