"""What it costs to recall, how that grows with the file, and what the index misses."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

import recollect
from bench.material import USERS, Material, Question, Vectors, drafts
from bench.measuring import Row, Spent, Work, profiled, ratio, side_by_side
from bench.workshop import Filled, Workshop, opened

#: CPU of a recall in a file of so many memories, in milliseconds.
TARGETS_MS = {1_000: 0.7, 10_000: 1.5, 100_000: 10.0}
BLOCK = USERS
QUESTIONS = 200
#: A scope alone and in a crowd: its memories, how many of them lie together, the others' batches.
SCOPE = 1_000
STREWN = 100
BATCH = 1_000
CROWDED_MAX = 2.0
NEAREST = 10
FOUND_MIN = 0.99
SAMPLE = 100
TINY = 10
#: A hundredth and a thousandth of the file, and a scope with no more memories than are asked for.
SCOPES = (1_000, 100, TINY)
#: A question that no memory shares a word with.
NO_WORD = "qqqq"


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
        f"{ours.cpu_ms():.2f} ms p50, {ours.cpu_ms(0.95):.2f} p95, "
        f"{ours.quietest_ms():.2f} in the quietest round",
        f"exact numpy {spent['exact'].cpu_ms():.3f} ms, "
        f"FTS5 {spent['words'].cpu_ms():.2f} ms, both in turn "
        f"{spent['both'].cpu_ms():.2f} ms ({ratio(ours.cpu, spent['both'].cpu):.1f} ×)",
        met,
        {
            name: {"p50_ms": s.cpu_ms(), "p95_ms": s.cpu_ms(0.95), "quietest_ms": s.quietest_ms()}
            for name, s in spent.items()
        },
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


def isolation(shop: Workshop) -> list[Row]:
    """The same scope alone in a small file, and in a large one among many others."""
    large = 1_000_000 if shop.full else 20_000 if shop.quick else 200_000
    alone = _crowded(shop, 0)
    crowded = _crowded(shop, large - SCOPE)
    questions = Material(5).questions(QUESTIONS, users=1)
    with opened(alone) as small, opened(crowded) as big:
        works = {
            "alone": _calls(_asking(small), questions),
            "crowded": _calls(_asking(big), questions),
        }
        side_by_side(works, 1, BLOCK)
        spent = side_by_side(works, shop.rounds(20), BLOCK)
        times = ratio(spent["crowded"].cpu, spent["alone"].cpu)
        why = profiled(works["crowded"], 100) if times > CROWDED_MAX else ""
    return [
        Row(
            f"`recall` in {SCOPE:,} of {large:,} memories, CPU against the same scope alone",
            f"≤ {CROWDED_MAX} ×",
            f"{times:.2f} ×",
            f"{spent['crowded'].cpu_ms():.2f} ms against {spent['alone'].cpu_ms():.2f} ms p50",
            times <= CROWDED_MAX,
            {"ratio": times, **{name: s.cpu_ms() for name, s in spent.items()}},
            why,
        )
    ]


def _crowded(shop: Workshop, others: int) -> Path:
    """One user's memories with vectors, strewn among those of other users without."""
    path = shop.path(f"crowded-{others}.db")
    mine, theirs = Material(6), Material(7)
    with opened(path) as memory:
        for part in range(SCOPE // STREWN):
            texts, vectors = mine.texts(STREWN), mine.vectors(STREWN)
            memory.scope(user="u0").remember_many(drafts(texts, vectors))
            for batch in range(others * STREWN // SCOPE // BATCH):
                handle = memory.scope(user=f"other{part}-{batch}")
                handle.remember_many(theirs.texts(BATCH))
    return path


def exactness(shop: Workshop) -> list[Row]:
    """How many of the true nearest are found, in scopes of growing size in one file."""
    size = shop.sizes[-1]
    filled = shop.filled(size, users=1)
    scopes = [("u0", filled.vectors_of[0], filled.ids_of[0])]
    with opened(filled.path) as memory:
        scopes += [_further_user(memory, f"n{part}", part) for part in SCOPES]
        return [_exactness_row(memory, size, *scope) for scope in reversed(scopes)]


def _further_user(
    memory: recollect.Memory, user: str, count: int
) -> tuple[str, Vectors, list[str]]:
    material = Material(count)
    vectors = material.vectors(count)
    made = drafts(material.texts(count), vectors)
    stored = memory.scope(user=user).remember_many(made).stored
    return user, vectors, [one.id for one in stored]


def _exactness_row(
    memory: recollect.Memory, size: int, user: str, vectors: Vectors, ids: list[str]
) -> Row:
    handle, found = memory.scope(user=user), list[float]()
    asked = Material(8).vectors(SAMPLE)
    for vector in asked:
        similar = vectors @ vector
        tenth = np.partition(similar, -NEAREST)[-NEAREST] - 1e-6
        nearest = {ids[at] for at in np.flatnonzero(similar >= tenth)}
        hits = handle.recall(NO_WORD, vector=vector, limit=NEAREST).hits
        found.append(sum(hit.memory.id in nearest for hit in hits) / NEAREST)
    share = sum(found) / len(found)
    return Row(
        f"recall@{NEAREST} of the vector search in {len(ids):,} of {size:,} memories",
        "" if len(ids) == TINY else f"≥ {FOUND_MIN}",
        f"{share:.4f}",
        f"exact float32, {SAMPLE} questions; worst {min(found):.1f}",
        None if len(ids) == TINY else share >= FOUND_MIN,
        {"recall": share, "worst": min(found)},
    )
