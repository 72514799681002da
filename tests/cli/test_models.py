"""The commands about models, agents and money."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import recollect
from recollect.client.runner import Inline
from recollect.domain.scopes import Scope
from recollect.engine.engine import Engine
from recollect.ports.chat import Answer, Ask, Turn
from recollect.testing import ScriptedChat, ScriptedProvider
from tests.cli.conftest import Run

MILLION = 1_000_000


@pytest.fixture
def furnished(run: Run) -> None:
    """Two models and an agent with both."""
    run("models", "add", "cheap", "openai:gpt-4o-mini", "--option", "temperature=0")
    run("models", "add", "dear", "anthropic:claude-sonnet-4-5", "--fallback", "cheap")
    told = run("agents", "add", "tutor", "--model", "dear", "--memory-model", "cheap")
    assert told.status == 0, told.err


@pytest.fixture
def spent() -> None:
    """Two users' calls, one of a model whose price nobody knows."""
    for model, user in (("deepseek:deepseek-chat", "ana"), ("acme:odd", "bob")):
        chat = ScriptedChat(Answer("fine", model, MILLION, 10), model=model)
        prices = {"deepseek:deepseek-chat": (0.14, 0.28)}
        with recollect.open("memory.db", memory_model=chat, prices=prices) as memory:
            engine = memory._inner._backend
            assert isinstance(engine, Engine)
            found = Inline().run(engine._memory_model(Scope(user=user), "context"))
            assert found is not None
            Inline().run(found.answer(Ask((Turn("user", "hi"),), "summary")))


@pytest.mark.usefixtures("furnished")
def test_models_are_added_listed_shown_and_removed(run: Run) -> None:
    listed = run("models", "list")
    assert "anthropic:claude-sonnet-4-5" in listed.out
    assert "OPENAI_API_KEY" in listed.out
    shown = run("models", "show", "cheap", "--json").json
    assert (shown["model"], shown["options"]) == ("gpt-4o-mini", {"temperature": 0})
    refused = run("models", "remove", "cheap")
    assert refused.status == 1
    assert "agent 'tutor' names the model client 'cheap'" in refused.err
    assert run("models", "remove", "cheap", "--release").out == "Removed cheap\n"
    assert [one["label"] for one in run("models", "list", "--json").json["model_clients"]] == [
        "dear"
    ]


@pytest.mark.usefixtures("furnished")
def test_agents_are_added_listed_shown_and_removed(run: Run) -> None:
    assert "cheap" in run("agents", "list").out
    shown = run("agents", "show", "tutor")
    assert "openai:gpt-4o-mini (the memory model of agent tutor)" in shown.out
    changed = run("agents", "add", "tutor", "--memory-model", "none", "--json").json
    assert (changed["model_client"], changed["memory_model_client"]) == ("dear", None)
    wrong = run("agents", "add", "tutor", "--memory-model", "nope")
    assert "agent 'tutor': its memory_model_client names the model client 'nope'" in wrong.err
    assert run("agents", "remove", "tutor").status == 0
    assert run("agents", "list", "--json").json == {"agents": []}


@pytest.mark.acceptance("0.5", half="agents are built by the agents room")
@pytest.mark.acceptance("0.6")
@pytest.mark.usefixtures("furnished")
def test_what_is_dumped_loads_to_the_same_by_every_face(run: Run) -> None:
    dumped = run("agents", "dump").out
    Path("all.json").write_text(dumped, encoding="utf-8")
    assert run("agents", "load", "all.json", "--db", "other.db").out == (
        "Loaded 2 models and 1 agent\n"
    )
    assert run("agents", "dump", "--db", "other.db").out == dumped
    with recollect.open("third.db") as memory:
        memory.agents().load("all.json")
        assert memory.agents().dump() == run("agents", "dump", "--json").json


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cheap", "openai:x", "--key-env", "sk-secret"), "a key itself is never stored"),
        (("cheap", "acme:x"), "say its base_url"),
        (("cheap", "openai:x", "--option", "temperature=9"), "a number from 0 to 2"),
        (("cheap", "openai:x", "--option", "temperature"), "must be NAME=VALUE"),
        (("cheap", "openai:x", "--option", "api_key=1"), "no option 'api_key'"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_why(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    told = run("models", "add", *arguments)
    assert told.status in (1, 2)
    assert said in told.err
    assert "sk-secret" not in told.err


def test_a_model_is_tested_by_asking_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedProvider("ready", "ready") as there:
        monkeypatch.setenv("SCRIPTED_KEY", there.key)
        where = ("--url", f"{there.url}/v1", "--key-env", "SCRIPTED_KEY")
        run("models", "add", "mine", "acme:small", *where, "--option", "retries=0")
        told = run("models", "test", "mine")
        assert (told.status, told.out.startswith("Answers: mine (acme:small)")) == (0, True)
        run("agents", "add", "tutor", "--model", "mine")
        assert run("agents", "test", "tutor", "--json").json["tests"][0]["ok"] is True
        there.failing = "key refused"
        told = run("models", "test", "mine", "--json")
        assert (told.status, told.json["tests"][0]["ok"]) == (1, False)
        assert told.json["tests"][0]["error"].startswith("provider-auth: acme:small answered 401")
    assert run("cost", "--json").json["total"]["calls"] == 2


@pytest.mark.acceptance("2.10")
@pytest.mark.usefixtures("spent")
def test_costs_are_told_in_a_table_in_json_and_in_a_drawing(run: Run) -> None:
    told = run("cost", "--by", "model", "--by", "user")
    assert "$0.1400" in told.out
    assert "unknown" in told.out
    assert "The price of 1 calls is not known" in told.out
    data: dict[str, Any] = run("cost", "--by", "user", "--json").json
    assert {one["user"]: (one["usd"], one["unpriced"]) for one in data["lines"]} == {
        "ana": (0.1400028, 0),
        "bob": (0.0, 1),
    }
    assert run("cost", "--for-user", "ana", "--json").json["total"]["calls"] == 1
    drawn = run("cost", "--by", "model", "--plot", "costs.svg")
    assert "drawn in costs.svg" in drawn.err
    picture = ElementTree.parse("costs.svg").getroot()
    titles = [one.text or "" for one in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert any("deepseek:deepseek-chat: $0.1400" in title for title in titles)


def test_without_calls_there_is_nothing_to_pay(run: Run) -> None:
    run("remember", "hello")
    assert run("cost").out == "No calls of models are on record.\n"
    assert run("cost", "--plot", "empty.svg").status == 0
    assert run("budgets", "list").out == "No budgets: nothing bounds what models may cost.\n"


@pytest.mark.usefixtures("spent")
def test_budgets_are_set_listed_and_removed(run: Run) -> None:
    run("budgets", "set", 0.1, "--for-user", "ana")
    told = run("budgets", "set", 5, "--period", "day", "--json").json["budgets"]
    assert [(one["user"], one["usd"], one["period"]) for one in told] == [
        (None, 5.0, "day"),
        ("ana", 0.1, "month"),
    ]
    assert "$0.1400" in run("budgets", "list").out
    run("budgets", "remove", "--for-user", "ana")
    assert len(run("budgets", "remove", "--json").json["budgets"]) == 0
    assert run("budgets", "set", -1).status == 2
