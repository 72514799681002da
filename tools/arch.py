"""Draws docs/explanation/architecture.svg from the imports that the code really makes.

One band per layer of `[tool.importlinter]` in pyproject.toml, highest first; one box per module,
as tall as its file is long; a pale line for each import that points down, a red one for each that
points up or sideways into a neighbour. Prints the count of red lines and exits with 1 if there
is one. A module of no layer gets a band of its own at the top, where it cannot be overlooked.
"""

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/explanation/architecture.svg"
FRONT_DOOR = "client"  # the band of `recollect/__init__.py`, which opens a client
UNLISTED = "unlisted"

WIDTH, GUTTER, TOP = 1240, 132, 84
BOX_WIDTH, GAP, PADDING = 100, 8, 14
BETWEEN, BOX_BASE, PIXELS_PER_LINE = 26, 34, 0.11
PAPER, INK, QUIET, DOWN, UP = "#fbfaf6", "#22303a", "#6b7780", "#7f95a3", "#d3212d"
TINTS = ("#dfeaf2", "#e8e3f3", "#e0efe3", "#f6ebd6", "#f5e1dd", "#dceeee", "#eceadb")


Label = tuple[str, float]  # a room and where its first row starts
Strip = tuple[int, float, float]  # a band, its top and its bottom


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    band: int
    room: str
    lines: int

    @property
    def label(self) -> str:
        """What is written in the box: the name inside its room."""
        inner = self.name.split(".")[2:]
        return ".".join(inner) if inner else self.name.split(".")[-1]


@dataclass(frozen=True)
class Box:
    """Where a module is drawn."""

    module: Module
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return self.x + BOX_WIDTH / 2


