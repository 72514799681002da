"""Drafts: what a caller gave, checked and made into a record or a set of changes.

Everything that comes from outside passes through here once. Whatever is wrong is refused with the
field, the value and what would be right; nothing is repaired in silence.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypedDict

from recollect.domain import ids, times
from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import (
    DIMENSIONS_MAX,
    INTEGER_MAX,
    JSON_DEPTH_MAX,
    KEY_CHARS_MAX,
    METADATA_BYTES_MAX,
    TAGS_MAX,
    TEXT_BYTES_MAX,
    at_most,
    share,
    whole,
)
from recollect.domain.records import (
    TRUST_OF_SOURCE,
    JsonObject,
    Kind,
    MemoryRecord,
    Source,
    Status,
    Tier,
    Trust,
    compact,
)
from recollect.domain.scopes import Scope, check_characters, check_name

Moment = datetime | date | str


class MessageFields(TypedDict, total=False):
    """Everything that may be said about a message besides its role and text."""

    kind: str
    tier: str
    status: str
    importance: float
    agent: str | None
    speaker: str | None
    parent: Any
    item_key: str | None
    stage: str | None
    stage_changed_at: Moment | None
    priority: int | None
    source: str
    trust: str
    occurred_at: Moment | None
    valid_from: Moment | None
    valid_to: Moment | None
    expires_at: Moment | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]


class Fields(MessageFields, total=False):
    """Everything that may be said about a memory besides its text."""

    role: str | None


class NewFields(Fields, total=False):
    """The same for a new memory, and what it is the answer to: of whom, to what, in short."""

    attribute: str
    subject: str
    value: str


def check_text(value: object) -> str:
    """The text of a memory: not empty, not too long, storable."""
    if not isinstance(value, str):
        raise ValidationError(f"text must be a string, not {type(value).__name__}", field="text")
    if not value.strip():
        raise ValidationError("text is empty: there is nothing to remember", field="text")
    check_characters(value, field="text")
    size = len(value) if value.isascii() else len(value.encode())
    at_most(size, TEXT_BYTES_MAX, name="TEXT_BYTES_MAX", field="text")
    return value


def check_json(value: object, *, field: str, bytes_max: int) -> JsonObject:
    """A JSON object, copied; NaN, huge integers, odd keys and deep nesting are refused."""
    if not isinstance(value, Mapping):
        raise ValidationError(
            f"{field} must be a JSON object (dictionary), not {type(value).__name__}", field=field
        )
    _check_json_value(value, field, 1)
    try:
        text = compact(dict(value))
    except (TypeError, ValueError) as exc:
        raise ValidationError(f"{field} cannot be written as JSON: {exc}", field=field) from exc
    at_most(len(text.encode()), bytes_max, name=_limit_name(bytes_max), field=field)
    copied: JsonObject = json.loads(text)
    return copied


def _limit_name(bytes_max: int) -> str:
    return "METADATA_BYTES_MAX" if bytes_max == METADATA_BYTES_MAX else "PROFILE_BYTES_MAX"


def _check_json_value(value: object, field: str, depth: int) -> None:
    if depth > JSON_DEPTH_MAX:
        raise ValidationError(
            f"{field} is nested deeper than JSON_DEPTH_MAX = {JSON_DEPTH_MAX}", field=field
        )
    if isinstance(value, Mapping):
        for key, below in value.items():
            if not isinstance(key, str):
                raise ValidationError(
                    f"{field} has a key that is no text: {shown(key)}", field=field
                )
            check_characters(key, field=field)
            _check_json_value(below, field, depth + 1)
    elif isinstance(value, list | tuple):
        for below in value:
            _check_json_value(below, field, depth + 1)
    elif isinstance(value, str):
        check_characters(value, field=field)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(f"{field} holds {value}, which JSON cannot hold", field=field)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > INTEGER_MAX:
        raise ValidationError(f"{field} holds an integer over 64 bits", field=field)
    elif value is not None and not isinstance(value, bool | int):
        raise ValidationError(
            f"{field} holds a {type(value).__name__}, which JSON cannot hold", field=field
        )


def _one_of(value: object, allowed: type[Tier | Status | Source | Trust], field: str) -> str:
    names = [member.value for member in allowed]
    if value not in names:
        raise ValidationError(
            f"{field} must be one of {', '.join(names)}, not {shown(value)}", field=field
        )
    return str(value)


def _name(value: object, field: str) -> str:
    return check_name(value, field=field)


def _item_key(value: object, field: str) -> str:
    name = check_name(value, field=field)
    at_most(len(name), KEY_CHARS_MAX, name="KEY_CHARS_MAX", field=field)
    return name


def _tags(value: object, field: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise ValidationError(f"{field} must be a list of texts, not {shown(value)}", field=field)
    at_most(len(value), TAGS_MAX, name="TAGS_MAX", field=field)
    return tuple(dict.fromkeys(check_name(tag, field=field) for tag in value))


def _metadata(value: object, field: str) -> JsonObject:
    if not value and isinstance(value, Mapping):
        return {}
    return check_json(value, field=field, bytes_max=METADATA_BYTES_MAX)


def _moment(value: object, field: str) -> datetime:
    return times.show(times.parse(value, field=field))


def _parent(value: object, field: str) -> str:
    return ids.require(value, ids.MEMORY, field=field)


def _priority(value: object, field: str) -> int:
    return whole(value, 0, 9, field=field)


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "text": lambda value, _: check_text(value),
    "kind": _name,
    "tier": lambda value, field: _one_of(value, Tier, field),
    "status": lambda value, field: _one_of(value, Status, field),
    "importance": lambda value, field: share(value, field=field),
    "agent": _name,
    "role": _name,
    "speaker": _name,
    "parent": _parent,
    "item_key": _item_key,
    "stage": _name,
    "stage_changed_at": _moment,
    "priority": _priority,
    "source": lambda value, field: _one_of(value, Source, field),
    "trust": lambda value, field: _one_of(value, Trust, field),
    "occurred_at": _moment,
    "valid_from": _moment,
    "valid_to": _moment,
    "expires_at": _moment,
    "tags": _tags,
    "metadata": _metadata,
}
#: Fields that None clears; for the others None is a mistake.
_CLEARABLE = frozenset(
    {
        *("agent", "role", "speaker", "parent", "item_key", "stage", "priority"),
        *("occurred_at", "valid_from", "valid_to", "expires_at"),
    }
)
#: Fields that nobody may change once a memory exists.
_FIXED = {"id": "an id", "user": "its owner", "created_at": "when it was learned"}


def check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as a record holds them; unknown ones are named."""
    checked: dict[str, Any] = {}
    for name, value in fields.items():
        check = _CHECKS.get(name)
        if check is None:
            raise ValidationError(_unknown(name), field=name)
        if value is None:
            if name not in _CLEARABLE:
                raise ValidationError(f"{name} cannot be None", field=name)
            checked[name] = None
        else:
            checked[name] = check(value, name)
    _check_order(checked)
    return checked


