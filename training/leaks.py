"""Whether the data to learn from shares text with the data to measure with.

Two texts share text if they have eight words in a row in common: shorter runs are commonplaces.
"""

import re
from collections.abc import Iterable, Iterator

WORDS = 8
_WORD = re.compile(r"[a-z0-9]+")


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every eight words in a row.

    >>> len(list(runs("one two three four five six seven eight nine")))
    2
    """
    words = _WORD.findall(text.lower())
    for start in range(len(words) - WORDS + 1):
        yield tuple(words[start : start + WORDS])


def shared(learned: Iterable[str], measured: Iterable[str]) -> dict[tuple[str, ...], str]:
    """What the texts have in common: each run with the first text to learn from that holds it."""
    forbidden = {run for text in measured for run in runs(text)}
    found: dict[tuple[str, ...], str] = {}
    for text in learned:
        for run in runs(text):
            if run in forbidden:
                found.setdefault(run, text)
    return found
