"""What a failed request is called: every failure of a provider as one of our errors.

Decides by the status of the answer where there is one, else by what kind of error it was. What
a provider says of itself is passed on, short and without the key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recollect.domain.errors import (
    ProviderAuth,
    ProviderBadResponse,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    RecollectError,
)
from recollect.domain.usage import Usage
from recollect.models.http import cause_of, renamed

SAID_CHARS_MAX = 200
RETRY_AFTER_MAX_S = 60.0
#: Statuses that say more than their hundred does.
_STATUSES: dict[int, type[ProviderError]] = {
    401: ProviderAuth,
    402: ProviderAuth,
    403: ProviderAuth,
    408: ProviderTimeout,
    409: ProviderError,
    425: ProviderError,
    429: ProviderError,
    504: ProviderTimeout,
}


def of_status(status: int) -> type[ProviderError]:
    """The error for an answer with a status."""
    if status in _STATUSES:
        return _STATUSES[status]
    if 400 <= status < 500:
        return ProviderRejected
    return ProviderError if status >= 500 else ProviderBadResponse


def told(
    error: BaseException, model: str, key: str | None, spent: Sequence[Usage]
) -> RecollectError:
    """Whatever a provider's package raised, as one of our errors."""
    ours = cause_of(error, RecollectError)
    if isinstance(ours, ProviderError):
        return renamed(ours, model)
    if ours is not None:
        return ours
    status = next((s for one in _chain(error) if isinstance(s := _status(one), int)), None)
    if status is not None:
        kind = of_status(status)
        after = next((a for one in _chain(error) if (a := _retry_after(one)) is not None), None)
        said = f"{model} answered {status}: {_said(error, key)}"
        return kind(said, retry_after_s=after, spent=spent)
    names = {type(one).__name__ for one in _chain(error)}
    if any("Timeout" in name for name in names):
        return ProviderTimeout(f"{model} did not answer in time", spent=spent)
    if any(name.endswith(_NOT_REACHED) for name in names):
        return ProviderError(f"{model} could not be reached: {_said(error, key)}", spent=spent)
    if "ContentFilterError" in names:
        return ProviderRejected(f"{model} refuses to answer this", spent=spent)
    return ProviderBadResponse(
        f"{model} answered what cannot be used: {type(error).__name__}", spent=spent
    )


#: How the errors end whose request never got a whole answer.
_NOT_REACHED = ("ConnectError", "ReadError", "WriteError", "CloseError", "RemoteProtocolError")


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found


def _status(error: BaseException) -> Any:
    places = (error, getattr(error, "response", None))
    found = [getattr(one, name, None) for one in places for name in ("status_code", "code")]
    return next((one for one in found if one is not None), None)


def _retry_after(error: BaseException) -> float | None:
    """When the provider says that it may be asked again; never longer than a minute."""
    response = getattr(error, "response", None)
    headers = getattr(error, "headers", None) or getattr(response, "headers", None) or {}
    try:
        return min(max(float(headers["retry-after"]), 0.0), RETRY_AFTER_MAX_S)
    except (LookupError, TypeError, ValueError):
        return None


def _said(error: BaseException, key: str | None) -> str:
    """What the provider says, short, on one line, and without the key."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    said = inner.get("message", inner) if isinstance(inner, dict) else inner
    text = said if isinstance(said, str) else str(error) if said is None else json.dumps(said)
    if key:
        text = text.replace(key, "…")
    text = " ".join(text.split())
    return text if len(text) <= SAID_CHARS_MAX else f"{text[:SAID_CHARS_MAX]}…"
