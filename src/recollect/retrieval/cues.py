"""Cues: what the form of a question asks for, beside its words. The rules are data files.

A rule is tried only if one of its words stands in the question, and compiled when first tried, so
that ten languages cost a question in one of them next to nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files

#: Languages with rules; a question is read by all of them, for nobody says which it is in.
LANGUAGES = (
    "english",
    "german",
    "spanish",
    "french",
    "russian",
    "chinese",
    "japanese",
)
#: Scripts without spaces between words: rules for them stand under no word.
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
ANY_WORD = "*"


class Cue(StrEnum):
    """What a question wants, or how it speaks."""

    TOLD_ME = "told_me"  #: what the assistant said: "what did you recommend?"
    I_TOLD = "i_told"  #: what the person said: "what did I tell you about …?"
    EARLIER = "earlier"  #: what was said before, about nothing in particular: the latest turns
    WHEN = "when"
    HOW_LONG = "how_long"
    HOW_MANY = "how_many"
    HOW_OFTEN = "how_often"
    FIRST = "first"
    LAST = "last"
    INSTEAD = "instead"  #: what was replaced: "instead of", "no longer"
    ORDER = "order"  #: events in their order: a timeline answers best
    ADVICE = "advice"  #: a request that preferences and standing instructions apply to
    PREFERENCE = "preference"
    FIRST_PERSON = "first_person"  #: the asker speaks of themselves


@dataclass(slots=True)
class Rule:
    """One way in which a cue is said."""

    cue: Cue
    pattern: str
    _compiled: re.Pattern[str] | None = field(default=None, repr=False)

    def fits(self, text: str) -> bool:
        """Whether a question in lower case says it."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern)
        return self._compiled.search(text) is not None


def cues(text: str, words: frozenset[str]) -> frozenset[Cue]:
    """The cues of a question in lower case, and of its words."""
    found: set[Cue] = set()
    rules = _rules()
    for word in words & rules.keys():
        for rule in rules[word]:
            if rule.cue not in found and rule.fits(text):
                found.add(rule.cue)
    if not text.isascii() and _DENSE.search(text):
        found.update(rule.cue for rule in rules[ANY_WORD] if rule.fits(text))
    return frozenset(found)


@cache
def _rules() -> dict[str, list[Rule]]:
    """The rules of every language, by the words that call for them."""
    by_word: dict[str, list[Rule]] = {ANY_WORD: []}
    for language in LANGUAGES:
        for line in lines_of(f"cues_{language}.txt"):
            cue, words, pattern = line.split(" ", 2)
            rule = Rule(Cue(cue), pattern)
            for word in words.split("|"):
                by_word.setdefault(word, []).append(rule)
    return by_word


def lines_of(name: str) -> Iterator[str]:
    """The lines of a language file, without remarks."""
    listed = files("recollect.retrieval") / "language" / name
    for line in listed.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line
