"""Recall understands time: when things happened, what held then, and what came first."""

import pytest

from recollect import Memory
from recollect.testing import FrozenClock, open_memory


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock("2026-02-01")


@pytest.fixture
def memory(clock: FrozenClock) -> Memory:
    return open_memory(clock=clock)


@pytest.fixture
def moved(memory: Memory, clock: FrozenClock) -> Memory:
    """Ana lived in Faro, then in Lisbon, and lives in Porto since 3 May 2026."""
    faro = memory.remember("I live in Faro.", kind="fact", valid_from="2025-01-01")
    lisbon = memory.correct(faro, "I live in Lisbon.", valid_from="2026-03-01")
    clock.set("2026-06-15")
    memory.correct(lisbon, "I live in Porto.", valid_from="2026-05-03")
    return memory


def texts(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in memory.recall(question)]


def test_without_a_time_only_what_holds_is_recalled(moved: Memory) -> None:
    assert texts(moved, "Where do I live?") == ["I live in Porto."]


@pytest.mark.parametrize(
    ("question", "home"),
    [
        ("Where did I live as of April?", "I live in Lisbon."),
        ("Where did I live as of 2026-02-10?", "I live in Faro."),
        ("Where did I live as of last month?", "I live in Porto."),
        ("Where do I live as of today?", "I live in Porto."),
    ],
)
def test_as_of_asks_how_things_stood(moved: Memory, question: str, home: str) -> None:
    assert texts(moved, question) == [home]


def test_a_time_given_by_the_caller_wins(moved: Memory) -> None:
    found = moved.recall("Where did I live as of April?", as_of="2026-02-10")
    assert [hit.text for hit in found] == ["I live in Faro."]
    assert found.as_of is None


def test_what_holds_no_longer_says_so_and_names_what_does(moved: Memory) -> None:
    (hit,) = moved.recall("Where did I live as of February 2026?")
    assert hit.note == "until 1 March 2026; now: I live in Porto."
    assert hit.rendered == "I live in Faro. (until 1 March 2026; now: I live in Porto.)"
    (present,) = moved.recall("Where do I live?")
    assert present.note is None
    assert present.rendered == present.text


def test_a_question_that_looks_back_sees_what_was_superseded(moved: Memory) -> None:
    found = moved.recall("Where did I live before May?")
    assert {hit.text for hit in found} == {
        "I live in Faro.",
        "I live in Lisbon.",
        "I live in Porto.",
    }
    notes = {hit.text: hit.note for hit in found}
    assert notes["I live in Lisbon."] == "until 3 May 2026; now: I live in Porto."
    assert notes["I live in Porto."] is None
    chosen = moved.recall("Where did I live before May?", status="active")
    assert [hit.text for hit in chosen] == ["I live in Porto."]


def test_what_nobody_dated_is_found_all_the_same(memory: Memory) -> None:
    memory.remember("The bakery opens at six.")
    assert texts(memory, "When did the bakery open as of May 2020?") == ["The bakery opens at six."]


@pytest.fixture
def diary(memory: Memory, clock: FrozenClock) -> Memory:
    for day, text in (
        ("2026-03-02", "We painted the kitchen."),
        ("2026-05-20", "We painted the bathroom."),
        ("2026-04-11", "We painted the hall, and moved to Porto."),
        ("2026-06-13", "We painted the fence."),
    ):
        memory.remember(text, occurred_at=day)
    clock.set("2026-06-15")
    return memory


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did we paint last month?", "We painted the bathroom."),
        ("What did we paint on 2 March 2026?", "We painted the kitchen."),
        ("What did we paint two days ago?", "We painted the fence."),
        ("Was haben wir im März painted?", "We painted the kitchen."),
        ("Que painted a-t-on le mois dernier ?", "We painted the bathroom."),
    ],
)
def test_a_time_in_the_question_chooses_among_what_matches(
    diary: Memory, question: str, first: str
) -> None:
    found = diary.recall(question)
    assert found.top is not None
    assert found.top.text == first
    assert found.top.why.dates
    assert found.dates


def test_a_question_about_a_time_alone_is_answered_by_what_happened_then(diary: Memory) -> None:
    assert texts(diary, "What happened last month?") == ["We painted the bathroom."]
    assert texts(diary, "¿Qué hice el mes pasado?") == ["We painted the bathroom."]
    assert texts(diary, "What happened in 2019?") == []


def test_an_event_of_ones_own_is_the_edge_of_a_time(diary: Memory) -> None:
    before = diary.recall("What did we paint before we moved to Porto?")
    after = diary.recall("What did we paint after we moved to Porto?")
    assert [hit.text for hit in before if hit.why.dates] == ["We painted the kitchen."]
    assert {hit.text for hit in after if hit.why.dates} == {
        "We painted the bathroom.",
        "We painted the fence.",
    }
    assert before.dates == ("before we moved to porto: until 2026-04-10",)


def test_a_question_about_an_order_is_told_as_a_timeline(diary: Memory) -> None:
    found = diary.recall("In which order did we paint the rooms?")
    assert found.asks_for_order
    assert [hit.text.split()[3].rstrip(".,") for hit in found.timeline()] == [
        "kitchen",
        "hall",
        "bathroom",
        "fence",
    ]
    assert not diary.recall("What did we paint?").asks_for_order
