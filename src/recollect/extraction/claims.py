"""Claims: what a text says about somebody that can only be one way at a time.

Two claims with the same subject and attribute and another value contradict each other. Only forms
that are listed in the data file of a language are recognised, and only whole clauses: what is
hedged, asked, wished or one of several is no claim. Decides nothing about which claim is true.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.domain.drafts import FACT
from recollect.domain.records import MemoryRecord
from recollect.domain.sameness import number_of, plain

#: Longer texts hold stories; what they claim is left to extraction.
TEXT_CHARS_MAX = 400
VALUE_WORDS_MAX = 6
#: The one whose memory it is: who says I in it, and who is called the user.
SELF = ""
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_NAME = r"(?-i:[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?)"
_WEEKDAY = re.compile(rf"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|{_MONTH})", re.I)
_VALUES = {
    "any": re.compile(r"^."),
    "name": re.compile(r"^(?:the |an? )?[A-Z\d]"),
    "thing": re.compile(r"^(?:an? \w|[A-Z\d])"),
    "number": _WEEKDAY,
    "mail": re.compile(r"\S+@\S+\.\w"),
}


#: What may touch a key.
_BETWEEN = str.maketrans(dict.fromkeys(".,;:!?\"'’()", " "))


@dataclass(frozen=True, slots=True)
class Claim:
    """One answer to one question about somebody."""

    subject: str
    attribute: str
    value: str
    whole: bool = True  #: the text says nothing else

    @property
    def mark(self) -> int:
        """The number under which memories that answer the same question are found."""
        return number_of("asks", f"{self.subject}\0{self.attribute}")

    def contradicts(self, other: "Claim") -> bool:
        """Whether both answer the same question, and differently."""
        if (self.subject, self.attribute) != (other.subject, other.attribute):
            return False
        # "Lisbon" and "Lisbon, Portugal" are one answer, told in more or fewer words.
        return not f"{self.value} ".startswith((f"{other.value} ", f"{other.value}, ")) and not (
            f"{other.value} ".startswith((f"{self.value} ", f"{self.value}, "))
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to say a claim, as its pattern; one of the keys is in every clause that it fits."""

    keys: frozenset[str]
    source: str
    attribute: str
    subject: str | None
    value: re.Pattern[str]
    one_of: frozenset[str]


class Claims:
    """Recognises claims in texts of one language; finds none where there is no data file."""

    def __init__(self, language: str = "english") -> None:
        self._rules = _rules(language)

    def of(self, record: MemoryRecord) -> tuple[Claim, ...]:
        """What a memory claims: as the caller put it, else by rule."""
        if record.role is not None or record.item_key is not None:
            return ()
        told = record.metadata.get(FACT)
        if isinstance(told, Mapping) and isinstance(told.get("attribute"), str):
            subject, value = told.get("subject") or SELF, told.get("value") or record.text
            return (Claim(plain(str(subject)), plain(told["attribute"]), plain(str(value))),)
        return self.within(record.text, record.speaker)

    def within(self, text: str, speaker: str | None = None) -> tuple[Claim, ...]:
        """What a text claims; whoever speaks is meant by I, and is nobody special if unnamed."""
        if self._rules is None or len(text) > TEXT_CHARS_MAX:
            return ()
        forms = self._rules.forms(text)
        if not forms:
            return ()
        found: dict[tuple[str, str], Claim] = {}
        clauses = self._rules.clauses(text)
        for clause in clauses:
            claim = self._rules.claim(clause, forms, whole=len(clauses) == 1)
            if claim is not None:
                subject = plain(speaker) if speaker and claim.subject == SELF else claim.subject
                claim = Claim(subject, claim.attribute, claim.value, claim.whole)
                found[claim.subject, claim.attribute] = claim
        return tuple(found.values())


