"""Two times: `as_of` asks about the world, `known_at` about what we knew."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect import Memory, RecollectError
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import FrozenClock, InMemoryStore


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock("2025-06-01")


@pytest.fixture(params=[SqliteStore, InMemoryStore])
def memory(tmp_path: Path, clock: FrozenClock, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """Lisbon since March, learned in June; Porto since September, learned in December."""
    path = str(tmp_path / "memory.db")
    store = SqliteStore(path) if request.param is SqliteStore else InMemoryStore()
    with recollect.open(path, clock=clock, store=store) as opened:
        home = opened.remember("I moved to Lisbon.", occurred_at="2025-03-04")
        clock.set("2025-12-01")
        opened.correct(home, "I moved to Porto.", occurred_at="2025-09-01")
        clock.set("2026-01-01")
        yield opened


def told(memory: Memory, as_of: str | None = None, known_at: str | None = None) -> list[str]:
    """The towns that recall and list show; both must agree."""
    recalled = [hit.text for hit in memory.recall("move", as_of=as_of, known_at=known_at)]
    listed = [one.text for one in memory.list(as_of=as_of, known_at=known_at)]
    assert sorted(recalled) == sorted(listed)
    return [text.removeprefix("I moved to ").rstrip(".") for text in sorted(recalled)]


@pytest.mark.parametrize(
    ("as_of", "towns"),
    [
        (None, ["Porto"]),
        ("2025-01-01", []),
        ("2025-04-01", ["Lisbon"]),
        ("2025-08-31", ["Lisbon"]),
        ("2025-09-01", ["Porto"]),
        ("2025-10-01", ["Porto"]),
        ("2025-12-24", ["Porto"]),
    ],
)
def test_as_of_shows_what_was_true_then_as_far_as_we_know_today(
    memory: Memory, as_of: str | None, towns: list[str]
) -> None:
    assert told(memory, as_of=as_of) == towns
    assert memory.count(as_of=as_of) == len(towns)


@pytest.mark.parametrize(
    ("known_at", "towns"),
    [("2025-05-01", []), ("2025-07-01", ["Lisbon"]), ("2025-12-24", ["Porto"])],
)
def test_known_at_shows_what_recall_would_have_answered_that_day(
    memory: Memory, known_at: str, towns: list[str]
) -> None:
    assert told(memory, known_at=known_at) == towns


@pytest.mark.parametrize(
    ("as_of", "known_at", "towns"),
    [
        ("2025-04-01", "2025-05-01", []),
        ("2025-04-01", "2025-07-01", ["Lisbon"]),
        ("2025-10-01", "2025-11-01", ["Lisbon"]),
        ("2025-10-01", "2025-12-24", ["Porto"]),
        ("2025-04-01", "2025-12-24", ["Lisbon"]),
    ],
)
def test_both_together_show_what_we_then_believed_about_that_time(
    memory: Memory, as_of: str, known_at: str, towns: list[str]
) -> None:
    assert told(memory, as_of=as_of, known_at=known_at) == towns


def test_words_are_shown_as_they_were_at_the_moment(memory: Memory, clock: FrozenClock) -> None:
    clock.set("2026-02-01")
    note = memory.remember("The bakery opens at six.")
    clock.set("2026-03-01")
    memory.update(note, text="The bakery opens at seven.")
    assert memory.get(note, as_of="2026-02-15").text == "The bakery opens at six."
    assert memory.recall("bakery", as_of="2026-02-15").hits[0].text.endswith("six.")
    assert memory.recall("bakery", as_of="2026-03-15").hits[0].text.endswith("seven.")
    with pytest.raises(RecollectError, match="no memory"):
        memory.get(note, known_at="2026-01-15")


def test_a_moment_may_be_a_date_a_text_or_a_datetime(memory: Memory) -> None:
    moment = datetime(2025, 4, 1, tzinfo=UTC)
    for given in (moment, moment.date(), "2025-04-01", "2025-04-01T02:00+02:00"):
        assert memory.recall("move", as_of=given).hits[0].text == "I moved to Lisbon."
