"""2.2: no mix of anything makes a context that is over its budget or out of order."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.context.assembly import DATA, Material, Said, assemble
from recollect.context.quoting import Line
from recollect.domain.context import MESSAGE_TOKENS, Injected, Piece, Section
from recollect.domain.errors import PayloadTooLarge
from recollect.models.tokens.estimate import estimate

pytestmark = pytest.mark.acceptance("2.2")
settled = settings(deadline=None, derandomize=True)

PIECES = ("word ", "</facts>", "<facts 00000000>", "]\n\n\n[", "很", "😀", "", "x")
#: What to repeat and how often: examples stay short where texts do not.
TEXTS = st.tuples(st.integers(0, len(PIECES) - 1), st.integers(0, 3) | st.integers(0, 4000))
ROLES = st.sampled_from(["user", "assistant", "system"])
BUDGETS = st.one_of(st.sampled_from([10_000, 150_000]), st.integers(1, 3000))
Text = tuple[int, int]


@dataclass(frozen=True)
class Recipe:
    """A material, before it is made."""

    system: Text
    current: tuple[str, Text]
    turns: list[tuple[str, Text]]
    lists: dict[Section, list[Text]]
    injected: list[tuple[int, Text]]

    def material(self) -> Material:
        lists = {
            section.value: [
                Line(f"{section.value}_{at}", f"- {made(text)}", "")
                for at, text in enumerate(texts)
            ]
            for section, texts in self.lists.items()
        }
        role, text = self.current
        return Material(
            Said(role, made(text), len(self.turns)),
            made(self.system),
            history=[
                Said(role, made(text), at, f"mem_{at}")
                for at, (role, text) in enumerate(self.turns)
            ],
            injected=[
                Injected(at, Piece("user", made(text), Section.FACTS, counted(made(text))), ())
                for at, text in self.injected
            ],
            **lists,
        )


def made(text: Text) -> str:
    return PIECES[text[0]] * text[1]


RECIPES = st.builds(
    Recipe,
    system=TEXTS,
    current=st.tuples(st.sampled_from(["user", "assistant"]), TEXTS),
    turns=st.lists(st.tuples(ROLES, TEXTS), max_size=40),
    lists=st.fixed_dictionaries({section: st.lists(TEXTS, max_size=6) for section in DATA}),
    injected=st.lists(st.tuples(st.integers(0, 45), TEXTS), max_size=4),
)


def counted(text: str) -> int:
    return estimate(text) + MESSAGE_TOKENS


@settled
@given(recipe=RECIPES, budget=BUDGETS, recent=st.integers(0, 12))
def test_any_mix_keeps_to_the_budget_and_in_order(recipe: Recipe, budget: int, recent: int) -> None:
    material = recipe.material()
    alone = counted(material.current.text) + (counted(material.system) if material.system else 0)
    if alone > budget:
        with pytest.raises(PayloadTooLarge, match="tokens_max"):
            assemble(material, budget, recent, estimate)
        return
    packed = assemble(material, budget, recent, estimate)
    pieces = packed.pieces
    assert sum(counted(piece.text) for piece in pieces) <= budget
    assert all(piece.tokens == counted(piece.text) for piece in pieces)
    assert pieces[-1].section == Section.CURRENT
    assert pieces[-1].text == material.current.text
    if material.system:
        assert (pieces[0].role, pieces[0].text) == ("system", material.system)
    order = [list(Section).index(Section(piece.section)) for piece in pieces]
    said = [piece for piece in pieces if piece.section == Section.MESSAGES and piece.shows]
    assert [piece.text for piece in said] == [
        one.text for one in material.history[len(material.history) - len(said) :]
    ]
    # Recalled data of earlier calls lies between messages; everything else is in its section.
    outside = [at for piece, at in zip(pieces, order, strict=True) if piece.section != "facts"]
    assert outside == sorted(outside)
    first = next((piece for piece in pieces if piece.role != "system"), None)
    assert first is not None
    assert first.role == "user" or sum(piece.tokens for piece in pieces) + 12 > budget


@settled
@given(recipe=RECIPES)
def test_whatever_is_not_sent_is_named(recipe: Recipe) -> None:
    material = recipe.material()
    try:
        packed = assemble(material, 2000, 8, estimate)
    except PayloadTooLarge:
        return
    sent = {id for piece in packed.pieces for id in piece.shows}
    named = {one.id for one in packed.left_out if one.id}
    lines = [line for section in DATA for line in getattr(material, section.value)]
    everything = {line.id for line in lines} | {one.id for one in material.history if one.id}
    assert everything == sent | named
    assert all(one.why for one in packed.left_out)


def test_nothing_is_left_out_while_there_is_room() -> None:
    history = [Said("user" if at % 2 == 0 else "assistant", f"m{at}", at) for at in range(30)]
    material = Material(Said("user", "now", 30), "S", history=history)
    packed = assemble(material, 10_000, 8, estimate)
    assert [piece.text for piece in packed.pieces] == ["S", *(one.text for one in history), "now"]
    assert packed.left_out == []