class _Rules:
    """The forms of a language, compiled."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        relatives = "|".join(data["relatives"])
        who = rf"(?P<who>i|i'm|i've|we|the user|user|(?:my|our) (?:{relatives})|{_NAME})"
        whose = rf"(?P<who>my|our|the user's|user's|(?:my|our) (?:{relatives})'s|{_NAME}['’]s)"
        words = {"WHOSE": whose, "WHO": who, "VALUE": r"(?P<value>.+?)", "MONTH": _MONTH}
        self._forms = [
            _Form(
                frozenset(claim["keys"]),
                _filled(form, words),
                claim["attribute"],
                claim.get("subject"),
                _VALUES[claim.get("value", "any")],
                frozenset(claim.get("one_of", ())),
            )
            for claim in data["claim"]
            for form in claim["forms"]
        ]
        self._keys = frozenset(key for form in self._forms for key in form.keys)
        before = _either(data["before"], words)
        self._before = re.compile(rf"(?:(?:{before})\s*[,:!–-]*\s+)+", re.IGNORECASE)
        self._after = re.compile(rf"[\s,]+(?:{_either(data['after'], words)})$", re.IGNORECASE)
        self._cut = re.compile(
            rf",(?! (?-i:[A-Z]))|\s\(|\s(?:{_either(data['cut'], words)})\b", re.IGNORECASE
        )
        self._never = re.compile(rf"\b(?:{_either(data['never'], words)})\b|\?", re.IGNORECASE)
        self._split = re.compile("|".join(data["clauses"]), re.IGNORECASE)

    def forms(self, text: str) -> list[_Form]:
        """The forms that may fit a clause of a text."""
        keys = self._keys.intersection(text.lower().translate(_BETWEEN).split())
        return [form for form in self._forms if form.keys & keys] if keys else []

    def clauses(self, text: str) -> list[str]:
        """The clauses of a text; a question is kept as one, with its mark."""
        if "?" in text:
            return [text]
        said = self._before.sub("", text, count=1) if self._before.match(text) else text
        return [part.strip() for part in self._split.split(said.strip()) if part.strip()]

    def claim(self, clause: str, forms: Sequence[_Form], *, whole: bool) -> Claim | None:
        """The claim that a clause makes."""
        if self._never.search(clause):
            return None
        said = self._before.sub("", clause, count=1) if self._before.match(clause) else clause
        said = said.replace("’", "'").replace("I'm ", "I am ").replace("I've ", "I have ")
        core = said
        while (shorter := self._after.sub("", core)) != core:
            core = shorter
        for form in forms:
            pattern = _compiled(form.source)
            found = pattern.fullmatch(core) or pattern.fullmatch(said)
            if found is not None:
                claim = self._made(form, found, whole=whole)
                if claim is not None:
                    return claim
        return None

    def _made(self, form: _Form, found: re.Match[str], *, whole: bool) -> Claim | None:
        value = found["value"].strip()
        rest = self._cut.search(value)
        if rest is not None:
            value, whole = value[: rest.start()].strip(), False
        if not value or len(value.split()) > VALUE_WORDS_MAX or not form.value.search(value):
            return None
        if form.one_of and plain(value) not in form.one_of:
            return None
        named = found.groupdict()
        attribute = plain(_expanded(form.attribute, found))
        subject = (
            plain(_expanded(form.subject, found)) if form.subject else _subject(named.get("who"))
        )
        return Claim(subject, _british(attribute), _bare(value), whole)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """A pattern, made when it is first tried: to open a memory waits for none."""
    return re.compile(source, re.IGNORECASE)


def _expanded(words: str, found: re.Match[str]) -> str:
    """Words of a form with what a clause said in their place; most forms refer to nothing."""
    return found.expand(words) if "\\" in words else words


def _filled(form: str, words: Mapping[str, str]) -> str:
    """A form with what its words in capitals stand for."""
    return re.sub(r"\b(WHOSE|WHO|VALUE|MONTH)\b", lambda found: words[found[1]], form)


def _either(forms: Sequence[str], words: Mapping[str, str]) -> str:
    return "|".join(_filled(form, words) for form in forms)


def _subject(who: str | None) -> str:
    """Whom a claim is about, by one name however it is put."""
    name = plain(who or "").removesuffix("'s").removeprefix("the ")
    if name in ("i", "my", "i'm", "i've", "user"):
        return SELF
    return "we" if name == "our" else name


def _british(attribute: str) -> str:
    return attribute.replace("favorite", "favourite").replace("color", "colour")


def _bare(value: str) -> str:
    """A value without its article, as values are compared."""
    return re.sub(r"^(?:the|an?|in|on|at) ", "", plain(value))


@cache
def _rules(language: str) -> _Rules | None:
    file = files("recollect.extraction") / "language" / f"{language}.toml"
    if not file.is_file():
        return None
    return _Rules(tomllib.loads(file.read_text(encoding="utf-8")))


def contradictions(new: Sequence[Claim], old: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """The pairs of claims that cannot both hold."""
    for one in new:
        for other in old:
            if one.contradicts(other):
                yield one, other
