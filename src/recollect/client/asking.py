"""What callers write, as the values that backends understand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from recollect.domain.drafts import Moment
from recollect.domain.errors import ValidationError, shown
from recollect.domain.ids import MEMORY, require
from recollect.domain.requests import NewMemory, Selection

#: A memory's id, or anything that has one: a record, a hit, what `remember` returned.
Which = Any
Filter = Mapping[Any, Any]


class Chosen(TypedDict, total=False):
    """Which memories are wanted: a filter, shorthands for the most common ones, and a time."""

    where: Filter | None
    kind: str | None
    tags: Sequence[str] | None
    status: Sequence[str] | str | None
    as_of: Moment | None
    known_at: Moment | None


class ClientFields(TypedDict, total=False):
    """What can be said of a model client besides its label."""

    model: str
    provider: str
    base_url: str | None
    key_env: str | None
    options: Mapping[str, Any]
    active: bool


class AgentFields(TypedDict, total=False):
    """What can be said of an agent besides its label."""

    model_client: str
    memory_model_client: str | None
    type: str
    system_message: str
    description: str | None
    context: Mapping[str, Any]
    tools: Sequence[str]


def memory_id(which: Which) -> str:
    """The id of a memory, or of anything that has one."""
    return require(which, MEMORY, field="id")


def listed(values: object, field: str) -> list[Any]:
    """Many of something; one text is not many."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(f"{field} must be a list, not {shown(values)}", field=field)
    return list(values)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


#: What may be said about an item besides its fields.
_APART = ("text", "key", "vector", "force")


def draft(item: str | Mapping[str, Any]) -> NewMemory:
    """An item of a batch: a text, or a mapping of a text and whatever else is known."""
    if isinstance(item, str):
        return NewMemory(item)
    if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"an item is a text or a mapping, not {shown(item)}", field="items")
    fields = {name: value for name, value in item.items() if name not in _APART}
    apart = (item.get("key"), item.get("vector"), item.get("force", False))
    return NewMemory(item.get("text", ""), fields, *apart)


def selection(chosen: Chosen) -> Selection:
    """The filter and its shorthands as one."""
    where, kind, tags = chosen.get("where"), chosen.get("kind"), chosen.get("tags")
    parts: list[Filter] = [] if where is None else [where]
    if kind is not None:
        parts.append({"kind": kind})
    if tags is not None:
        parts += [{"tags": {"contains": tag}} for tag in listed(tags, "tags")]
    joined = None if not parts else parts[0] if len(parts) == 1 else {"and": parts}
    status = chosen.get("status")
    statuses = [status] if isinstance(status, str) else status
    return Selection(joined, statuses, chosen.get("as_of"), chosen.get("known_at"))
