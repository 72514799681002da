"""One script on two stores: the same ids, orders, scores, events and history.

The in-memory store shares only the rules of the domain with the SQLite store and looks at every
row, so that a defect of indexes, caches or SQL shows as a difference.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.domain.errors import RecollectError
from recollect.testing import FrozenClock, HashEmbedder, SeededEntropy, open_memory

Transcript = list[tuple[str, Any]]
TOLERANCE = 0.02
WORDS = (
    "tea",
    "milk",
    "bread",
    "honey",
    "lisbon",
    "paints",
    "app.py",
    "C++",
    "日本",
    "кот",
    "🦊",
    "the",
)


def plain(value: Any) -> Any:
    """An answer as plain data."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        for name in ("durability", "erased"):  # which promise, and which tables, is the store's
            named.pop(name, None)
        return {name: plain(one) for name, one in named.items()}
    if isinstance(value, RecollectError):
        return type(value).__name__, str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in sorted(value.items(), key=str)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


class Narrator:
    """Carries out a script and writes down every answer, errors included."""

    def __init__(self, memory: Memory, clock: FrozenClock) -> None:
        self.memory = memory
        self.clock = clock
        self.transcript: Transcript = []

    def tell(self, what: str, ask: Callable[[], Any]) -> Any:
        """Ask, write down the answer, and let a second pass."""
        self.clock.advance(seconds=1)
        try:
            answer = ask()
        except RecollectError as exc:
            answer = exc
        self.transcript.append((what, plain(answer)))
        return answer


@pytest.fixture(params=[None, HashEmbedder(48)], ids=["words", "words and meaning"])
def narrators(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[Narrator]]:
    clocks = FrozenClock("2026-01-01"), FrozenClock("2026-01-01")
    file = recollect.open(
        str(tmp_path / "memory.db"),
        durability="relaxed",
        clock=clocks[0],
        entropy=SeededEntropy(7),
        embedder=request.param,
    )
    oracle = open_memory(clock=clocks[1], entropy=SeededEntropy(7), embedder=request.param)
    with file, oracle:
        yield [Narrator(file, clocks[0]), Narrator(oracle, clocks[1])]


def compare(narrators: list[Narrator]) -> None:
    """Show the first answer that differs: what was asked, and where in the answer."""
    pairs = zip(*(narrator.transcript for narrator in narrators), strict=True)
    for number, ((asked, left), (_, right)) in enumerate(pairs):
        for path, one, other in differences(left, right):
            pytest.fail(f"answer {number}, to {asked!r}: {path} is {one!r} and {other!r}")


