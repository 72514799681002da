"""The public names, pinned: adding, renaming or removing one is a decision, made here."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import recollect
from recollect import AsyncMemory, Memory
from recollect.client import async_handles, handles

NAMES = "AsyncMemory Memory MemoryRecord RecollectError Scope __version__ open"
METHODS: dict[str, str] = {
    "Memory": "agents backup budgets catch_up children close consolidate context correct cost "
    "count events export forecast forget get get_many group groups health history "
    "import_ items jobs link links list maintain merge_users model models open "
    "person profile profiles recall reinforce related remember remember_many "
    "restore retry_job review scope session sessions space stats status tree undo "
    "unlink update users verify watch_errors why_not",
    "Conversation": "add add_many context extract files messages open recall",
    "Grouping": "add make members remove",
    "ProfileCategory": "clear get history merge remove replace",
    "Reviews": "approve list merge reject",
    "Items": "create get list update upsert",
    "Person": "refresh reset summary",
    "Models": "get list remove set test",
    "Agents": "dump get list load remove set",
    "Budgets": "list remove set",
}
#: They give out handles, which costs nothing: neither face has to wait for them.
NEVER_AWAITED = {
    "person",
    "review",
    "models",
    "agents",
    "budgets",
    "scope",
    "space",
    "group",
    "session",
    "profile",
    "items",
}
#: The two that differ on purpose: an async memory is opened without waiting, and closed by hand.
OPENING = {"open"}


def faces() -> Iterator[tuple[str, type, type]]:
    yield "Memory", Memory, AsyncMemory
    for name in METHODS:
        if name != "Memory":
            yield name, getattr(handles, name), getattr(async_handles, f"Async{name}")


PAIRS = [pytest.param(sync, other, id=name) for name, sync, other in faces()]


def public(face: type) -> set[str]:
    return {name for name in vars(face) if not name.startswith("_")}


def signature(method: Any) -> str:
    return str(inspect.signature(method)).replace("Async", "")


def test_the_public_names_are_these() -> None:
    assert sorted(recollect.__all__) == sorted(NAMES.split())
    for name in recollect.__all__:
        assert getattr(recollect, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'memory_manager'"):
        recollect.memory_manager  # noqa: B018


@pytest.mark.parametrize("name", METHODS)
def test_the_public_methods_are_these(name: str) -> None:
    face = {sync.__name__: sync for _, sync, _ in faces()}[name]
    assert sorted(public(face)) == sorted(METHODS[name].split())


@pytest.mark.parametrize(("sync", "other"), PAIRS)
def test_both_faces_have_the_same_methods_signatures_and_docstrings(
    sync: type, other: type
) -> None:
    assert public(sync) == public(other)
    for name in public(sync):
        ours, theirs = getattr(sync, name), getattr(other, name)
        assert signature(ours) == signature(theirs), name
        if name not in OPENING:
            assert inspect.getdoc(ours) == inspect.getdoc(theirs), name


@pytest.mark.parametrize(("sync", "other"), PAIRS)
def test_what_does_something_is_awaited_in_one_face_and_called_in_the_other(
    sync: type, other: type
) -> None:
    for name in public(other):
        waits = inspect.iscoroutinefunction(getattr(other, name))
        handle = other is AsyncMemory and name in NEVER_AWAITED | OPENING
        assert waits is not handle, name
        assert not inspect.iscoroutinefunction(getattr(sync, name)), name


@pytest.mark.parametrize(("sync", "other"), PAIRS)
def test_everything_after_the_first_arguments_is_named(sync: type, other: type) -> None:
    for face in (sync, other):
        for name in public(face):
            given = list(inspect.signature(getattr(face, name)).parameters.values())
            by_place = [p.name for p in given if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert len(by_place) <= 3, f"{face.__name__}.{name}: {by_place}"  # self and two
            optional = [
                p for p in given if p.kind is p.POSITIONAL_OR_KEYWORD and p.default != p.empty
            ]
            assert len(optional) <= 1, f"{face.__name__}.{name}"


@pytest.mark.parametrize(("sync", "other"), PAIRS)
def test_every_public_method_says_what_it_does(sync: type, other: type) -> None:
    for face in (sync, other):
        assert not [name for name in public(face) if not inspect.getdoc(getattr(face, name))]
