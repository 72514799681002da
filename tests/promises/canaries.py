"""Fifty memories that can be told from everything else, and every form in which they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import recollect
from recollect import Memory
from recollect.domain import operations
from recollect.domain.scopes import Scope
from recollect.engine.core import given_vector
from recollect.retrieval.analyser import Analyser
from recollect.storage.sqlite.segments import quantise
from recollect.storage.sqlite.store import SqliteStore

DIMENSIONS = 48
CANARIES = 50
PERSON = "persona-quillfeather"
NEIGHBOUR = "neighbour-marmalade"
SESSION = "session-thistledown"


def mark(number: int, what: str) -> str:
    """A word that occurs nowhere else: one per canary and per place where it is put."""
    return f"zq{what}{number:03d}xkv"


def vector_of(number: int) -> list[float]:
    return np.random.default_rng(number + 7_000).normal(size=DIMENSIONS).tolist()


@dataclass
class Flock:
    """What was put into a store: ids of the canaries, and the bytes that give each one away."""

    ids: list[str]
    derived: list[str]
    needles: dict[str, str | bytes]  #: goes with the memories
    personal: dict[str, str | bytes]  #: goes only with the whole person
    salts: dict[str, bytes]


def settle(path: Path) -> Flock:
    """A store with the canaries of one person among other memories of hers and of a neighbour."""
    with recollect.open(str(path)) as memory:
        person, neighbour = memory.scope(user=PERSON), memory.scope(user=NEIGHBOUR)
        for round_ in range(4):
            _chaff(person, round_)
            _chaff(neighbour, round_ + 100)
        ids = [_canary(person, number) for number in range(CANARIES)]
        for round_ in range(4, 8):
            _chaff(person, round_)
        derived = _relations(person, ids)
        _profile(person)
        with person.session(id=SESSION, kind="chat-foxglove") as chat:
            chat.add_many([{"role": "user", "text": f"message {i}"} for i in range(3)])
    _jobs(path, ids)
    return Flock(ids, derived, _needles(ids, derived), _personal(), _salts(path, ids))


def _chaff(scope: Memory, round_: int) -> None:
    generator = np.random.default_rng(round_)
    scope.remember_many(
        [
            {
                "text": f"ordinary note {round_} {i} about tea, trains and the weather",
                "vector": generator.normal(size=DIMENSIONS).tolist(),
                "tags": ["chaff"],
            }
            for i in range(80)
        ]
    )


def _canary(person: Memory, number: int) -> str:
    speaking = person.scope(agent=mark(number, "agent"))
    told = speaking.remember(
        f"{mark(number, 'before')} is what she said first",
        key=mark(number, "key"),
        kind=mark(number, "kind"),
        speaker=mark(number, "speaker"),
        role="user",
        item_key=mark(number, "item"),
        stage=mark(number, "stage"),
        tags=["doomed", mark(number, "tag")],
        metadata={mark(number, "metakey"): {"deep": [mark(number, "metavalue")]}},
        vector=vector_of(number),
        actor=mark(number, "actor"),
        reason=mark(number, "reason"),
        occurred_at="2025-05-05",
    )
    if number % 2:
        person.update(told, text=f"{mark(number, 'after')} is what she said next", importance=0.7)
    person.recall(mark(number, "after" if number % 2 else "before"))
    return told.id


def _relations(person: Memory, ids: Sequence[str]) -> list[str]:
    """Links, groups and memories that were derived from canaries, at one and two removes."""
    derived: list[str] = []
    for number in range(0, CANARIES, 10):
        first = person.remember(f"{mark(number, 'derived')} follows from it", tags=["derived"])
        second = person.remember(f"{mark(number, 'further')} follows from that", tags=["derived"])
        person.link(first, ids[number], kind="derived_from")
        person.link(second, first, kind="derived_from")
        derived += [first.id, second.id]
    stays = person.list(where={"tags": {"contains": "chaff"}}, limit=1).items[0]
    for number, id in enumerate(ids):
        person.link(id, stays, kind=mark(number, "linkto"))
        person.link(stays, id, kind=mark(number, "linkfrom"))
    person.group("group-larkspur").make("description-bluebell")
    for id in ids[:5]:
        person.group("group-larkspur").add(id)
    person.group("group-larkspur").remove(ids[4])
    return derived


def _profile(person: Memory) -> None:
    person.profile("category-foxtail").merge({"key-hellebore": {"value-aconite": ["first-yarrow"]}})
    person.profile("category-foxtail").merge({"key-hellebore": {"value-aconite": ["second-tansy"]}})
    person.profile("category-foxtail").remove("key-hellebore", "value-aconite")


def _jobs(path: Path, ids: Sequence[str]) -> None:
    """A queued job per canary whose payload quotes it."""
    store = SqliteStore(str(path))
    place = Scope(user=PERSON).home
    jobs: list[operations.Operation] = [
        operations.Enqueue(0, "later", {"quote": mark(number, "job")}, place, id)
        for number, id in enumerate(ids)
    ]
    run(store.apply(jobs))
    run(store.close())


def run(coroutine: Any) -> Any:
    """The answer of a coroutine that never suspends: what `Memory` does on a local store."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("suspended")


def _needles(ids: Sequence[str], derived: Sequence[str]) -> dict[str, str | bytes]:
    analyser = Analyser()
    needles: dict[str, str | bytes] = {f"id {id}": id for id in (*ids, *derived)}
    words = ("before", "key", "kind", "speaker", "item", "stage", "tag", "metakey")
    words += ("metavalue", "actor", "reason", "agent", "linkto", "linkfrom", "job")
    for number in range(CANARIES):
        present = ["after"] if number % 2 else ["before"]
        present += ["derived", "further"] if number % 10 == 0 else []
        for what in dict.fromkeys((*words, *present)):
            needles[f"{what} {number}"] = mark(number, what)
        for what in present:
            needles[f"term {what} {number}"] = analyser.packed(mark(number, what))
        if not number % 2:
            # In pieces, since a page border may cut the whole.
            unit = given_vector(vector_of(number))
            needles.update(_pieces(f"vector {number}", unit.astype("<f4").tobytes()))
            needles.update(_pieces(f"code {number}", quantise(unit.reshape(1, -1))[0][4:]))
    return needles


def _pieces(name: str, data: bytes) -> dict[str, bytes]:
    return {f"{name} at {at}": data[at : at + 16] for at in range(0, len(data), 16)}


def _personal() -> dict[str, str | bytes]:
    words = (PERSON, SESSION, "chat-foxglove", "group-larkspur", "description-bluebell")
    words += ("category-foxtail", "key-hellebore", "value-aconite", "first-yarrow", "second-tansy")
    return {word: word for word in words}


def _salts(path: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """The salts of the canaries' digests and the digests of their idempotency bodies."""
    import apsw

    found: dict[str, bytes] = {}
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for seq, salt in connection.execute(
        "SELECT seq, salt FROM events WHERE what = 'memory' AND about IN "
        "(SELECT row FROM memories WHERE tags LIKE '%doomed%')"
    ):
        found[f"salt {seq}"] = salt
    for key, body in connection.execute("SELECT key, body FROM once"):
        found[f"body {key}"] = body
    connection.close()
    return found
