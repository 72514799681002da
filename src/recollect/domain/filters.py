"""The closed language of filters: declared fields and metadata paths, ten operators, three joiners.

A filter is written as plain data, `{"kind": "fact", "importance": {"gte": 0.5}}`, and parsed into
the small tree below, which stores translate with every value bound. `matches` is the meaning:
each store's translation is tested against it. A missing value equals only None; values of
different types are never equal and never ordered.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import ge, gt, le, lt
from typing import Any

from recollect.domain import times
from recollect.domain.errors import UnknownFilter, ValidationError, shown
from recollect.domain.limits import (
    FILTER_DEPTH_MAX,
    FILTER_NODES_MAX,
    FILTER_VALUES_MAX,
    INTEGER_MAX,
    at_most,
)
from recollect.domain.records import MemoryRecord
from recollect.domain.scopes import check_characters

TEXT, NUMBER, MOMENT, TAGS, JSON = "text", "number", "moment", "tags", "json"
#: Every field that a filter may name, and what kind of value it holds.
FIELDS = {
    "id": TEXT,
    "text": TEXT,
    "kind": TEXT,
    "tier": TEXT,
    "status": TEXT,
    "agent": TEXT,
    "session": TEXT,
    "role": TEXT,
    "speaker": TEXT,
    "parent": TEXT,
    "item_key": TEXT,
    "stage": TEXT,
    "source": TEXT,
    "trust": TEXT,
    "superseded_by": TEXT,
    "importance": NUMBER,
    "priority": NUMBER,
    "position": NUMBER,
    "version": NUMBER,
    "access_count": NUMBER,
    "reinforcements": NUMBER,
    "occurred_at": MOMENT,
    "valid_from": MOMENT,
    "valid_to": MOMENT,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "expires_at": MOMENT,
    "reinforced_at": MOMENT,
    "stage_changed_at": MOMENT,
    "tags": TAGS,
}
ORDER: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
OPERATORS = ("eq", "ne", "in", "nin", *ORDER, "contains", "exists")
Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Compare:
    """One condition on a field, or on a path inside `metadata`."""

    field: str
    path: tuple[str, ...]
    operator: str
    value: Value | tuple[Value, ...]

    @property
    def type(self) -> str:
        """What kind of value the field holds."""
        return JSON if self.path else FIELDS[self.field]


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Filter"


Filter = Compare | All | AnyOf | Not


def parse(raw: Mapping[Any, Any] | None) -> Filter | None:
    """Read a filter written as plain data; None and nothing at all mean no filter.

    >>> parse({"kind": "fact"})
    Compare(field='kind', path=(), operator='eq', value='fact')
    """
    if raw is None:
        return None
    budget = [FILTER_NODES_MAX]
    parsed = _parse(raw, 1, budget)
    at_most(_listed(parsed), FILTER_VALUES_MAX, name="FILTER_VALUES_MAX", field="filter")
    return parsed


def _listed(condition: Filter) -> int:
    """How many values the lists of a filter name."""
    if isinstance(condition, All | AnyOf):
        return sum(map(_listed, condition.parts))
    if isinstance(condition, Not):
        return _listed(condition.part)
    return len(condition.value) if isinstance(condition.value, tuple) else 0


def _parse(raw: object, depth: int, budget: list[int]) -> Filter:
    if not isinstance(raw, Mapping):
        raise ValidationError(f"a filter must be a mapping, not {shown(raw)}", field="filter")
    if not raw:
        raise ValidationError("the filter is empty; leave it out to mean no filter", field="filter")
    if depth > FILTER_DEPTH_MAX:
        raise ValidationError(
            f"the filter is nested deeper than FILTER_DEPTH_MAX = {FILTER_DEPTH_MAX}",
            field="filter",
        )
    parts: list[Filter] = []
    for name, value in raw.items():
        if name in ("and", "or"):
            parts.append(_join(str(name), value, depth, budget))
        elif name == "not":
            parts.append(Not(_parse(value, depth + 1, budget)))
        else:
            parts.extend(_conditions(name, value, budget))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _join(name: str, value: object, depth: int, budget: list[int]) -> Filter:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ValidationError(f'"{name}" takes a list of filters, not {shown(value)}', field=name)
    parts = tuple(_parse(part, depth + 1, budget) for part in value)
    return All(parts) if name == "and" else AnyOf(parts)


def _conditions(name: object, value: object, budget: list[int]) -> list[Compare]:
    field, path = _target(name)
    if not isinstance(value, Mapping):
        value = {"in": value} if isinstance(value, list | tuple | set) else {"eq": value}
    if not value:
        raise ValidationError(f"the condition on {field} is empty", field=field)
    conditions: list[Compare] = []
    for operator, operand in value.items():
        if operator not in OPERATORS:
            raise UnknownFilter(
                f"unknown operator {shown(operator)} on {field}; known: {', '.join(OPERATORS)}",
                field=field,
            )
        budget[0] -= 1
        if budget[0] < 0:
            raise ValidationError(
                f"the filter has more than FILTER_NODES_MAX = {FILTER_NODES_MAX} conditions",
                field="filter",
            )
        kind = JSON if path else FIELDS[field]
        conditions.append(Compare(field, path, operator, _operand(field, kind, operator, operand)))
    return conditions


def _target(name: object) -> tuple[str, tuple[str, ...]]:
    """A declared field, or a path: "metadata.a.b", or ("metadata", "key.with.dots")."""
    parts = name if isinstance(name, tuple) else name.split(".") if isinstance(name, str) else ()
    texts = all(isinstance(part, str) for part in parts)
    if len(parts) > 1 and parts[0] == "metadata" and texts:
        for part in parts:
            check_characters(part, field="metadata path")
        return "metadata", tuple(map(str, parts[1:]))
    if len(parts) == 1 and parts[0] in FIELDS:
        return parts[0], ()
    raise UnknownFilter(
        f"unknown field {shown(name)}; known: {', '.join(FIELDS)}, metadata.<path>",
        field=shown(name),
    )


def _operand(field: str, kind: str, operator: str, value: object) -> Value | tuple[Value, ...]:
    if operator == "exists":
        if not isinstance(value, bool):
            raise ValidationError(f"exists on {field} takes True or False", field=field)
        return value
    if operator in ("in", "nin"):
        if not isinstance(value, Sequence | set | frozenset) or isinstance(value, str | bytes):
            raise ValidationError(f"{operator} on {field} takes a list", field=field)
        return tuple(_scalar(field, kind, item) for item in value)
    if operator in ORDER and (kind == TAGS or value is None or isinstance(value, bool)):
        raise ValidationError(f"{operator} on {field} needs a value that has an order", field=field)
    if operator == "contains" and kind not in (TEXT, TAGS, JSON):
        raise ValidationError(f"contains works on texts and lists, not on {field}", field=field)
    return _scalar(field, TEXT if operator == "contains" and kind == TAGS else kind, value)


def _scalar(field: str, kind: str, value: object) -> Value:
    if value is None:
        return None
    if kind == MOMENT:
        return times.parse(value, field=field)
    if isinstance(value, datetime | date):
        value = times.iso(times.show(times.parse(value, field=field)))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValidationError(f"{field} is compared with {value}", field=field)
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        raise ValidationError(f"{field} is compared with a number over 64 bits", field=field)
    if kind in (TEXT, TAGS):
        if isinstance(value, str):
            check_characters(value, field=field)
            return value
    elif kind == NUMBER:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    elif isinstance(value, str):
        check_characters(value, field=field)
        return value
    elif isinstance(value, bool | int | float):
        return value
    raise ValidationError(f"{field} cannot be compared with {shown(value)}", field=field)


def matches(condition: Filter, record: MemoryRecord) -> bool:
    """Whether a record fulfils a filter. This is what every store's translation must mean."""
    if isinstance(condition, All):
        return all(matches(part, record) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any(matches(part, record) for part in condition.parts)
    if isinstance(condition, Not):
        return not matches(condition.part, record)
    return _holds(condition, _value(condition, record))


def _value(condition: Compare, record: MemoryRecord) -> Any:
    if not condition.path:
        value = getattr(record, condition.field)
        return times.to_micros(value) if isinstance(value, datetime) else value
    value = record.metadata
    for part in condition.path:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _holds(condition: Compare, actual: Any) -> bool:
    operator, wanted = condition.operator, condition.value
    if operator == "exists":
        return (actual is not None and actual != ()) is wanted
    if operator == "contains":
        if isinstance(actual, str):
            return isinstance(wanted, str) and wanted in actual
        return isinstance(actual, list | tuple) and any(_same(item, wanted) for item in actual)
    if operator in ORDER:
        return _kind_of(actual) == _kind_of(wanted) and ORDER[operator](actual, wanted)
    if operator in ("in", "nin"):
        assert isinstance(wanted, tuple)
        return any(_equal(actual, one) for one in wanted) is (operator == "in")
    return _equal(actual, wanted) is (operator == "eq")


def _equal(actual: Any, wanted: Any) -> bool:
    """Equality; tags equal a name when they hold it and no other."""
    if isinstance(actual, tuple):
        return actual == () if wanted is None else actual == (wanted,)
    return _same(actual, wanted)


def _same(actual: Any, wanted: Any) -> bool:
    return _kind_of(actual) == _kind_of(wanted) and actual == wanted


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"
