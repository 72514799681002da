"""S1 and S4: agents that chat over one memory, and what they do with their tools."""

import asyncio
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from recollect import RecollectError
from recollect.agents import Agent, Anonymous, Orchestrator, Runtime, runtime
from recollect.domain.errors import ProviderError, SettingsError, ValidationError
from recollect.ports.chat import Answer, Ask, ToolCall
from recollect.testing import ScriptedChat

pytestmark = pytest.mark.anyio
VISITOR = Anonymous("visit 1")


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the tests of this file run in."""
    return "asyncio"


def calling(name: str, **arguments: Any) -> Answer:
    """A model's wish to use a tool."""
    return Answer("", "scripted:model", 1, 1, calls=(ToolCall("1", name, arguments),))


def told(ask: Ask) -> str:
    """Everything that a model was sent."""
    return "\n".join(turn.text for turn in ask.turns)


def system(ask: Ask) -> str:
    return "\n".join(turn.text for turn in ask.turns if turn.role == "system")


def written(folder: Path, word: bytes) -> list[Path]:
    """The files that hold a word."""
    return [file for file in folder.iterdir() if word in file.read_bytes()]


def crew_of(path: Path | None, *models: ScriptedChat, **options: Any) -> Orchestrator:
    crew = Orchestrator(10, None if path is None else str(path), **options)
    for name, model in zip(("tutor", "coder"), models, strict=False):
        crew.create_agent(name, model, f"You are the {name}.")
    return crew


@pytest.mark.acceptance("1.12")
async def test_name_and_colour_are_known_in_the_next_turn_and_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two examples: an agent from a file, and one from code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    said = {"system_message": "You help.", "model": {"provider": "openai", "model": "gpt-4o"}}
    (tmp_path / "configs" / "assistant.json").write_text(json.dumps(said))
    heard = ScriptedChat("Hello Alice.", "Blue it is.", "You are Alice.")
    async with runtime(buffer_memory=10, long_term_memory="sqlite:///memory.db") as app:
        app.add_agent("configs/assistant.json", model=heard)
        await app.chat("assistant", "Remember my name is Alice.")
        await app.chat("assistant", "Remember my favorite color is blue.")
        await app.chat("assistant", "What is my name?")
    assert "my name is Alice" in told(heard.asked[2])
    after = ScriptedChat("Blue.", "Alice.")
    async with Orchestrator(15, "sqlite:///memory.db") as crew:
        crew.create_agent("assistant", after, "You are a helpful assistant with memory.")
        assert await crew.chat("assistant", "What is my favorite color?") == "Blue."
        await crew.chat("assistant", "And my name?")
    assert "favorite color is blue" in told(after.asked[0])
    assert "my name is Alice" in told(after.asked[1])


@pytest.mark.acceptance("1.1")
async def test_what_the_tutor_was_told_is_in_the_prompt_of_the_coder(tmp_path: Path) -> None:
    tutor, coder = ScriptedChat("Hello Alice."), ScriptedChat("Alice.")
    async with crew_of(tmp_path / "memory.db", tutor, coder) as crew:
        await crew.chat("tutor", "Remember my name is Alice.", user="alice")
        reply = await crew.chat("coder", "What is my name?", user="alice")
        assert reply == "Alice."
        assert "my name is Alice" in told(coder.asked[0])
        assert "my name is Alice" not in system(coder.asked[0]), "a message is no instruction"
        assert reply.told.agent == "coder"
        assert [one.text for one in reply.told.context.memories] == ["Remember my name is Alice."]


@pytest.mark.acceptance("1.4")
async def test_without_any_memory_one_can_chat_and_nothing_is_known_later() -> None:
    model = ScriptedChat("Hello.", "I do not know.")
    async with Orchestrator() as crew:
        crew.create_agent("tutor", model, "You teach.")
        assert await crew.chat("My name is Alice.") == "Hello."
        await crew.chat("What is my name?")
    assert "Alice" not in told(model.asked[1])


