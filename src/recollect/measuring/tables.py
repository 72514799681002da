"""Tables of what was measured: the same for a terminal and for a page in Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.domain.errors import ValidationError
from recollect.domain.records import JsonObject
from recollect.measuring import metrics

MAIN = "MAIN"  #: the row of all questions that count
FOLDS_SHOWN_MAX = 12
HEADS = tuple(name.replace("session ", "s.") for name in metrics.METRICS)


@dataclass(frozen=True, slots=True)
class Table:
    """A title, rows, and a few lines that belong to them."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()


def conditions(data: JsonObject) -> list[tuple[str, str]]:
    """Under which conditions it was measured."""
    told: dict[str, Any] = dict(data["conditions"])
    chosen = told.pop("configuration")
    named = ", ".join(f"{name} {value or 'none'}" for name, value in chosen.items())
    return [("one configuration for all sets", named), *((k, str(v)) for k, v in told.items())]


def results(data: JsonObject) -> Iterator[Table]:
    """For each set and lane: overall and per category, in percent, and what it took."""
    for one in data["sets"]:
        for number, (name, lane) in enumerate(one["lanes"].items()):
            rows = [_row(MAIN, lane["overall"])]
            rows += [_row(category, row) for category, row in lane["categories"].items()]
            below = [*([] if number else _about(one)), _took(lane)]
            yield Table(f"{one['name']}: {name}", ("", "n", *HEADS), tuple(rows), tuple(below))
        if one["ablations"]:
            yield _ablations(one)


def _ablations(one: JsonObject) -> Table:
    """What each feature gives: how far every metric falls without it."""
    rows = [
        (
            f"without {name}",
            str(found["overall"]["n"]),
            *(f"{100 * found['overall'][metric][1]:+.1f}" for metric in metrics.METRICS),
        )
        for name, found in one["ablations"].items()
    ]
    errors = [found["overall"][metrics.RECALLS[2]][2] for found in one["ablations"].values()]
    below = f"differences in points; the standard error of {metrics.RECALLS[2]} is at most "
    below += f"{100 * max(errors):.1f}"
    return Table(f"{one['name']}: ablations", ("", "n", *HEADS), tuple(rows), (below,))


def folds(data: JsonObject) -> Iterator[Table]:
    """For each set and lane: what remains when each conversation in turn is left out."""
    for one in data["sets"]:
        for name, lane in one["lanes"].items():
            found: dict[str, Any] = lane["folds"]
            title = f"{one['name']}: {name}, one conversation left out"
            if not all(found.values()):
                yield Table(title, ("",), (("there is only one conversation",),))
                continue
            left = list(found[metrics.MRR]["without"])
            shown = left if len(left) <= FOLDS_SHOWN_MAX else []
            rows = [
                (f"without {one}", *(_percent(found[m]["without"][one]) for m in metrics.METRICS))
                for one in shown
            ]
            rows.append(("mean", *(_percent(found[m]["mean"]) for m in metrics.METRICS)))
            rows.append(("spread ±", *(_percent(found[m]["spread"]) for m in metrics.METRICS)))
            yield Table(title, ("", *HEADS), tuple(rows))


def differences(before: JsonObject, after: JsonObject) -> Iterator[Table]:
    """For each set and lane of both runs: how much the second is higher, paired over questions."""
    former = {one["name"]: one["lanes"] for one in before["sets"]}
    told = False
    for one in after["sets"]:
        for name, lane in one["lanes"].items():
            if name in former.get(one["name"], {}):
                old, new = _counted(former[one["name"]][name]), _counted(lane)
                if old.keys() & new.keys():
                    told = True
                    yield _difference(f"{one['name']}: {name}, difference", old, new)
    if not told:
        raise ValidationError("the two runs have no set, lane and question in common")


def as_page(data: JsonObject, more: Sequence[Table]) -> str:
    """Everything as a page in Markdown."""
    told = "\n".join(f"- {name}: {value}" for name, value in conditions(data))
    parts = [f"# How well it recalls\n\n{told}\n"]
    for table in (*results(data), *more):
        lines = [
            table.head,
            tuple("---:" if i else "---" for i in range(len(table.head))),
            *table.rows,
        ]
        drawn = "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)
        parts.append(
            "\n".join([f"## {table.title}", "", drawn, *(f"\n{line}" for line in table.below), ""])
        )
    return "\n".join(parts)


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _row(name: str, row: JsonObject) -> tuple[str, ...]:
    cells = (_percent(row[metric]) if row["n"] else "" for metric in metrics.METRICS)
    return (name, str(row["n"]), *cells)


def _about(one: JsonObject) -> Iterator[str]:
    """What a set is, and what storing it took."""
    yield (
        f"{one['conversations']:,} conversations, {one['turns']:,} turns, {one['questions']:,} "
        f"questions; {one['counted']:,} count, {one['without evidence']:,} have no evidence"
    )
    ingest = one["ingest"]
    stored = f"stored {ingest['turns/s']:,} turns/s"
    if "embedder share" in ingest:
        stored += (
            f", embedded {ingest['texts embedded']:,} texts at {ingest['embedder texts/s']:,} a "
            f"second, which is {ingest['embedder share']:.0%} of the time"
        )
    yield stored if one["peak MiB"] is None else f"{stored}; memory at most {one['peak MiB']} MiB"


def _took(lane: JsonObject) -> str:
    """What recalls took and returned."""
    if lane["cost"] is None:
        return f"the order by its share alone, in a recall by {' and '.join(lane['took part'])}"
    cost = {name: f"{value:.1f}" for name, value in lane["cost"].items()}
    lost = f"; degraded in {lane['degraded']:,} recalls" if lane["degraded"] else ""
    return (
        f"recall by {' and '.join(lane['took part'])}: p50 {cost['p50 ms']} ms, p95 "
        f"{cost['p95 ms']} ms; CPU p50 {cost['CPU p50 ms']} ms, p95 {cost['CPU p95 ms']} ms; the "
        f"first of a memory {cost['first p50 ms']} ms; {lane['cost']['words']:,.0f} words in "
        f"{metrics.DEPTH} hits{lost}"
    )


def _counted(lane: JsonObject) -> dict[str, dict[str, float]]:
    return {one["id"]: one["scores"] for one in lane["answers"] if one["counts"]}


def _difference(
    title: str, old: dict[str, dict[str, float]], new: dict[str, dict[str, float]]
) -> Table:
    rows: list[tuple[str, ...]] = []
    both = old.keys() & new.keys()
    for metric, head in zip(metrics.METRICS, HEADS, strict=True):
        before = {id: old[id][metric] for id in both}
        after = {id: new[id][metric] for id in both}
        found = metrics.difference(before, after)
        means = (sum(values.values()) / len(both) for values in (before, after))
        change = (f"{100 * found.mean:+.1f}", f"{100 * found.error:.1f}")
        rows.append((head, str(len(both)), *map(_percent, means), *change))
    return Table(title, ("", "n", "before", "now", "difference", "± s.e."), tuple(rows))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
