"""The command that says which model a request goes to: route."""

import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.tables import BOLD, CYAN, Column, Row, paint_if, table
from recollect.cli.terminal import screen_of
from recollect.routing import Decision, Router


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="REQUEST")
@click.option("--model", metavar="PROVIDER:MODEL", help="Use this one, whatever is asked.")
@click.option(
    "--earlier", multiple=True, metavar="REQUEST", help="An earlier request; may be repeated."
)
@common
@pass_asked
def route(
    asked: Asked, words: tuple[str, ...], model: str | None, earlier: tuple[str, ...]
) -> None:
    """Say which model a request goes to, and why.

    Code goes to the setting code_model, everything else to reasoning_model. No model is called.

    \b
    recollect route "Create a todo app"
    recollect route "Why does this fail?" --json
    """
    settings = asked.settings
    router = Router(code=settings.code_model, reasoning=settings.reasoning_model)
    decision = router.route(" ".join(words), model=model, earlier=earlier)
    asked.tell(asdict(decision), lambda: _lines(decision))


def _lines(decision: Decision) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    sure = f"confidence {decision.confidence:.2f}{', mixed' if decision.mixed else ''}"
    yield f"{paint_if(screen, BOLD, decision.name)}  {decision.kind}, {sure}"
    if not decision.evidence:
        yield decision.reason
        return
    columns = [Column("speaks for"), Column("weight", right=True), Column("words", paint=CYAN)]
    rows = [
        Row((one.speaks_for, f"{one.weight:g}", one.words, one.feature))
        for one in decision.evidence
    ]
    yield from table([*columns, Column("because it")], rows, screen)
