"""`python -m bench`: every performance target, measured; writes JSON and a page."""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import (
    assembling,
    consolidating,
    conversing,
    counting,
    growing,
    searching,
    startup,
    together,
    writing,
)
from bench.measuring import Row
from bench.report import PAGE, RESULTS, Report, line, machine
from bench.workshop import Workshop

MEASURES: dict[str, Callable[[Workshop], Sequence[Row]]] = {
    "import": startup.importing,
    "installed": startup.installed,
    "cold": startup.beginning,
    "single": writing.single,
    "batch": writing.batch,
    "recall": searching.recall,
    "conversations": conversing.conversations,
    "isolation": searching.isolation,
    "first": growing.first_recall,
    "exactness": searching.exactness,
    "growth": growing.remembering,
    "consolidation": consolidating.consolidating,
    "tokens": counting.counting,
    "context": assembling.assembling,
    "threads": together.threads,
    "processes": together.processes,
}


def arguments() -> argparse.Namespace:
    """What to measure, and where the results go."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller files, fewer rounds")
    parser.add_argument("--full", action="store_true", help="a file of a million memories too")
    parser.add_argument("--only", action="append", choices=list(MEASURES), metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where to write the JSON")
    parser.add_argument("--folder", type=Path, help="where to build the files: on the disk to test")
    return parser.parse_args()


def run(asked: argparse.Namespace, folder: Path) -> Report:
    """Measure one thing after another, and say what was found at once."""
    shop = Workshop(folder, quick=asked.quick, full=asked.full)
    report = Report({}, machine())
    for name in asked.only or MEASURES:
        start = time.monotonic()
        rows = MEASURES[name](shop)
        report.add(name, rows)
        for row in rows:
            print(line(row), end="", flush=True)
            if row.why:
                print(row.why, flush=True)
        load, spent = os.getloadavg()[0], time.monotonic() - start
        print(f"   {name}: {spent:.0f} s, load {load:.1f}", flush=True)
    report.finish()
    return report


def main() -> None:
    """Measure and write down. Only a run of everything replaces the committed results."""
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=asked.folder) as folder:
        report = run(asked, Path(folder))
    if not (asked.only or asked.quick):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(report.as_json() + "\n", encoding="utf-8")
        PAGE.write_text(report.as_page(), encoding="utf-8")
    if asked.json:
        asked.json.write_text(report.as_json() + "\n", encoding="utf-8")
    print(f"{len(report.missed())} missed")


if __name__ == "__main__":
    main()
