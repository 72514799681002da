"""Why a memory is not among the hits: each thing that can keep it out, by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.domain.recall import Obstacle, WhyNot
from recollect.testing import FrozenClock
from tests.faces import FACES, World, opened

ASKED = "Where does she live?"


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory.scope(user="ana")


@pytest.fixture
def clock(world: World) -> FrozenClock:
    return world.clock


def obstacles(answer: WhyNot) -> list[Obstacle]:
    return [reason.obstacle for reason in answer.reasons]


def test_a_hit_has_nothing_against_it(memory: Memory) -> None:
    home = memory.remember("She lives in Lisbon.")
    answer = memory.why_not(ASKED, home)
    assert answer.is_hit
    assert answer.rank == 1
    assert answer.hit is not None
    assert answer.hit.score == memory.recall(ASKED).hits[0].score
    assert str(answer) == "It is hit number 1."


def test_what_is_foreign_is_unknown_and_what_is_gone_was_erased(
    world: World, memory: Memory
) -> None:
    foreign = world.memory.scope(user="bob").remember("She lives in Lisbon.")
    assert obstacles(memory.why_not(ASKED, foreign)) == [Obstacle.UNKNOWN]
    assert "Lisbon" not in str(memory.why_not(ASKED, foreign))
    gone = memory.remember("She lives in Porto.")
    memory.forget(gone)
    assert obstacles(memory.why_not(ASKED, gone)) == [Obstacle.ERASED]


def test_a_filter_is_named_with_the_part_that_fails(memory: Memory) -> None:
    home = memory.remember("She lives in Lisbon.", kind="fact", importance=0.3)
    answer = memory.why_not(ASKED, home, kind="fact", where={"importance": {"gte": 0.5}})
    assert obstacles(answer) == [Obstacle.FILTERED]
    assert "importance gte 0.5" in str(answer)
    assert "kind" not in str(answer)
    either = {"or": [{"kind": "note"}, {"not": {"kind": "fact"}}]}
    told = str(memory.why_not(ASKED, home, where=either))
    assert "(kind eq 'note' or not (kind eq 'fact'))" in told


def test_what_was_superseded_names_what_holds_now(memory: Memory) -> None:
    first = memory.remember("She lives in Faro.")
    second = memory.correct(first, "She lives in Lisbon.")
    third = memory.correct(second, "She lives in Porto.")
    answer = memory.why_not(ASKED, first)
    assert obstacles(answer) == [Obstacle.STATUS]
    assert answer.superseded_by is not None
    assert answer.superseded_by.id == third.id


def test_endings_and_expiries_are_named_with_their_day(memory: Memory, clock: FrozenClock) -> None:
    over = memory.remember("She lives in Faro.", valid_to="2026-02-01")
    expired = memory.remember("She lives here.", expires_at="2026-02-01")
    clock.set("2026-03-01")
    assert obstacles(memory.why_not(ASKED, over)) == [Obstacle.ENDED]
    assert "1 February 2026" in str(memory.why_not(ASKED, over))
    assert obstacles(memory.why_not(ASKED, expired)) == [Obstacle.EXPIRED]


def test_what_was_not_true_or_not_known_then_says_so(memory: Memory, clock: FrozenClock) -> None:
    clock.set("2026-03-01")
    home = memory.remember("She lives in Porto.", occurred_at="2026-02-01")
    assert obstacles(memory.why_not(ASKED, home, as_of="2026-01-15")) == [Obstacle.NOT_YET]
    assert memory.why_not(ASKED, home, as_of="2026-02-15").is_hit
    unknown = memory.why_not(ASKED, home, known_at="2026-02-15")
    assert obstacles(unknown) == [Obstacle.NOT_YET]
    assert "learned on 1 March 2026" in str(unknown)


def test_another_session_is_named(memory: Memory) -> None:
    home = memory.remember("She lives in Lisbon.")
    here = memory.scope(session="s", only_session=True)
    here.remember("It rains.")
    assert obstacles(here.why_not(ASKED, home)) == [Obstacle.OTHER_SESSION]


def test_what_shares_no_word_is_told_which_words_were_looked_for(memory: Memory) -> None:
    memory.remember("She lives in Lisbon.")
    tea = memory.remember("Green tea.")
    answer = memory.why_not(ASKED, tea)
    assert obstacles(answer) == [Obstacle.NO_MATCH]
    assert "(live)" in str(answer)


def test_what_stands_behind_the_last_hit_is_told_both_scores(memory: Memory) -> None:
    memory.remember("She lives in Lisbon, she lives well.")
    people = ("aunt", "uncle", "niece", "cousin", "friend", "teacher", "doctor")
    homes = [memory.remember(f"Her {one} lives in a long street.") for one in people]
    found = memory.recall(ASKED, limit=3)
    behind = next(home for home in homes if home.id not in {hit.id for hit in found})
    answer = memory.why_not(ASKED, behind, limit=3)
    assert obstacles(answer) == [Obstacle.BUDGET]
    assert answer.rank is not None
    assert answer.rank > 3
    assert answer.hit is not None
    assert sum(answer.hit.why.shares.values()) == answer.hit.score
    assert answer.needed == found.hits[-1].score
    near = {hit.id: hit for hit in found.near_misses}
    if behind.id in near:
        assert near[behind.id].score == answer.hit.score


def test_a_recall_can_be_asked_as_it_was_put(memory: Memory) -> None:
    home = memory.remember("She lives in Lisbon.", kind="fact")
    found = memory.recall(ASKED, kind="note")
    assert obstacles(memory.why_not(found, home)) == [Obstacle.FILTERED]


def test_what_is_farther_than_the_average_is_below_the_threshold(memory: Memory) -> None:
    memory.remember("She lives in Lisbon.", vector=[1.0, 0.1])
    tea = memory.remember("Green tea.", vector=[-1.0, 0.1])
    answer = memory.why_not("home", tea, vector=[1.0, 0.0])
    assert obstacles(answer) == [Obstacle.THRESHOLD]
    assert answer.rank is None
    assert answer.hit is not None
    assert answer.hit.score == 0
