"""Runs the code blocks of Markdown pages, in order, as a reader would.

Each page gets an empty folder and one namespace. A `python` block runs; what stands behind
`print(...)  # ` must be what it prints (an `…` at its end stands for the rest). With
`title="name.py"` after the word the block is a file, and is saved under that name instead. In a
`console` block each line that starts with `$ recollect` runs the installed command and must exit
with 0. Other languages, and other commands, are only shown. Standard library only: the release
check runs it with nothing but the wheel installed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)(?P<info>[^\n`]*)$")
PROMISED = re.compile(r"\bprint\(.*\)  # (?P<output>.*)$")
TITLE = re.compile(r"""title=["']?([\w.-]+)["']?""")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    title: str | None
    line: int  #: of its first line of code, counted from 1
    code: str


def blocks(markdown: str) -> Iterator[Block]:
    """The fenced blocks of a page that name a language."""
    lines = iter(enumerate(markdown.splitlines(), start=1))
    for number, line in lines:
        fence = FENCE.match(line)
        if not fence:
            continue
        indent = len(fence["indent"])
        code: list[str] = []
        for _, inner in lines:
            if inner.strip() == "```":
                break
            code.append(inner[indent:])
        title = TITLE.search(fence["info"])
        yield Block(
            fence["language"], title[1] if title else None, number + 1, "\n".join(code) + "\n"
        )


def checked_print(lines: list[str]) -> Callable[..., None]:
    """A `print` that fails where it prints something else than the comment behind it."""

    def checked(*values: object, sep: str = " ", end: str = "\n") -> None:
        promise = PROMISED.search(lines[sys._getframe(1).f_lineno - 1])
        printed = sep.join(map(str, values))
        if promise:
            start, rest, _ = promise["output"].partition("…")
            kept = printed.startswith(start) if rest else printed == start
            assert kept, f"the page promises {promise['output']!r}, printed was {printed!r}"
        print(printed, end=end)

    return checked


def run_python(block: Block, page: str, namespace: dict[str, object]) -> None:
    """Run a block so that a traceback names the page and its line."""
    padded = "\n" * (block.line - 1) + block.code
    program = compile(padded, page, "exec")
    if block.title:
        Path(block.title).write_text(block.code, encoding="utf-8")
    else:
        exec(program, namespace)


def run_console(block: Block, page: str) -> None:
    """Run the `$ recollect` lines of a block with the command beside this interpreter."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for offset, line in enumerate(block.code.splitlines()):
        if not line.startswith("$ recollect"):
            continue
        command = shlex.split(line[2:], comments=True)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            sys.exit(
                f"{page}:{block.line + offset}: {line}\nexit status {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )


def run_page(path: Path) -> int:
    """Run one page in an empty folder; the number of its blocks that ran."""
    page = str(path)
    markdown = path.read_text(encoding="utf-8")
    checked = checked_print(markdown.splitlines())
    namespace: dict[str, object] = {"__name__": "__main__", "print": checked}
    ran = 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(markdown):
                if block.language == "python":
                    run_python(block, page, namespace)
                elif block.language == "console":
                    run_console(block, page)
                else:
                    continue
                ran += 1
        finally:
            os.chdir(before)
    return ran


if __name__ == "__main__":
    for name in sys.argv[1:]:
        count = run_page(Path(name))
        print(f"{name}: {count} blocks ran")
