"""The table of acceptance items and promises, each with the tests that prove it.

The items are the lines of tests/acceptance/items.txt; the tests are those marked
`acceptance` or `promise`. An item is `pass` when all of its tests pass, `half` when they pass but
each says that a half is missing, `fail` when one fails, and `open` when none ran.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

ITEMS = Path(__file__).parent.parent / "tests/acceptance/items.txt"


@dataclass
class Item:
    """One thing to prove, and what is known about it."""

    number: str
    sentence: str
    tests: dict[str, str] = field(default_factory=dict)  #: test -> passed, failed, skipped, listed
    halves: dict[str, str] = field(default_factory=dict)  #: test -> what it does not prove

    @property
    def state(self) -> str:
        """One word for the table."""
        outcomes = set(self.tests.values())
        if "failed" in outcomes:
            return "fail"
        if "listed" in outcomes:
            return "listed"
        passed = {test for test, outcome in self.tests.items() if outcome == "passed"}
        if not passed:
            return "open"
        return "pass" if passed - self.halves.keys() else "half"


def items_to_prove(path: Path = ITEMS) -> dict[str, Item]:
    """The items by number, in the order of the file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", 1) for line in lines if line and not line.startswith("#"))
    return {number: Item(number, sentence) for number, sentence in pairs}


class Watcher:
    """Listens to pytest and notes the outcome of each proof."""

    def __init__(self, items: dict[str, Item]) -> None:
        self.items = items

    def note(self, test: str, properties: Iterable[tuple[str, object]], outcome: str) -> None:
        """A failure of any phase stays; otherwise the later phase says more."""
        for name, value in properties:
            if name != "proves" or not isinstance(value, list | tuple):
                continue
            number, half = value
            item = self.items[number]
            if item.tests.get(test) != "failed":
                item.tests[test] = outcome
            if half:
                item.halves[test] = half

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the call, and what failed or was skipped before or after it."""
        if report.when == "call" or report.outcome != "passed":
            outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
            self.note(report.nodeid, report.user_properties, outcome)


class Lister(Watcher):
    """Notes which tests there are, without running them."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Everything that was collected."""
        for item in session.items:
            self.note(item.nodeid, item.user_properties, "listed")


def table(items: Iterable[Item]) -> str:
    """Plain text: number, state, how many tests, the sentence, and what is missing."""
    lines = [f"{'item':<6}{'state':<8}{'tests':>5}  what is proved"]
    for item in items:
        lines.append(f"{item.number:<6}{item.state:<8}{len(item.tests):>5}  {item.sentence}")
        if item.state in ("fail", "half"):
            lines += [f"{'':<21}{test}: {outcome}" for test, outcome in item.tests.items()]
        if item.state == "half":
            lines += [f"{'':<21}missing: {half}" for half in sorted(set(item.halves.values()))]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Which items are proved, and by which tests.")
    parser.add_argument("--no-run", action="store_true", help="list the tests, do not run them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--strict", action="store_true", help="fail if an item is open or half")
    parser.add_argument("--workers", default="2", help="processes that run the tests (default 2)")
    return parser.parse_args()


def main() -> int:
    """Run or list the tests and print the table; 1 if a proof failed."""
    asked = arguments()
    items = items_to_prove()
    marked = ["-m", "acceptance or promise", "-q", "--no-header", "--no-summary"]
    with redirect_stdout(sys.stderr):  # what pytest says, apart from the table
        if asked.no_run:
            status = pytest.main([*marked, "-qq", "--collect-only"], plugins=[Lister(items)])
        else:
            workers = ["-n", asked.workers, "--dist", "loadgroup"]
            status = pytest.main([*marked, *workers], plugins=[Watcher(items)])
    states = Counter(item.state for item in items.values())
    if asked.json:
        rows = [{**asdict(item), "state": item.state} for item in items.values()]
        print(json.dumps({"states": states, "items": rows}, indent=2))
    else:
        print(table(items.values()))
        print("\n" + ", ".join(f"{count} {state}" for state, count in states.items()))
    fine = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    unproved = asked.strict and (states["open"] or states["half"])
    return 1 if status not in fine or states["fail"] or unproved else 0


if __name__ == "__main__":
    sys.exit(main())
