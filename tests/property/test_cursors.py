"""Paging: whatever comes and goes between two pages, what stays is seen once and in order."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.domain.queries import SORTS
from recollect.domain.records import MemoryRecord
from tests.property.stores import MAKE, fresh

values = st.sampled_from([None, 0, 1, 5, 9])
settled = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def draft(number: int, value: int | None) -> dict[str, Any]:
    """A memory that has the value in every field that can be sorted by, or none there."""
    there = {"priority": value, "occurred_at": f"200{value}-01-01"} if value is not None else {}
    return {"text": f"note {number}", "importance": (value or 0) / 10, **there}


def key_of(record: MemoryRecord, sort: str) -> Any:
    return None if sort == "created_at" else getattr(record, sort)


def in_order(seen: list[MemoryRecord], sort: str, *, descending: bool) -> bool:
    """Values in order with those that are missing at the end; of equals, the order of writing."""
    for one, next_ in pairwise(seen):
        a, b = key_of(one, sort), key_of(next_, sort)
        if a is None and b is not None:
            return False
        if a is not None and b is not None and a != b and (a > b) is not descending:
            return False
        if a == b and (one.id > next_.id) is not descending:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE)
@settled
@given(
    given_values=st.lists(values, min_size=1, max_size=25),
    sort=st.sampled_from(SORTS),
    descending=st.booleans(),
    size=st.integers(1, 7),
    comings=st.lists(st.tuples(values, st.booleans()), max_size=8),
)
def test_pages_neither_repeat_nor_skip_what_stays(
    kind: str,
    given_values: list[int | None],
    sort: str,
    descending: bool,
    size: int,
    comings: list[tuple[int | None, bool]],
) -> None:
    with fresh(kind) as memory, memory.session(id="s") as chat:
        stored = memory.remember_many([draft(i, v) for i, v in enumerate(given_values)]).stored
        chat.add_many([{"role": "user", "text": "said", "priority": v} for v in given_values[:5]])
        for one in stored[::3]:
            memory.get(one)
        going = [one.id for one in stored[::4]]
        stays = {one.id for one in memory.list(limit=1000)} - set(going)
        before = {one.id: one for one in memory.list(limit=1000)}
        seen: list[MemoryRecord] = []
        cursor: str | None = None
        order = "desc" if descending else "asc"
        for _ in range(200):
            page = memory.list(limit=size, sort=sort, order=order, cursor=cursor)
            seen += [one for one in page if one.id in before]
            cursor = page.cursor
            if cursor is None:
                break
            if comings:
                value, also_goes = comings.pop()
                memory.remember(
                    "came in between",
                    **{name: one for name, one in draft(0, value).items() if name != "text"},
                )
                if also_goes and going:
                    memory.forget(going.pop())
        assert cursor is None
        ids = [one.id for one in seen]
        assert len(ids) == len(set(ids)), "a row was repeated"
        assert stays <= set(ids), "a row was skipped"
        assert in_order(seen, sort, descending=descending)


@pytest.mark.parametrize("kind", MAKE)
def test_a_past_listing_pages_like_the_present_one(kind: str) -> None:
    with fresh(kind) as memory:
        old = [memory.remember(f"note {i}", occurred_at="2025-01-01") for i in range(9)]
        for one in old[::2]:
            memory.update(one, importance=0.9)
        seen: list[str] = []
        cursor = None
        while True:
            page = memory.list(limit=2, as_of="2025-06-01", order="asc", cursor=cursor)
            seen += [one.id for one in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == [one.id for one in old]
