"""What it costs to assemble a context, and how much of the next one a provider knows already."""

from collections.abc import Iterator
from functools import partial
from itertools import cycle, takewhile

import recollect
from bench.material import Material, Question, drafts
from bench.measuring import Row, Work, profiled, side_by_side
from bench.workshop import Workshop
from recollect.domain.context import Context
from recollect.testing import FrozenClock, ScriptedChat

MESSAGES = 10_000
MEMORIES = 10_000
TARGET_MS = 30.0
#: Budgets, whose they are, and the messages since the last summary, which are sent as they are.
BUDGETS = {
    10_000: ("deepseek:deepseek-chat", 100),
    150_000: ("anthropic:claude-sonnet-4-5", 1_000),
}
QUESTIONS = 100
TURNS = 200
REUSED_MIN = 0.9
BATCH = 1_000
SUMMARY = "They talked about many things, and agreed on some of them. " * 8


def assembling(shop: Workshop) -> list[Row]:
    """Contexts of a long conversation beside many memories; and of a conversation as it grows."""
    rows = [_long(shop, budget) for budget in BUDGETS]
    return [*rows, *(_reuse(shop, budget) for budget in BUDGETS)]


def _long(shop: Workshop, budget: int) -> Row:
    material = Material(9)
    model = ScriptedChat(then=lambda _: SUMMARY)
    with recollect.open(str(shop.path("contexts.db")), memory_model=model) as memory:
        ana = memory.scope(user="ana")
        for texts, vectors in material.batches(MEMORIES, BATCH):
            ana.remember_many(drafts(texts, vectors))
        questions = material.questions(QUESTIONS, users=1)
        _, since = BUDGETS[budget]
        _say(ana, material, MESSAGES - since)
        _made(ana, questions[0], budget)
        calls = len(model.asked)
        _say(ana, material, since)
        made = _made(ana, questions[0], budget)
        work = _asking(ana, questions, budget)
        spent = side_by_side({"ours": work}, shop.rounds(8), 20)["ours"]
        assert len(model.asked) == calls, "a model was asked although nothing was new"
        met = spent.cpu_ms() <= TARGET_MS
        why = "" if met else profiled(work, 20)
    return Row(
        f"`context` of {budget:,} tokens: {MESSAGES:,} messages, {MEMORIES:,} memories, CPU",
        f"≤ {TARGET_MS:g} ms",
        f"{spent.cpu_ms():.1f} ms p50, {spent.cpu_ms(0.95):.1f} p95, {made.tokens:,} tokens",
        f"0 calls of a model; {calls} to summarise it once",
        met,
        {"p50_ms": spent.cpu_ms(), "p95_ms": spent.cpu_ms(0.95), "tokens": made.tokens},
        why,
    )


def _say(ana: recollect.Memory, material: Material, count: int) -> None:
    with ana.session("s") as chat:
        for texts, vectors in material.batches(count, BATCH):
            chat.add_many(
                [
                    {**one, "role": "assistant" if at % 2 else "user"}
                    for at, one in enumerate(drafts(texts, vectors))
                ]
            )


def _made(ana: recollect.Memory, question: Question, budget: int) -> Context:
    return ana.context(
        question.text,
        session="s",
        tokens_max=budget,
        vector=question.vector,  # type: ignore[typeddict-item]
        model=BUDGETS[budget][0],
    )


def _asking(ana: recollect.Memory, questions: list[Question], budget: int) -> Iterator[Work]:
    for question in cycle(questions):
        yield partial(_made, ana, question, budget)


def _reuse(shop: Workshop, budget: int) -> Row:
    material, clock = Material(10), FrozenClock()
    model = ScriptedChat(then=lambda _: SUMMARY)
    path = str(shop.path("growing-context.db"))
    known, sent, before = 0, 0, ""
    name, _ = BUDGETS[budget]
    last: Context | None = None
    with recollect.open(path, memory_model=model, clock=clock, embedder="none") as memory:
        ana = memory.scope(user="ana")
        ana.remember_many(material.texts(1_000))
        said = material.texts(2 * TURNS)
        with ana.session("s") as chat:
            for turn in range(TURNS):
                clock.advance(minutes=1)
                chat.add("user", said[2 * turn])
                last = chat.context(system="You remember.", model=name, after=last)
                text = "\0".join(piece.text for piece in last.messages)
                same = takewhile(lambda pair: pair[0] == pair[1], zip(before, text, strict=False))
                known, sent, before = known + sum(1 for _ in same), sent + len(text), text
                chat.add("assistant", said[2 * turn + 1])
    share = known / sent
    return Row(
        f"prompt bytes that a provider's cache can reuse, {TURNS} turns in {budget:,} tokens",
        f"≥ {REUSED_MIN:.0%}",
        f"{share:.1%}",
        f"{len(model.asked)} calls of the memory model",
        share >= REUSED_MIN,
        {"share": share, "calls": len(model.asked)},
    )
