"""3.6 and 3.11: relations need both ends and are kept once; batches answer per item."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.domain.errors import NotFound, PayloadTooLarge, RecollectError, ValidationError
from recollect.domain.records import Failed, Remembered
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore
from tests.faults.vfs import Disk

NOBODY = "mem_" + "0" * 32


@pytest.mark.acceptance("3.6")
def test_a_relation_needs_both_ends(memory: Memory, ana: Memory) -> None:
    own = ana.remember("own")
    foreign = memory.scope(user="bob").remember("foreign")
    for source, target in [(own.id, NOBODY), (NOBODY, own.id), (own.id, foreign.id)]:
        with pytest.raises(NotFound):
            ana.link(source, target)
    with pytest.raises(ValidationError, match="itself"):
        ana.link(own.id, own.id)
    assert ana.links(own.id) == []


@pytest.mark.acceptance("3.6")
def test_a_relation_is_kept_once(ana: Memory) -> None:
    a, b = ana.remember("a"), ana.remember("b")
    assert [ana.link(a, b, kind="caused", strength=0.8) for _ in range(3)] == [True, False, False]
    assert len(ana.links(a.id)) == 1
    assert ana.link(a, b, kind="caused", strength=0.3) is False
    assert [link.strength for link in ana.links(a.id)] == [0.3]
    ana.unlink(a, b, kind="caused")
    ana.unlink(a, b, kind="caused")
    assert ana.links(a.id) == []


@pytest.mark.acceptance("3.6")
def test_relations_are_found_from_both_sides_and_by_kind(ana: Memory) -> None:
    a, b, c = (ana.remember(text) for text in "abc")
    ana.link(a, b, kind="caused", strength=0.9)
    ana.link(c, b, kind="explains", strength=0.4)
    assert [(one.memory.text, one.link.kind) for one in ana.related(b.id)] == [
        ("a", "caused"),
        ("c", "explains"),
    ]
    assert [one.memory.text for one in ana.related(a.id)] == ["b"]
    assert [(one.memory.text, one.depth) for one in ana.related(a.id, depth=2)] == [
        ("b", 1),
        ("c", 2),
    ]
    assert [one.memory.text for one in ana.related(b.id, kind="explains")] == ["c"]
    assert [link.kind for link in ana.links(b.id, kind="caused")] == ["caused"]


@pytest.mark.acceptance("3.6")
def test_a_strength_lies_between_0_and_1(ana: Memory) -> None:
    a, b = ana.remember("a"), ana.remember("b")
    bad: list[Any] = [-0.01, 1.01, float("nan"), "strong", None, True]
    for strength in bad:
        with pytest.raises(ValidationError) as failure:
            ana.link(a, b, strength=strength)
        assert failure.value.field == "strength"
    for fine in (0, 1, 0.5):
        ana.link(a, b, strength=fine)
        assert [link.strength for link in ana.links(a.id)] == [fine]


@pytest.mark.acceptance("3.11")
def test_a_batch_answers_item_by_item(ana: Memory) -> None:
    items: list[Any] = [{"text": f"note {number}"} for number in range(100)]
    items[17] = {"text": ""}
    items[40] = {"text": "x", "importance": 9}
    items[41] = {"text": "x", "parent": NOBODY}
    batch = ana.remember_many(items, atomic=False)
    assert [failure.index for failure in batch.failed] == [17, 40, 41]
    assert [type(failure.error) for failure in batch.failed] == [
        ValidationError,
        ValidationError,
        NotFound,
    ]
    assert (len(batch), len(batch.stored), ana.count()) == (100, 97, 97)
    for index, result in enumerate(batch):
        if isinstance(result, Remembered):
            assert ana.get(result.id).text == f"note {index}"
        else:
            assert isinstance(result, Failed)


@pytest.mark.acceptance("3.11")
@pytest.mark.parametrize("bad", [{"text": ""}, {"text": "x", "parent": NOBODY}], ids=str)
def test_a_batch_is_all_or_nothing_unless_told_otherwise(ana: Memory, bad: dict[str, str]) -> None:
    with pytest.raises(RecollectError):
        ana.remember_many([*(f"note {number}" for number in range(99)), bad])
    assert (ana.count(), ana.events()) == (0, [])


@pytest.mark.acceptance("3.11")
def test_an_empty_or_huge_batch_is_an_error(ana: Memory) -> None:
    with pytest.raises(ValidationError, match="empty"):
        ana.remember_many([])
    with pytest.raises(PayloadTooLarge, match="BATCH_ITEMS_MAX"):
        ana.remember_many(["x"] * 1001)
    with pytest.raises(PayloadTooLarge, match="BATCH_ITEMS_MAX"):
        ana.get_many([NOBODY] * 1001)
    assert ana.get_many([]) == []


class CountingFile(SqliteStore):
    """A store that tells how often the disk was asked to sync."""

    def __init__(self, file: str, disk: Disk) -> None:
        super().__init__(file, vfs=disk.name)
        self.disk = disk

    @property
    def cost(self) -> int:
        return self.disk.calls["sync"]


class CountingDictionaries(InMemoryStore):
    """A store that tells how many transactions it carried out."""

    cost = 0

    async def apply(self, *args: Any, **kwargs: Any) -> list[Any]:
        self.cost += 1
        return await super().apply(*args, **kwargs)


@pytest.fixture(params=["file", "dictionaries"])
def counted(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "dictionaries":
        yield CountingDictionaries()
    else:
        disk = Disk(f"counting-{tmp_path.name}")
        yield CountingFile(str(tmp_path / "memory.db"), disk)
        disk.unregister()


@pytest.mark.acceptance("3.11")
def test_a_batch_of_100_costs_one_commit_and_100_singles_cost_100(counted: Any) -> None:
    def cost_of(work: Callable[[], object]) -> int:
        before = counted.cost
        work()
        return int(counted.cost - before)

    with recollect.open("memory.db", store=counted) as memory:
        memory.remember("the first")
        singles = cost_of(lambda: [memory.remember(f"note {number}") for number in range(100)])
        batch = cost_of(lambda: memory.remember_many([f"note {number}" for number in range(100)]))
    assert batch == 1
    assert singles >= 100


@pytest.mark.acceptance("3.11")
def test_a_group_holds_each_memory_once(ana: Memory, clock: FrozenClock) -> None:
    a, b = ana.remember("a"), ana.remember("b")
    kitchen = ana.group("kitchen")
    made = kitchen.make("pots and pans")
    assert (made.name, made.description, made.size, made.number) == (
        "kitchen",
        "pots and pans",
        0,
        1,
    )
    for one, new in [(b, True), (a, True), (b, False)]:
        clock.advance(seconds=1)
        assert kitchen.add(one) is new
    assert [one.text for one in kitchen.members()] == ["b", "a"]
    assert [(group.name, group.size) for group in ana.groups()] == [("kitchen", 2)]
    for name in (made.id, "kitchen", "1"):
        assert len(ana.group(name).members()) == 2
    assert [kitchen.remove(b) for _ in range(2)] == [True, False]


@pytest.mark.acceptance("3.11")
def test_an_unknown_group_or_member_is_an_error(memory: Memory, ana: Memory) -> None:
    own, foreign = ana.remember("own"), memory.scope(user="bob").remember("foreign")
    with pytest.raises(NotFound, match="'nope'"):
        ana.group("nope").members()
    with pytest.raises(NotFound, match="'nope'"):
        ana.group("nope").remove(own)
    for id in (NOBODY, foreign.id):
        with pytest.raises(NotFound, match=id):
            ana.group("kitchen").add(id)
    assert ana.group("kitchen").members() == []
