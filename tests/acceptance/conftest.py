"""Every acceptance test runs on `Memory` and `AsyncMemory`, each on a file and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing import FrozenClock
from tests.faces import FACES, World, opened


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory


@pytest.fixture
def ana(world: World) -> Memory:
    return world.memory.scope(user="ana")


@pytest.fixture
def clock(world: World) -> FrozenClock:
    return world.clock
