"""Running the command inside the test process, in an empty folder and without settings."""

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recollect.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder; afterwards nothing that was set up for logging stays."""
    for name in [name for name in os.environ if name.startswith(("RECOLLECT_", "NO_COLOR"))]:
        monkeypatch.delenv(name)
    # Nobody pulls the plug in these tests, and waiting for the disk is most of their time.
    monkeypatch.setenv("RECOLLECT_DURABILITY", "relaxed")
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    logger = logging.getLogger("recollect")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield tmp_path
    logger.handlers[:], logger.level, logger.propagate = before[0], before[1], before[2]


class Keyboard(io.TextIOWrapper):
    """Standard input on which a person answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("list", "--json")`; `typed` is what a person answers, `piped` what comes by a pipe."""

    def ran(*arguments: object, typed: str | None = None, piped: bytes = b"") -> Ran:
        stdin = (
            io.TextIOWrapper(io.BytesIO(piped))
            if typed is None
            else Keyboard(io.BytesIO(typed.encode()))
        )
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        status = ended.value.code
        assert isinstance(status, int)
        return Ran(status, told.out, told.err)

    return ran
