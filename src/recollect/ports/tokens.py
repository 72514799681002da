"""The tokenizer: how long a text is to a model, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

#: exact: by the model's own tokenizer. family: by a tokenizer like it, times what the family is
#: known to need more. fallback: nobody knows this model, counted as if it were a common one.
#: estimate: by classes of characters, because no tokenizer is installed.
Method = Literal["exact", "family", "fallback", "estimate"]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens, and how that was found out."""

    count: int
    method: Method


class Tokenizer(Protocol):
    """Counts tokens; never fails, whatever the text and the model."""

    def count(self, text: str, model: str) -> TokenCount:
        """The tokens of a text for a model, named as `provider:name` or `name`."""
        ...
