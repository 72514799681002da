"""Three ways to run the one async engine, and nothing of what it does.

In the caller's loop, `OffLoop` keeps a local store's work away from that loop. Without a loop,
`Inline` steps through a coroutine that never suspends, and `LoopThread` runs one that does.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar, cast

from recollect.domain.errors import ClosedError, InternalError, RecollectError
from recollect.ports.store import Store

T = TypeVar("T")
#: Threads that an async memory uses for its file; writes of several tasks share commits.
FILE_THREADS = 4
LIED = "a port that declares `inline = True` suspended; it must declare `inline = False`"
#: What asyncio says to a coroutine that asks for a loop where there is none.
NO_LOOP = ("no running event loop", "There is no current event loop")


class Runner(Protocol):
    """Runs coroutines to their end from synchronous code."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        ...

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run one last coroutine, then release what the runner holds; idempotent."""
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
        except RuntimeError as exc:
            if not str(exc).startswith(NO_LOOP):
                raise
            raise InternalError(LIED) from exc
        coroutine.close()
        raise InternalError(LIED)

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run one last coroutine; nothing is held."""
        self.run(last)


class LoopThread:
    """Runs coroutines on one background loop, for ports that do real I/O.

    Works inside a running loop and from several threads. Context variables pass both ways. An
    interrupt (Ctrl-C) cancels the coroutine and waits for its end before it reaches the caller.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._closing = threading.Lock()
        self._closed = False
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(started,), name="recollect-loop", daemon=True
        )
        self._thread.start()
        started.wait()

    def _serve(self, started: threading.Event) -> None:
        # asyncio's Runner cancels, on its way out, whatever still runs, and waits for it.
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            started.set()
            self._loop.run_forever()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer."""
        call = _Call(coroutine)
        try:
            self._submit(call)
            call.ended.wait()
        finally:
            if call.submitted and not call.ended.is_set():  # a signal interrupted us
                self._loop.call_soon_threadsafe(call.cancel)
                call.ended.wait()
        if call.cancelled and self._closed:
            raise ClosedError("the memory was closed while this was under way; open it again")
        return call.answer()

    def _submit(self, call: "_Call[Any]") -> None:
        try:
            _require_same_process(self._process)
            if threading.current_thread() is self._thread:
                raise InternalError("a port called back into the memory that waits for it")
            with self._closing:  # what comes before the loop stops is cancelled, never lost
                if self._closed:
                    raise ClosedError("the memory is closed; open it again")
                call.submitted = True
                self._loop.call_soon_threadsafe(call.begin)
        except RecollectError:
            call.coroutine.close()
            raise

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Run one last coroutine, then stop the loop and its thread."""
        if self._closed or os.getpid() != self._process:
            last.close()
            return
        try:
            self.run(last)
        finally:
            with self._closing:
                self._closed = True
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


class _Call(Generic[T]):
    """A coroutine on its way through the loop's thread."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.coroutine = coroutine
        self.submitted = False
        self.ended = threading.Event()
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[T] | None = None

    def begin(self) -> None:
        """Start; called in the loop."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self.coroutine, context=self._context)
        self._task.add_done_callback(lambda _: self.ended.set())

    def cancel(self) -> None:
        """Cancel; called in the loop, behind `begin` unless that was never reached."""
        if self._task is None:
            self.coroutine.close()
            self.ended.set()
        else:
            self._task.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether the coroutine was cancelled."""
        return self._task is not None and self._task.cancelled()

    def answer(self) -> T:
        """The coroutine's answer, with the context variables that it set.

        The task is asked, not a future that crosses threads: so the traceback leads straight
        into the coroutine.
        """
        assert self._task is not None
        for variable, value in self._context.items():
            if variable.get(self._context) is not value:
                variable.set(value)
        return self._task.result()


def off_loop(store: Store) -> Store:
    """A local store for use in the caller's loop."""
    return cast(Store, OffLoop(store))


class OffLoop:
    """A local store used from an event loop: its operations run in threads of their own.

    A task that is cancelled stops waiting; an operation that has begun still ends, and its write
    either happened wholly or not at all. A retry with the same key tells which.
    """

    inline = False

    def __init__(self, store: Store) -> None:
        self.durability = store.durability
        self._store = store
        self._threads = ThreadPoolExecutor(FILE_THREADS, thread_name_prefix="recollect-file")
        self._process = os.getpid()
        self._closed = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._store, name)

        async def in_thread(*args: Any, **kwargs: Any) -> Any:
            _require_same_process(self._process)
            if self._closed:
                raise ClosedError("the memory is closed; open it again")
            return await self._in_thread(lambda: operation(*args, **kwargs))

        return in_thread

    async def close(self) -> None:
        """Close the store, then let the threads go."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        try:
            await self._in_thread(self._store.close)
        finally:
            self._threads.shutdown(wait=False)

    async def _in_thread(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> T:
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, lambda: context.run(lambda: Inline().run(operation()))
        )


def _require_same_process(process: int) -> None:
    """Threads do not survive a fork; without this check the child would wait for them forever."""
    if os.getpid() != process:
        raise ClosedError(
            "the memory was opened before this process was forked; open it again in the child"
        )
