"""Vectors of a provider: what is asked, in which pieces, and what a memory makes of the answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.client.runner import Inline, LoopThread
from recollect.domain.errors import (
    ProviderAuth,
    ProviderBadResponse,
    ProviderTimeout,
    ValidationError,
)
from recollect.models.beside import EmbedderBeside
from recollect.models.embedding.remote import BATCH_CHARS_MAX, BATCH_TEXTS_MAX, RemoteEmbedder
from recollect.ports.embedder import Embedded
from recollect.testing import ScriptedProvider


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    runner = LoopThread()
    yield runner
    runner.close(_nothing())


async def _nothing() -> None:
    return None


def made(there: ScriptedProvider, provider: str = "openai", **options: object) -> RemoteEmbedder:
    client = there.client(provider, model="emb-1", options=options)
    return RemoteEmbedder(client, environment=there.environment)


async def embedded(embedder: RemoteEmbedder, *texts: str) -> Embedded:
    try:
        return await embedder.embed_counted(texts, "passage")
    finally:
        await embedder.close()


def test_texts_become_vectors_in_their_order_and_the_dimension_is_learned(loop: LoopThread) -> None:
    with ScriptedProvider(dimensions=5) as there:
        embedder = made(there, dimensions=5)
        assert embedder.dimensions == 0
        texts = [f"text number {number}" for number in range(2 * BATCH_TEXTS_MAX + 1)]
        answer = loop.run(embedded(embedder, *texts))
    assert answer.vectors.shape == (len(texts), 5)
    assert (embedder.dimensions, embedder.space) == (5, "openai:emb-1-5")
    assert [len(one.body["input"]) for one in there.heard] == [BATCH_TEXTS_MAX, BATCH_TEXTS_MAX, 1]
    assert {one.body["dimensions"] for one in there.heard} == {5}
    assert there.heard[0].headers["authorization"] == "Bearer test-key"
    assert sum(one.tokens_in for one in answer.usage) > 0


def test_long_texts_are_sent_in_smaller_batches(loop: LoopThread) -> None:
    with ScriptedProvider() as there:
        loop.run(embedded(made(there), "a" * BATCH_CHARS_MAX, "b" * 10, "c" * 10))
    assert [len(one.body["input"]) for one in there.heard] == [1, 2]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("key refused", ProviderAuth),
        ("fewer", ProviderBadResponse),
        ("not a number", ProviderBadResponse),
        ("of another kind", ProviderBadResponse),
        ("redirect", ProviderBadResponse),
        ("hang", ProviderTimeout),
    ],
)
def test_what_cannot_be_used_is_an_error_with_a_name(
    fault: str, error: type[Exception], loop: LoopThread
) -> None:
    with ScriptedProvider() as there:
        there.failing = fault
        with pytest.raises(error, match="openai:emb-1"):
            loop.run(embedded(made(there, retries=0, deadline_s=0.2), "one", "two"))
    assert len(there.heard) == 1


def test_gemini_is_asked_where_it_speaks_as_openai_does(loop: LoopThread) -> None:
    with ScriptedProvider() as there:
        loop.run(embedded(made(there, "gemini"), "one"))
    assert there.heard[0].path == "/v1beta/openai/embeddings"


def test_a_provider_without_embeddings_is_refused() -> None:
    with ScriptedProvider() as there, pytest.raises(ValidationError, match="no embeddings"):
        made(there, "anthropic")


def test_a_memory_searches_by_the_meaning_that_a_provider_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "memory.db")
    with ScriptedProvider() as there:
        monkeypatch.setenv("SCRIPTED_KEY", there.key)
        named = {
            "embedder": "acme:emb-1",
            "embedder_url": f"{there.url}/v1",
            "embedder_key_env": "SCRIPTED_KEY",
        }
        with recollect.open(file, **named) as memory:
            assert memory.remember("Ana moved to Lisbon.").pending_embedding is False
            there.failing = "server error"
            assert memory.remember("Ana likes tea.").pending_embedding
            found = memory.recall("Lisbon")
            assert (found.lanes, found.degraded) == (("words",), ("meaning",))
            there.failing = None
        with recollect.open(file, **named) as memory:
            assert memory.catch_up() == 1
            assert memory.recall("tea").lanes == ("words", "meaning")
            assert memory.recall("tea", vector=[1.0] * 8).degraded == ()


def test_what_is_given_while_the_embedder_is_down_is_stored_without_its_vector(
    tmp_path: Path,
) -> None:
    with ScriptedProvider() as there:
        there.failing = "reset"
        embedder = made(there, retries=0)
        beside = EmbedderBeside(embedder, LoopThread)
        with recollect.open(str(tmp_path / "memory.db"), embedder=beside) as memory:
            stored = memory.remember("Ana likes tea.", vector=[1.0] * 8)
            assert stored.pending_embedding, "whether it is of the same space cannot be told"
            assert memory.recall("tea", vector=[1.0] * 8).degraded == ("meaning",)
            there.failing = None
            embedder._steady.breaker.succeeded()  # a minute later
            assert memory.catch_up() == 1
        close(beside)


def close(beside: EmbedderBeside) -> None:
    Inline().run(beside.close())
