"""Commands that read: recall, list, show, history, profile."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from recollect.cli.asking import (
    EVERY_STATUS,
    JSON,
    Asked,
    common,
    complete_id,
    pass_asked,
    whole_id,
)
from recollect.cli.showing import (
    change_json,
    counted,
    history,
    listing,
    minute,
    not_recalled,
    one_memory,
    recall_json,
    recalled,
    why_not_json,
)
from recollect.cli.tables import BOLD, DIM, Screen, clean, fitted, paint_if
from recollect.cli.terminal import screen_of
from recollect.cli.writing import complete_kind
from recollect.domain.queries import SORTS
from recollect.domain.records import JsonObject, Profile


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUESTION")
@click.option("--limit", type=click.IntRange(min=1), help="How many hits at most.  [10]")
@click.option("--why", is_flag=True, help="Show what each score is made of, and the near misses.")
@click.option("--as-of", metavar="TIME", help="How things stood at a moment (UTC).")
@click.option("--kind", metavar="KIND", help="Only this kind.", shell_complete=complete_kind)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag.")
@click.option("--where", type=JSON, metavar="JSON", help="Only what fulfils a filter.")
@click.option("--timeline", is_flag=True, help="In the order in which it happened.")
@common
@pass_asked
def recall(
    asked: Asked,
    /,
    words: tuple[str, ...],
    limit: int | None,
    why: bool,
    timeline: bool,
    tags: tuple[str, ...],
    **chosen: Any,
) -> None:
    """Find the memories that answer QUESTION, best first.

    A question about an order ("what did I do first?") is answered as a timeline.

    \b
    recollect recall "where does she live?" --why
    recollect recall "where does she live?" --as-of 2025-12-31
    """
    with asked.memory() as memory:
        found = memory.recall(
            " ".join(words),
            limit=limit or asked.settings.recall_limit,
            tags=list(tags) or None,
            **chosen,
        )
    screen = screen_of(sys.stdout)
    owner = asked.settings.user
    in_order = timeline or found.asks_for_order
    asked.tell(
        recall_json(found),
        lambda: recalled(found, screen, why=why, owner=owner, timeline=in_order),
    )


@click.command("why-not")
@click.argument("question")
@click.argument("id", shell_complete=complete_id)
@click.option("--limit", type=click.IntRange(min=1), help="How many hits at most.  [10]")
@click.option("--as-of", metavar="TIME", help="How things stood at a moment (UTC).")
@click.option("--kind", metavar="KIND", help="Only this kind.", shell_complete=complete_kind)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag.")
@click.option("--where", type=JSON, metavar="JSON", help="Only what fulfils a filter.")
@common
@pass_asked
def why_not(
    asked: Asked,
    /,
    question: str,
    id: str,
    limit: int | None,
    tags: tuple[str, ...],
    **chosen: Any,
) -> None:
    """Explain what keeps a memory from being a hit of QUESTION.

    \b
    recollect why-not "where does she live?" 1c02a7d0
    """
    with asked.memory() as memory:
        which = whole_id(memory, id)
        answer = memory.why_not(
            question,
            which,
            limit=limit or asked.settings.recall_limit,
            tags=list(tags) or None,
            **chosen,
        )
        record = next(iter(memory.get_many([which])), None)
    screen = screen_of(sys.stdout)
    asked.tell(why_not_json(answer), lambda: not_recalled(answer, record, screen))


@click.command("list")
@click.option("--kind", metavar="KIND", help="Only this kind.", shell_complete=complete_kind)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag.")
@click.option(
    "--status",
    type=click.Choice([*EVERY_STATUS, "all"]),
    help="Only with this status.  [active]",
)
@click.option("--where", type=JSON, metavar="JSON", help="Only what fulfils a filter.")
@click.option("--as-of", metavar="TIME", help="How things stood at a moment (UTC).")
@click.option("--sort", type=click.Choice(SORTS), default="created_at", help="By what.")
@click.option("--ascending", is_flag=True, help="The oldest or smallest first.")
@click.option("--limit", type=click.IntRange(min=1), help="How many at a time.  [50]")
@click.option("--cursor", metavar="CURSOR", help="Go on where the last page ended.")
@common
@pass_asked
def list_(
    asked: Asked,
    /,
    tags: tuple[str, ...],
    status: str | None,
    ascending: bool,
    limit: int | None,
    **chosen: Any,
) -> None:
    """List memories, newest first.

    \b
    recollect list --tag home --limit 20
    recollect list --where '{"importance": {"gte": 0.8}}' --sort importance
    """
    with asked.memory() as memory:
        page = memory.list(
            limit=limit or asked.settings.list_limit,
            tags=list(tags) or None,
            status=EVERY_STATUS if status == "all" else status,
            order="asc" if ascending else "desc",
            **chosen,
        )

    def lines() -> Iterator[str]:
        screen = screen_of(sys.stdout)
        if page.items:
            yield from listing(page, screen)
            yield ""
        told = f"{counted(len(page), 'memory')} of {asked.settings.user} in {asked.where}"
        yield paint_if(screen, DIM, told)
        if page.cursor:
            yield paint_if(screen, DIM, f"more: --cursor {page.cursor}")

    answer = {"memories": [one.to_dict() for one in page], "cursor": page.cursor}
    asked.tell(answer, lines)


@click.command()
@click.argument("id", shell_complete=complete_id)
@click.option("--as-of", metavar="TIME", help="As it was at a moment (UTC).")
@common
@pass_asked
def show(asked: Asked, id: str, as_of: str | None) -> None:
    """Show all about one memory, with its links and children."""
    with asked.memory() as memory:
        record = memory.get(whole_id(memory, id), as_of=as_of)
        links = memory.links(record)
        children = memory.children(record)
        ends = {link.target if link.source == record.id else link.source for link in links}
        texts = {one.id: one.text for one in memory.get_many(sorted(ends))}

    def lines() -> Iterator[str]:
        screen = screen_of(sys.stdout)
        yield from one_memory(record, screen)
        if links or children:
            yield ""
        for link in links:
            out = link.source == record.id
            other = link.target if out else link.source
            said = f"{link.kind} →" if out else f"← {link.kind}"
            yield _neighbour(said, other, texts.get(other, ""), screen)
        for child in children:
            yield _neighbour("child", child.id, child.text, screen)

    answer = {
        **record.to_dict(),
        "links": [
            {"source": one.source, "target": one.target, "kind": one.kind, "strength": one.strength}
            for one in links
        ],
        "children": [child.id for child in children],
    }
    asked.tell(answer, lines)


def _neighbour(said: str, id: str, text: str, screen: Screen) -> str:
    line = f"{paint_if(screen, DIM, clean(said))}  {id}  "
    room = None if screen.width is None else max(screen.width - len(said) - len(id) - 4, 12)
    return line + fitted(clean(text), room, 1)[0]


@click.command("history")
@click.argument("id", shell_complete=complete_id)
@common
@pass_asked
def history_(asked: Asked, id: str) -> None:
    """Show what happened to a memory, oldest first."""
    with asked.memory() as memory:
        changes = memory.history(whole_id(memory, id))
    answer = {"changes": [change_json(change) for change in changes]}
    asked.tell(answer, lambda: history(changes, screen_of(sys.stdout)))


@click.command()
@click.argument("category", required=False)
@click.option("--merge", type=JSON, metavar="JSON", help="Merge this deeply; null removes a key.")
@click.option("--remove", metavar="KEY", help="Remove a key: food.avoid")
@common
@pass_asked
def profile(
    asked: Asked, category: str | None, merge: JsonObject | None, remove: str | None
) -> None:
    """Show the user's profile, or change a CATEGORY of it.

    \b
    recollect profile preferences --merge '{"food": {"avoid": ["peanuts"]}}'
    """
    if (merge is not None or remove) and category is None:
        raise click.UsageError("name the category to change")
    with asked.memory(new=merge is not None) as memory:
        if category is None:
            found = [one for _, one in sorted(memory.profiles().items())]
        elif merge is not None:
            found = [memory.profile(category).merge(merge)]
        elif remove:
            found = [memory.profile(category).remove(*remove.split("."))]
        else:
            found = [memory.profile(category).get()]
    asked.tell({one.category: one.data for one in found}, lambda: _profiles(found, asked))


def _profiles(found: list[Profile], asked: Asked) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    told = [one for one in found if one.data]
    if not told:
        yield f"Nothing is in the profile of {asked.settings.user} yet."
    for number, one in enumerate(told):
        if number:
            yield ""
        changed = paint_if(screen, DIM, f"version {one.version}, {minute(one.updated_at)}")
        yield f"{paint_if(screen, BOLD, clean(one.category))}  {changed}"
        text = json.dumps(one.data, ensure_ascii=False, indent=2)
        yield from (f"  {line}" for line in clean(text, lines=True).splitlines()[1:-1])
