"""Orders: texts that tell whoever reads them what to do, as an attacker's do.

What a tool or a web page says is data. A text of theirs that is shaped like an instruction is set
apart until somebody has reviewed it; text of an agent only if it is shaped like an attack. Rules
find shapes, not intent: the figures of what they find and miss are in the tests.
"""

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

from recollect.domain.records import Kind, MemoryRecord, Trust

#: Characters that are not seen, and letters of other scripts that look like Latin ones.
_UNSEEN = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFEFF, 0xAD])
_ALIKE = str.maketrans("аеорсухіјѕԁԛԝһⅼοαν", "aeopcyxijsdqwhloav")
_SPACES = re.compile(r"[^\S\n]+")
_SPELLED = re.compile(r"\b(?:\w[ ._*-]){4,}\w\b")
_TEXT_CHARS = 20_000


class Orders:
    """Finds text that gives orders; knows only the languages that have a data file."""

    def __init__(self, language: str) -> None:
        self._language = language

    def within(self, record: MemoryRecord) -> bool:
        """Whether a memory gives orders and comes from where none are taken."""
        if record.trust == Trust.TRUSTED.value:
            return False
        rules = _rules(self._language)
        if rules is None:
            return False
        strong, weak = rules
        trusted_somewhat = record.trust == Trust.LIMITED.value
        if trusted_somewhat and record.role is not None:
            return False  # what the assistant said itself
        text = plain(record.text)
        if strong.search(text) is not None:
            return True
        if trusted_somewhat:
            return False
        return record.kind == Kind.INSTRUCTION.value or weak.search(text) is not None


def plain(text: str) -> str:
    """A text without its disguises: odd letters, unseen characters, spaced-out words."""
    seen = unicodedata.normalize("NFKC", text[:_TEXT_CHARS]).translate(_UNSEEN).lower()
    seen = _SPACES.sub(" ", seen.translate(_ALIKE)).replace("’", "'")
    return _SPELLED.sub(lambda found: re.sub(r"[ ._*-]", "", found[0]), seen)


@cache
def _rules(language: str) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
    file = files("recollect.guarding") / "language" / f"{language}.toml"
    if not file.is_file():
        return None
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return re.compile("|".join(data["strong"])), re.compile("|".join(data["weak"]))
