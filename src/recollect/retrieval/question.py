"""Understanding a question: its terms, whom and when it asks about, and what its form asks for.

A pure function of the text and of the moment it is asked at. It decides nothing about ranking:
each stage of a recall takes from it what it needs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from recollect.domain.policy import Fading
from recollect.retrieval import dates
from recollect.retrieval.analyser import Analyser
from recollect.retrieval.cues import Cue, cues, lines_of
from recollect.retrieval.periods import HINTS, Period, periods

__all__ = ["Cue", "Period", "Understood", "understand"]

#: Words of a question, with the apostrophes inside them.
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_DIGIT = re.compile(r"\d")
#: What is quoted or typed as code: to be found as it stands.
_QUOTED = re.compile(
    r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)"
)
#: "before I moved", "after the wedding": an event of the memory's own as the edge of a period.
_EDGES = frozenset(["before", "after", "since", "until"])
_EDGE = re.compile(
    r"\b(?P<word>before|after|since|until) "
    r"(?P<event>(?:i|we|he|she|they|my|our|his|her|their|the|[^\W\d_]+ing)\b[^?.!,;]+)"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """Something that happened, as the edge of the time that is asked about."""

    relation: str  #: before, after
    event: str  #: in the words of the question


@dataclass(frozen=True, slots=True)
class Understood:
    """A question as recall uses it."""

    text: str
    terms: tuple[str, ...]  #: what is looked for in the index, each once, without stop words
    words: frozenset[str]  #: all of its words in lower case
    cues: frozenset[Cue]
    periods: tuple[Period, ...]  #: of event time, resolved against the moment of asking
    quoted: tuple[str, ...] = ()  #: what stands in quotes or as code
    edge: Edge | None = None
    fading: Fading | None = None  #: how strong memories are at the moment of asking
    _capitals: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def timeline(self) -> bool:
        """Whether events in their order answer best."""
        return Cue.ORDER in self.cues

    @property
    def asks_assistant(self) -> bool:
        """Whether what the assistant said is asked for."""
        return Cue.TOLD_ME in self.cues

    @property
    def asks_when(self) -> bool:
        """Whether a moment or a duration is asked for."""
        return Cue.WHEN in self.cues or Cue.HOW_LONG in self.cues

    @property
    def wants_advice(self) -> bool:
        """Whether preferences and standing instructions apply though no word is shared."""
        return Cue.ADVICE in self.cues and Cue.TOLD_ME not in self.cues

    def mentions(self, names: Iterable[str]) -> tuple[str, ...]:
        """Which of the names it says: in full, or the first of several parts ("Ana" of Ana Silva).

        A name that is also a common word ("Will", "May") has to be written as a name.

        >>> question = understand("What does Ana's sister do?", Analyser(), now=0)
        >>> question.mentions(["Ana Silva", "Bob"])
        ('Ana Silva',)
        """
        return tuple(name for name in names if self._says(name))

    def _says(self, name: str) -> bool:
        parts = _words_of(name.casefold())
        if not parts:
            return False
        first = parts[0]
        if first in self.words or f"{first}'s" in self.words:
            return first not in _common_names() or first in self._capitals
        # In scripts without spaces a name is not a word of its own.
        return not name.isascii() and name.casefold() in self.text.casefold()


def understand(text: str, analyser: Analyser, *, now: int) -> Understood:
    """What a question asks for; `now` is the moment of asking, in microseconds.

    >>> understand("When did I move to Lisbon?", Analyser(), now=0).terms
    ('move', 'lisbon')
    """
    plain = " ".join(text.casefold().replace("’", "'").split())
    words = frozenset(_words_of(plain))
    named = _periods(plain, words, now)
    return Understood(
        text=text,
        terms=tuple(analyser.question(text)),
        words=words,
        cues=cues(plain, words),
        periods=named,
        quoted=_quoted(text),
        edge=_edge(plain, words, named),
        _capitals=_capitals(text, words),
    )


def _periods(plain: str, words: frozenset[str], now: int) -> tuple[Period, ...]:
    english = not words.isdisjoint(HINTS)
    if not english and dates.hinted(plain, words) and (found := dates.foreign(plain, words, now)):
        return found
    return periods(plain, now) if english or _DIGIT.search(plain) else ()


def _quoted(text: str) -> tuple[str, ...]:
    return tuple(next(filter(None, groups)) for groups in _QUOTED.findall(text))


def _edge(plain: str, words: frozenset[str], named: tuple[Period, ...]) -> Edge | None:
    """What the time asked about begins or ends with, unless that is a date."""
    if words.isdisjoint(_EDGES):
        return None
    for match in _EDGE.finditer(plain):
        if not any(period.said in match[0] for period in named):
            relation = "after" if match["word"] in ("after", "since") else "before"
            return Edge(relation, match["event"].strip())
    return None


def _capitals(text: str, words: frozenset[str]) -> frozenset[str]:
    """Common words that are written as names: with a capital, and not because they come first."""
    if words.isdisjoint(_common_names()):
        return frozenset()
    written = _words_of(text.replace("’", "'"))
    return frozenset(
        word.casefold().removesuffix("'s") for word in written[1:] if word[:1].isupper()
    )


@cache
def _common_names() -> frozenset[str]:
    return frozenset(word for line in lines_of("common_names.txt") for word in line.split())


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text)
