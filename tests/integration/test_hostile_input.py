"""Whatever comes in: a typed error that says what and which, nothing stored, nothing lost."""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.domain import limits
from recollect.domain.errors import (
    InternalError,
    InvalidCursor,
    NotFound,
    PayloadTooLarge,
    RecollectError,
    StorageError,
    UnknownFilter,
    ValidationError,
)
from recollect.testing import InMemoryStore

SECRET = "the one thing that was there before"


@pytest.fixture(params=["sqlite", "memory"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    store = {"store": InMemoryStore()} if request.param == "memory" else {}
    with recollect.open(str(tmp_path / "memory.db"), **store) as opened:
        yield opened


def census(memory: Memory) -> dict[str, Any]:
    """Everything that a refused call must leave as it was."""
    told = memory.stats()
    for volatile in ("file", "file_bytes"):
        told.pop(volatile, None)
    return told


def nested(depth: int, *, mapping: bool = False) -> Any:
    """JSON nested so deep that whoever walks it by recursion falls over."""
    value: Any = {} if mapping else []
    for _ in range(depth):
        value = {"a": value} if mapping else [value]
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


# -- the table of the issue ----------------------------------------------------------------------

DAY = timedelta(days=1)
#: What is given to `remember`, and the words that the error says.
BAD_MEMORIES: dict[str, tuple[dict[str, Any], type[RecollectError], str]] = {
    "empty text": ({"text": ""}, ValidationError, "text is empty"),
    "blank text": ({"text": " \n\t"}, ValidationError, "text is empty"),
    "no text": ({"text": None}, ValidationError, "text must be a string, not NoneType"),
    "bytes": ({"text": b"hi"}, ValidationError, "text must be a string, not bytes"),
    "text over the limit": (
        {"text": "x" * (limits.TEXT_BYTES_MAX + 1)},
        PayloadTooLarge,
        "over TEXT_BYTES_MAX",
    ),
    "text over the limit in bytes": (
        {"text": "ж" * (limits.TEXT_BYTES_MAX // 2 + 1)},
        PayloadTooLarge,
        "over TEXT_BYTES_MAX",
    ),
    "NUL": ({"text": "a\x00b"}, ValidationError, "text holds a NUL"),
    "lone surrogate": ({"text": "a\ud800b"}, ValidationError, "lone surrogate at character 1"),
    "NUL in a tag": ({"text": "a", "tags": ["ok", "a\x00"]}, ValidationError, "tags holds a NUL"),
    "surrogate in metadata": (
        {"text": "a", "metadata": {"k": ["\udfff"]}},
        ValidationError,
        "metadata holds a lone surrogate",
    ),
    "NaN importance": ({"text": "a", "importance": math.nan}, ValidationError, "importance"),
    "NaN metadata": ({"text": "a", "metadata": {"n": math.nan}}, ValidationError, "metadata"),
    "infinite vector": ({"text": "a", "vector": [math.inf, 1.0]}, ValidationError, "vector"),
    "NaN vector": ({"text": "a", "vector": [math.nan]}, ValidationError, "vector"),
    "vector of zeros": ({"text": "a", "vector": [0.0, 0.0]}, ValidationError, "zeros"),
    "empty vector": ({"text": "a", "vector": []}, ValidationError, "DIMENSIONS_MAX"),
    "wrong dimension": ({"text": "a", "vector": [1.0, 2.0]}, ValidationError, "dimensions"),
    "vector of words": ({"text": "a", "vector": ["x"]}, ValidationError, "vector"),
    "vector over float32": ({"text": "a", "vector": [1e300, 1.0]}, ValidationError, "vector"),
    "vector over float64": ({"text": "a", "vector": [10**400, 1]}, ValidationError, "vector"),
    "int64 overflow": ({"text": "a", "metadata": {"n": 2**63}}, ValidationError, "64 bits"),
    "int64 underflow": ({"text": "a", "metadata": {"n": -(2**63) - 1}}, ValidationError, "64"),
    "endless integer": ({"text": "a", "metadata": {"n": 10**5000}}, ValidationError, "64 bits"),
    "priority over nine": ({"text": "a", "priority": 2**63}, ValidationError, "priority"),
    "endless priority": ({"text": "a", "priority": 10**5000}, ValidationError, "priority"),
    "unknown field": ({"text": "a", "colour": 1}, ValidationError, "unknown field 'colour'"),
    "an id": ({"text": "a", "id": "mem_x"}, ValidationError, "id cannot be changed"),
    "an owner": ({"text": "a", "user": "eve"}, ValidationError, "user cannot be changed"),
    "date of no calendar": (
        {"text": "a", "occurred_at": "2026-02-30"},
        ValidationError,
        "occurred_at is not an ISO 8601 date or time: '2026-02-30'",
    ),
    "year zero": ({"text": "a", "occurred_at": "0000-01-01"}, ValidationError, "occurred_at"),
    "before all zones": ({"text": "a", "occurred_at": datetime.min}, ValidationError, "years"),
    "after all zones": (
        {"text": "a", "valid_to": datetime.max.replace(tzinfo=timezone(-DAY / 2))},
        ValidationError,
        "valid_to",
    ),
    "a time as a number": ({"text": "a", "expires_at": 1e9}, ValidationError, "expires_at"),
    "an end before the beginning": (
        {"text": "a", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
        ValidationError,
        "valid_to (2026-01-01) lies before valid_from (2026-02-01)",
    ),
    "unknown parent": ({"text": "a", "parent": "mem_" + "0" * 32}, NotFound, "parent"),
    "parent that is no id": ({"text": "a", "parent": "someone"}, ValidationError, "parent"),
    "metadata that is a list": ({"text": "a", "metadata": [1]}, ValidationError, "metadata must"),
    "metadata over the limit": (
        {"text": "a", "metadata": {"k": "x" * limits.METADATA_BYTES_MAX}},
        PayloadTooLarge,
        "METADATA_BYTES_MAX",
    ),
    "metadata with a number for a key": (
        {"text": "a", "metadata": {1: 2}},
        ValidationError,
        "metadata has a key that is no text",
    ),
    "metadata with a clock in it": (
        {"text": "a", "metadata": {"t": datetime(2026, 1, 1, tzinfo=UTC)}},
        ValidationError,
        "metadata holds a datetime",
    ),
    "metadata too deep": (
        {"text": "a", "metadata": {"deep": nested(100_000)}},
        ValidationError,
        "JSON_DEPTH_MAX",
    ),
    "metadata that holds itself": (
        {"text": "a", "metadata": cyclic()},
        ValidationError,
        "JSON_DEPTH_MAX",
    ),
    "tags as one text": ({"text": "a", "tags": "home"}, ValidationError, "tags must be a list"),
    "too many tags": (
        {"text": "a", "tags": [f"t{i}" for i in range(limits.TAGS_MAX + 1)]},
        PayloadTooLarge,
        "TAGS_MAX",
    ),
    "empty tag": ({"text": "a", "tags": [""]}, ValidationError, "tags is empty"),
    "endless name": ({"text": "a", "kind": "k" * 257}, PayloadTooLarge, "NAME_CHARS_MAX"),
    "kind nested without end": ({"text": "a", "kind": nested(100_000)}, ValidationError, "kind"),
    "unknown tier": ({"text": "a", "tier": "eternal"}, ValidationError, "short, medium, long"),
    "unknown status": ({"text": "a", "status": "gone"}, ValidationError, "status must be one of"),
    "cleared kind": ({"text": "a", "kind": None}, ValidationError, "kind cannot be None"),
    "empty key": ({"text": "a", "key": ""}, ValidationError, "key is empty"),
    "endless key": ({"text": "a", "key": "k" * 257}, PayloadTooLarge, "key is 257"),
}


@pytest.mark.acceptance("3.2", half="the bad input half")
@pytest.mark.parametrize("case", BAD_MEMORIES)
@pytest.mark.parametrize("batch", ["alone", "atomic", "best effort"])
def test_bad_input_is_named_and_leaves_no_trace(memory: Memory, case: str, batch: str) -> None:
    given, error, said = BAD_MEMORIES[case]
    there = memory.remember(SECRET, vector=[1.0, 0.0, 0.0])
    before = census(memory)
    good = {"text": "a good one beside it"}
    if batch == "best effort":
        answer = memory.remember_many([good, given], atomic=False)
        assert [one.index for one in answer.failed] == [1]
        caught: Exception = answer.failed[0].error
        assert type(caught) is error
        assert memory.count() == 2
    else:
        store = (
            memory.remember_many if batch == "atomic" else lambda items: memory.remember(**items[1])
        )
        with pytest.raises(error) as raised:
            store([good, given])
        caught = raised.value
        assert census(memory) == before
    assert said in str(caught)
    assert len(str(caught)) < 600
    assert memory.get(there).text == SECRET
    assert memory.remember("still usable").outcome == "stored"
    assert memory.verify().findings == ()


def test_a_field_error_names_its_field(memory: Memory) -> None:
    memory.remember(SECRET, vector=[1.0, 0.0, 0.0])
    for name, (given, error, _) in BAD_MEMORIES.items():
        if error is ValidationError and set(given) != {"text"}:
            with pytest.raises(ValidationError) as raised:
                memory.remember(**given)
            assert raised.value.field in given, name


def test_naive_times_are_read_as_utc_and_dates_as_their_first_moment(memory: Memory) -> None:
    naive = memory.remember("a", occurred_at=datetime(2026, 3, 1, 9)).memory
    bare = memory.remember("b", occurred_at=date(2026, 3, 1)).memory
    assert naive.occurred_at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert bare.occurred_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_parents_in_a_circle_are_refused(memory: Memory) -> None:
    top = memory.remember("top")
    middle = memory.remember("middle", parent=top)
    low = memory.remember("low", parent=middle)
    for child, parent in ((top, low), (top, middle), (top, top), (middle, low)):
        with pytest.raises(ValidationError, match="its own ancestor"):
            memory.update(child, parent=parent)
    assert memory.get(top).parent is None
    assert memory.get(top).version == 1


HUGE: list[Any] = [0, -1, 1001, 2**31, 2**63, 2**64, 10**5000, math.inf, True, "9"]


@pytest.mark.parametrize("huge", HUGE, ids=range(len(HUGE)))
def test_a_huge_or_odd_limit_is_refused_everywhere(memory: Memory, huge: Any) -> None:
    there = memory.remember(SECRET)
    with memory.session(id="s") as chat:
        chat.add("user", "hi")
    calls: list[Callable[[], Any]] = [
        lambda: memory.recall("thing", limit=huge),
        lambda: memory.list(limit=huge),
        lambda: memory.events(limit=huge),
        lambda: memory.related(there, depth=huge),
        lambda: memory.tree(there, depth=huge),
        lambda: memory.items("personal_info").list(limit=huge),
        lambda: chat.messages(last=huge),
        lambda: chat.recall("thing", limit=huge),
    ]
    for call in calls:
        with pytest.raises(ValidationError, match="must be"):
            call()


# -- cursors and filters that nobody wrote --------------------------------------------------------

CURSORS = [
    *("", "x", "%", "\ud800", "☃", "null", "bnVsbA", "W10", "eyJhIjoxfQ", "A" * 100_000),
    *(b"W10", 5, 1.5, [], {}, object()),
]


@pytest.mark.parametrize("sort", ["created_at", "importance", "occurred_at"])
def test_a_cursor_that_was_not_handed_out_is_refused(memory: Memory, sort: str) -> None:
    import base64
    import json

    memory.remember_many([f"note {i}" for i in range(5)])
    payloads = [
        *([sort, True, None, "1"], [sort, True, [], 1], [sort, True, 10**30, 1]),
        *(
            [sort, True, 1, 10**30],
            [sort, True, "x", 1],
            ["other", True, 1, 1],
            [sort, False, 1, 1],
        ),
        *([sort, True, 1], [sort, True, 1, 1, 1], {"a": 1}, [[[]]], [sort, True, 1, True]),
    ]
    forged = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode() for one in payloads]
    forged.append(base64.urlsafe_b64encode(f'["{sort}",true,NaN,1]'.encode()).decode())
    forged.append(base64.urlsafe_b64encode(b"[" * 200_000).decode())
    for cursor in [*CURSORS, *forged]:
        with pytest.raises(InvalidCursor):
            memory.list(cursor=cursor, sort=sort)  # type: ignore[arg-type]
    page = memory.list(limit=2, sort=sort)
    assert page.cursor is not None
    assert len(memory.list(limit=10, sort=sort, cursor=page.cursor)) == 3


BAD_FILTERS: list[tuple[Any, type[RecollectError]]] = [
    ({}, ValidationError),
    ([], ValidationError),
    ("kind", ValidationError),
    (5, ValidationError),
    ({"colour": 1}, UnknownFilter),
    ({"metadata": 1}, UnknownFilter),
    ({"place": 1}, UnknownFilter),
    ({"m.text": "x"}, UnknownFilter),
    ({None: 1}, UnknownFilter),
    ({(): 1}, UnknownFilter),
    ({("metadata",): 1}, UnknownFilter),
    ({("metadata", 1): 1}, UnknownFilter),
    ({"metadata.\x00": 1}, ValidationError),
    ({"metadata.\ud800": 1}, ValidationError),
    ({"kind": {"like": "x"}}, UnknownFilter),
    ({"kind": {}}, ValidationError),
    ({"kind": {"eq": nested(100_000)}}, ValidationError),
    ({"kind": {"in": "abc"}}, ValidationError),
    ({"kind": {"in": 5}}, ValidationError),
    ({"kind": {"gt": None}}, ValidationError),
    ({"kind": 5}, ValidationError),
    ({"kind": "\x00"}, ValidationError),
    ({"kind": "\ud800"}, ValidationError),
    ({"kind": {"exists": 1}}, ValidationError),
    ({"importance": "x"}, ValidationError),
    ({"importance": math.nan}, ValidationError),
    ({"importance": 2**63}, ValidationError),
    ({"importance": 10**5000}, ValidationError),
    ({"importance": {"contains": 1}}, ValidationError),
    ({"occurred_at": "soon"}, ValidationError),
    ({"occurred_at": 5}, ValidationError),
    ({"tags": {"gt": "a"}}, ValidationError),
    ({"metadata.a": {"gt": True}}, ValidationError),
    ({"metadata.a": b"x"}, ValidationError),
    ({"metadata.a": {"eq": [1]}}, ValidationError),
    ({"and": {}}, ValidationError),
    ({"or": []}, ValidationError),
    ({"or": "kind"}, ValidationError),
    ({"not": []}, ValidationError),
    ({"not": {"not": {"not": {"not": {"not": {"kind": "a"}}}}}}, ValidationError),
    ({"and": [nested(100_000, mapping=True)]}, ValidationError),
    ({"and": [{"kind": "a"}] * 51}, ValidationError),
    ({"id": {"in": ["x"] * 1_000_000}}, ValidationError),
]


@pytest.mark.parametrize("number", range(len(BAD_FILTERS)))
def test_a_filter_that_means_nothing_is_refused_and_forgets_nothing(
    memory: Memory, number: int
) -> None:
    where, error = BAD_FILTERS[number]
    memory.remember(SECRET)
    for call in (memory.list, memory.count, memory.forget):
        with pytest.raises(error):
            call(where=where)
    with pytest.raises(error):
        memory.recall("thing", where=where)
    assert memory.count() == 1


def test_a_filter_may_name_as_many_values_as_its_limit_allows(memory: Memory) -> None:
    told = memory.remember(SECRET, metadata={"n": 7})
    many: list[Any] = [f"mem_{i:032x}" for i in range(limits.FILTER_VALUES_MAX - 1)]
    assert memory.count(where={"id": {"in": [*many, told.id]}}) == 1
    assert memory.count(where={"id": {"nin": [*many, told.id]}}) == 0
    assert memory.count(where={"metadata.n": {"in": [*range(limits.FILTER_VALUES_MAX)]}}) == 1
    with pytest.raises(ValidationError, match="FILTER_VALUES_MAX"):
        memory.count(where={"id": {"in": [*many, told.id, "one more"]}})


# -- every argument of every method ----------------------------------------------------------------


class Odd:
    """An object of no known kind, with an id that is none."""

    id = 5


HOSTILE: list[Any] = [
    *(None, True, 0, -1, 7, 2**63, -(2**63) - 1, 10**5000, 0.5, math.nan, math.inf, 1e308),
    *("", "   ", "x", "\x00", "a\x00b", "\ud800", "x" * 2_000_000, "mem_" + "0" * 32),
    *("'; DROP TABLE memories; --", "%", "*", '"', "../../etc/passwd", "9" * 400, "٣", "²"),
    *(b"bytes", bytearray(b"x"), [], {}, (), set(), frozenset({"a"}), object(), Odd(), len),
    *([None], [[]], {"a": math.nan}, {1: 2}, {"text": None}, [{"text": "ok"}], {"a": {"b": None}}),
    *(nested(100_000), nested(100_000, mapping=True), cyclic(), range(3), iter([1])),
    *(datetime.max, datetime.min, date.max, date.min, datetime(1, 1, 1, tzinfo=timezone(DAY / 2))),
    *("9999-12-31T23:59:59.999999-23:59", "0001-01-01", 1j, type),
]
Call = Callable[[Memory, str, Any], Any]

FIELDS = (
    *("kind", "tier", "status", "importance", "agent", "role", "speaker", "parent", "item_key"),
    *("stage", "stage_changed_at", "priority", "source", "trust", "occurred_at", "valid_from"),
    *("valid_to", "expires_at", "tags", "metadata"),
)
CALLS: dict[str, Call] = {
    "remember(text)": lambda m, _, x: m.remember(x),
    "remember(key)": lambda m, _, x: m.remember("a", key=x),
    "remember(vector)": lambda m, _, x: m.remember("a", vector=x),
    "remember(actor)": lambda m, _, x: m.remember("a", actor=x),
    "remember(reason)": lambda m, _, x: m.remember("a", reason=x),
    **{
        f"remember({name})": lambda m, _, x, name=name: m.remember("a", **{name: x})
        for name in FIELDS
    },
    **{
        f"update({name})": lambda m, id, x, name=name: m.update(id, **{name: x})
        for name in (*FIELDS, "text", "if_version", "actor", "reason")
    },
    "remember_many(items)": lambda m, _, x: m.remember_many(x),
    "remember_many([item])": lambda m, _, x: m.remember_many([x]),
    "remember_many([text])": lambda m, _, x: m.remember_many([{"text": x}], atomic=False),
    "update(id)": lambda m, _, x: m.update(x, importance=0.1),
    "correct(id)": lambda m, _, x: m.correct(x, "b"),
    "correct(text)": lambda m, id, x: m.correct(id, x),
    "correct(vector)": lambda m, id, x: m.correct(id, "b", vector=x),
    "correct(valid_from)": lambda m, id, x: m.correct(id, "b", valid_from=x),
    "undo(event)": lambda m, _, x: m.undo(x),
    "undo(reason)": lambda m, id, x: m.undo(m.history(id)[-1].event.id, reason=x),
    "get(id)": lambda m, _, x: m.get(x),
    "get(as_of)": lambda m, id, x: m.get(id, as_of=x),
    "get(known_at)": lambda m, id, x: m.get(id, known_at=x),
    "get_many(ids)": lambda m, _, x: m.get_many(x),
    "get_many([id])": lambda m, _, x: m.get_many([x]),
    "list(limit)": lambda m, _, x: m.list(limit=x),
    "list(cursor)": lambda m, _, x: m.list(cursor=x),
    "list(sort)": lambda m, _, x: m.list(sort=x),
    "list(order)": lambda m, _, x: m.list(order=x),
    **{
        f"list({name})": lambda m, _, x, name=name: m.list(**{name: x})
        for name in ("where", "kind", "tags", "status", "as_of", "known_at")
    },
    "count(tags)": lambda m, _, x: m.count(tags=x),
    "recall(question)": lambda m, _, x: m.recall(x),
    **{
        f"recall({name})": lambda m, _, x, name=name: m.recall("thing", **{name: x})
        for name in ("limit", "now", "where", "kind", "tags", "status", "as_of", "vector")
    },
    "history(id)": lambda m, _, x: m.history(x),
    "events(after)": lambda m, _, x: m.events(after=x),
    "events(limit)": lambda m, _, x: m.events(limit=x),
    "link(source)": lambda m, id, x: m.link(x, id),
    "link(target)": lambda m, id, x: m.link(id, x),
    "link(kind)": lambda m, id, x: m.link(id, m.remember("b"), kind=x),
    "link(strength)": lambda m, id, x: m.link(id, m.remember("b"), strength=x),
    "unlink(kind)": lambda m, id, x: m.unlink(id, m.remember("b"), kind=x),
    "links(id)": lambda m, _, x: m.links(x),
    "links(kind)": lambda m, id, x: m.links(id, kind=x),
    "related(depth)": lambda m, id, x: m.related(id, depth=x),
    "related(kind)": lambda m, id, x: m.related(id, kind=x),
    "children(id)": lambda m, _, x: m.children(x),
    "tree(id)": lambda m, _, x: m.tree(x),
    "tree(depth)": lambda m, id, x: m.tree(id, depth=x),
    "group(name).add": lambda m, id, x: m.group(x).add(id),
    "group.add(id)": lambda m, _, x: m.group("g").add(x),
    "group(name).remove": lambda m, id, x: m.group(x).remove(id),
    "group(name).members": lambda m, _, x: m.group(x).members(),
    "group.make(description)": lambda m, _, x: m.group("described").make(x),
    "session(id)": lambda m, _, x: m.session(id=x).open(),
    "session(kind)": lambda m, _, x: m.session(id="k", kind=x).open(),
    "session(metadata)": lambda m, _, x: m.session(id="m", metadata=x).open(),
    "session(expires_at)": lambda m, _, x: m.session(expires_at=x).open(),
    "session.add(role)": lambda m, _, x: m.session(id="c").add(x, "hi"),
    "session.add(text)": lambda m, _, x: m.session(id="c").add("user", x),
    "session.add_many(messages)": lambda m, _, x: m.session(id="c").add_many(x),
    "session.add_many([message])": lambda m, _, x: m.session(id="c").add_many([x]),
    "session.add_many([role])": lambda m, _, x: m.session(id="c").add_many(
        [{"role": x, "text": "a"}]
    ),
    "session.messages(last)": lambda m, _, x: m.session(id="c").messages(last=x),
    "session.recall(question)": lambda m, _, x: m.session(id="c").recall(x),
    "profile(category).get": lambda m, _, x: m.profile(x).get(),
    "profile(category).merge": lambda m, _, x: m.profile(x).merge({"a": 1}),
    "profile(category).history": lambda m, _, x: m.profile(x).history(),
    "profile.merge(data)": lambda m, _, x: m.profile("p").merge(x),
    "profile.merge(data.key)": lambda m, _, x: m.profile("p").merge({"k": x}),
    "profile.replace(data)": lambda m, _, x: m.profile("p").replace(x),
    "profile.remove(path)": lambda m, _, x: m.profile("p").remove(x),
    "profile.merge(if_version)": lambda m, _, x: m.profile("p").merge({"a": 2}, if_version=x),
    "items(category).list": lambda m, _, x: m.items(x).list(),
    "items(category).create": lambda m, _, x: m.items(x).create("k", "c"),
    "items.create(key)": lambda m, _, x: m.items("personal_info").create(x, "c"),
    "items.upsert(key)": lambda m, _, x: m.items("general").upsert(x, "c"),
    "items.create(content)": lambda m, _, x: m.items("personal_info").create("k", x),
    "items.upsert(status)": lambda m, _, x: m.items("personal_info").upsert("k", "c", status=x),
    "items.upsert(priority)": lambda m, _, x: m.items("personal_info").upsert("k", "c", priority=x),
    "items.update(id)": lambda m, _, x: m.items("personal_info").update(x, content="d"),
    "items.get(id)": lambda m, _, x: m.items("personal_info").get(x),
    "items.list(status)": lambda m, _, x: m.items("personal_info").list(status=x),
    "forget(id)": lambda m, _, x: m.forget(x),
    "forget([id])": lambda m, _, x: m.forget([x]),
    "forget(user)": lambda m, _, x: m.scope(user="bystander").forget(user=x, where={"kind": "no"}),
    "forget(where)": lambda m, _, x: m.forget(where=x),
    "forget(reason)": lambda m, _, x: m.forget(where={"kind": "no"}, reason=x),
    "scope(user)": lambda m, _, x: m.scope(user=x).count(),
    "scope(agent)": lambda m, _, x: m.scope(agent=x).remember("a"),
    "scope(session)": lambda m, _, x: m.scope(session=x).remember("a"),
    "scope(app)": lambda m, _, x: m.scope(app=x).remember("a"),
    "scope(shared)": lambda m, _, x: m.scope(shared=x).count(),
    "scope(only_session)": lambda m, _, x: m.scope(only_session=x).count(),
    "scope(unknown)": lambda m, _, x: m.scope(tenant=x),
    "space(name)": lambda m, _, x: m.space(x).remember("a"),
    "merge_users(origin)": lambda m, _, x: m.merge_users(x, "destination"),
    "merge_users(destination)": lambda m, _, x: m.merge_users("origin", x),
    "export(path)": lambda m, _, x: m.export(x),
    "backup(path)": lambda m, _, x: m.backup(x),
    "open(url)": lambda _, __, x: recollect.open(x).close(),
    "export(user)": lambda m, _, x: m.export("hostile.jsonl", user=x),
    "import_(path)": lambda m, _, x: m.import_(x),
    "catch_up(limit)": lambda m, _, x: m.catch_up(limit=x),
}


def complaints(error: RecollectError, *, about_a_file: bool) -> Iterator[str]:
    """What is wrong with an error: it is our fault, too long, or repeats what it refuses."""
    if isinstance(error, InternalError) or (isinstance(error, StorageError) and not about_a_file):
        yield f"{type(error).__name__}: {error!s:.100}"
    if len(str(error)) > (1_500 if about_a_file else 700):
        yield f"too long: {error!s:.100}"
    if set("\x00\ud800") & set(str(error)):
        yield f"repeats raw characters: {error!r:.100}"


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_hostile_arguments_meet_typed_errors_alone(
    memory: Memory, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    keep = memory.scope(user="bystander").remember(SECRET)
    mine = memory.remember(SECRET)
    surprises: list[str] = []
    for value in HOSTILE:
        before = census(memory)
        try:
            CALLS[call](memory, mine.id, value)
        except RecollectError as exc:
            surprises += complaints(exc, about_a_file="(path)" in call or "(url)" in call)
            if call.startswith("remember(") and census(memory) != before:
                surprises.append(f"{type(value)} left something behind")
        except Exception as exc:
            surprises.append(f"{type(value)} -> {type(exc).__name__}: {exc!s:.100}")
    assert surprises == []
    assert memory.scope(user="bystander").get(keep).text == SECRET
    assert memory.remember("still usable").outcome == "stored"
    assert memory.verify().findings == ()
