"""What models cost, day by day, as a drawing: one bar a day, one colour for each of what is told
apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from recollect.domain.costs import Cost
from recollect.measuring.drawing import GRID, INK, MARGIN, PAPER, WIDTH, words_at

HEIGHT, TOP, CHART, GAP = 360, 86, 200, 3
SHADES = ("#2f6f8f", "#b9863b", "#3f8a5a", "#8a5a83", "#a65d4e", "#6b7780")
REST = "others"
BAR_MAX = 48
LABELS_MAX = 12


def picture(cost: Cost, name: str) -> str:
    """The drawing of costs by day and one more word."""
    totals: dict[str, float] = {}
    days: dict[str, dict[str, float]] = {}
    for line in cost.lines:
        label = line.names[name] or "none"
        totals[label] = totals.get(label, 0.0) + line.usd
    dearest = sorted(totals, key=lambda label: -totals[label])
    kept = dearest if len(dearest) <= len(SHADES) else [*dearest[: len(SHADES) - 1], REST]
    for line in cost.lines:
        label = line.names[name] or "none"
        label = label if label in kept else REST
        day = days.setdefault(line.names["day"] or "", {})
        day[label] = day.get(label, 0.0) + line.usd
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="Cost of models by day and {escape(name)}">'
    )
    paper = f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>'
    title = words_at(MARGIN, 38, f"${cost.usd:,.4f}", 18, INK, ' font-weight="600"')
    shades = dict(zip(kept, SHADES, strict=False))
    body = [paper, title, *_legend(shades), *_bars(sorted(days.items()), shades)]
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _legend(shades: Mapping[str, str]) -> Iterator[str]:
    x = float(MARGIN)
    for label, shade in shades.items():
        shown = label if len(label) <= 28 else f"{label[:27]}…"
        yield f'<rect x="{x:g}" y="50" width="11" height="11" fill="{shade}"/>'
        yield words_at(x + 16, 60, shown, 12)
        x += 6.6 * len(shown) + 34


def _bars(
    days: Sequence[tuple[str, Mapping[str, float]]], shades: Mapping[str, str]
) -> Iterator[str]:
    most = max((sum(parts.values()) for _, parts in days), default=0.0)
    floor, room = TOP + CHART, WIDTH - 2 * MARGIN
    for quarter in range(5):
        y = floor - CHART * quarter / 4
        yield f'<path d="M{MARGIN} {y:g}h{room}" stroke="{GRID}"/>'
        label = f"${most * quarter / 4:.3g}"
        yield words_at(MARGIN - 6, y + 4, label, 10, more=' text-anchor="end"')
    each = room / max(len(days), 1)
    width = min(each - GAP, BAR_MAX)
    for number, (day, parts) in enumerate(days):
        x, y = MARGIN + number * each + (each - width) / 2, float(floor)
        for label, shade in shades.items():
            height = CHART * parts.get(label, 0.0) / most if most else 0.0
            y -= height
            said = f"{day}, {label}: ${parts.get(label, 0.0):.4f}"
            yield (
                f'<rect x="{x:.6g}" y="{y:.6g}" width="{width:.6g}" height="{height:.6g}" '
                f'fill="{shade}"><title>{escape(said)}</title></rect>'
            )
        if number % max(1, len(days) // LABELS_MAX) == 0:
            middle = ' text-anchor="middle"'
            yield words_at(x + width / 2, floor + 18, day, 10, more=middle)
