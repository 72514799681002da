"""The router: weighs what a request says, and chooses a model.

Features found in a request speak for code or for reasoning with a weight; what they look for and
what they weigh is data (`features.toml`).

The rule: the greater sum wins. Where both are equal, and where too little speaks for code, the
reasoning model answers, since it writes code better than a code model reasons. A request that asks
for both is *mixed*: the rule is the same, and the confidence is below 0.7.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.domain.errors import ValidationError, shown

CODE, REASONING = "code", "reasoning"
#: What is read of a request: a pasted log behind it says nothing about what is asked.
CHARS_READ = 4000
#: A request that weighs less mentions code without asking for any.
CODE_LEAST = 1.5
#: Evidence from an earlier request of the conversation is believed this much.
EARLIER_SHARE = 0.5
#: How sure a decision is that has nothing to go by, and what no mixed one reaches.
CONFIDENCE_BLIND, CONFIDENCE_MIXED = 0.5, 0.7


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something in a request that speaks for code or for reasoning."""

    speaks_for: str
    feature: str
    words: str  #: what was found
    weight: float
    topic: bool = False  #: what the request is about, rather than what it asks


@dataclass(frozen=True, slots=True)
class Decision:
    """Which model answers a request, why, and how sure that is."""

    provider: str
    model: str
    kind: str  #: code or reasoning; `chosen` when the caller said which model
    reason: str
    confidence: float  #: from 0.5 to 1
    mixed: bool = False
    evidence: tuple[Evidence, ...] = ()

    @property
    def name(self) -> str:
        """provider:model."""
        return f"{self.provider}:{self.model}"


class Router:
    """Chooses between two models, each named `provider:model`.

    >>> router = Router(code="deepseek:deepseek-chat", reasoning="anthropic:claude-sonnet-4-5")
    >>> router.route("Create a todo app").provider
    'deepseek'
    """

    def __init__(self, *, code: str, reasoning: str) -> None:
        self._models = {CODE: _named(code, "code"), REASONING: _named(reasoning, "reasoning")}

    def route(
        self, request: str, *, model: str | None = None, earlier: Sequence[str] = ()
    ) -> Decision:
        """The model for a request. `model` overrides; `earlier` requests of the conversation,
        oldest first, decide where the request itself says nothing ("yes, do that").

        >>> router.route("Why does this fail?").kind
        'reasoning'
        """
        if model is not None:
            return Decision(*_named(model, "model"), "chosen", "the caller chose it", 1.0)
        found = evidence(request)
        said, share = "", 1.0
        for before in reversed(earlier if not found else ()):
            found = evidence(before)
            if found:
                said, share = "an earlier request ", EARLIER_SHARE
                break
        return self._decided(found, said, share)

    def _decided(self, found: tuple[Evidence, ...], said: str, share: float) -> Decision:
        sums = {
            kind: sum(one.weight for one in found if one.speaks_for == kind) * share
            for kind in (CODE, REASONING)
        }
        asks = sums[CODE] > sums[REASONING] and sums[CODE] >= CODE_LEAST * share
        kind = CODE if asks else REASONING
        mixed = len({one.speaks_for for one in found if not one.topic}) == 2
        ours, theirs = (sums[kind], sums[REASONING if asks else CODE])
        # From nothing to everything; one more in the denominator, since little proves little.
        lead = max(ours - theirs, 0) / (ours + theirs + 1)
        most = CONFIDENCE_MIXED if mixed else 1.0
        sure = CONFIDENCE_BLIND + (most - CONFIDENCE_BLIND) * lead
        reason = f"{said}{_told(found, kind)}"
        return Decision(*self._models[kind], kind, reason, round(sure, 2), mixed, found)


def evidence(request: str) -> tuple[Evidence, ...]:
    """What in a request speaks for code or for reasoning, heaviest first.

    >>> [one.words for one in evidence("Fix the parser")]
    ['Fix', 'parser']
    """
    text = request[:CHARS_READ].replace("’", "'")
    found = [
        Evidence(
            feature.speaks_for, feature.name, " ".join(hit.split()), feature.weight, feature.topic
        )
        for feature in _features()
        if (hit := feature.found(text)) is not None
    ]
    return tuple(sorted(found, key=lambda one: -one.weight))


def _told(found: tuple[Evidence, ...], kind: str) -> str:
    """The evidence as a sentence: what decided, and what spoke against it."""
    ours = [f"{one.feature} ({one.words!r})" for one in found if one.speaks_for == kind]
    theirs = [f"{one.feature} ({one.words!r})" for one in found if one.speaks_for != kind]
    against = f"; against it: {', '.join(theirs)}" if theirs else ""
    return f"{', '.join(ours) or 'too little in it asks for code'}{against}"


def _named(model: object, field: str) -> tuple[str, str]:
    if isinstance(model, str):
        provider, colon, name = model.partition(":")
        if provider and colon and name:
            return provider, name
    raise ValidationError(f"{field} must be named provider:model, not {shown(model)}", field=field)


# -- features --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing to look for."""

    speaks_for: str
    name: str
    weight: float
    topic: bool
    expression: re.Pattern[str]

    def found(self, text: str) -> str | None:
        """The words that are it, if they are there."""
        hit = self.expression.search(text)
        return None if hit is None else hit["words"]


@cache
def _features() -> tuple[Feature, ...]:
    """The features of the data file, compiled once."""
    data = files("recollect.routing").joinpath("features.toml").read_text(encoding="utf-8")
    return tuple(_compiled(tomllib.loads(data)))


def _compiled(data: dict[str, Any]) -> Iterator[Feature]:
    nouns = [_literal(noun) for noun in data["nouns"]]
    leads = "|".join(_literal(lead) for lead in _longest_first(data["leads"]))
    for feature in data["feature"]:
        phrases = feature.get("phrases", [])
        wanted = nouns if phrases == ["$nouns"] else [_literal(p) for p in _longest_first(phrases)]
        body = "|".join([*wanted, *feature.get("patterns", [])])
        if feature.get("objects"):
            body = rf"(?:{body}){_OBJECT_GAP}(?:{'|'.join(nouns)})"
        before = (
            rf"(?:\A|[.!?;:,\n]|\band\s)\s*(?:(?:{leads}),?\s+)*" if feature.get("opens") else ""
        )
        bounded = rf"{before}(?<![\w-])(?P<words>{body})(?!\w)"
        expression = re.compile(bounded, re.NOFLAG if feature.get("cased") else re.IGNORECASE)
        about = feature.get("topic", False)
        yield Feature(feature["speaks_for"], feature["name"], feature["weight"], about, expression)


#: What may stand between a verb and what is asked for: at most four words, and none that would
#: make the noun belong to something else ("a summary of the script").
_OBJECT_GAP = r"(?:\s+(?!(?:of|about|for|to|on|in|with|that|which|by)\b)[\w+#.'-]+){0,4}\s+"


def _literal(phrase: str) -> str:
    return re.escape(phrase).replace(r"\ ", r"\s+")


def _longest_first(phrases: list[str]) -> list[str]:
    """An alternation takes the first that fits, and `write me` must not end at `write`."""
    return sorted(phrases, key=len, reverse=True)
