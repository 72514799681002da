"""What is measured in a process of its own: `python -m bench.child NAME ARGUMENT...`.

Prints one JSON object. Nothing is imported before it is needed, since imports are measured too.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUESTION = "which report did we want to read before the meeting next week?"
DIMENSIONS = 384


def first(path: str) -> dict[str, Any]:
    """A new file and the first memory in it; CPU since the process began."""
    import recollect

    with recollect.open(path) as memory:
        memory.remember("I moved to Lisbon in March.")
        return {"cpu_s": time.process_time(), "end": time.time()}


def first_bare(path: str) -> dict[str, Any]:
    """The same with plain SQLite."""
    import numpy as np

    from bench.bare import BareTable

    table = BareTable(Path(path))
    table.add("I moved to Lisbon in March.", np.zeros(DIMENSIONS, dtype=np.float32))
    return {"cpu_s": time.process_time(), "end": time.time()}


def cold(path: str, users: str) -> dict[str, Any]:
    """The first recall in a file that this process has not seen, then one for every user."""
    import recollect

    vector = any_vector()
    with recollect.open(path) as memory:
        handles = [memory.scope(user=f"u{user}") for user in range(int(users))]
        clock, start = time.perf_counter(), time.process_time()
        found = handles[0].recall(QUESTION, vector=vector)
        spent, waited = time.process_time() - start, time.perf_counter() - clock
        assert found.hits
        for handle in handles:
            handle.recall(QUESTION, vector=vector)
        return {"cpu_s": spent, "wall_s": waited, "resident_mb": resident_mb()}


def cold_bare(path: str) -> dict[str, Any]:
    """The vectors of a bare table read into a matrix and compared."""
    import numpy as np

    from bench.bare import matrix_of

    vector = any_vector()
    clock, start = time.perf_counter(), time.process_time()
    rows = matrix_of(Path(path), DIMENSIONS)
    np.argpartition(rows @ vector, -10)
    spent, waited = time.process_time() - start, time.perf_counter() - clock
    return {"cpu_s": spent, "wall_s": waited, "resident_mb": resident_mb()}


def any_vector() -> Any:
    """A vector of length 1."""
    import numpy as np

    vector = np.random.default_rng(1).standard_normal(DIMENSIONS).astype(np.float32)
    return vector / np.linalg.norm(vector)


def resident_mb() -> float:
    """The memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def together(path: str, worker: str, rounds: str) -> dict[str, Any]:
    """One of several processes on one file: start, add and search, then look for the others'."""
    import recollect
    from bench.together import Tally, add_and_search, unseen

    with recollect.open(path) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        tally = Tally()
        add_and_search(memory.scope(user="all"), int(worker), int(rounds), tally)
        print(json.dumps({"acknowledged": tally.acknowledged, "errors": tally.errors}), flush=True)
        others = json.loads(sys.stdin.readline())
        return {"unseen": unseen(memory.scope(user="all"), others)}


def together_bare(path: str, worker: str, rounds: str) -> dict[str, Any]:
    """The same with commits to a bare table and reads by key."""
    from bench.bare import BareTable
    from bench.together import add_and_read

    table = BareTable(Path(path))
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps({"acknowledged": add_and_read(table, int(worker), int(rounds))}), flush=True)
    sys.stdin.readline()
    return {}


def fill_alike(path: str, size: str) -> dict[str, Any]:
    """A file with many memories of which some are alike."""
    from bench import consolidating

    return consolidating.fill_alike(path, size)


def consolidate(path: str) -> dict[str, Any]:
    """All of them at once."""
    from bench import consolidating

    return consolidating.consolidate(path)


def recall_beside(path: str) -> dict[str, Any]:
    """Recall while jobs consolidate."""
    from bench import consolidating

    return consolidating.recall_beside(path)


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    part.__name__: part
    for part in (
        first,
        first_bare,
        cold,
        cold_bare,
        together,
        together_bare,
        fill_alike,
        consolidate,
        recall_beside,
    )
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
