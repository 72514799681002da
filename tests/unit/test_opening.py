"""What can be opened, and what is refused before a file is made of it."""

from pathlib import Path

import pytest

import recollect
from recollect.domain.errors import ValidationError


@pytest.mark.parametrize("url", [":memory:", "postgresql://db/memory", "https://memory.example"])
def test_what_is_no_file_is_refused_and_leaves_no_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError, match=r"names no file|cannot open") as refused:
        recollect.open(url)
    assert refused.value.field == "url"
    assert list(tmp_path.iterdir()) == []


def test_a_path_and_its_url_open_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(str(path)) as memory:
        memory.remember("I moved to Lisbon.")
    with recollect.open(f"sqlite:///{path}") as memory:
        assert memory.count() == 1