def _unknown(name: str) -> str:
    if name in _FIXED:
        return f"{name} cannot be changed: it is {_FIXED[name]}"
    return f"unknown field {shown(name)}; known: {', '.join(_CHECKS)}"


def _check_order(fields: Mapping[str, Any]) -> None:
    begins, ends = fields.get("valid_from"), fields.get("valid_to")
    if begins is not None and ends is not None and ends < begins:
        raise ValidationError(
            f"valid_to ({ends:%Y-%m-%d}) lies before valid_from ({begins:%Y-%m-%d})",
            field="valid_to",
        )


def new_record(
    id: str, scope: Scope, text: object, fields: Mapping[str, Any], now: datetime
) -> MemoryRecord:
    """A record from what a caller gave."""
    checked = check_fields(_keyed(fields))
    source = checked.get("source")
    if source is not None and "trust" not in checked:
        checked["trust"] = TRUST_OF_SOURCE[Source(source)].value
    if "agent" not in checked:
        checked["agent"] = scope.agent
    return MemoryRecord(
        id=id,
        text=check_text(text),
        place=scope.home,
        session=scope.session,
        created_at=now,
        updated_at=now,
        reinforced_at=now,
        **checked,
    )


#: Under this name the metadata of a memory hold which question it answers.
FACT = "fact"
_KEYED = ("attribute", "subject", "value")


def _keyed(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields with what makes a keyed fact among the metadata."""
    told = {name: fields[name] for name in _KEYED if fields.get(name) is not None}
    if not told:
        return fields
    if "attribute" not in told:
        raise ValidationError(
            "a subject or a value is of use with an attribute: name that too", field="attribute"
        )
    fact = {name: check_name(value, field=name) for name, value in told.items()}
    rest = {name: value for name, value in fields.items() if name not in _KEYED}
    metadata: object = rest.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        return rest  # refused with the other fields
    return {**rest, "metadata": {**metadata, FACT: fact}}


def without_value(metadata: JsonObject) -> JsonObject:
    """Metadata for another text: the question stays, what the answer was in short does not."""
    fact = metadata.get(FACT)
    if not isinstance(fact, Mapping) or "value" not in fact:
        return metadata
    return {**metadata, FACT: {name: fact[name] for name in fact if name != "value"}}


#: What a message's role says about where it came from.
SOURCE_OF_ROLE = {"assistant": Source.AGENT, "tool": Source.TOOL, "function": Source.TOOL}


def message_fields(role: object, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message: a memory of kind `interaction` with a role."""
    name = check_name(role, field="role")
    given = {"kind": Kind.INTERACTION.value, "role": name, **fields}
    given.setdefault("source", SOURCE_OF_ROLE.get(name, Source.USER).value)
    return given


def check_dimensions(count: int) -> None:
    """Refuse vectors of absurd size."""
    if not 1 <= count <= DIMENSIONS_MAX:
        raise ValidationError(
            f"a vector has 1 to DIMENSIONS_MAX = {DIMENSIONS_MAX} numbers, not {count}",
            field="vector",
        )
