"""4.4 and 4.6: merging keeps neighbours, and two who write at once lose nothing of each other."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.domain.errors import PayloadTooLarge, ValidationError, VersionMismatch
from recollect.domain.merging import deep_merge, remove_path, without_nulls
from recollect.testing import FrozenClock

MERGING = pytest.mark.acceptance("4.4")
UNHURRIED = settings(deadline=None)
AT_ONCE = pytest.mark.acceptance("4.6")


@MERGING
def test_merging_keeps_siblings_and_replacing_drops_them(ana: Memory) -> None:
    info = ana.profile("personal_info")
    info.merge({"name": "Ana", "home": {"city": "Lisbon", "floor": 3}})
    assert info.merge({"home": {"city": "Porto"}}).data == {
        "name": "Ana",
        "home": {"city": "Porto", "floor": 3},
    }
    assert info.replace({"home": {"city": "Faro"}}).data == {"home": {"city": "Faro"}}
    assert info.get().version == 3


@MERGING
def test_a_strength_never_alters_personal_info(memory: Memory, ana: Memory) -> None:
    before = ana.profile("personal_info").merge({"name": "Ana", "strengths": ["x"]})
    ana.profile("knowledge_strengths").merge({"name": "verbs", "strengths": ["y"]})
    assert ana.profile("personal_info").get() == before
    assert set(ana.profiles()) == {"personal_info", "areas_to_improve", "knowledge_strengths"}
    assert memory.scope(user="bob").profile("personal_info").get().data == {}


@MERGING
def test_lists_unite_in_order_scalars_win_and_none_removes(ana: Memory) -> None:
    likes = ana.profile("likes")
    likes.merge({"drinks": ["tea", "milk"], "n": 1, "old": True, "mixed": [1]})
    merged = likes.merge({"drinks": ["figs", "tea"], "n": "one", "old": None, "mixed": {"a": 1}})
    assert merged.data == {"drinks": ["tea", "milk", "figs"], "n": "one", "mixed": {"a": 1}}
    assert likes.merge({"mixed": [2]}).data["mixed"] == [2]


@MERGING
def test_one_nested_key_can_be_removed(ana: Memory) -> None:
    food = ana.profile("food")
    food.merge({"avoid": {"nuts": True, "milk": True}, "likes": ["figs"]})
    assert food.remove("avoid", "nuts").data == {"avoid": {"milk": True}, "likes": ["figs"]}
    same = food.remove("avoid", "nothing", "here")
    assert same.version == 2
    assert food.merge({"avoid": {"milk": None}}).data == {"avoid": {}, "likes": ["figs"]}
    assert food.clear().data == {}
    assert [past.version for past in food.history()] == [1, 2, 3, 4]
    with pytest.raises(ValidationError):
        food.remove()


@MERGING
def test_what_goes_in_and_out_is_shared_with_nobody(ana: Memory) -> None:
    given_data: dict[str, Any] = {"list": [1], "deep": {"n": 1}}
    before = copy.deepcopy(given_data)
    likes = ana.profile("likes")
    answered = likes.merge(given_data)
    assert given_data == before
    given_data["deep"]["n"] = 2
    answered.data["list"].append(3)
    likes.get().data["list"].append(4)
    assert likes.get().data == before


@MERGING
def test_what_is_no_json_object_is_refused_and_changes_nothing(ana: Memory) -> None:
    before = ana.profile("likes").merge({"tea": True})
    bad: list[Any] = [[1], "text", 7, None, {1: "x"}]
    bad += [{"n": value} for value in (float("nan"), 2**63, "\ud800", {1}, b"x")]
    for data in bad:
        for write in (ana.profile("likes").merge, ana.profile("likes").replace):
            with pytest.raises(ValidationError) as failure:
                write(data)
            assert failure.value.field == "likes", data
    assert ana.profile("likes").get() == before


@MERGING
def test_a_profile_has_a_greatest_size(ana: Memory) -> None:
    before = ana.profile("likes").merge({"a": "x" * 40_000})
    with pytest.raises(PayloadTooLarge, match="PROFILE_BYTES_MAX"):
        ana.profile("likes").merge({"b": "x" * 40_000})
    assert ana.profile("likes").get() == before


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
KEYS = st.sampled_from(["a", "b", "c"])
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def typed(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Documents in which a path always holds the same type, and never None."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        "number": st.integers(-3, 3),
        "list": st.lists(st.integers(-3, 3), max_size=3),
    }
    if depth:
        fields["deep"] = typed(depth - 1)
    return st.fixed_dictionaries({}, optional=fields)


@MERGING
@UNHURRIED
@given(DOCUMENTS, DOCUMENTS)
def test_merging_twice_is_merging_once(base: dict[str, Any], patch: dict[str, Any]) -> None:
    once = deep_merge(base, patch)
    assert deep_merge(once, patch) == once


@MERGING
@UNHURRIED
@given(DOCUMENTS, DOCUMENTS)
def test_merging_changes_and_shares_no_input(base: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy((base, patch))
    merged = deep_merge(base, patch)
    spoil(merged)
    assert (base, patch) == before


def spoil(value: Any) -> None:
    """Change everything in a document that can be changed."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value["spoilt"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoilt")


