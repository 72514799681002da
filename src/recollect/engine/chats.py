"""The language models that an engine has open: one for each client, opened once and closed once."""

import threading
from collections.abc import Sequence
from typing import Protocol

from recollect.domain.clients import ModelClient
from recollect.domain.errors import ClosedError, InternalError
from recollect.ports.chat import Chat, Connect


class Chats:
    """Chats by what they are reached through."""

    def __init__(self, connect: Connect | None) -> None:
        self._connect = connect
        self._open: list[tuple[tuple[ModelClient, ...], Chat]] = []
        self._lock = threading.Lock()
        self._closed = False

    def of(self, clients: Sequence[ModelClient]) -> Chat:
        """The chat of the first client, for which the others stand in; the same one every time.

        A client that was changed is another one; what was open for it is closed with the rest.
        """
        wanted = tuple(clients)
        with self._lock:
            if self._closed:
                raise ClosedError("the memory is closed; open it again")
            if self._connect is None:
                raise InternalError("this engine was wired without a way to reach models")
            for known, chat in self._open:
                if known == wanted:
                    return chat
            made = self._connect(wanted)
            self._open.append((wanted, made))
            return made

    async def close(self) -> None:
        """Close what is open; idempotent."""
        with self._lock:
            self._closed = True
            chats, self._open = [chat for _, chat in self._open], []
        await close_all(chats)


class Closable(Protocol):
    """What holds connections."""

    async def close(self) -> None:
        """Release them."""
        ...


async def close_all(things: Sequence[Closable]) -> None:
    """Close every one, also when the closing of another fails or is cancelled."""
    if things:
        try:
            await things[0].close()
        finally:
            await close_all(things[1:])
