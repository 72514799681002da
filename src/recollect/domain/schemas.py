"""Whether a value fulfils a JSON schema.

Knows the part of JSON Schema that models are asked for: `type`, `enum`, `properties`, `required`,
`additionalProperties`, `items`, and bounds on numbers, texts and lists. What it does not know it
does not check.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.domain.errors import shown

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
#: Bounds by what they are measured on: the length of a text or a list, the size of a number.
_LENGTHS = {"minLength": str, "maxLength": str, "minItems": list, "maxItems": list}


def faults(value: Any, schema: Mapping[str, Any], at: str = "$") -> Iterator[str]:
    """What is wrong with a value, each with where; nothing if it fulfils the schema.

    >>> list(faults({"age": "old"}, {"properties": {"age": {"type": "integer"}}}))
    ["$.age must be integer, not 'old'"]
    """
    wanted = schema.get("type")
    names: Sequence[str] = [wanted] if isinstance(wanted, str) else wanted or []
    if names and not any(_is(value, name) for name in names):
        yield f"{at} must be {' or '.join(names)}, not {shown(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} must be one of {schema['enum']}, not {shown(value)}"
    yield from _out_of_bounds(value, schema, at)
    if isinstance(value, dict):
        yield from _of_object(value, schema, at)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from faults(item, schema["items"], f"{at}[{index}]")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(name, object))


def _out_of_bounds(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    for bound, kind in _LENGTHS.items():
        if bound in schema and isinstance(value, kind):
            least = bound.startswith("min")
            if (len(value) < schema[bound]) if least else (len(value) > schema[bound]):
                yield f"{at} has a length of {len(value)}, {bound} is {schema[bound]}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            yield f"{at} must be from {low} to {high}, not {shown(value)}"


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], at: str) -> Iterator[str]:
    known: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}.{name} is missing"
    for name, inner in value.items():
        if name in known:
            yield from faults(inner, known[name], f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{at}.{name} is not known"
