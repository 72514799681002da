"""The report: what was measured, on which machine, as a table, as JSON and as a page."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from bench.material import SEED
from bench.measuring import Row, verdict

PAGE = Path(__file__).parent.parent / "docs/reference/benchmarks.md"
RESULTS = Path(__file__).parent / "results/latest.json"
_HEAD = "| what | target | measured | reference, same run | |\n|---|---|---|---|---|\n"
_INTRODUCTION = """# Benchmarks

Written by `make bench`; every number comes from one run of it. Times are CPU time of one core
unless they say wall. A reference is measured in the same run, in turns with ours, because a shared
machine is now fast and now slow: compare ratios, not times. Numerical libraries keep to one thread.
Texts have about twenty words, drawn by Zipf's law from a vocabulary of 30,000, with every fourth
one a sentence that a person might say; vectors have 384 dimensions and lie in 1,000 clusters.

Read with care: `--full` makes the file of the crowded scope a million memories instead of 200,000.
Where a bare commit takes over a millisecond of wall time the disk hides our share, so a wall ratio
that is met says little; the CPU ratio does not depend on that. Other work on the machine empties
the caches while a write waits for the disk: the quietest round shows what remains without it.
"""


@dataclass(slots=True)
class Report:
    """All rows of one run, in sections, and where they were measured."""

    sections: dict[str, list[Row]]
    machine: dict[str, Any]

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """Take over what one measurement found."""
        self.sections[name] = list(rows)

    def finish(self) -> None:
        """Note what the machine was doing at the end."""
        self.machine["load after"] = load()

    def missed(self) -> list[Row]:
        """The rows that missed their target."""
        return [row for rows in self.sections.values() for row in rows if row.met is False]

    def as_json(self) -> str:
        """Everything, for programs."""
        rows = {name: [asdict(row) for row in rows] for name, rows in self.sections.items()}
        return json.dumps({"machine": self.machine, "rows": rows}, indent=1, ensure_ascii=False)

    def as_page(self) -> str:
        """Everything, for people."""
        where = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        table = "".join(line(row) for rows in self.sections.values() for row in rows)
        return f"{_INTRODUCTION}\nMeasured with {where}.\n\n{_HEAD}{table}{self._missed_page()}"

    def _missed_page(self) -> str:
        found = [row for row in self.missed() if row.why]
        parts = [f"\n### {row.what}\n\n```text\n{row.why}\n```\n" for row in found]
        return "".join(["\n## Where the time of missed targets goes\n", *parts]) if parts else ""


def line(row: Row) -> str:
    """A row as a line of a Markdown table."""
    return (
        f"| {row.what} | {row.target} | {row.measured} | {row.reference} | {verdict(row.met)} |\n"
    )


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": SEED,
        "source": source(),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "load before": load(),
        "Python": platform.python_version(),
        "SQLite": apsw.sqlite_lib_version(),
        **{name: importlib.metadata.version(name) for name in ("apsw", "numpy", "PyStemmer")},
    }


def load() -> str:
    """How many processes wanted to run over the last 1, 5 and 15 minutes."""
    return "{:.1f} / {:.1f} / {:.1f}".format(*os.getloadavg())


def source() -> str:
    """Which source was measured, and whether it differs from what is committed."""
    asked = ("git", "-C", str(PAGE.parent))
    commit = subprocess.run(
        [*asked, "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True
    )
    changed = subprocess.run([*asked, "diff", "--quiet", "HEAD", "--", ":/src"], check=False)
    return (commit.stdout.strip() or "unknown") + (" with changes" if changed.returncode else "")


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for entry in cpuinfo.read_text(encoding="utf-8").splitlines():
            if entry.startswith("model name"):
                return entry.partition(":")[2].strip()
    return platform.machine()
