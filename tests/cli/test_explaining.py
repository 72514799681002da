"""The command: what keeps a memory from being a hit, timelines, and times that were understood."""

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def trip(run: Run) -> str:
    """The id of a memory."""
    stored = run("remember", "I moved to Lisbon in March.", "--kind", "fact", "--json").json
    return str(stored["id"])


def test_why_not_says_what_keeps_a_memory_out(run: Run, trip: str) -> None:
    told = run("why-not", "where is the lisbon trip?", trip, "--kind", "note")
    assert told.out.splitlines() == [
        "I moved to Lisbon in March.",
        "",
        "filtered  The filter wants kind eq 'note'.",
    ]
    hit = run("why-not", "lisbon", trip[-8:])
    assert "It is a hit, number 1." in hit.out
    assert "holds lisbon" in hit.out


def test_why_not_as_json(run: Run, trip: str) -> None:
    answer = run("why-not", "tea", trip, "--json").json
    assert (answer["is_hit"], answer["rank"], answer["hit"]) == (False, None, None)
    assert [reason["obstacle"] for reason in answer["reasons"]] == ["no_match"]
    unknown = run("why-not", "tea", f"mem_{'0' * 32}", "--json").json
    assert [reason["obstacle"] for reason in unknown["reasons"]] == ["unknown"]


def test_a_question_about_an_order_is_shown_as_a_timeline(run: Run) -> None:
    for day, what in (("05", "tea and milk"), ("03", "tea"), ("04", "black tea")):
        run("remember", f"I drank {what}.", "--when", f"2026-03-{day}")
    told = run("recall", "in which order did I drink tea?").out.splitlines()
    assert [line.split()[4] for line in told[1:4]] == ["2026-03-03", "2026-03-04", "2026-03-05"]
    best = run("recall", "tea").out.splitlines()
    assert [line.split()[0] for line in best[1:4]] == ["1", "2", "3"]
    chosen = run("recall", "tea", "--timeline").out.splitlines()
    assert [line.split()[4] for line in chosen[1:4]] == ["2026-03-03", "2026-03-04", "2026-03-05"]


def test_recall_says_which_time_it_understood(run: Run) -> None:
    run("remember", "I drank tea.", "--when", "2026-03-04")
    told = run("recall", "when did I drink tea, on 4 March 2026?", "--why").out
    assert "time asked about: 4 march 2026: 2026-03-04" in told
    assert "in the time of 4 march 2026" in told
