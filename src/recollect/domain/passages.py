"""Passages: where a text that is too long for one vector is cut.

Decides only by what a reader sees: line and sentence ends first, a number of words otherwise. How
many tokens a passage has is the model's business.
"""

import re
from collections.abc import Iterator

WORDS_MAX = 90  #: words of a passage
WORDS_MIN = 25  #: a last passage of fewer words joins the one before it

_END = re.compile(r"\n+|(?<=[.!?…])\s+|(?<=[。！？])")


def passages(text: str) -> Iterator[str]:
    """A text in passages of whole sentences, as far as sentences are short enough for that.

    >>> list(passages("One line.\\nAnother line."))
    ['One line. Another line.']
    """
    before: list[str] = []
    last: list[str] = []
    for part in _parts(text):
        if len(last) + len(part) <= WORDS_MAX:
            last += part
            continue
        if before:
            yield " ".join(before)
        before, last = last, part
    if before and len(last) < WORDS_MIN:
        before, last = [], before + last
    for words in (before, last):
        if words:
            yield " ".join(words)


def _parts(text: str) -> Iterator[list[str]]:
    """The words of each sentence; of one that is too long as many at a time as a passage takes."""
    for sentence in _END.split(text):
        words = sentence.split()
        for start in range(0, len(words), WORDS_MAX):
            yield words[start : start + WORDS_MAX]
