"""How fast tokens are counted, anew and again."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.measuring import Row, quiet
from bench.workshop import Workshop
from recollect.models.tokens.counting import TokenCounter

SOURCE = Path(__file__).parent.parent
MILLIONS_MIN = 2.5


def counting(shop: Workshop) -> list[Row]:
    """Our own source, file by file, with an exact tokenizer, by estimate, and kept."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(SOURCE.glob("src/**/*.py"))]
    rounds = shop.rounds(20)
    exact = speed(TokenCounter, texts, rounds)
    estimated = speed(lambda: TokenCounter(packages=False), texts, rounds)
    known = TokenCounter()
    kept = speed(lambda: known, texts, rounds)
    return [
        Row(
            "tokens counted, o200k, of source code not seen before",
            f"≥ {MILLIONS_MIN} M/s",
            f"{exact:.1f} M/s",
            f"estimated {estimated:.1f} M/s; counted before {kept:.0f} M/s",
            exact >= MILLIONS_MIN,
            {"exact": exact, "estimated": estimated, "kept": kept},
        )
    ]


def speed(make: Callable[[], TokenCounter], texts: list[str], rounds: int) -> float:
    """Millions of tokens per second of CPU: the median of several rounds."""
    make().count(texts[0], "gpt-4o")  # the tables are loaded once per process
    found: list[float] = []
    with quiet():
        for _ in range(rounds):
            counter = make()
            start = time.process_time()
            total = sum(counter.count(text, "gpt-4o").count for text in texts)
            found.append(total / (time.process_time() - start) / 1e6)
    return median(found)
