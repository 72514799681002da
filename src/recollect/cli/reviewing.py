"""The command `review`: what waits for a decision, and the decision."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from recollect.cli.asking import Asked, common, complete_id, pass_asked, short, whole_id
from recollect.cli.tables import CYAN, DIM, GREEN, clean, fitted, paint_if
from recollect.cli.terminal import screen_of
from recollect.domain.records import JsonObject, MemoryRecord, Review

if TYPE_CHECKING:
    from recollect.client.memory import Memory

DECIDED = {"approve": "Approved", "keep": "Approved, beside the others", "reject": "Rejected"}


@click.command()
@click.argument("id", required=False, shell_complete=complete_id)
@click.option("--approve", "decision", flag_value="approve", help="It is true; close the others.")
@click.option("--keep", "decision", flag_value="keep", help="It is true, and the others are too.")
@click.option("--reject", "decision", flag_value="reject", help="Archive it; the others stay.")
@click.option("--merge", "merged", metavar="TEXT", help="Store TEXT in place of it and the others.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="How many are shown.")
@common
@pass_asked
def review(
    asked: Asked, /, id: str | None, decision: str | None, merged: str | None, limit: int
) -> None:
    """Show what waits for a decision, or decide.

    A memory waits when a tool or a page wrote it and it is shaped like an instruction, or when it
    contradicts others and it is not clear which is true.

    \b
    recollect review
    recollect review 3f9a77c1 --reject
    """
    if id is None:
        if decision or merged:
            raise click.UsageError("say which memory: its ID comes first")
        with asked.memory() as memory:
            waiting = memory.review().list(limit=limit)
        asked.tell({"reviews": [_as_json(one) for one in waiting]}, lambda: _lines(waiting))
        return
    if (decision is None) == (merged is None):
        raise click.UsageError("say what to do: --approve, --keep, --reject or --merge TEXT")
    with asked.memory() as memory:
        done = _decide(memory, whole_id(memory, id), decision, merged)
    said = "Merged" if decision is None else DECIDED[decision]
    asked.tell(
        {"decision": decision or "merge", **done.to_dict()}, lambda: iter([_line(said, done)])
    )


def _decide(memory: "Memory", id: str, decision: str | None, merged: str | None) -> MemoryRecord:
    if merged is not None:
        return memory.review().merge(id, merged).memory
    if decision == "reject":
        return memory.review().reject(id)
    return memory.review().approve(id, keep=decision == "keep")


def _as_json(one: Review) -> JsonObject:
    others = [other.to_dict() for other in one.others]
    return {"why": one.why, **one.memory.to_dict(), "others": others}


def _lines(waiting: Sequence[Review]) -> Iterator[str]:
    if not waiting:
        yield "Nothing waits for a decision."
    for one in waiting:
        yield _line(f"{one.why:<11}", one.memory)
        for other in one.others:
            yield _line("  contradicts", other, faint=True)


def _line(said: str, record: MemoryRecord, *, faint: bool = False) -> str:
    screen = screen_of(sys.stdout)
    id = record.id if screen.width is None else short(record.id)
    room = None if screen.width is None else screen.width - len(said) - len(id) - 4
    text = fitted(clean(record.text), room, 1)[0]
    painted = said if faint else paint_if(screen, GREEN, said)
    told = paint_if(screen, DIM, text) if faint else text
    return f"{painted}  {paint_if(screen, CYAN, id)}  {told}"
