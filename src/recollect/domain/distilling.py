"""What a profile says in short: its parts as sentences, and as many of them as have room."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from recollect.domain import times
from recollect.domain.records import JsonObject, MemoryRecord, Profile

SUMMARY_CHARS_MAX = 690
#: Facts that a summary looks at, the strongest first.
FACTS_MAX = 20
#: What `reset` leaves unless it is told otherwise.
TEMPLATE: Mapping[str, JsonObject] = {
    "personal_info": {},
    "areas_to_improve": {},
    "knowledge_strengths": {},
}
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+")


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a person, in at most 690 characters that end with a sentence."""

    text: str
    by: str  #: `whole` if all of it had room, else `extract`, or the model that wrote it
    characters: int  #: of the whole
    made_at: datetime | None  #: when the model wrote it
    running: bool  #: whether the profile is being looked after, or will be soon
    retired: tuple[str, ...]  #: ids of items that are no longer shown

    def to_dict(self) -> JsonObject:
        """The JSON form."""
        made_at = None if self.made_at is None else times.iso(self.made_at)
        return {
            "text": self.text,
            "by": self.by,
            "characters": self.characters,
            "made_at": made_at,
            "running": self.running,
            "retired": list(self.retired),
        }


def sentences(
    profiles: Sequence[Profile], items: Sequence[MemoryRecord], facts: Sequence[MemoryRecord]
) -> list[str]:
    """Everything that is known, a sentence each, the most important first."""
    said = [_ended(line) for profile in profiles for line in _leaves(profile.data)]
    said += [_ended(f"{_plain(one.stage or 'noted')}: {_plain(one.text)}") for one in items]
    said += [_ended(_plain(one.text)) for one in facts]
    return list(dict.fromkeys(said))


def digest(said: Sequence[str]) -> str:
    """A mark by which it shows that something else is known by now."""
    return blake2b("\n".join(said).encode(), digest_size=16).hexdigest()


def shortened(text: str, limit: int = SUMMARY_CHARS_MAX) -> str:
    """As many whole sentences from the beginning as have room; of one that is too long a part.

    >>> shortened("She likes tea. She lives in Porto. She paints.", 36)
    'She likes tea. She lives in Porto.'
    """
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in _SENTENCE.split(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > limit:
            break
        kept = longer
    return kept or text[: limit - 1].rsplit(" ", 1)[0] + "…"


def _leaves(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    """The keys of a category with their values; nested ones as a path."""
    for key, value in data.items():
        path = (*above, _plain(key).replace("_", " "))
        if isinstance(value, Mapping):
            yield from _leaves(value, path)  # pyright: ignore[reportUnknownArgumentType]
        elif value not in (None, "", []):
            yield f"{' '.join(path)}: {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value)  # pyright: ignore[reportUnknownVariableType]
    return _plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."
