"""Tables and bars in plain text: what fits the screen, and plain columns when there is none.

The last column takes what is left of the width and may wrap. Texts are cleaned of everything that
would move the cursor or change colours: a memory must not be able to drive a terminal.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

GAP = "  "
LAST_COLUMN_MIN = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
Paint = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Screen:
    """What is written to: how wide it is (None: not a screen, nothing is cut) and what it shows."""

    width: int | None = None
    colour: bool = False
    blocks: bool = False  #: whether bars may be drawn with block characters


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, its side, its colours, and whether it may go when space is short."""

    title: str
    right: bool = False
    paint: Paint | None = None
    spare: bool = False
    lines_max: int = 1  #: of the last column, on a screen


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a cell per column, and lines to show under the last cell, made for its width."""

    cells: tuple[str, ...]
    below: Callable[[int | None], Iterable[str]] | None = None
    paint: Paint | None = None  #: for the last cell, before the column's


def table(columns: Sequence[Column], rows: Sequence[Row], screen: Screen) -> Iterator[str]:
    """The lines of a table. Columns that are empty in every row are left out."""
    cleaned = [tuple(clean(cell) for cell in row.cells) for row in rows]
    last = len(columns) - 1
    shown = [i for i in range(last) if any(cells[i] for cells in cleaned)]
    widths = {
        i: max(width_of(columns[i].title), *(width_of(cells[i]) for cells in cleaned))
        for i in shown
    }
    left = _room(columns, shown, widths, screen)
    head = [_set(columns[i].title, widths[i], columns[i].right) for i in shown]
    yield paint_if(screen, DIM, GAP.join([*head, columns[last].title]).rstrip())
    indent = " " * sum(widths[i] + len(GAP) for i in shown)
    for row, cells in zip(rows, cleaned, strict=True):
        front = [_cell(columns[i], cells[i], widths[i], screen) for i in shown]
        painter = row.paint or columns[last].paint
        lines = fitted(cells[last], left, columns[last].lines_max)
        painted = [paint_if(screen, painter, line) for line in lines]
        yield GAP.join([*front, painted[0]]).rstrip()
        below = row.below(left) if row.below else ()
        yield from (f"{indent}{line}" for line in (*painted[1:], *below))


def _room(
    columns: Sequence[Column], shown: list[int], widths: dict[int, int], screen: Screen
) -> int | None:
    """What is left for the last column, once spare ones are dropped as far as needed."""
    if screen.width is None:
        return None
    spare = [i for i in reversed(shown) if columns[i].spare]
    while True:
        left = screen.width - sum(widths[i] + len(GAP) for i in shown)
        if left >= LAST_COLUMN_MIN or not spare:
            return max(left, LAST_COLUMN_MIN)
        shown.remove(spare.pop(0))


def _cell(column: Column, text: str, width: int, screen: Screen) -> str:
    blank = " " * (width - width_of(text))
    painted = paint_if(screen, column.paint, text)
    return blank + painted if column.right else painted + blank


def _set(text: str, width: int, right: bool) -> str:
    blank = " " * (width - width_of(text))
    return blank + text if right else text + blank


def facts(pairs: Sequence[tuple[str, str]], screen: Screen) -> Iterator[str]:
    """Names and values, one a line; what has no value is left out."""
    told = [(name, clean(value)) for name, value in pairs if value]
    width = max((width_of(name) for name, _ in told), default=0)
    room = None if screen.width is None else max(screen.width - width - len(GAP), LAST_COLUMN_MIN)
    for name, value in told:
        first, *more = fitted(value, room, 8)
        yield f"{paint_if(screen, DIM, _set(name, width, right=False))}{GAP}{first}"
        yield from (f"{' ' * (width + len(GAP))}{line}" for line in more)


# -- text ------------------------------------------------------------------------------------------


def clean(text: str, *, lines: bool = False) -> str:
    """A text without control characters; line breaks become spaces unless `lines` keeps them."""
    if text.isprintable():
        return text
    kept = (one if one.isprintable() else _instead(one, lines) for one in text)
    return "".join(kept)


def _instead(character: str, lines: bool) -> str:
    if character == "\n":
        return "\n" if lines else " "
    if character == "\t" or unicodedata.category(character) in ("Zs", "Zl", "Zp"):
        return " "
    if character == "\u200d":  # joins emoji
        return character
    return "" if unicodedata.category(character) == "Cf" else "\ufffd"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fitted(text: str, width: int | None, lines_max: int) -> list[str]:
    """A text in lines of a width, at most so many; what does not fit ends in an ellipsis."""
    if width is None or width_of(text) <= width:
        return [text]
    lines: list[str] = []
    rest = text
    while rest and len(lines) < lines_max:
        end = _end_of_line(rest, width)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    if rest:
        whole = (
            lines[-1] if width_of(lines[-1]) < width else lines[-1][: _cut(lines[-1], width - 1)]
        )
        lines[-1] = whole.rstrip() + "…"
    return lines


def _end_of_line(text: str, width: int) -> int:
    """Where to break: behind the last word that fits, or within a word that is too long."""
    if width_of(text) <= width:
        return len(text)
    cut = _cut(text, width)
    space = text.rfind(" ", 0, cut + 1)
    return space if space > 0 else cut


def _cut(text: str, width: int) -> int:
    """How many characters fit into a width; at least one."""
    used = 0
    for index, character in enumerate(text):
        used += _columns_of(character)
        if used > width:
            return max(index, 1)
    return len(text)


def bar(share: float, width: int, screen: Screen) -> str:
    """A bar for a share from 0 to 1, in eighths of a character where those can be shown."""
    share = min(max(share, 0.0), 1.0)
    if not screen.blocks:
        return ("#" * max(round(share * width), share > 0)).ljust(width)
    whole, eighths = divmod(max(round(share * width * 8), share > 0), 8)
    return ("█" * whole + (_EIGHTHS[eighths] if eighths else "")).ljust(width)


# -- colour ----------------------------------------------------------------------------------------


def _style(code: str) -> Paint:
    return lambda text: f"\033[{code}m{text}\033[0m"


BOLD, DIM, RED, GREEN, YELLOW, CYAN = (_style(code) for code in ("1", "2", "31", "32", "33", "36"))


def paint_if(screen: Screen, painter: Paint | None, text: str) -> str:
    """The text in colour, if there is any colour and any text."""
    return painter(text) if painter is not None and screen.colour and text.strip() else text
