"""Dates in other languages than English, through the library of the extra `dates`.

It is asked only about the few words around one that hints at a date in its language, and only
when there is one: a question without such a word costs nothing. Without the extra these questions
name no period; ISO dates and years are understood all the same.
"""

import importlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from recollect.domain import times
from recollect.retrieval.cues import lines_of
from recollect.retrieval.periods import Period, Span, between, day, month, week, year

#: Words beside a hint that may belong to its date.
WINDOW = 6
_WORD = re.compile(r"[^\s?!¿¡.,;:()\"«»„“”؟،]+\.?")
#: Dates in scripts whose words are not set apart by spaces: how to know the language, and what in
#: it is a date.
_DENSE = tuple(
    (language, re.compile(known_by), re.compile(date))
    for language, known_by, date in (
        (
            "ja",
            r"[\u3040-\u30ff]",
            r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?|\d{1,2}月(?:\d{1,2}日)?|\d+(?:日|週間|年)前|"
            r"一昨日|昨日|今日|先月|先週|今月|今週|去年|昨年|今年",
        ),
        (
            "zh",
            r"[\u4e00-\u9fff]",
            r"\d{4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月(?:\d{1,2}[日号])?|\d+(?:天|周|个月|年)前|"
            r"昨天|前天|今天|[上本这]个?(?:月|周|星期)|去年|前年|今年",
        ),
        (
            "ko",
            r"[\uac00-\ud7a3]",
            r"\d{4}년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|\d{1,2}월(?: ?\d{1,2}일)?|"
            r"\d+(?:일|주|개월|년) ?전|오늘|어제|그저께|지난달|지난주|작년|올해",
        ),
    )
)
_ANY_DENSE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Hints:
    """The words of `dates.txt`: which languages each is from, and which words relate to a date."""

    languages: dict[str, tuple[str, ...]]
    before: frozenset[str]
    after: frozenset[str]


def foreign(text: str, words: frozenset[str], now: int) -> tuple[Period, ...]:
    """The periods that a question in lower case names in any other language."""
    base = times.show(now).replace(hour=12, minute=0, second=0, microsecond=0)
    for language, known_by, date in _DENSE:
        if known_by.search(text):
            return tuple(_spelled(text, date, language, base))
    hints = _hints()
    hit = Counter(language for word in words for language in hints.languages.get(word, ()))
    for language, _ in hit.most_common():
        if read := tuple(_in_windows(text, language, hints, base)):
            return read
    return ()


def hinted(text: str, words: frozenset[str]) -> bool:
    """Whether a question may name a date in another language; cheap."""
    return not words.isdisjoint(_hints().languages) or (
        not text.isascii() and _ANY_DENSE.search(text) is not None
    )


def _spelled(text: str, date: re.Pattern[str], language: str, base: datetime) -> Iterator[Period]:
    for match in date.finditer(text):
        if (period := _read(match[0].replace("号", "日"), language, base)) is not None:
            yield replace(period, said=match[0])


def _in_windows(text: str, language: str, hints: Hints, base: datetime) -> Iterator[Period]:
    """The longest run of words around each hint that the library reads as a date."""
    words = list(_WORD.finditer(text))
    at = 0
    for place, word in enumerate(words):
        if place < at or language not in hints.languages.get(word[0].rstrip("."), ()):
            continue
        for begin, end in _windows(place, at, len(words)):
            said = text[words[begin].start() : words[end - 1].end()].rstrip(".")
            period = _read(said, language, base)
            if period is not None:
                yield _related(period, words[begin - 1][0] if begin else "", hints)
                at = end
                break


def _windows(place: int, least: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs of words that hold one of them, longest first."""
    for size in range(WINDOW, 0, -1):
        for begin in range(max(least, place - size + 1), place + 1):
            if begin + size <= most:
                yield begin, begin + size


def _related(period: Period, word: str, hints: Hints) -> Period:
    if word in hints.before:
        return replace(period, begins=None, ends=period.begins, relation="before")
    if word in hints.after:
        return replace(period, ends=None, relation="after")
    return period


def _read(said: str, language: str, base: datetime) -> Period | None:
    parser = _parser(language, base)
    if parser is None:
        return None
    data = parser.get_date_data(said)
    if data.date_obj is None:
        return None
    moment = data.date_obj.replace(tzinfo=UTC)
    # The library fills in what was not said from the base, so a date with digits is fixed.
    relative = not any(map(str.isdigit, said)) and data.period != "time"
    return between(_span(moment, data.period, base), said, relative=relative)


def _span(moment: datetime, period: str, base: datetime) -> Span:
    match period:
        case "week":
            if (base - moment).days == 7:  # "last week" is one of the calendar, "two ago" is near
                return week(moment)
            return day(moment - timedelta(days=3))[0], day(moment + timedelta(days=3))[1]
        case "month":
            return month(moment.year, moment.month)
        case "year":
            return year(moment.year)
        case _:
            return day(moment)


@cache
def _hints() -> Hints:
    languages: dict[str, tuple[str, ...]] = {}
    relations: dict[str, frozenset[str]] = {}
    for line in lines_of("dates.txt"):
        language, _, listed = line.partition(": ")
        if language in ("before", "after"):
            relations[language] = frozenset(listed.split())
            continue
        for word in listed.split():
            languages[word] = (*languages.get(word, ()), language)
    return Hints(languages, relations["before"], relations["after"])


@cache
def _library() -> Any:
    try:
        return importlib.import_module("dateparser.date")
    except ModuleNotFoundError:
        return None


def _parser(language: str, base: datetime) -> Any:
    library = _library()
    if library is None:
        return None
    settings = {
        "RELATIVE_BASE": base.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "TIMEZONE": "UTC",
    }
    return library.DateDataParser(languages=[language], settings=settings)
