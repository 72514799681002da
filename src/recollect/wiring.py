"""The one place where adapters meet the engine."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from recollect.domain.clients import ModelClient, checked_name, client_of
from recollect.domain.conduct import USUAL, Conduct
from recollect.domain.errors import ValidationError, shown
from recollect.domain.records import Verification
from recollect.engine.core import LOG, Ports
from recollect.lifecycle.keeper import Keeper
from recollect.lifecycle.serving import Background, InLoop, InThread
from recollect.logs import note
from recollect.ports.chat import Chat
from recollect.ports.embedder import Embedder
from recollect.ports.prices import Prices
from recollect.ports.store import Progress, Store
from recollect.ports.tokens import TokenCount, Tokenizer
from recollect.ports.world import Clock, Entropy
from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite.checking import check_file
from recollect.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from recollect.engine.chats import Closable
    from recollect.models.beside import Loop


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Microseconds since 1970 in UTC."""
        return time.time_ns() // 1000


class SystemEntropy:
    """The operating system's randomness."""

    def bytes(self, count: int) -> bytes:
        """That many random bytes."""
        return os.urandom(count)


class SystemTokenizer:
    """The tokenizers that are installed, loaded with the first count."""

    def __init__(self) -> None:
        self._counter: Tokenizer | None = None

    def count(self, text: str, model: str) -> TokenCount:
        """The tokens of a text for a model."""
        if self._counter is None:
            from recollect.models.tokens.counting import TokenCounter

            self._counter = TokenCounter()
        return self._counter.count(text, model)


@dataclass(frozen=True, slots=True)
class Models:
    """What was chosen to embed and to ask; whoever brings one along closes it."""

    embedder: object = None  #: an embedder, a function from texts to vectors, or what is a setting
    embedder_url: str = ""  #: for one that is named: where it is, if not at the usual address
    embedder_key_env: str = ""  #: the variable that holds its key, if not the usual one
    memory_model: object = None  #: a chat, `provider:model`, or the label of a model client
    reasoning_model: object = None  #: the same
    prices: object = None  #: dollars per million tokens by model, or what knows prices
    #: Starts a loop in a thread, for models that are named and whoever has no loop.
    beside: "Callable[[], Loop] | None" = None


def open_engine(
    url: str,
    *,
    around: Callable[[Store], Store] | None = None,
    durability: str = "full",
    models: Models | None = None,
    conduct: Conduct = USUAL,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    store: Store | None = None,
) -> Keeper:
    """The engine and what runs later, on the store that a URL names.

    `around` wraps a local store for an event loop.
    """
    if durability not in ("full", "relaxed"):
        raise ValidationError(
            f"durability must be full or relaxed, not {durability!r}", field="durability"
        )
    chosen = models or Models()
    embedder = embedder_of(chosen, in_loop=around is not None)
    memory_model = chat_of(chosen.memory_model, field="memory_model")
    reasoning_model = chat_of(chosen.reasoning_model, field="reasoning_model")
    local = store or SqliteStore(file_of(url), durability=durability)
    ports = Ports(
        store=around(local) if around and local.inline else local,
        clock=clock or SystemClock(),
        entropy=entropy or SystemEntropy(),
        analyser=Analyser(conduct.language),
        tokenizer=SystemTokenizer(),
        embedder=embedder,
        memory_model=memory_model,
        reasoning_model=reasoning_model,
        prices=prices_of(chosen.prices),
        owned=() if embedder is chosen.embedder else _closable(embedder),
        connect=partial(connect, beside=chosen.beside if around is None else None),
        automatic=chosen.embedder == "auto",
        conduct=conduct,
    )
    keeper = Keeper(ports)
    # A clock that is brought along may stand, and says nothing of how long to wait.
    if conduct.background == "on" and clock is None:
        keeper.run_in(_background(keeper, ports, local, chosen))
    where = None if store else file_of(url)
    told = {"durability": local.durability, "language": conduct.language}
    note(LOG, logging.INFO, "opened", file=where, **told)
    return keeper


