"""What a memory must hold, as dictionaries: the other side of every comparison.

One `Known` per memory of a person, all of its states in order, and the profile. A change makes a
new `Person`, so that a write that failed can be compared with the person before and after it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recollect.domain.records import MemoryRecord

ALL = ("active", "superseded", "quarantined", "archived")


@dataclass(frozen=True, slots=True)
class Known:
    """What can be said of a memory without its id."""

    text: str
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    status: str = "active"
    version: int = 1

    @classmethod
    def of(cls, record: MemoryRecord) -> "Known":
        return cls(record.text, record.importance, record.tags, record.status, record.version)

    def next(self, **changes: Any) -> "Known":
        return replace(self, version=self.version + 1, **changes)


@dataclass(frozen=True, slots=True)
class Person:
    """Everything of one person: the states of each memory by id, oldest first, and the profile."""

    states: Mapping[str, tuple[Known, ...]] = field(default_factory=dict[str, tuple[Known, ...]])
    profile: Mapping[str, int] = field(default_factory=dict[str, int])
    links: frozenset[tuple[str, str]] = frozenset()
    successors: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def present(self) -> dict[str, Known]:
        return {id: states[-1] for id, states in self.states.items()}

    @property
    def active(self) -> dict[str, Known]:
        return {id: known for id, known in self.present.items() if known.status == "active"}

    def with_state(self, id: str, known: Known) -> "Person":
        """The person after a memory was made or got its next state."""
        return replace(self, states={**self.states, id: (*self.states.get(id, ()), known)})

    def with_changes(self, id: str, **changes: Any) -> "Person":
        """The person after a memory was changed; to what it is already is no change."""
        present = self.present[id]
        if replace(present, **changes) == present:
            return self
        return self.with_state(id, present.next(**changes))

    def without(self, ids: set[str]) -> "Person":
        """The person after some memories were erased: their links are gone too.

        A memory that one of them had corrected stays superseded; the state that named the
        correction is not kept.
        """
        states = {id: states for id, states in self.states.items() if id not in ids}
        for old, new in self.successors.items():
            if new in ids and old in states:
                states[old] = (*states[old][:-1], states[old][-1].next())
        return replace(
            self,
            states=states,
            links=frozenset(link for link in self.links if not ids & set(link)),
            successors={old: new for old, new in self.successors.items() if new not in ids},
        )

    def named(self, ids: Mapping[str, str]) -> "Person":
        """The person with the ids that were given in place of the texts that stood for them."""
        return replace(
            self,
            states={ids.get(id, id): states for id, states in self.states.items()},
            successors={old: ids.get(new, new) for old, new in self.successors.items()},
        )

    def corrected(self, old: str, new: str) -> "Person":
        return replace(self, successors={**self.successors, old: new})

    def with_profile(self, **values: int) -> "Person":
        return replace(self, profile={**self.profile, **values})

    def linked(self, source: str, target: str) -> "Person":
        return replace(self, links=self.links | {(source, target)})

    def looks_like(self, records: Mapping[str, MemoryRecord], profile: Mapping[str, Any]) -> bool:
        """Whether that is what was found, but for the ids of memories that just came to be."""
        found = Counter(Known.of(record) for record in records.values())
        return found == Counter(self.present.values()) and dict(profile) == dict(self.profile)
