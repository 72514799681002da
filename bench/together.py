"""Eight threads and eight processes that add to one file and search it at once."""

import json
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import recollect
from bench.bare import BareTable
from bench.material import Material
from bench.measuring import Row
from bench.startup import CHILD, ROOT
from bench.workshop import Workshop, opened

WORKERS = 8
ROUNDS = 50


@dataclass(slots=True)
class Tally:
    """What became of one worker's calls: the ids of what was stored, and the errors."""

    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    errors: list[str] = field(default_factory=list[str])


def add_and_search(memory: recollect.Memory, worker: int, rounds: int, tally: Tally) -> None:
    """Add and search in turns, and note every error."""
    material = Material(500 + worker)
    texts, vectors = material.texts(rounds), material.vectors(rounds)
    for at, text in enumerate(texts):
        said = f"{text} worker{worker}note{at}"
        try:
            stored = memory.remember(said, vector=vectors[at])
            tally.acknowledged[stored.id] = said
            found = memory.recall(said, vector=vectors[at])
            if stored.id not in {hit.memory.id for hit in found.hits}:
                tally.errors.append(f"own {stored.id} not found at once")
        except Exception as exc:  # every kind is what we count
            tally.errors.append(repr(exc))


def unseen(memory: recollect.Memory, stored: Mapping[str, str]) -> int:
    """How many stored memories are not read, or not found by their words."""
    read = {record.id for record in memory.get_many(list(stored)[:1000])}
    missing = sum(id not in read for id in stored)
    for id, text in list(stored.items())[::ROUNDS]:
        missing += id not in {hit.memory.id for hit in memory.recall(text).hits}
    return missing


def add_and_read(table: BareTable, worker: int, rounds: int) -> int:
    """Commit to a bare table and read back in turns."""
    material = Material(500 + worker)
    for text, vector in zip(material.texts(rounds), material.vectors(rounds), strict=True):
        table.add(text, vector)
        table.newest()
    return rounds


def threads(shop: Workshop) -> list[Row]:
    """Threads that share one open memory."""
    path, tallies, alone = shop.path("threads.db"), [Tally() for _ in range(WORKERS)], Tally()
    with opened(path) as memory:
        handle = memory.scope(user="all")
        workers = [
            threading.Thread(target=add_and_search, args=(handle, number, ROUNDS, tally))
            for number, tally in enumerate(tallies)
        ]
        start = time.perf_counter()
        add_and_search(handle, WORKERS, ROUNDS, alone)
        took_alone = time.perf_counter() - start
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        took = time.perf_counter() - start
    stored = {id: text for tally in tallies for id, text in tally.acknowledged.items()}
    errors = [error for tally in tallies for error in tally.errors]
    with opened(path) as memory:
        lost = unseen(memory.scope(user="all"), stored)
    reference = f"one thread alone {ROUNDS / took_alone:,.0f} /s"
    return [_row("threads on one open memory", errors, lost, len(stored), took, reference)]


def processes(shop: Workshop) -> list[Row]:
    """Processes that opened the same file."""
    path = shop.path("processes.db")
    with opened(path):
        pass
    told, took = _race("together", path)
    stored = {id: text for told_by in told for id, text in told_by["acknowledged"].items()}
    errors = [error for told_by in told for error in told_by["errors"]]
    unseen_by_any = sum(told_by["unseen"] for told_by in told)
    bare_path = shop.path("processes-bare.db")
    BareTable(bare_path).close()
    _, bare_took = _race("together_bare", bare_path)
    reference = f"bare commits and reads {WORKERS * ROUNDS / bare_took:,.0f} /s"
    return [_row("processes on one file", errors, unseen_by_any, len(stored), took, reference)]


def _race(part: str, path: Path) -> tuple[list[dict[str, Any]], float]:
    """Start all processes at once; tell each what all have stored, and gather what they say."""
    started = [_child(part, path, number) for number in range(WORKERS)]
    for one in started:
        _hear(one)
    start = time.perf_counter()
    for one in started:
        _say(one, "go")
    told = [json.loads(_hear(one)) for one in started]
    took = time.perf_counter() - start
    stored: dict[str, str] = {}
    for answer in told:
        if isinstance(answer["acknowledged"], dict):
            stored.update(answer["acknowledged"])
    for one, answer in zip(started, told, strict=True):
        _say(one, json.dumps(stored))
        answer.update(json.loads(_hear(one)))
        one.communicate()
    return told, took


def _child(part: str, path: Path, number: int) -> subprocess.Popen[str]:
    command = [*CHILD, part, str(path), str(number), str(ROUNDS)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def _say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def _hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _row(who: str, errors: list[str], lost: int, stored: int, took: float, reference: str) -> Row:
    complete = stored == WORKERS * ROUNDS
    return Row(
        f"{WORKERS} {who}, each adding and searching {ROUNDS} times",
        "0 errors, 0 lost or unseen",
        f"{len(errors)} errors, {lost} lost or unseen, {stored / took:,.0f} adds and searches /s",
        reference,
        complete and not errors and not lost,
        {"errors": len(errors), "lost": lost, "stored": stored, "per_s": stored / took},
        "\n".join(sorted(set(errors))[:5]),
    )
