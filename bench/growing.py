"""What grows with the number of memories: the next one, the first recall, memory and disk."""

from collections.abc import Iterator
from statistics import median

from bench.bare import BareTable
from bench.material import USERS, Material
from bench.measuring import Row, profiled, ratio
from bench.startup import child
from bench.workshop import Workshop, opened
from bench.writing import SINGLE_CPU_MS_MAX, adding, file_bytes, one_by_one

RESIDENT_MB_MAX = 250


def remembering(shop: Workshop) -> list[Row]:
    """One more memory in files of growing size. Changes the files: to be measured last."""
    return [_remembering_row(shop, size) for size in shop.sizes]


def _remembering_row(shop: Workshop, size: int) -> Row:
    table = BareTable(shop.path("growing-bare.db"))
    with opened(shop.filled(size).path) as memory:
        spent = one_by_one(memory, table, shop.rounds(12))
        met = spent["ours"].cpu_ms() <= SINGLE_CPU_MS_MAX
        why = "" if met else profiled(adding(memory), 300)
    table.close()
    ours, bare = spent["ours"], spent["bare"]
    return Row(
        f"durable single `remember` in a file of {size:,}, CPU",
        f"≤ {SINGLE_CPU_MS_MAX} ms",
        f"{ours.cpu_ms():.3f} ms p50, {ours.cpu_ms(0.95):.3f} p95, "
        f"{ours.quietest_ms():.3f} in the quietest round",
        f"bare commit {bare.cpu_ms():.3f} ms ({ratio(ours.cpu, bare.cpu):.1f} ×; "
        f"wall {ratio(ours.wall, bare.wall):.1f} ×)",
        met,
        {"cpu_p50_ms": ours.cpu_ms(), "bare_cpu_p50_ms": bare.cpu_ms()},
        why,
    )


def first_recall(shop: Workshop) -> list[Row]:
    """A fresh process, a file with one large scope, the first recall; memory and disk."""
    size = shop.sizes[-1]
    one, many = shop.filled(size, users=1), shop.filled(size)
    table_path = shop.path("table.db")
    table = BareTable(table_path)
    for texts, vectors in Material(100).batches(size):
        table.add_many(texts, vectors)
    table.close()
    rounds = [
        {
            "one": child("cold", one.path, 1),
            "many": child("cold", many.path, USERS),
            "bare": child("cold_bare", table_path),
        }
        for _ in range(3)
    ]
    seen = {
        (who, name): median(turn[who][name] for turn in rounds)
        for who in ("one", "many", "bare")
        for name in ("cpu_s", "wall_s", "resident_mb")
    }
    ours, bare = file_bytes(one.path) / size, file_bytes(table_path) / size
    return [_cold_row(seen, size), *_resident_rows(seen, size), _disk_row(ours, bare)]


def _cold_row(seen: dict[tuple[str, str], float], size: int) -> Row:
    cpu, wall = seen["one", "cpu_s"], seen["one", "wall_s"]
    return Row(
        f"first `recall` of a process in one scope of {size:,} memories, CPU",
        "",
        f"{cpu:.2f} s ({wall:.2f} s wall)",
        f"vectors of a bare table read and compared {seen['bare', 'cpu_s']:.2f} s "
        f"({cpu / seen['bare', 'cpu_s']:.1f} ×)",
        None,
        {"cpu_s": cpu, "wall_s": wall, "bare_cpu_s": seen["bare", "cpu_s"]},
    )


def _resident_rows(seen: dict[tuple[str, str], float], size: int) -> Iterator[Row]:
    kinds = {"many": f"of {USERS} users, all of them searched", "one": "of one user, searched"}
    for who, what in kinds.items():
        held = seen[who, "resident_mb"]
        yield Row(
            f"resident memory with {size:,} memories {what}",
            f"≤ {RESIDENT_MB_MAX} MB",
            f"{held:.0f} MB",
            f"the vectors of a bare table as a float32 matrix {seen['bare', 'resident_mb']:.0f} MB",
            held <= RESIDENT_MB_MAX,
            {"mb": held, "bare_mb": seen["bare", "resident_mb"]},
        )


def _disk_row(ours: float, bare: float) -> Row:
    return Row(
        "disk per memory with its index, vector and events",
        "",
        f"{ours:,.0f} bytes",
        f"bare table of text, metadata and vector {bare:,.0f} bytes ({ours / bare:.2f} ×)",
        None,
        {"bytes": ours, "bare_bytes": bare},
    )
