"""4.9: items have checked statuses, defaults, owners, limits and an order."""

from typing import Any

import pytest

from recollect import Memory
from recollect.domain.errors import ConflictError, NotFound, PermissionDenied, ValidationError
from recollect.testing import FrozenClock

pytestmark = pytest.mark.acceptance("4.9")
NOBODY = "mem_" + "0" * 32
STATUSES = {
    "personal_info": ("active", "correction", "outdated"),
    "area_to_improve": ("struggling", "improving", "mastered"),
    "knowledge_strength": ("active", "archived"),
    "made_up": ("active", "archived"),
}


def test_each_category_has_its_statuses(ana: Memory) -> None:
    for category, statuses in STATUSES.items():
        items = ana.items(category)
        for status in statuses:
            assert items.create(f"key {status}", "text", status=status).stage == status
        for status in {"struggling", "active", "unheard of", "Active", ""} - set(statuses):
            with pytest.raises(ValidationError) as failure:
                items.create("bad", "text", status=status)
            assert failure.value.field == "status"
            with pytest.raises(ValidationError):
                items.list(status=status)
        assert ana.count(kind=category) == len(statuses)


def test_items_begin_with_the_defaults_of_their_category(ana: Memory) -> None:
    made = {name: ana.items(name).create("k", "text") for name in STATUSES}
    assert {name: (one.stage, one.priority) for name, one in made.items()} == {
        "personal_info": ("active", None),
        "area_to_improve": ("struggling", 9),
        "knowledge_strength": ("active", None),
        "made_up": ("active", None),
    }
    assert all(one.stage_changed_at == one.created_at for one in made.values())
    plural = ana.items("areas_to_improve").create("other", "text")
    assert plural.kind == "area_to_improve"
    assert [one.item_key for one in ana.items("area_to_improve").list()] == ["k", "other"]


def test_the_time_of_a_status_moves_only_when_it_changes(ana: Memory, clock: FrozenClock) -> None:
    items = ana.items("area_to_improve")
    made = items.create("cases", "Mixes up cases")
    clock.advance(days=1)
    same = items.update(made.id, status="struggling", content="Mixes up dative and accusative")
    assert same.stage_changed_at == made.created_at
    assert same.updated_at > made.updated_at
    clock.advance(days=1)
    moved = items.update(made.id, status="improving")
    assert moved.stage_changed_at == moved.updated_at
    clock.advance(days=1)
    again = items.update(made.id, status="improving", priority=9)
    assert again == moved


def test_creating_refuses_a_taken_key_and_upserting_changes_the_item(ana: Memory) -> None:
    items = ana.items("area_to_improve")
    made = items.create("cases", "first", priority=2)
    with pytest.raises(ConflictError, match=made.id):
        items.create("cases", "second")
    changed = items.upsert("cases", "second")
    assert (changed.id, changed.text, changed.priority) == (made.id, "second", 2)
    assert items.upsert("cases", "second", priority=0).priority == 0
    assert items.upsert("new", "third").priority == 9
    assert len(items.list()) == 2
    assert ana.items("made_up").create("cases", "another category").id != made.id


def test_somebody_elses_item_is_refused_and_a_missing_one_not_found(
    memory: Memory, ana: Memory
) -> None:
    made = ana.items("area_to_improve").create("cases", "text")
    foreign = memory.scope(user="bob").items("area_to_improve")
    asked: list[Any] = [foreign.get, lambda id: foreign.update(id, status="mastered")]
    for ask in asked:
        with pytest.raises(PermissionDenied) as failure:
            ask(made.id)
        assert failure.value.http_status == 403
        with pytest.raises(NotFound) as missing:
            ask(NOBODY)
        assert missing.value.http_status == 404
    with pytest.raises(NotFound):
        ana.items("personal_info").get(made.id)
    assert ana.items("area_to_improve").get(made.id) == made
    assert foreign.list() == []


def test_what_cannot_be_is_refused_and_changes_nothing(ana: Memory) -> None:
    items = ana.items("made_up")
    made = items.create("x" * 100, "text")
    bad: list[dict[str, Any]] = [{"priority": value} for value in (10, -1, 1.5, True)]
    for fields in [*bad, {"content": ""}, {"colour": "blue"}]:
        with pytest.raises(ValidationError):
            items.update(made.id, **fields)
    keys: list[Any] = ["", " ", "x" * 101, "a\x00b", None, 7]
    for key in keys:
        with pytest.raises(ValidationError):
            items.create(key, "text")
    assert items.list() == [made]


def test_lists_are_sorted_by_priority_then_by_age(ana: Memory, clock: FrozenClock) -> None:
    items = ana.items("made_up")
    given = [("late none", None), ("five", 5), ("zero", 0), ("five too", 5), ("none", None)]
    made = {}
    for key, priority in given:
        clock.advance(seconds=1)
        made[key] = items.create(key, "text", priority=priority)
    clock.advance(seconds=1)
    items.update(made["late none"].id, content="changed")
    twins = [items.create(key, "text", priority=7) for key in ("twin", "twin too")]
    expected = ["zero", "five", "five too", "twin", "twin too", "none", "late none"]
    assert [one.item_key for one in items.list()] == expected
    assert [one.item_key for one in items.list(limit=2)] == expected[:2]
    assert twins[0].updated_at == twins[1].updated_at
    assert items.update(made["zero"].id, priority=None).priority is None
    assert [one.item_key for one in items.list()][-1] == "zero"


def test_lists_have_limits_and_show_what_is_current(ana: Memory) -> None:
    info, areas = ana.items("personal_info"), ana.items("area_to_improve")
    for status in STATUSES["personal_info"]:
        info.create(status, "text", status=status)
    for status in STATUSES["area_to_improve"]:
        areas.create(status, "text", status=status)
    assert [one.item_key for one in info.list()] == ["active"]
    assert [one.item_key for one in info.list(status="outdated")] == ["outdated"]
    assert len(areas.list()) == 3
    for limit in (0, 201, -1, True, 1.5):
        with pytest.raises(ValidationError) as failure:
            areas.list(limit=limit)  # type: ignore[arg-type]
        assert failure.value.field == "limit"
    made_up = ana.items("made_up")
    for number in range(3):
        batch = [{"text": "t", "kind": "made_up", "item_key": f"{number} {n}"} for n in range(70)]
        ana.remember_many([{**one, "stage": "active"} for one in batch])
    assert (len(made_up.list()), len(made_up.list(limit=200))) == (100, 200)
