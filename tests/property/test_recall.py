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


KINDS = st.sampled_from(["fact", "preference", "instruction", "note"])
KEPT = st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=8)
LANES = st.sampled_from(
    [
        "What did I tell you earlier?",  # the latest turns
        "What happened in 2026?",  # what happened then
        "Can you suggest some tea?",  # what applies to everything
        "Where did I drink tea before I drank milk?",  # what was superseded
        "tea bread lake",
    ]
)


@pytest.mark.parametrize("kind", MAKE)
@EXAMPLES
@given(turns=TURNS, kept=KEPT, question=LANES, wanted=KINDS)
def test_no_lane_lets_through_what_a_filter_or_a_scope_excludes(
    kind: str,
    turns: list[tuple[str, str | None, str]],
    kept: list[tuple[str, str]],
    question: str,
    wanted: str,
) -> None:
    with fresh(kind, embedder=HashEmbedder(32)) as memory:
        ana, bob = memory.scope(user="ana", shared=False), memory.scope(user="bob")
        for one in (ana, bob):
            tell(one, turns)
            for what, text in kept:
                one.remember(text, kind=what)
        own = {record.id for record in ana.list(limit=500, status=["active", "superseded"])}
        found = ana.recall(question, kind=wanted, limit=50)
        for hit in (*found.hits, *found.near_misses):
            assert hit.id in own
            assert hit.memory.kind == wanted
        here = ana.scope(session="s", only_session=True).recall(question, limit=50)
        assert {hit.memory.session for hit in here} <= {"s"}


@pytest.mark.parametrize("kind", MAKE)
@EXAMPLES
@given(turns=TURNS, kept=KEPT, question=st.one_of(QUESTIONS, LANES))
def test_every_memory_is_a_hit_or_has_a_reason_not_to_be(
    kind: str, turns: list[tuple[str, str | None, str]], kept: list[tuple[str, str]], question: str
) -> None:
    with fresh(kind, embedder=HashEmbedder(32)) as memory:
        ana = memory.scope(user="ana")
        tell(ana, turns)
        for what, text in kept:
            ana.remember(text, kind=what)
        found = ana.recall(question, limit=3)
        hits = {hit.id for hit in found}
        for record in ana.list(limit=5, status=["active", "superseded"]):
            answer = ana.why_not(found, record)
            assert answer.is_hit == (record.id in hits)
            assert bool(answer.reasons) != answer.is_hit
