"""Chats of providers: what is refused, repaired, tried again, and what it is called."""

import asyncio
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from recollect.client.runner import Inline, LoopThread
from recollect.domain.clients import client_of, named_client
from recollect.domain.errors import (
    ProviderAuth,
    ProviderBadResponse,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ValidationError,
)
from recollect.models.beside import ChatBeside
from recollect.models.chat.connecting import connect
from recollect.models.chat.remote import RemoteChat
from recollect.models.chat.steady import SteadyChat
from recollect.models.steady import Pace
from recollect.ports.chat import Answer, Ask, Chat, Turn
from recollect.testing import Fault, ScriptedChat, ScriptedProvider

T = TypeVar("T")
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}
HELLO = (Turn("user", "Hello."),)


class Paced:
    """A pace at which no time passes but what is waited."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waited: list[float] = []
        self.pace = Pace(now=lambda: self.time, sleep=self.sleep, share=lambda: 1.0)

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.time += seconds


async def closing(chat: Chat, work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    finally:
        await chat.close()


def asked(chat: Chat, **options: Any) -> Answer:
    return asyncio.run(closing(chat, chat.answer(Ask(HELLO, "facts", **options))))


def remote(there: ScriptedProvider, provider: str = "openai", **said: Any) -> RemoteChat:
    return RemoteChat(there.client(provider, **said), environment=there.environment)


@pytest.mark.parametrize(
    "said",
    ['```json\n{"facts": ["tea"]}\n```', 'Sure! {"facts": ["tea"]} Anything else?'],
    ids=["fenced", "chatty"],
)
def test_json_is_read_out_of_what_models_put_around_it(said: str) -> None:
    with ScriptedProvider(said) as there:
        assert asked(remote(there), schema=SCHEMA).data == {"facts": ["tea"]}
    assert len(there.heard) == 1


def test_an_answer_against_the_schema_is_sent_back_with_what_is_wrong() -> None:
    with ScriptedProvider({"facts": "tea", "more": 1}, {"facts": ["tea"]}) as there:
        answer = asked(remote(there), schema=SCHEMA)
    assert answer.data == {"facts": ["tea"]}
    told = there.heard[1].body["messages"][-1]["content"]
    assert "$.facts must be array" in told
    assert "$.more is not known" in told
    assert [one.tokens_in > 0 for one in answer.usage] == [True, True], "both calls are counted"


def test_an_answer_that_cannot_be_repaired_is_reported_with_its_faults_and_what_it_took() -> None:
    against = pytest.raises(ProviderBadResponse, match="against the schema: it is not JSON")
    with ScriptedProvider("no", '{"facts": [NaN]}') as there, against as told:
        asked(remote(there), schema=SCHEMA)
    assert len(told.value.spent) == 2


def test_a_key_is_needed_before_anything_is_sent_and_is_never_shown() -> None:
    with ScriptedProvider(Fault("key refused"), key="sk-very-secret") as there:
        with pytest.raises(ProviderAuth, match="SCRIPTED_KEY that is to hold it is not set"):
            asked(RemoteChat(there.client(), environment={}))
        assert there.heard == []
        chat = remote(there)
        with pytest.raises(ProviderAuth, match="openai:scripted-1 answered 401") as told:
            asked(chat)
    assert "sk-very-secret" in there.heard[0].headers["authorization"]
    shown = f"{told.value} {told.value!r} {chat!r} {there.client()!r} {there.client().to_dict()}"
    assert "sk-very" not in shown


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("bad request", ProviderRejected),
        ("no such model", ProviderRejected),
        ("forbidden", ProviderAuth),
        ("rate limited", ProviderError),
        ("redirect", ProviderBadResponse),
        ("packed", ProviderBadResponse),
        ("endless", ProviderBadResponse),
        ("hang", ProviderTimeout),
        ("drip", ProviderTimeout),
        ("reset", ProviderError),
        ("a page", ProviderBadResponse),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_failures_have_names(provider: str, fault: str, error: type[ProviderError]) -> None:
    with ScriptedProvider(Fault(fault)) as there:
        chat = RemoteChat(
            there.client(provider), environment=there.environment, bytes_max=1024 * 1024
        )
        with pytest.raises(ProviderError) as told:
            asked(chat, deadline_s=0.3 if error is ProviderTimeout else 5)
    assert type(told.value) is error
    assert str(told.value).startswith(f"{provider}:scripted-1")
    assert len(there.heard) == 1, "nothing is followed, and nothing tried again below"


def test_a_stream_keeps_the_deadline_of_the_whole() -> None:
    async def pieces(chat: Chat) -> list[str | Answer]:
        return [piece async for piece in chat.stream(Ask(HELLO, "reply", deadline_s=0.2))]

    with ScriptedProvider(Fault("drip")) as there:
        chat = remote(there)
        with pytest.raises(ProviderTimeout, match=r"within 0\.2 s"):
            asyncio.run(closing(chat, pieces(chat)))


# -- trying again ----------------------------------------------------------------------------------


def test_what_may_pass_is_tried_again_with_growing_waits_and_what_will_not_is_not() -> None:
    paced = Paced()
    down = ProviderError("down")
    chat = ScriptedChat(down, down, "there", ProviderRejected("too long"), model="a:b")
    steady = SteadyChat([chat], pace=paced.pace)
    assert asked(steady).text == "there"
    assert paced.waited == [0.2, 0.4]
    with pytest.raises(ProviderRejected):
        asked(steady)
    assert len(chat.asked) == 4


def test_a_provider_that_names_a_time_is_asked_then_unless_the_deadline_is_before_it() -> None:
    paced = Paced()
    busy = ProviderError("busy", retry_after_s=5)
    chat = ScriptedChat(busy, "there", busy)
    assert asked(SteadyChat([chat], pace=paced.pace), deadline_s=60).text == "there"
    assert paced.waited == [5]
    assert [round(one.deadline_s) for one in chat.asked] == [60, 55], "the deadline is for all"
    with pytest.raises(ProviderError, match="busy"):
        asked(SteadyChat([chat], pace=paced.pace), deadline_s=4)
    assert paced.waited == [5]


def test_another_model_answers_when_the_first_does_not_and_the_answer_says_which() -> None:
    first = ScriptedChat(then=lambda _: ProviderAuth("no key"), model="a:one", window=9000)
    second = ScriptedChat("hello", "hello", model="b:two", window=5000)
    steady = SteadyChat([first, second], pace=Paced().pace)
    assert (steady.model, steady.window) == ("a:one", 5000)
    assert asked(steady).model == "b:two"

    async def pieces() -> list[str | Answer]:
        return [piece async for piece in steady.stream(Ask(HELLO, "reply"))]

    whole = asyncio.run(pieces())[-1]
    assert isinstance(whole, Answer)
    assert (whole.text, whole.model) == ("hello", "b:two")


@pytest.mark.acceptance("3.12", half="the client of a server has no breaker yet")
def test_a_model_that_is_down_is_left_alone_for_a_minute_and_then_tried_once() -> None:
    paced = Paced()
    chat = ScriptedChat(then=lambda _: ProviderError("down"), model="a:b")
    steady = SteadyChat([chat], retries=[0], pace=paced.pace)
    for _ in range(5):
        with pytest.raises(ProviderError):
            asked(steady)
    assert len(chat.asked) == 3, "three in a row"
    with pytest.raises(ProviderError, match="did not answer 3 times in a row"):
        asked(steady)
    paced.time += 60
    for _ in range(3):
        with pytest.raises(ProviderError):
            asked(steady)
    assert len(chat.asked) == 4, "one try after a minute"
    paced.time += 60
    chat._then = lambda _: "there"
    assert [asked(steady).text for _ in range(3)] == ["there"] * 3


def test_a_model_that_says_no_is_there_and_does_not_count_as_down() -> None:
    chat = ScriptedChat(then=lambda _: ProviderRejected("no"), model="a:b")
    steady = SteadyChat([chat], pace=Paced().pace)
    for _ in range(9):
        with pytest.raises(ProviderRejected):
            asked(steady)
    assert len(chat.asked) == 9


# -- lifecycle -------------------------------------------------------------------------------------


def test_every_model_is_closed_also_when_the_closing_of_one_fails() -> None:
    class Stuck(ScriptedChat):
        async def close(self) -> None:
            await super().close()
            raise ProviderError("stuck")

    chats = [Stuck(), ScriptedChat(), Stuck()]
    with pytest.raises(ProviderError, match="stuck"):
        asyncio.run(SteadyChat(chats).close())
    assert [chat.closed for chat in chats] == [1, 1, 1]


def test_code_without_a_loop_asks_through_a_thread_and_leaves_none_behind() -> None:
    with ScriptedProvider("one", "two words") as there:
        steady = connect([there.client()], environment=there.environment)
        chat = ChatBeside(steady, LoopThread)
        assert chat.inline
        assert Inline().run(chat.answer(Ask(HELLO, "reply"))).text == "one"

        async def pieces() -> list[str | Answer]:
            return [piece async for piece in chat.stream(Ask(HELLO, "reply"))]

        assert Inline().run(pieces())[:-1] == ["two", " words"]
        Inline().run(chat.close())
        Inline().run(chat.close())


# -- clients ---------------------------------------------------------------------------------------


def test_a_client_is_named_by_provider_and_model_and_knows_the_usual_rest() -> None:
    client = named_client("anthropic:claude-sonnet-4-5")
    assert (client.url, client.key_variable) == ("https://api.anthropic.com", "ANTHROPIC_API_KEY")
    assert named_client("google:gemini-2.5-flash").provider == "gemini"
    assert RemoteChat(named_client("ollama:llama3.2:3b")).model == "ollama:llama3.2:3b"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"key_env": "sk-proj-abcdefghijkl"}, "key_env"),
        ({"key_env": "AIzaSyA1234567890"}, "key_env"),
        ({"base_url": "https://me:secret@example.com"}, "base_url"),
        ({"base_url": "https://example.com/v1?key=secret"}, "base_url"),
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"provider": "acme"}, "base_url"),
        ({"api_key": "sk-secret"}, "api_key"),
        ({"options": {"api_key": "sk-secret"}}, "options.api_key"),
        ({"options": {"temperature": True}}, "options.temperature"),
        ({"options": {"fallbacks": "other"}}, "options.fallbacks"),
        ({"active": "yes"}, "active"),
        ({"model": ""}, "model"),
        ({"label": None}, "label"),
    ],
)
def test_a_client_that_cannot_be_is_refused_by_field_and_shows_no_secret(
    said: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as told:
        client_of({"label": "cheap", "model": "openai:gpt-4o-mini", **said})
    assert told.value.field == field
    assert "secret" not in str(told.value)
    assert "abcdef" not in str(told.value)


def test_what_a_client_says_is_json() -> None:
    client = client_of({"name": "cheap", "provider": "OpenAI", "model_name": "gpt-4o-mini"})
    assert client_of(json.loads(json.dumps(client.to_dict()))) == client


def test_threads_that_ask_at_once_share_one_connection_and_one_loop() -> None:
    started: list[LoopThread] = []

    def start() -> LoopThread:
        started.append(LoopThread())
        return started[-1]

    with ScriptedProvider(then=lambda _: "there") as there:
        chat = ChatBeside(connect([there.client()], environment=there.environment), start)
        with ThreadPoolExecutor(8) as pool:
            calls = [
                pool.submit(lambda: Inline().run(chat.answer(Ask(HELLO, "reply")))).result
                for _ in range(16)
            ]
            assert [call().text for call in calls] == ["there"] * 16
        Inline().run(chat.close())
    assert len(started) == 1
