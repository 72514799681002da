"""Where jobs run: in a worker process, or in the background of the process that queues them.

In the background they run when something is due, and politely: after each job there is a rest of
several times as long as it took. Where no port suspends that is a thread of its own, which steps
through the same coroutines; where one does, it is a task on the loop that the ports belong to. Both
end when nothing is due for a while, and the next call that is made after that begins anew.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from recollect.domain import times
from recollect.domain.errors import ClosedError, InternalError, StorageError
from recollect.domain.jobs import Maintenance
from recollect.lifecycle.working import Working
from recollect.logs import note
from recollect.ports.store import Progress

LOG = logging.getLogger("recollect.jobs")
#: A worker looks for new jobs so often.
POLL_S = 2.0
#: How long to leave a store alone that fails.
STORE_REST_S = 15.0
#: In the background nothing begins at once: whoever queued a job has to commit it first, and a
#: short script should end before.
GRACE_S = 1.0
#: For what is due within this time the background waits rather than ending.
LINGER_S = 60.0
#: For each second of work in the background so many seconds of rest, up to REST_MAX_S.
REST = 4.0
REST_MAX_S = 1.0


class Serving(Working):
    """Runs jobs as they become due."""

    async def serve(
        self, stop: asyncio.Event, progress: Progress, *, once: bool = False
    ) -> Maintenance:
        """Carry out jobs until `stop` is set, or `once` until nothing is due.

        The job that runs when it is set is the last.
        """
        planted = False
        while not stop.is_set():
            wait_s = POLL_S
            try:
                if not planted:
                    await self.plant()
                    planted = True
                await self.run_due(progress, enough=stop.is_set, tally=self._tally)
                if once:
                    break
            except StorageError as exc:
                if once:
                    raise
                self.store_failed(exc)
                wait_s = STORE_REST_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await stop.wait()
        return self.worked

    def store_failed(self, error: StorageError) -> None:
        """The store did not let us work; it is asked again later."""
        note(LOG, logging.ERROR, "the store failed", error=type(error).__name__)
        self._report("store", error)

    async def let_go(self) -> None:
        """Close the models that were opened for jobs."""
        await self._chats.close()

    async def one_round(self) -> float | None:
        """Carry out one job if one is due; seconds until the next one is, None if none waits."""
        if (await self.run_due(_silent, limit=1)).total:
            return 0
        queued = await self._store.queue(self._clock.now())
        able = self._able(None)
        due = [times.to_micros(at) for kind, at in queued.next_by_kind.items() if kind in able]
        if not due:
            return None
        return max((min(due) - self._clock.now()) / times.SECOND, POLL_S)


class Background(Protocol):
    """Runs jobs beside the foreground."""

    def begin(self) -> None:
        """See to it that it runs: something is due."""
        ...

    async def stop(self, *, inline: bool) -> None:
        """Let the job that runs come to its end, or give it back; idempotent."""
        ...


#: Told, when a background ends, in how many seconds something is due; None: nothing waits.
Resting = Callable[[float | None], None]


class InThread:
    """A background of its own, for a keeper none of whose ports suspends."""

    def __init__(self, keeper: Serving, resting: Resting) -> None:
        self._keeper = keeper
        self._resting = resting
        self._changing = threading.Condition()
        self._asked = self._stopped = self._planted = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def begin(self) -> None:
        """Start the thread unless it runs."""
        if os.getpid() != self._process:  # threads, and perhaps their locks, are lost in a fork
            return
        with self._changing:
            self._asked = True
            self._changing.notify()
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(
                    target=self._run, name="recollect-background", daemon=True
                )
                self._thread.start()

    async def stop(self, *, inline: bool) -> None:
        """Wait for the end of the job that runs; beside a loop, without holding that up."""
        if os.getpid() != self._process:
            return
        with self._changing:
            self._stopped = True
            self._changing.notify()
            thread = self._thread
        if thread is not None and inline:
            thread.join()
        elif thread is not None:
            await asyncio.to_thread(thread.join)
        _stepped(self._keeper.let_go())

    def _run(self) -> None:
        try:
            while self._rests(GRACE_S):
                due_s = self._work()
                with self._changing:
                    if not self._asked and (due_s is None or due_s > LINGER_S):
                        self._thread = None
                        self._resting(due_s)
                        return
                    self._changing.wait_for(lambda: self._asked or self._stopped, due_s)
        except ClosedError:
            note(LOG, logging.DEBUG, "the store was closed under the background")

    def _work(self) -> float | None:
        """Carry out what is due; seconds until the next job is, None if none waits."""
        self._asked = False
        while True:
            begun = time.perf_counter()
            try:
                if not self._planted:
                    _stepped(self._keeper.plant())
                    self._planted = True
                due_s: float | None = _stepped(self._keeper.one_round())
            except StorageError as exc:
                self._keeper.store_failed(exc)
                return STORE_REST_S
            if due_s != 0 or not self._rests(_rest_s(begun)):
                return due_s

    def _rests(self, seconds: float) -> bool:
        """Do nothing for a while; False when it is to stop."""
        with self._changing:
            return not self._changing.wait_for(lambda: self._stopped, seconds)


class InLoop:
    """A background on the loop of the foreground, for a keeper with ports that suspend."""

    def __init__(self, keeper: Serving, resting: Resting) -> None:
        self._keeper = keeper
        self._resting = resting
        self._asked = asyncio.Event()
        self._planted = self._stopped = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the task unless it runs; called in the loop."""
        self._asked.set()
        if self._task is None and not self._stopped:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self, *, inline: bool) -> None:
        """Cancel the job that runs; it gives itself back."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(GRACE_S)
            due_s = await self._work()
            if not self._asked.is_set() and (due_s is None or due_s > LINGER_S):
                self._task = None
                self._resting(due_s)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(due_s):
                    await self._asked.wait()

    async def _work(self) -> float | None:
        """Carry out what is due; seconds until the next job is, None if none waits."""
        self._asked.clear()
        while True:
            begun = time.perf_counter()
            try:
                if not self._planted:
                    await self._keeper.plant()
                    self._planted = True
                due_s = await self._keeper.one_round()
            except StorageError as exc:
                self._keeper.store_failed(exc)
                return STORE_REST_S
            if due_s != 0:
                return due_s
            await asyncio.sleep(_rest_s(begun))


def _rest_s(begun: float) -> float:
    """How long to rest after work that began at a moment of `time.perf_counter`."""
    return min((time.perf_counter() - begun) * REST, REST_MAX_S)


def _stepped(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The answer of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise InternalError("a port that declares `inline = True` suspended in the background")


def _silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""
