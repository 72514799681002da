"""A model of a provider as a chat, through pydantic-ai.

Decides how a request reaches the provider and what of its answer counts. One request is one try:
trying again, and asking another model, is `steady.py`'s. The packages are loaded, the key is read
and the connection is opened with the first request.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from recollect.domain.clients import ModelClient
from recollect.domain.errors import (
    ClosedError,
    ProviderAuth,
    ProviderBadResponse,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
)
from recollect.domain.usage import Usage
from recollect.models.chat import structured
from recollect.models.chat.failing import told
from recollect.models.http import ANSWER_BYTES_MAX, guarded_client, is_installed
from recollect.ports.chat import Answer, Ask, Turn

NO_KEY = "none"  #: for providers that want no key; their clients want some text


@dataclass(slots=True)
class _Connection:
    """What is open: the model as pydantic-ai knows it, and the client that it speaks through."""

    model: Any
    http: Any
    turns: Any
    direct: Any
    natively: bool


class RemoteChat:
    """A model of a provider.

    >>> RemoteChat(named_client("openai:gpt-4o-mini")).model
    'openai:gpt-4o-mini'
    """

    inline = False

    def __init__(
        self,
        client: ModelClient,
        *,
        environment: Mapping[str, str] | None = None,
        bytes_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        self._client = client
        self._environment = os.environ if environment is None else environment
        self._bytes_max = bytes_max
        self._connection: _Connection | None = None
        self._connecting: asyncio.Lock | None = None
        self._closed = False

    @property
    def model(self) -> str:
        """provider:model."""
        return self._client.name

    @property
    def window(self) -> int:
        """As the client says, else what is usual for the provider."""
        return int(self._client.options.get("window", self._client.known.window))

    async def answer(self, ask: Ask) -> Answer:
        """The whole answer; JSON that cannot be used is sent back once with what is wrong."""
        spent: list[Usage] = []
        try:
            async with asyncio.timeout(ask.deadline_s):
                return await self._answer(ask, spent)
        except TimeoutError as exc:
            message = f"{self.model} did not answer within {ask.deadline_s:g} s"
            raise ProviderTimeout(message, spent=spent) from exc

    async def _answer(self, ask: Ask, spent: list[Usage]) -> Answer:
        turns, wrong = ask.turns, list[str]()
        for _ in range(1 + structured.REPAIRS):
            found = await self._request(turns, ask, spent)
            if ask.schema is None or found.calls:
                return replace(found, before=tuple(spent))
            data, wrong = structured.read(found.text, ask.schema)
            if not wrong:
                return replace(found, data=data, before=tuple(spent))
            spent += found.usage
            turns = (*turns, *structured.again(found.text, wrong))
        raise ProviderBadResponse(
            f"{self.model} was told what is wrong and still answers against the schema: "
            f"{'; '.join(wrong)}",
            spent=spent,
        )

    async def _request(self, turns: tuple[Turn, ...], ask: Ask, spent: list[Usage]) -> Answer:
        open = await self._open()
        try:
            response = await open.direct.model_request(
                open.model,
                open.turns.messages(_with_schema(turns, ask, natively=open.natively)),
                model_settings=self._settings(ask),
                model_request_parameters=open.turns.parameters(
                    ask.tools, ask.schema, natively=open.natively
                ),
                instrument=False,
            )
            found: Answer = open.turns.answer(response, self.model)
        except Exception as exc:
            raise told(exc, self.model, self._key, spent) from exc
        if not found.text and not found.calls:
            raise ProviderBadResponse(
                f"{self.model} answered nothing", spent=(*spent, *found.usage)
            )
        return found

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Answer]:
        """The answer piece by piece; JSON is not repaired, since it was said already."""
        ends = asyncio.get_running_loop().time() + ask.deadline_s
        async with aclosing(self._pieces(ask)) as pieces:
            while True:
                try:
                    async with asyncio.timeout_at(ends):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                except TimeoutError as exc:
                    raise ProviderTimeout(
                        f"{self.model} did not end its answer within {ask.deadline_s:g} s"
                    ) from exc
                yield piece

    async def _pieces(self, ask: Ask) -> AsyncGenerator[str | Answer]:
        open = await self._open()
        try:
            async with open.direct.model_request_stream(
                open.model,
                open.turns.messages(_with_schema(ask.turns, ask, natively=open.natively)),
                model_settings=self._settings(ask),
                model_request_parameters=open.turns.parameters(
                    ask.tools, ask.schema, natively=open.natively
                ),
                instrument=False,
            ) as events:
                async for event in events:
                    piece = open.turns.piece(event)
                    if piece:
                        yield piece
                whole: Answer = open.turns.answer(events.get(), self.model)
        except Exception as exc:
            raise told(exc, self.model, self._key, ()) from exc
        if not whole.text and not whole.calls:
            raise ProviderBadResponse(f"{self.model} answered nothing", spent=whole.usage)
        if ask.schema is not None and not whole.calls:
            data, wrong = structured.read(whole.text, ask.schema)
            if wrong:
                raise ProviderBadResponse(
                    f"{self.model} answered against the schema: {'; '.join(wrong)}",
                    spent=whole.usage,
                )
            whole = replace(whole, data=data)
        yield whole

    def _settings(self, ask: Ask) -> dict[str, Any]:
        chosen: dict[str, Any] = {
            name: self._client.options[name]
            for name in ("temperature", "top_p")
            if name in self._client.options
        }
        return {"max_tokens": ask.tokens_max, "max_retries": 0, **chosen}

    # -- the connection --------------------------------------------------------------------------

    @property
    def _key(self) -> str | None:
        variable = self._client.key_variable
        return None if variable is None else self._environment.get(variable) or None

    async def _open(self) -> _Connection:
        """The connection. To load a provider's package takes a second: a thread does it."""
        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._closed:
                raise ClosedError(f"the model {self.model} was closed; open the memory again")
            if self._connection is None:
                self._connection = await asyncio.to_thread(self._connected)
            return self._connection

    def _connected(self) -> _Connection:
        if not is_installed():
            raise ProviderError(
                f"{self.model} cannot be asked without more packages: "
                "pip install 'recollect[models]'"
            )
        if self._key is None and self._client.key_variable is not None:
            raise ProviderAuth(
                f"{self.model} needs a key, and the environment variable "
                f"{self._client.key_variable} that is to hold it is not set"
            )
        wires: Any = importlib.import_module("recollect.models.chat.wires")
        http = guarded_client(bytes_max=self._bytes_max)
        try:
            model = wires.model_of(self._client, self._key or NO_KEY, http)
        except Exception as exc:
            raise ProviderRejected(f"{self.model} cannot be asked: {exc!s:.200}") from exc
        return _Connection(
            model=model,
            http=http,
            turns=importlib.import_module("recollect.models.chat.turns"),
            direct=importlib.import_module("pydantic_ai.direct"),
            natively=bool(model.profile.get("supports_json_schema_output")),
        )

    async def close(self) -> None:
        """Close the connection, once."""
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.http.aclose()


def _with_schema(turns: tuple[Turn, ...], ask: Ask, *, natively: bool) -> tuple[Turn, ...]:
    """The turns; where the provider does not enforce a schema, it is asked for in words."""
    if ask.schema is None or natively:
        return turns
    return (structured.asking(ask.schema), *turns)