def bands() -> list[list[str]]:
    """The rooms of each layer, highest layer first; unlisted modules above them all."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    listed = [[room.strip(" ()") for room in layer.split("|")] for layer in layers]
    return [[UNLISTED], *listed]


def read() -> tuple[list[Module], list[tuple[Module, Module]]]:
    """The modules of the package and the imports between them."""
    graph = grimp.build_graph("recollect", cache_dir=None)
    where = {room: band for band, rooms in enumerate(bands()) for room in rooms}
    modules = {}
    for name in sorted(graph.modules):
        room = name.split(".")[1] if "." in name else FRONT_DOOR
        band = where.get(room, 0)
        modules[name] = Module(name, band, room if band else UNLISTED, lines(name))
    imports = [
        (modules[name], modules[target])
        for name in modules
        for target in sorted(graph.find_modules_directly_imported_by(name))
    ]
    return list(modules.values()), imports


def lines(name: str) -> int:
    """How long the module's file is."""
    path = ROOT / "src" / Path(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def upward(source: Module, target: Module) -> bool:
    """An import that the layers forbid: to a layer above, or to a neighbour of the same layer."""
    return target.band < source.band or (target.band == source.band and target.room != source.room)


def place(modules: list[Module]) -> tuple[dict[str, Box], list[Label], list[Strip]]:
    """A box for every module, row by row, a name for every room, and a strip for every band."""
    across = int((WIDTH - GUTTER - PADDING) // (BOX_WIDTH + GAP))
    shown = [module for module in modules if module.lines]
    in_order = sorted(shown, key=lambda module: (module.band, module.room.strip("_"), module.name))
    boxes: dict[str, Box] = {}
    labels: list[Label] = []
    strips: list[Strip] = []
    top = float(TOP)
    for band, in_band in groupby(in_order, key=lambda module: module.band):
        y = top + PADDING
        for room, in_room in groupby(in_band, key=lambda module: module.room):
            labels.append((room, y))
            members = list(in_room)
            rows = -(-len(members) // across)
            for row in (members[start::rows] for start in range(rows)):
                x = GUTTER + (across - len(row)) * (BOX_WIDTH + GAP) / 2
                for module in row:
                    height = round(BOX_BASE + module.lines * PIXELS_PER_LINE, 1)
                    boxes[module.name] = Box(module, x, y, height)
                    x += BOX_WIDTH + GAP
                y = round(y + GAP + max(boxes[module.name].height for module in row), 1)
        bottom = round(y - GAP + PADDING, 1)
        strips.append((band, top, bottom))
        top = bottom + BETWEEN
    return boxes, labels, strips


def text(
    x: float, y: float, words: str, size: float = 11, colour: str = INK, more: str = ""
) -> str:
    """One line of writing."""
    where = f'x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}"{more}'
    return f"<text {where}>{escape(words)}</text>"


def draw_strip(band: int, top: float, bottom: float) -> str:
    """The strip behind one layer; red for modules that no layer names."""
    tint = TINTS[band % len(TINTS)] if band else "#ffd0d0"
    size = f'width="{WIDTH - 24}" height="{bottom - top:g}"'
    return f'<rect x="12" y="{top:g}" {size} rx="8" fill="{tint}"/>'


def draw_box(box: Box) -> Iterator[str]:
    """One module: its name, cut if it is long, and its length."""
    label = box.module.label
    shown = label if len(label) <= 15 else label[:13] + "…"
    yield (
        f"<g><title>{escape(box.module.name)}: {box.module.lines} lines</title>"
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{BOX_WIDTH}" height="{box.height:g}" rx="4" '
        f'fill="#ffffff" stroke="{DOWN}" stroke-width="0.8"/>'
    )
    yield text(box.x + 7, box.y + 15, shown)
    yield text(box.x + 7, box.y + 28, f"{box.module.lines}", 9, QUIET) + "</g>"


def draw_import(source: Box, target: Box, red: bool) -> str:
    """One import as a curve: pale where it points down, red where it must not be."""
    start_y = source.y if red else source.y + source.height
    end_y = target.y + target.height if red and target.y < source.y else target.y
    bend = (start_y + end_y) / 2
    style = f'stroke="{UP}" stroke-width="2"' if red else f'stroke="{DOWN}" stroke-opacity="0.3"'
    return (
        f'<path d="M{source.middle:g} {start_y:g}C{source.middle:g} {bend:g} '
        f'{target.middle:g} {bend:g} {target.middle:g} {end_y:g}" fill="none" {style}/>'
    )


def picture(modules: list[Module], imports: list[tuple[Module, Module]]) -> str:
    """The whole drawing as SVG."""
    boxes, labels, strips = place(modules)
    between = [(a, b) for a, b in imports if a.room != b.room and {a.name, b.name} <= boxes.keys()]
    red = sum(upward(a, b) for a, b in imports)
    height = strips[-1][2] + 20
    total = sum(module.lines for module in modules)
    summary = f"upward edges: {red}  ·  {len(boxes)} modules  ·  {total:,} lines"
    bold, right = ' font-weight="600"', ' text-anchor="end"'
    what = "a box is a module, as tall as its file is long; a line is an import between rooms"
    how = "every line must point down; one that does not is red"
    body = [
        f'<rect width="{WIDTH}" height="{height:g}" rx="10" fill="{PAPER}"/>',
        text(24, 36, "Recollect: what imports what", 20, INK, bold),
        text(24, 62, summary, 14, UP if red else "#2c7a4b", bold),
        text(WIDTH - 24, 36, what, 11, QUIET, right),
        text(WIDTH - 24, 54, how, 11, QUIET, right),
        *(draw_strip(*strip) for strip in strips),
        *(text(24, y + 17, room, 13, INK, bold) for room, y in labels),
        *(
            draw_import(boxes[a.name], boxes[b.name], upward(a, b))
            for a, b in sorted(between, key=lambda pair: upward(*pair))
        ),
    ]
    for box in boxes.values():
        body.extend(draw_box(box))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" '
        f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="Modules of Recollect by layer; {escape(summary)}">'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def main() -> int:
    """Draw, count, and name every import that points up."""
    modules, imports = read()
    wrong = [(a.name, b.name) for a, b in imports if upward(a, b)]
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(modules, imports), encoding="utf-8")
    for source, target in wrong:
        print(f"upward: {source} -> {target}")
    print(f"{len(modules)} modules, {len(imports)} imports, upward edges: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
