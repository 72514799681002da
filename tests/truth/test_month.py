"""A month of contradicting facts: the current answer comes first, and the former is marked."""

import random

import pytest

from recollect import Memory
from recollect.testing import FrozenClock, open_memory

#: A question, how an answer is said at first, how a new one is said, and what may be answered.
ASKED = [
    ("Where do I live?", ["I live in {}.", "I'm based in {}."],
     ["I moved to {} last week.", "Actually, I live in {} now.", "I have relocated to {}."],
     ["Lisbon", "Porto", "Oslo", "Bern", "Rome", "Madrid", "Ghent", "Turin"]),
    ("Who do I work for?", ["I work at {}.", "I'm employed by {}."],
     ["I just joined {}.", "I started working at {}.", "As of today, I work for {}."],
     ["Acme", "Initech", "Globex", "Umbrella", "Hooli", "Stark Industries"]),
    ("What is my favourite tea?", ["My favourite tea is {}.", "{} is my favourite tea."],
     ["My favorite tea is now {}.", "{} has become my new favourite tea.",
      "Update: my favourite tea is {}."],
     ["Sencha", "Oolong", "Assam", "Darjeeling", "Rooibos", "Earl Grey"]),
    ("Who is my boss?", ["My boss is {}."], ["My new boss is {}.", "My boss is now {}."],
     ["Maria", "Peter Lund", "Yuki", "Ahmed", "Carla"]),
    ("What is my phone number?", ["My phone number is {}."],
     ["My new phone number is {}.", "Correction: my phone number is {}."],
     ["555-0134", "555-0199", "555-0111", "555-0177"]),
    ("What is my job title?", ["I work as a {}.", "My job title is {}."],
     ["I was promoted to {}.", "I became a {}.", "My new job title is {}."],
     ["tester", "team lead", "designer", "product manager", "nurse"]),
    ("When is the launch?", ["The launch is scheduled for {}."],
     ["The launch has been moved to {}.", "The launch was postponed to {}."],
     ["May 4", "June 1", "Friday", "July 20"]),
    ("What is my dog called?", ["My dog is called {}.", "My dog's name is {}."],
     ["My dog's name is now {}.", "My dog is now called {}.", "Now my dog is called {}."],
     ["Rex", "Luna", "Bello", "Max"]),
]  # fmt: skip
NOISE = (
    "The train to {} was late again.", "We talked about {} over lunch.", "Bob asked about {}.",
    "There is a new exhibition about {}.", "I read an article on {} today.",
)  # fmt: skip
CASES = 200


def told_over_a_month(memory: Memory, clock: FrozenClock, seed: int) -> tuple[bool, bool]:
    """One case: answers that change over thirty days, among other talk.

    Whether the former answers are marked, and whether the current one is recalled first.
    """
    chance = random.Random(seed)
    question, first, then, values = ASKED[seed % len(ASKED)]
    answers = chance.sample(values, chance.randint(2, min(4, len(values))))
    days = sorted(chance.sample(range(1, 30), len(answers)))
    stored: list[str] = []
    for day in range(30):
        clock.advance(days=1)
        if day in days:
            forms = then if stored else first
            stored.append(memory.remember(chance.choice(forms).format(answers[len(stored)])).id)
        if day % 5 == 0:
            memory.remember(chance.choice(NOISE).format(chance.choice(values)), force=True)
    former = [memory.get(id) for id in stored[:-1]]
    marked = all(one.status == "superseded" and one.superseded_by in stored for one in former)
    top = memory.recall(question).top
    return marked, top is not None and top.id == stored[-1]


@pytest.mark.slow
def test_the_current_answer_comes_first_and_the_former_are_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[tuple[bool, bool]] = []
    clock = FrozenClock("2026-01-01")
    with open_memory(clock=clock, embedder="local") as memory:
        for seed in range(CASES):
            clock.set("2026-01-01")
            told.append(told_over_a_month(memory.scope(user=f"u{seed}"), clock, seed))
    marked = sum(mark for mark, _ in told) / CASES
    right = sum(mark and first for mark, first in told) / CASES
    with capsys.disabled():
        print(
            f"\ncontradicting facts: former answers marked in {marked:.1%} of {CASES} months, "
            f"and the current one first in {right:.1%}"
        )
    wrong = [(seed, ASKED[seed % len(ASKED)][0]) for seed in range(CASES) if not all(told[seed])]
    assert right >= 0.95, wrong[:10]
