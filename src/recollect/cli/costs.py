"""Commands about money: cost, budgets."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.tables import GREEN, RED, YELLOW, Column, Row, bar, paint_if, table
from recollect.cli.terminal import drawn, screen_of
from recollect.domain.costs import BY, PERIODS

if TYPE_CHECKING:
    from recollect.domain.costs import Budget, Cost

BAR_WIDTH = 16


@click.command()
@click.option(
    "--by",
    "parts",
    multiple=True,
    type=click.Choice(BY),
    help="What to tell apart; may be repeated.  [default: model]",
)
@click.option("--since", metavar="WHEN", help="Only calls from then on.")
@click.option("--until", metavar="WHEN", help="Only calls before.")
@click.option("--for-user", "of_user", metavar="NAME", help="Only calls for this user.")
@click.option("--agent", metavar="LABEL", help="Only calls for this agent.")
@click.option("--model", metavar="MODEL", help="Only calls of PROVIDER:MODEL.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the days to an SVG file.")
@common
@pass_asked
def cost(asked: Asked, /, parts: Sequence[str], plot: str | None, **said: str | None) -> None:
    """What calls of models took: tokens and money.

    \b
    recollect cost --by user --by purpose --since 2026-03-01
    recollect cost --by model --plot costs.svg
    """
    by = list(parts) or ["model"]
    names = {"of_user": "user", "agent": "agent", "model": "model"}
    only = {name: said[option] for option, name in names.items() if said[option] is not None}
    when = {"since": said["since"], "until": said["until"]}
    with asked.memory() as memory:
        found = memory.cost(by=by, **when, **only)
        days = memory.cost(by=["day", by[0]], **when, **only) if plot else None
    if plot and days is not None:
        from recollect.measuring.spending import picture

        drawn(plot, picture(days, by[0]))
    asked.tell(found.to_dict(), lambda: _costs(found))


def _costs(found: "Cost") -> Iterator[str]:
    screen = screen_of(sys.stdout)
    if not found.total.calls:
        yield "No calls of models are on record."
        return
    columns = (
        *(Column(name.upper()) for name in found.by),
        Column("CALLS", right=True),
        Column("TOKENS IN", right=True, spare=True),
        Column("OUT", right=True, spare=True),
        Column("CACHED", right=True, spare=True),
        Column("COST", right=True),
        Column(""),
    )
    most = max(line.totals.money for line in found.lines) or 1
    rows = [
        Row(
            (
                *(line.names[name] or "–" for name in found.by),
                *_numbers(line.totals.calls, line.totals.tokens_in, line.totals.tokens_out),
                f"{line.totals.tokens_cached:,}",
                _money(line.usd, line.totals.unpriced, line.totals.calls),
                bar(line.totals.money / most, BAR_WIDTH, screen).rstrip(),
            ),
            paint=GREEN,
        )
        for line in found.lines
    ]
    yield from table(columns, rows, screen)
    yield ""
    total = found.total
    yield f"{_money(total.usd, 0, total.calls)} for {total.calls:,} calls"
    if total.unpriced:
        words = f"The price of {total.unpriced:,} calls is not known; they are not in the sum."
        yield paint_if(screen, YELLOW, words)


def _numbers(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def _money(usd: float, unpriced: int, calls: int) -> str:
    if unpriced == calls:
        return "unknown"
    return f"${usd:,.4f}{'+?' if unpriced else ''}"


@click.group()
def budgets() -> None:
    """Bound what calls of models may cost.

    It is looked at before every call; what is over it goes on without a model.

    \b
    recollect budgets set 5 --for-user ana --period month
    """


@budgets.command("set")
@click.argument("usd", type=click.FloatRange(0))
@click.option("--for-user", "of_user", metavar="NAME", help="For this user.")
@click.option("--agent", metavar="LABEL", help="For this agent.")
@click.option("--period", type=click.Choice(PERIODS), default="month", show_default=True)
@common
@pass_asked
def set_budget(
    asked: Asked, usd: float, of_user: str | None, agent: str | None, period: str
) -> None:
    """Bound what may be spent, in dollars: by a user, an agent, or everybody together.

    What is over it goes on without a model.
    """
    with asked.memory(new=True) as memory:
        memory.budgets().set(usd, user=of_user, agent=agent, period=period)
        found = memory.budgets().list()
    _tell(asked, found)


@budgets.command("list")
@common
@pass_asked
def list_budgets(asked: Asked) -> None:
    """List all budgets, and what was spent of each."""
    with asked.memory() as memory:
        found = memory.budgets().list()
    _tell(asked, found)


@budgets.command("remove")
@click.option("--for-user", "of_user", metavar="NAME", help="Of this user.")
@click.option("--agent", metavar="LABEL", help="Of this agent.")
@common
@pass_asked
def remove_budget(asked: Asked, of_user: str | None, agent: str | None) -> None:
    """Take a budget away: of a user, of an agent, or of everybody."""
    with asked.memory() as memory:
        memory.budgets().remove(user=of_user, agent=agent)
        found = memory.budgets().list()
    _tell(asked, found)


def _tell(asked: Asked, found: "Sequence[Budget]") -> None:
    answer = {"budgets": [one.to_dict() for one in found]}
    asked.tell(answer, lambda: _budgets(found))


def _budgets(found: "Sequence[Budget]") -> Iterator[str]:
    screen = screen_of(sys.stdout)
    if not found:
        yield "No budgets: nothing bounds what models may cost."
        return
    columns = (
        Column("WHO"),
        Column("PERIOD"),
        Column("BUDGET", right=True),
        Column("SPENT", right=True),
        Column(""),
    )
    rows = [
        Row(
            (
                *(one.owner, one.period, f"${one.usd:,.2f}", f"${one.spent_usd:,.4f}"),
                bar(min(one.spent / (one.money or 1), 1.0), BAR_WIDTH, screen).rstrip(),
            ),
            paint=RED if one.spent >= one.money else GREEN,
        )
        for one in found
    ]
    yield from table(columns, rows, screen)
