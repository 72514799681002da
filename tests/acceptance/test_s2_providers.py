"""Acceptance S2, providers: what goes over the wire, by the code that reaches the real ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.client.runner import LoopThread
from recollect.models.chat.connecting import connect
from recollect.ports.chat import Answer, Ask, Chat, ToolCall, Turn
from recollect.testing import ScriptedProvider

GOLDEN = Path(__file__).parents[1] / "fixtures/requests"
PROVIDERS = ("openai", "anthropic", "deepseek", "gemini", "ollama", "acme")
SYSTEM = ("You are kind.", "Standing instruction: be brief.", "What is known: Ana is in Lisbon.")
LOOK = {
    "name": "look",
    "description": "Look something up.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}
TURNS = (
    Turn("system", SYSTEM[0]),
    Turn("system", SYSTEM[1]),
    Turn("user", "Hello."),
    Turn("assistant", "One moment.", (ToolCall("call-1", "look", {"what": "Ana"}),)),
    Turn("tool", "She moved in March.", answers="call-1"),
    Turn("system", SYSTEM[2]),
    Turn("user", "Where is she?"),
)


@pytest.fixture
def loop() -> Any:
    runner = LoopThread()
    yield runner
    runner.close(_nothing())


async def _nothing() -> None:
    return None


async def answered(chat: Chat, ask: Ask) -> Answer:
    try:
        return await chat.answer(ask)
    finally:
        await chat.close()


async def streamed(chat: Chat, ask: Ask) -> list[str | Answer]:
    try:
        return [piece async for piece in chat.stream(ask)]
    finally:
        await chat.close()


@pytest.mark.acceptance("2.8")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_is_sent_all_of_the_request_and_all_system_parts(
    provider: str, loop: LoopThread
) -> None:
    with ScriptedProvider("In Lisbon.") as there:
        chat = connect([there.client(provider)], environment=there.environment)
        answer = loop.run(answered(chat, Ask(TURNS, "reply", tokens_max=99, tools=(LOOK,))))
    (heard,) = there.heard
    said = {"path": heard.path, "body": heard.body}
    golden = GOLDEN / f"{provider}.json"
    assert said == json.loads(golden.read_text(encoding="utf-8"))
    assert all(part in json.dumps(heard.body) for part in SYSTEM)
    assert (answer.text, answer.model) == ("In Lisbon.", f"{provider}:scripted-1")
    assert answer.tokens_in > 0 < answer.tokens_out


@pytest.mark.acceptance("2.8")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_answers_in_pieces_with_json_and_with_calls_of_tools(
    provider: str, loop: LoopThread
) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    call = ToolCall("call-2", "look", {"what": "Ana"})
    with ScriptedProvider("She is in Lisbon.", {"city": "Lisbon"}, call) as there:

        def chat() -> Chat:
            return connect([there.client(provider)], environment=there.environment)

        *pieces, whole = loop.run(streamed(chat(), Ask(TURNS, "reply")))
        structured = loop.run(answered(chat(), Ask(TURNS, "facts", schema=schema)))
        calling = loop.run(answered(chat(), Ask(TURNS, "reply", tools=(LOOK,))))
    assert pieces == ["She", " is", " in", " Lisbon."]
    assert isinstance(whole, Answer)
    assert whole.text == "She is in Lisbon."
    assert structured.data == {"city": "Lisbon"}
    (asked,) = calling.calls
    assert (asked.name, dict(asked.arguments)) == ("look", {"what": "Ana"})
    assert "city" in json.dumps(there.heard[1].body), "the schema is sent"
