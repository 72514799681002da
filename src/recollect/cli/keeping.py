"""Commands that keep a memory safe: export, import, backup, verify, stats."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.showing import counted
from recollect.cli.tables import (
    GREEN,
    RED,
    Column,
    Row,
    bar,
    clean,
    facts,
    paint_if,
    table,
)
from recollect.cli.terminal import screen_of, waiting
from recollect.domain.records import JsonObject, Verification

BAR_WIDTH = 20
#: The counts that `stats` draws as bars, and their titles.
BREAKDOWNS = {"by_kind": "KIND", "by_status": "STATUS", "by_tier": "TIER"}


@click.command()
@click.argument("path", type=click.Path(dir_okay=False))
@click.option("--all", "everything", is_flag=True, help="Every user, space and app.")
@click.option("--yes", is_flag=True, help="Overwrite PATH without being asked.")
@common
@pass_asked
def export(asked: Asked, path: str, everything: bool, yes: bool) -> None:
    """Write everything of a user to PATH, as JSON lines.

    Memories, sessions, links and profile, one JSON object a line.
    """
    if Path(path).exists() and not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(f"{path} exists; add --yes to overwrite it")
        click.confirm(f"{path} exists. Overwrite it?", abort=True, err=True)
    with asked.memory() as memory, waiting() as progress:
        count = memory.export(path, everything=everything, progress=progress)
    answer = {"path": path, "lines": count, "bytes": Path(path).stat().st_size}
    whose = "everybody" if everything else asked.settings.user
    asked.tell(answer, lambda: _done(f"Exported {counted(count, 'line')} of {whose} to {path}"))


@click.command("import")
@click.argument("path", type=click.Path(exists=True, dir_okay=False))
@common
@pass_asked
def import_(asked: Asked, path: str) -> None:
    """Take over an export from PATH.

    Everything returns to whom it came from, or goes to --user if one is named. What was erased
    does not come back, what is here already stays as it is.
    """
    with asked.memory(new=True) as memory, waiting() as progress:
        # Without a user the lines go back to the places that they name.
        target = memory if asked.user else memory.scope(user=None)
        told = target.import_(path, progress=progress)

    def lines() -> Iterator[str]:
        new = [_some(told, name) for name in ("memories", "sessions", "links", "profiles")]
        taken = ", ".join(filter(None, new)) or "nothing new"
        yield from _done(f"Imported {taken} from {path}")
        if known := told.get("known"):
            yield f"Already here: {known:,}"
        if erased := told.get("erased"):
            yield f"Left out because it was erased: {erased:,}"

    asked.tell(told, lines)


def _some(told: JsonObject, name: str) -> str:
    number = told.get(name, 0)
    singular = "memory" if name == "memories" else name[:-1]
    return counted(number, singular) if number else ""


@click.command()
@click.argument("path", type=click.Path())
@common
@pass_asked
def backup(asked: Asked, path: str) -> None:
    """Write a consistent copy to PATH.

    Others may go on writing meanwhile. The checksum of the copy is written beside it.
    """
    with asked.memory() as memory, waiting() as progress:
        memory.backup(path, progress=progress)
    size = Path(path).stat().st_size
    answer = {"path": path, "bytes": size, "checksum": f"{path}.sha256"}

    def lines() -> Iterator[str]:
        yield from _done(f"Copied {asked.where} to {path}, {sized(size)}")
        yield f"Check it with: recollect verify --db {path}"

    asked.tell(answer, lines)


@click.command()
@click.option("--repair", is_flag=True, help="First rebuild the index from the memories.")
@common
@pass_asked
def verify(asked: Asked, repair: bool) -> None:
    """Read everything and compare it with its digests.

    Exits with 1 if anything is wrong. Nothing is written unless --repair says so: a backup stays
    as it is.
    """
    with waiting() as progress:
        if repair:
            with asked.memory() as memory:
                found = memory.verify(repair=True, progress=progress)
        else:
            found = asked.check(progress)
    answer = {
        "ok": found.ok,
        "checked": dict(found.checked),
        "findings": [
            {"subject": one.subject, "problem": one.problem, "remedy": one.remedy}
            for one in found.findings
        ],
    }
    asked.tell(answer, lambda: _verified(found, asked.where))
    if not found.ok:
        raise click.exceptions.Exit(1)


def _verified(found: Verification, where: str) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    if found.ok:
        checked = [f"{name} {number:,}" for name, number in found.checked.items() if number]
        yield from _done(f"Sound: {where}")
        yield from facts([("checked", ", ".join(checked))], screen)
        return
    yield paint_if(screen, RED, f"{where}: {counted(len(found.findings), 'finding')}")
    columns = (Column("WHAT"), Column("PROBLEM"), Column("WHAT TO DO", lines_max=4))
    rows = [Row((one.subject, one.problem, one.remedy)) for one in found.findings]
    yield from table(columns, rows, screen)


@click.command()
@common
@pass_asked
def stats(asked: Asked) -> None:
    """Count what the memory holds, for all users together."""
    with asked.memory() as memory:
        told = memory.stats()
    asked.tell(told, lambda: _counts(told))


def _counts(told: JsonObject) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    pairs: list[tuple[str, str]] = []
    for name, value in told.items():
        if isinstance(value, int):
            shown = sized(value) if name.endswith("bytes") else f"{value:,}"
            pairs.append((name.removesuffix("_bytes").replace("_", " "), shown))
    yield from facts([("file", str(told.get("file", ""))), *_renamed(pairs)], screen)
    for key, title in BREAKDOWNS.items():
        numbers: dict[str, int] = told.get(key) or {}
        if not numbers:
            continue
        yield ""
        most = max(numbers.values())
        ranked = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
        rows = [
            Row((name, f"{number:,}", bar(number / most, BAR_WIDTH, screen).rstrip()))
            for name, number in ranked
        ]
        columns = (Column(title), Column("MEMORIES", right=True), Column("", paint=GREEN))
        yield from table(columns, rows, screen)


def _renamed(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The size of the file is not called like the file."""
    yield from (("size" if name == "file" else name, shown) for name, shown in pairs)


def sized(count: int) -> str:
    """A number of bytes as people say it."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"


def _done(line: str) -> Iterator[str]:
    first, _, rest = clean(line).partition(" ")
    yield f"{paint_if(screen_of(sys.stdout), GREEN, first)} {rest}"
