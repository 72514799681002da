"""Views and filters as SQL conditions. Identifiers come from tables in here, values are bound."""

from typing import Any

from recollect.domain import times
from recollect.domain.filters import FIELDS, JSON, TAGS, TEXT, All, AnyOf, Compare, Filter, Not
from recollect.domain.queries import View
from recollect.domain.records import Status, compact
from recollect.storage.sqlite.rows import json_list
from recollect.storage.sqlite.sql import read

Condition = tuple[str, list[Any]]

_COLUMNS = {name: f"m.{name}" for name in FIELDS} | {"access_count": "coalesce(a.count, 0)"}
_ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
SQL = read("conditions.sql")
#: Conditions in a row; SQLite nests each a level deeper and goes 1,000 levels deep.
TOGETHER_MAX = 100


def of_view(view: View, place_numbers: list[int]) -> Condition:
    """What a row must fulfil to be shown by a view.

    The earlier versions that a view of the past needs too are read apart.
    """
    parts = [_in_places(place_numbers)]
    if view.session is not None:
        parts.append(("m.session = ?", [view.session]))
    if view.agent is not None:
        parts.append(("m.agent = ?", [view.agent]))
    parts.extend(_of_the_past(view) if view.in_the_past else _of_the_present(view))
    if view.where is not None:
        parts.append(of_filter(view.where))
    return _joined(" AND ", parts)


def _in_places(numbers: list[int]) -> Condition:
    """One place alone is read in order of writing, from any row on."""
    if len(numbers) == 1:
        return "m.place = ?", [numbers[0]]
    return "m.place IN (SELECT value FROM json_each(?))", [json_list(numbers)]


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
    moment = view.as_of if view.known_at is None else view.known_at
    return times.LAST if moment is None else moment


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
        return _compare_tags(operator, value)
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


def _compare_tags(operator: str, value: Any) -> Condition:
    if operator == "exists":
        return f"(m.tags {'<>' if value else '='} '[]')", []
    if operator == "contains":
        return f"({SQL['tags_hold']})", [value]
    return "(m.tags = ?)", ["[]" if value is None else compact([value])]


def _compare_json(condition: Compare, operator: str, value: Any) -> Condition:
    path = "$" + "".join(f'."{_quoted(part)}"' for part in condition.path)
    if operator == "exists":
        return f"({'' if value else 'NOT '}({SQL['json_is_there']}))", [path]
    if operator == "contains":
        return _json_contains(path, value)
    if value is None:
        return f"(NOT ({SQL['json_is_there']}))", [path]
    name = "json_equals" if operator == "eq" else f"json_{operator}"
    return f"({SQL[name]})", [path, _types_of(value), path, value]


def _json_contains(path: str, value: Any) -> Condition:
    """A text holds a part; a list holds a value of the same type."""
    if value is None:
        return f"({SQL['json_list_holds_null']})", [path, path]
    listed = (f"({SQL['json_list_holds']})", [path, path, _types_of(value), value])
    if not isinstance(value, str):
        return listed
    return _joined(" OR ", [listed, (f"({SQL['json_text_holds']})", [path, path, value])])


def _quoted(part: str) -> str:
    """A key as SQLite's JSON paths quote it."""
    return part.replace("\\", "\\\\").replace('"', '\\"')


def _types_of(value: Any) -> str:
    """The JSON types that a value may equal, as a JSON list."""
    if isinstance(value, bool):
        return '["true","false"]'
    return '["text"]' if isinstance(value, str) else '["integer","real"]'


def _joined(word: str, parts: list[Condition]) -> Condition:
    if len(parts) > TOGETHER_MAX:
        groups = range(0, len(parts), TOGETHER_MAX)
        return _joined(word, [_joined(word, parts[at : at + TOGETHER_MAX]) for at in groups])
    return (
        "(" + word.join(sql for sql, _ in parts) + ")",
        [value for _, values in parts for value in values],
    )
