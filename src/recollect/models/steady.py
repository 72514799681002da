"""Trying again: the one layer that does, for chats and embedders alike.

Decides which failures are worth another try, how long to wait before it, and when a provider that
does not answer is left alone. All of it within the deadline of the request.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from recollect.domain.breaker import Breaker
from recollect.domain.errors import ProviderBadResponse, ProviderError, ProviderTimeout
from recollect.domain.usage import Usage

T = TypeVar("T")
RETRIES = 2
WAIT_BASE_S = 0.2
WAIT_MAX_S = 10.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Time and chance, as trying again needs them."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    share: Callable[[], float] = random.random  #: from 0 to 1


@dataclass(slots=True)
class Steady:
    """Tries of one target, with what is known of how it does."""

    who: str
    retries: int = RETRIES
    pace: Pace = field(default_factory=Pace)
    breaker: Breaker = field(default_factory=Breaker)

    async def run(self, attempt: Callable[[float], Awaitable[T]], deadline_s: float) -> T:
        """What an attempt answers; each is told how many seconds there are left."""
        ends = self.pace.now() + deadline_s
        spent: list[Usage] = []
        for number in range(1 + self.retries):
            try:
                return await self.once(attempt, ends - self.pace.now())
            except ProviderError as exc:
                spent += exc.spent
                exc.spent = tuple(spent)
                wait = self._wait(exc, number)
                if wait is None or self.pace.now() + wait >= ends:
                    raise
                await self.pace.sleep(wait)
        raise AssertionError("the last try answers or raises")

    async def once(self, attempt: Callable[[float], Awaitable[T]], left_s: float) -> T:
        """One try, counted by the breaker."""
        if left_s <= 0:
            raise ProviderTimeout(f"{self.who} was not asked: no time was left")
        if not self.breaker.permits(self.pace.now()):
            raise ProviderError(
                f"{self.who} did not answer {self.breaker.failures} times in a row and is left "
                f"alone for {self.breaker.reset_s:g} s",
                retry_after_s=self.breaker.reset_s,
            )
        try:
            answer = await attempt(left_s)
        except ProviderError as exc:
            if is_down(exc):
                self.breaker.failed(self.pace.now())
            else:
                self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return answer

    def _wait(self, error: ProviderError, number: int) -> float | None:
        """How long to wait before the next try; None if there is none."""
        if number == self.retries or not error.retryable or isinstance(error, ProviderBadResponse):
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s
        return self.pace.share() * min(WAIT_MAX_S, WAIT_BASE_S * 2**number)


def is_down(error: ProviderError) -> bool:
    """Whether it did not answer at all; one that says no, or nonsense, is there."""
    return error.retryable and not isinstance(error, ProviderBadResponse)
