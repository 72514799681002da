"""What it costs to install, to import and to begin."""

import importlib.metadata
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import recollect
from bench.measuring import Row, dearest
from bench.workshop import Workshop

IMPORT_MS_MAX = 100
MODULES_MAX = 150
DEPENDENCIES_MAX = 5
INSTALLED_MB_MAX = 90
FIRST_S_MAX = 0.3
REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
#: What is imported: our front door, all that stands behind it, and the dependencies alone.
IMPORTED = {
    "recollect": "recollect",
    "everything": "recollect.client.memory,recollect.wiring",
    "dependencies": "apsw,numpy",
}
IMPORTING = """import sys, time
old, start = len(sys.modules), time.process_time()
import {}
print((time.process_time() - start) * 1e3, len(sys.modules) - old)"""
CHILD = [sys.executable, "-m", "bench.child"]
ROOT = Path(__file__).parent.parent


def child(*arguments: object) -> dict[str, Any]:
    """What a process of its own measured, and how long it took to get there."""
    start = time.time()
    command = [*CHILD, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    if "end" in answer:
        answer["wall_s"] = answer["end"] - start
    return answer


def import_cost(modules: str) -> tuple[float, int]:
    """CPU milliseconds and modules of an import in a fresh interpreter."""
    command = [sys.executable, "-c", IMPORTING.format(modules)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(told[0]), int(told[1])


def importing(shop: Workshop) -> list[Row]:
    """`import recollect`, and everything that a file is opened with."""
    rounds = [
        {name: import_cost(modules) for name, modules in IMPORTED.items()}
        for _ in range(shop.rounds(20))
    ]
    ms = {name: median(turn[name][0] for turn in rounds) for name in IMPORTED}
    modules = {name: rounds[0][name][1] for name in IMPORTED}
    reference = f"`import apsw, numpy` {ms['dependencies']:.0f} ms, {modules['dependencies']}"
    target = f"≤ {IMPORT_MS_MAX} ms, ≤ {MODULES_MAX} modules"
    kinds = {
        "recollect": "`import recollect`, CPU and modules",
        "everything": "the same with all that opening a file loads",
    }
    return [
        Row(
            what,
            target if name == "recollect" else "",
            f"{ms[name]:.0f} ms, {modules[name]}",
            reference,
            ms[name] <= IMPORT_MS_MAX and modules[name] <= MODULES_MAX
            if name == "recollect"
            else None,
            {"cpu_ms": ms[name], "modules": modules[name]},
        )
        for name, what in kinds.items()
    ]


def installed(_: Workshop) -> list[Row]:
    """How much comes along with the core."""
    found = dependencies("recollect")
    sizes = {name: distribution_bytes(name) / 1e6 for name in found}
    sizes["recollect"] = folder_bytes(Path(recollect.__file__).parent) / 1e6
    total = sum(sizes.values())
    listed = ", ".join(f"{name} {size:.1f}" for name, size in sorted(sizes.items()))
    return [
        Row(
            "installed size, and distributions besides our own",
            f"≤ {INSTALLED_MB_MAX} MB, ≤ {DEPENDENCIES_MAX}",
            f"{total:.0f} MB, {len(found)}",
            listed,
            total <= INSTALLED_MB_MAX and len(found) <= DEPENDENCIES_MAX,
            {"mb": sizes, "distributions": len(found)},
        )
    ]


def dependencies(name: str) -> set[str]:
    """What a distribution needs without extras, and what that needs."""
    found: set[str] = set()
    for line in importlib.metadata.requires(name) or []:
        said, _, condition = line.partition(";")
        wanted = REQUIREMENT.match(said)
        if wanted and "extra" not in condition and "platform" not in condition:
            found |= {wanted[0], *dependencies(wanted[0])}
    return found


def distribution_bytes(name: str) -> int:
    """What a distribution's files take."""
    files = importlib.metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files]
    return sum(path.stat().st_size for path in paths if path.exists())


def folder_bytes(folder: Path) -> int:
    """What the files of a folder take, compiled ones left out."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc")


def beginning(shop: Workshop) -> list[Row]:
    """A process that opens a new file and remembers its first memory."""
    rounds = [
        (child("first", shop.path("first.db")), child("first_bare", shop.path("first-bare.db")))
        for _ in range(shop.rounds(16))
    ]
    cpu, wall = (median(ours[name] for ours, _ in rounds) for name in ("cpu_s", "wall_s"))
    bare_cpu = median(bare["cpu_s"] for _, bare in rounds)
    bare_wall = median(bare["wall_s"] for _, bare in rounds)
    return [
        Row(
            "cold process: start, open a new file, first `remember`, CPU",
            f"≤ {FIRST_S_MAX} s",
            f"{cpu:.2f} s ({wall:.2f} s wall)",
            f"Python with apsw, numpy and a bare commit {bare_cpu:.2f} s ({bare_wall:.2f} s wall)",
            cpu <= FIRST_S_MAX,
            {"cpu_s": cpu, "wall_s": wall, "bare_cpu_s": bare_cpu, "bare_wall_s": bare_wall},
            "" if cpu <= FIRST_S_MAX else _first_profiled(shop),
        )
    ]


def _first_profiled(shop: Workshop) -> str:
    kept = shop.path("first.profile")
    command = [sys.executable, "-m", "cProfile", "-o", str(kept), "-m", *CHILD[2:]]
    command += ["first", str(shop.path("first.db"))]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return dearest(str(kept))
