"""What every use-case stands on: the ports, and how stamps, views and vectors come about."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recollect.domain import filters, ids, times
from recollect.domain.conduct import USUAL, Conduct
from recollect.domain.costs import Payer
from recollect.domain.drafts import check_dimensions
from recollect.domain.errors import (
    BudgetExceeded,
    NotFound,
    ProviderError,
    ValidationError,
    shown,
)
from recollect.domain.health import Severity
from recollect.domain.limits import DIMENSIONS_MAX
from recollect.domain.operations import Enqueue, Entry, Operation, Stamp, Touch
from recollect.domain.passages import WORDS_MAX, passages
from recollect.domain.queries import View
from recollect.domain.records import MemoryRecord, Status
from recollect.domain.requests import Because, Selection
from recollect.domain.sameness import mark_of
from recollect.domain.scopes import Scope, check_name
from recollect.engine.chats import Chats, Closable
from recollect.engine.ledger import Call, Ledger
from recollect.extraction.claims import Claim, Claims
from recollect.logs import note
from recollect.ports.chat import Chat, Connect
from recollect.ports.embedder import Embedded, Embedder, Metered, Purpose
from recollect.ports.prices import Prices
from recollect.ports.store import Store
from recollect.ports.tokens import Tokenizer
from recollect.ports.world import Clock, Entropy
from recollect.retrieval.analyser import Analyser

#: Says what an operator wants to know: counts, sizes, times and ids, never content.
LOG = logging.getLogger("recollect.engine")
#: The space of vectors that callers bring along when no embedder is configured.
GIVEN_SPACE = "given"
SALT_BYTES = 16
#: What an embedder is asked whose dimension is not known yet.
PROBE = "dimensions"
#: A text of so many characters is one passage, whatever it says.
PASSAGE_CHARS = 300
#: Of a text longer than about 5,000 words the rest is found by its words alone: a megabyte would
#: take the embedder half a minute.
PASSAGES_MAX = 64


@dataclass(slots=True)
class Ports:
    """What the engine is wired to."""

    store: Store
    clock: Clock
    entropy: Entropy
    analyser: Analyser
    embedder: Embedder | None = None
    #: Brought along, or named: `provider:model`, or the label of a model client.
    memory_model: Chat | str | None = None
    reasoning_model: Chat | str | None = None
    prices: Prices | None = None  #: what calls cost; without it nobody knows
    connect: Connect | None = None  #: how a model that is only named is reached
    owned: tuple[Closable, ...] = ()  #: what is closed with the engine
    #: The embedder was not asked for: vectors that callers bring along are not of its space.
    automatic: bool = False
    tokenizer: Tokenizer | None = None  #: for contexts, which cannot be made without one
    conduct: Conduct = USUAL


class Core:
    """The common ground of the use-cases."""

    def __init__(self, ports: Ports) -> None:
        self._store = ports.store
        self._clock = ports.clock
        self._entropy = ports.entropy
        self._analyser = ports.analyser
        self._embedder = ports.embedder
        counts = hasattr(ports.embedder, "embed_counted")
        self._metered = cast(Metered, ports.embedder) if counts else None
        self._memory_chat = ports.memory_model
        self._reasoning_chat = ports.reasoning_model
        self._chats = Chats(ports.connect)
        self._owned = ports.owned
        self._ledger = Ledger(ports.store, ports.clock, ports.prices)
        self._automatic = ports.automatic
        self._conduct = ports.conduct
        self._claims = Claims(ports.conduct.language)
        self._tokenizer = ports.tokenizer
        self._rules = ports.conduct.context
        self._last_id = 0
        self._numbering = threading.Lock()
        self._touched: dict[str, int] = {}

    @property
    def inline(self) -> bool:
        """True when no port ever suspends."""
        chats = (self._memory_chat, self._reasoning_chat)
        brought = (self._embedder, *(one for one in chats if not isinstance(one, str)))
        return self._store.inline and all(one is None or one.inline for one in brought)

    # -- identity and time -----------------------------------------------------------------------

    def _new_id(self, prefix: str) -> str:
        """An id that is larger than every one before it."""
        milliseconds = self._clock.now() // 1000
        drawn = ids.compose(milliseconds, int.from_bytes(self._entropy.bytes(10), "little"))
        with self._numbering:
            self._last_id = number = max(drawn, self._last_id + 1)
        return ids.render(prefix, number)

    def _stamp(self, action: str, because: Because) -> Stamp:
        """Who, what, when and why, for one change."""
        for name, said in (("actor", because.actor), ("reason", because.reason)):
            if said is not None:
                check_name(said, field=name)
        return Stamp(
            event=self._new_id(ids.EVENT),
            at=self._clock.now(),
            action=action,
            salt=self._entropy.bytes(SALT_BYTES),
            actor=because.actor,
            reason=because.reason,
        )

    def _report(
        self,
        component: str,
        error: BaseException,
        *,
        severity: Severity | None = None,
        agent: str | None = None,
    ) -> None:
        """An error that goes no further than here; whoever listens for errors is told of it."""

    def _queued(self, job: Enqueue) -> Enqueue:
        """A job on its way into the queue; whatever runs jobs is told of it here."""
        return job

    # -- views -----------------------------------------------------------------------------------

    def _view(self, scope: Scope, selection: Selection | None = None) -> View:
        """What a scope shows of a selection."""
        chosen = selection or Selection()
        known_at = self._moment(chosen.known_at, "known_at")
        as_of = known_at if chosen.as_of is None else self._moment(chosen.as_of, "as_of")
        return View(
            places=scope.places,
            now=self._moment(chosen.now, "now") or self._clock.now(),
            session=scope.session if scope.only_session else None,
            as_of=as_of,
            known_at=known_at,
            statuses=_statuses(chosen.statuses),
            where=filters.parse(chosen.where),
        )

    def _everything(self, scope: Scope) -> View:
        """Every memory of a scope, whatever its status."""
        return View(
            places=scope.places,
            now=self._clock.now(),
            statuses=tuple(status.value for status in Status),
        )

    def _moment(self, value: object, field: str) -> int | None:
        return None if value is None else times.parse(value, field=field)

    async def _one(self, scope: Scope, id: str, selection: Selection | None = None) -> MemoryRecord:
        """A memory that a scope sees, or NotFound."""
        found = await self._store.get([id], self._view(scope, selection))
        if id not in found:
            raise NotFound(f"no memory {id} in this scope")
        return found[id]

    # -- texts and vectors -----------------------------------------------------------------------

    async def _entry(self, record: MemoryRecord) -> Entry:
        """What the indexes hold of a memory, with vectors if the embedder answers."""
        return (await self._entries([record], {}))[0]

    async def _entries(
        self,
        records: Sequence[MemoryRecord],
        given: Mapping[int, NDArray[np.float32]],
        claims: Sequence[Sequence[Claim]] | None = None,
    ) -> list[Entry]:
        """What the indexes hold of memories; those without a given vector get one per passage."""
        packed = self._analyser.packed
        if given and not await self._knows_dimensions(_payer_of(records[0])):
            given = {}
        if claims is None and self._conduct.contradictions != "keep":
            claims = [self._claims.of(record) for record in records]
        made = await self._embed_passages(
            [i for i in range(len(records)) if i not in given], records
        )
        entries: list[Entry] = []
        for index, record in enumerate(records):
            terms = packed(record.spoken)
            marks = _marks_of(record, claims[index] if claims else ())
            if index in given:
                vectors = given[index]
                space = self._space(len(vectors), given=True)
                blob = vectors.astype("<f4", copy=False).tobytes()
                entries.append(Entry(terms, blob, space, 1, marks))
            elif index in made:
                vectors = made[index]
                space = self._space(vectors.shape[1], given=False)
                blob = vectors.astype("<f4", copy=False).tobytes()
                entries.append(Entry(terms, blob, space, len(vectors), marks))
            else:
                entries.append(Entry(terms, marks=marks))
        return entries

    async def _embed_passages(
        self, wanted: Sequence[int], records: Sequence[MemoryRecord]
    ) -> dict[int, NDArray[np.float32]]:
        """For each wanted memory the vectors of its passages; empty without an answer."""
        if self._embedder is None or not wanted:
            return {}
        texts: list[str] = []
        ends: list[int] = []
        for index in wanted:
            texts += _passages_of(records[index])
            ends.append(len(texts))
        made = await self._embed(texts, "passage", _payer_of(records[wanted[0]]))
        if made is None:
            return {}
        return dict(zip(wanted, np.split(made, ends[:-1]), strict=True))

    async def _knows_dimensions(self, payer: Payer) -> bool:
        """Whether given vectors can be told to be of the embedder's space; it may have to be asked.

        False when it does not answer: what was given is then left out, and made again later.
        """
        if self._embedder is None or self._automatic or self._embedder.dimensions:
            return True
        return await self._embed([PROBE], "passage", payer) is not None

    def _space(self, dimensions: int, *, given: bool) -> str:
        """The space that a vector of this size is written to and searched in."""
        if self._embedder is None or (given and self._automatic):
            return GIVEN_SPACE
        if dimensions != self._embedder.dimensions:
            raise ValidationError(
                f"the vector has {dimensions} dimensions, {self._embedder.space} makes "
                f"{self._embedder.dimensions}",
                field="vector",
            )
        return self._embedder.space

    async def _embed(
        self, texts: Sequence[str], purpose: Purpose, payer: Payer
    ) -> NDArray[np.float32] | None:
        """Vectors of unit length; None when there is no embedder or it does not answer."""
        if self._embedder is None or not texts:
            return None
        try:
            if self._metered is not None:
                made = await self._embed_booked(self._metered, texts, purpose, payer)
            else:
                made = await self._embedder.embed(texts, purpose)
            vectors = np.asarray(made, dtype=np.float32)
            if vectors.shape != (len(texts), self._embedder.dimensions):
                raise ProviderError(
                    f"{self._embedder.space} answered {vectors.shape} for {len(texts)} texts"
                )
            return unit_rows(vectors)
        except (ProviderError, ValidationError, BudgetExceeded) as exc:
            # The class alone: what a provider says may quote the texts that it was given.
            what = "the embedder did not answer"
            note(LOG, logging.WARNING, what, texts=len(texts), error=type(exc).__name__)
            self._report("embedder", exc)
            return None

    async def _embed_booked(
        self, embedder: Metered, texts: Sequence[str], purpose: Purpose, payer: Payer
    ) -> NDArray[np.float32]:
        """Vectors that cost something: allowed by the budgets first, and written down after."""
        operation = "recall" if purpose == "question" else "remember"
        call = Call(payer, operation, "embedding", (embedder.model,))
        await self._ledger.check(call)
        try:
            made: Embedded = await embedder.embed_counted(texts, purpose)
        except ProviderError as exc:
            await self._ledger.book(call, "vectors", exc.spent)
            raise
        await self._ledger.book(call, "vectors", made.usage)
        return made.vectors

    # -- reads that count ------------------------------------------------------------------------

    def _count_read(self, records: Sequence[MemoryRecord]) -> None:
        """Note that memories were read; written with a later batch, never by the read itself."""
        for record in records:
            self._touched[record.id] = self._touched.get(record.id, 0) + 1

    def _take_touched(self) -> list[Operation]:
        """What writes the reads down, and reinforces what was read where the policy says so."""
        touched, self._touched = self._touched, {}
        if not touched:
            return []
        factor = self._conduct.policies.usual.reinforce_used
        if factor == 1.0:
            return [Touch(touched, self._clock.now())]
        stamp = self._stamp("reinforce", Because("recollect", "used"))
        return [Touch(touched, stamp.at, stamp, factor)]


def _payer_of(record: MemoryRecord) -> Payer:
    """Who a memory is written for."""
    return Payer(record.place, record.session, record.agent)


def _marks_of(record: MemoryRecord, claims: Sequence[Claim]) -> tuple[int, ...]:
    """The numbers by which a later write finds this memory: what it says, what it answers."""
    mark = mark_of(record)
    return () if mark is None else (mark, *(claim.mark for claim in claims))


def _passages_of(record: MemoryRecord) -> list[str]:
    """What of a memory becomes a vector each: passages, each with the name of who said it."""
    text = record.text
    # The cheap question first: most memories are a sentence or two.
    if len(text) <= PASSAGE_CHARS or len(text.split()) <= WORDS_MAX:
        return [record.spoken]
    named = f"{record.speaker}: " if record.speaker else ""
    return [f"{named}{passage}" for passage in islice(passages(text), PASSAGES_MAX)]


def given_vectors(vectors: Sequence[Any]) -> Sequence[NDArray[np.float32]]:
    """Callers' vectors, checked and brought to unit length; at once if they are of one size."""
    if len(vectors) > 1:
        try:
            together = _as_floats(vectors)
        except (TypeError, ValueError, OverflowError):
            return [given_vector(vector) for vector in vectors]
        if together.ndim == 2 and 0 < together.shape[1] <= DIMENSIONS_MAX:
            return list(unit_rows(together))
    return [given_vector(vector) for vector in vectors]


