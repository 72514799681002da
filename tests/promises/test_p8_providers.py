"""P8: whatever a provider does, writes succeed, nothing bad is stored, and no deadline is passed.

29 kinds of fault, at every place that calls a model, by the code that reaches the real ones.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect.client.runner import Inline, LoopThread
from recollect.domain.errors import ProviderError, RecollectError
from recollect.engine.chats import close_all
from recollect.engine.engine import Engine
from recollect.models.beside import ChatBeside, EmbedderBeside
from recollect.models.chat.connecting import connect
from recollect.models.embedding.remote import RemoteEmbedder
from recollect.models.steady import Pace
from recollect.ports.chat import Answer, Ask, Chat, Turn
from recollect.storage.sqlite.sql import query
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, ScriptedProvider
from recollect.testing.faults import FAULTS
from tests.faults.places import (
    ASKING_PLACES,
    COVERED,
    READING,
    UNDER_TEST,
    WRITING,
    found_in_source,
)

pytestmark = pytest.mark.promise("P8")
KINDS = 29
DIMENSIONS = 8
DEADLINE_S = 0.1
#: What a call does besides waiting for the provider: less than another try would take.
OWN_WORK_S = 0.08
#: A deadline that is not kept is not kept twice either; a machine that stalls mostly is.
TRIES = 4
#: How often a place calls the provider, one after another.
CALLS = {"given": 2, "update": 2, "correct": 2, "undo": 3, "context": 3, "consolidate": 6}
#: Places that run whatever is due: as many calls as there is work, each within its deadline.
OPEN_ENDED = {"profile"}
#: A try again waits for nothing here.
AT_ONCE = Pace(share=lambda: 0.0)
TEXT = "Ana keeps her bicycle in the cellar."
PLACES = {**WRITING, **READING}
WIRES = ("openai", "anthropic", "gemini")
WAYS = ("text", "json", "stream")
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(then=lambda _: "ready", dimensions=DIMENSIONS) as there:
        for wire in WIRES:  # to load what speaks to providers takes longer than a deadline here
            chat = connect([there.client(wire)], environment=there.environment)
            assert isinstance(asyncio.run(outcome(chat, "text", deadline_s=60)), Answer)
        yield there


def test_the_kinds_are_29_and_every_place_in_the_source_is_tried() -> None:
    assert len(FAULTS) == KINDS
    assert set(COVERED.values()) <= set(PLACES)
    missing = set(found_in_source()) - set(COVERED)
    assert not missing, f"these call a model too: list them in tests/faults/places.py: {missing}"


def vectors_of(file: Path) -> list[np.ndarray]:
    connection = SqliteStore(str(file))._connect()
    try:
        rows = query(connection, "sums_vectors")
    finally:
        connection.close()
    return [np.frombuffer(cell, "<f4") for row in rows for cell in row if isinstance(cell, bytes)]


def waited_for_a_core() -> float:
    """Seconds that threads of this process could have run and had to wait; 0 where nobody says."""
    waited = 0
    for one in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has just ended
            waited += int(one.read_text().split()[1])
    return waited / 1e9


def engine_of(memory: recollect.Memory) -> Engine:
    engine = memory._inner._backend
    assert isinstance(engine, Engine)
    return engine


class Watch:
    """How long something took, without what a busy machine added to it."""

    def __enter__(self) -> "Watch":
        self._begun = (time.perf_counter(), waited_for_a_core())
        return self

    def __exit__(self, *error: object) -> None:
        begun, waited = self._begun
        self.took = time.perf_counter() - begun - (waited_for_a_core() - waited)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_with_every_fault_every_place_goes_on_and_nothing_bad_is_stored(
    fault: str, provider: ScriptedProvider, quick_path: Path
) -> None:
    file = quick_path / "memory.db"
    options = {"deadline_s": DEADLINE_S, "retries": 1}
    embedder = RemoteEmbedder(
        provider.client(options=options),
        environment=provider.environment,
        bytes_max=1024 * 1024,
        pace=AT_ONCE,
    )
    late: dict[str, float] = {}
    beside = EmbedderBeside(embedder, LoopThread)
    client = provider.client(label=UNDER_TEST, options=options)
    steady = connect([client], environment=provider.environment, pace=AT_ONCE)
    chat = ChatBeside(steady, LoopThread)
    models = {"embedder": beside, "memory_model": chat}
    with recollect.open(str(file), clock=FrozenClock(), **models) as memory:
        engine_of(memory)._chats._connect = lambda _: chat
        provider.failing = None
        memory.models().set(**client.to_dict())
        memory.remember("It was here before.")
        for number, (place, call) in enumerate(PLACES.items()):
            for again in range(TRIES):
                if place == "given" and fault != "another size":
                    embedder._dimensions = 0  # as in a process that was started just now
                for one in (embedder._steady, *steady._steady):
                    one.breaker.succeeded()
                provider.failing, before = fault, len(provider.heard)
                text = f"Ana keeps bicycle number {number} of kind {again} in the cellar."
                with Watch() as watch:
                    call(memory, text)  # whatever is raised here fails the test: nothing may be
                asked = {one.path for one in provider.heard[before:]}
                assert ("/v1/chat/completions" in asked) is (place in ASKING_PLACES), place
                late[place] = watch.took - CALLS.get(place, 1) * DEADLINE_S * 1.1 - OWN_WORK_S
                if late[place] <= 0 or place in OPEN_ENDED:
                    break
            provider.failing = None
            if place in WRITING:
                assert text in {hit.memory.text for hit in memory.recall(text)}, place
        embedder._steady.breaker.succeeded()
        provider.failing = fault
        assert memory.recall("bicycle").degraded == ("meaning",)
        provider.failing = None
        embedder._steady.breaker.succeeded()
        memory.catch_up(limit=100)
        assert memory.verify().ok
    Inline().run(close_all([beside, chat]))
    made = vectors_of(file)
    assert made
    for one in made:  # of unit length, passage by passage
        assert np.allclose(np.linalg.norm(one.reshape(-1, DIMENSIONS), axis=1), 1.0, atol=1e-5)
    assert {place for place, over in late.items() if over > 0} - OPEN_ENDED == set()


async def outcome(
    chat: Chat, way: str, *, deadline_s: float = DEADLINE_S
) -> Answer | ProviderError:
    asked = Ask(
        (Turn("system", "Be brief."), Turn("user", TEXT)),
        "facts",
        schema=SCHEMA if way == "json" else None,
        deadline_s=deadline_s,
    )
    try:
        if way != "stream":
            return await chat.answer(asked)
        return [piece async for piece in chat.stream(asked)][-1]  # type: ignore[return-value]
    except ProviderError as exc:
        return exc
    finally:
        await chat.close()


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_with_every_fault_a_model_ends_in_an_answer_or_in_an_error_that_has_a_name(
    wire: str, provider: ScriptedProvider
) -> None:
    client = provider.client(wire, options={"retries": 1})
    told: dict[tuple[str, str], Any] = {}
    late: dict[tuple[str, str], float] = {}
    for fault in FAULTS:
        provider.failing = fault
        for way in WAYS:
            for _ in range(TRIES):
                chat = connect([client], environment=provider.environment, pace=AT_ONCE)
                with Watch() as watch:
                    told[fault, way] = asyncio.run(outcome(chat, way))
                late[fault, way] = watch.took - DEADLINE_S * 1.1 - OWN_WORK_S
                if late[fault, way] <= 0:
                    break
    provider.failing = None
    assert len(told) == KINDS * len(WAYS)
    assert {where for where, over in late.items() if over > 0} == set()
    answered = {where: one for where, one in told.items() if isinstance(one, Answer)}
    assert {way for _, way in answered} <= {"text", "stream"}, "no JSON that fits was ever said"
    assert all(one.text for one in answered.values())
    assert all(str(one).startswith(f"{wire}:") for one in told.values() if _failed(one))


def _failed(one: object) -> bool:
    return isinstance(one, RecollectError)
