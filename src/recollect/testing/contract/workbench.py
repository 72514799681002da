"""A store under test, and everything at hand to write operations for it in a few words."""

from collections.abc import Coroutine, Generator, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest

from recollect.client.runner import Inline, LoopThread, Runner
from recollect.domain import ids, times
from recollect.domain.operations import Entry, Erase, Once, Operation, Remember, SetLink, Stamp
from recollect.domain.queries import EventQuery, Scan, Search, View
from recollect.domain.records import Change, MemoryRecord, Status
from recollect.domain.scopes import Place, PlaceKind
from recollect.ports.store import Candidates, Store
from recollect.retrieval.analyser import Analyser

T = TypeVar("T")
ANA = Place("local", "default", PlaceKind.USER, "ana")
BOB = Place("local", "default", PlaceKind.USER, "bob")
SHARED = Place("local", "default", PlaceKind.SHARED, "")
#: Somebody of the same name in another tenant.
FOREIGN = Place("elsewhere", "default", PlaceKind.USER, "ana")
EVERY_STATUS = tuple(status.value for status in Status)
SPACE = "test-3"


class Workbench:
    """Writes and reads a store synchronously, at a time that moves a second per operation."""

    def __init__(self, store: Store, runner: Runner) -> None:
        self.store = store
        self.now = times.parse("2026-01-01", field="now")
        self._runner = runner
        self._analyser = Analyser()
        self._made = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the store answers."""
        return self._runner.run(coroutine)

    def number(self, word: str) -> int:
        """The number under which stores know a word."""
        (term,) = self._analyser.terms(word)
        return self._analyser.number(term)

    # -- making operations -----------------------------------------------------------------------

    def id(self, prefix: str = ids.MEMORY) -> str:
        """A new id, larger than all before."""
        self._made += 1
        return ids.render(prefix, ids.compose(self.now // 1000, self._made))

    def stamp(self, action: str = "test", *, event: str | None = None, **who: str) -> Stamp:
        """A stamp a second after the last one."""
        self.now += times.SECOND
        self._made += 1
        salt = self._made.to_bytes(16, "little")
        return Stamp(event or self.id(ids.EVENT), self.now, action, salt, **who)

    def record(self, text: str, place: Place = ANA, **fields: Any) -> MemoryRecord:
        """A record as the engine would make it."""
        now = times.show(self.now + times.SECOND)
        made: dict[str, Any] = {
            "id": self.id(),
            "created_at": now,
            "updated_at": now,
            "reinforced_at": now,
        }
        return MemoryRecord(text=text, place=place, **{**made, **fields})

    def entry(self, text: str, vector: Sequence[float] | None = None) -> Entry:
        """The index entry of a text; vectors are brought to unit length."""
        terms = self._analyser.packed(text)
        return Entry(terms) if vector is None else Entry(terms, packed(vector), SPACE)

    def remembering(
        self, record: MemoryRecord, vector: Sequence[float] | None = None, once: Once | None = None
    ) -> Remember:
        """The operation that stores a record."""
        return Remember(self.stamp("remember"), record, self.entry(record.text, vector), once)

    # -- writing ---------------------------------------------------------------------------------

    def apply(self, *operations: Operation, atomic: bool = True) -> list[Any]:
        """Carry out operations in one transaction."""
        return self.run(self.store.apply(operations, atomic=atomic))

    def do(self, operation: Operation) -> Any:
        """Carry out one operation."""
        (answer,) = self.apply(operation)
        return answer

    def remember(
        self,
        text: str,
        place: Place = ANA,
        *,
        vector: Sequence[float] | None = None,
        **fields: Any,
    ) -> MemoryRecord:
        """Store a memory."""
        stored: MemoryRecord = self.do(self.remembering(self.record(text, place, **fields), vector))
        return stored

    def link(self, source: str, target: str, kind: str = "related") -> bool:
        """Link two memories of Ana or of those she shares with."""
        op = SetLink(self.stamp("link"), source, target, kind, 1.0, (ANA, SHARED))
        return bool(self.do(op))

    def erase(self, *ids: str, cascade: bool = True) -> dict[str, int]:
        """Erase memories of Ana; how many rows of which table."""
        erasing = Erase(self.stamp("erase"), (ANA,), ids=ids, cascade=cascade)
        counts: dict[str, int] = self.do(erasing)
        return counts

    # -- reading ---------------------------------------------------------------------------------

    def view(self, *places: Place, **parts: Any) -> View:
        """A view of places, Ana's unless said otherwise, at the present moment."""
        given: dict[str, Any] = {"places": places or (ANA,), "now": self.now, **parts}
        return View(**given)

    def get(self, id: str, *places: Place, **parts: Any) -> MemoryRecord | None:
        """One memory, if a view shows it."""
        found = self.run(self.store.get([id], self.view(*places, **parts)))
        return found.get(id)

    def listed(self, view: View | None = None, **parts: Any) -> list[str]:
        """The texts of a listing of up to a hundred, in order of writing unless said otherwise."""
        defaults: dict[str, Any] = {"limit": 100, "descending": False}
        scan = Scan(view or self.view(), **{**defaults, **parts})
        return texts(self.run(self.store.scan(scan)))

    def search(
        self, *words: str, view: View | None = None, vector: Sequence[float] | None = None
    ) -> Candidates:
        """What a search for words and perhaps a vector finds."""
        search = Search(
            view or self.view(),
            tuple(map(self.number, words)),
            None if vector is None else packed(vector),
            None if vector is None else SPACE,
            analyse=self._analyser.packed,
        )
        return self.run(self.store.candidates(search))

    def found(self, candidates: Candidates) -> dict[str, int]:
        """The texts of candidates, and on which line each is."""
        keys = candidates.keys.tolist()
        present = self.run(self.store.load([key for key in keys if key not in candidates.past]))
        records = {**candidates.past, **present}
        return {records[key].text: line for line, key in enumerate(keys)}

    def changes(self, *places: Place, **parts: Any) -> list[Change]:
        """Events of places, Ana's unless said otherwise."""
        return self.run(self.store.changes(EventQuery(places or (ANA,), **parts)))

    def problems(self) -> list[str]:
        """What `verify` finds wrong."""
        told = self.run(self.store.verify(silent))
        return [f"{finding.subject} {finding.problem}" for finding in told.findings]


def silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""


def packed(vector: Sequence[float]) -> bytes:
    """A vector of unit length as stores keep it."""
    array = np.array(vector, dtype=np.float64)
    return (array / np.linalg.norm(array)).astype("<f4").tobytes()


def texts(records: Iterable[MemoryRecord]) -> list[str]:
    """The texts of records."""
    return [record.text for record in records]


class OnWorkbench:
    """Gives every test of the contract a workbench on a store of its own."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store; override this."""
        raise NotImplementedError("override the fixture `store` with one that opens your store")

    @pytest.fixture
    def bench(self, store: Store) -> Generator[Workbench]:
        """The store on a workbench; closed after the test."""
        runner: Runner = Inline() if store.inline else LoopThread()
        yield Workbench(store, runner)
        runner.close(store.close())
