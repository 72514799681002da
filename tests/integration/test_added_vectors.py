"""Vectors that come later are seen by whoever searched before they came."""

from pathlib import Path

import recollect
from recollect.testing import HashEmbedder


def test_another_process_sees_vectors_that_were_added_to_what_it_had_loaded(
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "memory.db")
    with recollect.open(file, embedder=HashEmbedder(16), background="off") as memory:
        memory.remember_many(["black tea", "milk", "bread"])
    reader = recollect.open(file, embedder=HashEmbedder(32), background="off")
    reader.remember("rain")  # the first of the new space
    assert reader.recall("tea").hits[0].why.shares["meaning"] == 0
    with recollect.open(file, embedder=HashEmbedder(32), background="off") as other:
        assert other.maintain().done["embed"] == 3
    assert reader.recall("tea").hits[0].why.shares["meaning"] > 0
    reader.close()
