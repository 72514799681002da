"""Writing memories: what is kept, what is refused, and that a transaction is whole."""

from dataclasses import replace
from typing import Any

import pytest

from recollect.domain import times
from recollect.domain.errors import (
    ConflictError,
    IdempotencyMismatch,
    NotFound,
    ValidationError,
    VersionMismatch,
)
from recollect.domain.limits import TREE_DEPTH_MAX
from recollect.domain.operations import (
    Alter,
    Enqueue,
    Once,
    Operation,
    PutEmbedding,
    Reinforce,
    SetGroup,
    Touch,
)
from recollect.testing.contract.workbench import ANA, BOB, SHARED, OnWorkbench, Workbench

LATER = times.show(times.parse("2031-05-06T07:08:09.000123", field="at"))
#: A value for every field, none of them the default.
FULL: dict[str, Any] = {
    "kind": "fact",
    "tier": "long",
    "status": "quarantined",
    "importance": 0.123456789,
    "agent": "scribe",
    "session": "s1",
    "position": 7,
    "role": "user",
    "speaker": "Zoë 🦊",
    "item_key": "k",
    "stage": "improving",
    "stage_changed_at": LATER,
    "priority": 3,
    "source": "web",
    "trust": "untrusted",
    "occurred_at": LATER,
    "valid_from": LATER,
    "valid_to": LATER,
    "expires_at": LATER,
    "reinforced_at": LATER,
    "reinforcements": 4,
    "superseded_by": "mem_" + "0" * 32,
    "tags": ("a", "ü"),
    "metadata": {"deep": {"list": [1, 1.5, True, None, "%_'\""]}},
}


