"""3.3: children are listed, nested and sorted; there are no circles; a cascade leaves nothing."""

import time

import apsw
import pytest

from recollect import Memory
from recollect.domain.errors import NotFound, ValidationError
from recollect.domain.records import Tree
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock
from tests.faces import World

pytestmark = pytest.mark.acceptance("3.3")


def texts(tree: Tree) -> list[object]:
    return [tree.memory.text, *(texts(child) for child in tree.children)]


def test_children_come_limited_and_sorted(ana: Memory, clock: FrozenClock) -> None:
    top = ana.remember("top")
    given = [("b", 0.5, "2026-03-01"), ("a", 0.9, None), ("c", 0.5, "2026-02-01"), ("d", 0.1, None)]
    made = []
    for text, importance, occurred in given:
        clock.advance(seconds=1)
        made.append(ana.remember(text, parent=top, importance=importance, occurred_at=occurred))
    clock.advance(seconds=1)
    ana.update(made[0].id, tier="long")

    def listed(**how: object) -> str:
        return "".join(one.text for one in ana.children(top.id, **how))  # type: ignore[arg-type]

    assert listed() == "bacd"
    assert listed(order="desc", limit=3) == "dca"
    assert listed(sort="importance") == "dbca"
    assert listed(sort="importance", order="desc") == "acbd"
    assert listed(sort="importance", order="desc", limit=1) == "a"
    assert listed(sort="occurred_at") == "cbad"
    assert listed(sort="updated_at", order="desc", limit=2) == "bd"
    for field, value in [("sort", "colour"), ("order", "random"), ("limit", 0), ("limit", 1001)]:
        with pytest.raises(ValidationError) as failure:
            listed(**{field: value})
        assert failure.value.field == field


def test_children_are_sorted_as_listings_are(ana: Memory) -> None:
    top = ana.remember("top")
    for number in range(6):
        fields = {"priority": number % 3} if number % 2 else {}
        ana.remember(f"{number}", parent=top, importance=number % 3 / 2, **fields)
    for sort in ("created_at", "importance", "priority"):
        for order in ("asc", "desc"):
            page = ana.list(where={"parent": top.id}, sort=sort, order=order)
            assert ana.children(top.id, sort=sort, order=order) == list(page)


def test_a_tree_is_shown_to_a_depth(ana: Memory) -> None:
    top = ana.remember("top")
    left, right = (ana.remember(name, parent=top) for name in ("left", "right"))
    leaf = ana.remember("leaf", parent=left)
    ana.remember("leaf of leaf", parent=leaf)
    assert texts(ana.tree(top.id, depth=1)) == ["top", ["left"], ["right"]]
    assert texts(ana.tree(top.id, depth=2)) == ["top", ["left", ["leaf"]], ["right"]]
    deep = ["top", ["left", ["leaf", ["leaf of leaf"]]], ["right"]]
    assert texts(ana.tree(top.id, depth=32)) == deep
    assert texts(ana.tree(right.id)) == ["right"]
    for depth in (0, 33, True):
        with pytest.raises(ValidationError):
            ana.tree(top.id, depth=depth)


def test_circles_are_refused(ana: Memory) -> None:
    top = ana.remember("top")
    middle = ana.remember("middle", parent=top)
    bottom = ana.remember("bottom", parent=middle)
    for parent in (top, middle, bottom):
        with pytest.raises(ValidationError) as failure:
            ana.update(top.id, parent=parent.id)
        assert failure.value.field == "parent"
    assert ana.update(bottom.id, parent=top.id).parent == top.id
    assert texts(ana.tree(top.id)) == ["top", ["middle"], ["bottom"]]


def test_without_a_cascade_children_move_up(ana: Memory) -> None:
    top = ana.remember("top")
    middle = ana.remember("middle", parent=top)
    bottom = ana.remember("bottom", parent=middle)
    receipt = ana.forget(middle.id, cascade=False)
    assert receipt.erased["memories"] == 1
    assert ana.get(bottom.id).parent == top.id
    ana.forget(top.id, cascade=False)
    assert ana.get(bottom.id).parent is None


def grown(ana: Memory) -> list[str]:
    """A tree of three levels with a thousand leaves and everything that can hang on them."""
    top = ana.remember("canary top", vector=[1, 0, 0])
    ids = [[top.id]]
    for width in (10, 100):
        level = [
            {"text": f"canary {parent} {n}", "parent": parent, "vector": [n, 1, 0]}
            for parent in ids[-1]
            for n in range(width)
        ]
        ids.append([one.id for one in ana.remember_many(level).stored])
    kept = ana.remember("kept")
    for leaf in ids[-1][:20]:
        ana.link(leaf, kept.id)
        ana.group("leaves").add(leaf)
        ana.update(leaf, tier="long")
    ana.recall("canary")
    return [id for level in ids for id in level]


def test_a_cascade_takes_three_levels_along_and_leaves_nothing(world: World, ana: Memory) -> None:
    ids = grown(ana)
    begun = time.process_time()
    receipt = ana.forget(ids[0])
    assert time.process_time() - begun < 1.0
    assert receipt.erased["memories"] == receipt.erased["vectors"] == len(ids) == 1011
    assert receipt.erased["links"] == receipt.erased["members"] == 20
    assert [one.text for one in ana.list()] == ["kept"]
    found = ana.recall("canary", vector=[1, 0, 0])
    assert (found.hits, found.near_misses, found.searched) == ((), (), 1)
    assert ana.group("leaves").members() == []
    assert ana.links(ana.list().items[0].id) == []
    stats = ana.stats()
    assert (stats["memories"], stats["vectors"], stats["links"]) == (1, 0, 0)
    for id in (ids[0], ids[-1]):
        with pytest.raises(NotFound):
            ana.get(id)
    assert ana.verify().ok
    if isinstance(world.store, SqliteStore):
        assert rows_left(world.store.path) == {}


def rows_left(file: str) -> dict[str, int]:
    """How many rows each table still holds of what hangs on memories; empty ones left out."""
    connection = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = ("vectors", "links", "members", "versions", "accesses", "once", "jobs")
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").get for name in tables}
        return {name: count for name, count in counts.items() if count}
    finally:
        connection.close()
