"""What importing costs: the front door is light, and each room is loaded when it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

MODULES_MAX = 150
HEAVY = ("numpy", "apsw", "Stemmer", "asyncio", "click")
ROOMS_OF_A_FILE = ("recollect.engine", "recollect.storage", "recollect.retrieval")


def loaded(statement: str) -> set[str]:
    """The modules that a statement loads in an interpreter of its own."""
    program = (
        f"import sys; before = set(sys.modules)\n{statement}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def rooms(modules: set[str], names: tuple[str, ...]) -> set[str]:
    return {m for m in modules if m.startswith(tuple(f"{name}." for name in names)) or m in names}


def test_importing_recollect_is_light() -> None:
    modules = loaded("import recollect")
    assert len(modules) <= MODULES_MAX
    assert not rooms(modules, (*HEAVY, *ROOMS_OF_A_FILE, "recollect.client"))


@pytest.mark.parametrize("module", ["recollect.client.async_memory", "recollect.client.memory"])
def test_the_client_loads_no_room_that_only_a_file_needs(module: str) -> None:
    modules = loaded(f"import {module}")
    assert not rooms(modules, (*ROOMS_OF_A_FILE, "numpy", "apsw", "Stemmer"))
    assert module in modules


def test_opening_a_file_loads_what_it_needs_and_no_command_line(tmp_path: Path) -> None:
    modules = loaded(f"import recollect; recollect.open({str(tmp_path / 'm.db')!r}).close()")
    assert rooms(modules, ROOMS_OF_A_FILE)
    assert not rooms(modules, ("click", "recollect.cli", "recollect.testing"))


def test_the_measure_itself_sees_what_is_loaded() -> None:
    assert "colorsys" in loaded("import colorsys")