class WritingContract(OnWorkbench):
    """What a store must do about memories that are written."""

    def test_what_is_remembered_is_read_back_equal(self, bench: Workbench) -> None:
        stored = bench.remember("Emoji 🦊, quotes ' \" and 漢字", **FULL)
        assert bench.get(stored.id) == stored
        assert {name: getattr(stored, name) for name in FULL} == FULL

    def test_a_reader_who_changes_an_answer_does_not_change_the_store(
        self, bench: Workbench
    ) -> None:
        given = bench.record("mine", metadata={"list": [1]})
        answered = bench.do(bench.remembering(given))
        given.metadata["list"].append(2)
        answered.metadata["list"].append(3)
        read = bench.get(given.id)
        assert read is not None
        read.metadata["list"].append(4)
        again = bench.get(given.id)
        assert again is not None
        assert again.metadata == {"list": [1]}

    def test_an_id_exists_once(self, bench: Workbench) -> None:
        first = bench.remember("first")
        twin = bench.remembering(replace(bench.record("second", BOB), id=first.id))
        with pytest.raises(ConflictError, match="exists already"):
            bench.do(twin)
        assert bench.listed(bench.view(ANA, BOB)) == ["first"]

    def test_a_failure_undoes_everything_before_it(self, bench: Workbench) -> None:
        kept = bench.remember("kept", session="s", role="user")
        before = (bench.run(bench.store.stats("local")), bench.changes())
        operations: list[Operation] = [
            SetGroup(bench.stamp(), BOB, bench.id("grp"), "group"),
            bench.remembering(bench.record("gone", session="s", role="user")),
            Alter(bench.stamp(), kept.id, (ANA,), {"importance": 1.0}),
            Enqueue(bench.now, "work", {}, ANA, kept.id),
            Alter(bench.stamp(), bench.id(), (ANA,), {"importance": 1.0}),
        ]
        with pytest.raises(NotFound):
            bench.apply(*operations)
        after = (bench.run(bench.store.stats("local")), bench.changes())
        assert [{**before[0], "file_bytes": 0}, before[1]] == [
            {**after[0], "file_bytes": 0},
            after[1],
        ]
        assert bench.get(kept.id) == kept
        assert bench.run(bench.store.groups(BOB)) == []
        assert bench.remember("next", session="s", role="user").position == 1
        assert bench.problems() == []

    def test_a_best_effort_batch_keeps_what_can_be_kept(self, bench: Workbench) -> None:
        good, bad, last = (bench.record(text, session="s", role="user") for text in "abc")
        bad = replace(bad, parent=bench.id())
        answers = bench.apply(*(bench.remembering(r) for r in (good, bad, last)), atomic=False)
        assert isinstance(answers[1], NotFound)
        assert bench.listed() == ["a", "c"]
        assert [answers[0].position, answers[2].position] == [0, 1]
        assert len(bench.changes()) == 2
        assert bench.problems() == []

    def test_a_key_makes_a_write_repeatable(self, bench: Workbench) -> None:
        once = Once("key", b"body")
        first = bench.do(bench.remembering(bench.record("once"), once=once))
        again = bench.do(bench.remembering(bench.record("once"), once=once))
        assert again.id == first.id
        assert bench.listed() == ["once"]
        assert len(bench.changes()) == 1

    def test_a_key_is_known_within_one_batch(self, bench: Workbench) -> None:
        twice = [bench.remembering(bench.record("x"), once=Once("k", b"b")) for _ in range(2)]
        first, second = bench.apply(*twice)
        assert first.id == second.id

    def test_a_key_with_another_body_is_refused(self, bench: Workbench) -> None:
        bench.do(bench.remembering(bench.record("one"), once=Once("key", b"one")))
        with pytest.raises(IdempotencyMismatch, match="'key'"):
            bench.do(bench.remembering(bench.record("two"), once=Once("key", b"two")))
        assert bench.listed() == ["one"]

    def test_keys_of_different_people_have_nothing_in_common(self, bench: Workbench) -> None:
        for place in (ANA, BOB):
            bench.do(
                bench.remembering(bench.record("x", place), once=Once("key", place.name.encode()))
            )
        assert bench.listed(bench.view(ANA, BOB)) == ["x", "x"]

    def test_messages_are_numbered_per_session_and_place(self, bench: Workbench) -> None:
        told = [("s", ANA), ("s", ANA), ("t", ANA), ("s", BOB), ("s", ANA)]
        made = [bench.remember("m", place, session=name, role="user") for name, place in told]
        assert [one.position for one in made] == [0, 1, 0, 0, 2]

    def test_what_is_no_message_has_no_position(self, bench: Workbench) -> None:
        assert bench.remember("note", session="s").position is None

    def test_messages_continue_behind_imported_ones(self, bench: Workbench) -> None:
        imported = bench.record("old", session="s", role="user", position=10)
        first, _, third = bench.apply(
            bench.remembering(bench.record("a", session="s", role="user")),
            bench.remembering(imported),
            bench.remembering(bench.record("c", session="s", role="user")),
        )
        assert (first.position, third.position) == (0, 11)
        assert bench.remember("d", session="s", role="user").position == 12

    def test_a_parent_lies_in_the_same_place(self, bench: Workbench) -> None:
        shared, foreign = bench.remember("shared", SHARED), bench.remember("foreign", BOB)
        for parent in (shared.id, foreign.id, bench.id()):
            with pytest.raises(NotFound, match=f"{parent}.*parent"):
                bench.remember("child", parent=parent)

    def test_no_memory_is_its_own_ancestor(self, bench: Workbench) -> None:
        top = bench.remember("top")
        middle = bench.remember("middle", parent=top.id)
        bottom = bench.remember("bottom", parent=middle.id)
        for parent in (top, middle, bottom):
            with pytest.raises(ValidationError) as failure:
                bench.do(Alter(bench.stamp(), top.id, (ANA,), {"parent": parent.id}))
            assert failure.value.field == "parent"
        alone = bench.record("alone")
        with pytest.raises(ValidationError):
            bench.do(bench.remembering(replace(alone, parent=alone.id)))
        assert bench.get(top.id) == top

    def test_trees_have_a_greatest_depth(self, bench: Workbench) -> None:
        parent: str | None = None
        for _ in range(TREE_DEPTH_MAX):
            parent = bench.remember("level", parent=parent).id
        with pytest.raises(ValidationError, match="TREE_DEPTH_MAX"):
            bench.remember("too deep", parent=parent)

    def test_an_item_key_exists_once_per_kind_and_place(self, bench: Workbench) -> None:
        first = bench.remember("a", kind="area", item_key="k")
        bench.remember("b", kind="strength", item_key="k")
        bench.remember("c", BOB, kind="area", item_key="k")
        with pytest.raises(ConflictError, match=first.id):
            bench.remember("d", kind="area", item_key="k")
        other = bench.remember("e", kind="area", item_key="l")
        with pytest.raises(ConflictError, match=first.id):
            bench.do(Alter(bench.stamp(), other.id, (ANA,), {"item_key": "k"}))

    def test_what_changes_nothing_leaves_no_trace(self, bench: Workbench) -> None:
        stored = bench.remember("a", kind="area", item_key="k", metadata={"n": 1})
        same = {"item_key": "k", "text": "a", "metadata": {"n": 1}}
        assert bench.do(Alter(bench.stamp(), stored.id, (ANA,), same)) == stored
        other = bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"metadata": {"n": True}}))
        assert other.version == 2

    def test_changing_fields_makes_a_new_version(self, bench: Workbench) -> None:
        old = bench.remember("text", importance=0.1, metadata={"a": 1})
        changes: dict[str, Any] = {"importance": 0.9, "metadata": {"b": [2]}}
        new = bench.do(Alter(bench.stamp(), old.id, (ANA,), changes))
        assert new == replace(old, **changes, version=2, updated_at=times.show(bench.now))
        assert bench.get(old.id) == new

    def test_a_change_of_what_is_not_in_these_places_is_not_found(self, bench: Workbench) -> None:
        foreign = bench.remember("foreign", BOB)
        for id in (foreign.id, bench.id()):
            with pytest.raises(NotFound, match=id):
                bench.do(Alter(bench.stamp(), id, (ANA, SHARED), {"importance": 1.0}))
        assert bench.get(foreign.id, BOB) == foreign

    def test_what_a_change_expects_must_hold(self, bench: Workbench) -> None:
        old = bench.remember("text")
        with pytest.raises(VersionMismatch, match="version is 1, not 2"):
            bench.do(Alter(bench.stamp(), old.id, (ANA,), {"tier": "long"}, {"version": 2}))
        with pytest.raises(ConflictError, match="status"):
            bench.do(Alter(bench.stamp(), old.id, (ANA,), {"tier": "long"}, {"status": "archived"}))
        assert bench.get(old.id) == old
        expected = {"version": 1, "status": "active"}
        assert (
            bench.do(Alter(bench.stamp(), old.id, (ANA,), {"tier": "long"}, expected)).version == 2
        )

    def test_counted_reads_change_nothing_else(self, bench: Workbench) -> None:
        read, unread = bench.remember("read"), bench.remember("unread")
        events = [change.event for change in bench.changes()]
        for _ in range(2):
            bench.do(Touch({read.id: 3, bench.id(): 1}, bench.now))
        assert bench.get(read.id) == replace(read, access_count=6)
        assert bench.get(unread.id) == unread
        assert [change.event for change in bench.changes()] == events
        changed = bench.do(Alter(bench.stamp(), read.id, (ANA,), {"tier": "long"}))
        assert changed.access_count == 6

    def test_all_vectors_of_a_space_have_its_dimension(self, bench: Workbench) -> None:
        bench.remember("three", vector=[1, 0, 0])
        with pytest.raises(ValidationError, match=r"2 dimensions.*has 3") as failure:
            bench.remember("two", vector=[1, 0])
        assert failure.value.field == "vector"
        assert bench.listed() == ["three"]

    def test_reinforcing_reads_what_is_there_and_not_what_the_caller_knew(
        self, bench: Workbench
    ) -> None:
        stored = bench.remember("text", importance=0.5)
        twice = [Reinforce(bench.stamp("reinforce"), stored.id, (ANA,), 1.2) for _ in range(2)]
        first, second = bench.apply(*twice)
        assert (first.importance, first.reinforcements) == (0.6, 1)
        assert (second.importance, second.reinforcements) == (0.72, 2)
        assert second.reinforced_at == times.show(twice[1].stamp.at) == second.updated_at
        strong = bench.do(Reinforce(bench.stamp("reinforce"), stored.id, (ANA,), 100.0))
        assert (strong.importance, strong.version) == (1.0, 4)
        with pytest.raises(NotFound):
            bench.do(Reinforce(bench.stamp("reinforce"), stored.id, (BOB,), 1.2))
        assert bench.problems() == []

    def test_what_was_made_of_a_memory_ends_when_that_says_something_else(
        self, bench: Workbench
    ) -> None:
        source = bench.remember("source")
        made = [bench.remember(kind, kind=kind) for kind in ("consolidated", "fact")]
        for one in made:
            bench.link(one.id, source.id, "derived_from")
        bench.do(Alter(bench.stamp(), source.id, (ANA,), {"importance": 0.9, "tier": "long"}))
        bench.do(Alter(bench.stamp(), source.id, (ANA,), {"status": "archived"}))
        assert {one.status for one in map(bench.get, [one.id for one in made]) if one} == {"active"}
        stamp = bench.stamp()
        bench.do(Alter(stamp, source.id, (ANA,), {"text": "other"}, entry=bench.entry("other")))
        ended, fact = (bench.get(one.id) for one in made)
        assert ended is not None
        assert fact is not None
        assert (ended.status, fact.status) == ("superseded", "active")
        assert ended.valid_to == times.show(stamp.at)
        assert len(bench.changes(event=stamp.event)) == 2
        assert bench.problems() == []

    def test_a_vector_that_comes_later_belongs_to_one_version(self, bench: Workbench) -> None:
        stored = bench.remember("text")
        entry = bench.entry("text", [1, 0, 0])
        assert entry.vector is not None
        put = PutEmbedding(stored.id, 1, entry)
        assert bench.do(put) is True
        assert bench.search(vector=[1, 0, 0]).keys.size == 1
        assert bench.do(replace(put, version=2)) is False
        assert bench.do(replace(put, id=bench.id())) is False
        with pytest.raises(VersionMismatch):
            bench.do(replace(put, version=2, must=True))
        assert bench.get(stored.id) == stored

    def test_memories_without_a_vector_are_listed_for_everybody(self, bench: Workbench) -> None:
        plain = [bench.remember("plain"), bench.remember("bob's", BOB)]
        held = bench.remember("held")
        entry = bench.entry("held", [1, 0, 0])
        bench.do(PutEmbedding(held.id, 1, entry))
        space = entry.space or ""

        def listed(spaces: list[str], after: int = 0, limit: int = 9) -> list[tuple[int, Any, str]]:
            return bench.run(bench.store.without_vector(spaces, after, limit))

        found = listed([space])
        assert [(place, id) for _, place, id in found] == [(ANA, plain[0].id), (BOB, plain[1].id)]
        assert listed([space], found[0][0]) == found[1:]
        assert listed([space], limit=1) == found[:1]
        assert [id for *_, id in listed(["other"])] == [*(one.id for one in plain), held.id]
        assert listed(["other", space]) == found
