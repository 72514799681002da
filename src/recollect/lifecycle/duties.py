"""What a duty is: a kind of job, and how it is carried out.

A duty is a coroutine of the keeper. It takes a job, reads whatever it needs, and returns the
operations that make up its effect. It writes nothing itself: the operations are committed in one
transaction with the end of the job, which happens only if the job is still held. So a duty may run
more than once, for instance when its process was killed, and has its effect once.

A duty is one step of bounded size. Work that is larger returns, among its operations, the `Enqueue`
of the next step: it is then resumed where it was, whatever happens in between.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.domain.jobs import Job
from recollect.domain.operations import Operation

Run = Callable[[Any, Job], Awaitable[Sequence[Operation]]]


def always(keeper: Any) -> bool:
    """A duty that needs nothing."""
    return True


@dataclass(frozen=True, slots=True)
class Duty:
    """A kind of job.

    >>> Duty("tidy", Tidying.tidy, every_s=86_400)
    """

    kind: str
    run: Run
    tries_max: int = 8
    #: Longest time for one try; a loop ends it then, and its lease is not renewed any more.
    timeout_s: float = 300
    #: How often it is to run for the whole store, by itself. None: only when it is queued.
    every_s: float | None = None
    #: Whether the keeper has what it takes, an embedder for instance.
    able: Callable[[Any], bool] = always
