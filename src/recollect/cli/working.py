"""Commands about what runs later: maintain, worker, jobs."""

import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import click

from recollect.cli.asking import Asked, common, pass_asked, short
from recollect.cli.showing import counted, minute
from recollect.cli.tables import GREEN, RED, YELLOW, Column, Paint, Row, table
from recollect.cli.terminal import remark, screen_of, waiting
from recollect.domain import times
from recollect.domain.jobs import JobState, Maintenance, QueuedJob
from recollect.domain.limits import LIST_LIMIT_MAX
from recollect.domain.records import JsonObject
from recollect.ports.store import Progress

#: After the first signal to stop, what runs has so long to come to its end.
DRAIN_S = 20.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STATE_PAINTS: Mapping[str, Paint] = {JobState.DEAD: RED, JobState.RUNNING: YELLOW}


@click.command()
@common
@pass_asked
def maintain(asked: Asked) -> None:
    """Carry out now whatever is due, and say what it was.

    Exits with 1 if a job was given up.
    """
    with asked.memory() as memory, waiting() as progress:
        done = memory.maintain(progress=progress)
    _tell(asked, done)


@click.command()
@click.option("--once", is_flag=True, help="End when nothing is due any more.")
@common
@pass_asked
def worker(asked: Asked, once: bool) -> None:
    """Carry out jobs as they become due, until it is stopped.

    Any number of workers may share a memory. SIGTERM lets the job that runs come to its end, for
    20 seconds at most; a second one does not wait. Killing a worker loses nothing.
    """
    with waiting() as progress:
        if not once:
            remark(f"working on {asked.where}; stop with Ctrl-C or SIGTERM")
        _tell(asked, asyncio.run(_work(asked, progress, once=once)))


async def _work(asked: Asked, progress: Progress, *, once: bool) -> Maintenance:
    """Work until nothing is due, or until a signal says that it is enough."""
    stop = asyncio.Event()
    running: list[asyncio.Task[Maintenance]] = []
    loop = asyncio.get_running_loop()

    def end() -> None:
        for task in running:
            task.cancel()

    def asked_to_stop() -> None:
        if stop.is_set():
            end()
        else:
            stop.set()
            loop.call_later(DRAIN_S, end)

    for number in SIGNALS:  # before anything is open: a signal may come at any time
        with suppress(NotImplementedError):  # on Windows, where Ctrl-C interrupts
            loop.add_signal_handler(number, asked_to_stop)
    keeper = asked.keeper()
    task = asyncio.create_task(keeper.serve(stop, progress, once=once))
    running.append(task)
    try:
        return await task
    except asyncio.CancelledError:
        return keeper.worked
    finally:
        await keeper.close()


def _tell(asked: Asked, done: Maintenance) -> None:
    answer = {"done": dict(done.done), "failed": dict(done.failed), "dead": dict(done.dead)}
    asked.tell(answer, lambda: _maintained(done))
    if done.dead:
        raise click.exceptions.Exit(1)


def _maintained(done: Maintenance) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    if not (done.done or done.failed or done.dead):
        yield "Nothing is due."
        return
    outcomes = (
        ("done", done.done, GREEN),
        ("failed, will be tried again", done.failed, YELLOW),
        ("given up; see `recollect jobs --state dead`", done.dead, RED),
    )
    rows = [
        Row((kind, f"{number:,}", outcome), paint=paint)
        for outcome, numbers, paint in outcomes
        for kind, number in sorted(numbers.items())
    ]
    columns = (Column("KIND"), Column("JOBS", right=True), Column("OUTCOME"))
    yield from table(columns, rows, screen)


@click.command()
@click.option("--state", type=click.Choice([one.value for one in JobState]), help="Only these.")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option(
    "--limit", type=click.IntRange(1, LIST_LIMIT_MAX), default=50, help="How many.  [default: 50]"
)
@click.option("--after", type=click.IntRange(0), default=0, help="Go on behind this job.")
@click.option(
    "--retry",
    "retried",
    multiple=True,
    metavar="NUMBER",
    help="Try this dead job again; `all` of them.",
)
@common
@pass_asked
def jobs(
    asked: Asked,
    state: str | None,
    kind: str | None,
    limit: int,
    after: int,
    retried: Sequence[str],
) -> None:
    """List what waits to be done, or try again what was given up.

    \b
    recollect jobs --state dead
    recollect jobs --retry all
    """
    with asked.memory() as memory:
        if retried:
            dead = memory.jobs(state=JobState.DEAD, kind=kind, limit=LIST_LIMIT_MAX)
            numbers = [job.number for job in dead] if "all" in retried else [*map(_number, retried)]
            for number in numbers:
                memory.retry_job(number)
            asked.tell({"retried": numbers}, lambda: iter([_revived(numbers)]))
            return
        listed = memory.jobs(state=state, kind=kind, after=after, limit=limit)
    asked.tell({"jobs": [_job_json(job) for job in listed]}, lambda: _listed(listed, limit))


def _number(given: str) -> int:
    if not given.isdecimal():
        raise click.UsageError(f"--retry takes the number of a job, or all, not {given!r:.40}")
    return int(given)


def _revived(numbers: Sequence[int]) -> str:
    what = f"{counted(len(numbers), 'job')} will be tried again"
    return what if numbers else "No job is dead."


def _listed(listed: Sequence[QueuedJob], limit: int) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    columns = (
        Column("JOB", right=True),
        Column("KIND"),
        Column("STATE"),
        Column("TRIES", right=True, spare=True),
        Column("DUE"),
        Column("ABOUT", spare=True),
        Column("FAILED BY"),
    )
    rows = [
        Row(
            (
                *(str(job.number), job.kind, job.state, str(job.tries), minute(job.run_at)),
                "" if job.memory is None else short(job.memory),
                job.reason or "",
            ),
            paint=_STATE_PAINTS.get(job.state),
        )
        for job in listed
    ]
    if rows:
        yield from table(columns, rows, screen)
    yield counted(len(listed), "job")
    if len(listed) == limit:
        yield f"more: --after {listed[-1].number}"


def _job_json(job: QueuedJob) -> JsonObject:
    return {
        "number": job.number,
        "kind": job.kind,
        "state": job.state,
        "memory": job.memory,
        "priority": job.priority,
        "tries": job.tries,
        "run_at": times.iso(job.run_at),
        "reason": job.reason,
        "dead_at": None if job.dead_at is None else times.iso(job.dead_at),
    }
