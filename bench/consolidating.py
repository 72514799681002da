"""What it costs to consolidate very many memories, and what a recall beside it notices of that."""

import math
import resource
import time
from typing import Any

import numpy as np

import recollect
from bench.material import Material
from bench.measuring import Row, quantile
from bench.startup import child
from bench.workshop import Workshop
from recollect.lifecycle.consolidating import CONSOLIDATE_PLACE

DIMENSIONS = 384
#: How many memories are about one thing on average, and how far they lie from it.
ABOUT, AROUND = 4, 0.35
BATCH = 1_000
PEAK_MB_MAX = 350
#: What n log n would take for the larger of two files, with room for what varies.
GROWTH_ROOM = 1.25
SLOWER_MAX = 1.2
FOREGROUND = 5_000
SETTLED = {"consolidate_hours": 0.0}
#: The background begins by itself after ten seconds; until then it is quiet.
QUIET_S, WAIT_S, BUSY_S = 6.0, 6.0, 20.0


def consolidating(shop: Workshop) -> list[Row]:
    """Time and memory for growing numbers, and recall while jobs do the same."""
    sizes = (5_000, 20_000) if shop.quick else (25_000, 100_000)
    seen: list[dict[str, Any]] = []
    for size in sizes:
        path = str(shop.path(f"alike-{size}.db"))
        child("fill_alike", path, size)
        seen.append(child("consolidate", path))
    beside = str(shop.path("beside.db"))
    child("fill_alike", beside, sizes[0])
    return [_growth_row(sizes, seen), _beside_row(child("recall_beside", beside), sizes[0])]


def _growth_row(sizes: tuple[int, int], seen: list[dict[str, Any]]) -> Row:
    few, many = seen
    allowed = sizes[1] * math.log(sizes[1]) / (sizes[0] * math.log(sizes[0])) * GROWTH_ROOM
    grown = many["cpu_s"] / few["cpu_s"]
    return Row(
        f"`consolidate` {sizes[1]:,} memories of one user, vectors given, no model",
        f"≤ n log n, ≤ {PEAK_MB_MAX} MB",
        f"{many['wall_s']:.1f} s, {many['cpu_s']:.1f} s CPU, {many['peak_mb']:.0f} MB at most; "
        f"{many['made']:,} made",
        f"{grown:.1f} × the CPU of {sizes[0]:,}, where n log n with room is {allowed:.1f} ×",
        grown <= allowed and many["peak_mb"] <= PEAK_MB_MAX,
        {"few": few, "many": many},
    )


def _beside_row(seen: dict[str, Any], size: int) -> Row:
    slower = seen["busy_ms"] / seen["quiet_ms"]
    return Row(
        f"`recall` in {FOREGROUND:,} memories while jobs consolidate {size:,} beside it, wall p50",
        f"≤ {SLOWER_MAX} × without",
        f"{slower:.2f} × ({seen['busy_ms']:.2f} ms, {seen['quiet_ms']:.2f} ms without)",
        f"{seen['steps']:,} steps were done meanwhile",
        slower <= SLOWER_MAX and seen["steps"] > 0,
        seen,
    )


# -- in processes of their own ---------------------------------------------------------------------


def fill_alike(path: str, size: str) -> dict[str, Any]:
    """A file in which one user has very many memories, some of them alike, and another a few."""
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((int(size) // ABOUT, DIMENSIONS)).astype(np.float32)
    texts = Material(3)
    with recollect.open(path, duplicates="keep", contradictions="keep") as memory:
        for _ in range(int(size) // BATCH):
            about = centres[chance.integers(len(centres), size=BATCH)]
            away = chance.standard_normal((BATCH, DIMENSIONS)).astype(np.float32)
            _store(memory.scope(user="many"), texts.texts(BATCH), about + AROUND * away)
        few = memory.scope(user="few")
        for words, vectors in Material(4).batches(FOREGROUND):
            _store(few, words, vectors)
    return {}


def _store(memory: recollect.Memory, texts: list[str], vectors: np.ndarray) -> None:
    pairs = zip(texts, vectors, strict=True)
    memory.remember_many([{"text": text, "vector": vector} for text, vector in pairs])


def consolidate(path: str) -> dict[str, Any]:
    """Consolidate all of it at once; time and memory."""
    with recollect.open(path, policy=SETTLED) as memory:
        begun, clock = time.perf_counter(), time.process_time()
        found = memory.scope(user="many").consolidate()
        wall, cpu = time.perf_counter() - begun, time.process_time() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "made": len(found.made)}


def recall_beside(path: str) -> dict[str, Any]:
    """Recall before the background begins, and while it consolidates somebody else's memories."""
    options: Any = {"policy": SETTLED, "consolidation": "on", "background": "on"}
    material = [(one.text, one.vector) for one in Material(4).questions(200)]
    with recollect.open(path, **options) as memory:
        few = memory.scope(user="few")
        for words, vector in material[:20]:
            few.recall(words, vector=vector)
        quiet = _recalls(few, material, QUIET_S)
        time.sleep(WAIT_S)
        few.recall("begin")
        _until_it_runs(memory)
        before = _steps(memory)
        busy = _recalls(few, material, BUSY_S)
        steps = _steps(memory) - before
    return {"quiet_ms": quantile(quiet, 0.5), "busy_ms": quantile(busy, 0.5), "steps": steps}


def _recalls(memory: recollect.Memory, material: Any, seconds: float) -> list[float]:
    """Milliseconds of each of many recalls, with a breath between them as a person leaves one."""
    spent: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for words, vector in material:
            begun = time.perf_counter()
            memory.recall(words, vector=vector)
            spent.append((time.perf_counter() - begun) * 1e3)
            time.sleep(0.002)
    return spent


def _until_it_runs(memory: recollect.Memory) -> None:
    for _ in range(300):
        if _steps(memory):
            return
        time.sleep(0.1)


def _steps(memory: recollect.Memory) -> int:
    """The number of the job that is the next step; every step queues the one after it."""
    return max((job.number for job in memory.jobs(kind=CONSOLIDATE_PLACE)), default=0)
