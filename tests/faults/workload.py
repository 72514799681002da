"""Writes of every sort, in a seeded order, that say what they will do and what was acknowledged.

Before each write comes `{"will": …, "touches": [names], "extra": n}`; after it either
`{"did": {name: state}}` or `{"failed": error}`. A `Ledger` that heard them knows what a file must
hold: everything acknowledged, and of the one write that was under way all or nothing.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from recollect import Memory
from recollect.domain.errors import StorageError

BATCH = 5
PROFILE = "profile:notes"
Message = dict[str, Any]
Say = Callable[[Message], None]


def early(count: int) -> list[dict[str, Any]]:
    """Notes with vectors; 256 of them are enough for the index to be sealed once."""
    return [{"text": f"early note {n}", "vector": [1.0, n, *[0.0] * 6]} for n in range(count)]


class Workload:
    """Random writes to one memory."""

    def __init__(self, memory: Memory, seed: int, say: Say, *, known: dict[str, str] | None = None):
        self._memory = memory
        self._rng = random.Random(seed)
        self._say = say
        self._alive: dict[str, str] = {
            name: state.removeprefix("active:")
            for name, state in (known or {}).items()
            if state.startswith("active:")
        }
        self._number = 0
        self._texts = 0
        self._seed = seed
        self.errors: list[StorageError] = []

    @property
    def has_memories(self) -> bool:
        return bool(self._alive)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """One write."""
        sorts = ["add"] * 10 + ["batch"] * 2
        if self._alive:
            sorts += ["correct", "rewrite", "update", "forget", "profile", "link"]
        self.write(self._rng.choice(sorts))

    def write(self, sort: str) -> None:
        """One write of a sort; storage errors are collected, others are raised."""
        self._number += 1
        name = self._rng.choice(list(self._alive)) if self._alive else ""
        touches = {
            "add": [], "batch": [], "link": [], "profile": [PROFILE],
        }.get(sort, [name])  # fmt: skip
        extra = {"add": 1, "correct": 1, "batch": BATCH}.get(sort, 0)
        self._say({"will": sort, "touches": touches, "extra": extra})
        try:
            did = getattr(self, f"_{sort}")(name)
        except StorageError as error:
            for touched in touches:
                self._alive.pop(touched, None)
            self.errors.append(error)
            self._say({"failed": type(error).__name__})
            return
        for touched, state in did.items():
            if touched != PROFILE:
                self._alive.pop(touched, None)
                if state is not None and state.startswith("active:"):
                    self._alive[touched] = state.removeprefix("active:")
        self._say({"did": did})

    def _text(self) -> str:
        words = " ".join(f"word{self._rng.randrange(200)}" for _ in range(self._rng.randrange(30)))
        self._texts += 1  # no two say the same, which would be one memory
        return f"note {self._seed}.{self._number}.{self._texts} {words}"

    def _vector(self) -> list[float]:
        return [self._rng.gauss(0, 1) for _ in range(8)]

    def _add(self, _: str) -> dict[str, str]:
        text = self._text()
        stored = self._memory.remember(text, vector=self._vector(), tags=["one"], key=text[:20])
        return {stored.id: f"active:{text}"}

    def _batch(self, _: str) -> dict[str, str]:
        mark = {"batch": f"{self._seed}.{self._number}", "of": BATCH}
        items = [
            {"text": self._text(), "vector": self._vector(), "metadata": mark} for _ in range(BATCH)
        ]
        stored = self._memory.remember_many(items).stored
        return {one.id: f"active:{one.memory.text}" for one in stored}

    def _correct(self, name: str) -> dict[str, str]:
        text = self._text()
        # The correction of a batch's member is no member of the batch.
        new = self._memory.correct(name, text, vector=self._vector(), metadata={})
        return {new.id: f"active:{text}", name: f"superseded:{self._alive[name]}"}

    def _rewrite(self, name: str) -> dict[str, str]:
        text = self._text()
        self._memory.update(name, text=text)
        return {name: f"active:{text}"}

    def _update(self, name: str) -> dict[str, str]:
        self._memory.update(name, importance=self._rng.random())
        return {name: f"active:{self._alive[name]}"}

    def _forget(self, name: str) -> dict[str, None]:
        # Members of batches stay, so that a batch in a file is whole or was torn.
        if "batch" in self._memory.get(name).metadata:
            return {}
        self._memory.forget(name)
        return {name: None}

    def _profile(self, _: str) -> dict[str, str]:
        merged = self._memory.profile("notes").merge({"count": self._number, "by": self._seed})
        return {PROFILE: str(merged.data["count"])}

    def _link(self, name: str) -> dict[str, str]:
        other = self._rng.choice(list(self._alive))
        if other != name:
            self._memory.link(name, other, kind="near", strength=0.5)
        return {}


class Ledger:
    """What was acknowledged, and what may have happened besides."""

    def __init__(self) -> None:
        self.states: dict[str, str | None] = {}
        self.uncertain: set[str] = set()
        self.extra = 0
        self.acknowledged = 0
        self._open: Message | None = None

    def hear(self, message: Message) -> None:
        if "will" in message:
            self.settle()
            self._open = message
        elif "did" in message:
            self._open = None
            self.acknowledged += 1
            self.states.update(message["did"])
            self.uncertain.difference_update(message["did"])
        else:
            self.settle()

    def settle(self) -> None:
        """A write that was never answered may have happened or not."""
        if self._open is not None:
            self.uncertain.update(self._open["touches"])
            self.extra += self._open["extra"]
            self._open = None

    def lost(self, found: dict[str, str]) -> Iterator[str]:
        """What a file lacks of what was acknowledged, and what it holds that nobody wrote."""
        doubtful, extra = set(self.uncertain), self.extra
        if self._open is not None:
            doubtful.update(self._open["touches"])
            extra += self._open["extra"]
        for name, state in self.states.items():
            if name not in doubtful and found.get(name) != state:
                yield f"{name}: {found.get(name)!r:.60}, acknowledged was {state!r:.60}"
        unknown = [name for name in found if name not in self.states and name != PROFILE]
        if len(unknown) > extra:
            yield f"{len(unknown)} memories that nobody wrote, at most {extra} may be there"


def furnish(memory: Memory, people: int = 2) -> None:
    """Something in every table: enough memories for a sealed index, and all that hangs on them."""
    for number in range(people):
        person = memory.scope(user=f"person-{number}")
        stored = person.remember_many(early(270 if number == 0 else 20)).stored
        Workload(person, number, lambda _: None).run(30)
        first, second, third = (one.id for one in stored[:3])
        person.remember("Told under a key.", key="once", metadata={"place": "Lisbon", "n": [1, 2]})
        person.link(first, second, kind="caused", strength=0.25)
        person.group("kitchen").add(first)
        person.profile("preferences").merge({"food": {"avoid": ["peanuts"]}})
        person.profile("preferences").merge({"food": {"likes": "tea"}}, actor="ana", reason="said")
        person.update(third, importance=0.75, tags=["home"], actor="ana", reason="asked for it")
        with person.session(id="s1", metadata={"topic": "travel"}) as chat:
            chat.add("user", "hi", speaker="Ana", occurred_at="2026-03-01T09:00:00Z")
            chat.add("assistant", "hello there")
        for _ in range(30):
            person.recall("early note", limit=3)
        person.forget(person.remember("soon forgotten").id)
