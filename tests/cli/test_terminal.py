"""The terminal: progress, colours, widths, and shells that complete."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.cli.terminal import Waiting, screen_of
from tests.cli.conftest import Run

PROGRAM = Path(sys.executable).parent
COLOUR = re.compile(r"\033\[\d+m")


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_quick_work_shows_no_progress_and_slow_work_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stream, watch = Terminal(), Watch()
    waiting = Waiting(stream, watch)
    waiting("copying pages", 10, 100)
    watch.seconds = 0.9
    waiting("copying pages", 20, 100)
    assert stream.getvalue() == ""
    watch.seconds = 2.0
    waiting("copying pages", 50, 100)
    assert stream.getvalue() == f"\r\033[Kcopying pages  {'█' * 12}{' ' * 12}   50%  2 s"
    waiting("copying pages", 51, 100)  # too soon to draw again
    assert "51%" not in stream.getvalue()
    watch.seconds = 3.0
    waiting("checking index", 12_000, None)
    assert stream.getvalue().endswith("\r\033[Kchecking index  12,000  3 s")
    waiting.clear()
    assert stream.getvalue().endswith("\r\033[K")


def test_progress_is_never_written_into_a_pipe() -> None:
    stream, watch = io.StringIO(), Watch()
    waiting = Waiting(stream, watch)
    watch.seconds = 100.0
    waiting("copying pages", 1, 2)
    waiting.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("name", "arguments", "doing"),
    [
        ("export", ["out.jsonl"], "exporting lines"),
        ("import", ["in.jsonl", "--db", "new.db"], "importing lines"),
        ("backup", ["copy.db"], "copying pages"),
    ],
)
def test_long_work_reports_its_progress(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, arguments: list[str], doing: str
) -> None:
    with recollect.open("memory.db") as memory:
        memory.remember_many([f"tea {number}" for number in range(600)])
        memory.export("in.jsonl")
    seen: list[str] = []

    def noted(self: Waiting, doing: str, done: int, total: int | None) -> None:
        seen.append(doing)

    monkeypatch.setattr(Waiting, "__call__", noted)
    assert run(name, *arguments).status == 0
    assert doing in seen


def test_colours_need_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert screen_of(Terminal()).colour
    assert not screen_of(io.StringIO()).colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen_of(Terminal()).colour
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not screen_of(Terminal()).colour


def test_bars_are_plain_where_the_encoding_has_no_blocks() -> None:
    stream = Terminal()
    assert screen_of(stream).blocks
    stream.encoding = "latin-1"  # type: ignore[misc]
    assert not screen_of(stream).blocks


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command shows on a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(PROGRAM / "recollect"), *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "60", "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_on_a_terminal_tables_fit_and_have_colours_unless_unwanted() -> None:
    with recollect.open("memory.db") as memory:
        memory.remember("A text that is much too long to fit into sixty columns of a terminal.")
    shown = on_a_terminal("list")
    assert COLOUR.search(shown)
    assert "…" in shown
    assert max(map(len, COLOUR.sub("", shown).splitlines())) <= 60
    assert not COLOUR.search(on_a_terminal("list", NO_COLOR="1"))
    assert "█" in on_a_terminal("recall", "text", "--why")


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_without_a_traceback() -> None:
    with recollect.open("memory.db") as memory:
        memory.remember_many([f"tea {number} " + "x" * 500 for number in range(1000)])
    command = f"{PROGRAM / 'recollect'} list --limit 1000 --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for_every_shell(run: Run, shell: str) -> None:
    told = run("completion", shell)
    assert told.status == 0
    assert f"_RECOLLECT_COMPLETE={shell}_complete" in told.out


def completed(*words: str) -> list[str]:
    """What bash offers after these words, with our script sourced."""
    script = (
        f'source <({PROGRAM}/recollect completion bash) && COMP_WORDS=("$@") '
        f'COMP_CWORD=$(($# - 1)) && _recollect_completion {PROGRAM}/recollect "${{@: -1}}" '
        '&& printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-eu", "-c", script, "bash", f"{PROGRAM}/recollect", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_kinds_and_ids() -> None:
    with recollect.open("memory.db") as memory:
        told = memory.remember("tea")
    assert set(completed("rec")) == {"recall"}
    assert set(completed("recall", "--w")) == {"--why", "--where"}
    assert completed("list", "--kind", "pref") == ["preference"]
    assert completed("show", "") == [told.id[-8:]]
    assert completed("show", "--db", "missing.db", "") == []
