"""Policy: how memories live. How fast they fade, when they rise, when they retire.

A policy holds numbers and decides with them; it reads no clock and changes nothing. A tenant may
have one of its own, and so may every kind of memory.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from recollect.domain.errors import SettingsError, shown
from recollect.domain.times import DAY

DAYS_MAX = 36_500.0
#: Tables that hold policies of their own, by the name of a kind or of a tenant.
TABLES = ("kinds", "tenants")


def _rule(default: Any, meaning: str, least: float, most: float) -> Any:
    return field(default=default, metadata={"help": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How memories live; each of these may also be said for a kind or for a tenant."""

    fade_short: float = _rule(0.10, "the part of its strength a memory loses a day", 0, 0.999)
    fade_medium: float = _rule(0.05, "the same in the tier `medium`", 0, 0.999)
    fade_long: float = _rule(0.01, "the same in the tiers `long` and `archived`", 0, 0.999)
    half_life_days: float | None = _rule(
        None, "days in which strength halves, in place of the tiers' rates", 0.001, DAYS_MAX
    )
    reinforce_factor: float = _rule(1.2, "what a reinforcement multiplies importance by", 0.001, 10)
    reinforce_used: float = _rule(
        1.0, "what reading a memory multiplies importance by, said for all; 1: nothing", 1, 10
    )
    medium_days: float = _rule(7.0, "age from which a short memory can become medium", 0, DAYS_MAX)
    medium_uses: int = _rule(3, "reads and reinforcements that it takes", 0, 1_000_000)
    long_days: float = _rule(30.0, "age from which a medium memory can become long", 0, DAYS_MAX)
    long_uses: int = _rule(10, "reads and reinforcements that it takes", 0, 1_000_000)
    archive_below: float = _rule(0.1, "strength below which a memory is archived; 0: never", 0, 1)
    archive_days: float = _rule(
        90.0, "days without reinforcement before that can happen", 0, DAYS_MAX
    )
    expire_days: float | None = _rule(
        None, "days without reinforcement after which it is archived, however strong", 0, DAYS_MAX
    )
    consolidate_related: int = _rule(
        3, "memories that belong together before they are consolidated", 2, 100
    )
    consolidate_group: int = _rule(10, "memories that become one at most", 2, 100)
    consolidate_hours: float = _rule(24.0, "age from which that can happen", 0, DAYS_MAX * 24)
    consolidate_similarity: float = _rule(0.7, "how alike or linked they have to be", 0, 1)
    mastered_days: float = _rule(3.0, "days after which a mastered item retires", 0, DAYS_MAX)
    outdated_days: float = _rule(14.0, "days after which an outdated item retires", 0, DAYS_MAX)

    def rate(self, tier: str) -> float:
        """The part of its strength that a memory of a tier loses in a day."""
        if self.half_life_days is not None:
            return 1.0 - 0.5 ** (1.0 / self.half_life_days)
        return {"short": self.fade_short, "medium": self.fade_medium}.get(tier, self.fade_long)

    def strength(self, importance: float, tier: str, since: int, now: int) -> float:
        """What time has left of an importance that was last reinforced at `since`.

        >>> round(Policy().strength(1.0, "short", 0, 2 * DAY), 4)
        0.81
        """
        return importance * (1.0 - self.rate(tier)) ** (max(now - since, 0) / DAY)

    def falls_below(self, limit: float, importance: float, tier: str, since: int) -> int | None:
        """The moment from which strength is below a limit; None if it never is."""
        if importance < limit:
            return since
        kept = 1.0 - self.rate(tier)
        if limit <= 0 or kept >= 1.0:
            return None
        days = math.log(limit / importance) / math.log(kept)
        return since + math.ceil(min(days, DAYS_MAX * 100) * DAY)


#: Messages fade like everything, but stay: they are what all else is derived from.
KINDS: Mapping[str, Policy] = MappingProxyType({"interaction": Policy(archive_below=0.0)})


