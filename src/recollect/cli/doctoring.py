"""The command that looks at everything, and repairs what can be made anew: doctor."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.keeping import sized
from recollect.cli.showing import counted
from recollect.cli.tables import (
    GREEN,
    RED,
    YELLOW,
    Column,
    Paint,
    Row,
    facts,
    fitted,
    paint_if,
    table,
)
from recollect.cli.terminal import screen_of, waiting
from recollect.domain import times
from recollect.domain.health import Fact, Health, State
from recollect.domain.jobs import JobState
from recollect.domain.limits import LIST_LIMIT_MAX
from recollect.domain.records import Verification
from recollect.engine.remembering import EMBED_JOB

_PAINTS: Mapping[str, Paint] = {
    State.HEALTHY: GREEN,
    State.DEGRADED: YELLOW,
    State.FAILING: RED,
}
#: What --repair makes anew, since it follows from the rest, and what it leaves alone.
REPAIRED = "the index, and the vectors that are owed"
UNTOUCHED = (
    "memories, profiles, links, sessions and events: damage there is mended by restoring a backup"
)


@click.command()
@click.option("--repair", is_flag=True, help="Make anew what follows from the memories.")
@click.option("--quick", is_flag=True, help="Do not read everything that is stored.")
@common
@pass_asked
def doctor(asked: Asked, repair: bool, quick: bool) -> None:
    """Look at every part, and at everything that is stored.

    Exits with 1 if a part is failing or anything stored is not what was written. --repair builds
    the index anew and makes the vectors that are owed; it never touches memories.
    """
    with asked.memory() as memory, waiting() as progress:
        if repair:
            for job in memory.jobs(state=JobState.DEAD, kind=EMBED_JOB, limit=LIST_LIMIT_MAX):
                memory.retry_job(job.number)
        found = None if quick and not repair else memory.verify(repair=repair, progress=progress)
        made = memory.catch_up(limit=LIST_LIMIT_MAX) if repair else 0
        health = memory.health()
    sound = found is None or found.ok
    answer = {
        "state": health.state if sound else State.FAILING.value,
        "parts": [asdict(part) for part in health.parts],
        "errors": [{**asdict(one), "timestamp": times.iso(one.timestamp)} for one in health.errors],
        "findings": [] if found is None else [asdict(one) for one in found.findings],
        "repaired": [REPAIRED] if repair else [],
        "untouched": [UNTOUCHED],
    }
    asked.tell(answer, lambda: _lines(health, found, asked.where, made if repair else None))
    if not sound or health.state == State.FAILING:
        raise click.exceptions.Exit(1)


def _lines(
    health: Health, found: Verification | None, where: str, made: int | None
) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    yield f"{paint_if(screen, _PAINTS[health.state], health.state)}  {where}"
    yield ""
    columns = (Column("PART"), Column("STATE"), Column("WHAT IS KNOWN", lines_max=6))
    rows = [
        Row(
            (part.name, part.state, _told(part.facts)),
            below=_remedy(part.remedy),
        )
        for part in health.parts
    ]
    yield from table(columns, rows, screen)
    yield ""
    if found is not None and found.ok:
        rows_read = counted(sum(found.checked.values()), "row")
        yield f"Everything that is stored is what was written: {rows_read}"
    elif found is not None:
        yield paint_if(screen, RED, counted(len(found.findings), "finding"))
        titles = (Column("WHAT"), Column("PROBLEM"), Column("WHAT TO DO", lines_max=4))
        listed = [Row((one.subject, one.problem, one.remedy)) for one in found.findings]
        yield from table(titles, listed, screen)
    if made is not None:
        pairs = [("repaired", f"{REPAIRED} ({made:,})"), ("left alone", UNTOUCHED)]
        yield from facts(pairs, screen)


def _remedy(said: str | None) -> Callable[[int | None], Iterable[str]] | None:
    """What to do about a part, below what is known of it."""
    return None if said is None else lambda room: fitted(f"→ {said}", room, 3)


def _told(known: Mapping[str, Fact]) -> str:
    """Facts in a line; those that say nothing are left out."""
    told = {name: fact for name, fact in known.items() if _says(fact)}
    said = [f"{name.replace('_', ' ')} {_shown(name, fact)}" for name, fact in told.items()]
    return ", ".join(said) or "nothing to tell"


def _says(fact: Fact) -> bool:
    return fact is not None and (fact != 0 or isinstance(fact, bool))


def _shown(name: str, fact: Fact) -> str:
    if isinstance(fact, int) and name.endswith("bytes"):
        return sized(fact)
    return f"{fact:,}" if isinstance(fact, int) else f"{fact}"
