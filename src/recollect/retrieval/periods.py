"""Periods: the stretches of time that a question names, resolved against its date.

English and ISO dates are read by the rules below; `dates.py` passes what other languages say to a
library. All days are days in UTC, as everywhere inside.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from recollect.domain import times

Relation = Literal["in", "before", "after", "as_of"]
Span = tuple[datetime, datetime]
Resolver = Callable[[re.Match[str], datetime], Span | None]


@dataclass(frozen=True, slots=True)
class Period:
    """From `begins` on and before `ends`, in microseconds; None is open."""

    begins: int | None
    ends: int | None
    said: str  #: the words of the question
    relation: Relation = "in"
    relative: bool = False  #: counted from the question's date: "last month", "two weeks ago"

    def holds(self, moment: int) -> bool:
        """Whether a moment lies in it."""
        after = self.begins is None or self.begins <= moment
        return after and (self.ends is None or moment < self.ends)


_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NUMBERS = {
    said: number
    for number, name in enumerate(_MONTH_NAMES, start=1)
    for said in (name, name[:3], "sept" if name == "september" else name)
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS = {
    "a": 1,
    "one": 1,
    "an": 1,
    "two": 2,
    "couple of": 2,
    "a couple of": 2,
    "three": 3,
    "few": 3,
    "a few": 3,
    "four": 4,
    "several": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
#: Without any of these, and without a digit, an English question names no date.
HINTS = frozenset(
    [
        *(*_MONTH_NUMBERS, *_WEEKDAYS, *_SEASONS),
        *("today", "tonight", "yesterday", "tomorrow", "ago"),
        *("last", "past", "this", "next", "previous", "coming"),
    ]
)

_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|year)s?"
#: "may" and "march" are words of every day: alone they are months only behind one of these.
_BEFORE_MONTH = (
    r"(?:in|of|since|until|till|by|before|after|during|through|from|to|and|between|early|late|mid|"
    r"around)"
)
_RELATION = re.compile(
    r"\b(?P<word>before|prior to|until|till|up to|by|through|after|since|from|starting(?: in| on)?|"
    r"following|as of|between)\s+(?:(?:the|early|late|mid|end of|start of|beginning of)\s+)*$"
)
#: "the week before 3 August", "two days after Christmas": beside a date rather than open-ended.
_BESIDE = re.compile(
    rf"\b(?:{_COUNT}|the|last) (?P<unit>day|weekend|week|month|year)s? (?P<word>before|after) $"
)
_TO = re.compile(r"\s*(?:and|to|until|till|through|[-–])\s*(?:the\s+)?")


def periods(text: str, now: int) -> tuple[Period, ...]:
    """The periods that a question in lower case names in English or by numbers.

    >>> [period.said for period in periods("what did i do on 3 may 2026 and last week?", 0)]
    ['3 may 2026', 'last week']
    """
    today = times.show(now).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[tuple[int, int, Span, bool]] = []
    left = text
    for pattern, resolve, relative in _RULES:
        for match in pattern.finditer(left):
            span = _resolved(resolve, match, today)
            if span is not None:
                start, end = match.span("at")
                found.append((start, end, span, relative))
                # What is read as one date is not read again as a part of another.
                left = left[:start] + "\0" * (end - start) + left[end:]
    found.sort()
    return tuple(_related(text, found, times.show(now)))


def between(span: Span, said: str, *, relative: bool) -> Period:
    """The period of two moments."""
    begins, ends = map(times.to_micros, span)
    return Period(begins, ends, said, relative=relative)


def related(text: str, start: int, period: Period) -> Period:
    """A period with what the words before it make of it: "before May", "since 2024"."""
    before = _RELATION.search(text[:start])
    word = before["word"] if before else ""
    said = f"{word} {period.said}" if word else period.said
    match word:
        case "before" | "prior to":
            return replace(period, begins=None, ends=period.begins, said=said, relation="before")
        case "until" | "till" | "up to" | "by" | "through":
            return replace(period, begins=None, said=said, relation="before")
        case "after" | "following":
            return replace(period, begins=period.ends, ends=None, said=said, relation="after")
        case "as of":
            return replace(period, begins=None, said=said, relation="as_of")
        case _ if word == "since" or word.startswith("starting"):
            return replace(period, ends=None, said=said, relation="after")
        case _:
            return period


def _resolved(resolve: Resolver, match: re.Match[str], today: datetime) -> Span | None:
    try:
        return resolve(match, today)
    except (ValueError, OverflowError):
        return None  # the 31st of June, or a day before the year 1


def _related(
    text: str, found: list[tuple[int, int, Span, bool]], now: datetime
) -> Iterator[Period]:
    """Periods with their relations; two with "between … and" or "from … to" become one."""
    at = 0
    while at < len(found):
        start, end, span, relative = found[at]
        period = between(span, text[start:end], relative=relative)
        before = _RELATION.search(text[:start])
        if before and before["word"] in ("between", "from") and at + 1 < len(found):
            next_start, next_end, next_span, _ = found[at + 1]
            if _TO.fullmatch(text[end:next_start]):
                at += 2
                both = _together(span, next_span)
                yield between(both, text[start:next_end], relative=relative)
                continue
        at += 1
        beside = _BESIDE.search(text[:start])
        if beside:
            yield between(_beside(beside, span), beside[0] + period.said, relative=relative)
        else:
            yield related(text, start, period)


def _together(first: Span, second: Span) -> Span:
    """From one span to the other; a first one without a year takes that of the second."""
    begins, ends = first[0], second[1]
    if begins >= ends:
        begins = begins.replace(year=second[0].year, day=min(begins.day, 28))
    return min(begins, second[0]), ends


def _beside(said: re.Match[str], span: Span) -> Span:
    """The day, week, … next to a date, or so many of them away from it."""
    unit, later = said["unit"], said["word"] == "after"
    if unit == "weekend":
        monday = week(span[1] + timedelta(days=6) if later else span[0])[0]
        saturday = monday + timedelta(days=5 if later else -2)
        return saturday, saturday + timedelta(days=2)
    if said["count"] is None:
        step = timedelta(days=_DAYS[unit])
        return (span[1], span[1] + step) if later else (span[0] - step, span[0])
    far = timedelta(days=_number(said["count"]) * _DAYS[unit]) * (1 if later else -1)
    near = timedelta(days=_DAYS[unit] // 2)
    return span[0] + far - near, span[1] + far + near


# -- resolving -------------------------------------------------------------------------------------


def day(of: datetime) -> Span:
    """The day of a moment."""
    begins = of.replace(hour=0, minute=0, second=0, microsecond=0)
    return begins, begins + timedelta(days=1)


def week(of: datetime) -> Span:
    """The week of a moment, from its Monday."""
    monday = day(of)[0] - timedelta(days=of.weekday())
    return monday, monday + timedelta(days=7)


def month(year: int, number: int) -> Span:
    """A month; numbers beyond 12 belong to later years, below 1 to earlier ones."""
    first = _month_begins(year, number)
    return first, _month_begins(year, number + 1)


def year(number: int) -> Span:
    """A year."""
    return datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC)


def _month_begins(year: int, number: int) -> datetime:
    return datetime(year + (number - 1) // 12, (number - 1) % 12 + 1, 1, tzinfo=UTC)


def _iso(match: re.Match[str], today: datetime) -> Span | None:
    number, numbered_day = int(match["number"]), match["day"]
    if not numbered_day:
        return month(int(match["year"]), number) if 1 <= number <= 12 else None
    return day(datetime(int(match["year"]), number, int(numbered_day), tzinfo=UTC))


def _slashed(match: re.Match[str], today: datetime) -> Span | None:
    """5/31/2026 as in America, 31/5/2026 where that cannot be, 31.5.2026 as in Europe."""
    first, second = int(match["first"]), int(match["second"])
    if match["sign"] == "." or first > 12:
        first, second = second, first
    return day(datetime(int(match["year"]), first, second, tzinfo=UTC))


def _dated(match: re.Match[str], today: datetime) -> Span | None:
    """A day of a month; without a year the last one that has begun."""
    number, of = _MONTH_NUMBERS[match["month"]], int(match["day"])
    if match["year"]:
        return day(datetime(int(match["year"]), number, of, tzinfo=UTC))
    this_year = datetime(today.year, number, of, tzinfo=UTC)
    return day(this_year if this_year <= today else this_year.replace(year=today.year - 1))


def _month_of_year(match: re.Match[str], today: datetime) -> Span | None:
    return month(int(match["year"]), _MONTH_NUMBERS[match["month"]])


def _year(match: re.Match[str], today: datetime) -> Span | None:
    return year(int(match["year"]))


def _bare_month(match: re.Match[str], today: datetime) -> Span | None:
    """The last month of this name that has begun; "last May" is over, "next May" is to come."""
    number = _MONTH_NUMBERS[match["month"]]
    of = today.year - (number > today.month)
    if match["which"] in ("last", "past", "previous") and number == today.month:
        of -= 1
    elif match["which"] in ("next", "coming"):
        of = today.year + (number <= today.month)
    elif match["which"] == "this":
        of = today.year
    return month(of, number)


def _near_day(match: re.Match[str], today: datetime) -> Span | None:
    said = match["said"]
    ago = -1 if said == "tomorrow" else 0
    if said == "yesterday" or said.startswith("last"):
        ago = 1
    elif said.startswith("the day before"):
        ago = 2
    return day(today - timedelta(days=ago))


def _ago(match: re.Match[str], today: datetime) -> Span | None:
    """Days are meant exactly; weeks within days, months within weeks; years as years."""
    count, unit = _number(match["count"]), match["unit"]
    if unit == "year":
        return year(today.year - count)
    if unit == "month":
        of = _month_begins(today.year, today.month - count)
        return day(of.replace(day=min(today.day, 28)) - timedelta(15))[0], of + timedelta(45)
    then = today - timedelta(days=count * _DAYS[unit])
    near = timedelta(days=0 if unit == "day" else 3)
    return then - near, then + near + timedelta(days=1)


def _lately(match: re.Match[str], today: datetime) -> Span | None:
    """The past three weeks, the last few days: up to now."""
    count = _number(match["count"]) if match["count"] else 1
    return today - timedelta(days=count * _DAYS[match["unit"]]), today + timedelta(days=1)


def _unit(match: re.Match[str], today: datetime) -> Span | None:
    """Last week, this year, next weekend: whole weeks, months and years of the calendar."""
    step = {"this": 0, "next": 1, "coming": 1}.get(match["which"], -1)
    match match["unit"]:
        case "week":
            return week(today + timedelta(days=7 * step))
        case "weekend":
            monday = week(today + timedelta(days=7 * step))[0]
            return monday + timedelta(days=5), monday + timedelta(days=7)
        case "month":
            return month(today.year, today.month + step)
        case "year":
            return year(today.year + step)
        case season:
            return _season(season, step, today)


def _season(season: str, step: int, today: datetime) -> Span:
    """Three months, as they fall in the north."""
    first = _SEASONS[season]
    of = today.year - (month(today.year, first)[0] > today)
    if step < 0 and today < _month_begins(of, first + 3):
        of -= 1  # "last summer" is over
    elif step > 0:
        of += 1
    return _month_begins(of, first), _month_begins(of, first + 3)


def _season_of_year(match: re.Match[str], today: datetime) -> Span | None:
    of, first = int(match["year"]), _SEASONS[match["season"]]
    return _month_begins(of, first), _month_begins(of, first + 3)


def _weekday(match: re.Match[str], today: datetime) -> Span | None:
    """The last such day before today; "this" may be to come, "next" is."""
    wanted = _WEEKDAYS.index(match["weekday"])
    if match["which"] in ("next", "coming", "this"):
        return day(today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1))
    return day(today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1))


def _number(said: str) -> int:
    return int(said) if said.isdigit() else _NUMBERS[said]


_WHICH = r"(?P<which>last|past|previous|this|next|coming)"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})"
_SEASON = rf"(?P<season>{'|'.join(_SEASONS)})"
#: In this order: what is longer and clearer first. True marks what is counted from today; `at` is
#: what of a match is the date.
_RULES: tuple[tuple[re.Pattern[str], Resolver, bool], ...] = tuple(
    (re.compile(pattern if "(?P<at>" in pattern else rf"(?P<at>{pattern})"), resolve, relative)
    for pattern, resolve, relative in (
        (
            r"(?<![\w/-])(?P<year>(?:19|20)\d\d)[-/](?P<number>[01]\d)"
            r"(?:[-/](?P<day>[0-3]\d))?(?![\d/-])",
            _iso,
            False,
        ),
        (
            r"(?<![\w./-])(?P<first>[0-3]?\d)(?P<sign>[./-])(?P<second>[0-3]?\d)(?P=sign)"
            rf"{_YEAR}(?!\w)",
            _slashed,
            False,
        ),
        (rf"\b{_DAY}(?: of)? {_MONTH}\b\.?(?:,? {_YEAR}\b)?", _dated, False),
        (rf"\b{_MONTH}\b\.? (?:the )?{_DAY}\b(?!:)(?:,? {_YEAR}\b)?", _dated, False),
        (rf"\b{_MONTH}\b\.?,?(?: of)? {_YEAR}\b", _month_of_year, False),
        (rf"\b{_SEASON}(?: of)? {_YEAR}\b", _season_of_year, False),
        (
            r"\b(?P<said>the day before yesterday|yesterday|today|tonight|tomorrow|last night|"
            r"this (?:morning|afternoon|evening))\b",
            _near_day,
            True,
        ),
        (rf"\b{_COUNT} {_UNIT} ago\b", _ago, True),
        (rf"\b(?:last|past|previous) {_COUNT} {_UNIT}\b", _lately, True),
        (rf"\b(?P<count>)past {_UNIT}\b", _lately, True),
        (rf"\b{_WHICH} (?P<unit>weekend|week|month|year|{'|'.join(_SEASONS)})\b", _unit, True),
        (rf"\b{_WHICH} {_MONTH}\b", _bare_month, True),
        (rf"\b{_WHICH} {_WEEKDAY}\b", _weekday, True),
        (
            rf"\b(?:on|since|before|after|by|until) (?P<which>)(?P<at>{_WEEKDAY})\b",
            _weekday,
            True,
        ),
        (rf"\b{_BEFORE_MONTH} (?P<which>)(?P<at>{_MONTH})\b", _bare_month, False),
        (rf"(?<![\w.$€£#/-]){_YEAR}(?![\w%/-]|[.,]\d)", _year, False),
    )
)