def given_vector(vector: Any) -> NDArray[np.float32]:
    """A caller's vector, checked and brought to unit length."""
    try:
        array = _as_floats(vector)
    except (TypeError, ValueError, OverflowError) as exc:
        raise ValidationError(
            f"the vector is not a list of numbers: {exc!s:.120}", field="vector"
        ) from exc
    if array.ndim != 1:
        raise ValidationError(
            f"the vector must be one list of numbers, not an array of {array.ndim} dimensions",
            field="vector",
        )
    check_dimensions(len(array))
    return unit_rows(array.reshape(1, -1))[0]


def _as_floats(numbers: Any) -> NDArray[np.float32]:
    """Numbers as float32; those that are too large become infinite, which is refused later."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=np.float32)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of unit length; numbers that are not finite and rows of zeros are refused."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not np.isfinite(norms).all():
        raise ValidationError("the vector holds NaN, infinity or too large numbers", field="vector")
    if (norms == 0).any():
        raise ValidationError("the vector is all zeros and has no direction", field="vector")
    return (vectors / norms[:, None]).astype(np.float32)


def _statuses(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"status must be a list, not {shown(names)}", field="status")
    known = [status.value for status in Status]
    for name in names:
        if name not in known:
            raise ValidationError(
                f"status must be one of {', '.join(known)}, not {shown(name)}", field="status"
            )
    if not names:
        raise ValidationError("the list of statuses is empty; leave it out", field="status")
    return tuple(names)
