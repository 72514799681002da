"""S1: the memory belongs to the orchestrator, and all of its agents share it."""

import asyncio
import os
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, RecollectError
from recollect.agents import Agent, Anonymous, BufferMemory, Orchestrator
from recollect.domain.errors import NotFound, StorageError, ValidationError
from recollect.testing import ScriptedChat

pytestmark = pytest.mark.anyio
VISITOR = Anonymous("visit 1")


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the tests of this file run in."""
    return "asyncio"


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Orchestrator]:
    """Two agents on one file."""
    async with two_agents(tmp_path / "memory.db") as made:
        yield made


def content(file: Path) -> str:
    return file.read_bytes().decode("latin-1")


def two_agents(path: Path | None, buffer: object = 10) -> Orchestrator:
    crew = Orchestrator(buffer, None if path is None else str(path))
    for name in ("tutor", "coder"):
        crew.create_agent(name, ScriptedChat(), f"You are the {name}.")
    return crew


@pytest.mark.acceptance("1.1")
async def test_what_one_agent_is_told_the_other_finds(crew: Orchestrator) -> None:
    await crew.add_to_buffer_memory("My name is Alice.", agent_id="tutor", user_id="alice")
    (found,) = await crew.search_memory("name", user_id="alice")
    assert found["text"] == "My name is Alice."
    assert found["metadata"]["agent_id"] == "tutor"
    assert await crew.search_memory("name", agent_id="coder", user_id="alice") == []
    assert await crew.search_memory("name", agent_id="tutor", user_id="alice") == [found]


@pytest.mark.acceptance("1.2", half="postgresql:// comes with the service")
@pytest.mark.parametrize(
    ("given", "capacity"),
    [
        (5, 50),
        ({"window_size": 3, "buffer_multiplier": 4}, 12),
        ({"max_size": 2}, 20),
        (BufferMemory(7, buffer_multiplier=1), 7),
    ],
)
def test_a_buffer_is_a_size_a_mapping_or_itself(given: object, capacity: int) -> None:
    buffer = Orchestrator(given).buffer_memory
    assert buffer is not None
    assert buffer.capacity == capacity


@pytest.mark.acceptance("1.2", half="postgresql:// comes with the service")
@pytest.mark.parametrize(
    "given", [True, False, 0, -1, 1.5, "10", {"size": 3}, {"window_size": 0}, {"max_size": True}]
)
def test_no_other_buffer_is_taken(given: object) -> None:
    with pytest.raises(ValidationError):
        Orchestrator(given)


@pytest.mark.acceptance("1.2", half="postgresql:// comes with the service")
async def test_a_long_term_memory_is_a_path_a_url_true_or_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("a.db", "sqlite:///b.db", Path("c.db"), True):
        async with Orchestrator(long_term_memory=given) as crew:
            assert await crew.add_to_long_term_memory("Tea is ready.") is not None
    assert {"a.db", "b.db", "c.db", "memory.db"} <= set(os.listdir())
    async with AsyncMemory.open("d.db") as memory:
        assert Orchestrator(long_term_memory=memory).long_term_memory is memory
    assert Orchestrator().long_term_memory is None
    for nonsense in (False, 3, "", ["a.db"]):
        with pytest.raises(ValidationError):
            Orchestrator(long_term_memory=nonsense)


@pytest.mark.acceptance("1.3")
def test_a_memory_that_cannot_be_opened_fails_at_once_and_keeps_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in ("mysql://ana:hunter2@db.example/memory", "mongodb://ana:hunter2@db.example"):
        with pytest.raises(RecollectError, match=r"ana:\*\*\*@db\.example") as failed:
            Orchestrator(long_term_memory=url)
        assert "hunter2" not in str(failed.value)
    (tmp_path / "a-file").touch()
    with pytest.raises(StorageError, match="a-file"):
        Orchestrator(long_term_memory=str(tmp_path / "a-file" / "memory.db"))
    monkeypatch.setenv("POSTGRES_DATABASE_URL", "mysql://ana:hunter2@db.example/memory")
    with pytest.raises(RecollectError, match=r"ana:\*\*\*@db\.example"):
        Orchestrator(long_term_memory=True)


@pytest.mark.acceptance("1.4", half="chatting comes with the chat")
async def test_without_memory_adding_gives_nothing_and_searching_finds_nothing() -> None:
    async with two_agents(None, buffer=None) as crew:
        assert await crew.add_to_buffer_memory("Hello.") is False
        assert await crew.add_to_long_term_memory("Hello.") is None
        assert await crew.search_memory("hello") == []


@pytest.mark.acceptance("1.5")
async def test_search_merges_both_on_one_scale_best_first(crew: Orchestrator) -> None:
    await crew.add_to_long_term_memory("The harbour opens at nine.", user_id="ana")
    await crew.add_to_buffer_memory("When does the harbour open?", user_id="ana")
    await crew.add_to_buffer_memory("I like tea.", user_id="ana")
    found = await crew.search_memory("the harbour opens", user_id="ana")
    assert {one["source"] for one in found[:2]} == {"buffer", "long_term"}
    assert [one["distance"] for one in found] == sorted(one["distance"] for one in found)
    assert len(await crew.search_memory("the harbour opens", k=1, user_id="ana")) == 1
    assert [one["text"] for one in await crew.search_memory("tea", k=1, user_id="ana")] == [
        "I like tea."
    ]
    only = await crew.search_memory("the harbour opens", use_long_term=False, user_id="ana")
    assert {one["source"] for one in only} == {"buffer"}
    marked = {"topic": "boats"}
    await crew.add_to_long_term_memory("The harbour is deep.", metadata=marked, user_id="ana")
    chosen = await crew.search_memory("harbour", filter_metadata=marked, user_id="ana")
    assert [one["text"] for one in chosen] == ["The harbour is deep."]


@pytest.mark.acceptance("1.6")
@pytest.mark.parametrize("lasting", [True, False])
async def test_the_buffer_evicts_the_oldest_and_prefers_the_newer(
    tmp_path: Path, lasting: bool
) -> None:
    path = tmp_path / "memory.db" if lasting else None
    async with two_agents(path, {"window_size": 2, "buffer_multiplier": 2}) as crew:
        for number in range(6):
            await crew.add_to_buffer_memory(f"The train leaves at {number}.", user_id="ana")
        assert crew.buffer_memory is not None
        window = [said.text for said in crew.buffer_memory.window("ana")]
        assert window == ["The train leaves at 4.", "The train leaves at 5."]
        found = await crew.search_memory("train", k=10, use_long_term=False, user_id="ana")
        assert [one["text"][-2] for one in found] == ["5", "4", "3", "2"]


@pytest.mark.acceptance("1.6")
async def test_after_a_restart_the_buffer_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with two_agents(path) as crew:
        for number in range(4):
            await crew.add_to_buffer_memory(f"Message {number}.", agent_id="tutor", user_id="ana")
        await crew.clear_memory(agent_id="tutor", user_id="ana")
        await crew.add_to_buffer_memory("After clearing.", agent_id="tutor", user_id="ana")
        await crew.add_to_buffer_memory("Of the other.", agent_id="coder", user_id="ana")
    async with two_agents(path) as crew:
        found = await crew.search_memory("message", use_long_term=False, user_id="ana")
        assert found == []
        assert crew.buffer_memory is not None
        held = [said.text for said in crew.buffer_memory.window("ana")]
        assert held == ["After clearing.", "Of the other."]


@pytest.mark.acceptance("1.7", half="what agents say comes with the chat")
async def test_who_is_anonymous_leaves_nothing_durable(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with two_agents(path) as crew:
        await crew.add_to_buffer_memory("My secret is zanzibar.", user_id=VISITOR)
        assert await crew.add_to_long_term_memory("zanzibar", user_id=VISITOR) is None
        (found,) = await crew.search_memory("zanzibar", user_id=VISITOR)
        assert found["source"] == "buffer"
        assert await crew.search_memory("zanzibar") == []
        await crew.add_to_buffer_memory("Nobody in particular is local.")
    assert not [name for name in os.listdir(tmp_path) if "zanzibar" in content(tmp_path / name)]
    async with two_agents(path) as crew:
        assert await crew.search_memory("zanzibar", user_id=VISITOR) == []
        assert len(await crew.search_memory("nobody in particular")) == 1


@pytest.mark.acceptance("1.9")
async def test_clearing_touches_exactly_its_rows_and_counts_them(tmp_path: Path) -> None:
    async with two_agents(tmp_path / "memory.db") as crew:
        for user in ("ana", "ben"):
            for agent in ("tutor", "coder"):
                for number in range(2):
                    text = f"{user} and {agent} {number}"
                    await crew.add_to_buffer_memory(text, agent_id=agent, user_id=user)
        buffer_only = await crew.clear_memory(agent_id="tutor", user_id="ana")
        assert buffer_only == {"buffer": 2, "long_term": 0}
        assert len(await crew.search_memory("ana tutor", agent_id="tutor", user_id="ana")) == 2
        both = await crew.clear_memory(True, agent_id="tutor")
        assert both == {"buffer": 2, "long_term": 4 + 1}, "the note of clearing goes as well"
        assert await crew.search_memory("tutor", agent_id="tutor", user_id="ben") == []
        assert len(await crew.search_memory("coder", agent_id="coder", user_id="ben")) == 2
        one = await crew.clear_memory(True, user_id="ben")
        assert one == {"buffer": 2, "long_term": 2}
        assert len(await crew.search_memory("coder", user_id="ana")) == 2
        assert await crew.clear_all_memories() == {"buffer": 2, "long_term": 0}
        assert len(await crew.search_memory("coder", user_id="ana")) == 2
        everything = await crew.clear_all_memories(clear_long_term=True)
        assert everything["buffer"] == 0
        assert await crew.search_memory("coder", user_id="ana") == []


@pytest.mark.acceptance("1.9")
def test_clearing_works_without_an_event_loop(tmp_path: Path) -> None:
    crew = two_agents(tmp_path / "memory.db")
    asyncio.run(crew.add_to_buffer_memory("Hello there."))
    assert crew.clear_memory() == {"buffer": 1, "long_term": 0}
    assert crew.clear_all_memories(clear_long_term=True)["long_term"] == 2
    asyncio.run(crew.close())


@pytest.mark.acceptance("1.10", half="the chat of a legacy agent comes with the chat")
async def test_legacy_memory_of_an_agent_works_alone_and_gives_way(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="Orchestrator") as warned:
        agent = Agent(ScriptedChat(), buffer_memory=3, long_term_memory=str(tmp_path / "a.db"))
    assert len(warned) == 1
    assert agent.buffer_memory is not None
    assert agent.buffer_memory.max_size == 3
    await agent.orchestrator.add_to_buffer_memory("Hello.")
    assert len(await agent.orchestrator.search_memory("hello")) == 1
    await agent.orchestrator.close()
    async with two_agents(tmp_path / "b.db") as crew:
        with pytest.warns(DeprecationWarning, match="Orchestrator") as warned:
            other = Agent(ScriptedChat(), crew, long_term_memory=str(tmp_path / "ignored.db"))
        assert len(warned) == 1
        with pytest.warns(DeprecationWarning, match="Orchestrator") as warned:
            third = crew.create_agent("third", ScriptedChat(), "Hi.", buffer_memory=5)
        assert len(warned) == 1
        for one in (other, third):
            assert one.buffer_memory is crew.buffer_memory
            assert one.long_term_memory is crew.long_term_memory
        assert "ignored.db" not in os.listdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Agent(ScriptedChat())


@pytest.mark.acceptance("1.11", half="agent files come with the facade")
async def test_names_of_agents_are_unique_and_the_first_is_the_default(crew: Orchestrator) -> None:
    with pytest.raises(ValueError, match="'tutor'"):
        crew.create_agent("tutor", ScriptedChat(), "Again.")
    assert crew.default_agent_id == "tutor"
    crew.create_agent("chef", ScriptedChat(), "Cook.", set_as_default=True)
    assert crew.default_agent_id == "chef"


@pytest.mark.acceptance("1.15", half="the migration guide comes with the chat")
async def test_a_removed_agent_leaves_its_memories(crew: Orchestrator) -> None:
    await crew.add_to_buffer_memory("The tutor heard this.", agent_id="tutor", user_id="ana")
    crew.remove_agent("tutor")
    assert crew.default_agent_id == "coder"
    (found,) = await crew.search_memory("heard", user_id="ana")
    assert found["metadata"]["agent_id"] == "tutor"
    with pytest.raises(NotFound, match="coder"):
        crew.agent("tutor")


@pytest.mark.parametrize("nonsense", ["abc", 5, ["x"]])
async def test_metadata_that_is_no_mapping_is_refused(crew: Orchestrator, nonsense: Any) -> None:
    for call in (
        crew.add_to_buffer_memory("x", metadata=nonsense),
        crew.add_to_long_term_memory("x", metadata=nonsense),
        crew.search_memory("x", filter_metadata=nonsense),
    ):
        with pytest.raises(ValidationError, match="names and values"):
            await call
