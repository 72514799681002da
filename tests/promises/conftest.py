"""Where the trials run."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_RAM = "/dev/shm"


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: real syncs prove nothing here and take long."""
    if os.access(_RAM, os.W_OK):
        with tempfile.TemporaryDirectory(dir=_RAM, prefix="recollect-") as folder:
            yield Path(folder)
    else:
        yield tmp_path
