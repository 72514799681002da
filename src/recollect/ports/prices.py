"""Prices: what calls of models cost."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.usage import Usage


class Prices(Protocol):
    """Knows what calls cost, or says that it does not."""

    def money(self, usage: Usage, at: int) -> int | None:
        """Billionths of a dollar for a call at a time; None where nobody knows."""
        ...
