"""P19: seeded days of a store, with failing disks and restarts, against a model of dictionaries."""

import itertools
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.operations import Alter
from recollect.domain.queries import View
from recollect.domain.scopes import Scope
from recollect.storage.sqlite.store import SqliteStore
from tests.faults.invariants import broken
from tests.simulation.playing import INVARIANTS, PEOPLE, SEAL_AT, WORLD, WRITES, Player

SEEDS = 200
STEPS = 200
PARTS = 8
_RAM = "/dev/shm"


@pytest.fixture(autouse=True)
def sealed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.storage.sqlite.store.SEAL_AT", SEAL_AT)


def simulate(seed: int, steps: int) -> Player:
    """One run; what goes wrong in it names the seed and the steps that led there."""
    beside = _RAM if os.access(_RAM, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=beside, prefix="recollect-") as folder:
        player = Player(seed, Path(folder))
        try:
            for _ in range(steps):
                kind = player.rng.choices((WRITES, WORLD, INVARIANTS), (75, 5, 20))[0]
                player.play(player.rng.choice(kind))
            player.nothing_differs()
        except BaseException as error:
            error.add_note(f"seed {seed}, step {len(player.played)}: {player.played[-5:]}")
            raise
        finally:
            player.close()
        assert broken(Path(folder) / "memory.db") == [], f"seed {seed}"
    return player


@pytest.mark.promise("P19")
def test_a_few_simulated_days_go_as_the_model_says() -> None:
    for seed in range(1000, 1003):
        simulate(seed, 60)


@pytest.mark.slow
@pytest.mark.promise("P19")
@pytest.mark.parametrize("part", range(PARTS))
def test_200_simulated_days_of_200_steps_go_as_the_model_says(part: int) -> None:
    failures = sum(simulate(seed, STEPS).failures for seed in range(part, SEEDS, PARTS))
    assert failures >= SEEDS // PARTS, "the disk failed too seldom to prove anything"


@pytest.mark.promise("P19")
def test_the_same_seed_is_the_same_day() -> None:
    first, second = (simulate(77, 60) for _ in range(2))
    assert first.people == second.people
    assert first.played == second.played


def lose_the_ninth_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that acknowledges a change of importance and does not write it."""
    honest, seen = SqliteStore.apply, itertools.count(1)

    async def apply(store: SqliteStore, operations: Sequence[Any], *, atomic: bool = True) -> Any:
        first = operations[0]
        if isinstance(first, Alter) and "importance" in first.changes:
            found = await store.get([first.id], View(first.places, first.stamp.at))
            if found and next(seen) % 9 == 0:
                return [*found.values()]
        return await honest(store, operations, atomic=atomic)

    monkeypatch.setattr(SqliteStore, "apply", apply)


def look_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that does not ask whose memories it reads."""
    everyone = tuple(Scope(user=name).home for name in PEOPLE)
    monkeypatch.setattr(Scope, "places", property(lambda _: everyone))


@pytest.mark.promise("P19")
@pytest.mark.parametrize("damage", [lose_the_ninth_change, look_everywhere])
def test_control_the_simulation_notices(
    damage: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _ = [simulate(seed, STEPS) for seed in range(3)]
