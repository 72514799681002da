"""The part of JSON Schema that answers of models are held against."""

from typing import Any

import pytest

from recollect.domain.schemas import faults

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value", [{"name": "Ana"}, {"name": "", "age": None}, {"name": "Ana", "tags": ["a", "b"]}]
)
def test_what_fulfils_a_schema_has_no_faults(value: object) -> None:
    assert list(faults(value, PERSON)) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], "$ must be object"),
        ({}, "$.name is missing"),
        ({"name": 5}, "$.name must be string, not 5"),
        ({"name": "Anabel"}, "$.name has a length of 6, maxLength is 5"),
        ({"name": "Ana", "age": True}, "$.age must be integer or null, not True"),
        ({"name": "Ana", "age": 151}, "$.age must be from 0 to 150, not 151"),
        ({"name": "Ana", "tags": ["c"]}, "$.tags[0] must be one of"),
        ({"name": "Ana", "tags": ["a"] * 3}, "$.tags has a length of 3, maxItems is 2"),
        ({"name": "Ana", "city": "Lisbon"}, "$.city is not known"),
    ],
)
def test_each_fault_is_named_with_its_place(value: object, found: str) -> None:
    assert [fault for fault in faults(value, PERSON) if fault.startswith(found)]
