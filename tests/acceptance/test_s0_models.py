"""Acceptance S0: a memory model that is not the model an agent thinks with."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.client.runner import Inline
from recollect.domain.clients import ModelClient
from recollect.domain.errors import ConflictError, NotFound, ProviderError
from recollect.engine.engine import Engine
from recollect.ports.chat import Ask, Chat, Turn
from recollect.testing import InMemoryStore, ScriptedChat, ScriptedProvider, open_memory
from tests.faces import FACES, World, opened
from tests.fixtures.make import SCHEMAS

SECRET = "sk-live-0123456789abcdef"
HELLO = (Turn("user", "Summarise this."),)
DECLARED = {
    "model_clients": [
        {
            "label": "dear",
            "provider": "anthropic",
            "model": "large",
            "key_env": "DEAR_KEY",
            "options": {"window": 9000},
        },
        {"label": "cheap", "model": "openai:small"},
        {"label": "spare", "model": "ollama:tiny", "active": False},
    ],
    "agents": [
        {"label": "chat", "model_client": "dear", "memory_model_client": "cheap"},
        {"label": "code", "type": "code", "model_client": "dear", "memory_model_client": "cheap"},
        {
            "label": "bare",
            "type": "tool-less",
            "model_client": "dear",
            "memory_model_client": None,
            "system_message": "Be brief.",
            "context": {"tokens_max": 900},
        },
    ],
}
YAML = """
model_clients:
  - {label: dear, provider: anthropic, model: large, key_env: DEAR_KEY, options: {window: 9000}}
  - {label: cheap, model: 'openai:small'}
  - {label: spare, model: 'ollama:tiny', active: false}
agents:
  - {label: chat, model_client: dear, memory_model_client: cheap}
  - {label: code, type: code, model_client: dear, memory_model_client: cheap}
  - label: bare
    type: tool-less
    model_client: dear
    memory_model_client: null
    system_message: Be brief.
    context: {tokens_max: 900}
