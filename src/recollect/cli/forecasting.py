"""The command `forecast`: what will fade when, as a table, a picture or JSON."""

import sys
from collections.abc import Iterator
from html import escape

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.showing import counted, day, id_shown
from recollect.cli.tables import CYAN, DIM, YELLOW, Column, Row, Screen, bar, clean, paint_if, table
from recollect.cli.terminal import drawn, screen_of
from recollect.domain.forecast import Forecast, Outlook

BAR_WIDTH = 10
WIDTH, HEIGHT, MARGIN, LABEL_WIDTH = 960, 420, 56, 230
PAPER, INK, QUIET, GRID = "#fbfaf6", "#22303a", "#6b7780", "#dcdfd8"
COLOURS = ("#2f6f8f", "#b9863b", "#3f8a5a", "#8a4f7d", "#b0533c", "#5b6bb0")
CURVES_MAX, LABEL_CHARS, LINE = 12, 34, 17


@click.command()
@click.option("--days", type=click.IntRange(min=1), default=90, help="How far to look.  [90]")
@click.option("--limit", type=click.IntRange(min=1), default=20, help="How many to show.  [20]")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Draw it as SVG.")
@common
@pass_asked
def forecast(asked: Asked, days: int, limit: int, plot: str | None) -> None:
    """Show which memories will fade out of recall, and when.

    Nothing is changed; reading or reinforcing a memory keeps it.

    \b
    recollect forecast --days 30
    recollect forecast --plot forecast.svg
    """
    with asked.memory() as memory:
        found = memory.forecast(days=days, limit=limit)
    if plot is not None:
        drawn(plot, picture(found))
    asked.tell(found.to_dict(), lambda: _lines(found, screen_of(sys.stdout), asked.settings.user))


def _lines(found: Forecast, screen: Screen, owner: str) -> Iterator[str]:
    columns = (
        Column("LEAVES", paint=YELLOW),
        Column("STRENGTH"),
        Column("ID", paint=CYAN),
        Column("KIND", spare=True),
        Column("TEXT"),
    )
    if found.outlooks:
        yield from table(columns, [_row(one, screen) for one in found], screen)
        yield ""
    memories, leave = counted(found.left[0], "memory"), counted(found.leaving, "memory")
    until = day(found.moments[-1])
    yield paint_if(screen, DIM, f"of {memories} of {owner}, {leave} will leave until {until}")


def _row(one: Outlook, screen: Screen) -> Row:
    record, now = one.memory, one.strengths[0]
    drawn = f"{bar(now, BAR_WIDTH, screen)} {now:.2f}"
    return Row((day(one.archived_at), drawn, id_shown(record.id, screen), record.kind, record.text))


# -- the picture -----------------------------------------------------------------------------------


def picture(found: Forecast) -> str:
    """A curve for each of the memories that leave soonest, and how many are left."""
    shown = found.outlooks[:CURVES_MAX]
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>', *_axes(found)]
    for number, one in enumerate(shown):
        parts += _curve(one, number)
    label = f"What fades until {day(found.moments[-1])}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="{label}">'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _axes(found: Forecast) -> Iterator[str]:
    right = WIDTH - MARGIN - LABEL_WIDTH
    told = f"strength; of {found.left[0]:,} memories {found.leaving:,} leave recall"
    yield _text(MARGIN, 30, told, 14, INK)
    for part in range(5):
        y = _y(part / 4)
        yield f'<path d="M{MARGIN} {y:g}H{right:g}" stroke="{GRID}"/>'
        yield _text(MARGIN - 8, y + 4, f"{part / 4:g}", 11, QUIET, ' text-anchor="end"')
    last = len(found.moments) - 1
    for index in range(0, last + 1, max(last // 5, 1)):
        at = _x(index, last)
        yield _text(at, HEIGHT - 22, day(found.moments[index]), 11, QUIET, ' text-anchor="middle"')


def _curve(one: Outlook, number: int) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    last = len(one.strengths) - 1
    points = " ".join(f"{_x(i, last):.1f},{_y(s):.1f}" for i, s in enumerate(one.strengths))
    text = clean(one.memory.text)
    short = text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…"
    x, y = WIDTH - LABEL_WIDTH - MARGIN + 16, MARGIN + 14 + number * 2 * LINE
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    yield _text(x, y, short, 12, colour)
    yield _text(x, y + LINE - 4, f"leaves {day(one.archived_at)}", 10, QUIET)


def _x(index: int, last: int) -> float:
    return MARGIN + (WIDTH - 2 * MARGIN - LABEL_WIDTH) * index / max(last, 1)


def _y(strength: float) -> float:
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - strength)


def _text(x: float, y: float, words: str, size: int, colour: str, more: str = "") -> str:
    where = f'x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{more}'
    return f"<text {where}>{escape(words)}</text>"
