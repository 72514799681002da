"""`recollect review`: what waits for a decision, and the decision."""

from tests.cli.conftest import Run


def test_what_a_write_does_besides_storing_is_said(run: Run) -> None:
    run("remember", "I live in Lisbon and my cat is called Tom.")
    told = run("remember", "I moved to Porto.")
    assert "It contradicts " in told.out
    assert "recollect review" in told.out
    told = run("remember", "I moved to Rome; my password is hunter2!", "--json")
    assert told.json["treated"] == [["secrets", "redacted", 1]]
    assert "hunter2" not in told.out


def test_review_lists_what_waits_and_decides(run: Run) -> None:
    assert run("review").status == 1  # there is no memory yet
    run("remember", "I live in Lisbon and my cat is called Tom.")
    assert "Nothing waits" in run("review").out
    new = run("remember", "I moved to Porto.", "--json").json["id"]
    waiting = run("review", "--json").json["reviews"]
    assert [(one["id"], one["why"], len(one["others"])) for one in waiting] == [
        (new, "disputed", 1)
    ]
    shown = run("review").out.splitlines()
    assert "I moved to Porto." in shown[0]
    assert "contradicts" in shown[1]
    assert run("review", new).status == 2
    assert run("review", "--reject").status == 2
    merged = run("review", new, "--merge", "I moved to Porto; my cat is called Tom.", "--json")
    assert merged.json["decision"] == "merge"
    assert "Nothing waits" in run("review").out
