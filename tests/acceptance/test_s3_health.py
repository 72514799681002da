"""S3: errors are told once, without content, and health lists every part."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain.errors import NotFound, ProviderError, StorageFull, ValidationError
from recollect.domain.health import ErrorEvent
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, HashEmbedder, InMemoryStore
from tests.faces import FACES, World, opened

SECRET = "the walrus was paul"
PARTS = ["store", "index", "scheduler", "embedder", "models", "cache"]


class Embedder(HashEmbedder):
    """Answers unless it is away."""

    away = False

    async def embed(self, texts: Any, purpose: Any) -> Any:
        if self.away:
            raise ProviderError(f"could not embed {texts}")
        return await super().embed(texts, purpose)


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


@pytest.fixture(params=FACES)
def world(request: pytest.FixtureRequest, tmp_path: Path, embedder: Embedder) -> Iterator[World]:
    with opened(request.param, tmp_path, embedder=embedder) as world:
        yield world


def heard(memory: Memory) -> tuple[list[ErrorEvent], Callable[[], None]]:
    events: list[ErrorEvent] = []
    return events, memory.watch_errors(events.append)


@pytest.mark.acceptance("3.16")
def test_each_error_is_told_once_with_its_agent_and_without_content(
    world: World, embedder: Embedder
) -> None:
    memory = world.memory
    before = memory.scope(agent="researcher")
    events, stop = heard(memory)
    failing: list[tuple[type[Exception], Callable[[], object]]] = [
        (NotFound, lambda: before.get("mem_" + "0" * 32)),
        (ValidationError, lambda: before.remember(SECRET, tier=SECRET)),
        (ValidationError, lambda: before.remember_many([SECRET, {"text": ""}])),
        (ValidationError, lambda: memory.recall(SECRET, limit=0)),
    ]
    for error, call in failing:
        with pytest.raises(error):
            call()
    assert [(one.type, one.agent) for one in events] == [
        ("NotFound", "researcher"),
        ("ValidationError", "researcher"),
        ("ValidationError", "researcher"),
        ("ValidationError", None),
    ]
    assert {one.severity for one in events} == {"info"}
    assert set(asdict(events[0])) == {
        *("timestamp", "component", "agent", "type", "message", "severity")
    }
    events.clear()
    embedder.away = True
    memory.remember(SECRET)
    (told,) = events
    assert (told.component, told.type, told.severity) == ("embedder", "ProviderError", "warning")
    assert told.timestamp == memory.get(memory.list().items[0].id).created_at
    events.clear()
    assert memory.maintain().failed == {"embed": 1}
    assert [(one.component, one.severity) for one in events] == [
        ("embedder", "warning"),
        ("jobs", "warning"),
    ]
    assert SECRET not in repr(events) + repr(memory.health())
    stop()
    stop()
    memory.recall(SECRET)
    assert len(events) == 2


@pytest.mark.acceptance("3.16")
def test_a_listener_that_fails_harms_nobody(world: World) -> None:
    def broken(event: ErrorEvent) -> None:
        raise RuntimeError("this listener is broken")

    world.memory.watch_errors(broken)
    events, _ = heard(world.memory)
    with pytest.raises(NotFound):
        world.memory.get("mem_" + "0" * 32)
    assert [one.type for one in events] == ["NotFound"]


@pytest.mark.acceptance("3.16")
def test_health_lists_every_part_and_when_what_ran_last_and_runs_next(
    world: World, embedder: Embedder
) -> None:
    memory, clock = world.memory, world.clock
    memory.remember("tea at five")
    health = memory.health()
    assert [part.name for part in health.parts] == PARTS
    assert (health.state, health.errors) == ("healthy", ())
    assert health.part("embedder").facts["space"] == embedder.space
    assert health.part("store").facts["memories"] == 1
    memory.maintain()
    embedder.away = True
    memory.remember("owed a vector")
    health = memory.health()
    assert health.state == health.part("embedder").state == "degraded"
    assert "by words" in str(health.part("embedder").remedy)
    assert health.part("index").facts["owed"] == 1
    assert [one.component for one in health.errors] == ["embedder"]
    ran_at = clock.now()
    embedder.away = False
    clock.advance(minutes=20)
    assert memory.health().part("embedder").state == "healthy", "that was a while ago"
    memory.maintain()
    facts = memory.health().part("scheduler").facts
    assert facts["embed_last"] is not None
    assert facts["embed_last"] != ran_at
    assert facts["embed_next"] is None


@pytest.mark.acceptance("3.16")
def test_health_says_that_nobody_runs_the_jobs_and_what_was_given_up(
    world: World, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, clock = world.memory, world.clock
    memory.maintain()
    embedder.away = True
    memory.remember("owed a vector")
    clock.advance(minutes=61)
    scheduler = memory.health().part("scheduler")
    assert scheduler.state == "degraded"
    assert "recollect worker" in str(scheduler.remedy)
    for _ in range(100):
        memory.maintain()
        clock.advance(hours=1)
    (dead,) = memory.jobs(state="dead")
    index = memory.health().part("index")
    assert (index.state, index.facts["given_up"]) == ("degraded", 1)
    assert "--retry all" in str(index.remedy)
    embedder.away = False
    memory.retry_job(dead.number)
    assert memory.maintain().done["embed"] == 1
    clock.advance(minutes=20)
    assert memory.health().part("index").state == "healthy"


@pytest.mark.acceptance("3.16")
@pytest.mark.parametrize("kind", [SqliteStore, InMemoryStore])
def test_a_store_that_fails_is_told_and_makes_health_fail(
    kind: type[SqliteStore] | type[InMemoryStore], tmp_path: Path
) -> None:
    class Full(kind):  # type: ignore[misc, valid-type]
        full = False

        async def apply(self, *args: Any, **kwargs: Any) -> Any:
            if self.full:
                raise StorageFull(f"no room for {args}")
            return await super().apply(*args, **kwargs)

        async def stats(self, tenant: str) -> Any:
            if self.full:
                raise StorageFull("no room")
            return await super().stats(tenant)

    store = Full(str(tmp_path / "memory.db")) if kind is SqliteStore else Full()
    with Memory.open("memory.db", store=store, clock=FrozenClock()) as memory:
        events, _ = heard(memory)
        store.full = True
        with pytest.raises(StorageFull):
            memory.remember(SECRET)
        (told,) = events
        assert (told.component, told.type, told.severity) == ("store", "StorageFull", "error")
        assert told.message.startswith("No space is left.")
        assert SECRET not in repr(told)
        health = memory.health()
        assert health.state == health.part("store").state == "failing"
        assert "No space is left" in str(health.part("store").remedy)
        store.full = False
