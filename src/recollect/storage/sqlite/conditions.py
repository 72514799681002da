"""Views and filters as SQL conditions. Identifiers come from tables in here, values are bound."""

from typing import Any

from recollect.domain import times
from recollect.domain.filters import FIELDS, JSON, TAGS, TEXT, All, AnyOf, Compare, Filter, Not
from recollect.domain.queries import View
from recollect.domain.records import Status
from recollect.storage.sqlite.rows import json_list

Condition = tuple[str, list[Any]]

_COLUMNS = {name: f"m.{name}" for name in FIELDS} | {"access_count": "coalesce(a.count, 0)"}
_ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
#: The JSON types that a value of each Python type may equal.
_JSON_TYPES = {bool: "('true', 'false')", int: "('integer', 'real')", str: "('text')"}


def of_view(view: View, place_numbers: list[int]) -> Condition:
    """What a row must fulfil to be shown by a view of the present, or of the present rows of
    the past: the earlier versions that a past view needs are read apart."""
    parts: list[Condition] = [
        ("m.place IN (SELECT value FROM json_each(?))", [json_list(place_numbers)])
    ]
    if view.session is not None:
        parts.append(("m.session = ?", [view.session]))
    if view.agent is not None:
        parts.append(("m.agent = ?", [view.agent]))
    parts.extend(_of_the_past(view) if view.in_the_past else _of_the_present(view))
    if view.where is not None:
        parts.append(of_filter(view.where))
    return _joined(" AND ", parts)


def _of_the_present(view: View) -> list[Condition]:
    statuses = view.statuses or (Status.ACTIVE,)
    parts: list[Condition] = [
        ("m.status IN (SELECT value FROM json_each(?))", [json_list(statuses)]),
        ("(m.expires_at IS NULL OR m.expires_at > ?)", [view.now]),
        ("(m.valid_to IS NULL OR m.valid_to > ? OR m.status <> 'active')", [view.now]),
    ]
    return parts


def _of_the_past(view: View) -> list[Condition]:
    """Rows that were the same then, and rows learned later about that time."""
    words = words_of(view)
    statuses = view.statuses or (Status.ACTIVE, Status.SUPERSEDED)
    learned_later = view.known_at is None
    parts: list[Condition] = [
        ("m.status IN (SELECT value FROM json_each(?))", [json_list(statuses)]),
        ("(m.updated_at <= ? OR (? AND m.created_at > ?))", [words, learned_later, words]),
    ]
    if view.as_of is not None:
        begins = "coalesce(m.valid_from, m.occurred_at, m.created_at)"
        parts.append((f"{begins} <= ?", [view.as_of]))
        parts.append(("(m.valid_to IS NULL OR m.valid_to > ?)", [view.as_of]))
    return parts


def words_of(view: View) -> int:
    """The moment whose wording a past view shows."""
    moments = [moment for moment in (view.as_of, view.known_at) if moment is not None]
    return min(moments) if moments else times.LAST


def of_filter(condition: Filter) -> Condition:
    """A filter as SQL; never NULL, so that NOT means what it says."""
    if isinstance(condition, All):
        return _joined(" AND ", [of_filter(part) for part in condition.parts])
    if isinstance(condition, AnyOf):
        return _joined(" OR ", [of_filter(part) for part in condition.parts])
    if isinstance(condition, Not):
        sql, values = of_filter(condition.part)
        return f"NOT {sql}", values
    if condition.operator in ("in", "nin"):
        assert isinstance(condition.value, tuple)
        if not condition.value:
            return ("(0)" if condition.operator == "in" else "(1)"), []
        one_of = [_compare(condition, "eq", value) for value in condition.value]
        sql, values = _joined(" OR ", one_of)
        return (sql if condition.operator == "in" else f"NOT {sql}"), values
    if condition.operator == "ne":
        sql, values = _compare(condition, "eq", condition.value)
        return f"NOT {sql}", values
    return _compare(condition, condition.operator, condition.value)


def _compare(condition: Compare, operator: str, value: Any) -> Condition:
    if condition.type == JSON:
        return _compare_json(condition, operator, value)
    column = _COLUMNS[condition.field]
    if condition.type == TAGS:
        return _compare_tags(column, operator, value)
    if operator == "exists":
        return f"({column} IS {'NOT ' if value else ''}NULL)", []
    if operator == "contains":
        if value is None:
            return "(0)", []
        return f"(coalesce(instr({column}, ?), 0) > 0)", [value]
    if operator == "eq":
        return f"({column} IS ?)", [value]
    if condition.type == TEXT:
        return f"(coalesce({column} {_ORDER[operator]} ? COLLATE BINARY, 0))", [value]
    return f"(coalesce({column} {_ORDER[operator]} ?, 0))", [value]


def _compare_tags(column: str, operator: str, value: Any) -> Condition:
    if operator == "exists":
        return f"({column} {'<>' if value else '='} '[]')", []
    if operator == "contains":
        return f"(EXISTS (SELECT 1 FROM json_each({column}) AS t WHERE t.value IS ?))", [value]
    return f"({column} = ?)", ["[]" if value is None else json_list([value]).replace(", ", ",")]


def _compare_json(condition: Compare, operator: str, value: Any) -> Condition:
    path = "$" + "".join(f'."{_quoted(part)}"' for part in condition.path)
    kind, actual = "json_type(m.metadata, ?)", "json_extract(m.metadata, ?)"
    if operator == "exists":
        return f"(coalesce({kind}, 'null') {'<>' if value else '='} 'null')", [path]
    if operator == "contains":
        return _json_contains(path, value)
    if value is None:
        return f"(coalesce({kind}, 'null') = 'null')", [path]
    types = _JSON_TYPES[_type_of(value)]
    sign = "=" if operator == "eq" else _ORDER[operator]
    return f"(coalesce({kind} IN {types} AND {actual} {sign} ?, 0))", [path, path, value]


def _json_contains(path: str, value: Any) -> Condition:
    """A text holds a part; a list holds a value of the same type."""
    listed = (
        "(coalesce(json_type(m.metadata, ?), '') = 'array' AND EXISTS ("
        "SELECT 1 FROM json_each(m.metadata, ?) AS t WHERE {}))"
    )
    if value is None:
        return listed.format("t.type = 'null'"), [path, path]
    test = f"t.type IN {_JSON_TYPES[_type_of(value)]} AND t.atom = ?"
    sql, values = listed.format(test), [path, path, value]
    if isinstance(value, str):
        text = "coalesce(json_type(m.metadata, ?) = 'text' AND "
        text += "instr(json_extract(m.metadata, ?), ?) > 0, 0)"
        return f"({sql} OR {text})", [*values, path, path, value]
    return sql, values


def _quoted(part: str) -> str:
    """A key as SQLite's JSON paths quote it."""
    return part.replace("\\", "\\\\").replace('"', '\\"')


def _type_of(value: Any) -> type:
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else int


def _joined(word: str, parts: list[Condition]) -> Condition:
    return (
        "(" + word.join(sql for sql, _ in parts) + ")",
        [value for _, values in parts for value in values],
    )
