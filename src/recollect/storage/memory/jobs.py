"""Jobs in memory: queued, claimed, held, ended, listed."""

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain import operations, times
from recollect.domain.errors import LeaseLost, NotFound
from recollect.domain.jobs import Job, JobQuery, JobState, Queue, QueuedJob, Record
from recollect.storage.memory.tables import JobRow, Tables


def enqueue(tables: Tables, op: operations.Enqueue) -> int | None:
    """Queue a job; none for a memory that is not there (its write was a repetition), nor for a
    unique one of which another waits.
    """
    row = None if op.memory is None else tables.row_of.get(op.memory)
    if op.memory is not None and (row is None or tables.memories[row].record.place != op.place):
        return None
    if op.place is not None:
        tables.place(op.place)
    alike = (op.kind, op.place, row)
    if op.unique and any(
        (one.kind, one.place, one.memory) == alike and one.state(op.at) is JobState.WAITING
        for one in tables.jobs.values()
    ):
        return None
    number = tables.next("job")
    due_at = op.at if op.run_at is None else op.run_at
    payload = copy.deepcopy(op.payload)
    tables.jobs[number] = JobRow(op.kind, op.place, row, payload, due_at, op.priority, op.alone)
    return number


def renew(tables: Tables, op: operations.RenewJob) -> None:
    """Hold a job for longer."""
    tables.jobs[op.number] = replace(_held(tables, op), leased_until=op.until)


def finish(tables: Tables, op: operations.FinishJob) -> None:
    """Take a job off the queue."""
    kind = _held(tables, op).kind
    del tables.jobs[op.number]
    record = tables.duties.get(kind, Record())
    tables.duties[kind] = replace(record, done=record.done + 1, last_done_at=times.show(op.at))


def retry(tables: Tables, op: operations.RetryJob) -> None:
    """Let go of a job, to be tried again."""
    row = _held(tables, op)
    freed = replace(row, leased_until=0, due_at=op.run_at)
    if op.reason is None:
        tables.jobs[op.number] = replace(freed, tries=row.tries - 1)
        return
    tables.jobs[op.number] = replace(freed, reason=op.reason)
    _count_failed(tables, row.kind, op.at, op.reason)


def bury(tables: Tables, op: operations.BuryJob) -> None:
    """Give a job up."""
    row = _held(tables, op)
    tables.jobs[op.number] = replace(row, leased_until=0, dead_at=op.at, reason=op.reason)
    _count_failed(tables, row.kind, op.at, op.reason)


def revive(tables: Tables, op: operations.ReviveJob) -> None:
    """Try a dead job again."""
    row = tables.jobs.get(op.number)
    if row is None or row.dead_at is None:
        raise NotFound(f"there is no dead job {op.number}")
    tables.jobs[op.number] = replace(row, dead_at=None, tries=0, due_at=op.at)


JOBS: Mapping[type, Callable[[Tables, Any], Any]] = {
    operations.Enqueue: enqueue,
    operations.RenewJob: renew,
    operations.FinishJob: finish,
    operations.RetryJob: retry,
    operations.BuryJob: bury,
    operations.ReviveJob: revive,
}

Held = operations.RenewJob | operations.FinishJob | operations.RetryJob | operations.BuryJob


def _held(tables: Tables, op: Held) -> JobRow:
    """A job that is still held under this attempt."""
    row = tables.jobs.get(op.number)
    if row is None or row.attempt != op.attempt or not row.leased_until:
        raise LeaseLost(
            f"job {op.number} is not held any more: its lease ran out and it was claimed anew, "
            "or it was erased"
        )
    return row


def _count_failed(tables: Tables, kind: str, at: int, reason: str) -> None:
    record = tables.duties.get(kind, Record())
    tables.duties[kind] = replace(
        record, failed=record.failed + 1, last_failed_at=times.show(at), reason=reason
    )


# -- claiming and reading --------------------------------------------------------------------------


def claim(tables: Tables, kinds: Sequence[str], limit: int, now: int, until: int) -> list[Job]:
    """Lease due jobs, one after the other, so that each sees what was claimed before it."""
    claimed: list[Job] = []
    while len(claimed) < limit:
        running = {
            (row.kind, row.place)
            for row in tables.jobs.values()
            if row.state(now) is JobState.RUNNING
        }
        due = [
            (-row.priority, row.due_at, number)
            for number, row in tables.jobs.items()
            if row.kind in kinds
            and row.due_at <= now
            and row.state(now) is JobState.WAITING
            and not (row.alone and (row.kind, row.place) in running)
        ]
        if not due:
            break
        claimed.append(_lease(tables, min(due)[2], until))
    return claimed


def _lease(tables: Tables, number: int, until: int) -> Job:
    row = tables.jobs[number]
    leased = replace(row, attempt=row.attempt + 1, tries=row.tries + 1, leased_until=until)
    tables.jobs[number] = leased
    return Job(
        number=number,
        kind=row.kind,
        payload=copy.deepcopy(row.payload),
        place=row.place,
        memory=_memory(tables, row),
        attempt=leased.attempt,
        leased_until=until,
        tries=leased.tries,
    )


def _memory(tables: Tables, row: JobRow) -> str | None:
    return None if row.memory is None else tables.memories[row.memory].record.id


def listed(tables: Tables, asked: JobQuery) -> list[QueuedJob]:
    """Jobs in order of their numbers."""
    found = [
        QueuedJob(
            *(number, row.kind, row.state(asked.now).value),
            place=row.place,
            memory=_memory(tables, row),
            priority=row.priority,
            tries=row.tries,
            run_at=times.show(row.due_at),
            reason=row.reason,
            dead_at=times.show_optional(row.dead_at),
        )
        for number, row in sorted(tables.jobs.items())
        if number > asked.after
        and asked.state in (None, row.state(asked.now))
        and (asked.kinds is None or row.kind in asked.kinds)
    ]
    return found[: asked.limit]


def queue(tables: Tables, now: int) -> Queue:
    """The queue at a moment."""
    by_state = {state: list[JobRow]() for state in JobState}
    for row in tables.jobs.values():
        by_state[row.state(now)].append(row)
    waiting = by_state[JobState.WAITING]
    due = [row.due_at for row in waiting if row.due_at <= now]
    kinds = sorted({row.kind for row in waiting})
    next_by_kind = {kind: min(r.due_at for r in waiting if r.kind == kind) for kind in kinds}
    return Queue(
        **{state.value: len(rows) for state, rows in by_state.items()},
        due=len(due),
        due_since=times.show_optional(min(due, default=None)),
        next_at=times.show_optional(min(next_by_kind.values(), default=None)),
        next_by_kind={kind: times.show(at) for kind, at in next_by_kind.items()},
        waiting_by_kind=Counter(row.kind for row in waiting),
        dead_by_kind=Counter(row.kind for row in by_state[JobState.DEAD]),
        running_kinds=tuple(sorted({row.kind for row in by_state[JobState.RUNNING]})),
        records=dict(sorted(tables.duties.items())),
    )
