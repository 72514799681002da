"""One player who does everything that a memory can do, and compares each answer with the model."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain import times
from recollect.domain.errors import (
    ConflictError,
    IdempotencyMismatch,
    NotFound,
    StorageError,
    ValidationError,
)
from recollect.domain.records import MemoryRecord
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore, SeededEntropy
from tests.faults.vfs import Disk, Fault
from tests.property.stores import opened
from tests.simulation.model import ALL, Known, Person

PEOPLE = ("ana", "ben", "cleo")
WORDS = ("tea", "train", "harbour", "violin", "garden", "winter", "bicycle", "letter")
PAGE = 1000
SEAL_AT = 16  #: the index is sealed this often here, so that it happens in a short run


class Player:
    """Plays with one store. Every text holds a word of its person that nobody else may ever see."""

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        self.rng = random.Random(seed)
        self.clock = FrozenClock("2026-01-01")
        self.entropy = SeededEntropy(seed)
        self.people = {name: Person() for name in PEOPLE}
        self.keys: dict[tuple[str, str], tuple[str, str]] = {}
        self.erased: dict[str, str] = {}
        self.past: list[tuple[str, dict[str, dict[str, Known]]]] = []
        self.played: list[str] = []
        self.failures = 0
        self._number = 0
        self._path = None if folder is None else str(folder / "memory.db")
        self._disk = None if folder is None else Disk(f"simulated-{id(self)}")
        self.memory = self._open()

    def _open(self) -> Memory:
        if self._path is None or self._disk is None:
            store: Any = InMemoryStore()
        else:
            store = SqliteStore(self._path, vfs=self._disk.name)
        return opened(store, self.clock, entropy=self.entropy)

    def close(self) -> None:
        self.memory.close()
        if self._disk is not None:
            self._disk.unregister()

    # -- playing ---------------------------------------------------------------------------------

    def play(self, name: str) -> None:
        """One action by name, at the next moment, and now and then on a failing disk."""
        self.clock.advance(seconds=self.rng.randint(1, 7200))
        self.played.append(name)
        getattr(self, name)(self.rng.choice(PEOPLE))

    def _write(
        self, who: str, wanted: Person, call: Callable[[Memory], Any], *, fragile: bool = True
    ) -> Any:
        """Do one write that should lead to `wanted`; if the disk fails, all or nothing is right."""
        if fragile and self._disk is not None and self.rng.random() < 0.1:
            self._disk.break_at(Fault(self.rng.randint(1, 6), lasting=self.rng.random() < 0.5))
        try:
            answer = call(self.memory.scope(user=who))
        except StorageError:
            self._after_failure(who, wanted)
            return None
        finally:
            if self._disk is not None:
                self._disk.heal()
        self.people[who] = wanted
        return answer

    def _after_failure(self, who: str, wanted: Person) -> None:
        """Look at what a failed write left, and take over which of the two it was."""
        assert self._disk is not None
        self._disk.heal()
        self.failures += 1
        scope = self.memory.scope(user=who)
        records = self._records(who)
        profile = scope.profile("notes").get().data
        before = self.people[who]
        assert before.looks_like(records, profile) or wanted.looks_like(records, profile), (
            f"{self.played[-1]} of {who} on a failing disk left neither the old nor the new"
        )
        states = {
            id: tuple(Known.of(change.after) for change in scope.history(id) if change.after)
            for id in records
        }
        links = {
            (link.source, link.target) for id in records for link in scope.links(id, kind="near")
        }
        successors = {
            id: record.superseded_by for id, record in records.items() if record.superseded_by
        }
        self.people[who] = Person(states, {**profile}, frozenset(links), successors)
        for id in before.states:
            if id not in records:
                self.erased[id] = who
        self._drop_past()

    def _records(self, who: str) -> dict[str, MemoryRecord]:
        page = self.memory.scope(user=who).list(limit=PAGE, status=ALL)
        return {record.id: record for record in page.items}

    def _text(self, who: str) -> str:
        self._number += 1
        words = " ".join(self.rng.choices(WORDS, k=3))
        return f"{who}secret entry{self._number} {words}"

    def _one(self, who: str) -> str | None:
        active = self.people[who].active
        return self.rng.choice(list(active)) if active else None

    # -- writes ----------------------------------------------------------------------------------

    def remember(self, who: str) -> None:
        text = self._text(who)
        tags = (self.rng.choice(WORDS),)
        placeholder = self.people[who].with_state(text, Known(text, tags=tags))
        told = self._write(who, placeholder, lambda m: m.remember(text, tags=list(tags)))
        if told is not None:
            self._name(who, {text: told.id})

    def remember_with_key(self, who: str) -> None:
        """A key used again gives the first answer; with another text it is refused."""
        day = times.show(self.clock.now()).date()  # keys are kept for a day at least
        key = f"{day}-{self.rng.randrange(3)}"
        scope = self.memory.scope(user=who)
        if (who, key) in self.keys:
            id, text = self.keys[who, key]
            if id in self.erased:
                return
            assert scope.remember(text, key=key).id == id
            with pytest.raises(IdempotencyMismatch):
                scope.remember(text + " and more", key=key)
            return
        text = self._text(who)
        placeholder = self.people[who].with_state(text, Known(text))
        call = lambda m: m.remember(text, key=key)  # noqa: E731
        told = self._write(who, placeholder, call, fragile=False)
        self._name(who, {text: told.id})
        self.keys[who, key] = (told.id, text)

    def remember_many(self, who: str) -> None:
        texts = [self._text(who) for _ in range(self.rng.randint(1, 5))]
        wanted = self.people[who]
        for text in texts:
            wanted = wanted.with_state(text, Known(text))
        told = self._write(who, wanted, lambda m: m.remember_many(texts))
        if told is not None:
            self._name(who, {text: one.id for text, one in zip(texts, told.stored, strict=True)})

    def remember_many_with_a_bad_one(self, who: str) -> None:
        scope = self.memory.scope(user=who)
        items = [self._text(who), {"text": self._text(who), "importance": 7}, self._text(who)]
        with pytest.raises(ValidationError):
            scope.remember_many(items)
        batch = scope.remember_many(items, atomic=False)
        assert [one.index for one in batch.failed] == [1]
        for one in batch.stored:
            known = Known(one.text)
            self.people[who] = self.people[who].with_state(one.id, known)

    def update(self, who: str) -> None:
        id = self._one(who)
        if id is None:
            return
        importance = round(self.rng.random(), 3)
        wanted = self.people[who].with_changes(id, importance=importance)
        self._write(who, wanted, lambda m: m.update(id, importance=importance))

    def rewrite(self, who: str) -> None:
        id = self._one(who)
        if id is None:
            return
        text = self._text(who)
        wanted = self.people[who].with_changes(id, text=text)
        self._write(who, wanted, lambda m: m.update(id, text=text))

    def update_an_old_version(self, who: str) -> None:
        id = self._one(who)
        if id is not None:
            version = self.people[who].present[id].version
            with pytest.raises(ConflictError):
                self.memory.scope(user=who).update(id, importance=0.1, if_version=version + 1)

    def correct(self, who: str) -> None:
        id = self._one(who)
        if id is None:
            return
        text = self._text(who)
        old = self.people[who].present[id]
        wanted = self.people[who].with_changes(id, status="superseded")
        wanted = wanted.with_state(text, Known(text, old.importance, old.tags)).corrected(id, text)
        told = self._write(who, wanted, lambda m: m.correct(id, text))
        if told is not None:
            self._name(who, {text: told.id})

    def undo(self, who: str) -> None:
        """The last change of a memory is taken back, unless it was a correction."""
        id = self._one(who)
        if id is None:
            return
        last = self.memory.scope(user=who).history(id)[-1]
        states = self.people[who].states[id]
        if last.event.action == "remember":
            wanted = self.people[who].with_changes(id, status="archived")
        elif last.event.action == "update" and len(states) > 1:
            earlier = states[-2]
            wanted = self.people[who].with_changes(
                id, text=earlier.text, importance=earlier.importance
            )
        else:
            return
        event = last.event.id
        if sum(event == one.event.id for one in self.memory.scope(user=who).events(limit=PAGE)) > 1:
            return  # a batch: undone as a whole or not at all
        self._write(who, wanted, lambda m: m.undo(event))

    def merge_profile(self, who: str) -> None:
        values = {self.rng.choice(WORDS): self.rng.randrange(9)}
        wanted = self.people[who].with_profile(**values)
        self._write(who, wanted, lambda m: m.profile("notes").merge(values))

    def link(self, who: str) -> None:
        source, target = self._one(who), self._one(who)
        if source is None or target is None or source == target:
            return
        wanted = self.people[who].linked(source, target)
        self._write(who, wanted, lambda m: m.link(source, target, kind="near"))

    def forget(self, who: str) -> None:
        id = self._one(who)
        if id is None:
            return
        self._erase(who, {id}, lambda m: m.forget(id))

    def forget_by_tag(self, who: str) -> None:
        if self.rng.random() < 0.7:
            return
        tag = self.rng.choice(WORDS)
        present = self.people[who].present
        ids = {id for id, known in present.items() if tag in known.tags}
        self._erase(who, ids, lambda m: m.forget(where={"tags": {"contains": tag}}))

    def forget_the_person(self, who: str) -> None:
        if self.rng.random() < 0.9:
            return
        ids = set(self.people[who].states)
        self._write(who, Person(), lambda m: m.forget(everything=True), fragile=False)
        self.erased.update(dict.fromkeys(ids, who))
        self._drop_past()

    def _erase(self, who: str, ids: set[str], call: Callable[[Memory], Any]) -> None:
        """A correction stands on its own: it stays when what it corrected goes."""
        wanted = self.people[who].without(ids)
        if self._write(who, wanted, call) is not None:
            self.erased.update(dict.fromkeys(ids, who))
            self._drop_past()

    def _name(self, who: str, ids: dict[str, str]) -> None:
        """Put the ids that were given in place of the texts that stood for them."""
        self.people[who] = self.people[who].named(ids)

    def _drop_past(self) -> None:
        for _, people in self.past:
            for known in people.values():
                for id in self.erased:
                    known.pop(id, None)

    # -- the world -------------------------------------------------------------------------------

    def restart(self, who: str) -> None:
        """Close and open again; a store in dictionaries would lose everything by that."""
        del who
        if self._path is not None:
            self.memory.close()
            self.memory = self._open()

    def crash(self, who: str) -> None:
        """Open again without having closed: what a killed process leaves to the next one."""
        del who
        if self._path is not None:
            left = self.memory
            self.memory = self._open()
            self.nothing_differs()
            left.close()

    def look_back_later(self, who: str) -> None:
        """Note what is known now, to ask for it at another time."""
        del who
        now = {name: dict(person.active) for name, person in self.people.items()}
        self.past.append((times.iso(times.show(self.clock.now())), now))
        self.clock.advance(seconds=1)

    # -- named invariants ------------------------------------------------------------------------

    def recall_stays_in_its_scope(self, who: str) -> None:
        """No channel shows what belongs to someone else, or what was erased."""
        scope = self.memory.scope(user=who)
        for other in PEOPLE:
            word = f"{other}secret"
            hits = list(scope.recall(f"{word} {self.rng.choice(WORDS)}", limit=20))
            assert all(hit.text.startswith(f"{who}secret") for hit in hits), word
            if other != who:
                for id in list(self.people[other].states)[:2]:
                    with pytest.raises(NotFound):
                        scope.get(id)
                    with pytest.raises(NotFound):
                        scope.update(id, importance=0.9)
                    with pytest.raises(NotFound):
                        scope.forget(id)
                    with pytest.raises(NotFound):
                        scope.history(id)
        found = {hit.id for hit in scope.recall(f"{who}secret", limit=PAGE)}
        assert found == set(self.people[who].active)
        assert scope.count() == len(self.people[who].active)

    def forget_is_final(self, who: str) -> None:
        """What was erased is nowhere: not by id, not in lists, not in events."""
        scope = self.memory.scope(user=who)
        mine = [id for id, owner in self.erased.items() if owner == who]
        for id in self.rng.sample(mine, min(3, len(mine))):
            with pytest.raises(NotFound):
                scope.get(id)
            with pytest.raises(NotFound):
                scope.history(id)
        listed = set(self._records(who))
        assert not listed & set(self.erased)
        for change in scope.events(limit=PAGE):
            if change.event.subject.partition(":")[2] in self.erased:
                assert (change.before, change.after) == (None, None)

    def history_replays_to_the_present(self, who: str) -> None:
        """The states that history tells are those that the model went through, in order."""
        scope = self.memory.scope(user=who)
        states = self.people[who].states
        for id in self.rng.sample(list(states), min(3, len(states))):
            changes = scope.history(id)
            told = tuple(Known.of(change.after) for change in changes if change.after)
            assert told == states[id], (id, told, states[id])
            for earlier, later in pairwise(changes):
                assert later.before == earlier.after
            assert changes[-1].after == scope.get(id)
            assert changes[0].before is None

    def the_past_stays_as_it_was(self, who: str) -> None:
        """What was known at a moment is still what `known_at` tells of it."""
        if not self.past:
            return
        moment, people = self.rng.choice(self.past)
        page = self.memory.scope(user=who).list(known_at=moment, limit=PAGE)
        assert {one.id: Known.of(one).text for one in page.items} == {
            id: known.text for id, known in people[who].items()
        }

    def nothing_differs(self, who: str = "") -> None:
        """Everything of everyone is as the model has it: batches whole, nothing lost or made up."""
        for name in (who,) if who else PEOPLE:
            person = self.people[name]
            found = {id: Known.of(record) for id, record in self._records(name).items()}
            assert found == person.present, name
            scope = self.memory.scope(user=name)
            assert scope.profile("notes").get().data == person.profile
            links = {
                (link.source, link.target) for id in found for link in scope.links(id, kind="near")
            }
            assert links == set(person.links)


WRITES = (
    *("remember", "remember", "remember", "remember_with_key", "remember_many"),
    *("remember_many_with_a_bad_one", "update", "rewrite", "update_an_old_version", "correct"),
    *("undo", "merge_profile", "link", "forget", "forget_by_tag", "forget_the_person"),
)
WORLD = ("restart", "crash", "look_back_later")
INVARIANTS = (
    *("recall_stays_in_its_scope", "forget_is_final", "history_replays_to_the_present"),
    *("the_past_stays_as_it_was", "nothing_differs"),
)
