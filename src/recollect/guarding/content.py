"""The content policy: secrets and personal data are allowed, taken out, or refused.

Decides by rules that are data. What was done is told with its class and a count, never with the
content itself. Rules are tried only on texts that hold a hint of them, since every write asks.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.domain.conduct import Conduct
from recollect.domain.errors import ContentRefused
from recollect.domain.limits import TEXT_BYTES_MAX
from recollect.domain.records import Treated
from recollect.guarding.checks import CHECKS

SECRETS = "secrets"
OFF_THE_RECORD = "off_the_record"
#: What stands in place of a message that was not to be remembered: the conversation goes on.
WITHHELD = "[not remembered, as asked]"
_CALLED = {
    SECRETS: "secret",
    "card_numbers": "card number",
    "bank_accounts": "bank account",
    "national_ids": "identity number",
    "emails": "e-mail address",
    "phones": "phone number",
}
#: No key or token is shorter; texts without such a word are not searched for any.
TOKEN_CHARS_MIN = 16
_DIGITS = str.maketrans(dict.fromkeys("0123456789"))
_BETWEEN = str.maketrans(dict.fromkeys(".,;:!?\"'`’()[]{}<>=_-/", " "))


@dataclass(frozen=True, slots=True)
class _Rule:
    what: str
    name: str
    words: frozenset[str]
    hints: tuple[str, ...]
    digits: int
    signs: str
    source: str
    check: Callable[[str], bool] | None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where in a text the rule holds."""
        pattern = _compiled(self.source)
        group = "secret" if "secret" in pattern.groupindex else 0
        return [
            found.span(group)
            for found in pattern.finditer(text)
            if self.check is None or self.check(found[group])
        ]


class Content:
    """What a text must not hold, as the settings have it."""

    def __init__(self, conduct: Conduct) -> None:
        self._actions = {name: str(getattr(conduct, name)) for name in _CALLED}
        wanted = {what for what, action in self._actions.items() if action != "allow"}
        rules = [rule for rule in _rules() if rule.what in wanted]
        self._worded = [rule for rule in rules if rule.words]
        self._hinted = [rule for rule in rules if rule.hints]
        self._numbered = [rule for rule in rules if rule.digits]
        self._signed = [rule for rule in rules if rule.signs]
        self._unsaid: str | None = None
        if conduct.off_the_record == "refuse":
            self._unsaid, self._unsaid_words = _off_the_record(conduct.language)
        self._words = frozenset(word for rule in self._worded for word in rule.words)
        self._digits_least = min((rule.digits for rule in self._numbered), default=TEXT_BYTES_MAX)

    @property
    def refuses(self) -> bool:
        """Whether there is anything that it refuses."""
        return self._unsaid is not None or "refuse" in self._actions.values()

    def treat(self, text: str, *, message: bool = False) -> tuple[str, tuple[Treated, ...]]:
        """A text as it may be stored, and what was done to it; ContentRefused if it may not be.

        A `message` that is not to be remembered is withheld and its place in the conversation kept.
        """
        low = text.lower()
        words = frozenset(low.translate(_BETWEEN).split())
        if self._unsaid and words & self._unsaid_words and _compiled(self._unsaid).search(low):
            if message:
                return WITHHELD, (Treated(OFF_THE_RECORD, "redacted", 1),)
            raise ContentRefused(
                "the text asks not to be remembered, and is not; leave that request out to store it"
            )
        rules = self._candidates(text, words)
        return self._treated(text, rules) if rules else (text, ())

    def treat_data(self, data: Any) -> tuple[Any, tuple[Treated, ...]]:
        """The same for every text within JSON data."""
        if isinstance(data, str):
            return self.treat(data)
        parts: list[tuple[Treated, ...]] = []
        if isinstance(data, Mapping):
            made: Any = {}
            for key, value in data.items():
                made[key], done = self.treat_data(value)
                parts.append(done)
        elif isinstance(data, list | tuple):
            made = []
            for value in data:
                below, done = self.treat_data(value)
                made.append(below)
                parts.append(done)
        else:
            return data, ()
        return made, tuple(one for done in parts for one in done)

    def _candidates(self, text: str, words: frozenset[str]) -> list[_Rule]:
        """The rules that a text hints at, in their order."""
        found: list[_Rule] = []
        if self._hinted and len(text) >= TOKEN_CHARS_MIN:
            longest = max(map(len, text.split()), default=0)
            if longest >= TOKEN_CHARS_MIN:
                found += [rule for rule in self._hinted if any(map(text.__contains__, rule.hints))]
        if words & self._words:
            found += [rule for rule in self._worded if rule.words & words]
        found += [rule for rule in self._signed if rule.signs in text]
        digits = len(text) - len(text.translate(_DIGITS))
        if digits >= self._digits_least:
            found += [rule for rule in self._numbered if digits >= rule.digits]
        return found

    def _treated(self, text: str, rules: list[_Rule]) -> tuple[str, tuple[Treated, ...]]:
        counts: dict[str, int] = {}
        for rule in rules:
            spans = rule.spans(text)
            if not spans:
                continue
            if self._actions[rule.what] == "refuse":
                raise ContentRefused(
                    f"the text holds what looks like a {rule.name}; the setting {rule.what} "
                    "refuses it. Leave it out, or set it to redact or allow"
                )
            counts[rule.what] = counts.get(rule.what, 0) + len(spans)
            for start, end in reversed(spans):
                text = f"{text[:start]}[{_CALLED[rule.what]} removed]{text[end:]}"
        return text, tuple(Treated(what, "redacted", count) for what, count in counts.items())


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """A pattern, made when it is first tried: to open a memory waits for none."""
    return re.compile(source)


@cache
def _rules() -> list[_Rule]:
    """Every rule, secrets first: what one takes out, a later one does not see."""
    found: list[_Rule] = []
    for name in ("secrets", "personal"):
        text = (files("recollect.guarding") / f"{name}.toml").read_text(encoding="utf-8")
        for data in tomllib.loads(text)["rule"]:
            check = data.get("check")
            found.append(
                _Rule(
                    data.get("what", SECRETS),
                    data["name"],
                    frozenset(data.get("words", ())),
                    tuple(data.get("hints", ())),
                    data.get("digits", 0),
                    data.get("signs", ""),
                    data["pattern"],
                    None if check is None else CHECKS[check],
                )
            )
    return found


@cache
def _off_the_record(language: str) -> tuple[str | None, frozenset[str]]:
    """How a language asks not to remember, and the words of which one is in every such request."""
    file = files("recollect.guarding") / "language" / f"{language}.toml"
    if not file.is_file():
        return None, frozenset()
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return "|".join(data["off_the_record"]), frozenset(data["off_the_record_words"])
