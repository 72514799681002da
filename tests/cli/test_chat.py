"""`recollect chat`: without a model it says what it remembers, and says so."""

import json
from pathlib import Path

from tests.cli.conftest import Run

TALK = b"I keep bees in the garden.\nwhat do I keep?\n/why\n/memory\n/nonsense\n/forget mem_x\n"


def test_a_chat_without_a_model_remembers_and_recites(run: Run, at_home: Path) -> None:
    told = run("chat", piped=TALK)
    assert told.status == 0
    assert "no language model" in told.err
    assert "/help says what else there is" in told.err
    first, second, *rest = told.out.splitlines()
    assert "remember nothing about that" in first
    assert "What I remember about it" in second
    assert rest[0] == "- I keep bees in the garden."
    assert "none, " in told.out  # /why
    assert "/quit" in told.out  # what /nonsense is answered
    assert "error: " in told.err  # what /forget says of a bad id
    assert (at_home / "memory.db").is_file()


def test_one_message_and_its_answer_as_json(run: Run) -> None:
    run("remember", "I keep bees in the garden.")
    told = run("chat", "--message", "What do I keep in the garden?", "--json")
    assert "I keep bees in the garden." in told.json["reply"]
    assert told.json["context"]["tokens"] > 0


def test_an_agent_file_that_is_not_there_is_told(run: Run) -> None:
    told = run("chat", "configs/nobody.yaml")
    assert told.status == 1
    assert "looked for configs/nobody.yaml" in told.err


def test_an_agent_comes_from_its_file(run: Run, at_home: Path) -> None:
    said = {"system_message": "Hi.", "model": {"provider": "openai", "model": "gpt-4o"}}
    (at_home / "tutor.json").write_text(json.dumps(said))
    told = run("chat", "tutor.json", piped=b"/quit\n")
    assert told.status == 0
    assert "tutor, on memory.db" in told.err