@pytest.mark.acceptance("1.7")
async def test_message_and_answer_are_remembered_once_each(tmp_path: Path) -> None:
    async with crew_of(tmp_path / "memory.db", ScriptedChat("Tea it is.")) as crew:
        reply = await crew.chat("I like tea.", user="ana")
        memory = await crew.memory_of("ana")
        page = await memory.list(order="asc")
        assert [(one.role, one.text, one.agent) for one in page.items] == [
            ("user", "I like tea.", "tutor"),
            ("assistant", "Tea it is.", "tutor"),
        ]
        assert tuple(one.id for one in page.items) == reply.told.ids


@pytest.mark.acceptance("1.7")
async def test_an_anonymous_chat_knows_its_session_and_leaves_nothing(tmp_path: Path) -> None:
    model = ScriptedChat("Hello.", "Zanzibar.")
    async with crew_of(tmp_path / "memory.db", model) as crew:
        await crew.chat("My secret is zanzibar.", user=VISITOR)
        await crew.chat("What is my secret?", user=VISITOR)
    assert "zanzibar" in told(model.asked[1])
    assert not written(tmp_path, b"anzibar")


@pytest.mark.acceptance("1.8")
@pytest.mark.parametrize("buffer", [10, None])
async def test_anonymous_visits_share_nothing_even_at_once(
    tmp_path: Path, buffer: int | None
) -> None:
    def answer(ask: Ask) -> str:
        return " ".join(word for word in told(ask).split() if word.startswith("canary"))

    async with Orchestrator(buffer, str(tmp_path / "memory.db")) as crew:
        crew.create_agent("tutor", ScriptedChat(then=answer))

        async def visit(number: int) -> str:
            return await crew.chat(f"My word is canary{number}.", user=Anonymous(f"{number}"))

        replies = await asyncio.gather(*(visit(number) for number in range(8)))
    assert replies == [f"canary{number}." for number in range(8)]


async def test_a_failed_answer_of_one_is_not_told_to_the_next() -> None:
    model = ScriptedChat(ProviderError("down"), "Hello.")
    async with Orchestrator() as crew:
        crew.create_agent("tutor", model)
        with pytest.raises(ProviderError):
            await crew.chat("My word is canary.")
        await crew.chat("Hello?")
    assert "canary" not in told(model.asked[1])


async def test_what_a_chat_costs_is_booked_and_kept_within_its_budget(tmp_path: Path) -> None:
    model = ScriptedChat("Noted.", model="openai:gpt-4o-mini")
    async with Orchestrator(5, str(tmp_path / "memory.db")) as crew:
        crew.create_agent("tutor", model)
        memory = crew.long_term_memory
        assert memory is not None
        await crew.chat("I keep bees.", user="ana")
        (line,) = (await memory.cost(by=["user", "agent", "purpose"])).lines
        assert dict(line.names) == {"user": "ana", "agent": "tutor", "purpose": "reasoning"}
        await memory.budgets().set(0.0000001, user="ana")
        reply = await crew.chat("What do I keep?", user="ana")
        assert "I keep bees." in reply
        assert reply.told.model == "none"


async def test_a_model_may_be_named_and_nonsense_is_refused_at_once(tmp_path: Path) -> None:
    async with Orchestrator(5, str(tmp_path / "memory.db")) as crew:
        crew.create_agent("tutor", "openai:gpt-4o-mini")
        for nonsense in (5, "nobody:gpt", ""):
            with pytest.raises(ValidationError):
                crew.create_agent("other", nonsense)  # type: ignore[arg-type]
        crew.create_agent("unknown", "no-such-label")
        with pytest.raises(RecollectError, match="no-such-label"):
            await crew.chat("unknown", "Hello.")


async def test_a_question_that_was_asked_before_is_no_answer(tmp_path: Path) -> None:
    async with Orchestrator(5, str(tmp_path / "memory.db")) as crew:
        crew.create_agent("plain")
        await crew.chat("I live in Oslo.")
        for _ in range(3):
            reply = await crew.chat("Where do I live?")
            assert reply.splitlines()[1:] == ["- I live in Oslo."]


