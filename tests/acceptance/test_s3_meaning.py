"""3.5, the other half: search by meaning finds a paraphrase that search by words misses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Memory
from recollect.models.embedding import minilm
from recollect.testing import FrozenClock

pytestmark = [
    pytest.mark.skipif(not minilm.is_installed(), reason="needs recollect[local]"),
]
OTHERS = [
    "The train to Braga leaves at nine.",
    "My neighbour plays the trombone on Sundays.",
    "We painted the kitchen yellow.",
    "The invoice was sent twice.",
    "Her passport expires in August.",
]
#: What is remembered, and a question about it that shares no word with it.
PARAPHRASES = [
    ("She resigned from her position at the bank.", "Who quit a job?"),
    ("Nuts make him ill.", "What is our guest allergic to?"),
    ("The family got a kitten.", "Is there any pet?"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    file, clock = str(tmp_path / "memory.db"), FrozenClock()
    with recollect.open(file, embedder="local", durability="relaxed", clock=clock) as memory:
        memory.remember_many(OTHERS)
        yield memory


@pytest.mark.acceptance("3.5")
@pytest.mark.parametrize(("text", "question"), PARAPHRASES)
def test_a_paraphrase_is_found_that_words_miss(
    memory: Memory, tmp_path: Path, text: str, question: str
) -> None:
    memory.remember(text)
    found = memory.recall(question)
    assert found.lanes == ("words", "meaning")
    assert found.top is not None
    assert found.top.text == text
    with recollect.open(str(tmp_path / "memory.db"), embedder="none") as by_words:
        assert text not in [hit.text for hit in by_words.recall(question)]


@pytest.mark.acceptance("3.5")
def test_search_by_meaning_obeys_filters_scopes_and_limits(memory: Memory) -> None:
    wanted = memory.remember("Nuts make him ill.", kind="fact", tags=["health"])
    memory.remember("He must not eat peanuts.", kind="episode")
    memory.scope(user="bob").remember("Bob is allergic to nuts.", kind="fact")
    question = "What is our guest allergic to?"
    for where in ({"kind": "fact"}, {"tags": "health"}):
        assert [hit.id for hit in memory.recall(question, where=where)] == [wanted.id]
    assert len(memory.recall(question, limit=1)) == 1
    assert "Bob" not in " ".join(hit.text for hit in memory.recall(question, limit=100))
    memory.forget(wanted.id)
    assert wanted.id not in [hit.id for hit in memory.recall(question)]


@pytest.mark.acceptance("3.5")
def test_exact_codes_are_found_among_texts_of_the_same_meaning(memory: Memory) -> None:
    memory.remember_many([f"Order XK-{number}/b was shipped." for number in range(4700, 4760)])
    for question in ("XK-4711/b", "When was order XK-4711/b shipped?"):
        found = memory.recall(question)
        assert found.top is not None
        assert found.top.text == "Order XK-4711/b was shipped."
