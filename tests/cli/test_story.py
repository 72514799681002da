"""The story that `make demo` tells is true, short and quick, wherever it is told."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

STORY = Path(__file__).parent.parent.parent / "examples/story.py"
SECONDS_MAX = 15


def told(**environment: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(STORY)]
    begun = time.monotonic()
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert time.monotonic() - begun < SECONDS_MAX
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.acceptance("X.2", half="one kill in a story; the kill loops are in the promises")
def test_the_story_is_told_to_its_end() -> None:
    lines = told(RECOLLECT_USER="somebody", RECOLLECT_RECALL_LIMIT="3")
    text = "\n".join(lines)
    assert 40 <= len(lines) <= 70
    assert max(map(len, lines)) <= 100
    assert "\033" not in text  # piped: no colours
    for chapter in range(1, 6):
        assert re.search(rf"^{chapter}\. ", text, re.MULTILINE)
    assert re.search(r"today +I live in Porto now", text)
    assert re.search(r"on New Year's Eve +I live in Lisbon", text)
    kill = re.search(r"wrote (\d+) memories, then got signal 9", text)
    again = re.search(r"opened again: (\d+) are there, 0 of the acknowledged are lost", text)
    assert kill is not None
    assert again is not None
    assert int(again[1]) >= int(kill[1]) >= 250
    assert "before: peanuts ×" in text
    assert "after:  nothing of her is in the files" in text
    assert "The file is sound" in text


@pytest.mark.slow
def test_the_story_is_told_on_a_terminal_without_our_signs() -> None:
    assert told(PYTHONIOENCODING="ascii")[0].startswith("Recollect: a memory in one file.")
