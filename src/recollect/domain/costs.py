"""What calls of models cost: charges, their sums, and budgets.

Money is counted in billionths of a dollar, as whole numbers, so that sums are exact. A call whose
price nobody knows has none: it is counted apart, and never as if it were free.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Literal

from recollect.domain import times
from recollect.domain.errors import ValidationError, shown
from recollect.domain.records import JsonObject
from recollect.domain.scopes import Place, PlaceKind, Scope
from recollect.domain.usage import Usage

BILLION = 1_000_000_000
MILLION = 1_000_000
BUDGET_USD_MAX = 1_000_000_000
Purpose = Literal["memory", "reasoning", "embedding"]
Period = Literal["day", "month", "total"]
PERIODS: tuple[Period, ...] = ("day", "month", "total")
#: What a report can be broken down by.
BY = ("model", "purpose", "operation", "task", "user", "session", "agent", "app", "day")


@dataclass(frozen=True, slots=True)
class Payer:
    """Who a call is made for."""

    place: Place
    session: str | None = None
    agent: str | None = None

    @classmethod
    def of(cls, scope: Scope) -> "Payer":
        """Whoever asks: the user, also where it is a space that is asked."""
        place = scope.home
        if scope.user is not None:
            place = Place(scope.tenant, scope.app, PlaceKind.USER, scope.user)
        return cls(place, scope.session, scope.agent)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one call took."""

    payer: Payer
    at: int
    operation: str  #: what it served: remember, recall, context, …
    task: str  #: what was asked for: summary, facts, rewrite, reply, vectors
    purpose: str  #: memory, reasoning or embedding
    usage: Usage
    money: int | None  #: billionths of a dollar; None where nobody knows the price


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over calls."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    money: int = 0  #: billionths of a dollar, of the calls whose price is known
    unpriced: int = 0  #: calls whose price nobody knows

    @property
    def usd(self) -> float:
        """The money in dollars."""
        return self.money / BILLION

    def __add__(self, other: "Totals") -> "Totals":
        names = (one.name for one in fields(Totals))
        return Totals(*(getattr(self, name) + getattr(other, name) for name in names))

    def to_dict(self) -> JsonObject:
        """As it is answered in JSON."""
        said = {one.name: getattr(self, one.name) for one in fields(Totals) if one.name != "money"}
        return {**said, "usd": self.usd}


@dataclass(frozen=True, slots=True)
class CostQuery:
    """Which calls are wanted."""

    tenant: str
    since: int = 0
    until: int = times.LAST


@dataclass(frozen=True, slots=True)
class CostRow:
    """The calls of one day that agree in everything that a report can tell apart."""

    names: Mapping[str, str | None]  #: by the words of `BY`
    totals: Totals


@dataclass(frozen=True, slots=True)
class CostLine:
    """A line of a report: what its calls have in common, and their sums."""

    names: Mapping[str, str | None]
    totals: Totals

    @property
    def usd(self) -> float:
        """The money in dollars."""
        return self.totals.usd


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls of models took, dearest first."""

    by: tuple[str, ...]
    lines: tuple[CostLine, ...]
    total: Totals

    @property
    def usd(self) -> float:
        """The money in dollars."""
        return self.total.usd

    def to_dict(self) -> JsonObject:
        """As it is answered in JSON."""
        return {
            "by": list(self.by),
            "lines": [{**dict(line.names), **line.totals.to_dict()} for line in self.lines],
            "total": self.total.to_dict(),
        }


def report(rows: Iterable[CostRow], by: tuple[str, ...], only: Mapping[str, str | None]) -> Cost:
    """Sums over rows, by some words; `only` keeps the rows that agree with it."""
    for name in (*by, *only):
        if name not in BY:
            raise ValidationError(
                f"costs cannot be told apart by {shown(name)}; known: {', '.join(BY)}", field="by"
            )
    sums: dict[tuple[str | None, ...], Totals] = {}
    total = Totals()
    for row in rows:
        if any(row.names[name] != value for name, value in only.items()):
            continue
        key = tuple(row.names[name] for name in by)
        sums[key] = sums.get(key, Totals()) + row.totals
        total += row.totals
    ranked = sorted(sums.items(), key=lambda one: (-one[1].money, -one[1].tokens_in, str(one[0])))
    lines = tuple(CostLine(dict(zip(by, key, strict=True)), one) for key, one in ranked)
    return Cost(by, lines, total)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be spent, and by whom: a tenant (nobody is named), a user or an agent."""

    place: Place | None  #: the user's
    agent: str | None
    period: Period
    money: int  #: billionths of a dollar
    spent: int = 0  #: in the present period

    @property
    def owner(self) -> str:
        """Who it is for, as errors and tables put it."""
        if self.place is not None:
            return f"user {self.place.name}"
        return "everybody" if self.agent is None else f"agent {self.agent}"

    @property
    def usd(self) -> float:
        """The limit in dollars."""
        return self.money / BILLION

    @property
    def spent_usd(self) -> float:
        """What was spent in dollars."""
        return self.spent / BILLION

    def to_dict(self) -> JsonObject:
        """As it is answered in JSON."""
        return {
            "user": None if self.place is None else self.place.name,
            "agent": self.agent,
            "period": self.period,
            "usd": self.usd,
            "spent_usd": self.spent_usd,
        }


def billionths(usd: object, *, field: str) -> int:
    """Dollars as billionths."""
    if isinstance(usd, bool) or not isinstance(usd, int | float) or not 0 <= usd <= BUDGET_USD_MAX:
        raise ValidationError(
            f"{field} must be dollars from 0 to {BUDGET_USD_MAX:,}, not {shown(usd)}", field=field
        )
    return round(usd * BILLION)


def began(period: str, now: int) -> int:
    """When the present day or month began, in UTC; 0 for everything."""
    if period == "total":
        return 0
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now)
    first = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return times.to_micros(first if period == "day" else first.replace(day=1))


def priced(usage: Usage, price_in: float, price_out: float, price_cached: float | None) -> int:
    """Billionths of a dollar for a usage, at prices in dollars per million tokens."""
    cached = min(usage.tokens_cached, usage.tokens_in)
    rate = price_in if price_cached is None else price_cached
    dollars = (usage.tokens_in - cached) * price_in + cached * rate + usage.tokens_out * price_out
    return round(dollars * BILLION / MILLION)
