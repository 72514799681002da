"""The one HTTP client that models are reached through, and what it refuses.

No redirects, since a key must not follow one. No more bytes than a limit, and none of them packed,
since a few packed ones can become any number. How long something may take is its callers' affair.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.domain.errors import MissingExtra, ProviderBadResponse, ProviderError

if TYPE_CHECKING:
    import httpx2

#: Bytes of one answer: a thousand vectors of 3,072 numbers, written out, are about 40 MB.
ANSWER_BYTES_MAX = 64 * 1024 * 1024
CONNECT_S = 10.0
CONNECTIONS_MAX = 20
E = TypeVar("E", bound=BaseException)


def is_installed() -> bool:
    """Whether what `recollect[models]` brings is there; nothing is loaded to find out."""
    return all(importlib.util.find_spec(name) is not None for name in ("httpx2", "pydantic_ai"))


def require_installed() -> None:
    """Say which extra is missing."""
    if not is_installed():
        raise MissingExtra(
            "models of providers need more packages: pip install 'recollect[models]'"
        )


def guarded_client(*, bytes_max: int = ANSWER_BYTES_MAX) -> httpx2.AsyncClient:
    """A client that refuses what the module says it refuses."""
    http: Any = importlib.import_module("httpx2")

    async def examine(response: Any) -> None:
        if response.is_redirect or response.has_redirect_location:
            raise ProviderBadResponse(
                f"it answered {response.status_code}, a redirect; not followed"
            )
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise ProviderBadResponse("it answered packed bytes, which it was asked not to")
        response.stream = _capped(http, response.stream, bytes_max)

    return http.AsyncClient(
        verify=_certificates(),
        follow_redirects=False,
        timeout=http.Timeout(None, connect=CONNECT_S),
        limits=http.Limits(max_connections=CONNECTIONS_MAX),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [examine]},
    )


@cache
def _certificates() -> Any:
    """Whom to trust; read once, since reading it takes longer than most requests."""
    http: Any = importlib.import_module("httpx2")
    return http.create_ssl_context()


def _capped(http: Any, inner: Any, bytes_max: int) -> Any:
    """A stream of an answer that ends with an error when it becomes too long."""

    class Capped(http.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for chunk in inner:
                count += len(chunk)
                if count > bytes_max:
                    raise ProviderBadResponse(f"it answered more than {bytes_max:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await inner.aclose()

    return Capped()


def cause_of(error: BaseException, kind: type[E]) -> E | None:
    """An error of some kind among those that led to this one."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        if isinstance(one, kind):
            return one
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return None


def renamed(error: ProviderError, who: str) -> ProviderError:
    """The same error, with who it is about in front."""
    return type(error)(f"{who}: {error}", retry_after_s=error.retry_after_s, spent=error.spent)
