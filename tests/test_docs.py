"""The documentation works: every block runs, every internal link resolves."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.docs import END, START
from tools.run_page import blocks

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RUNNABLE = ("python", "console")
#: Pages that load the packages of the providers of models, which takes seconds.
LONG = ("docs/reference/testing.md", "docs/howto/watch-costs.md")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
LINK = re.compile(r"""\]\((?P<target>[^)\s]+)(?:\s+["'][^)]*)?\)""")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """The fragments that GitHub makes of a page's headings."""
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading) for heading in HEADING.findall(prose))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def languages(page: Path) -> set[str]:
    return {block.language for block in blocks(page.read_text(encoding="utf-8"))}


def running() -> Iterator[object]:
    """The pages that run; those that start a process for each command are slow."""
    for page in PAGES:
        if languages(page) & set(RUNNABLE):
            takes_long = "console" in languages(page) or name(page) in LONG
            marks = [pytest.mark.slow] if takes_long else []
            yield pytest.param(page, marks=marks, id=name(page))


@pytest.mark.parametrize("page", list(running()))
def test_every_block_of_the_page_runs(page: Path) -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "tools/run_page.py"), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_internal_link_of_the_page_resolves(page: Path) -> None:
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in LINK.finditer(prose):
        target, _, fragment = link["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            broken.append(link["target"])
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_python_block_is_hidden_from_the_test(page: Path) -> None:
    written = GENERATED.sub("", page.read_text(encoding="utf-8"))
    fences = re.findall(r"^ *```(.*)$", written, re.MULTILINE)
    hidden = [f for f in fences if re.match(r"(py|python3|pycon|Python)\b|.*no-?run", f)]
    assert hidden == []
