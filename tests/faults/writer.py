"""Writers that are killed: `python -m tests.faults.writer FOLDER KILLS SEED`, prints JSON.

Each writer is a fork of this process, so that starting one costs a millisecond. It writes to a
file and says through a pipe what was acknowledged; after a random number of words, and a random
moment more, it gets SIGKILL. Then the file is opened again and compared with what was said.
"""

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import recollect
from recollect.storage.sqlite import store
from tests.faults.invariants import broken, states
from tests.faults.workload import Ledger, Message, Workload

#: Kills that one file has to stand before a new one is begun.
KILLS_PER_FILE = 10
WORDS_MAX = 40
LINGER_US = 3000


def write_until_killed(path: Path, seed: int, pipe: int) -> None:
    """Open the file and write to it for ever."""

    def say(message: Message) -> None:
        os.write(pipe, json.dumps(message).encode() + b"\n")

    known = states(path) if path.exists() else {}
    memory = recollect.open(str(path))
    work = Workload(memory, seed, say, known=known)
    while True:
        work.step()


def kill_one(path: Path, seed: int, ledger: Ledger) -> int:
    """Start a writer, kill it at a random moment, hear what it said; how many words."""
    rng = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_until_killed(path, seed, writing)
        os._exit(1)
    os.close(writing)
    words, heard = rng.randrange(WORDS_MAX), b""
    while heard.count(b"\n") < words:
        got = os.read(reading, 65536)
        if not got:
            break
        heard += got
    until = time.perf_counter_ns() + rng.randrange(LINGER_US) * 1000
    while time.perf_counter_ns() < until:
        if select.select([reading], [], [], 0)[0]:
            heard += os.read(reading, 65536)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"writer {seed} ended by itself: {status}")
    while got := os.read(reading, 65536):
        heard += got
    os.close(reading)
    # A last line without its end was never wholly said.
    lines = heard.split(b"\n")[:-1]
    for line in lines:
        ledger.hear(json.loads(line))
    return len(lines)


def main(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill that many writers; what was lost and what was broken."""
    store.SEAL_AT = 24  # so that the index is sealed often
    # Whatever is loaded lazily is loaded now, once, and not by every writer.
    with recollect.open(str(folder / "warm.db")) as memory:
        memory.remember("warm", vector=[1.0])
        memory.recall("warm")
    told: dict[str, Any] = {"kills": 0, "words": 0, "acknowledged": 0, "lost": [], "broken": []}
    ledger, path = Ledger(), folder / "memory.db"
    for number in range(kills):
        if number % KILLS_PER_FILE == 0:
            told["acknowledged"] += ledger.acknowledged
            ledger, path = Ledger(), folder / f"memory-{number}.db"
        told["words"] += kill_one(path, seed * 100_000 + number, ledger)
        told["kills"] += 1
        if path.exists():
            told["broken"] += broken(path)
        told["lost"] += ledger.lost(states(path) if path.exists() else {})
        ledger.settle()
    told["acknowledged"] += ledger.acknowledged
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
