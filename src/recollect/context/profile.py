"""The person's own profile in a few lines: what is known, and what to work on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.context.quoting import entry
from recollect.domain.distilling import SUMMARY_CHARS_MAX
from recollect.domain.records import MemoryRecord, Profile

PROFILE_CHARS = SUMMARY_CHARS_MAX
FOCUS_MAX = 5
FOCUS_CHARS = 640


def profile_lines(profiles: Sequence[Profile]) -> list[str]:
    """What the profile says, a line per key, as far as 690 characters go; none if it is empty."""
    chosen: list[str] = []
    left = PROFILE_CHARS
    for line in (line for one in profiles for line in _category(one)):
        if len(line) + 1 > left:
            break
        chosen.append(line)
        left -= len(line) + 1
    return chosen


def _category(profile: Profile) -> Iterator[str]:
    """The keys of a category; nested ones as a path."""
    for path, value in _leaves(profile.data):
        yield _cut(f"{profile.category}: {' '.join(path)}: {_shown(value)}", PROFILE_CHARS // 2)


def _leaves(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for key, value in data.items():
        path = (*above, _one_line(key))
        if isinstance(value, Mapping):
            yield from _leaves(value, path)  # pyright: ignore[reportUnknownArgumentType]
        elif value not in (None, "", []):
            yield path, value


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(_shown(one) for one in value)  # pyright: ignore[reportUnknownVariableType]
    return _one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def focus(items: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """What to work on: the most urgent, then the latest changed; at most five."""
    first = sorted(items, key=lambda one: one.updated_at, reverse=True)
    first.sort(key=lambda one: (one.priority is None, one.priority or 0))
    return first[:FOCUS_MAX]


def focus_line(item: MemoryRecord) -> str:
    """An item as an entry."""
    named = f"{_one_line(item.item_key or '')}{f' ({item.stage})' if item.stage else ''}"
    return entry(_cut(f"{named}: {_one_line(item.text)}", FOCUS_CHARS))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"
