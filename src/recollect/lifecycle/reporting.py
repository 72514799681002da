"""Errors as a stream: each is told once to whoever listens, without what memories say."""

import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from recollect.domain import times
from recollect.domain.health import (
    ErrorEvent,
    Severity,
    component_of,
    message_of,
    severity_of,
)
from recollect.domain.scopes import Scope
from recollect.engine.core import Core, Ports
from recollect.logs import note
from recollect.ports.backend import Backend, ErrorListener

LOG = logging.getLogger("recollect.errors")
RECENT_MAX = 100
#: Set on an error that was told already; on its way out it passes several of our calls.
_TOLD = "_recollect_told"
#: What can be asked of a backend, and so can fail.
CALLS = [
    name
    for name, call in vars(Backend).items()
    if inspect.iscoroutinefunction(call) and name not in ("close", "watch_errors")
]


class Reports:
    """The latest errors, and who listens; shared by all that work on one memory."""

    def __init__(self) -> None:
        self.recent: deque[ErrorEvent] = deque(maxlen=RECENT_MAX)
        self.listeners: list[ErrorListener] = []

    def tell(self, event: ErrorEvent) -> None:
        """Tell everybody; one who fails to listen keeps nobody else from hearing."""
        self.recent.append(event)
        for listener in list(self.listeners):
            try:
                listener(event)
            except Exception as exc:
                note(LOG, logging.WARNING, "a listener failed", error=type(exc).__name__)


class Reporting(Core):
    """Tells of the errors that the memory dealt with itself, and to listeners of all others."""

    def __init__(self, ports: Ports) -> None:
        super().__init__(ports)
        self.reports = Reports()

    def _report(
        self,
        component: str,
        error: BaseException,
        *,
        severity: Severity | None = None,
        agent: str | None = None,
    ) -> None:
        """Tell of an error, unless that was done already."""
        if getattr(error, _TOLD, False):
            return
        setattr(error, _TOLD, True)
        event = ErrorEvent(
            timestamp=times.show(self._clock.now()),
            component=component,
            type=type(error).__name__,
            message=message_of(error),
            severity=(severity or severity_of(error)).value,
            agent=agent,
        )
        self.reports.tell(event)

    async def watch_errors(self, listener: ErrorListener) -> Callable[[], None]:
        """Have a listener told of every error from now on; what is returned ends that."""
        listeners = self.reports.listeners
        if not any(name in vars(self) for name in CALLS):
            # Only now: who does not listen does not pay for it.
            for name in CALLS:
                setattr(self, name, self._watched(getattr(self, name)))
        listeners.append(listener)

        def stop() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return stop

    def _watched(
        self, call: Callable[..., Coroutine[Any, Any, Any]]
    ) -> Callable[..., Coroutine[Any, Any, Any]]:
        """A call whose errors are told on their way to the caller."""

        @wraps(call)
        async def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                return await call(*args, **kwargs)
            except Exception as exc:
                agent = args[0].agent if args and isinstance(args[0], Scope) else None
                self._report(component_of(exc), exc, agent=agent)
                raise

        return watched
