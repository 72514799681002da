"""What it costs to remember: one by one and in batches, against bare commits of the same bytes."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import recollect
from bench.amplification import counted_memory
from bench.bare import BareTable
from bench.material import USERS, Material, drafts
from bench.measuring import Row, Spent, Work, profiled, ratio, side_by_side
from bench.workshop import Workshop, opened

SINGLE_RATIO_MAX = 2.1
SINGLE_CPU_MS_MAX = 0.4
BATCH = 1_000
BATCH_PER_S_MIN = 20_000
BLOCK = 25
COUNTED = 200


def single(shop: Workshop) -> list[Row]:
    """One durable memory at a time."""
    path, table = shop.path("single.db"), BareTable(shop.path("single-bare.db"))
    with opened(path) as memory:
        spent = one_by_one(memory, table, shop.rounds(40))
        met_cpu = spent["ours"].cpu_ms() <= SINGLE_CPU_MS_MAX
        times = ratio(spent["ours"].cpu, spent["bare"].cpu)
        why = ""
        if not met_cpu or times > SINGLE_RATIO_MAX:
            why = profiled(adding(memory), 300)
    table.close()
    return [_cpu_row(spent, why), *_ratio_rows(spent), _sync_row(), _answer_row(shop)]


def _answer_row(shop: Workshop) -> Row:
    """What it costs where the write supersedes another: two memories, a version and a link."""
    with opened(shop.path("answers.db")) as memory:
        spent = side_by_side({"answers": answering(memory)}, shop.rounds(10), BLOCK)["answers"]
    return Row(
        "the same where a new answer supersedes the old one",
        "",
        f"{spent.cpu_ms():.3f} ms p50, {spent.cpu_ms(0.95):.3f} p95",
        "I live in …, said anew each time",
        None,
        {"cpu_p50_ms": spent.cpu_ms(), "cpu_p95_ms": spent.cpu_ms(0.95)},
    )


def answering(memory: recollect.Memory) -> Iterator[Work]:
    """Calls that each say anew where a person lives."""
    handles = [memory.scope(user=f"u{user}") for user in range(USERS)]
    vectors = Material(3).vectors(BLOCK)
    for turn in count():
        for at in range(BLOCK):
            town = f"I live in Newtown {turn * BLOCK + at}."
            yield partial(handles[at % USERS].remember, town, vector=vectors[at])


def one_by_one(memory: recollect.Memory, table: BareTable, rounds: int) -> dict[str, Spent]:
    """Ours and bare commits, taking turns."""
    ours, bare = adding(memory), adding_bare(table)
    for _ in range(BLOCK):
        next(ours)()
        next(bare)()
    return side_by_side({"ours": ours, "bare": bare}, rounds, BLOCK)


def adding(memory: recollect.Memory) -> Iterator[Work]:
    """Calls that remember one memory each, for each user in turn."""
    handles = [memory.scope(user=f"u{user}") for user in range(USERS)]
    material = Material(2)
    for turn in count():
        texts, vectors = material.texts(BLOCK), material.vectors(BLOCK)
        for at, text in enumerate(texts):
            handle = handles[(turn * BLOCK + at) % USERS]
            yield partial(handle.remember, text, vector=vectors[at])


def adding_bare(table: BareTable) -> Iterator[Work]:
    """Calls that commit one row each."""
    material = Material(2)
    while True:
        texts, vectors = material.texts(BLOCK), material.vectors(BLOCK)
        for text, vector in zip(texts, vectors, strict=True):
            yield partial(table.add, text, vector)


def _cpu_row(spent: dict[str, Spent], why: str) -> Row:
    ours, bare = spent["ours"], spent["bare"]
    numbers = {
        "cpu_p50_ms": ours.cpu_ms(),
        "cpu_p95_ms": ours.cpu_ms(0.95),
        "cpu_mean_ms": ours.cpu_mean_ms(),
        "cpu_quietest_ms": ours.quietest_ms(),
        "bare_cpu_quietest_ms": bare.quietest_ms(),
        "bare_cpu_p50_ms": bare.cpu_ms(),
    }
    return Row(
        "durable single `remember`, CPU",
        f"≤ {SINGLE_CPU_MS_MAX} ms",
        f"{ours.cpu_ms():.3f} ms p50, {ours.cpu_ms(0.95):.3f} p95, {ours.cpu_mean_ms():.3f} mean, "
        f"{ours.quietest_ms():.3f} in the quietest round",
        f"bare commit of the same bytes {bare.cpu_ms():.3f} ms, "
        f"{bare.quietest_ms():.3f} in the quietest round",
        ours.cpu_ms() <= SINGLE_CPU_MS_MAX,
        numbers,
        why,
    )


def _ratio_rows(spent: dict[str, Spent]) -> Iterator[Row]:
    ours, bare = spent["ours"], spent["bare"]
    for name, mine, theirs, least in (
        ("CPU", ours.cpu, bare.cpu, (ours.cpu_ms(), bare.cpu_ms())),
        ("wall", ours.wall, bare.wall, (ours.wall_ms(), bare.wall_ms())),
    ):
        times = ratio(mine, theirs)
        yield Row(
            f"durable single `remember`, {name} against a bare commit",
            f"≤ {SINGLE_RATIO_MAX} ×",
            f"{times:.2f} ×",
            f"{least[0]:.3f} ms against {least[1]:.3f} ms p50",
            times <= SINGLE_RATIO_MAX,
            {"ratio": times, "ms": least[0], "bare_ms": least[1]},
        )


def _sync_row() -> Row:
    per_write: list[int] = []
    with counted_memory() as (memory, counted, _):
        work = adding(memory)
        next(work)()
        for _ in range(COUNTED):
            before = counted["syncs"]
            next(work)()
            per_write.append(counted["syncs"] - before)
    mean = sum(per_write) / len(per_write)
    return Row(
        "durable single `remember`, syncs",
        "1",
        f"{median(per_write):.0f} p50, {mean:.2f} mean",
        "a bare commit syncs once",
        median(per_write) == 1 and mean < 1.1,
        {"p50": median(per_write), "mean": mean},
    )


def batch(shop: Workshop) -> list[Row]:
    """A thousand memories in one transaction."""
    table = BareTable(shop.path("batch-bare.db"))
    with opened(shop.path("batch.db")) as memory:
        ours = _batches(lambda texts, vectors: memory.remember_many(drafts(texts, vectors)))
        works = {"ours": ours, "bare": _batches(table.add_many)}
        side_by_side(works, 1, 1)
        spent = side_by_side(works, shop.rounds(16), 1)
        rate = BATCH / (spent["ours"].cpu_ms() / 1e3)
        why = "" if rate >= BATCH_PER_S_MIN else profiled(ours, 5)
    table.close()
    quietest = BATCH / (spent["ours"].quietest_ms() / 1e3)
    bare_rate = BATCH / (spent["bare"].cpu_ms() / 1e3)
    return [
        Row(
            f"batch `remember` of {BATCH:,}, per second of CPU",
            f"≥ {BATCH_PER_S_MIN:,} /s",
            f"{rate:,.0f} /s, {quietest:,.0f} in the quietest round",
            f"bare `executemany` of the same bytes {bare_rate:,.0f} /s "
            f"({ratio(spent['ours'].cpu, spent['bare'].cpu):.1f} ×)",
            rate >= BATCH_PER_S_MIN,
            {"per_s": rate, "quietest_per_s": quietest, "bare_per_s": bare_rate},
            why,
        )
    ]


def _batches(add: Callable[..., object]) -> Iterator[Work]:
    for texts, vectors in Material(3).batches(10**9, BATCH):
        yield partial(add, texts, vectors)


def file_bytes(path: Path) -> int:
    """What a closed file takes on disk."""
    return sum(
        file.stat().st_size for file in (path, path.with_name(path.name + "-wal")) if file.exists()
    )
