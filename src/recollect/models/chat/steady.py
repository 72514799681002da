"""A model that is asked again, and others that are asked in its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from recollect.domain.errors import ProviderError
from recollect.domain.usage import Usage
from recollect.models.steady import Pace, Steady
from recollect.ports.chat import Answer, Ask, Chat


class SteadyChat:
    """The first of several models that answers, each tried as often as it is worth.

    >>> SteadyChat([chat, cheaper]).model == chat.model
    True
    """

    inline = False

    def __init__(
        self,
        chats: Sequence[Chat],
        *,
        retries: Sequence[int] = (),
        deadline_s: float | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._chats = tuple(chats)
        self._deadline_s = deadline_s
        self._pace = pace or Pace()
        self._steady = [Steady(chat.model, pace=self._pace) for chat in chats]
        for steady, count in zip(self._steady, retries, strict=False):
            steady.retries = count

    @property
    def model(self) -> str:
        """The first one's."""
        return self._chats[0].model

    @property
    def window(self) -> int:
        """The smallest, so that whoever answers can read the request."""
        return min(chat.window for chat in self._chats)

    async def answer(self, ask: Ask) -> Answer:
        """The first answer; when there is none, what the last model failed with."""
        ends = self._ends(ask)
        spent: list[Usage] = []
        failure = ProviderError("there is no model to ask")
        for chat, steady in zip(self._chats, self._steady, strict=True):
            try:
                found = await steady.run(_answering(chat, ask), ends - self._pace.now())
            except ProviderError as exc:
                spent += exc.spent
                failure = exc
            else:
                return replace(found, before=(*spent, *found.before))
        failure.spent = tuple(spent)
        raise failure

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Answer]:
        """The answer in pieces; others are asked only while nothing was said."""
        ends = self._ends(ask)
        spent: list[Usage] = []
        failure = ProviderError("there is no model to ask")
        for chat, steady in zip(self._chats, self._steady, strict=True):
            pieces: AsyncIterator[str | Answer] | None = None

            async def begin(left: float, chat: Chat = chat) -> str | Answer:
                nonlocal pieces
                pieces = chat.stream(replace(ask, deadline_s=left))
                return await anext(pieces)

            try:
                first = await steady.run(begin, ends - self._pace.now())
            except ProviderError as exc:
                spent += exc.spent
                failure = exc
                continue
            assert pieces is not None
            yield _with(first, spent)
            async for piece in pieces:
                yield _with(piece, spent)
            return
        failure.spent = tuple(spent)
        raise failure

    async def close(self) -> None:
        """Close every model, also when one of them cannot be."""
        await _close(self._chats)

    def _ends(self, ask: Ask) -> float:
        most = ask.deadline_s if self._deadline_s is None else min(ask.deadline_s, self._deadline_s)
        return self._pace.now() + most


def _answering(chat: Chat, ask: Ask) -> Callable[[float], Awaitable[Answer]]:
    return lambda left_s: chat.answer(replace(ask, deadline_s=left_s))


async def _close(chats: Sequence[Chat]) -> None:
    if chats:
        try:
            await chats[0].close()
        finally:
            await _close(chats[1:])


def _with(piece: str | Answer, spent: list[Usage]) -> str | Answer:
    return piece if isinstance(piece, str) else replace(piece, before=(*spent, *piece.before))