"""


@pytest.fixture(params=FACES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(request.param, tmp_path) as found:
        yield found


class Shelf:
    """Makes scripted chats for clients, and keeps them."""

    def __init__(self) -> None:
        self.made: dict[str, ScriptedChat] = {}

    def __call__(self, clients: Any) -> Chat:
        client: ModelClient = clients[0]
        if client.label == "broken":
            raise ProviderError("cannot be opened")
        assert client.label not in self.made, "one client, one chat"
        chat = ScriptedChat(then=lambda _: f"by {client.label}", model=client.name)
        self.made[client.label] = chat
        return chat


def engine_of(memory: Memory) -> Engine:
    engine = memory._inner._backend
    assert isinstance(engine, Engine)
    return engine


def with_shelf(**options: Any) -> tuple[Memory, Shelf]:
    memory, shelf = open_memory(**options), Shelf()
    engine_of(memory)._chats._connect = shelf
    memory.agents().load(DECLARED)
    return memory, shelf


def summarise(memory: Memory, agent: str | None) -> str:
    """A piece of memory work, as every place that needs a model asks for it."""
    scope = memory._inner._scope.narrowed(agent=agent)
    chat = Inline().run(engine_of(memory)._memory_model(scope, "context"))
    assert chat is not None
    return Inline().run(chat.answer(Ask(HELLO, "summary"))).text


def reply(memory: Memory, agent: str | None) -> str:
    scope = memory._inner._scope.narrowed(agent=agent)
    chat = Inline().run(engine_of(memory)._reasoning_model(scope, "reply"))
    assert chat is not None
    return Inline().run(chat.answer(Ask(HELLO, "reply"))).text


@pytest.mark.acceptance("0.1")
@pytest.mark.parametrize(("agent", "works"), [("chat", "cheap"), ("bare", "dear")])
def test_a_long_output_is_summed_up_by_the_memory_model_of_its_agent(
    agent: str, works: str
) -> None:
    memory, shelf = with_shelf()
    with memory.scope(agent=agent).session(id="s1") as chat:
        chat.add("tool", "line of a log that nobody wants to read again\n" * 400)
        context = chat.context("What went wrong?")
    assert f"by {works}" in context.text
    assert {name: len(one.asked) for name, one in shelf.made.items()} == {works: 1}
    assert shelf.made[works].asked[0].purpose == "summary"
    told = memory.cost(by=["purpose", "agent", "operation"]).lines
    assert [dict(one.names) for one in told] == [
        {"purpose": "memory", "agent": agent, "operation": "context"}
    ]


@pytest.mark.acceptance("0.1")
def test_memory_work_is_done_by_the_memory_model_and_never_by_the_reasoning_model() -> None:
    memory, shelf = with_shelf()
    assert summarise(memory, "chat") == "by cheap"
    assert list(shelf.made) == ["cheap"], "the other one is not even opened"
    assert reply(memory, "chat") == "by dear"
    assert [len(shelf.made[name].asked) for name in ("cheap", "dear")] == [1, 1]


@pytest.mark.acceptance("0.2")
def test_without_one_the_agents_own_does_it_and_the_systems_only_where_configured() -> None:
    system = ScriptedChat(then=lambda _: "by the system", model="a:system")
    memory, _ = with_shelf(memory_model=system)
    assert summarise(memory, "bare") == "by dear"
    assert summarise(memory, "chat") == "by cheap"
    assert summarise(memory, None) == summarise(memory, "nobody knows") == "by the system"
    first, _ = with_shelf(memory_model=system, memory_model_first="on")
    assert summarise(first, "bare") == "by the system"
    assert summarise(first, "chat") == "by cheap"


@pytest.mark.acceptance("0.2")
def test_status_reports_which_model_works_and_why(world: World) -> None:
    world.memory.agents().load(DECLARED)
    told = world.memory.scope(agent="chat").status()["models"]
    assert (told["memory"]["label"], told["memory"]["model"]) == ("cheap", "openai:small")
    assert told["memory"]["why"] == "the memory model of agent chat"
    assert told["reasoning"]["label"] == "dear"
    bare = world.memory.scope(agent="bare").status()["models"]
    assert bare["memory"]["why"] == "the model that agent bare thinks with"
    assert world.memory.status()["models"]["memory"]["model"] is None
    world.memory.models().set("cheap", active=False)
    told = world.memory.scope(agent="chat").status()["models"]
    assert told["memory"]["label"] == "dear", "one that is off does nothing"


@pytest.mark.acceptance("0.3")
@pytest.mark.parametrize("field", ["model_client", "memory_model_client"])
def test_a_label_that_is_nowhere_is_refused_with_agent_field_and_label(
    world: World, field: str
) -> None:
    world.memory.agents().load(DECLARED)
    with pytest.raises(NotFound, match=f"agent 'chat': its {field} names .*'nope'"):
        world.memory.agents().set("chat", **{field: "nope"})
    assert world.memory.agents().get("chat").memory_model_client == "cheap"


@pytest.mark.acceptance("0.3")
def test_a_system_model_that_is_nowhere_is_an_error_before_anything_is_asked() -> None:
    memory, shelf = with_shelf(memory_model="nope")
    with pytest.raises(ProviderError, match=r"the system's memory model is 'nope'.*known: cheap"):
        summarise(memory, None)
    assert "'nope'" in memory.status()["models"]["memory"]["why"]
    assert shelf.made == {}


@pytest.mark.acceptance("0.4")
def test_one_label_is_one_client_that_is_closed_once() -> None:
    memory, shelf = with_shelf()
    memory.agents().set("chat", memory_model_client="dear")
    assert (summarise(memory, "chat"), reply(memory, "chat")) == ("by dear", "by dear")
    assert list(shelf.made) == ["dear"]
    memory.close()
    memory.close()
    assert shelf.made["dear"].closed == 1


@pytest.mark.acceptance("0.4")
@pytest.mark.parametrize("ending", ["end", "raise", "cannot open", "interrupt"])
def test_two_labels_are_closed_once_each_however_it_ends(ending: str) -> None:
    memory, shelf = with_shelf()
    memory.models().set("broken", model="openai:small")
    memory.agents().set("other", model_client="broken")

    def body() -> None:
        with memory:
            summarise(memory, "chat")
            reply(memory, "chat")
            if ending == "cannot open":
                reply(memory, "other")
            if ending != "end":
                raise KeyboardInterrupt if ending == "interrupt" else ValueError("the body raised")

    with suppress(ValueError, ProviderError, KeyboardInterrupt):
        body()
    assert {name: chat.closed for name, chat in shelf.made.items()} == {"cheap": 1, "dear": 1}


@pytest.mark.acceptance("0.4")
def test_the_others_are_closed_when_the_closing_of_one_fails() -> None:
    memory, shelf = with_shelf()
    summarise(memory, "chat")
    reply(memory, "chat")

    async def fails() -> None:
        raise ProviderError("stuck")

    shelf.made["cheap"].close = fails  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match="stuck"):
        memory.close()
    assert shelf.made["dear"].closed == 1


@pytest.mark.acceptance("0.5", half="agents are built by the agents room")
def test_python_json_yaml_and_toml_make_the_same_for_every_type_of_agent(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "all.json").write_text(json.dumps(DECLARED), encoding="utf-8")
    (tmp_path / "all.yaml").write_text(YAML, encoding="utf-8")
    dumps = []
    for source in (DECLARED, str(tmp_path / "all.json"), str(tmp_path / "all.yaml")):
        with open_memory() as memory:
            assert memory.agents().load(source) == {"model_clients": 3, "agents": 3}
            dumps.append(memory.agents().dump())
    for one in DECLARED["model_clients"]:
        world.memory.models().set(**one)
    for one in DECLARED["agents"]:
        world.memory.agents().set(**one)
    dumps.append(world.memory.agents().dump())
    assert all(dump == dumps[0] for dump in dumps)
    for agent in ("chat", "code"):
        told = world.memory.scope(agent=agent).status()["models"]["memory"]
        assert told["label"] == "cheap", agent


@pytest.mark.acceptance("0.6")
def test_configuration_survives_store_reload_and_dump(tmp_path: Path) -> None:
    file = str(tmp_path / "memory.db")
    with recollect.open(file) as memory:
        memory.agents().load(DECLARED)
        dump = memory.agents().dump()
    with recollect.open(file) as memory:
        assert memory.agents().dump() == dump
        assert memory.verify().ok
    with open_memory() as memory:
        memory.agents().load(json.loads(json.dumps(dump)))
        assert memory.agents().dump() == dump


@pytest.mark.acceptance("0.6")
def test_a_client_that_is_referred_to_is_not_removed_unless_its_agents_are_released(
    world: World,
) -> None:
    world.memory.agents().load(DECLARED)
    with pytest.raises(ConflictError, match="agent 'chat' names the model client 'cheap'"):
        world.memory.models().remove("cheap")
    with pytest.raises(ConflictError, match="as its model_client"):
        world.memory.models().remove("dear", release=True)
    world.memory.models().remove("cheap", release=True)
    assert {one.memory_model_client for one in world.memory.agents().list()} == {None}
    world.memory.models().remove("spare")
    assert [one.label for one in world.memory.models().list()] == ["dear"]


@pytest.mark.acceptance("0.6")
@pytest.mark.parametrize("schema", ["0001", "0002", "0003", "0004"])
def test_a_file_from_before_comes_forward_and_a_config_from_before_loads(
    tmp_path: Path, schema: str
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress((SCHEMAS / f"{schema}.db.gz").read_bytes()))
    old = {
        "model_clients": [
            {
                "label": "gpt",
                "provider": "openai",
                "model_name": "gpt-4o",
                "api_key_type": "OPENAI_API_KEY",
                "config": {"temperature": 0.2},
                "is_active": True,
            }
        ],
        "agents": [{"name": "assistant", "model_client": "gpt", "system_message": "Help."}],
    }
    with recollect.open(str(path)) as memory:
        memory.agents().load(old)
        assert memory.agents().get("assistant").memory_model_client is None
        assert memory.models().get("gpt").key_env == "OPENAI_API_KEY"
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT memory_model_client_id FROM agents").fetchall() == [(None,)]
    indexed = "SELECT count(*) FROM sqlite_master WHERE name = 'agents_memory_model_client'"
    assert connection.execute(indexed).fetchone() == (1,)
    connection.close()


@pytest.mark.acceptance("0.12", half="the console is not built yet")
def test_only_the_name_of_the_variable_that_holds_a_key_is_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("SCRIPTED_KEY", SECRET)
    file = tmp_path / "memory.db"
    with ScriptedProvider("ready", key=SECRET) as there, recollect.open(str(file)) as memory:
        client = there.client("openai").to_dict()
        memory.models().set(**client)
        memory.agents().set("chat", model_client="openai")
        answered = memory.models().test("openai")
        assert answered["ok"], answered
        there.failing = "key refused"
        refused = memory.models().test("openai")
        shown = [answered, refused, memory.agents().dump(), memory.status(), memory.stats()]
        shown += [memory.events(limit=99), memory.cost(by="model"), memory.models().list()]
        sent = there.heard[0].headers["authorization"]
    assert SECRET in sent, "it was used"
    assert "SCRIPTED_KEY" in json.dumps(shown[2])
    assert SECRET not in f"{shown!r} {caplog.text}"
    for kept in tmp_path.iterdir():
        assert SECRET.encode() not in kept.read_bytes()


def test_a_store_given_by_the_caller_is_enough() -> None:
    with Memory.open("memory.db", store=InMemoryStore()) as memory:
        memory.agents().load(DECLARED)
        assert memory.models().get("dear").url == "https://api.anthropic.com"