@pytest.mark.slow
@pytest.mark.acceptance("1.8")
async def test_people_never_see_each_other_on_any_channel(tmp_path: Path) -> None:
    """1,000 questions of 20 people to 5 agents, each person with a word of their own."""
    people, agents = [f"person{n}" for n in range(20)], [f"agent{n}" for n in range(5)]
    rng = random.Random(8)
    seen: list[Ask] = []

    def answer(ask: Ask) -> str:
        seen.append(ask)
        return "Noted."

    model = ScriptedChat(then=answer)
    async with Orchestrator(4, str(tmp_path / "memory.db"), embedder="none") as crew:
        for name in agents:
            crew.create_agent(name, model, "You are shared.")
        for person in people:
            memory = await crew.memory_of(person)
            await memory.profile("personal_info").merge({"password": f"canary-{person}."})
            await crew.chat(rng.choice(agents), f"My word is canary-{person}.", user=person)
        leaks = 0
        for number in range(1000):
            person = rng.choice(people)
            foreign = [f"canary-{other}." for other in people if other != person]
            question = f"What is the canary word of {rng.choice(people)}?"
            if number % 4:
                agent = rng.choice([None, *agents])
                shown = json.dumps(await crew.search_memory(question, agent, 10, user_id=person))
            else:
                await crew.chat(rng.choice(agents), "Which words do you know?", user=person)
                shown = told(seen[-1])
                assert f"canary-{person}." in shown
            leaks += sum(word in shown for word in foreign)
        assert leaks == 0
        await crew.clear_memory(True, user_id=people[0])
        left = await crew.search_memory("canary word", user_id=people[1])
        assert any(f"canary-{people[1]}." in one["text"] for one in left)


@pytest.mark.acceptance("1.10")
async def test_a_legacy_agent_chats_over_its_own_memory(tmp_path: Path) -> None:
    model = ScriptedChat("Hello.", "Alice.")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        agent = Agent(model, buffer_memory=5, long_term_memory=str(tmp_path / "own.db"))
    assert [one.category for one in warned] == [DeprecationWarning]
    await agent.chat("My name is Alice.")
    assert await agent.chat("What is my name?") == "Alice."
    assert "Alice" in told(model.asked[1])
    await agent.orchestrator.close()


@pytest.mark.acceptance("1.11")
@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml"])
async def test_an_agent_comes_from_any_format_and_by_bare_name(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUTOR_STYLE", "patient")
    (tmp_path / "configs").mkdir()
    model = {"provider": "openai", "model": "gpt-4o", "api_key": "${OPENAI_KEY}"}
    said = {"system_message": "You are ${TUTOR_STYLE}.", "model": model, "description": "Teaches."}
    text = json.dumps(said)  # JSON is YAML too
    (tmp_path / "configs" / f"tutor{suffix}").write_text(text)
    async with runtime(5) as app:
        agent = app.add_agent("tutor")
        assert (agent.agent_id, agent.system_message) == ("tutor", "You are patient.")
        assert (agent.model.model, agent.description) == ("openai:gpt-4o", "Teaches.")
        assert app.default_agent_id == "tutor"
        with pytest.raises(ValueError, match="tutor"):
            app.add_agent("tutor")
        other = await app.add_agent(f"configs/tutor{suffix}", agent_id="other")
        assert other.agent_id == "other", "add_agent may be awaited"


@pytest.mark.acceptance("1.11")
async def test_an_agent_file_that_is_wrong_says_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = {"provider": "openai", "model": "gpt-4o"}
    files: dict[str, Any] = {
        "missing-variable": {"system_message": "${NOBODY_SET_THIS}", "model": model},
        "a-key": {"model": {**model, "api_key": "sk-verysecret"}},
        "no-model": {"system_message": "Hi."},
        "unknown": {"model": model, "colour": "blue"},
    }
    for name, said in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(said))
    (tmp_path / "broken.json").write_text("{")
    expected = {
        "missing-variable": "NOBODY_SET_THIS",
        "a-key": "NAME_OF_A_VARIABLE",
        "no-model": "provider:model",
        "unknown": "'colour'",
        "broken": "not valid JSON",
        "nowhere": "looked for",
    }
    async with runtime() as app:
        for name, words in expected.items():
            with pytest.raises(SettingsError, match=words) as failed:
                app.add_agent(name)
            assert "verysecret" not in str(failed.value)
        legacy = {"model": model, "memory": {"buffer": 5}}
        (tmp_path / "old.json").write_text(json.dumps(legacy))
        with pytest.warns(DeprecationWarning, match="Orchestrator"):
            app.add_agent("old")


