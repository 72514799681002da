"""Commands that write: remember, correct, undo, forget."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from recollect.cli.asking import (
    EVERY_STATUS,
    JSON,
    Asked,
    common,
    complete_id,
    pass_asked,
    short,
    whole_id,
)
from recollect.cli.showing import counted
from recollect.cli.tables import CYAN, DIM, GREEN, clean, fitted, paint_if, width_of
from recollect.cli.terminal import screen_of
from recollect.domain import times
from recollect.domain.errors import ValidationError
from recollect.domain.limits import TEXT_BYTES_MAX
from recollect.domain.records import JsonObject, Kind, MemoryRecord, Receipt, Remembered

if TYPE_CHECKING:
    from recollect.client.memory import Memory

KINDS = tuple(kind.value for kind in Kind)
#: What a receipt counts, by the name of the table, where dropping the s does not tell.
THINGS = {
    "memories": "memory",
    "accesses": "read count",
    "unsealed": "index entry",
    "segments": "index segment",
    "members": "membership",
    "once": "retry key",
    "marks": "mark",
}
#: What is said of a write, by its outcome.
SAID = {
    "stored": "Remembered",
    "replayed": "Already remembered",
    "similar": "Known, and now stronger",
    "echo": "Known: it was recalled just now",
}
#: Memories that a confirmation shows before it asks.
SHOWN_BEFORE_ERASING = 5


def complete_kind(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Kinds for the shell to offer; any other name is a kind too."""
    del context, parameter
    return [kind for kind in KINDS if kind.startswith(incomplete)]


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@click.option("--kind", metavar="KIND", help="fact, preference, …", shell_complete=complete_kind)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--when", metavar="TIME", help="When it happened: a date, or a date and time (UTC).")
@click.option("--importance", type=click.FloatRange(0, 1), help="From 0 to 1.")
@click.option("--metadata", type=JSON, metavar="JSON", help="Anything else, as a JSON object.")
@click.option("--key", metavar="KEY", help="Makes the call safe to repeat: it is stored once.")
@click.option("--force", is_flag=True, help="Store it even if a memory says the same.")
@common
@pass_asked
def remember(
    asked: Asked,
    /,
    words: tuple[str, ...],
    when: str | None,
    tags: tuple[str, ...],
    key: str | None,
    force: bool,
    **given: Any,
) -> None:
    """Store a memory. TEXT of - reads it from standard input.

    What says the same as a memory strengthens that one.

    \b
    recollect remember "I moved to Lisbon in March." --kind fact --tag home
    """
    text = _from_stdin() if words == ("-",) else " ".join(words)
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if tags:
        fields["tags"] = list(tags)
    if when:
        fields["occurred_at"] = when
    with asked.memory(new=True) as memory:
        told = memory.remember(text, key=key, force=force, **fields)
    answer = {"outcome": told.outcome, "durability": told.durability, **told.memory.to_dict()}
    said = SAID[told.outcome]
    answer["superseded"], answer["disputed"] = list(told.superseded), list(told.disputed)
    answer["treated"] = [[one.what, one.action, one.count] for one in told.treated]

    def lines() -> Iterator[str]:
        yield from _confirmed(said, told.memory)
        yield from _consequences(told)

    asked.tell(answer, lines)


def _consequences(told: Remembered) -> Iterator[str]:
    """What a write did besides storing a text."""
    if told.superseded:
        yield f"It replaces {', '.join(map(short, told.superseded))}"
    if told.disputed:
        yield f"It contradicts {', '.join(map(short, told.disputed))}: see `recollect review`"
    if told.memory.status == "quarantined":
        yield "It is set apart until it is approved: see `recollect review`"
    for one in told.treated:
        yield f"{counted(one.count, one.what.removesuffix('s').replace('_', ' '))} {one.action}"


def _from_stdin() -> str:
    """What is piped in; one byte over the limit is enough to be refused."""
    try:
        return sys.stdin.buffer.read(TEXT_BYTES_MAX + 1).decode().strip()
    except UnicodeDecodeError as exc:
        raise ValidationError(f"standard input is not UTF-8 text: {exc.reason}") from exc


@click.command()
@click.argument("id", shell_complete=complete_id)
@click.argument("text")
@click.option("--since", metavar="TIME", help="Since when the new text is true. Default: now.")
@click.option("--reason", metavar="WORDS", help="Why; kept in the history.")
@common
@pass_asked
def correct(asked: Asked, /, id: str, text: str, since: str | None, reason: str | None) -> None:
    """Replace what is no longer true.

    The old memory stays, closed and linked to the new one.

    \b
    recollect correct 3f9a77c1 "I moved to Porto." --since 2026-06-01
    """
    fields: dict[str, Any] = {"valid_from": since} if since else {}
    with asked.memory() as memory:
        old = memory.get(whole_id(memory, id))
        told = memory.correct(old, text, reason=reason, **fields)
    answer = {"supersedes": old.id, **told.memory.to_dict()}

    def lines() -> Iterator[str]:
        yield from _confirmed("Corrected", told.memory)
        yield from _confirmed("Before", old, faint=True)

    asked.tell(answer, lines)


@click.command()
@click.argument("id", shell_complete=complete_id)
@click.option("--factor", type=float, help="What importance is multiplied by.  [1.2]")
@click.option("--reason", metavar="WORDS", help="Why; kept in the history.")
@common
@pass_asked
def reinforce(asked: Asked, id: str, factor: float | None, reason: str | None) -> None:
    """Make a memory more important; it fades anew from now on."""
    with asked.memory() as memory:
        record = memory.reinforce(whole_id(memory, id), factor, reason=reason)
    told = f"Now {record.importance:.2f} important"
    asked.tell(record.to_dict(), lambda: _confirmed(told, record))


