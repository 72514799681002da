"""The command that assembles what a model is sent: context."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.showing import counted
from recollect.cli.tables import BOLD, CYAN, DIM, GREEN, Column, Row, Screen, bar, clean, paint_if
from recollect.cli.tables import table as drawn
from recollect.cli.terminal import screen_of
from recollect.domain.context import Context, Piece

BAR_WIDTH = 30


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION")
@click.option("--tokens-max", type=click.IntRange(min=1), help="The budget.  [by model]")
@click.option("--model", metavar="NAME", help="For which model tokens are counted.")
@click.option("--session", metavar="NAME", help="The conversation that the question belongs to.")
@click.option("--system", metavar="TEXT", help="The system text to begin with.")
@click.option("--limit", type=click.IntRange(min=0), help="Memories to recall, beside facts.  [5]")
@click.option("--show", is_flag=True, help="Show what it is made of instead of the text.")
@common
@pass_asked
def context(asked: Asked, /, words: tuple[str, ...], show: bool, **wanted: Any) -> None:
    """Assemble what a model is sent to answer QUESTION.

    \b
    recollect context "plan a dinner" --tokens-max 800
    recollect context "plan a dinner" --show
    """
    with asked.memory() as memory:
        made = memory.context(" ".join(words), **wanted)
    screen = screen_of(sys.stdout)
    asked.tell(made.to_dict(), lambda: _shown(made, screen) if show else _text(made))


def _text(made: Context) -> Iterator[str]:
    yield clean(made.text, lines=True)


def _shown(made: Context, screen: Screen) -> Iterator[str]:
    """A bar for each section, what each message is, and what is left out."""
    columns = (
        Column("SECTION", paint=CYAN),
        Column("TOKENS", right=True),
        Column("OF THE BUDGET", paint=GREEN),
    )
    rows = [
        Row((name, f"{tokens:,}", bar(tokens / made.tokens_max, BAR_WIDTH, screen).rstrip()))
        for name, tokens in made.sections.items()
    ]
    free = max(made.tokens_max - made.tokens, 0)
    rows.append(
        Row(
            ("free", f"{free:,}", bar(free / made.tokens_max, BAR_WIDTH, screen).rstrip()),
            None,
            DIM,
        )
    )
    yield from drawn(columns, rows, screen)
    yield ""
    columns = (Column("ROLE", paint=CYAN), Column("TOKENS", right=True), Column("TEXT"))
    yield from drawn(columns, [_row(piece) for piece in made.messages], screen)
    if made.left_out:
        yield ""
        yield paint_if(screen, BOLD, "Left out")
        columns = (Column("SECTION"), Column("ID", paint=CYAN), Column("WHY"))
        rows = [Row((one.section, one.id or "", one.why)) for one in made.left_out]
        yield from drawn(columns, rows, screen)
    yield ""
    without = f"; without {', '.join(made.degraded)}" if made.degraded else ""
    told = (
        f"{made.tokens:,} of {made.tokens_max:,} tokens for {made.model} ({made.counted}), "
        f"{counted(len(made.memories), 'memory')} recalled{without}"
    )
    yield paint_if(screen, DIM, told)


def _row(piece: Piece) -> Row:
    return Row((piece.role, f"{piece.tokens:,}", piece.text))
