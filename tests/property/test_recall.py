"""What holds of every recall: it repeats itself, nobody else changes it, and its shares add up."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.testing import HashEmbedder
from tests.property.stores import MAKE, fresh

WORDS = ("tea", "milk", "honey", "bread", "lisbon", "ana", "running", "lake", "the", "日本")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
WHO = st.sampled_from(["Ana", "Bela", None])
TURNS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), WHO, TEXTS), min_size=1, max_size=8
)
QUESTIONS = st.one_of(
    TEXTS, TEXTS.map("What did you say about {}?".format), TEXTS.map("When did Ana {}?".format)
)
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def tell(memory: Memory, turns: Sequence[tuple[str, str | None, str]]) -> None:
    for session in ("s", "t"):
        chat = memory.session(session)
        chat.add_many([{"role": r, "speaker": who, "text": text} for r, who, text in turns])
    memory.remember_many([text for _, _, text in turns])


@pytest.mark.parametrize("kind", MAKE)
@EXAMPLES
@given(turns=TURNS, question=QUESTIONS)
def test_shares_add_up_and_a_second_recall_is_the_first(
    kind: str, turns: list[tuple[str, str | None, str]], question: str
) -> None:
    with fresh(kind, embedder=HashEmbedder(32)) as memory:
        ana = memory.scope(user="ana")
        tell(ana, turns)
        found = ana.recall(question)
        assert found == ana.recall(question)
        scores = [hit.score for hit in (*found.hits, *found.near_misses)]
        assert scores == sorted(scores, reverse=True)
        for hit in found:
            assert sum(hit.why.shares.values()) == hit.score > 0


@pytest.mark.parametrize("kind", MAKE)
@EXAMPLES
@given(turns=TURNS, foreign=TURNS, question=QUESTIONS)
def test_what_others_remember_never_changes_a_result(
    kind: str,
    turns: list[tuple[str, str | None, str]],
    foreign: list[tuple[str, str | None, str]],
    question: str,
) -> None:
    with fresh(kind, embedder=HashEmbedder(32)) as memory:
        ana, bob = memory.scope(user="ana", shared=False), memory.scope(user="bob")
        tell(ana, turns)
        before = ana.recall(question)
        tell(bob, foreign)
        after = ana.recall(question)
        assert [(hit.id, hit.why) for hit in after] == [(hit.id, hit.why) for hit in before]
