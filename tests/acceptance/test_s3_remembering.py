"""3.2 and 3.4: what is added is got back; updates keep identity and each other's changes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recollect import Memory
from recollect.domain.errors import NotFound, ValidationError, VersionMismatch
from recollect.engine.remembering import TOUCH_AT
from recollect.testing import FrozenClock

NOBODY = "mem_" + "0" * 32


@pytest.mark.acceptance("3.2")
def test_what_is_added_is_got_back(ana: Memory) -> None:
    given: dict[str, Any] = {
        "kind": "knowledge_fact",
        "tier": "medium",
        "importance": 0.8,
        "agent": "scribe",
        "tags": ["home", "ü"],
        "metadata": {"list": [1, None, "🦊"]},
    }
    stored = ana.remember("Ana's “home” is 100% in Lisbon_town 🦊", **given)
    got = ana.get(stored.id)
    assert got == stored.memory
    assert got.text == "Ana's “home” is 100% in Lisbon_town 🦊"
    assert {name: getattr(got, name) for name in given} == {**given, "tags": ("home", "ü")}
    assert ana.get_many([stored, NOBODY]) == [got]


@pytest.mark.acceptance("3.2")
def test_reads_are_counted_with_a_later_write(ana: Memory) -> None:
    stored = ana.remember_many([f"note {number}" for number in range(TOUCH_AT)]).stored
    for one in stored:
        ana.get(one.id)
    ana.get(stored[0].id)
    assert ana.get(stored[0].id).access_count == 0
    ana.remember("one more")
    assert ana.get(stored[0].id).access_count == 3
    assert ana.get(stored[1].id).access_count == 1
    assert ana.get(stored[1].id).version == 1
    assert ana.list(sort="access_count", limit=1).items[0].id == stored[0].id


@pytest.mark.acceptance("3.2")
def test_an_unknown_id_is_an_error_that_names_it(ana: Memory) -> None:
    asked: list[Any] = [ana.get, ana.history, ana.links, ana.children, ana.tree, ana.forget]
    asked.append(lambda id: ana.update(id, importance=0.5))
    asked.append(lambda id: ana.correct(id, "text"))
    for id in (NOBODY, "nonsense", "evt_" + "0" * 32, 7):
        for ask in asked:
            with pytest.raises(NotFound if id == NOBODY else ValidationError, match=str(id)):
                ask(id)


@pytest.mark.acceptance("3.2")
def test_a_foreign_id_reads_like_an_unknown_one(memory: Memory, ana: Memory) -> None:
    foreign = memory.scope(user="bob").remember("of Bob")
    told = []
    for id in (foreign.id, NOBODY):
        with pytest.raises(NotFound) as failure:
            ana.get(id)
        told.append(str(failure.value).replace(id, "it"))
    assert told[0] == told[1]


INVALID: list[tuple[str, Any]] = [
    ("tier", "eternal"),
    ("tier", None),
    ("status", "gone"),
    ("importance", 1.5),
    ("importance", -0.1),
    ("importance", float("nan")),
    ("importance", "high"),
    ("importance", True),
    ("kind", ""),
    ("kind", 7),
    ("kind", "x" * 257),
    ("tags", "home"),
    ("metadata", [1]),
    ("metadata", {"n": float("nan")}),
    ("parent", "nonsense"),
    ("occurred_at", "yesterday"),
    ("colour", "blue"),
]


@pytest.mark.acceptance("3.2")
def test_what_is_invalid_is_refused_by_name_and_nothing_is_stored(ana: Memory) -> None:
    for field, value in INVALID:
        with pytest.raises(ValidationError, match=field) as failure:
            ana.remember("text", **{field: value})
        assert failure.value.field == field, value
    for text in ("", "  ", None, 7, "a\x00b", "\ud800", "x" * (1024 * 1024 + 1)):
        with pytest.raises(ValidationError, match="text") as failure:
            ana.remember(text)  # type: ignore[arg-type]
        assert failure.value.field == "text"
    assert (ana.count(), ana.events()) == (0, [])


@pytest.mark.acceptance("3.4")
def test_identity_cannot_be_changed(ana: Memory) -> None:
    stored = ana.remember("text")
    fixed: dict[str, Any] = {"user": "bob", "created_at": "2020-01-01", "place": "x", "version": 9}
    for field, value in fixed.items():
        with pytest.raises(ValidationError) as failure:
            ana.update(stored.id, **{field: value})
        assert failure.value.field == field
    with pytest.raises(TypeError):  # there is room for one id only
        ana.update(stored.id, id=NOBODY)  # type: ignore[misc]
    assert ana.get(stored.id) == stored.memory


@pytest.mark.acceptance("3.4")
def test_an_update_says_what_it_cannot_change(ana: Memory) -> None:
    stored = ana.remember("text")
    with pytest.raises(ValidationError, match="colour"):
        ana.update(stored.id, importance=1.0, colour="blue")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="nothing to change"):
        ana.update(stored.id)
    with pytest.raises(NotFound, match=NOBODY):
        ana.update(NOBODY, importance=1.0)
    assert ana.get(stored.id) == stored.memory


@pytest.mark.acceptance("3.4")
def test_an_update_changes_what_it_names_and_nothing_else(ana: Memory, clock: FrozenClock) -> None:
    stored = ana.remember("text", importance=0.5, tags=["a"], agent="scribe")
    clock.advance(hours=1)
    changed = ana.update(stored.id, importance=0.9, agent=None)
    assert (changed.importance, changed.agent, changed.tags) == (0.9, None, ("a",))
    assert (changed.version, changed.created_at) == (2, stored.memory.created_at)
    assert changed.updated_at > stored.memory.updated_at
    assert ana.get(stored.id) == changed


@pytest.mark.acceptance("3.4")
def test_updates_of_different_fields_at_once_all_survive(ana: Memory) -> None:
    stored = ana.remember("text")
    changes: list[dict[str, Any]] = [
        {"importance": 0.9},
        {"tier": "long"},
        {"tags": ["a"]},
        {"metadata": {"n": 1}},
        {"speaker": "Ana"},
        {"priority": 3},
        {"kind": "fact"},
        {"agent": "scribe"},
    ]
    with ThreadPoolExecutor(len(changes)) as threads:
        list(threads.map(lambda change: ana.update(stored.id, **change), changes))
    got = ana.get(stored.id)
    expected = {name: value for change in changes for name, value in change.items()}
    assert {name: getattr(got, name) for name in expected} == {**expected, "tags": ("a",)}
    assert got.version == 1 + len(changes)
    assert [change.event.version for change in ana.history(stored.id)] == list(range(1, 10))


@pytest.mark.acceptance("3.4")
def test_a_version_that_moved_on_is_reported(ana: Memory) -> None:
    stored = ana.remember("text")
    ana.update(stored.id, importance=0.9, if_version=1)
    with pytest.raises(VersionMismatch, match="version is 2, not 1"):
        ana.update(stored.id, importance=0.1, if_version=1)
    assert ana.get(stored.id).importance == 0.9
