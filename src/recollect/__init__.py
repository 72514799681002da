"""Recollect: the memory layer for AI agents. One file to start.

>>> import recollect
>>> with recollect.open("memory.db") as memory:
...     ana = memory.scope(user="ana")
...     trip = ana.remember("I moved to Lisbon in March.")
...     ana.recall("lisbon").top.text
'I moved to Lisbon in March.'
"""

from typing import TYPE_CHECKING, Any

from recollect._version import __version__
from recollect.domain.errors import RecollectError

if TYPE_CHECKING:
    from recollect.client.async_memory import AsyncMemory
    from recollect.client.memory import Memory
    from recollect.domain.records import MemoryRecord
    from recollect.domain.scopes import Scope

#: Where each public name lives; loaded when it is first used, so that importing costs little.
_HOMES = {
    "AsyncMemory": "recollect.client.async_memory",
    "Memory": "recollect.client.memory",
    "MemoryRecord": "recollect.domain.records",
    "Scope": "recollect.domain.scopes",
}
__all__ = [
    "AsyncMemory",
    "Memory",
    "MemoryRecord",
    "RecollectError",
    "Scope",
    "__version__",
    "open",
]


def open(url: str | None = None, **options: Any) -> "Memory":
    """Open a memory: a file path or `sqlite:///path`.

    `durability="relaxed"` trades the last moments before a power cut for speed; `language` names
    the language of words in Latin script; `embedder` is what finds by meaning: `"local"`, `"none"`,
    an embedder or a function from texts to vectors; `memory_model` and `reasoning_model` are the
    language models for the memory's own work and for answers, if any, each a chat, a name such as
    `"openai:gpt-4o-mini"` or the label of a model client; `policy` says how memories fade,
    rise and retire, by the names of the settings; `user` and `app` say whose memories the handle is
    for. What is not said comes from the settings (`recollect.toml`, `.env`,
    `RECOLLECT_*`): without any it is the file `memory.db` and the user `local`.

    >>> memory = recollect.open("memory.db")
    """
    from recollect.client.memory import Memory

    return Memory.open(url, **options)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
