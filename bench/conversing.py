"""What it costs to recall from conversations, where every message counts with those around it."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import recollect
from bench.material import TEXT_WORDS, Material, Question
from bench.measuring import Row, Work, profiled, side_by_side
from bench.workshop import Workshop
from recollect.models.embedding.minilm import MiniLM

TURNS = 600
SESSION = 100
#: Words of a message in a chat, and in a talk with an assistant that answers at length.
CHAT, LONG = 20, 250
#: Milliseconds: with the question's embedding by the local model, and of all the rest.
WHOLE_MS, REST_MS = 15.0, {CHAT: 3.0, LONG: 8.0}
MANY, MANY_MS = 100_000, 150.0
QUESTIONS = 100
BLOCK = 20


def conversations(shop: Workshop) -> list[Row]:
    """Recall in a conversation, with and without embedding the question; and in a huge one."""
    rows = [row for words in REST_MS for row in _conversation_rows(shop, words)]
    return rows if shop.quick else [*rows, _huge_row(shop)]


def _conversation_rows(shop: Workshop, words: int) -> Iterator[Row]:
    path = shop.path(f"conversation-{words}.db")
    material = Material(9)
    questions = material.questions(QUESTIONS, users=1)
    with recollect.open(str(path), embedder="local") as memory:
        _fill(memory, material, TURNS, words, vectors=False)
        texts = [question.text for question in questions]
        known = dict(zip(texts, asyncio.run(MiniLM().embed(texts, "question")), strict=True))
        works = {
            "whole": _calls(lambda q: memory.recall(q.text), questions),
            "rest": _calls(lambda q: memory.recall(q.text, vector=known[q.text]), questions),  # type: ignore[arg-type]
        }
        side_by_side(works, 1, BLOCK)
        spent = side_by_side(works, shop.rounds(20), BLOCK)
        for name, target, told in (
            ("whole", WHOLE_MS, "with the local model"),
            ("rest", REST_MS[words], "without embedding the question"),
        ):
            found = spent[name]
            met = found.cpu_ms() <= target
            yield Row(
                f"`recall` in a conversation of {TURNS} messages of {words} words, {told}, CPU",
                f"≤ {target} ms",
                f"{found.cpu_ms():.2f} ms p50, {found.cpu_ms(0.95):.2f} p95",
                "",
                met,
                {"p50_ms": found.cpu_ms(), "p95_ms": found.cpu_ms(0.95)},
                "" if met else profiled(works[name], 100),
            )


def _huge_row(shop: Workshop) -> Row:
    path = shop.path("conversation-huge.db")
    material = Material(10)
    questions = material.questions(QUESTIONS, users=1)
    with recollect.open(str(path), embedder="none", durability="relaxed") as memory:
        _fill(memory, material, MANY, CHAT, vectors=True)
        works = {"ours": _calls(lambda q: memory.recall(q.text, vector=q.vector), questions)}  # type: ignore[arg-type]
        side_by_side(works, 1, BLOCK)
        found = side_by_side(works, shop.rounds(5), BLOCK)["ours"]
        met = found.cpu_ms() <= MANY_MS
        why = "" if met else profiled(works["ours"], BLOCK)
    return Row(
        f"`recall` in one scope of {MANY:,} messages, question's vector given, CPU",
        f"≤ {MANY_MS} ms",
        f"{found.cpu_ms():.2f} ms p50, {found.cpu_ms(0.95):.2f} p95",
        "",
        met,
        {"p50_ms": found.cpu_ms(), "p95_ms": found.cpu_ms(0.95)},
        why,
    )


def _fill(
    memory: recollect.Memory, material: Material, turns: int, words: int, *, vectors: bool
) -> None:
    """Sessions of a user and an assistant in turn, each message of so many words."""
    joined = max(words // TEXT_WORDS, 1)
    for start in range(0, turns, SESSION):
        texts = material.texts(SESSION * joined)
        messages = [
            {
                "role": ("user", "assistant")[at % 2],
                "text": " ".join(texts[at * joined : (at + 1) * joined]),
            }
            for at in range(SESSION)
        ]
        if vectors:
            made = material.vectors(SESSION)
            messages = [
                {**message, "vector": vector}
                for message, vector in zip(messages, made, strict=True)
            ]
        memory.session(f"s{start}").add_many(messages)


def _calls(ask: Callable[[Question], object], questions: list[Question]) -> Iterator[Work]:
    for question in cycle(questions):
        yield partial(ask, question)