@MERGING
@UNHURRIED
@given(typed(2), typed(2), typed(2))
def test_merging_is_associative_where_types_agree(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))


@MERGING
@UNHURRIED
@given(DOCUMENTS)
def test_nothing_merged_with_something_is_that_without_its_nulls(patch: dict[str, Any]) -> None:
    assert deep_merge({}, patch) == without_nulls(patch)
    assert deep_merge(without_nulls(patch), {}) == without_nulls(patch)


@MERGING
@UNHURRIED
@given(DOCUMENTS, st.lists(KEYS, min_size=1, max_size=3))
def test_removing_a_key_twice_is_removing_it_once(base: dict[str, Any], path: list[str]) -> None:
    before = copy.deepcopy(base)
    removed = remove_path(base, tuple(path))
    assert remove_path(removed, tuple(path)) == removed
    assert base == before


@AT_ONCE
def test_two_who_write_different_keys_at_once_lose_nothing(ana: Memory) -> None:
    def write(who: str) -> None:
        for number in range(12):
            ana.profile("likes").merge({who: {str(number): number}, "all": [f"{who}{number}"]})

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, ["agent", "user"]))
    profile = ana.profile("likes").get()
    for who in ("agent", "user"):
        assert profile.data[who] == {str(number): number for number in range(12)}
    assert len(profile.data["all"]) == 24
    assert profile.version == 24
    assert [past.version for past in ana.profile("likes").history()] == list(range(1, 25))


@AT_ONCE
def test_of_one_key_the_last_commit_wins_and_both_are_in_history(
    ana: Memory, clock: FrozenClock
) -> None:
    likes = ana.profile("likes")
    likes.merge({"drink": "tea"}, actor="agent", reason="she said so")
    clock.advance(seconds=1)
    likes.merge({"drink": "milk"}, actor="ana")
    assert likes.get().data == {"drink": "milk"}
    assert [past.data["drink"] for past in likes.history()] == ["tea", "milk"]
    told = [(change.event.actor, change.event.reason) for change in ana.events()]
    assert told == [("agent", "she said so"), ("ana", None)]


@AT_ONCE
def test_a_version_that_moved_on_is_reported(ana: Memory) -> None:
    likes = ana.profile("likes")
    read = likes.merge({"drink": "tea"})
    likes.merge({"food": "figs"}, if_version=read.version)
    with pytest.raises(VersionMismatch, match="likes is at version 2, not 1"):
        likes.merge({"drink": "milk"}, if_version=read.version)
    assert likes.get().data == {"drink": "tea", "food": "figs"}
