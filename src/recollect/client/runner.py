"""Three ways to run the one async engine. The first is the caller's own loop; here are the others."""

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from recollect.domain.errors import InternalError

T = TypeVar("T")


class Runner(Protocol):
    """Runs a coroutine to its end from synchronous code."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        ...

    def close(self) -> None:
        """Release what the runner holds."""
        ...


class Inline:
    """Steps through a coroutine that never suspends: no loop, no thread, a clean traceback."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        try:
            coroutine.send(None)
        except StopIteration as done:
            answer: T = done.value
            return answer
        coroutine.close()
        raise InternalError(
            "a port that declares `inline = True` suspended; it must declare `inline = False`"
        )

    def close(self) -> None:
        """Nothing is held."""


class LoopThread:
    """Runs coroutines on one background loop, for ports that do real I/O.

    Works inside a running loop and from several threads; context variables of the caller are seen.
    An interrupt (Ctrl-C) cancels the coroutine before it reaches the caller.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="recollect-loop", daemon=True
        )
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        context = contextvars.copy_context()
        future: Future[T] = Future()

        def begin() -> None:
            task = self._loop.create_task(coroutine, context=context)
            task.add_done_callback(lambda done: _settle(done, future))
            tasks.append(task)

        tasks: list[asyncio.Task[T]] = []
        self._loop.call_soon_threadsafe(begin)
        try:
            return future.result()
        except BaseException as exc:
            if not future.done():
                self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            raise exc.with_traceback(None) if future.done() else exc from exc.__cause__

    def close(self) -> None:
        """Stop the loop and its thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _settle(task: asyncio.Task[T], future: Future[T]) -> None:
    if task.cancelled():
        future.cancel()
        return
    error = task.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())
