"""How things are measured: side by side, in CPU time, medians of several rounds."""

import cProfile
import gc
import io
import pstats
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

Work = Callable[[], object]
PROFILE_LINES = 14


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that each call took, in rounds."""

    cpu: list[list[float]]
    wall: list[list[float]]

    def cpu_ms(self, share: float = 0.5) -> float:
        """The CPU time that this share of all calls stayed below."""
        return 1e3 * quantile([call for turn in self.cpu for call in turn], share)

    def quietest_ms(self) -> float:
        """The median CPU time in the round that others disturbed least."""
        return 1e3 * min(median(turn) for turn in self.cpu)

    def cpu_mean_ms(self) -> float:
        """The mean CPU time, in which rare dear calls count."""
        calls = [call for turn in self.cpu for call in turn]
        return 1e3 * sum(calls) / len(calls)

    def wall_ms(self, share: float = 0.5) -> float:
        """The wall time that this share of all calls stayed below."""
        return 1e3 * quantile([call for turn in self.wall for call in turn], share)


@dataclass(slots=True)
class Row:
    """One line of the report."""

    what: str
    target: str
    measured: str
    reference: str
    met: bool | None
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    why: str = ""


def quantile(values: list[float], share: float) -> float:
    """The value that this share of the others lies below."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def side_by_side(works: Mapping[str, Iterator[Work]], rounds: int, block: int) -> dict[str, Spent]:
    """Call each kind of work in blocks that take turns, so that noise meets all of them alike."""
    spent = {name: Spent([], []) for name in works}
    with quiet():
        for turn in range(rounds):
            names = list(works)
            for name in names if turn % 2 else reversed(names):
                cpu, wall = _block(works[name], block)
                spent[name].cpu.append(cpu)
                spent[name].wall.append(wall)
    return spent


def _block(work: Iterator[Work], calls: int) -> tuple[list[float], list[float]]:
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(calls):
        call = next(work)
        clock, start = time.perf_counter(), time.process_time()
        call()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - clock)
    return cpu, wall


def ratio(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """How many times as long ours takes: the median over rounds of the ratio of medians."""
    return median(median(a) / median(b) for a, b in zip(ours, theirs, strict=True))


@contextmanager
def quiet() -> Iterator[None]:
    """What was made so far is left alone by the garbage collector; what is made now is not."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def profiled(work: Iterator[Work], calls: int) -> str:
    """Where the time of some calls goes, dearest functions first."""
    made = [next(work) for _ in range(calls)]
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for call in made:
        call()
    profile.disable()
    return f"of {calls} calls:\n{dearest(profile)}"


def dearest(profile: cProfile.Profile | str) -> str:
    """The functions that took longest themselves, of a profile or of the file that holds one."""
    shown = io.StringIO()
    stats = pstats.Stats(profile, stream=shown).strip_dirs().sort_stats("tottime")
    stats.print_stats(PROFILE_LINES)
    lines = [line.rstrip() for line in shown.getvalue().splitlines() if line.strip()]
    table = next(at for at, line in enumerate(lines) if line.lstrip().startswith("ncalls"))
    return "\n".join(lines[table:])


def verdict(met: bool | None) -> str:
    """How the report says whether a target was met."""
    return {True: "met", False: "**MISSED**", None: ""}[met]