def differences(left: Any, right: Any, path: str = "it") -> Iterator[tuple[str, Any, Any]]:
    """Where two answers differ; scores may by what vectors of a byte per number cost."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        for name in left:
            yield from differences(left[name], right[name], f"{path}.{name}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, pair in enumerate(zip(left, right, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif isinstance(left, float) and isinstance(right, float):
        if left != pytest.approx(right, rel=TOLERANCE, abs=TOLERANCE):
            yield path, left, right
    elif left != right:
        yield path, left, right


def test_of_equal_memories_the_newest_comes_first(narrators: list[Narrator]) -> None:
    text = "tea and milk and bread and honey and figs and a pear"
    for narrator in narrators:
        ids = [narrator.memory.remember(text, force=True).id for _ in range(23)]
        narrator.memory.remember("something else about tea, with other words around it")
        hits = narrator.memory.recall(f"{text} plum nuts rice", limit=23)
        assert [hit.id for hit in hits] == ids[::-1]
        assert len({hit.score for hit in hits}) == 1


def a_life(say: Narrator) -> None:
    """Everything that can be done with a memory, once."""
    tell, ana = say.tell, say.memory.scope(user="ana", agent="scribe")
    shared = say.memory.scope(user=None)
    trip = tell("remember", lambda: ana.remember("I moved to Lisbon.", kind="fact", tags=["home"]))
    tell("share", lambda: shared.remember("Everybody drinks tea in Lisbon."))
    many = ["I like tea.", {"text": "I avoid peanuts.", "kind": "preference", "key": "p"}]
    batch = tell("many", lambda: ana.remember_many([*many, {"text": " "}, many[1]], atomic=False))
    tea = batch.results[0]
    tell("child", lambda: ana.remember("With milk.", parent=tea.id, importance=0.9))
    tell("lost child", lambda: ana.remember("x", parent="mem_" + "0" * 32))
    moment = say.clock.now()
    new = tell(
        "correct", lambda: ana.correct(trip.id, "I moved to Porto.", occurred_at="2026-01-01")
    )
    tell("correct again", lambda: ana.correct(trip.id, "I moved to Faro."))
    tell("update", lambda: ana.update(new.id, importance=0.9, metadata={"n": 1}, if_version=1))
    tell("stale update", lambda: ana.update(new.id, importance=0.1, if_version=1))
    tell("reword", lambda: ana.update(tea.id, text="I like green tea.", actor="ana", reason="why"))
    tell("link", lambda: ana.link(tea.id, new.id, kind="caused", strength=0.5))
    tell("group", lambda: [ana.group("kitchen").add(tea.id), ana.group("kitchen").members()])
    tell("profile", lambda: ana.profile("likes").merge({"drinks": ["tea"]}))
    tell("profile", lambda: ana.profile("likes").merge({"drinks": ["milk"], "x": 1}))
    tell("item", lambda: ana.items("areas_to_improve").create("cases", "Mixes up cases"))
    tell("item", lambda: ana.items("areas_to_improve").upsert("cases", "x", status="improving"))
    with ana.session("s1") as chat:
        tell("say", lambda: chat.add("user", "hi there", speaker="Ana"))
        tell("say", lambda: chat.add_many([{"role": "assistant", "text": "Tea again?"}]))
        tell("messages", chat.messages)
    everything(say, ana, moment)
    tell("undo", lambda: ana.undo(ana.history(new.id)[-1].event.id))
    tell("undo", lambda: ana.undo(ana.events(limit=1)[0].event.id))
    tell("merge", lambda: say.memory.merge_users("ana", "bea"))
    everything(say, say.memory.scope(user="bea"), moment)
    tell("forget", lambda: say.memory.scope(user="bea").forget(tea.id))
    tell("forget", lambda: say.memory.scope(user="bea").forget(where={"kind": "fact"}))
    everything(say, say.memory.scope(user="bea"), moment)
    tell("forget", lambda: say.memory.forget(user="bea"))
    everything(say, say.memory.scope(user="bea"), moment)


def everything(say: Narrator, who: Memory, moment: int) -> None:
    """Read all there is to read."""
    tell = say.tell
    then = f"2026-01-01T00:00:{moment // 1_000_000 % 60:02}"
    for sort in ("created_at", "updated_at", "importance", "occurred_at", "position"):
        tell(sort, lambda sort=sort: who.list(sort=sort, limit=3))
        tell(sort, lambda sort=sort: list(who.list(sort=sort, order="asc", limit=100)))
    for question in ("tea", "where did I move to", "milk and honey", "Lisbon Porto", "zebra"):
        tell(question, lambda q=question: who.recall(q, limit=5))
        tell(question, lambda q=question: who.recall(q, as_of=then))
        tell(question, lambda q=question: who.recall(q, known_at=then))
    tell("past", lambda: who.list(as_of=then, limit=100))
    statuses = ["active", "superseded", "archived", "quarantined"]
    for record in who.list(limit=100, status=statuses):
        tell("history", lambda id=record.id: who.history(id))
        tell("links", lambda id=record.id: [who.links(id), who.related(id, depth=2)])
        tell("tree", lambda id=record.id: who.tree(id))
    tell("events", lambda: who.events(limit=1000))
    tell("groups", who.groups)
    tell("profiles", lambda: [who.profiles(), who.profile("likes").history()])
    tell("items", lambda: who.items("areas_to_improve").list())
    tell("sessions", who.sessions)
    tell("counts", lambda: {k: v for k, v in who.stats().items() if k[:4] not in ("file", "sche")})
    tell("verify", lambda: who.verify().findings)


def test_a_whole_life_is_told_alike_by_both_stores(narrators: list[Narrator]) -> None:
    for narrator in narrators:
        a_life(narrator)
    compare(narrators)
    transcript = narrators[0].transcript
    assert len(transcript) > 150
    failed = {answer[0] for _, answer in transcript if isinstance(answer, tuple)}
    assert failed == {"ConflictError", "NotFound", "VersionMismatch"}


class Wanderer:
    """Does anything at any time, the same for the same seed."""

    def __init__(self, say: Narrator, seed: int) -> None:
        self.say = say
        self.chance = random.Random(seed)
        self.ids: list[str] = []

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 8)))

    def one(self) -> str:
        return self.chance.choice(self.ids or ["mem_" + "0" * 32])

    def step(self) -> None:
        """One thing, chosen by chance; every fifth time a search."""
        chance, tell = self.chance, self.say.tell
        who = self.say.memory.scope(user=chance.choice(["ana", "bob", None]))
        text, one, other, weight = self.text(), self.one(), self.one(), round(chance.random(), 3)
        question, at = self.text(), f"2026-01-01T00:{chance.randint(0, 3):02}"
        ends = chance.choice([None, "2026-01-01T00:02"])
        parent = chance.choice([None, one])
        deeds: dict[str, Callable[[], Any]] = {
            "remember": lambda: who.remember(text, importance=weight, parent=parent, valid_to=ends),
            "remember more": lambda: who.remember(text, kind="fact", tags=[text[:3]]),
            "reword": lambda: who.update(one, text=text),
            "move": lambda: who.update(one, parent=other, importance=weight),
            "archive": lambda: who.update(one, status=chance.choice(["active", "archived"])),
            "correct": lambda: who.correct(one, text),
            "link": lambda: who.link(one, other, strength=weight),
            "derive": lambda: who.link(one, other, kind="derived_from"),
            "group": lambda: who.group("g").add(one),
            "profile": lambda: who.profile("p").merge({text[:2]: [weight], "n": {"w": weight}}),
            "say": lambda: who.session("s").add("user", text),
            "forget": lambda: who.forget(one, cascade=weight < 0.5),
            "undo": lambda: who.undo(who.history(one)[-1].event.id),
            "recall": lambda: who.recall(question, limit=4),
            "recall then": lambda: who.recall(question, as_of=at, limit=4),
            "recall as known": lambda: who.recall(question, known_at=at),
            "list": lambda: who.list(sort="importance", where={"importance": {"gt": weight}}),
            "list then": lambda: who.list(as_of=at, limit=200),
        }
        often = {"remember": 5, "remember more": 3, "recall": 4, "forget": 1}
        name = chance.choices(list(deeds), [often.get(deed, 2) for deed in deeds])[0]
        answer = tell(name, deeds[name])
        if hasattr(answer, "id"):
            self.ids.append(answer.id)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_random_life_is_told_alike_by_both_stores(narrators: list[Narrator], seed: int) -> None:
    for narrator in narrators:
        wanderer = Wanderer(narrator, seed)
        for _ in range(300):
            wanderer.step()
        for user in ("ana", "bob", None):
            everything(narrator, narrator.memory.scope(user=user), 0)
        narrator.tell("merge", lambda narrator=narrator: narrator.memory.merge_users("bob", "ana"))
        everything(narrator, narrator.memory.scope(user="ana"), 0)
    compare(narrators)
