"""Jobs: work to be done later, as those see it who claim it, list it or look after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from recollect.domain.records import JsonObject
from recollect.domain.scopes import Place


class JobState(StrEnum):
    """What is becoming of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Job:
    """A queued piece of work, leased to whoever claimed it until `leased_until`.

    `attempt` is higher with every claim and fences off whoever held the job before; `tries` counts
    the claims since the job was queued or, when it was dead, tried again by hand.
    """

    number: int
    kind: str
    payload: JsonObject
    place: Place | None  #: None: the job is about the whole store
    memory: str | None
    attempt: int
    leased_until: int
    tries: int = 1


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job as it is listed."""

    number: int
    kind: str
    state: str  #: waiting, running or dead
    place: Place | None
    memory: str | None
    priority: int
    tries: int
    run_at: datetime  #: from when on it may run, or be tried again
    reason: str | None  #: why it failed last
    dead_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs to list: in order of their numbers, from behind one on."""

    now: int
    state: JobState | None = None
    kinds: tuple[str, ...] | None = None
    after: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Record:
    """What became of all jobs of a kind so far."""

    done: int = 0
    failed: int = 0  #: tries that failed
    last_done_at: datetime | None = None
    last_failed_at: datetime | None = None
    reason: str | None = None  #: why it failed last


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue at a moment: how much waits, since when, and what was done so far."""

    waiting: int = 0
    running: int = 0
    dead: int = 0
    due: int = 0  #: of those that wait: may run now
    due_since: datetime | None = None  #: since when the oldest of them could run
    next_at: datetime | None = None  #: when the next one may run, due or not
    next_by_kind: Mapping[str, datetime] = field(default_factory=dict[str, Any])
    running_kinds: tuple[str, ...] = ()
    waiting_by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    dead_by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    records: Mapping[str, Record] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What `maintain` did: how many jobs of each kind."""

    done: Mapping[str, int]
    failed: Mapping[str, int]  #: will be tried again by themselves
    dead: Mapping[str, int]  #: given up; `retry_job` tries one again
