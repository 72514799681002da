"""Each gate goes red on the smallest tree that deserves it, and stays green beside it."""

from pathlib import Path

import pytest

from tools import gates

GREEN = "def short(text: str) -> str:\n    return text\n"


def written(root: Path, **files: str) -> Path:
    """A package folder made of the given files; `__` in a name stands for a folder."""
    for name, text in {"__init__": "", **files}.items():
        path = root / ("__init__.py" if name == "__init__" else f"{name.replace('__', '/')}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def messages(root: Path, **files: str) -> list[str]:
    return [what for _, _, what in gates.violations(written(root, **files))]


def test_a_small_tidy_tree_passes(tmp_path: Path) -> None:
    assert messages(tmp_path, tidy=GREEN) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("def long():\n" + "    pass\n" * 70, "long: 71 lines, over 70"),
        ("\n" * 601, "601 lines, over 600"),
        ("def wide(a, b, c, d, e, f, g, *, h, i): ...", "wide: 9 parameters, over 8"),
        ("try:\n    1\nexcept Exception:\n    2", "catches Exception"),
        ("try:\n    1\nexcept (ValueError, BaseException):\n    2", "catches BaseException"),
        ("try:\n    1\nexcept:\n    2", "catches everything"),
        ('QUERY = "SELECT 1"', "SELECT in a string"),
        ('def q(t):\n    return f"DELETE FROM {t}"', "DELETE in a string"),
        ('def q(t):\n    return "INSERT INTO " + t', "INSERT in a string"),
        ('QUERY = "PRAGMA journal_mode"', "PRAGMA in a string"),
        ("def f():\n    import recollect.other", "imports recollect.other inside a function"),
        ("def f():\n    from . import other", "imports recollect.other inside a function"),
    ],
)
def test_a_gate_goes_red(tmp_path: Path, source: str, complaint: str) -> None:
    (found,) = messages(tmp_path, wrong=source, other="")
    assert complaint in found


def test_what_is_at_the_limit_passes(tmp_path: Path) -> None:
    at_limit = "def long():\n" + "    pass\n" * 69
    eight = "def wide(self, a, b, c, d, *, e, f, g, h): ...\n"
    assert messages(tmp_path, long=at_limit, wide=eight, lines="\n" * 600) == []


def test_pragmas_are_allowed_where_the_connection_is_set_up(tmp_path: Path) -> None:
    pragma = 'FULL = "PRAGMA synchronous=FULL"'
    assert messages(tmp_path, storage__sqlite__connection=pragma) == []


def test_the_composition_root_may_import_late(tmp_path: Path) -> None:
    late = "def f():\n    from recollect import other\n"
    assert messages(tmp_path, wiring=late, other="") == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("import recollect.two", "import recollect.one"),
        ("from recollect import two", "from recollect.one import name"),
        ("from . import two", "from .one import name"),
    ],
)
def test_modules_that_import_each_other_are_a_cycle(tmp_path: Path, one: str, two: str) -> None:
    (found,) = messages(tmp_path, one=one, two=two)
    assert found.startswith("import cycle: ")
    assert "recollect.one" in found
    assert "recollect.two" in found


def test_an_import_for_types_only_is_no_cycle(tmp_path: Path) -> None:
    one = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import recollect.two\n"
    assert messages(tmp_path, one=one, two="import recollect.one") == []


def test_every_violation_is_printed_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, wrong='\nQUERY = "SELECT 1"\nOTHER = "DROP TABLE x"\n')
    assert gates.main(tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0].rpartition("/")[2] for line in lines] == [
        "wrong.py:2",
        "wrong.py:3",
    ]
