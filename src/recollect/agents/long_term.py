"""The long-term memory of an orchestrator: from what a caller gave to an open memory."""

import os
from typing import Any

from recollect.client.async_memory import AsyncMemory
from recollect.domain.errors import RecollectError, StorageUnavailable, ValidationError, shown
from recollect.settings import variable

#: The variable that names the server for `long_term_memory=True`.
VARIABLE = "POSTGRES_DATABASE_URL"
FILE = "memory.db"
_SERVERS = ("postgres://", "postgresql://")


def long_term_of(given: object, **options: Any) -> AsyncMemory | None:
    """A memory from `True`, a path, a URL or itself; None for no long-term memory.

    `True` is the database that `POSTGRES_DATABASE_URL` names, and the file `memory.db` without it.
    A memory that cannot be opened is an error at once, never an orchestrator that forgets.
    """
    if given is None or isinstance(given, AsyncMemory):
        return given
    if given is True:
        given = variable(VARIABLE) or FILE
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if not isinstance(given, str) or not given.strip():
        raise ValidationError(
            "long_term_memory is True, a path, sqlite:///path, postgresql://…, an AsyncMemory or "
            f"None, not {shown(given)}",
            field="long_term_memory",
        )
    return _opened(given, options)


def _opened(url: str, options: dict[str, Any]) -> AsyncMemory:
    try:
        return AsyncMemory.open(url, **options)
    except ValidationError as exc:
        raise ValidationError(f"long_term_memory {masked(url)}: {exc}", field=exc.field) from exc
    except RecollectError as exc:
        raise StorageUnavailable(f"long_term_memory {masked(url)} cannot be opened: {exc}") from exc


def masked(url: str) -> str:
    """A URL as messages may show it: without what lies between user and host."""
    scheme, mark, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    if not (mark and at):
        return url
    return f"{scheme}://{credentials.partition(':')[0]}:***@{host}"
