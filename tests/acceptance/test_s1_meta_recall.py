"""1.6b: a question about what was said before gets the latest turns, even if no word matches."""

import pytest

from recollect import Memory

TURNS = [
    ("user", "My cat is called Pebble."),
    ("assistant", "What a lovely name!"),
    ("user", "I drink oat milk."),
    ("assistant", "Noted."),
    ("user", "On Fridays I swim."),
]


@pytest.fixture
def told(ana: Memory) -> Memory:
    ana.remember("The bakery opens at six.")
    with ana.session("first") as chat:
        chat.add_many([{"role": role, "text": text} for role, text in TURNS])
    return ana


def texts(memory: Memory, question: str, limit: int = 10) -> list[str]:
    return [hit.text for hit in memory.recall(question, limit=limit)]


@pytest.mark.acceptance("1.6b")
def test_the_latest_turns_come_back_though_no_word_matches(told: Memory) -> None:
    assert texts(told, "What did I tell you earlier?", 2) == [
        "On Fridays I swim.",
        "I drink oat milk.",
    ]
    assert texts(told, "What were we talking about?", 3) == [
        "On Fridays I swim.",
        "Noted.",
        "I drink oat milk.",
    ]
    assert texts(told, "What did you say before?", 5) == ["Noted.", "What a lovely name!"]


@pytest.mark.acceptance("1.6b")
def test_the_merged_list_has_no_duplicates_and_is_in_order(told: Memory) -> None:
    with told.session("first") as chat:
        chat.add("user", "Earlier I did tell you about tea.")
    found = told.recall("What did I tell you earlier?")
    assert len({hit.id for hit in found}) == len(found) > 3
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    for hit in found:
        assert sum(hit.why.shares.values()) == hit.score
    assert found.top is not None
    assert found.top.why.shares.keys() >= {"words", "latest"}


@pytest.mark.acceptance("1.6b")
def test_the_turns_of_the_session_at_hand_come_first(told: Memory) -> None:
    with told.session("second") as chat:
        chat.add("user", "Today it rains.")
        chat.add("assistant", "Take an umbrella.")
    with told.session("third") as chat:
        chat.add("user", "Goodbye.")
    here = told.scope(session="second")
    assert texts(here, "What did I tell you earlier?", 3) == [
        "Today it rains.",
        "Goodbye.",
        "On Fridays I swim.",
    ]
    only_here = told.scope(session="second", only_session=True)
    assert texts(only_here, "What did I tell you earlier?") == ["Today it rains."]


@pytest.mark.acceptance("1.6b")
def test_what_was_never_said_in_a_session_comes_back_too(ana: Memory) -> None:
    ana.remember_many(["The bakery opens at six.", "The library closes at ten."])
    assert texts(ana, "What did I tell you earlier?") == [
        "The library closes at ten.",
        "The bakery opens at six.",
    ]


@pytest.mark.acceptance("1.6b")
def test_the_latest_turns_of_others_and_filtered_ones_stay_out(
    memory: Memory, told: Memory
) -> None:
    with memory.scope(user="bob").session("b") as chat:
        chat.add("user", "Bob's secret.")
    assert "Bob's secret." not in texts(told, "What did I tell you earlier?", 100)
    kept = told.recall("What did I tell you earlier?", where={"text": {"contains": "milk"}})
    assert [hit.text for hit in kept] == ["I drink oat milk."]
