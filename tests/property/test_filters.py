"""A filter means the same in Python and in every store, and nothing in it ever becomes SQL."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.domain import filters
from recollect.domain.errors import RecollectError, StorageError
from recollect.domain.records import MemoryRecord
from tests.property.stores import MAKE, fresh

ALL = ["active", "superseded", "quarantined", "archived"]
KEYS = [
    *("a", "b", "A", "é", "e\u0301", "漢字", "😀", "0", "1", "a b", "a.b", ".", ""),
    *(" ", "\n", "\t"),
    *('"', '""', "\\", '\\"', "\\\\", "'", "''", "$", "[0]", "#-1", "*", "%", "_", "a'b", 'a"b'),
    *("\\u0061", "metadata", "text", "\u2028", "\x7f", "\x01", "a\\nb", "?", "?1", ":a"),
    *("@a", "{}"),
]
NUMBERS = [
    *(0, 1, -1, 2, 10, 2**53, 2**53 + 1, 2**63 - 1, -(2**63) + 1, 2**31),
    *(0.0, -0.0, 1.0, 0.1, 0.30000000000000004, 0.5, 9007199254740992.0, 9.223372036854775e18),
    *(1e308, -1e308, 5e-324, 1.7976931348623157e308, 123456789.123456789, 1e-7),
]
WORDS = ["", "0", "1.0", "true", "null", "a", "A", "ab", "aé", "é", "漢字", "😀", *KEYS]
SCALARS: list[Any] = [None, True, False, *NUMBERS, *WORDS]
scalars = st.sampled_from(SCALARS) | st.floats(allow_nan=False, allow_infinity=False)
keys = st.sampled_from(KEYS)
documents = st.dictionaries(
    keys,
    st.recursive(
        scalars,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)
TEXT_FIELDS = [name for name, kind in filters.FIELDS.items() if kind == filters.TEXT]
NUMBER_FIELDS = [name for name, kind in filters.FIELDS.items() if kind == filters.NUMBER]
MOMENT_FIELDS = [name for name, kind in filters.FIELDS.items() if kind == filters.MOMENT]
MOMENTS = ["2026-01-01", "2025-12-31T23:59:59.999999", "2026-01-01T00:00:00Z", "0001-01-02", "2030"]
names = st.sampled_from(["a", "ab", "é", "漢字", "a, b", 'a"b', "\\", "a'b", "😀", "general", "A"])
lists = st.sampled_from(["in", "nin"])
orders = st.sampled_from(["gt", "gte", "lt", "lte"])


def operands(values: st.SearchStrategy[Any], ordered: st.SearchStrategy[Any]) -> Any:
    """A condition on some kind of value."""
    return (
        values
        | st.lists(values, max_size=4)
        | st.fixed_dictionaries(
            {}, optional={"eq": values, "ne": values, "exists": st.booleans()}
        ).filter(bool)
        | st.builds(lambda order, value: {order: value}, orders, ordered)
        | st.builds(lambda word, many: {word: many}, lists, st.lists(values))
    )


def containing(values: st.SearchStrategy[Any]) -> Any:
    return values.map(lambda value: {"contains": value})


words = st.sampled_from(WORDS)
orderable = st.sampled_from([*NUMBERS, *WORDS])
paths = st.lists(keys, min_size=1, max_size=3).map(lambda path: ("metadata", *path))
moments = st.sampled_from([one for one in MOMENTS if one != "2030"])
conditions = (
    st.tuples(paths, operands(scalars, orderable) | containing(scalars))
    | st.tuples(
        st.sampled_from(TEXT_FIELDS),
        operands(st.none() | words | names, words | names) | containing(st.none() | words | names),
    )
    | st.tuples(
        st.sampled_from(NUMBER_FIELDS),
        operands(st.none() | st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
    )
    | st.tuples(st.sampled_from(MOMENT_FIELDS), operands(st.none() | moments, moments))
    | st.tuples(
        st.just("tags"),
        st.one_of(
            st.none() | names,
            containing(st.none() | names),
            st.booleans().map(lambda there: {"exists": there}),
            names.map(lambda name: {"ne": name}),
            st.lists(names, max_size=3).map(lambda many: {"nin": many}),
        ),
    )
)
wheres = st.recursive(
    st.lists(conditions, min_size=1, max_size=2).map(dict),
    lambda below: (
        st.lists(below, min_size=1, max_size=3).map(lambda many: {"and": many})
        | st.lists(below, min_size=1, max_size=3).map(lambda many: {"or": many})
        | below.map(lambda one: {"not": one})
    ),
    max_leaves=4,
)
settled = settings(
    max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def remember_everything(memory: Memory) -> None:
    """Records in which every field and every odd key and value occurs."""
    mine = memory.scope(user="ana", agent="ab")
    mine.remember_many(
        [
            {
                "text": WORDS[i % len(WORDS)].replace("\x00", "") or f"text {i}",
                "metadata": {key: value, "l": [value, i], "a": {key: [value], "b": {key: value}}},
                "tags": (["a", "ab"], ["é"], [], ["a, b", 'a"b', "\\"], ["a"])[i % 5],
                "kind": ("general", "ab", "漢字", "a'b")[i % 4],
                "importance": (i % 11) / 10,
                **({"priority": i % 10, "role": "a", "speaker": "é"} if i % 3 else {}),
                **({"item_key": f"{i}", "stage": "A"} if not i % 7 else {}),
                **({"occurred_at": MOMENTS[i % 4], "valid_to": "2031-01-01"} if i % 2 else {}),
                "status": ALL[i % 4],
                "trust": ("trusted", "limited")[i % 2],
            }
            for i, (key, value) in enumerate(
                (KEYS[n % len(KEYS)], SCALARS[(n * 5) % len(SCALARS)]) for n in range(120)
            )
            if WORDS[i % len(WORDS)].strip()
        ]
    )
    first = mine.list(limit=3, status=ALL).items
    mine.update(first[0], text="changed")
    mine.link(first[1], first[2])
    for one in first:
        mine.get(one)


def expected(records: list[MemoryRecord], where: Any) -> list[str]:
    condition = filters.parse(where)
    assert condition is not None
    return [record.id for record in records if filters.matches(condition, record)]


@pytest.fixture(scope="module", params=MAKE)
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with fresh(request.param) as opened:
        remember_everything(opened)
        opened.scope(user="eve").remember_many(
            [{"text": f"canary {i}", "metadata": {k: "canary"}} for i, k in enumerate(KEYS)]
        )
        yield opened


@pytest.fixture(scope="module")
def records(memory: Memory) -> list[MemoryRecord]:
    return list(memory.scope(user="ana").list(limit=1000, status=ALL, order="asc"))


@pytest.mark.slow
@settled
@given(where=wheres)
@example(where={"tags": "a, b"})
@example(where={("metadata", "a", '\\"'): {"exists": True}})
@example(where={("metadata", ""): {"exists": True}})
def test_a_store_finds_exactly_what_the_filter_means(
    memory: Memory, records: list[MemoryRecord], where: Any
) -> None:
    ana = memory.scope(user="ana")
    found = [one.id for one in ana.list(limit=1000, status=ALL, order="asc", where=where)]
    assert found == expected(records, where)
    assert ana.count(status=ALL, where=where) == len(found)


def paths_of(document: Any, path: tuple[str, ...] = ("metadata",)) -> Iterator[tuple[Any, Any]]:
    """Every path of a document and the value there."""
    for key, value in document.items():
        yield (*path, key), value
        if isinstance(value, dict):
            yield from paths_of(value, (*path, key))


@pytest.fixture(scope="module", params=MAKE)
def empty(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with fresh(request.param) as opened:
        yield opened


@pytest.mark.slow
@settings(settled, max_examples=200)
@given(document=documents, other=scalars, operator=st.sampled_from(["eq", "gt", "lte", "contains"]))
def test_every_value_of_any_document_is_found_by_its_path(
    empty: Memory, document: dict[str, Any], other: Any, operator: str
) -> None:
    record = empty.remember("a document", metadata=document).memory
    assert empty.get(record).metadata == document
    for path, value in paths_of(document):
        asked: list[Any] = [{path: {"exists": True}}]
        if not isinstance(value, list | dict):
            asked.append({path: {"eq": value}})
        if isinstance(value, list):
            asked += [{path: {"contains": v}} for v in value if not isinstance(v, list | dict)]
        if operator in ("eq", "contains") or not (other is None or isinstance(other, bool)):
            asked.append({path: {operator: other}})
        for where in asked:
            found = empty.count(where={"and": [{"id": record.id}, where]})
            assert found == len(expected([record], where)), where


# -- T5: nothing that comes from outside becomes SQL ----------------------------------------------

PAYLOADS = [
    *("' OR '1'='1", "' OR 1=1 --", '" OR ""="', "'; DROP TABLE memories; --", "') OR ('1'='1"),
    *("' UNION SELECT * FROM memories --", "1; ATTACH DATABASE 'x' AS y", "/*", "*/", "--", ";"),
    *("$", "$.a", "$[0]", "$[#-1]", "$**", '$."a"', '"."', '"] || $["', "a') = 1 OR 1=1 --"),
    *("%", "_", "\\%", "[a-z]", "*", "?", "^", "NEAR(", "a* OR b", '"a" AND', "column:a", "'||'"),
    *("?1", ":a", "@a", "$a", "?999999", "{memory_columns}", "{0}", "%s", "%(a)s", "\\x00", "\\0"),
    *("␀", "\u202e", "\u2028", "ʼ", "＇", "\ufeff'", "\x01", "\x7f", "\x1b["),
    *("NULL", "null", "true", "m.place", "rowid", "json('{}')", "x'00'", "CAST(1 AS TEXT)", "CASE"),
    *("'" * 50, '"' * 51, "\\" * 33, "(" * 60, ")" * 60, "[" * 40, "a" * 250, "🙂" * 60),
]
POSITIONS: list[Any] = [
    *(lambda p, name=name: {name: p} for name in TEXT_FIELDS),
    *(
        lambda p, name=name, operator=operator: {name: {operator: p}}
        for name in TEXT_FIELDS
        for operator in ("ne", "gt", "lte", "contains")
    ),
    *(
        lambda p, operator=operator: {("metadata", p): {operator: p}}
        for operator in ("eq", "ne", "gt", "gte", "lt", "lte", "contains")
    ),
    lambda p: {("metadata", p): {"in": [p, 1, None]}},
    lambda p: {("metadata", "a", p, p): {"exists": True}},
    lambda p: {"metadata." + p: p},
    lambda p: {"tags": {"contains": p}},
    lambda p: {"tags": p},
    lambda p: {"id": {"in": [p, p]}},
    lambda p: {p: 1},
    lambda p: {"kind": {p: 1}},
    lambda p: {"importance": p},
    lambda p: {"occurred_at": p},
    lambda p: {"or": [{"kind": p}, {("metadata", p): p}]},
    lambda p: {"not": {("metadata", p): p}},
]


@pytest.mark.slow
def test_five_thousand_injections_cause_no_sql_error_and_show_no_foreign_row(
    memory: Memory,
) -> None:
    ana, tried = memory.scope(user="ana"), 0
    mine = {one.id for one in ana.list(limit=1000, status=ALL)}
    first = min(mine)
    for payload in PAYLOADS:
        for position in POSITIONS:
            tried += 1
            try:
                shown = ana.list(where=position(payload), limit=5, status=ALL)
            except StorageError:
                raise
            except RecollectError:
                continue
            assert {one.id for one in shown} <= mine, position(payload)
        assert "canary" not in repr(ana.recall(f"canary {payload}").hits)
        named = f"{payload}."
        assert ana.scope(user=named).count() == 0
        assert ana.group(named).make(named).name == named
        assert ana.links(first, kind=named) == []
    assert tried >= 5000
    assert memory.scope(user="eve").count() == len(KEYS)
    assert memory.verify().findings == ()
