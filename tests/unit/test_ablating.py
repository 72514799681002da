"""What the bench says that a feature gives is what ranking without it would have done."""

from collections.abc import Iterator

import pytest

from recollect import Memory
from recollect.measuring import ablating
from recollect.retrieval import ranking
from recollect.testing import HashEmbedder, open_memory

QUESTION = "What keeps Ana calm in May 2025?"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_memory(embedder=HashEmbedder(64)) as memory:
        with memory.session("s") as chat:
            chat.add("user", "Running keeps me calm.", speaker="Ana", occurred_at="2025-05-02")
            chat.add("assistant", "Calm is good in May.", occurred_at="2025-05-02")
            chat.add("user", "Tea keeps me calm, does it?", speaker="Bela", importance=0.9)
            chat.add("assistant", "Ana is calm.")
        yield memory


@pytest.mark.parametrize("feature", ablating.FEATURES)
def test_the_order_without_a_feature_is_that_of_ranking_without_it(
    memory: Memory, feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = memory.recall(QUESTION, now="2025-06-01")
    assert any(hit.why.shares.get(feature) for hit in whole)
    left = {hit.id: ablating.without(hit.why.shares, feature) for hit in whole}
    order = [whole.hits[index].id for index in ablating.orders(whole)[feature]]
    for name in ("ADDING", "SCALING"):
        kept = [one for one in getattr(ranking, name) if feature != one.NAME]
        monkeypatch.setattr(ranking, name, kept)
    without = memory.recall(QUESTION, now="2025-06-01")
    assert [hit.id for hit in without] == order
    assert {hit.id: hit.score for hit in without} == pytest.approx(left, abs=1e-3)
