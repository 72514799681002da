"""Vectors of a provider: any endpoint that answers `/embeddings` as OpenAI does.

Decides what such an endpoint may answer: one vector of finite numbers for each text, all of one
length, which is learned from the first answer. Everything else is an error, and nothing of it is
used.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.clients import ModelClient
from recollect.domain.errors import (
    ClosedError,
    ProviderAuth,
    ProviderBadResponse,
    ProviderError,
    ProviderTimeout,
    ValidationError,
)
from recollect.domain.limits import DIMENSIONS_MAX
from recollect.domain.usage import Usage
from recollect.models.chat.failing import told
from recollect.models.http import ANSWER_BYTES_MAX, guarded_client, require_installed
from recollect.models.steady import RETRIES, Pace, Steady
from recollect.ports.embedder import Embedded, Purpose

BATCH_TEXTS_MAX = 128
#: Providers take some 300,000 tokens at once; a character is rarely more than one.
BATCH_CHARS_MAX = 200_000
#: For all batches of a call together: a write waits this long for its vectors, then goes without.
DEADLINE_S = 20.0
CHARS_PER_TOKEN = 4


class RemoteEmbedder:
    """Another's embedder behind an URL.

    >>> RemoteEmbedder(named_client("openai:text-embedding-3-small")).model
    'openai:text-embedding-3-small'
    """

    inline = False

    def __init__(
        self,
        client: ModelClient,
        *,
        environment: Mapping[str, str] | None = None,
        pace: Pace | None = None,
        bytes_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        require_installed()
        if client.known.wire == "anthropic":
            raise ValidationError(f"{client.provider} has no embeddings", field="embedder")
        self._client = client
        self._environment = os.environ if environment is None else environment
        self._bytes_max = bytes_max
        self._dimensions = 0
        self._http: Any = None
        self._closed = False
        retries = int(client.options.get("retries", RETRIES))
        self._steady = Steady(client.name, retries=retries, pace=pace or Pace())

    @property
    def model(self) -> str:
        """provider:model."""
        return self._client.name

    @property
    def space(self) -> str:
        """The model and the length of its vectors."""
        return f"{self.model}-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; 0 until the first answer shows it."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """One row per text."""
        return (await self.embed_counted(texts, purpose)).vectors

    async def embed_counted(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """One row per text, and what that took."""
        now = self._steady.pace.now
        ends = now() + float(self._client.options.get("deadline_s", DEADLINE_S))
        made: list[NDArray[np.float32]] = []
        usage: list[Usage] = []
        for batch in _batches(texts):
            try:
                vectors, used = await self._steady.run(partial(self._request, batch), ends - now())
            except ProviderError as exc:
                exc.spent = (*usage, *exc.spent)
                raise
            made.append(vectors)
            usage.append(used)
        together = np.concatenate(made)
        self._dimensions = together.shape[1]
        return Embedded(together, tuple(usage))

    async def _request(
        self, texts: Sequence[str], left_s: float
    ) -> tuple[NDArray[np.float32], Usage]:
        """The vectors of one batch."""
        http, key = self._open()
        said: dict[str, Any] = {"model": self._client.model, "input": list(texts)}
        if "dimensions" in self._client.options:
            said["dimensions"] = self._client.options["dimensions"]
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            async with asyncio.timeout(left_s):
                response = await http.post(f"{self._url}/embeddings", json=said, headers=headers)
                response.raise_for_status()
        except TimeoutError as exc:
            raise ProviderTimeout(f"{self.model} did not answer within {left_s:.3g} s") from exc
        except Exception as exc:
            raise told(exc, self.model, key, ()) from exc
        return self._read(response.content, texts)

    def _read(self, raw: bytes, texts: Sequence[str]) -> tuple[NDArray[np.float32], Usage]:
        try:
            body = json.loads(raw)
            rows = {int(one["index"]): one["embedding"] for one in body["data"]}
            ordered = [rows[index] for index in range(len(texts))]
            if len(body["data"]) != len(texts):
                raise ProviderBadResponse(
                    f"{self.model} answered {len(body['data'])} vectors for {len(texts)} texts"
                )
            vectors = np.asarray(ordered, dtype=np.float32)
        # Whatever was answered in place of lists of numbers.
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as exc:
            raise ProviderBadResponse(
                f"{self.model} answered no vector for each of {len(texts)} texts"
            ) from exc
        if vectors.ndim != 2 or not 0 < vectors.shape[1] <= DIMENSIONS_MAX:
            raise ProviderBadResponse(f"{self.model} answered an array of shape {vectors.shape}")
        if self._dimensions not in (0, vectors.shape[1]):
            raise ProviderBadResponse(
                f"{self.model} answered {vectors.shape[1]} dimensions, before it were "
                f"{self._dimensions}"
            )
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise ProviderBadResponse(f"{self.model} answered NaN, infinity or a vector of zeros")
        return vectors, Usage(self.model, _tokens(body, texts), 0)

    # -- the connection --------------------------------------------------------------------------

    @property
    def _url(self) -> str:
        url = self._client.url
        return f"{url}/v1beta/openai" if self._client.known.wire == "google" else url

    def _open(self) -> tuple[Any, str | None]:
        """The client and the key; the first request opens the one and looks for the other."""
        if self._closed:
            raise ClosedError(f"the embedder {self.model} was closed; open the memory again")
        variable = self._client.key_variable
        key = None if variable is None else self._environment.get(variable) or None
        if variable is not None and key is None:
            raise ProviderAuth(
                f"{self.model} needs a key, and the environment variable {variable} that is to "
                "hold it is not set"
            )
        if self._http is None:
            self._http = guarded_client(bytes_max=self._bytes_max)
        return self._http, key

    async def close(self) -> None:
        """Close the connection, once."""
        self._closed = True
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Texts in their order, so many at once that a provider takes them."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS_MAX or chars + len(text) > BATCH_CHARS_MAX):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _tokens(body: Any, texts: Sequence[str]) -> int:
    """What the provider counted; where it says nothing, an estimate."""
    said = body.get("usage") or {}
    count = said.get("prompt_tokens", said.get("total_tokens")) if isinstance(said, dict) else None
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        return count
    return sum(len(text) for text in texts) // CHARS_PER_TOKEN
