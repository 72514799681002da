"""What calls of models take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call of a model took, whether or not its answer could be used."""

    model: str  #: provider:name
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0  #: of `tokens_in`, those that the provider had kept from before
