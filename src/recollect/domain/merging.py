"""Merging profile data: the one rule for what a patch does to a document.

Objects merge key by key, lists unite in order (what was there first, then what is new, each value
once), every other value is replaced, and None removes its key. Inputs are never changed or shared.
Merging is idempotent. It is associative for patches that name each path with one type and hold
no None; with None the later patch wins, as it should.
"""

import copy
import json
from typing import Any

from recollect.domain.records import JsonObject


def deep_merge(base: JsonObject, patch: JsonObject) -> JsonObject:
    """The document after the patch.

    >>> deep_merge({"food": {"likes": ["tea"]}}, {"food": {"likes": ["figs"], "avoid": None}})
    {'food': {'likes': ['tea', 'figs']}}
    """
    merged = copy.deepcopy(base)
    _merge_into(merged, patch)
    return merged


def without_nulls(data: JsonObject) -> JsonObject:
    """The document that a patch makes of nothing."""
    return deep_merge({}, data)


def remove_path(base: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """The document without one key, however deep; unchanged when it is not there."""
    result = copy.deepcopy(base)
    node: Any = result
    for part in path[:-1]:
        node = node.get(part) if isinstance(node, dict) else None
    if isinstance(node, dict):
        node.pop(path[-1], None)
    return result


def _merge_into(target: JsonObject, patch: JsonObject) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            below = target.get(key)
            target[key] = below if isinstance(below, dict) else {}
            _merge_into(target[key], value)
        elif isinstance(value, list):
            below = target.get(key)
            target[key] = _united(below if isinstance(below, list) else [], value)
        else:
            target[key] = value


def _united(first: list[Any], second: list[Any]) -> list[Any]:
    """Both lists in order, every value once; 1, 1.0 and True are three values."""
    seen: set[str] = set()
    united: list[Any] = []
    for value in [*first, *second]:
        mark = json.dumps(value, sort_keys=True)
        if mark not in seen:
            seen.add(mark)
            united.append(copy.deepcopy(value))
    return united
