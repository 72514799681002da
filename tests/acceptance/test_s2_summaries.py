"""Acceptance S0 and S2, summaries: what stands for older and longer messages, and who makes it."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.domain.errors import NotFound, ProviderError
from recollect.models.tokens.counting import TokenCounter
from recollect.ports.chat import Ask
from recollect.testing import ScriptedChat
from tests.faces import FACES, World, opened

TOPIC = "we talk about the weather in Lisbon and about tea"
MODEL = "openai:gpt-4o"
Open = Callable[..., AbstractContextManager[World]]


@pytest.fixture(params=FACES)
def open_with(tmp_path: Path, request: pytest.FixtureRequest) -> Open:
    return lambda **options: opened(request.param, tmp_path, **options)


def summarise(ask: Ask) -> str:
    return f"Ana's locker code is 7731. ({len(ask.turns[-1].text)} characters were read.)"


def talk(ana: Memory, first: int, last: int) -> None:
    with ana.session("s1") as chat:
        chat.add_many(
            [
                {
                    "role": "user" if at % 2 == 0 else "assistant",
                    "text": "My locker code is 7731." if at == 3 else f"turn {at}: {TOPIC}",
                }
                for at in range(first, last)
            ]
        )


def texts(ana: Memory) -> list[str]:
    return [one.text for one in ana.session("s1").messages()]


@pytest.mark.acceptance("2.3", "2.4", "0.1")
def test_over_budget_one_summary_stands_for_all_but_the_last_eight(open_with: Open) -> None:
    small, large = ScriptedChat(then=summarise), ScriptedChat()
    with open_with(memory_model=small, reasoning_model=large) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 20)
        made = ana.context("hello?", session="s1", tokens_max=1000, model=MODEL)
        assert (len(small.asked), "summary" in made.sections) == (0, False)
        said = [piece.text for piece in made.messages if piece.section == "messages"]
        assert said == texts(ana)  # under the budget nothing changes and nobody is asked

        talk(ana, 20, 80)
        made = ana.context("hello?", session="s1", tokens_max=1000, model=MODEL)
        assert made.tokens <= 1000
        said = [piece.text for piece in made.messages if piece.section == "messages"]
        assert said == texts(ana)[-8:]
        assert [piece.section for piece in made.messages].count("summary") == 1
        assert "locker code is 7731" in made.text
        assert made.degraded == ()
        asked = len(small.asked)
        assert asked == 1

        # Nothing new: nobody is asked. A few turns more: the summary stays as it is.
        again = ana.context("hello?", session="s1", tokens_max=1000, model=MODEL)
        assert again.messages == made.messages
        for at in range(80, 100, 2):
            talk(ana, at, at + 2)
            ana.context("hello?", session="s1", tokens_max=1000, model=MODEL)
        assert len(small.asked) == asked
        # And the next one is made of the one before and what is new.
        talk(ana, 100, 160)
        ana.context("hello?", session="s1", tokens_max=1000, model=MODEL)
        assert len(small.asked) == asked + 1
        given = small.asked[-1].turns[-1].text
        assert "locker code is 7731" in given
        assert "turn 5:" not in given
        assert "turn 80:" in given
        assert large.asked == []


@pytest.mark.acceptance("2.5", "0.9")
@pytest.mark.parametrize("down", [True, False], ids=["down", "no-model"])
def test_without_a_summariser_it_fits_says_so_and_loses_nothing(
    open_with: Open, down: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedChat(then=lambda _: ProviderError("it is down"))
    with open_with(memory_model=model if down else None) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 100)
        with caplog.at_level(logging.WARNING, "recollect"):
            made = ana.context("hello?", session="s1", tokens_max=1000)
        assert made.tokens <= 1000
        assert made.degraded == ("summary",)
        assert "summary" in made.sections
        assert len(texts(ana)) == 100
        warned = [one for one in caplog.records if "memory model" in one.getMessage()]
        assert len(warned) == (1 if down else 0)
        # What was dropped is recalled.
        asked = ana.context("what is my locker code?", session="s1", tokens_max=1000)
        assert "My locker code is 7731." in asked.text


@pytest.mark.acceptance("0.13")
def test_a_history_larger_than_the_models_window_is_sent_in_parts(open_with: Open) -> None:
    model = ScriptedChat(then=summarise, window=2000)
    with open_with(memory_model=model) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 300)
        made = ana.context("hello?", session="s1", tokens_max=1000)
        assert made.degraded == ()
        assert len(model.asked) > 3
        count = TokenCounter().count
        for ask in model.asked:
            size = sum(count(turn.text, model.model).count + 4 for turn in ask.turns)
            assert size + ask.tokens_max <= model.window
        read = "\n".join(ask.turns[-1].text for ask in model.asked)
        assert all(f"turn {at}:" in read for at in range(292) if at != 3)


@pytest.mark.acceptance("0.8", "0.1")
def test_a_message_above_the_threshold_is_sent_as_a_reference(open_with: Open) -> None:
    word = "word "
    count = TokenCounter().count
    at_most = word * 1000
    while count(at_most, MODEL).count > 1000:
        at_most = at_most[:-1]
    assert count(at_most, MODEL).count == 1000
    longer = at_most + word * 2
    model = ScriptedChat(then=lambda _: "The word word, again and again.")
    with open_with(memory_model=model, reasoning_model=ScriptedChat()) as world:
        ana, bob = world.memory.scope(user="ana"), world.memory.scope(user="bob")
        with ana.session("s1") as chat:
            chat.add("system", longer)
            kept = chat.add("tool", longer)
            chat.add("user", at_most)
            chat.add("user", "what was that?")
            made = chat.context(model=MODEL)
            again = chat.context(model=MODEL)
        sent = [piece.text for piece in made.messages]
        tokens = count(longer, MODEL).count
        reference = f"[memory {kept.id} — The word word, again and again. — {tokens} tokens]"
        assert reference in made.text
        assert sent[0] == longer  # system messages never
        assert at_most in sent  # nor what is exactly at the threshold
        assert again.messages == made.messages
        assert len(model.asked) == 1
        assert ana.get(kept.id).text == longer
        with pytest.raises(NotFound):
            bob.get(kept.id)


@pytest.mark.acceptance("0.9")
def test_with_the_model_down_a_reference_says_where_it_is_from(open_with: Open) -> None:
    model = ScriptedChat(then=lambda _: ProviderError("it is down"))
    with open_with(memory_model=model) as world:
        ana = world.memory.scope(user="ana")
        with ana.session("s1") as chat:
            kept = chat.add("tool", "Traceback: boom\n" + "line of the log\n" * 2000)
            chat.add("user", "what was that?")
            made = chat.context()
        assert f"[memory {kept.id} — Large content from tool: Traceback: boom" in made.text
        assert made.degraded == ("summary",)
        assert ana.get(kept.id).text.startswith("Traceback: boom")


@pytest.mark.parametrize("answer", ["", "   \n", "!!! ...", "\x00"])
def test_an_answer_that_says_nothing_is_no_summary(open_with: Open, answer: str) -> None:
    with open_with(memory_model=ScriptedChat(then=lambda _: answer)) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 100)
        made = ana.context("hello?", session="s1", tokens_max=1000)
        assert made.degraded == ("summary",)
        assert "locker code is 7731" in made.text or "turn" in made.text


def test_a_summary_that_is_too_long_is_cut(open_with: Open) -> None:
    with open_with(memory_model=ScriptedChat(then=lambda _: "A sentence. " * 5000)) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 100)
        made = ana.context("hello?", session="s1", tokens_max=1000)
        assert made.tokens <= 1000
        assert made.sections["summary"] <= 250


def test_summaries_take_no_part_in_recall(open_with: Open) -> None:
    with open_with(memory_model=ScriptedChat(then=summarise)) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 100)
        ana.context("hello?", session="s1", tokens_max=1000)
        (summary,) = ana.list(kind="summary", status=["archived"])
        assert summary.trust == "limited"
        assert {link.kind for link in ana.links(summary)} == {"derived_from"}
        assert summary.id not in {hit.id for hit in ana.recall("locker code", limit=100)}


DEEDS: dict[str, Callable[[Memory, str], object]] = {
    "forgotten": lambda ana, id: ana.forget(id),
    "corrected": lambda ana, id: ana.correct(id, "My locker code is 4410."),
    "changed": lambda ana, id: ana.update(id, text="My locker code is 4410."),
    "quarantined": lambda ana, id: ana.update(id, status="quarantined"),
}


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("model", [True, False], ids=["model", "rule"])
def test_what_is_forgotten_or_corrected_leaves_the_very_next_prompt(
    open_with: Open, deed: str, model: bool
) -> None:
    def repeat(ask: Ask) -> str:
        return "The code: " + ("7731" if "7731" in ask.turns[-1].text else "unknown")

    chat_model = ScriptedChat(then=repeat) if model else None
    with open_with(memory_model=chat_model) as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 100)
        fact = ana.remember("Locker code 7731, as a fact.", kind="fact")
        question = "what is my locker code?"
        before = ana.context(question, session="s1", tokens_max=1000)
        assert "7731" in before.text
        if model:
            assert "The code: 7731" in before.text
        (said,) = [one for one in ana.session("s1").messages() if "7731" in one.text]
        DEEDS[deed](ana, said.id)
        DEEDS[deed](ana, fact.id)
        for after in (before, None):
            made = ana.context(question, session="s1", tokens_max=1000, after=after)
            assert "7731" not in made.text
            assert made.tokens <= 1000
        withdrawn = ana.context(question, session="s1", tokens_max=1000, after=before).withdrawn
        assert fact.id in withdrawn
        if deed == "corrected":
            assert [one for one in made.messages if "4410" in one.text]


def test_undoing_a_correction_is_in_the_very_next_prompt_too(open_with: Open) -> None:
    with open_with() as world:
        ana = world.memory.scope(user="ana")
        talk(ana, 0, 12)
        (said,) = [one for one in ana.session("s1").messages() if "7731" in one.text]
        ana.correct(said.id, "My locker code is 4410.")
        made = ana.context("hello?", session="s1")
        # In its own place, and the wrong one nowhere.
        assert made.messages[3].text == "My locker code is 4410."
        assert "7731" not in made.text
        assert sum(piece.section == "messages" for piece in made.messages) == 12
        ana.undo(ana.history(said.id)[-1].event.id)
        made = ana.context("hello?", session="s1")
        assert made.messages[3].text == "My locker code is 7731."
        assert "4410" not in made.text
