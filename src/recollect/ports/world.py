"""What the engine needs of the outside world besides a store: time and chance."""

from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> int:
        """Microseconds since 1970 in UTC."""
        ...


class Entropy(Protocol):
    """Gives unpredictable bytes."""

    def bytes(self, count: int) -> bytes:
        """That many random bytes."""
        ...
