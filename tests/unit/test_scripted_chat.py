"""The scripted model behaves as a real one would, answer by answer."""

import pytest

from recollect.client.runner import Inline
from recollect.domain.errors import ProviderBadResponse, ProviderTimeout
from recollect.ports.chat import Answer, Ask, Chat, Turn
from recollect.testing import ScriptedChat

SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}


def ask(text: str, **options: object) -> Ask:
    return Ask((Turn("user", text),), "reply", **options)  # type: ignore[arg-type]


def answer(chat: Chat, asked: Ask) -> Answer:
    return Inline().run(chat.answer(asked))


def test_it_says_its_lines_in_order_and_keeps_what_it_was_asked() -> None:
    chat = ScriptedChat("one", then=lambda asked: asked.turns[-1].text.upper())
    said = [answer(chat, ask(text)).text for text in ("a", "b", "c")]
    assert said == ["one", "B", "C"]
    assert [one.turns[0].text for one in chat.asked] == ["a", "b", "c"]


def test_a_script_that_is_too_short_says_what_was_asked() -> None:
    with pytest.raises(AssertionError, match="no line for request 1, a reply"):
        answer(ScriptedChat(), ask("hello"))


def test_an_error_in_the_script_is_raised_and_the_next_line_follows() -> None:
    chat = ScriptedChat(ProviderTimeout("60 s"), "there again")
    with pytest.raises(ProviderTimeout):
        answer(chat, ask("hello"))
    assert answer(chat, ask("hello")).text == "there again"


@pytest.mark.parametrize(
    ("line", "complaint"), [("garbage", "not answer JSON"), ({}, "facts is missing")]
)
def test_an_answer_against_the_schema_is_an_error_as_with_a_real_model(
    line: str | dict[str, object], complaint: str
) -> None:
    with pytest.raises(ProviderBadResponse, match=complaint):
        answer(ScriptedChat(line), ask("facts?", schema=SCHEMA))


def test_an_answer_that_fulfils_the_schema_is_data() -> None:
    found = answer(ScriptedChat({"facts": ["tea"]}), ask("facts?", schema=SCHEMA))
    assert found.data == {"facts": ["tea"]}


def test_a_stream_is_the_answer_in_pieces_and_then_whole() -> None:
    async def collect() -> list[str | Answer]:
        return [piece async for piece in ScriptedChat("tea and tea").stream(ask("what?"))]

    *pieces, whole = Inline().run(collect())
    assert pieces == ["tea", " and", " tea"]
    assert isinstance(whole, Answer)
    assert whole.text == "tea and tea"
