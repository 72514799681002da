"""Bar charts of what was measured, as SVG: one panel a set, one colour a lane."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from recollect.domain.records import JsonObject
from recollect.measuring import metrics

WIDTH, MARGIN, TITLE, PANEL_GAP = 1080, 56, 64, 34
CHART_HEIGHT, LABELS_HEIGHT, GROUP_GAP = 180, 58, 14
BAR_MAX, CHARACTER = 26, 6.2
PAPER, INK, QUIET, GRID = "#fbfaf6", "#22303a", "#6b7780", "#dcdfd8"
COLOURS = {"words": "#2f6f8f", "meaning": "#b9863b", "both": "#3f8a5a"}
PANEL = TITLE + CHART_HEIGHT + LABELS_HEIGHT + PANEL_GAP
CATEGORY_METRIC = "R@10"

Bars = list[tuple[str, list[tuple[str, float]]]]  # label, then lane and share


def picture(data: JsonObject) -> str:
    """The whole drawing."""
    sets: Sequence[JsonObject] = data["sets"]
    height = PANEL * len(sets) + 24
    body = [f'<rect width="{WIDTH}" height="{height}" rx="10" fill="{PAPER}"/>']
    for number, one in enumerate(sets):
        body.extend(_panel(one, number * PANEL))
    names = ", ".join(one["name"] for one in sets)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="Evidence recall of {escape(names)}">'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _panel(one: JsonObject, top: float) -> Iterator[str]:
    """One set: every metric on the left, R@10 of every category on the right."""
    lanes: Mapping[str, JsonObject] = one["lanes"]
    about = f"{one['counted']:,} questions about {one['turns']:,} turns, in %"
    yield words_at(MARGIN, top + 38, one["name"], 18, INK, ' font-weight="600"')
    yield words_at(MARGIN + 11 * len(one["name"]) + 16, top + 38, about, 12)
    yield from _legend(lanes, top + 38)
    overall: Bars = [
        (metric, [(lane, found["overall"].get(metric, 0.0)) for lane, found in lanes.items()])
        for metric in metrics.METRICS
    ]
    names = list(next(iter(lanes.values()))["categories"])
    inside: Bars = [
        (
            name,
            [(lane, found["categories"][name][CATEGORY_METRIC]) for lane, found in lanes.items()],
        )
        for name in names
    ]
    room = WIDTH - 2 * MARGIN - PANEL_GAP
    left = room * 0.55
    yield from _chart(overall, MARGIN, top + TITLE, left)
    by = f"{CATEGORY_METRIC} by category"
    yield words_at(MARGIN + left + PANEL_GAP, top + TITLE - 14, by, 12)
    yield from _chart(inside, MARGIN + left + PANEL_GAP, top + TITLE, room - left)


def _legend(lanes: Mapping[str, JsonObject], y: float) -> Iterator[str]:
    x = float(WIDTH - MARGIN)
    for lane in reversed(list(lanes)):
        x -= CHARACTER * len(lane) + 34
        yield f'<rect x="{x:g}" y="{y - 10:g}" width="11" height="11" fill="{COLOURS[lane]}"/>'
        yield words_at(x + 16, y, lane, 12)


def _chart(bars: Bars, x: float, y: float, width: float) -> Iterator[str]:
    """Groups of bars over their labels, on lines for every quarter."""
    floor = y + CHART_HEIGHT
    for percent in (0, 25, 50, 75, 100):
        height = floor - CHART_HEIGHT * percent / 100
        yield f'<path d="M{x:g} {height:g}h{width:g}" stroke="{GRID}"/>'
        yield words_at(x - 6, height + 4, f"{percent}", 10, QUIET, ' text-anchor="end"')
    group = width / max(len(bars), 1)
    for number, (label, shares) in enumerate(bars):
        yield from _group(shares, x + number * group, floor, group)
        middle = x + (number + 0.5) * group
        shown = label if len(label) <= 16 else label[:15] + "…"
        turned = f' text-anchor="end" transform="rotate(-28 {middle:g} {floor + 16:g})"'
        yield f"<g><title>{escape(label)}</title>"
        yield words_at(middle, floor + 16, shown, 10, INK, turned) + "</g>"


def _group(
    shares: Sequence[tuple[str, float]], left: float, floor: float, width: float
) -> Iterator[str]:
    each = min((width - GROUP_GAP) / len(shares), BAR_MAX)
    start = left + (width - each * len(shares)) / 2
    for number, (lane, share) in enumerate(shares):
        x, height = start + number * each, CHART_HEIGHT * share
        yield (
            f'<rect x="{x:g}" y="{floor - height:g}" width="{each - 1:g}" height="{height:g}" '
            f'fill="{COLOURS[lane]}"><title>{escape(lane)}: {100 * share:.1f}</title></rect>'
        )
        middle = ' text-anchor="middle"'
        yield words_at(x + each / 2, floor - height - 3, f"{100 * share:.0f}", 8.5, QUIET, middle)


def words_at(
    x: float, y: float, words: str, size: float, colour: str = QUIET, more: str = ""
) -> str:
    """One line of writing."""
    where = f'x="{x:.6g}" y="{y:.6g}" font-size="{size:g}" fill="{colour}"{more}'
    return f"<text {where}>{escape(words)}</text>"