@dataclass(frozen=True, slots=True)
class _Own:
    """What is said for one tenant, or for everybody: the usual policy and those of kinds."""

    usual: Policy = Policy()
    kinds: Mapping[str, Policy] = field(default_factory=dict[str, Policy])


@dataclass(frozen=True)
class Policies:
    """The policy of every tenant and kind, from what the settings say.

    >>> Policies({"kinds": {"episode": {"half_life_days": 3}}}).of("local", "episode").rate("long")
    0.2062994740159002
    """

    said: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def _own(self) -> tuple[_Own, Mapping[str, _Own]]:
        usual = _own(self.said, Policy(), KINDS)
        tenants = self.said.get("tenants", {})
        return usual, {name: _own(told, usual.usual, usual.kinds) for name, told in tenants.items()}

    @property
    def usual(self) -> Policy:
        """What holds unless a tenant or a kind has a policy of its own."""
        return self._own[0].usual

    def of(self, tenant: str, kind: str) -> Policy:
        """The policy of a kind of memory of a tenant."""
        usual, tenants = self._own
        own = tenants.get(tenant, usual)
        return own.kinds.get(kind, own.usual)

    def all(self, tenant: str) -> Iterable[Policy]:
        """Every policy that can be that of a memory of a tenant."""
        usual, tenants = self._own
        own = tenants.get(tenant, usual)
        return (own.usual, *own.kinds.values())


@dataclass(frozen=True, slots=True)
class Fading:
    """How strong the memories of a tenant are at a moment."""

    now: int
    policies: Policies
    tenant: str

    def policy_of(self, kind: str) -> Policy:
        """The policy of a kind."""
        return self.policies.of(self.tenant, kind)


def _own(said: Mapping[str, Any], usual: Policy, kinds: Mapping[str, Policy]) -> _Own:
    told = {name: value for name, value in said.items() if name not in TABLES}
    own: dict[str, Mapping[str, Any]] = said.get("kinds", {})
    made = replace(usual, **told)
    # What everybody's kinds say holds for a tenant as well, unless the tenant says otherwise.
    both = {name: replace(policy, **told) for name, policy in kinds.items()}
    return _Own(made, {**both, **{k: replace(both.get(k, made), **v) for k, v in own.items()}})


#: The names and bounds of the numbers that a policy holds.
RULES = MappingProxyType({one.name: one for one in fields(Policy)})


def check(name: str, value: object, source: str) -> Any:
    """One word of a policy as it is kept: a number within its bounds, or a table of policies."""
    if name not in TABLES:
        return _number(name, value, source)
    table = _table(name, value, source)
    checked: dict[str, dict[str, Any]] = {}
    for key, policy in table.items():
        where = f"{name}.{key}"
        said = _table(where, policy, source)
        for word in said:
            if word not in RULES and (name, word) != ("tenants", "kinds"):
                raise SettingsError(
                    f"unknown setting {word!r:.80} of {where} in {source}; "
                    f"known: {', '.join(RULES)}"
                )
        checked[key] = {
            word: check(word, told, f"{source}, {where}") for word, told in said.items()
        }
    return checked


def _table(name: str, value: object, source: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as exc:
            raise SettingsError(f"{name} in {source} is not valid JSON: {exc}") from exc
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} in {source} must be a table, not {shown(value)}")
    return value  # pyright: ignore[reportUnknownVariableType]


def _number(name: str, value: object, source: str) -> Any:
    rule = RULES[name]
    least, most = rule.metadata["least"], rule.metadata["most"]
    number: object = value
    if isinstance(value, str):
        try:
            number = json.loads(value)
        except ValueError:
            number = None
    if isinstance(number, int | float) and not isinstance(number, bool):
        fits = rule.type is not int or isinstance(number, int)
        if fits and least <= number <= most:
            return number if rule.type is int else float(number)
    kind = "a whole number" if rule.type is int else "a number"
    raise SettingsError(
        f"{name} = {value!r:.80} in {source}: it must be {kind} from {least:g} to {most:g}"
    )
