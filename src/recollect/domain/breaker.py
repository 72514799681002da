"""A circuit breaker: whoever did not answer several times in a row is left alone for a while.

A pure state machine: it is told the time and what happened, and decides whether to ask.
"""

import threading
from dataclasses import dataclass, field
from typing import Literal

FAILURES_MAX = 3
RESET_S = 60.0


@dataclass(slots=True)
class Breaker:
    """Closed: ask. Open: fail at once. After a while half-open: exactly one may try.

    >>> breaker = Breaker()
    >>> for _ in range(3): breaker.failed(now=0.0)
    >>> breaker.permits(now=59.0), breaker.permits(now=60.0), breaker.permits(now=60.0)
    (False, True, False)
    """

    failures_max: int = FAILURES_MAX
    reset_s: float = RESET_S
    failures: int = 0  #: in a row
    last_failure: float | None = None
    _trying_since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """What it decides by."""
        if self.failures < self.failures_max:
            return "closed"
        return "open" if self._trying_since is None else "half-open"

    def permits(self, now: float) -> bool:
        """Whether to ask now; who is permitted reports what came of it."""
        with self._lock:
            if self.failures < self.failures_max:
                return True
            # A try that was never reported on must not keep everybody out for ever.
            since = self._trying_since if self._trying_since is not None else self.last_failure
            if since is not None and now - since < self.reset_s:
                return False
            self._trying_since = now
            return True

    def succeeded(self) -> None:
        """It answered."""
        with self._lock:
            self.failures, self._trying_since = 0, None

    def failed(self, now: float) -> None:
        """It did not answer."""
        with self._lock:
            self.failures += 1
            self.last_failure, self._trying_since = now, None
