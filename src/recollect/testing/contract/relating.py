"""What surrounds memories: links, trees, groups, sessions and profiles."""

import pytest

from recollect.domain import times
from recollect.domain.errors import NotFound, PayloadTooLarge, VersionMismatch
from recollect.domain.operations import (
    OpenSession,
    SetGroup,
    SetLink,
    SetMember,
    WriteProfile,
)
from recollect.domain.records import JsonObject, Profile
from recollect.testing.contract.workbench import ANA, BOB, SHARED, OnWorkbench, Workbench, texts


class RelatingContract(OnWorkbench):
    """What a store must do about what surrounds memories."""

    def test_a_link_is_kept_once_and_found_from_both_ends(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b", SHARED)
        assert bench.link(a.id, b.id) is True
        assert bench.link(a.id, b.id) is False
        assert bench.link(a.id, b.id, "caused") is True
        for end in (a, b):
            found = bench.run(bench.store.links([end.id], (ANA, SHARED)))
            assert [(one.source, one.target, one.kind) for one in found] == [
                (a.id, b.id, "related"),
                (a.id, b.id, "caused"),
            ]
        (named,) = bench.run(bench.store.links([b.id], (ANA, SHARED), kind="caused"))
        assert (named.kind, named.strength, named.created_at) == (
            "caused",
            1.0,
            times.show(bench.now),
        )

    def test_a_link_needs_both_ends_within_reach(self, bench: Workbench) -> None:
        own, foreign = bench.remember("own"), bench.remember("foreign", BOB)
        for source, target in [(own.id, bench.id()), (bench.id(), own.id), (own.id, foreign.id)]:
            with pytest.raises(NotFound):
                bench.link(source, target)
        assert len(bench.changes()) == 1

    def test_a_link_is_shown_where_both_ends_are(self, bench: Workbench) -> None:
        own, shared = bench.remember("own"), bench.remember("shared", SHARED)
        bench.link(own.id, shared.id)
        assert bench.run(bench.store.links([own.id], (ANA,))) == []
        assert bench.run(bench.store.links([shared.id], (SHARED,))) == []

    def test_a_link_gets_a_new_strength_or_is_taken_away(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b")
        bench.link(a.id, b.id)
        (made,) = bench.run(bench.store.links([a.id], (ANA,)))
        for strength in (0.25, 0.25):
            op = SetLink(bench.stamp(), a.id, b.id, "related", strength, (ANA,))
            assert bench.do(op) is False
        (weak,) = bench.run(bench.store.links([a.id], (ANA,)))
        assert (weak.strength, weak.created_at) == (0.25, made.created_at)
        for _ in range(2):
            bench.do(SetLink(bench.stamp(), a.id, b.id, "related", None, (ANA,)))
        assert bench.run(bench.store.links([a.id], (ANA,))) == []
        assert [one.event.detail.get("after") for one in bench.changes()[2:]] == [1.0, 0.25, None]

    def test_children_are_listed_in_order_of_writing(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b")
        for parent, text in [(a, "a1"), (b, "b1"), (a, "a2")]:
            bench.remember(text, parent=parent.id)
        assert texts(bench.run(bench.store.children([a.id], (ANA,)))) == ["a1", "a2"]
        assert texts(bench.run(bench.store.children([a.id, b.id], (ANA,)))) == ["a1", "b1", "a2"]
        assert bench.run(bench.store.children([a.id], (BOB,))) == []

    def test_a_group_exists_once_per_place(self, bench: Workbench) -> None:
        id = bench.id("grp")
        first = bench.do(SetGroup(bench.stamp(), ANA, id, "kitchen", "pots"))
        again = bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "kitchen", "pans"))
        other = bench.do(SetGroup(bench.stamp(), BOB, bench.id("grp"), "kitchen"))
        assert (first.id, first.name, first.description, first.size) == (id, "kitchen", "pots", 0)
        assert again == first
        assert other.number > first.number
        assert bench.run(bench.store.groups(ANA)) == [first]

    def test_members_come_in_the_order_they_were_added(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b")
        group = bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "g"))
        for memory, new in [(b, True), (a, True), (b, False)]:
            assert bench.do(SetMember(bench.stamp(), ANA, "g", memory.id, True)) is new
        for name in (group.id, "g", str(group.number)):
            assert texts(bench.run(bench.store.members(ANA, name))) == ["b", "a"]
        assert bench.run(bench.store.groups(ANA))[0].size == 2
        for changed in (True, False):
            assert bench.do(SetMember(bench.stamp(), ANA, group.id, b.id, False)) is changed
        assert texts(bench.run(bench.store.members(ANA, "g"))) == ["a"]

    def test_groups_and_members_must_exist_in_the_place(self, bench: Workbench) -> None:
        own, foreign = bench.remember("own"), bench.remember("foreign", BOB)
        group = bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "g"))
        for name in ("nope", "99", group.id.replace("grp_0", "grp_f")):
            with pytest.raises(NotFound, match=name):
                bench.run(bench.store.members(ANA, name))
            with pytest.raises(NotFound, match=name):
                bench.do(SetMember(bench.stamp(), ANA, name, own.id, True))
        with pytest.raises(NotFound):
            bench.run(bench.store.members(BOB, group.id))
        with pytest.raises(NotFound, match=foreign.id):
            bench.do(SetMember(bench.stamp(), ANA, "g", foreign.id, True))

    def test_a_session_is_made_once_and_counts_its_messages(self, bench: Workbench) -> None:
        data: JsonObject = {"topic": ["tea"]}
        stamp, began = bench.stamp(), bench.now
        first = bench.do(OpenSession(stamp, ANA, "s1", "chat", data, began + 5))
        data["topic"].append("changed later")
        again = bench.do(OpenSession(bench.stamp(), ANA, "s1", "other", {}, None))
        assert again == first
        assert (first.id, first.place, first.kind, first.messages) == ("s1", ANA, "chat", 0)
        assert first.metadata == {"topic": ["tea"]}
        assert (first.started_at, first.expires_at) == (times.show(began), times.show(began + 5))
        bench.remember("hi", session="s1", role="user")
        bench.remember("a note, not a message", session="s1")
        assert bench.run(bench.store.session(ANA, "s1")).messages == 1  # type: ignore[union-attr]
        assert bench.run(bench.store.session(BOB, "s1")) is None
        bench.do(OpenSession(bench.stamp(), ANA, "s2", "chat", {}, None))
        listed = bench.run(bench.store.sessions(ANA))
        assert [(one.id, one.messages) for one in listed] == [("s2", 0), ("s1", 1)]
        assert [one.event.subject for one in bench.changes()][::3] == ["session:s1", "session:s2"]

    def test_a_profile_is_merged_replaced_and_cleared(self, bench: Workbench) -> None:
        merged = self.write(bench, "merge", {"a": {"x": [1]}, "b": 2})
        assert (merged.category, merged.version) == ("likes", 1)
        assert self.write(bench, "merge", {"a": {"x": [3], "y": 4}}).data == {
            "a": {"x": [1, 3], "y": 4},
            "b": 2,
        }
        remove = WriteProfile(bench.stamp(), ANA, "likes", "remove", path=("a", "x"))
        assert bench.do(remove).data == {"a": {"y": 4}, "b": 2}
        replaced = self.write(bench, "replace", {"c": {"d": None, "e": 5}})
        assert (replaced.data, replaced.version) == ({"c": {"e": 5}}, 4)
        assert self.write(bench, "clear", {}).data == {}
        past = bench.run(bench.store.past_profiles(ANA, "likes"))
        assert [one.version for one in past] == [1, 2, 3, 4, 5]
        assert [sorted(one.data) for one in past] == [["a", "b"]] * 3 + [["c"], []]
        assert bench.run(bench.store.profiles(ANA)) == past[-1:]
        assert bench.run(bench.store.profiles(BOB)) == []
        assert bench.run(bench.store.past_profiles(ANA, "unknown")) == []

    def test_a_profile_that_would_stay_the_same_stays_at_its_version(
        self, bench: Workbench
    ) -> None:
        first = self.write(bench, "merge", {"a": [1]})
        assert self.write(bench, "merge", {"a": [1]}) == first
        assert len(bench.changes()) == 1
        assert self.write(bench, "replace", {"a": 1}).version == 2
        truth = self.write(bench, "replace", {"a": True})
        assert (truth.version, truth.data["a"]) == (3, True)
        assert truth.data["a"] is True

    def test_a_profile_is_written_at_the_version_that_was_read(self, bench: Workbench) -> None:
        new = WriteProfile(bench.stamp(), ANA, "likes", "merge", {"a": 1}, if_version=0)
        assert bench.do(new).version == 1
        with pytest.raises(VersionMismatch, match="likes is at version 1, not 0"):
            bench.do(new)
        assert bench.run(bench.store.profiles(ANA))[0].version == 1

    def test_a_profile_that_grows_too_large_stays_as_it_was(self, bench: Workbench) -> None:
        before = self.write(bench, "merge", {"a": "x" * 40_000})
        with pytest.raises(PayloadTooLarge, match="PROFILE_BYTES_MAX"):
            self.write(bench, "merge", {"b": "y" * 40_000})
        assert bench.run(bench.store.profiles(ANA)) == [before]

    def test_profile_data_is_shared_with_nobody(self, bench: Workbench) -> None:
        given: JsonObject = {"list": [1]}
        answered = self.write(bench, "replace", given)
        given["list"].append(2)
        answered.data["list"].append(3)
        bench.run(bench.store.profiles(ANA))[0].data["list"].append(4)
        assert bench.run(bench.store.profiles(ANA))[0].data == {"list": [1]}

    def write(self, bench: Workbench, mode: str, data: JsonObject) -> Profile:
        """Write Ana's likes."""
        op = WriteProfile(bench.stamp(mode), ANA, "likes", mode, data)  # type: ignore[arg-type]
        profile: Profile = bench.do(op)
        return profile
