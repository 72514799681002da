"""The command `consolidate`: one memory of several that belong together."""

import sys
from collections.abc import Iterator

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.showing import counted, id_shown
from recollect.cli.tables import BOLD, CYAN, DIM, Screen, clean, fitted, paint_if
from recollect.cli.terminal import screen_of, waiting
from recollect.domain.consolidation import Consolidated, Consolidation


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be made.")
@click.option("--reason", metavar="WORDS", help="Why; kept in the history.")
@common
@pass_asked
def consolidate(asked: Asked, dry_run: bool, reason: str | None) -> None:
    """Make one memory of older ones that belong together.

    The originals stay as they are and are linked to it; `recollect undo` takes each back by its
    event. What one of them is made of is forgotten with it.

    \b
    recollect consolidate --dry-run
    """
    with asked.memory() as memory, waiting() as progress:
        found = memory.consolidate(dry_run=dry_run, progress=progress, reason=reason)
    answer = {
        "made": [one.to_dict() for one in found.made],
        "looked_at": found.looked_at,
        "dry_run": found.dry_run,
    }
    asked.tell(answer, lambda: _lines(found, screen_of(sys.stdout)))


def _lines(found: Consolidation, screen: Screen) -> Iterator[str]:
    for one in found.made:
        yield from _made(one, screen)
        yield ""
    verb = "would become" if found.dry_run else "became"
    sources = counted(sum(len(one.sources) for one in found.made), "memory")
    seen = counted(found.looked_at, "memory")
    yield paint_if(screen, DIM, f"{sources} of {seen} {verb} {len(found.made)}")


def _made(one: Consolidated, screen: Screen) -> Iterator[str]:
    for line in fitted(clean(one.memory.text), screen.width, 6):
        yield paint_if(screen, BOLD, line)
    taken_back = f"  undo: {one.event}" if one.event else ""
    yield paint_if(screen, DIM, f"by {one.by}, {one.similarity:.2f} alike{taken_back}")
    for source in one.sources:
        id = id_shown(source.id, screen)
        room = None if screen.width is None else max(screen.width - len(id) - 4, 1)
        yield f"  {paint_if(screen, CYAN, id)}  {fitted(clean(source.text), room, 1)[0]}"
