"""Every command: what it does, what it answers, and how it fails."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.cli import SECTIONS
from recollect.domain.errors import StorageUnavailable
from recollect.lifecycle.keeper import Keeper
from recollect.testing import FrozenClock
from tests.cli.conftest import Run

COMMANDS = [str(command.name) for section in SECTIONS.values() for command in section]
PLAIN_ID = re.compile(r"mem_[0-9a-f]{32}")


@pytest.fixture
def trip(run: Run) -> str:
    """The id of a first memory."""
    words = ("I moved to Lisbon in March.", "--kind", "fact", "--tag", "home")
    told = run("remember", *words, "--when", "2026-03-04", "--json")
    assert told.status == 0
    return str(told.json["id"])


# -- help and usage --------------------------------------------------------------------------------


def test_alone_it_shows_its_help(run: Run) -> None:
    told = run()
    assert told.status == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[A-Z]", told.out, re.MULTILINE), name
    assert "..." not in told.out.partition("Remember:")[2]  # no description is cut


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(run: Run, name: str) -> None:
    told = run(name, "--help")
    assert told.status == 0
    assert told.out.startswith(f"Usage: recollect {name}")
    assert max(map(len, told.out.splitlines())) <= 100


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out == f"recollect {recollect.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope",), "No such command 'nope'"),
        (("list", "--nope"), "No such option"),
        (("recall",), "Missing argument 'QUESTION'"),
        (("list", "--where", "{"), "not JSON"),
        (("list", "--where", "[]"), "not a JSON object"),
        (("list", "--status", "lost"), "'lost' is not one of"),
        (("recall", "x", "--limit", "0"), "not in the range"),
        (("remember", "x", "--importance", "2"), "not in the range"),
        (("completion", "tcsh"), "'tcsh' is not one of"),
        (("profile", "--merge", "{}"), "name the category"),
        (("forget",), "say what to forget"),
        (("forget", "--all", "--where", "{}"), "say what to forget"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    told = run(*arguments)
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith("error: ")
    assert said in told.err
    assert "[usage]" in told.err
    assert "--help` shows how" in told.err
    assert told.err.count("\n") == 1


# -- which memory ----------------------------------------------------------------------------------

READING = [
    ("recall", "x"),
    ("context", "x"),
    ("list",),
    ("show", "abcd"),
    ("history", "abcd"),
    ("forget", "abcd", "--yes"),
    ("correct", "abcd", "x"),
    ("undo", "abcd"),
    ("profile",),
    ("export", "out.jsonl"),
    ("backup", "copy.db"),
    ("verify",),
    ("stats",),
]


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_what_only_reads_makes_no_file_and_says_where_it_looked(
    run: Run, arguments: tuple[str, ...]
) -> None:
    told = run(*arguments)
    assert (told.status, told.out) == (1, "")
    assert "there is no memory at memory.db yet [not-found]; make one with" in told.err
    assert not list(Path().iterdir())


def test_the_first_memory_makes_the_file_and_says_where(run: Run) -> None:
    told = run("remember", "tea")
    assert told.status == 0
    assert "made a new memory: memory.db" in told.err
    assert "made a new" not in run("remember", "coffee").err


def test_the_memory_is_named_by_option_before_variable_before_default(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_URL", "by-variable.db")
    run("remember", "tea")
    run("remember", "tea", "--db", "by-option.db")
    run("--db", "by-group-option.db", "remember", "tea")
    run("remember", "tea", "--db", "sqlite:///by-url.db")
    made = sorted(path.name for path in Path().glob("*.db"))
    assert made == ["by-group-option.db", "by-option.db", "by-url.db", "by-variable.db"]


def test_users_are_kept_apart(run: Run) -> None:
    run("remember", "tea", "--user", "ana")
    assert run("list", "--json").json["memories"] == []
    (found,) = run("--user", "ana", "list", "--json").json["memories"]
    assert (found["text"], found["user"]) == ("tea", "ana")


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_is_one_line_with_its_code_and_what_to_do(run: Run, trip: str) -> None:
    told = run("show", "mem_" + 32 * "0")
    assert (told.status, told.out) == (1, "")
    assert told.err == (
        f"error: no memory mem_{32 * '0'} in this scope [not-found]; "
        "`recollect list --status all` shows what there is\n"
    )


def test_an_error_of_a_json_command_is_json(run: Run, trip: str) -> None:
    told = run("show", "ffff", "--json")
    error = json.loads(told.err)["error"]
    assert (told.status, told.out) == (1, "")
    assert (error["code"], error["message"]) == ("not-found", "no memory ffff of this user")
    assert json.loads(run("show", "--json").err)["error"]["code"] == "usage"


def test_debug_lets_the_traceback_through(run: Run, trip: str) -> None:
    with pytest.raises(recollect.RecollectError, match="no memory ffff"):
        run("show", "ffff", "--debug")


def test_a_defect_is_one_line_too(run: Run, trip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(recollect.Memory, "stats", broken)
    told = run("stats")
    assert told.status == 1
    assert told.err.startswith("error: this should not happen: ZeroDivisionError: by zero")
    assert "[internal]; run it again with --debug" in told.err


def test_what_may_be_tried_again_says_so(
    run: Run, trip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any, **__: Any) -> None:
        raise StorageUnavailable("another process held the file")

    monkeypatch.setattr(recollect.Memory, "stats", busy)
    assert run("stats").err.endswith("[storage-unavailable]; trying again is safe\n")


def test_a_bad_setting_is_an_error_that_names_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LIST_LIMIT", "many")
    told = run("list")
    assert told.status == 1
    assert "list_limit = 'many' in the environment" in told.err
    assert "[invalid-settings]" in told.err


def test_a_file_of_another_program_is_refused_and_left_alone(run: Run) -> None:
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    before = Path("other.db").read_bytes()
    told = run("list", "--db", "other.db")
    assert told.status == 1
    assert told.err.startswith("error: ")
    assert Path("other.db").read_bytes() == before


# -- remember --------------------------------------------------------------------------------------


def test_remember_keeps_what_is_said_about_it(run: Run, trip: str) -> None:
    options = ("--importance", "0.9", "--metadata", '{"a": [1]}', "--tag", "x", "--tag", "y")
    run("remember", "tea", "--kind", "preference", *options)
    found = run("recall", "tea", "--json").json["hits"][0]["memory"]
    assert (found["kind"], found["importance"], found["metadata"], found["tags"]) == (
        "preference",
        0.9,
        {"a": [1]},
        ["x", "y"],
    )


def test_remember_says_what_it_did(run: Run) -> None:
    assert re.fullmatch(
        rf"Remembered  {PLAIN_ID.pattern}  two words\n", run("remember", "two", "words").out
    )


def test_remember_reads_standard_input(run: Run) -> None:
    run("remember", "-", piped="líne one\nline two\n".encode())
    assert run("list", "--json").json["memories"][0]["text"] == "líne one\nline two"


@pytest.mark.parametrize(
    ("piped", "said"),
    [
        (b"\xff\xfe", "standard input is not UTF-8"),
        (b"  \n", "text is empty"),
        (b"x" * (2**20 + 1), "TEXT_BYTES_MAX"),
    ],
)
def test_remember_refuses_what_cannot_be_a_text(run: Run, piped: bytes, said: str) -> None:
    told = run("remember", "-", piped=piped)
    assert told.status == 1
    assert said in told.err


def test_a_key_makes_remember_safe_to_repeat(run: Run) -> None:
    first = run("remember", "tea", "--key", "k1", "--json").json
    again = run("remember", "tea", "--key", "k1")
    assert first["outcome"] == "stored"
    assert again.out.startswith(f"Already remembered  {first['id']}")
    other = run("remember", "coffee", "--key", "k1")
    assert (other.status, "[idempotency-mismatch]" in other.err) == (1, True)


# -- recall ----------------------------------------------------------------------------------------


def test_recall_shows_hits_and_why(run: Run, trip: str) -> None:
    told = run("recall", "when", "lisbon?", "--why")
    head, hit, reason, around, held, blank, footer = told.out.splitlines()
    assert head.split() == ["#", "SCORE", "ID", "KIND", "WHEN", "TEXT"]
    assert hit.split(maxsplit=5)[2:] == [trip, "fact", "2026-03-04", "I moved to Lisbon in March."]
    assert re.fullmatch(r" +words +#+ +\d\.\d\d", reason)
    assert re.fullmatch(r" +words around +#+ +\d\.\d\d", around)
    assert held.split() == ["holds", "lisbon"]
    assert (blank, footer) == ("", "1 hit in 1 memory of local, found by words")


def test_recall_as_json_holds_every_reason(run: Run, trip: str) -> None:
    told = run("recall", "lisbon", "--json").json
    (hit,) = told["hits"]
    assert hit["memory"]["id"] == trip
    assert hit["score"] == pytest.approx(sum(hit["why"]["shares"].values()))
    assert (hit["why"]["words"], told["searched"], told["near_misses"]) == (["lisbon"], 1, [])


def test_recall_shows_near_misses_beyond_its_limit(run: Run) -> None:
    for number in range(3):
        run("remember", f"tea number {number}")
    told = run("recall", "tea", "--why", "--limit", "1")
    assert "Near misses" in told.out
    assert told.out.count("beyond the first 1") == 2


def test_the_limits_come_from_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        run("remember", f"tea number {number}")
    monkeypatch.setenv("RECOLLECT_RECALL_LIMIT", "2")
    monkeypatch.setenv("RECOLLECT_LIST_LIMIT", "1")
    assert len(run("recall", "tea", "--json").json["hits"]) == 2
    assert len(run("list", "--json").json["memories"]) == 1


def test_recall_travels_in_time(run: Run, trip: str) -> None:
    run("correct", trip, "I moved to Porto in June.", "--since", "2026-06-01")
    present = run("recall", "where moved", "--json").json["hits"]
    past = run("recall", "where moved", "--as-of", "2026-04-01", "--json").json["hits"]
    assert [hit["memory"]["text"] for hit in present] == ["I moved to Porto in June."]
    assert [hit["memory"]["text"] for hit in past] == ["I moved to Lisbon in March."]
    told = run("recall", "where", "--as-of", "someday")
    assert (told.status, "as_of is not an ISO 8601" in told.err) == (1, True)


def test_recall_without_an_answer_says_so(run: Run, trip: str) -> None:
    told = run("recall", "zebra")
    assert (told.status, told.out) == (0, "Nothing found in 1 memory of local.\n")


# -- list, show, history ---------------------------------------------------------------------------


def test_list_filters_and_pages(run: Run, trip: str) -> None:
    run("remember", "tea", "--tag", "drink")
    run("remember", "coffee", "--tag", "drink", "--importance", "0.9")
    assert texts(run("list", "--tag", "drink", "--json").json) == ["coffee", "tea"]
    assert texts(run("list", "--kind", "fact", "--json").json) == ["I moved to Lisbon in March."]
    where = json.dumps({"importance": {"gte": 0.8}})
    assert texts(run("list", "--where", where, "--json").json) == ["coffee"]
    ordered = run("list", "--sort", "importance", "--ascending", "--json").json
    assert texts(ordered)[-1] == "coffee"
    first = run("list", "--limit", "2", "--json").json
    rest = run("list", "--limit", "2", "--cursor", first["cursor"], "--json").json
    assert (len(first["memories"]), len(rest["memories"]), rest["cursor"]) == (2, 1, None)
    assert f"more: --cursor {first['cursor']}" in run("list", "--limit", "2").out


def texts(listed: Any) -> list[str]:
    return [one["text"] for one in listed["memories"]]


def test_list_says_whose_and_where(run: Run, trip: str) -> None:
    assert run("list").out.splitlines()[-1] == "1 memory of local in memory.db"
    told = run("list", "--user", "bob")
    assert told.out == "0 memories of bob in memory.db\n"


def test_list_shows_other_statuses_when_asked(run: Run, trip: str) -> None:
    run("correct", trip, "I moved to Porto.")
    assert texts(run("list", "--json").json) == ["I moved to Porto."]
    assert texts(run("list", "--status", "superseded", "--json").json) == [
        "I moved to Lisbon in March."
    ]
    assert "superseded" in run("list", "--status", "all").out


@pytest.mark.parametrize(
    ("where", "code"),
    [('{"nope": 1}', "unknown-filter"), ('{"kind": {"near": 1}}', "unknown-filter")],
)
def test_a_wrong_filter_is_named(run: Run, trip: str, where: str, code: str) -> None:
    told = run("list", "--where", where)
    assert (told.status, f"[{code}]" in told.err) == (1, True)


def test_show_tells_everything_and_takes_part_of_an_id(run: Run, trip: str) -> None:
    new = run("correct", trip, "I moved to Porto.", "--json").json["id"]
    told = run("show", new[-8:])
    assert told.out.startswith("I moved to Porto.\n\nid ")
    assert f"supersedes →  {trip}  I moved to Lisbon in March." in told.out
    assert run("show", new, "--json").json["links"][0]["kind"] == "supersedes"


def test_part_of_an_id_that_fits_several_is_refused(run: Run) -> None:
    with recollect.open("memory.db") as memory:
        memory.remember_many(["tea", "coffee"])
        common = memory.list().items[0].id[4:12]
    told = run("show", common)
    assert told.status == 1
    assert "fits several memories: mem_" in told.err


@pytest.mark.parametrize("given", ["zzzz", "abc", "mem_", "0" * 33, "' OR 1=1"])
def test_what_is_no_id_is_refused(run: Run, trip: str, given: str) -> None:
    told = run("show", given)
    assert (told.status, "neither an id nor part of one" in told.err) == (1, True)


def test_history_tells_each_change(run: Run, trip: str) -> None:
    run("correct", trip, "I moved to Porto.", "--reason", "found a flat")
    told = run("history", trip)
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\dZ  remember  evt_", told.out, re.MULTILINE)
    assert "correct: found a flat" in told.out
    assert re.search(r"^  status +active → superseded$", told.out, re.MULTILINE)
    changes = run("history", trip, "--json").json["changes"]
    assert [change["action"] for change in changes] == ["remember", "correct"]
    assert changes[1]["before"]["status"] == "active"


# -- correct and undo ------------------------------------------------------------------------------


def test_correct_shows_both(run: Run, trip: str) -> None:
    told = run("correct", trip[-8:], "I moved to Porto.")
    new, old = told.out.splitlines()
    assert re.fullmatch(rf"Corrected  {PLAIN_ID.pattern}  I moved to Porto\.", new)
    assert old == f"Before  {trip}  I moved to Lisbon in March."
    again = run("correct", trip, "x")
    assert (again.status, again.out) == (1, "")


def test_undo_takes_back_the_last_change_and_again_brings_it_back(run: Run, trip: str) -> None:
    run("correct", trip, "I moved to Porto.")
    assert run("undo", trip).status == 0
    assert texts(run("list", "--json").json) == ["I moved to Lisbon in March."]
    event = run("history", trip, "--json").json["changes"][-1]["event"]
    assert run("undo", event, "--json").json["undone"] == event
    told = run("undo", "evt_" + 32 * "0")
    assert (told.status, "[not-found]" in told.err) == (1, True)


# -- forget ----------------------------------------------------------------------------------------


def test_reinforce_makes_a_memory_more_important(run: Run, trip: str) -> None:
    assert run("reinforce", trip).out.startswith("Now 0.60 important")
    told = run("reinforce", trip[4:12], "--factor", "10", "--reason", "asked again", "--json").json
    assert (told["importance"], told["reinforcements"]) == (1.0, 2)
    assert "[invalid-request]" in run("reinforce", trip, "--factor", "0").err


def test_restore_calls_an_archived_memory_back(run: Run, trip: str) -> None:
    assert "is active, not archived" in run("restore", trip).err
    first = run("history", trip, "--json").json["changes"][0]["event"]
    run("undo", first)
    assert run("recall", "lisbon").out.startswith("Nothing found")
    assert run("restore", trip).out.startswith("Restored")
    assert "Lisbon" in run("recall", "lisbon").out


def test_consolidate_makes_one_of_several_and_says_how_to_take_it_back(run: Run) -> None:
    with recollect.open("memory.db", clock=FrozenClock("2026-01-01")) as memory:
        ids = [memory.remember(text).id for text in ("Rent is due.", "Rui owns it.", "Flat 4.")]
        memory.link(ids[0], ids[1])
        memory.link(ids[1], ids[2])
    dry = run("consolidate", "--dry-run")
    assert dry.out.startswith("Rent is due. Rui owns it. Flat 4.\nby extract, 1.00 alike\n")
    assert "3 memories of 3 memories would become 1" in dry.out
    told = run("consolidate", "--json").json["made"]
    assert [one["id"] for one in told[0]["sources"]] == ids
    assert run("list", "--kind", "consolidated", "--json").json["memories"][0]["text"]
    assert run("undo", told[0]["event"]).status == 0
    assert run("list", "--kind", "consolidated", "--json").json["memories"] == []
    assert "0 memories of 0 memories became 0" in run("consolidate").out


def test_forecast_shows_what_will_fade_and_draws_it(run: Run, trip: str) -> None:
    told = run("forecast", "--days", "100", "--plot", "forecast.svg")
    assert told.out.splitlines()[0].split() == ["LEAVES", "STRENGTH", "ID", "KIND", "TEXT"]
    assert "of 1 memory of local, 1 memory will leave until" in told.out
    drawing = Path("forecast.svg").read_text(encoding="utf-8")
    assert drawing.count("<polyline") == 1
    assert "I moved to Lisbon in March." in drawing
    data = run("forecast", "--days", "100", "--json").json
    assert data["outlooks"][0]["memory"]["id"] == trip
    assert data["left"][0] - data["left"][-1] == data["leaving"] == 1
    assert run("forecast", "--days", "1").out.startswith("of 1 memory of local, 0 memories")


def test_forget_asks_and_no_leaves_everything(run: Run, trip: str) -> None:
    told = run("forget", trip, typed="n\n")
    assert told.status == 1
    assert "I moved to Lisbon in March." in told.err
    assert "Erase 1 memory of local for good?" in told.out + told.err
    assert "stopped before it was done [aborted]" in told.err
    assert len(run("list", "--json").json["memories"]) == 1


def test_forget_asks_and_yes_erases(run: Run, trip: str) -> None:
    told = run("forget", trip[-8:], typed="y\n")
    assert told.status == 0
    assert re.search(r"Erased 1 memory\b", told.out)
    assert "No copy is left in the file or its log." in told.out
    assert re.search(r"^receipt rcp_[0-9a-f]{32}$", told.out, re.MULTILINE)
    assert b"Lisbon" not in Path("memory.db").read_bytes()


def test_forget_where_nobody_can_answer_needs_yes(run: Run, trip: str) -> None:
    told = run("forget", trip)
    assert (told.status, "add --yes" in told.err) == (2, True)
    receipt = run("forget", trip, "--yes", "--json").json
    assert (receipt["erased"]["memories"], receipt["complete"]) == (1, True)


def test_forget_by_filter_counts_what_it_would_erase(run: Run, trip: str) -> None:
    for number in range(7):
        run("remember", f"tea {number}", "--kind", "episode")
    where = ("--where", '{"kind": "episode"}')
    told = run("forget", *where, typed="n\n")
    assert "… and 2 more" in told.err
    assert "Erase 7 memories of local for good?" in told.out + told.err
    assert run("forget", *where, "--yes", "--json").json["erased"]["memories"] == 7
    assert texts(run("list", "--json").json) == ["I moved to Lisbon in March."]


def test_forget_everything_of_a_user_touches_nobody_else(run: Run, trip: str) -> None:
    run("remember", "tea", "--user", "ana")
    run("profile", "food", "--merge", '{"avoid": ["nuts"]}', "--user", "ana")
    told = run("forget", "--user", "ana", "--all", typed="y\n")
    assert told.status == 0
    assert "1 memory and the profile of ana" in told.out + told.err
    assert not any(run("profile", "--user", "ana", "--json").json.values())
    assert len(run("list", "--json").json["memories"]) == 1


def test_forget_erases_nothing_when_one_id_is_unknown(run: Run, trip: str) -> None:
    told = run("forget", trip, "mem_" + 32 * "0", "--yes")
    assert (told.status, "[not-found]" in told.err) == (1, True)
    assert len(run("list", "--json").json["memories"]) == 1


# -- profile ---------------------------------------------------------------------------------------


def test_the_profile_is_shown_merged_and_trimmed(run: Run) -> None:
    assert run("profile", "food", "--merge", '{"avoid": ["nuts"], "like": "tea"}').status == 0
    told = run("profile")
    assert told.out.startswith("food  version 1, ")
    assert '    "like": "tea"' in told.out
    left = run("profile", "food", "--remove", "like", "--json").json
    assert left == {"food": {"avoid": ["nuts"]}}
    assert run("profile", "work").out == "Nothing is in the profile of local yet.\n"


# -- export and import -----------------------------------------------------------------------------


def test_an_export_comes_back_whole_in_another_file(run: Run, trip: str) -> None:
    run("remember", "tea", "--user", "ana")
    told = run("export", "all.jsonl", "--all")
    assert re.fullmatch(r"Exported \d+ lines of everybody to all\.jsonl\n", told.out)
    taken = run("import", "all.jsonl", "--db", "copy.db")
    assert taken.out.startswith("Imported 2 memories")
    (moved,) = run("list", "--db", "copy.db", "--json").json["memories"]
    assert moved["id"] == trip
    assert texts(run("list", "--db", "copy.db", "--user", "ana", "--json").json) == ["tea"]
    again = run("import", "all.jsonl", "--db", "copy.db")
    assert "Already here: 2" in again.out


def test_an_import_can_be_given_to_somebody(run: Run, trip: str) -> None:
    run("export", "mine.jsonl")
    run("import", "mine.jsonl", "--db", "copy.db", "--user", "bob")
    (moved,) = run("list", "--db", "copy.db", "--user", "bob", "--json").json["memories"]
    assert moved["user"] == "bob"


def test_what_was_erased_does_not_come_back_by_import(run: Run, trip: str) -> None:
    run("export", "mine.jsonl")
    run("forget", trip, "--yes")
    told = run("import", "mine.jsonl")
    assert "Left out because it was erased: 1" in told.out
    assert run("list", "--json").json["memories"] == []


def test_an_export_never_overwrites_unasked(run: Run, trip: str) -> None:
    Path("kept.txt").write_text("mine", encoding="utf-8")
    assert run("export", "kept.txt").status == 2
    assert run("export", "kept.txt", typed="n\n").status == 1
    assert Path("kept.txt").read_text(encoding="utf-8") == "mine"
    assert run("export", "kept.txt", "--yes", "--json").json["path"] == "kept.txt"


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        ("not json\n", 1, "line 1: not JSON"),
        ('{"type": "memory"}\n', 1, "error: "),
        ('{"type": "spreadsheet"}\n', 1, "unknown type"),
    ],
)
def test_an_import_of_something_else_is_refused(
    run: Run, trip: str, content: str, status: int, said: str
) -> None:
    Path("odd.jsonl").write_text(content, encoding="utf-8")
    told = run("import", "odd.jsonl")
    assert (told.status, said in told.err) == (status, True)
    assert run("import", "missing.jsonl").status == 2


def test_an_export_to_nowhere_is_an_error(run: Run, trip: str) -> None:
    told = run("export", "no/such/folder.jsonl")
    assert (told.status, "could not write" in told.err) == (1, True)


# -- backup, verify, stats -------------------------------------------------------------------------


def test_a_backup_verifies_and_stays_as_it_is(run: Run, trip: str) -> None:
    assert "Copied memory.db to copy.db" in run("backup", "copy.db").out
    before = Path("copy.db").read_bytes()
    told = run("verify", "--db", "copy.db")
    assert told.status == 0
    assert told.out.startswith("Sound: copy.db\n")
    assert Path("copy.db").read_bytes() == before
    assert sorted(path.name for path in Path().glob("copy*")) == ["copy.db", "copy.db.sha256"]
    again = run("backup", "copy.db")
    assert (again.status, "never overwrites" in again.err) == (1, True)


def test_verify_finds_a_flipped_byte_and_exits_with_1(run: Run, trip: str) -> None:
    run("backup", "copy.db")
    content = bytearray(Path("copy.db").read_bytes())
    content[content.index(b"Lisbon")] ^= 1
    Path("copy.db").write_bytes(content)
    told = run("verify", "--db", "copy.db")
    assert told.status == 1
    assert re.match(r"copy\.db: \d+ findings?\nWHAT +PROBLEM +WHAT TO DO\n", told.out)
    found = run("verify", "--db", "copy.db", "--json")
    assert (found.status, found.json["ok"]) == (1, False)
    assert found.json["findings"][0].keys() == {"subject", "problem", "remedy"}


def test_verify_repairs_the_index_when_told_to(run: Run, trip: str) -> None:
    with sqlite3.connect("memory.db") as damaged:
        damaged.execute("DELETE FROM unsealed")
    damaged.close()
    assert run("verify").status == 1
    assert run("verify", "--repair").status == 0
    assert len(run("recall", "lisbon", "--json").json["hits"]) == 1


def test_stats_count_and_draw(run: Run, trip: str) -> None:
    run("remember", "tea")
    told = run("stats")
    assert re.search(r"^memories +2$", told.out, re.MULTILINE)
    assert re.search(r"^fact +1  #+$", told.out, re.MULTILINE)
    assert run("stats", "--json").json["by_kind"] == {"fact": 1, "general": 1}


# -- models ----------------------------------------------------------------------------------------


def test_route_says_which_model_and_why(run: Run) -> None:
    told = run("route", "Create", "a", "todo", "app")
    assert told.status == 0
    assert told.out.startswith("deepseek:deepseek-chat  code, confidence 0.89\n")
    assert "asks to make or change something" in told.out
    assert "mixed" in run("route", "show me how to create a login page").out
    assert run("route", "yes").out.endswith("too little in it asks for code\n")
    assert not list(Path().iterdir())  # it needs no memory and makes none


def test_route_takes_its_models_from_the_settings_and_the_override_wins(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_REASONING_MODEL", "openai:gpt-5")
    assert run("route", "Why?", "--json").json["model"] == "gpt-5"
    chosen = run("route", "Why?", "--model", "ollama:llama3", "--json").json
    assert (chosen["provider"], chosen["kind"]) == ("ollama", "chosen")
    assert run("route", "yes", "--earlier", "Fix the bug", "--json").json["kind"] == "code"
    told = run("route", "Why?", "--model", "llama3")
    assert (told.status, told.out) == (1, "")
    assert "must be named provider:model" in told.err


# -- maintain, worker, jobs ------------------------------------------------------------------------


@pytest.fixture
def owed(at_home: Path) -> int:
    """The number of a dead job: a memory that never got its vector."""
    from recollect.client.runner import Inline
    from recollect.domain.operations import BuryJob, Enqueue
    from recollect.domain.scopes import Scope
    from recollect.storage.sqlite.store import SqliteStore

    store, run = SqliteStore(str(at_home / "memory.db")), Inline().run
    run(store.apply([Enqueue(1, "embed", {}, Scope().home), Enqueue(1, "strange", {}, None)]))
    (job,) = run(store.claim_jobs(["embed"], 1, now=1, lease_us=1))
    run(store.apply([BuryJob(job.number, job.attempt, 1, "provider-unavailable")]))
    run(store.close())
    return job.number


def test_jobs_are_listed_and_dead_ones_tried_again(run: Run, owed: int) -> None:
    told = run("jobs")
    assert "provider-unavailable" in told.out
    assert told.out.splitlines()[-1] == "2 jobs"
    (dead,) = run("jobs", "--state", "dead", "--json").json["jobs"]
    assert (dead["number"], dead["kind"], dead["state"], dead["tries"]) == (
        owed,
        "embed",
        "dead",
        1,
    )
    assert run("jobs", "--kind", "strange", "--json").json["jobs"][0]["reason"] is None
    assert run("jobs", "--retry", str(owed), "--json").json == {"retried": [owed]}
    assert run("jobs", "--state", "dead", "--json").json == {"jobs": []}
    assert run("jobs", "--retry", "all").out == "No job is dead.\n"
    assert run("jobs", "--retry", str(owed)).err.startswith(f"error: there is no dead job {owed}")
    assert run("jobs", "--retry", "x").status == 2
    assert "more: --after" in run("jobs", "--limit", "1").out


@pytest.mark.parametrize("command", [("maintain",), ("worker", "--once")])
def test_maintain_and_a_worker_carry_out_what_is_due(
    run: Run, owed: int, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("jobs", "--retry", "all")
    run("maintain")  # whatever runs by itself has had its first run
    nothing = run(*command)
    assert (nothing.status, nothing.out) == (0, "Nothing is due.\n"), "without an embedder"
    monkeypatch.setattr(Keeper, "has_embedder", True)
    others = {name: duty for name, duty in Keeper.duties.items() if name != "survey"}
    monkeypatch.setattr(Keeper, "duties", others)  # it would look for the space of no embedder
    told = run(*command, "--json").json
    assert told == {"done": {"embed": 1}, "failed": {}, "dead": {}}
    assert run("jobs", "--kind", "embed", "--json").json == {"jobs": []}


def test_a_job_that_is_given_up_is_an_exit_code(
    run: Run, owed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(keeper: Any, job: Any) -> Any:
        raise StorageUnavailable("busy")

    duty = replace(Keeper.duties["embed"], run=failing, tries_max=1, able=lambda _: True)
    monkeypatch.setattr(Keeper, "duties", {"embed": duty})
    run("jobs", "--retry", "all")
    told = run("maintain")
    assert told.status == 1
    assert "given up" in told.out


def test_a_worker_ends_when_it_is_told_to(at_home: Path, owed: int) -> None:
    command = [sys.executable, "-m", "recollect", "worker", "--json"]
    environment = {**os.environ, "RECOLLECT_LOG_LEVEL": "info"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as worker:
        assert worker.stderr is not None
        assert "stop with Ctrl-C" in worker.stderr.readline()
        assert "opened" in worker.stderr.readline()
        worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    assert set(json.loads(out)) == {"done", "failed", "dead"}
    assert "closed" in err


# -- doctor ----------------------------------------------------------------------------------------


def test_the_doctor_looks_at_every_part(run: Run, trip: str) -> None:
    told = run("doctor")
    assert told.status == 0
    assert told.out.startswith("healthy  memory.db\n")
    for part in ("store", "index", "scheduler", "embedder", "models", "cache"):
        assert re.search(rf"^{part} +healthy", told.out, re.MULTILINE), part
    assert "Everything that is stored is what was written" in told.out
    quick = run("doctor", "--quick", "--json").json
    assert (quick["state"], quick["findings"], quick["repaired"]) == ("healthy", [], [])
    assert "Everything" not in run("doctor", "--quick").out


def test_the_doctor_repairs_what_follows_from_the_memories_and_leaves_the_rest(
    run: Run, trip: str, at_home: Path
) -> None:
    with sqlite3.connect(at_home / "memory.db") as connection:
        connection.execute("DELETE FROM unsealed")
    sick = run("doctor", "--json")
    assert (sick.status, sick.json["state"]) == (1, "failing")
    assert "is missing" in sick.json["findings"][0]["problem"]
    assert "finding" in run("doctor").out
    mended = run("doctor", "--repair")
    assert mended.status == 0
    assert "left alone  memories" in mended.out
    assert run("recall", "lisbon", "--json").json["hits"]
    with sqlite3.connect(at_home / "memory.db") as connection:
        connection.execute("UPDATE memories SET text = 'I moved to Rome.'")
    broken = run("doctor", "--repair", "--json")
    assert broken.status == 1
    assert "restore the latest backup" in broken.json["findings"][0]["remedy"]


def test_the_doctor_says_what_to_do_about_jobs_that_were_given_up(run: Run, owed: int) -> None:
    told = run("doctor", "--quick")
    assert told.status == 0, "degraded is not failing"
    assert "degraded" in told.out
    assert "→ `recollect jobs --state dead` shows why" in told.out
