"""The runner of documentation pages fails where a reader would fail."""

from pathlib import Path

import pytest

from tools.run_page import blocks, run_page


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text.replace("~~~", "```"), encoding="utf-8")
    return path


def test_blocks_of_one_page_share_names_and_an_empty_folder(tmp_path: Path) -> None:
    text = """
~~~python
from pathlib import Path
assert list(Path().iterdir()) == []
answer = 42
~~~
- in a list:
  ~~~python
  assert answer == 42
  ~~~
~~~sql
SELECT shown, not_run
~~~
"""
    assert run_page(page(tmp_path, text)) == 2


def test_a_titled_block_is_a_file_for_the_blocks_after_it(tmp_path: Path) -> None:
    text = """
~~~python title="notes.py"
ANSWER = 42
~~~
~~~python
from pathlib import Path
assert "ANSWER" in Path("notes.py").read_text(encoding="utf-8")
~~~
"""
    assert run_page(page(tmp_path, text)) == 2


def test_a_block_that_fails_names_the_page_and_its_line(tmp_path: Path) -> None:
    path = page(tmp_path, "one\ntwo\n~~~python\nx = 1\nassert x == 2\n~~~\n")
    with pytest.raises(AssertionError) as failure:
        run_page(path)
    last = failure.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (str(path), 5)


def test_a_comment_behind_a_print_must_be_what_it_prints(tmp_path: Path) -> None:
    true = page(tmp_path, "~~~python\nprint(1, 'a')  # 1 a\nprint('abc')  # a…\nprint(3)\n~~~\n")
    assert run_page(true) == 1
    for claim in ("print(1 + 1)  # 3", "print('abc')  # b…", "print('abc')  # ab"):
        with pytest.raises(AssertionError, match="the page promises"):
            run_page(page(tmp_path, f"~~~python\n{claim}\n~~~\n"))


def test_a_command_that_fails_ends_the_run(tmp_path: Path) -> None:
    path = page(tmp_path, "~~~console\n$ recollect no-such-command\n~~~\n")
    with pytest.raises(SystemExit, match=r"page\.md:2: \$ recollect no-such-command"):
        run_page(path)


def test_other_commands_are_only_shown(tmp_path: Path) -> None:
    path = page(tmp_path, "~~~console\n$ no-such-program\noutput\n~~~\n")
    assert run_page(path) == 1
    assert [block.language for block in blocks(path.read_text(encoding="utf-8"))] == ["console"]
