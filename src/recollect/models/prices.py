"""Prices from those that were told, and then from the price list of `genai-prices`.

The list comes with `recollect[models]`, is loaded with the first call, and never fetched. A model
that runs on this machine costs nothing. What is in none of these has no known price.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from recollect.domain import times
from recollect.domain.costs import BILLION, priced
from recollect.domain.errors import ValidationError, shown
from recollect.domain.usage import Usage

#: Providers as the price list calls them, where it calls them otherwise.
_LISTED_AS = {"gemini": "google", "xai": "x-ai"}
FREE = ("ollama", "scripted")
Told = tuple[float, float, float | None]


class PriceList:
    """Prices in dollars per million tokens: in, out and, if it differs, kept by the provider.

    >>> PriceList({"acme:small": (3, 15)}).money(Usage("acme:small", 1_000_000, 0), at=0)
    3000000000
    """

    def __init__(self, told: Mapping[str, Any] | None = None) -> None:
        self._told = {model: _checked(model, prices) for model, prices in (told or {}).items()}

    def money(self, usage: Usage, at: int) -> int | None:
        """Billionths of a dollar."""
        told = self._told.get(usage.model)
        if told is not None:
            return priced(usage, *told)
        provider, _, name = usage.model.partition(":")
        if provider in FREE:
            return 0
        return _listed(_LISTED_AS.get(provider, provider), name, usage, at)


def _checked(model: str, prices: Any) -> Told:
    numbers = list(prices) if isinstance(prices, list | tuple) else []
    if len(numbers) not in (2, 3) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) and one >= 0 for one in numbers
    ):
        raise ValidationError(
            f"the prices of {model!r:.80} must be dollars per million tokens, in and out, "
            f"not {shown(prices)}",
            field="prices",
        )
    return (numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None)


def _listed(provider: str, name: str, usage: Usage, at: int) -> int | None:
    if importlib.util.find_spec("genai_prices") is None:
        return None
    listed: Any = importlib.import_module("genai_prices")
    counted = listed.Usage(
        input_tokens=usage.tokens_in,
        output_tokens=usage.tokens_out,
        cache_read_tokens=min(usage.tokens_cached, usage.tokens_in),
    )
    try:
        found = listed.calc_price(
            counted, name, provider_id=provider, genai_request_timestamp=times.show(at)
        )
    except (LookupError, ValueError):
        return None
    return round(found.total_price * BILLION)
