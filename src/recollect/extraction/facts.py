"""Facts of an exchange, by rule: what was changed, decided, fixed, liked, asked for and said of
somebody. Each is a sentence as it was said, with its kind; code gives the names that it defines.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.domain.records import Kind, MemoryRecord
from recollect.domain.sameness import plain
from recollect.extraction.claims import Claims

#: Of one message so many facts at most; a pasted log is not a list of facts.
FACTS_MAX = 20
SENTENCE_CHARS_MAX = 300
#: Kinds that belong to the conversation they come from; the others to the person.
OF_SESSION = frozenset({Kind.FILE_CHANGE.value, Kind.DECISION.value})
_FILE = r"[`\"']?(?P<file>(?:[\w.~-]*[/\\])*[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,5})\b[`\"']?"
_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[\"'(A-Z`*-])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•>]|\d+[.)])\s+|\*\*")
_DEFINED = re.compile(
    r"^[ \t]*(?:export |default |public |private |static |async |pub |final |abstract )*"
    r"(?P<what>def|class|function|func|fn|interface|struct|trait)\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w*)",
    re.MULTILINE,
)
_CALLED = {"def": "function", "func": "function", "fn": "function"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a message tells."""

    kind: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class Facts:
    """Finds facts in messages of one language; own rules are further ones."""

    def __init__(self, language: str = "english") -> None:
        self._language = language
        self._claims = Claims(language)

    def within(self, message: MemoryRecord) -> list[Fact]:
        """What a message tells, in order and each thing once; nothing for what a tool says."""
        if message.role not in ("user", "assistant"):
            return []
        found: dict[str, Fact] = {}
        for fact in self._told(message.text, message.role):
            found.setdefault(plain(fact.text), fact)
        return list(found.values())[:FACTS_MAX]

    def _told(self, text: str, role: str) -> Iterator[Fact]:
        prose = _BLOCK.sub("\n", text)
        named: str | None = None
        for sentence in _SENTENCES.split(prose):
            said = _BULLET.sub("", sentence).strip()
            if not said or len(said) > SENTENCE_CHARS_MAX or said.endswith("?"):
                continue
            fact = self._of_sentence(said, role)
            if fact is not None:
                named = fact.metadata.get("file", named)
                yield fact
        for block in _BLOCK.finditer(text):
            for defined in _DEFINED.finditer(block[1]):
                yield _symbol(defined, named)

    def _of_sentence(self, said: str, role: str) -> Fact | None:
        for kind, roles, pattern in _rules(self._language):
            if role not in roles:
                continue
            found = pattern.search(said)
            if found is not None:
                named = {name: value for name, value in found.groupdict().items() if value}
                return Fact(
                    kind, said, {k: v.lower() if k == "change" else v for k, v in named.items()}
                )
        if role == "user" and self._claims.within(said):
            return Fact(Kind.FACT.value, said)
        return None


def _symbol(found: re.Match[str], file: str | None) -> Fact:
    what = _CALLED.get(found["what"], found["what"])
    where = f" in {file}" if file else ""
    metadata = {"what": what, "name": found["name"], **({"file": file} if file else {})}
    return Fact(Kind.FACT.value, f"Added the {what} {found['name']}{where}.", metadata)


@cache
def _rules(language: str) -> list[tuple[str, frozenset[str], re.Pattern[str]]]:
    file = files("recollect.extraction") / "language" / f"{language}.facts.toml"
    if not file.is_file():
        return []
    return [
        (
            rule["kind"],
            frozenset(rule["who"]),
            re.compile(rule["pattern"].replace("FILE", _FILE), re.IGNORECASE),
        )
        for rule in tomllib.loads(file.read_text(encoding="utf-8"))["fact"]
    ]
