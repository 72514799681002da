"""What it costs to recall, how that grows with the file, and what the index misses."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import recollect
from bench.material import USERS, Material, Question
from bench.measuring import Row, Spent, Work, profiled, ratio, side_by_side
from bench.workshop import Filled, Workshop, opened

#: CPU of a recall in a file of so many memories, in milliseconds.
TARGETS_MS = {1_000: 0.7, 10_000: 1.5, 100_000: 10.0}
BLOCK = USERS
QUESTIONS = 200


def recall(shop: Workshop) -> list[Row]:
    """Recall in one user's memories, in files of growing size."""
    return [_recall_row(shop, size) for size in shop.sizes]


def _recall_row(shop: Workshop, size: int) -> Row:
    filled, questions = shop.filled(size), Material(4).questions(QUESTIONS)
    with opened(filled.path) as memory:
        spent = asked_side_by_side(memory, filled, questions, shop.rounds(20))
        met = spent["ours"].cpu_ms() <= TARGETS_MS[size]
        why = "" if met else profiled(_calls(_asking(memory), questions), 100)
    ours = spent["ours"]
    return Row(
        f"`recall` in {size // USERS:,} of {size:,} memories, hybrid, with `why`, CPU",
        f"≤ {TARGETS_MS[size]} ms",
        f"{ours.cpu_ms():.2f} ms p50, {ours.cpu_ms(0.95):.2f} p95",
        f"exact numpy {spent['exact'].cpu_ms():.3f} ms, "
        f"FTS5 {spent['words'].cpu_ms():.2f} ms, both in turn "
        f"{spent['both'].cpu_ms():.2f} ms ({ratio(ours.cpu, spent['both'].cpu):.1f} ×)",
        met,
        {name: {"p50_ms": s.cpu_ms(), "p95_ms": s.cpu_ms(0.95)} for name, s in spent.items()},
        why,
    )


def asked_side_by_side(
    memory: recollect.Memory, filled: Filled, questions: list[Question], rounds: int
) -> dict[str, Spent]:
    """The same questions to us, to numpy, to FTS5 and to both of these."""
    exact, words = filled.exact, filled.words
    assert words is not None
    asking = _asking(memory)
    for question in questions[:USERS]:
        asking(question)
    works: dict[str, Iterator[Work]] = {
        "ours": _calls(asking, questions),
        "exact": _calls(exact.nearest, questions),
        "words": _calls(words.best, questions),
        "both": _calls(lambda q: (exact.nearest(q), words.best(q)), questions),
    }
    return side_by_side(works, rounds, BLOCK)


def _asking(memory: recollect.Memory) -> Callable[[Question], object]:
    handles = [memory.scope(user=f"u{user}") for user in range(USERS)]

    def ask(question: Question) -> object:
        return handles[question.user].recall(question.text, vector=question.vector)  # type: ignore[arg-type]

    return ask


def _calls(ask: Callable[[Question], object], questions: list[Question]) -> Iterator[Work]:
    for question in cycle(questions):
        yield partial(ask, question)
