"""What callers write, as the values that backends understand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from recollect.domain.context import Context
from recollect.domain.drafts import Moment
from recollect.domain.errors import ValidationError, shown
from recollect.domain.ids import MEMORY, require
from recollect.domain.requests import NewMemory, Packing, Selection
from recollect.domain.scopes import check_characters

#: A memory's id, or anything that has one: a record, a hit, what `remember` returned.
Which = Any
Filter = Mapping[Any, Any]


#: Parts of a scope that a handle can be asked for.
PARTS = ("user", "agent", "session", "app", "shared", "only_session")


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


class Packed(TypedDict, total=False):
    """What else may be said of a context."""

    model: str | None  #: for which tokens are counted, which also says how many there may be
    documents: Mapping[str, str] | None  #: texts to work with, by name
    limit: int | None  #: memories to recall, beside facts
    vector: Sequence[float] | None  #: of the question


def packing(
    question: str | None,
    tokens_max: int | None,
    system: str | None,
    after: Context | None,
    further: Packed,
) -> Packing:
    """What is asked of a context, checked as far as it can be from here."""
    for field, said in (("question", question), ("system", system)):
        if said is not None:
            if not isinstance(said, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValidationError(f"{field} must be a text, not {shown(said)}", field=field)
            check_characters(said, field=field)
    if after is not None and not isinstance(after, Context):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"after must be a Context, not {shown(after)}", field="after")
    known = ("question", "tokens_max", "system", "after", *Packed.__annotations__)
    for name in further:
        if name not in known:
            raise ValidationError(
                f"a context has no {name!r}; known: {', '.join(known)}", field=name
            )
    given: dict[str, Any] = {name: value for name, value in further.items() if value is not None}
    documents = given.get("documents", {})
    if not isinstance(documents, Mapping) or not all(
        isinstance(part, str)
        for pair in documents.items()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        for part in pair  # pyright: ignore[reportUnknownVariableType]
    ):
        raise ValidationError("documents must be texts by their names", field="documents")
    return Packing(question, tokens_max, system=system, after=after, **given)


def check_parts(parts: Mapping[str, Any]) -> None:
    """Refuse what is no part of a scope that a handle can be asked for."""
    for name in parts:
        if name not in PARTS:
            raise ValidationError(
                f"unknown part of a scope: {name!r}; known: {', '.join(PARTS)}", field=name
            )


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


def silent(doing: str, done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""


def descending(order: str) -> bool:
    """Whether an order is the falling one."""
    if order not in ("asc", "desc"):
        raise ValidationError(f"order must be asc or desc, not {shown(order)}", field="order")
    return order == "desc"
