"""Jobs in the file: queued, claimed, held, ended, listed."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw

from recollect.domain import operations, times
from recollect.domain.errors import LeaseLost, NotFound
from recollect.domain.jobs import Job, JobQuery, JobState, Queue, QueuedJob, Record
from recollect.domain.records import compact
from recollect.domain.scopes import Place
from recollect.storage.sqlite import rows
from recollect.storage.sqlite.sql import first, query, run
from recollect.storage.sqlite.writing import Transaction

#: The place of jobs about the whole store.
EVERYWHERE = 0


def enqueue(tx: Transaction, op: operations.Enqueue) -> int | None:
    """Queue a job; none for a memory that is not there (its write was a repetition), nor for a
    unique one of which another waits.
    """
    place = EVERYWHERE if op.place is None else tx.place(op.place)
    row: int | None = None
    if op.memory is not None:
        found = tx.first("memory_by_id", op.memory)
        if found is None or found[1] != place:
            return None
        row = found[0]
    if op.unique and tx.first("waiting_job", op.at, op.kind, place, row) is not None:
        return None
    run_at = op.at if op.run_at is None else op.run_at
    values = (op.kind, place, row, compact(op.payload), run_at, op.priority, int(op.alone))
    number: int = tx.scalar("insert_job", *values)
    tx.run("sum_job", number)
    return number


def renew(tx: Transaction, op: operations.RenewJob) -> None:
    """Hold a job for longer."""
    _change(tx, "renew_job", op, op.until)


def finish(tx: Transaction, op: operations.FinishJob) -> None:
    """Take a job off the queue."""
    kind = _change(tx, "finish_job", op)
    tx.run("count_done", kind, op.at)
    tx.run("sum_duty", kind)


def retry(tx: Transaction, op: operations.RetryJob) -> None:
    """Let go of a job, to be tried again."""
    if op.reason is None:
        _change(tx, "give_back_job", op, op.run_at)
        return
    kind = _change(tx, "retry_job", op, op.run_at, op.reason)
    _count_failed(tx, kind, op.at, op.reason)


def bury(tx: Transaction, op: operations.BuryJob) -> None:
    """Give a job up."""
    kind = _change(tx, "bury_job", op, op.at, op.reason)
    _count_failed(tx, kind, op.at, op.reason)


def revive(tx: Transaction, op: operations.ReviveJob) -> None:
    """Try a dead job again."""
    if tx.first("revive_job", op.number, op.at) is None:
        raise NotFound(f"there is no dead job {op.number}")
    tx.run("sum_job", op.number)


JOBS: Mapping[type, Callable[[Transaction, Any], Any]] = {
    operations.Enqueue: enqueue,
    operations.RenewJob: renew,
    operations.FinishJob: finish,
    operations.RetryJob: retry,
    operations.BuryJob: bury,
    operations.ReviveJob: revive,
}

Held = operations.RenewJob | operations.FinishJob | operations.RetryJob | operations.BuryJob


def _change(tx: Transaction, name: str, op: Held, *values: Any) -> str:
    """Change a job if it is still held under this attempt; its kind."""
    changed = tx.first(name, op.number, op.attempt, *values)
    if changed is None:
        raise LeaseLost(
            f"job {op.number} is not held any more: its lease ran out and it was claimed anew, "
            "or it was erased"
        )
    tx.run("sum_job", op.number)
    return changed[0]


def _count_failed(tx: Transaction, kind: str, at: int, reason: str) -> None:
    tx.run("count_failed", kind, at, reason)
    tx.run("sum_duty", kind)


# -- claiming and reading --------------------------------------------------------------------------


def claim(
    connection: apsw.Connection, kinds: Sequence[str], limit: int, now: int, until: int
) -> list[Job]:
    """Lease due jobs, one after the other, so that each sees what was claimed before it."""
    claimed: list[Job] = []
    listed = rows.json_list(kinds)
    while len(claimed) < limit:
        row = first(connection, "next_job", now, listed)
        if row is None:
            break
        number, kind, place, memory, payload, attempt, tries = row
        run(connection, "lease_job", until, number)
        run(connection, "sum_job", number)
        where = _place(connection, place)
        claimed.append(
            Job(number, kind, json.loads(payload), where, memory, attempt + 1, until, tries + 1)
        )
    return claimed


def listed(connection: apsw.Connection, asked: JobQuery) -> list[QueuedJob]:
    """Jobs in order of their numbers."""
    kinds = None if asked.kinds is None else rows.json_list(asked.kinds)
    values = (asked.now, asked.after, asked.state, kinds, asked.limit)
    return [
        QueuedJob(
            *(number, kind, state),
            place=_place(connection, place),
            memory=memory,
            priority=priority,
            tries=tries,
            run_at=times.show(due_at),
            reason=reason,
            dead_at=times.show_optional(dead_at),
        )
        for number, kind, state, place, memory, priority, tries, due_at, reason, dead_at in query(
            connection, "list_jobs", *values
        )
    ]


def queue(connection: apsw.Connection, now: int) -> Queue:
    """The queue at a moment."""
    counts: dict[JobState, dict[str, int]] = {state: {} for state in JobState}
    due, due_since = 0, None
    next_by_kind: dict[str, int] = {}
    for kind, state, number, overdue, earliest in query(connection, "count_jobs", now):
        counts[JobState(state)][kind] = number
        if state == JobState.WAITING:
            next_by_kind[kind] = earliest
            due += overdue
            due_since = min(due_since or earliest, earliest) if overdue else due_since
    return Queue(
        **{state.value: sum(numbers.values()) for state, numbers in counts.items()},
        due=due,
        due_since=times.show_optional(due_since),
        next_at=times.show_optional(min(next_by_kind.values(), default=None)),
        next_by_kind={kind: times.show(at) for kind, at in sorted(next_by_kind.items())},
        running_kinds=tuple(sorted(counts[JobState.RUNNING])),
        waiting_by_kind=counts[JobState.WAITING],
        dead_by_kind=counts[JobState.DEAD],
        records={
            kind: Record(
                *(done, failed),
                last_done_at=times.show_optional(done_at),
                last_failed_at=times.show_optional(failed_at),
                reason=reason,
            )
            for kind, done, failed, done_at, failed_at, reason in query(connection, "duties")
        },
    )


def _place(connection: apsw.Connection, number: int) -> Place | None:
    return None if number == EVERYWHERE else rows.place_of(connection, number)
