"""What holds for every life of a memory: strength, promotion, consolidation."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.domain import tending, times
from recollect.domain.policy import Policy
from recollect.domain.records import MemoryRecord, Tier
from recollect.domain.scopes import Place, PlaceKind
from recollect.testing import FrozenClock, HashEmbedder
from tests.property.stores import MAKE, opened

settled = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TIERS = [tier.value for tier in Tier]
RATES = {"short": 0.9, "medium": 0.95, "long": 0.99, "archived": 0.99}
STEPS = st.lists(
    st.one_of(
        st.just(("read", 0.0)),
        st.just(("recall", 0.0)),
        st.tuples(st.just("reinforce"), st.floats(0.1, 3.0)),
        st.tuples(st.just("wait"), st.floats(0.0, 20.0)),
    ),
    max_size=15,
)
#: Leaving recall is a matter of when somebody looks, and is left out here.
STAYING: dict[str, Any] = {"archive_below": 0, "medium_uses": 2, "long_uses": 4}
WORDS = ("tea", "milk", "bread", "honey", "lisbon", "paint")
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=3, max_size=14
)


@contextmanager
def opened_at(kind: str, clock: FrozenClock, **options: Any) -> Iterator[Memory]:
    """An empty memory of a kind at a clock, for one example."""
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(MAKE[kind](Path(folder)), clock, **options) as memory,
    ):
        yield memory


def lived(memory: Memory, clock: FrozenClock, steps: Any, *, tended: bool) -> MemoryRecord:
    """A memory after some steps; tended after each of them, or only at the end."""
    record = memory.remember("I drink tea.", importance=0.6).memory
    for step, number in steps:
        if step == "read":
            memory.get(record)
        elif step == "recall":
            memory.recall("tea")
        elif step == "reinforce":
            memory.reinforce(record, number)
        else:
            clock.advance(days=number)
        if tended:
            memory.maintain()
    clock.advance(days=2)
    memory.maintain()
    return memory.get(record)


@pytest.mark.slow
@pytest.mark.acceptance("3.8")
@pytest.mark.parametrize("kind", MAKE)
@settled
@given(steps=STEPS)
def test_strength_depends_on_the_recorded_facts_and_the_time_alone(kind: str, steps: Any) -> None:
    lives: list[MemoryRecord] = []
    for tended in (True, False):
        clock = FrozenClock("2026-01-01")
        with opened_at(kind, clock, policy=STAYING) as memory:
            lives.append(lived(memory, clock, steps, tended=tended))
            now = times.show(clock.now())
    often, once = lives
    importance, since, at = 0.6, times.to_micros(often.created_at), 0.0
    for step, number in steps:
        at += number if step == "wait" else 0.0
        if step == "reinforce":
            importance = min(importance * number, 1.0)
            since = times.to_micros(often.created_at) + round(at * times.DAY)
    days = (times.to_micros(now) - since) / times.DAY
    expected = importance * RATES[often.tier] ** days
    assert often.strength(now) == pytest.approx(expected, rel=1e-6)
    assert once.strength(now) == often.strength(now)
    assert (once.tier, once.importance) == (often.tier, often.importance)


PLACE = Place("local", "default", PlaceKind.USER, "ana")
BORN = times.show(times.parse("2026-01-01", field="at"))


@pytest.mark.acceptance("3.9")
@settings(deadline=None, derandomize=True)
@given(
    tier=st.sampled_from(TIERS),
    reads=st.integers(0, 30),
    more=st.integers(0, 30),
    days=st.floats(0, 400),
    later=st.floats(0, 400),
)
def test_promotion_is_monotone_in_use_and_in_age(
    tier: str, reads: int, more: int, days: float, later: float
) -> None:
    record = MemoryRecord(
        id="mem_" + "0" * 32,
        text="tea",
        place=PLACE,
        created_at=BORN,
        updated_at=BORN,
        tier=tier,
        access_count=reads,
    )
    policy, born = Policy(), times.to_micros(BORN)

    def rank(one: MemoryRecord, age: float) -> int:
        return TIERS.index(tending.promoted(one, policy, born + int(age * times.DAY)))

    used = replace(record, access_count=reads + more, reinforcements=more)
    assert TIERS.index(tier) <= rank(record, days) <= rank(used, days) <= rank(used, days + later)
    once = tending.due(record, policy, born + int(days * times.DAY))
    if once is not None:
        after = replace(record, **dict(once.changes))
        assert tending.due(after, policy, born + int(days * times.DAY)) is None


def seen(memory: Memory) -> Any:
    """Everything that a user can see."""
    listed = [replace(one, access_count=0) for one in memory.list(limit=100)]
    hits = [(hit.id, round(hit.score, 4)) for word in WORDS for hit in memory.recall(word)]
    return listed, hits, memory.count()


@pytest.mark.slow
@pytest.mark.acceptance("3.10")
@pytest.mark.parametrize("kind", MAKE)
@settled
@given(texts=TEXTS, limit=st.integers(3, 10), least=st.floats(0.3, 0.95))
def test_consolidation_followed_by_undo_is_the_identity(
    kind: str, texts: list[str], limit: int, least: float
) -> None:
    clock = FrozenClock("2026-01-01")
    policy = {"consolidate_group": limit, "consolidate_similarity": least}
    with opened_at(kind, clock, policy=policy, embedder=HashEmbedder(64)) as memory:
        for text in texts:
            memory.remember(text, force=True)
        clock.advance(days=2)
        before = seen(memory)
        made = memory.consolidate().made
        for one in made:
            assert 3 <= len(one.sources) <= limit
            assert one.similarity >= least - 1e-6
        sources = [source.id for one in made for source in one.sources]
        assert len(sources) == len(set(sources))
        for one in reversed(made):
            memory.undo(str(one.event))
        assert seen(memory) == before
        assert memory.verify().ok