@pytest.mark.acceptance("1.13")
async def test_both_forms_of_chat_work_or_say_what_to_do(tmp_path: Path) -> None:
    model = ScriptedChat(then=lambda ask: ask.turns[-1].text)
    async with crew_of(tmp_path / "memory.db", model) as crew:
        assert await crew.chat("tutor", "one") == "one"
        assert await crew.chat("two") == "two"
        assert await crew.chat(agent_id="tutor", message="three") == "three"
        assert await crew.chat("tutor", message="four") == "four"
        for wrong in ((), ("tutor", "a", "b")):
            with pytest.raises(ValidationError, match="default agent"):
                await crew.chat(*wrong)


# -- tools and the learner's profile --------------------------------------------------------------


@pytest.mark.acceptance("4.1")
async def test_a_name_in_the_profile_is_in_the_next_prompt_and_the_greeting(tmp_path: Path) -> None:
    note = calling("update_memory", category="personal_info", operation="merge",
                   data={"name": "Alice"})  # fmt: skip
    first = ScriptedChat(note, "Nice to meet you.")
    async with crew_of(tmp_path / "memory.db", first) as crew:
        reply = await crew.chat("I am Alice.", user="alice")
        assert reply.told.tools == ("update_memory",)
    assert first.asked[1].turns[-1].text == "Successfully updated personal_info."

    def greet(ask: Ask) -> str:
        return "Hej Alice!" if "Alice" in system(ask) else "Hej!"

    async with crew_of(tmp_path / "memory.db", ScriptedChat(then=greet)) as crew:
        assert await crew.chat("Good morning!", user="alice", session="new") == "Hej Alice!"
        assert await crew.chat("Good morning!", user="ben") == "Hej!"


@pytest.mark.acceptance("4.2")
async def test_a_repeated_error_is_noted_once_as_struggling(tmp_path: Path) -> None:
    note = {"grammar": {"word order": "struggling"}}

    def teach(ask: Ask) -> Any:
        """Notes the error whenever it has seen it three times."""
        if ask.turns[-1].role == "tool":
            return "Try again."
        if told(ask).count("Igår jag gick") >= 3:
            return calling("update_memory", category="areas_to_improve", operation="merge",
                           data=note)  # fmt: skip
        return "Almost."

    async with crew_of(tmp_path / "memory.db", ScriptedChat(then=teach)) as crew:
        used = [
            (await crew.chat(f"Igår jag gick hem, {n}.", user="ana")).told.tools for n in range(5)
        ]
        memory = await crew.memory_of("ana")
        profile = await memory.profile("areas_to_improve").get()
    assert used == [(), (), *[("update_memory",)] * 3]
    assert profile.data == note


@pytest.mark.acceptance("4.8")
async def test_a_bad_call_is_answered_and_never_breaks_the_chat(tmp_path: Path) -> None:
    bad = [
        calling("update_memory", category="hobbies", operation="merge", data={}),
        calling("update_memory", category="personal_info", operation="append", data={}),
        calling("update_memory", category="personal_info", operation="merge", data=["x"]),
        calling("update_memory", category="areas_to_improve", operation="merge",
                data={"said": "Igår jag gick hem"}),
        calling("get_memory", id="mem_00000000000000000000000000000000"),
        calling("no_such_tool"),
    ]  # fmt: skip
    model = ScriptedChat(*bad, "Done.")
    async with crew_of(tmp_path / "memory.db", model) as crew:
        assert await crew.chat("Igår jag gick hem, or what?", user="ana") == "Done."
        memory = await crew.memory_of("ana")
        assert all(not one.data for one in (await memory.profiles()).values())
    answers = [turn.text for turn in model.asked[-1].turns if turn.role == "tool"]
    assert len(answers) == len(bad)
    assert [one.startswith("Error updating memory: ") for one in answers] == [True] * 4 + [
        False
    ] * 2
    assert "nothing was done" in answers[4]
    assert "there is no tool 'no_such_tool'" in answers[5]