def _background(keeper: Keeper, ports: Ports, local: Store, models: Models) -> Background:
    """A thread of its own where no port suspends, else the loop that the ports belong to."""
    embedder = getattr(ports.embedder, "local", ports.embedder)
    connecting = partial(connect, beside=models.beside)
    beside = Keeper(replace(ports, store=local, embedder=embedder, connect=connecting))
    beside.reports = keeper.reports
    return InThread(beside, keeper.rest) if beside.inline else InLoop(keeper, keeper.rest)


def verify_file(url: str, progress: Progress) -> Verification:
    """Check a file or a backup while nothing of it is changed, not even by opening it."""
    return check_file(file_of(url), progress)


def embedder_of(models: Models, *, in_loop: bool) -> Embedder | None:
    """The embedder that was chosen, by name or brought along; None to search by words only."""
    chosen = models.embedder
    if chosen is None or chosen == "none":
        return None
    if hasattr(chosen, "embed"):
        return cast(Embedder, chosen)
    if isinstance(chosen, str) and ":" in chosen:
        return _remote_embedder(chosen, models, in_loop=in_loop)
    if chosen in ("auto", "local"):
        from recollect.models.embedding.minilm import MiniLM, is_installed

        if chosen == "auto" and not is_installed():
            return None
        made: Embedder = MiniLM()
    elif callable(chosen):
        from recollect.models.embedding.callable import CallableEmbedder

        made = CallableEmbedder(chosen)
    else:
        raise ValidationError(
            "embedder must be auto, none, local, provider:model, an embedder or a function from "
            f"texts to vectors, not {shown(chosen)}",
            field="embedder",
        )
    if not in_loop:
        return made
    from recollect.models.embedding.off_loop import OffLoop

    return OffLoop(made)


def _closable(thing: object) -> "tuple[Closable, ...]":
    return (cast("Closable", thing),) if hasattr(thing, "close") else ()


def _remote_embedder(name: str, models: Models, *, in_loop: bool) -> Embedder:
    from recollect.models.beside import EmbedderBeside
    from recollect.models.embedding.remote import RemoteEmbedder

    said = {"label": name, "model": name, "base_url": models.embedder_url or None}
    client = client_of({**said, "key_env": models.embedder_key_env or None})
    made = RemoteEmbedder(client)
    return made if in_loop or models.beside is None else EmbedderBeside(made, models.beside)


def prices_of(chosen: object) -> Prices:
    """What knows prices: those that were told, before those of the price list."""
    if hasattr(chosen, "money"):
        return cast(Prices, chosen)
    from recollect.models.prices import PriceList

    if chosen is not None and not isinstance(chosen, Mapping):
        raise ValidationError(f"prices must be a mapping, not {shown(chosen)}", field="prices")
    return PriceList(chosen)


def chat_of(chosen: object, *, field: str) -> Chat | str | None:
    """The model that was brought along or named."""
    if chosen is None or chosen == "none":
        return None
    if isinstance(chosen, str):
        return checked_name(chosen, field=field)
    if hasattr(chosen, "answer"):
        return cast(Chat, chosen)
    raise ValidationError(
        f"{field} must be a chat, provider:model or the label of a model client, "
        f"not {shown(chosen)}",
        field=field,
    )


def connect(clients: Sequence[ModelClient], *, beside: "Callable[[], Loop] | None") -> Chat:
    """A chat of a client and of those that stand in for it."""
    from recollect.models.chat.connecting import connect as connected

    made = connected(clients)
    if beside is None:
        return made
    from recollect.models.beside import ChatBeside

    return ChatBeside(made, beside)


def file_of(url: str) -> str:
    """The file that a path or a `sqlite:///` URL names."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    if url == ":memory:":
        raise ValidationError(
            "':memory:' names no file; a memory without one, for tests, is made by "
            "recollect.testing.open_memory()",
            field="url",
        )
    scheme, mark, _ = url.partition("://")
    if mark:
        raise ValidationError(
            f"cannot open {scheme}:// URLs; give a path or sqlite:///path", field="url"
        )
    return url
