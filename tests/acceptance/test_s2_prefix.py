"""S2 and 0.10: over a long conversation most of each prompt is what the one before was."""

from itertools import takewhile

import pytest

from recollect import Memory
from recollect.domain.context import Context
from recollect.testing import FrozenClock, ScriptedChat, open_memory

TURNS = 200
TOPICS = ("tea", "Lisbon", "peanuts", "the garden", "cooking", "trains", "chess", "the sea")


def reused(before: str, now: str) -> int:
    """How many characters of a prompt a provider's cache has seen before, from its beginning."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
    )


def shared(before: Context | None, now: Context) -> tuple[int, int]:
    texts = [
        "".join(f"\x00{piece.role}\x00{piece.text}" for piece in one.messages) if one else ""
        for one in (before, now)
    ]
    return reused(*texts), len(texts[1])


def converse(ana: Memory, clock: FrozenClock, *, delta: bool, tokens_max: int) -> float:
    """A conversation of so many turns; the share of all prompts that could come from a cache."""
    known, sent = 0, 0
    last: Context | None = None
    with ana.session("s1") as chat:
        for turn in range(TURNS):
            clock.advance(minutes=1)
            topic = TOPICS[turn * 7 % len(TOPICS)]
            chat.add("user", f"Question {turn}: what do you remember about {topic}, and why?")
            made = chat.context(
                system="You are a friend who remembers.",
                tokens_max=tokens_max,
                after=last if delta else None,
            )
            assert made.tokens <= tokens_max
            known, sent = known + shared(last, made)[0], sent + shared(last, made)[1]
            last = made
            chat.add("assistant", f"Answer {turn}: I remember that you like {topic} a great deal.")
    return known / sent


@pytest.mark.slow
@pytest.mark.acceptance("0.10", "2.4")
@pytest.mark.parametrize("delta", [True, False])
def test_over_200_turns_nine_tenths_of_the_prompts_are_reusable(delta: bool) -> None:
    clock = FrozenClock()
    model = ScriptedChat(then=lambda ask: "They talked about tea, Lisbon and chess. " * 8)
    ana = open_memory(clock=clock, memory_model=model).scope(user="ana")
    ana.profile("personal_info").merge({"name": "Ana", "city": "Lisbon"})
    for at in range(200):
        ana.remember(f"Note {at}: Ana once said something about {TOPICS[at % len(TOPICS)]}.")
    share = converse(ana, clock, delta=delta, tokens_max=10_000)
    print(f"{share:.1%} of the bytes of {TURNS} prompts, {len(model.asked)} calls of the model")
    assert share >= 0.90
    assert len(model.asked) <= TURNS * 2 / 20