@pytest.mark.acceptance("4.8")
async def test_at_most_five_changes_are_made_for_one_message(tmp_path: Path) -> None:
    calls = tuple(
        ToolCall(str(n), "remember", {"text": f"Fact number {n} about boats."}) for n in range(8)
    )
    model = ScriptedChat(Answer("", "scripted:model", 1, 1, calls=calls), "Done.")
    async with crew_of(tmp_path / "memory.db", model) as crew:
        await crew.chat("Tell me about boats.", user="ana")
        memory = await crew.memory_of("ana")
        stored = await memory.list(kind="general")
    assert len(stored.items) == 5
    refused = [turn.text for turn in model.asked[1].turns if "at most 5" in turn.text]
    assert len(refused) == 3


@pytest.mark.acceptance("4.8")
async def test_a_model_without_function_calling_does_the_same_in_writing(tmp_path: Path) -> None:
    arguments = {"category": "personal_info", "operation": "merge", "data": {"name": "Alice"}}
    model = ScriptedChat(
        {"reply": "", "calls": [{"tool": "update_memory", "arguments": arguments}]},
        {"reply": "", "calls": [{"tool": "no_such_tool", "arguments": {}}]},
        {"reply": "Nice to meet you.", "calls": []},
    )
    async with crew_of(tmp_path / "memory.db") as crew:
        crew.create_agent("old", model, "You teach.", function_calling=False)
        reply = await crew.chat("old", "I am Alice.", user="alice")
        assert reply == "Nice to meet you."
        assert reply.told.tools == ("update_memory", "no_such_tool")
        memory = await crew.memory_of("alice")
        assert (await memory.profile("personal_info").get()).data == {"name": "Alice"}
    assert "update_memory: Successfully updated personal_info." in told(model.asked[1])
    assert "there is no tool" in told(model.asked[2])


async def test_erasing_by_tool_asks_first_and_reaches_no_foreign_memory(tmp_path: Path) -> None:
    async with crew_of(tmp_path / "memory.db", ScriptedChat()) as crew:
        mine = await crew.add_to_long_term_memory("Ana likes tea.", user_id="ana")
        foreign = await crew.add_to_long_term_memory("Ben likes tea.", user_id="ben")
        script = [
            calling("forget_memory", id=mine),
            calling("forget_memory", id=mine, confirm=True),
            calling("forget_memory", id=foreign, confirm=True),
        ]
        model = ScriptedChat(*script, "Done.")
        crew.create_agent("gardener", model, "You forget.")
        await crew.chat("gardener", "Forget that.", user="ana")
        answers = [turn.text for turn in model.asked[-1].turns if turn.role == "tool"]
        assert "would erase" in answers[0]
        assert answers[1].startswith("Erased")
        assert "nothing was done" in answers[2]
        assert await crew.search_memory("tea", user_id="ben") != []


async def test_without_a_model_it_says_what_it_remembers(tmp_path: Path) -> None:
    async with crew_of(tmp_path / "memory.db") as crew:
        crew.create_agent("plain")
        assert "remember nothing about that" in await crew.chat("I keep bees in the garden.")
        reply = await crew.chat("What do I keep in the garden?")
        assert "- I keep bees in the garden." in reply
        assert reply.told.model == "none"


async def test_a_reply_comes_piece_by_piece_and_at_the_end_as_a_whole(tmp_path: Path) -> None:
    async with crew_of(tmp_path / "memory.db", ScriptedChat("One two three.")) as crew:
        pieces = [piece async for piece in crew.stream("Count.")]
        assert pieces == ["One", " two", " three.", "One two three."]


def test_a_runtime_is_an_orchestrator() -> None:
    assert issubclass(Runtime, Orchestrator)
    with pytest.raises(ValidationError, match="both name a memory"):
        runtime(long_term_memory="a.db", db_connection_string="sqlite:///b.db")
