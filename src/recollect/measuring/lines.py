"""JSON lines, plain or gzip, checked field by field: every complaint names its file and line."""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from recollect.domain import times
from recollect.domain.errors import ValidationError, shown
from recollect.domain.records import JsonObject


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))  # pyright: ignore[reportUnknownArgumentType]


def _is_time(value: object) -> bool:
    try:
        times.parse(value if isinstance(value, str) else None, field="time")
    except ValidationError:
        return False
    return True


def _is_pairs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and _is_text(pair[0]) and _is_time(pair[1])  # pyright: ignore[reportUnknownArgumentType]
        for pair in value  # pyright: ignore[reportUnknownVariableType]
    )


@dataclass(frozen=True, slots=True)
class Check:
    """What a field must be, and how one says that."""

    fulfilled: Callable[[object], bool]
    wanted: str


TEXT = Check(_is_text, "a text that is not empty")
STRING = Check(_is_string, "a text")
TIME = Check(_is_time, "an ISO 8601 date or time")
LIST = Check(_is_list, "a list")
TEXTS = Check(_is_texts, "a list of texts")
ANYTHING = Check(lambda _: True, "anything")
PAIRS = Check(_is_pairs, "a list of [session id, time]")


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields that a thing must and may have."""

    what: str
    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict[str, Check])


class Lines:
    """The lines of one file, and what was noticed while reading them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 0
        self._unread: dict[tuple[str, str], tuple[int, int]] = {}

    def __iter__(self) -> Iterator[JsonObject]:
        with self._opened() as file:
            while True:
                self._line += 1
                line = self._next(file)
                if not line:
                    return
                if line.strip():
                    yield self._object(line)

    def check(self, value: object, shape: Shape) -> JsonObject:
        """A thing whose fields are as they must be; those that nobody knows are noted."""
        if not isinstance(value, dict):
            raise self.wrong(f"{shape.what} must be a JSON object, not {shown(value)}")
        given: JsonObject = {
            name: one
            for name, one in value.items()  # pyright: ignore[reportUnknownVariableType]
            if one is not None
        }
        known = {**shape.required, **shape.optional}
        for name in given:
            if name not in known:
                first, count = self._unread.get((shape.what, name), (self._line, 0))
                self._unread[shape.what, name] = (first, count + 1)
        for name in shape.required:
            if name not in given:
                raise self.wrong(f"{shape.what} has no {name!r}{_near(name, given, known)}")
        for name, check in known.items():
            if name in given and not check.fulfilled(given[name]):
                told = shown(given[name])
                raise self.wrong(f"{name!r} of {shape.what} must be {check.wanted}, not {told}")
        return given

    def once(self, id: str, seen: Collection[str], what: str) -> None:
        """Refuse an id that was there before."""
        if id in seen:
            raise self.wrong(f"{what} {id!r} is there twice")

    def wrong(self, what: str) -> ValidationError:
        """The error that says what is wrong in the line read last."""
        return ValidationError(f"{self._path.name}:{self._line}: {what}")

    def notes(self) -> Iterator[str]:
        """The fields that nobody reads: where they were first seen, and how often."""
        for (what, name), (line, count) in self._unread.items():
            yield f"{self._path.name}:{line}: {what} has an unknown field {name!r} ({count} times)"

    @contextmanager
    def _opened(self) -> Generator[IO[bytes]]:
        opener: Any = gzip.open if self._path.suffix == ".gz" else open
        try:
            with opener(self._path, "rb") as file:
                yield file
        except OSError as exc:
            why = exc.strerror or exc
            raise ValidationError(f"could not read {self._path.name}: {why}") from exc

    def _next(self, file: IO[bytes]) -> bytes:
        try:
            return file.readline()
        except (gzip.BadGzipFile, EOFError, zlib.error) as exc:
            raise self.wrong(f"the gzip file is damaged: {exc}") from exc

    def _object(self, line: bytes) -> JsonObject:
        try:
            found = json.loads(line)
        except ValueError as exc:
            raise self.wrong(f"not a line of JSON: {exc}") from exc
        if not isinstance(found, dict):
            raise self.wrong(f"a line must be a JSON object, not {shown(found)}")
        return found  # pyright: ignore[reportUnknownVariableType]


def _near(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    close = get_close_matches(name, [one for one in given if one not in known], n=1)
    return f"; is {close[0]!r} meant to be it?" if close else ""