@click.command()
@click.argument("id", shell_complete=complete_id)
@click.option("--reason", metavar="WORDS", help="Why; kept in the history.")
@common
@pass_asked
def restore(asked: Asked, id: str, reason: str | None) -> None:
    """Call an archived memory back into recall."""
    with asked.memory() as memory:
        record = memory.restore(whole_id(memory, id), reason=reason)
    asked.tell(record.to_dict(), lambda: _confirmed("Restored", record))


@click.command()
@click.argument("id", shell_complete=complete_id)
@click.option("--reason", metavar="WORDS", help="Why; kept in the history.")
@common
@pass_asked
def undo(asked: Asked, id: str, reason: str | None) -> None:
    """Take back the last change of a memory.

    ID may also be that of one event (evt_…), as the history shows them. Taking back is a change
    too, so that doing it twice does it again.
    """
    with asked.memory() as memory:
        event = id if id.startswith("evt_") else _last_event(memory, id)
        restored = memory.undo(event, reason=reason)

    def lines() -> Iterator[str]:
        yield f"Took back {event}"
        for record in restored:
            yield from _confirmed(f"Now {record.status}", record)

    asked.tell({"undone": event, "memories": [one.to_dict() for one in restored]}, lines)


def _last_event(memory: "Memory", id: str) -> str:
    return memory.history(whole_id(memory, id))[-1].event.id


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_id)
@click.option("--where", type=JSON, metavar="JSON", help="All that fulfil a filter.")
@click.option("--all", "everything", is_flag=True, help="Everything of the user, and the profile.")
@click.option("--reason", metavar="WORDS", help="Why; kept without any content.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
@pass_asked
def forget(
    asked: Asked,
    ids: tuple[str, ...],
    where: JsonObject | None,
    everything: bool,
    reason: str | None,
    yes: bool,
) -> None:
    """Erase for good, and get a receipt.

    No trace stays in the file. Memories that hang below an erased one are erased too. This cannot
    be undone.

    \b
    recollect forget 3f9a77c1
    recollect forget --where '{"kind": "episode"}' --yes
    recollect forget --user ana --all
    """
    if sum((bool(ids), where is not None, everything)) != 1:
        raise click.UsageError("say what to forget: one or more IDs, --where, or --all")
    with asked.memory() as memory:
        chosen = [whole_id(memory, id) for id in ids]
        if not yes:
            _ask_first(memory, asked, chosen, where, everything)
        receipt = memory.forget(chosen or None, where=where, everything=everything, reason=reason)
    asked.tell(_receipt_json(receipt), lambda: _receipt_lines(receipt))


def _ask_first(
    memory: "Memory",
    asked: Asked,
    chosen: list[str],
    where: JsonObject | None,
    everything: bool,
) -> None:
    """Show what is about to go and ask; where nobody can answer, --yes is needed."""
    if not sys.stdin.isatty():
        raise click.UsageError("erasing cannot be undone; add --yes to do it without being asked")
    owner = asked.settings.user
    own = memory.scope(user=owner, shared=False)
    if chosen:
        # Like the erasure itself: an id that is not there stops everything.
        found = [own.get(id) for id in chosen]
        count = len(found)
    else:
        found = list(own.list(where=where, status=EVERY_STATUS, limit=SHOWN_BEFORE_ERASING))
        count = own.count(where=where, status=EVERY_STATUS)
    for record in found[:SHOWN_BEFORE_ERASING]:
        for line in _confirmed(" ", record):
            click.echo(line, err=True, color=True)
    if count > SHOWN_BEFORE_ERASING:
        click.echo(f"    … and {count - SHOWN_BEFORE_ERASING:,} more", err=True)
    what = f"{counted(count, 'memory')}{' and the profile' if everything else ''} of {owner}"
    click.confirm(f"Erase {what} for good?", abort=True, err=True)


def _confirmed(said: str, record: MemoryRecord, *, faint: bool = False) -> Iterator[str]:
    """What was done and to which memory, on one line of the screen."""
    screen = screen_of(sys.stdout)
    id = record.id if screen.width is None else short(record.id)
    room = None if screen.width is None else screen.width - width_of(said) - len(id) - 4
    text = fitted(clean(record.text), room, 1)[0]
    painted = said if faint else paint_if(screen, GREEN, said)
    told = paint_if(screen, DIM if faint else None, text)
    yield f"{painted}  {paint_if(screen, CYAN, id)}  {told}"


def _receipt_json(receipt: Receipt) -> JsonObject:
    return {
        "id": receipt.id,
        "at": times.iso(receipt.at),
        "erased": dict(receipt.erased),
        "derived": receipt.derived,
        "complete": receipt.complete,
        "tombstones": receipt.tombstones,
    }


def _receipt_lines(receipt: Receipt) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    rows = [
        counted(number, THINGS.get(name, name.removesuffix("s")))
        for name, number in receipt.erased.items()
        if number
    ]
    yield f"{paint_if(screen, GREEN, 'Erased')} {', '.join(rows) or 'nothing: there was none'}"
    if receipt.derived:
        yield f"Among them {counted(receipt.derived, 'memory')} derived from the others."
    if receipt.complete:
        yield "No copy is left in the file or its log."
    else:
        yield "A reader kept the log busy: its copy goes with the next erasure or close."
    yield paint_if(screen, DIM, f"receipt {receipt.id}")
