"""What each feature of the ranking is for: one story for each, in which it makes the difference."""

import pytest

from recollect import Memory
from recollect.domain.recall import Hit
from recollect.retrieval.features import strength
from recollect.testing import FrozenClock, HashEmbedder, open_memory


@pytest.fixture
def memory() -> Memory:
    return open_memory(embedder=HashEmbedder(64))


def hit_of(memory: Memory, question: str, text: str) -> Hit:
    (found,) = (hit for hit in memory.recall(question) if hit.text == text)
    return found


def test_an_answer_is_found_by_the_words_of_the_question_before_it(memory: Memory) -> None:
    with memory.session("s") as chat:
        for filler in ("Hello!", "It rained all morning.", "Such a long queue at the bank."):
            chat.add("user", filler)
        chat.add("user", "So what did you call the puppy?")
        chat.add("user", "Pebble, of course.")
    answer = hit_of(memory, "What is the name of the puppy?", "Pebble, of course.")
    assert answer.why.shares["words"] == 0
    assert answer.why.shares["words_around"] > 0


def test_lines_of_another_session_do_not_count(memory: Memory) -> None:
    memory.session("one").add("user", "So what did you call the puppy?")
    memory.session("two").add("user", "It rained all morning.")
    for hit in memory.recall("puppy"):
        assert hit.why.shares["words_around"] == 0 or "puppy" in hit.text


def test_what_an_assistant_said_counts_half_unless_it_is_asked_for(memory: Memory) -> None:
    with memory.session("s") as chat:
        chat.add("assistant", "A hotel near the harbour would be the Aurora.")
        for filler in ("Fine.", "And now for lunch.", "Where is the soup?"):
            chat.add("user", filler)
        chat.add("user", "A hotel near the harbour was full.")
    said = "A hotel near the harbour would be the Aurora."
    plain = hit_of(memory, "hotel near the harbour", said)
    others = sum(share for name, share in plain.why.shares.items() if name != "role")
    assert plain.why.shares["role"] == pytest.approx(-others / 2, rel=1e-5)
    assert "role" not in hit_of(memory, "Which hotel did you recommend?", said).why.shares


def test_what_the_person_named_said_comes_first(memory: Memory) -> None:
    with memory.session("s") as chat:
        chat.add("user", "Running keeps me calm.", speaker="Ana")
        chat.add("user", "Running keeps me calm.", speaker="Bela")
        chat.add("user", "The bus was late.", speaker="Ana")
    for name in ("Ana", "Bela"):
        top = memory.recall(f"What keeps {name} calm?").top
        assert top is not None
        assert top.memory.speaker == name
        assert top.why.shares["speaker"] > 0
    both = memory.recall("What keeps Ana and Bela calm?")
    assert all("speaker" not in hit.why.shares for hit in both)


def test_what_happened_at_the_time_asked_about_comes_first(memory: Memory) -> None:
    for day in ("2025-03-02", "2025-06-11", "2025-09-20"):
        memory.remember("We swam in the lake.", occurred_at=day)
    found = memory.recall("When did we swim in June 2025?", now="2025-12-01")
    assert found.top is not None
    assert f"{found.top.memory.occurred_at:%m-%d}" == "06-11"
    assert "time" not in memory.recall("When did we swim?", now="2025-12-01").hits[0].why.shares


def test_an_instruction_is_among_the_hits_of_every_question(memory: Memory) -> None:
    memory.remember("Answer in Portuguese.", kind="instruction")
    memory.remember_many([f"The train to Braga leaves at {hour}." for hour in range(20)])
    found = memory.recall("When does the train to Braga leave?")
    assert len(found) == 10
    hit = hit_of(memory, "When does the train to Braga leave?", "Answer in Portuguese.")
    assert hit.why.shares["standing"] > 0
    assert sum(hit.why.shares.values()) == hit.score


def test_a_preference_is_there_when_advice_is_asked_for(memory: Memory) -> None:
    memory.remember("No peanuts, please.", kind="preference")
    memory.remember_many([f"Restaurant number {n} opened." for n in range(20)])
    asked = {
        question: [hit.text for hit in memory.recall(question)]
        for question in ("Which restaurant opened?", "Can you suggest a restaurant?")
    }
    assert "No peanuts, please." not in asked["Which restaurant opened?"]
    assert "No peanuts, please." in asked["Can you suggest a restaurant?"]


def test_standing_memories_take_no_more_than_a_part_of_the_hits(memory: Memory) -> None:
    memory.remember_many([{"text": f"Rule {n}.", "kind": "instruction"} for n in range(30)])
    memory.remember_many([f"The train to Braga leaves at {hour}." for hour in range(20)])
    found = memory.recall("When does the train to Braga leave?")
    assert [hit.memory.kind for hit in found].count("instruction") == 2
    first = memory.recall("When does the train to Braga leave?", limit=1)
    assert [hit.memory.kind for hit in first] == ["general"]


def test_of_equal_answers_the_one_that_faded_less_comes_first() -> None:
    clock = FrozenClock("2026-01-01")
    memory = open_memory(clock=clock, policy={"kinds": {"fact": {"half_life_days": 365}}})
    memory.remember("The dentist is in Rua Augusta.", kind="fact")
    clock.advance(days=1)
    memory.remember("The dentist is in Rua Aurea.")
    fresh = memory.recall("dentist", now="2026-01-02")
    assert [hit.text[-5:] for hit in fresh] == ["urea.", "usta."]
    later = memory.recall("dentist", now="2026-02-02")
    assert [hit.text[-5:] for hit in later] == ["usta.", "urea."]
    top = later.hits[0]
    others = top.score - top.why.shares["strength"]
    grown = others * strength.WEIGHT * 0.5 * 0.5 ** (32 / 365)
    assert top.why.shares["strength"] == pytest.approx(grown, rel=2e-3)


def test_strength_says_nothing_where_all_are_equally_strong() -> None:
    memory = open_memory()
    memory.remember_many(["The dentist is in Rua Augusta.", "The dentist is away."])
    assert all("strength" not in hit.why.shares for hit in memory.recall("dentist"))
