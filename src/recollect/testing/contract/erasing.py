"""Erasing and moving: what goes, what stays, and that no answer holds a trace of what went."""

import pytest

from recollect.domain.errors import NotFound
from recollect.domain.filters import parse
from recollect.domain.operations import (
    Alter,
    Enqueue,
    Erase,
    Once,
    OpenSession,
    Rehome,
    SetGroup,
    SetLink,
    SetMember,
    Touch,
    WriteProfile,
)
from recollect.domain.records import MemoryRecord
from recollect.domain.scopes import Place
from recollect.testing.contract.workbench import (
    ANA,
    BOB,
    EVERY_STATUS,
    FOREIGN,
    OnWorkbench,
    Workbench,
    texts,
)


class ErasingContract(OnWorkbench):
    """What a store must do about what shall be gone."""

    def furnished(self, bench: Workbench, place: Place = ANA) -> MemoryRecord:
        """A memory with everything that can hang on one."""
        once = Once("key", b"body")
        record = bench.record("the secret word", place)
        stored: MemoryRecord = bench.do(bench.remembering(record, [1, 0, 0], once))
        other = bench.remember("something else", place)
        bench.apply(
            Alter(bench.stamp(reason="secret reason"), stored.id, (place,), {"tier": "long"}),
            SetLink(bench.stamp(), stored.id, other.id, "related", 1.0, (place,)),
            SetGroup(bench.stamp(), place, bench.id("grp"), "secret group"),
            SetMember(bench.stamp(), place, "secret group", stored.id, True),
            Enqueue(bench.now, "work", {"secret": 1}, place, stored.id),
            Touch({stored.id: 2}, bench.now),
        )
        return stored

    def test_an_erased_memory_is_in_no_answer(self, bench: Workbench) -> None:
        gone = self.furnished(bench)
        moment = bench.now
        bench.search("secret")
        counts = bench.erase(gone.id)
        names = ("memories", "links", "members", "versions", "vectors", "jobs", "once", "accesses")
        assert {name: counts[name] for name in names} == dict.fromkeys(names, 1)
        assert bench.get(gone.id) is None
        assert bench.get(gone.id, as_of=moment) is None
        assert bench.listed(bench.view(statuses=EVERY_STATUS)) == ["something else"]
        assert bench.listed(bench.view(as_of=moment)) == ["something else"]
        assert bench.search("secret", vector=[1, 0, 0]).total == 1
        assert bench.search("secret").keys.size == 0
        assert bench.run(bench.store.members(ANA, "secret group")) == []
        assert bench.run(bench.store.claim_jobs(["work"], 9, now=bench.now, lease_us=1)) == []
        assert bench.changes(subject=gone.id) == []
        told = [one for one in bench.changes() if one.event.subject.endswith("erased")]
        assert [one.event.action for one in told][:1] == ["remember"]
        assert [one.event.action for one in told][-1] == "erase"
        for one in told:
            assert (one.before, one.after, one.event.reason, one.event.detail) == (None,) * 3 + (
                {},
            )
        assert bench.run(bench.store.tombstoned("local", [gone.id, "x"])) == {gone.id}
        assert bench.problems() == []

    def test_a_key_whose_memory_was_erased_is_free(self, bench: Workbench) -> None:
        gone = self.furnished(bench)
        bench.erase(gone.id)
        again = bench.do(bench.remembering(bench.record("new"), once=Once("key", b"other body")))
        assert bench.get(again.id) == again

    def test_children_go_along_or_move_up(self, bench: Workbench) -> None:
        for cascade, left in [(True, ["top"]), (False, ["top", "leaf", "lower leaf"])]:
            top = bench.remember("top")
            gone = bench.remember("gone", parent=top.id)
            lower = bench.remember("lower gone", parent=gone.id)
            leaf = bench.remember("leaf", parent=gone.id)
            bench.remember("lower leaf", parent=lower.id)
            counts = bench.erase(gone.id, lower.id, cascade=cascade)
            assert counts["memories"] == (4 if cascade else 2)
            assert counts["children"] == (2 if cascade else 0)
            assert bench.listed() == left
            children = bench.run(bench.store.children([top.id], (ANA,)))
            assert texts(children) == left[1:]
            moved = bench.get(leaf.id)
            if moved is not None:
                assert (moved.parent, moved.version) == (top.id, 2)
                assert bench.changes(subject=leaf.id)[-1].event.fields == ("parent",)
            assert bench.problems() == []
            bench.erase(top.id)

    def test_what_was_derived_goes_along(self, bench: Workbench) -> None:
        source, kept = bench.remember("source"), bench.remember("kept")
        summary, digest = bench.remember("summary"), bench.remember("digest")
        bench.link(summary.id, source.id, "derived_from")
        bench.link(digest.id, summary.id, "derived_from")
        bench.link(kept.id, source.id, "related")
        counts = bench.erase(source.id, cascade=False)
        assert (counts["memories"], counts["derived"], counts["links"]) == (3, 2, 3)
        assert bench.listed() == ["kept"]
        assert [one.event.detail for one in bench.changes() if "link" in one.event.subject] == [
            {}
        ] * 3

    def test_a_predecessor_forgets_its_erased_successor(self, bench: Workbench) -> None:
        old, new = bench.remember("old"), bench.remember("new")
        bench.do(Alter(bench.stamp(), old.id, (ANA,), {"superseded_by": new.id}))
        bench.erase(new.id)
        left = bench.get(old.id)
        assert left is not None
        assert (left.superseded_by, left.version) == (None, 3)
        assert bench.problems() == []

    def test_erasing_reaches_only_its_places(self, bench: Workbench) -> None:
        foreign = bench.remember("foreign", BOB)
        assert bench.erase(foreign.id)["memories"] == 0
        assert bench.get(foreign.id, BOB) == foreign

    def test_a_filter_erases_what_it_shows_whatever_its_status(self, bench: Workbench) -> None:
        bench.remember("a", kind="fact")
        bench.remember("b", kind="fact", status="archived")
        bench.remember("c")
        bench.remember("d", BOB, kind="fact")
        where = parse({"kind": "fact"})
        counts = bench.do(Erase(bench.stamp(), (ANA,), where=where))
        assert (counts["memories"], counts["tombstones"]) == (2, 2)
        assert bench.listed(bench.view(ANA, BOB, statuses=EVERY_STATUS)) == ["c", "d"]

    def test_a_whole_place_is_erased_with_its_name(self, bench: Workbench) -> None:
        gone = self.furnished(bench)
        bench.do(OpenSession(bench.stamp(), ANA, "s", "chat", {}, None))
        for value in (1, 2):
            bench.do(WriteProfile(bench.stamp(), ANA, "likes", "merge", {"tea": value}))
        bench.remember("of Bob", BOB)
        bench.search("secret")
        counts = bench.do(Erase(bench.stamp(), (ANA,), everything=True))
        expected = {"memories": 2, "groups": 1, "sessions": 1, "profiles": 1, "profile_versions": 1}
        assert {name: counts[name] for name in expected} == expected
        assert bench.run(bench.store.places("local")) == [BOB]
        assert bench.changes() == []
        assert bench.run(bench.store.tombstoned("local", ["user:default/ana", gone.id])) == {
            "user:default/ana",
            gone.id,
        }
        assert bench.run(bench.store.tombstoned("elsewhere", ["user:default/ana"])) == set()
        assert bench.run(bench.store.past_profiles(ANA, "likes")) == []
        bench.remember("a new beginning")
        assert len(bench.changes()) == 1
        assert bench.search("secret").total == 1
        assert bench.run(bench.store.sessions(ANA)) == []
        assert bench.run(bench.store.profiles(ANA)) == []
        assert bench.run(bench.store.groups(ANA)) == []
        assert bench.listed(bench.view(BOB)) == ["of Bob"]
        assert bench.problems() == []

    def test_people_of_the_same_name_have_tombstones_of_their_own(self, bench: Workbench) -> None:
        for place in (ANA, FOREIGN):
            bench.remember("x", place)
            bench.do(Erase(bench.stamp(), (place,), everything=True))
        for tenant in ("local", "elsewhere"):
            assert bench.run(bench.store.tombstoned(tenant, ["user:default/ana"])), tenant

    def test_a_person_moves_with_everything(self, bench: Workbench) -> None:
        moved = self.furnished(bench)
        bench.remember("said", session="s", role="user")
        bench.do(OpenSession(bench.stamp(), ANA, "s", "chat", {"m": 1}, None))
        bench.do(WriteProfile(bench.stamp(), ANA, "likes", "merge", {"tea": 1, "milk": [1]}))
        bench.do(WriteProfile(bench.stamp(), BOB, "likes", "merge", {"tea": 2, "milk": [2]}))
        bench.search("secret", view=bench.view(ANA, BOB))
        counts = bench.do(Rehome(bench.stamp("merge"), ANA, BOB))
        assert counts == {"memories": 3, "profiles": 1, "groups": 1, "sessions": 1}
        assert bench.run(bench.store.places("local")) == [BOB]
        assert bench.listed() == []
        assert bench.listed(bench.view(BOB)) == ["the secret word", "something else", "said"]
        assert bench.search("secret", view=bench.view(ANA)).total == 0
        assert bench.search("secret", view=bench.view(BOB)).keys.size == 1
        assert bench.run(bench.store.profiles(BOB))[0].data == {"tea": 2, "milk": [1, 2]}
        assert texts(bench.run(bench.store.members(BOB, "secret group"))) == ["the secret word"]
        assert [one.messages for one in bench.run(bench.store.sessions(BOB))] == [1]
        assert len(bench.run(bench.store.links([moved.id], (BOB,)))) == 1
        (job,) = bench.run(bench.store.claim_jobs(["work"], 9, now=bench.now, lease_us=1))
        assert (job.place, job.memory) == (BOB, moved.id)
        assert bench.problems() == []

    def test_what_both_people_have_is_kept_twice(self, bench: Workbench) -> None:
        for place in (ANA, BOB):
            bench.remember(f"item of {place.name}", place, kind="area", item_key="k")
            bench.remember(f"said by {place.name}", place, session="s", role="user")
            bench.do(OpenSession(bench.stamp(), place, "s", "chat", {}, None))
            bench.do(SetGroup(bench.stamp(), place, bench.id("grp"), "g"))
            said = bench.run(bench.store.entries(bench.view(place), 0, 9))[1][1]
            bench.do(SetMember(bench.stamp(), place, "g", said.id, True))
        bench.do(Rehome(bench.stamp(), ANA, BOB))
        listed = bench.run(bench.store.entries(bench.view(BOB), 0, 9))
        kept = {record.text: (record.item_key, record.session) for _, record in listed}
        assert kept == {
            "item of ana": (None, None),
            "item of bob": ("k", None),
            "said by ana": (None, "s (ana)"),
            "said by bob": (None, "s"),
        }
        sessions = {one.id: one.messages for one in bench.run(bench.store.sessions(BOB))}
        assert sessions == {"s": 1, "s (ana)": 1}
        (group,) = bench.run(bench.store.groups(BOB))
        assert group.size == 2
        assert bench.problems() == []

    def test_a_person_moves_in_twice(self, bench: Workbench) -> None:
        for _ in range(3):
            for place in (ANA, BOB):
                bench.do(OpenSession(bench.stamp(), place, "s", "chat", {}, None))
            bench.remember("said", ANA, session="s", role="user")
            bench.do(Rehome(bench.stamp(), ANA, BOB))
        sessions = bench.run(bench.store.sessions(BOB))
        assert sorted(one.messages for one in sessions) == [0, 1, 1, 1]
        assert len({one.id for one in sessions}) == 4
        assert bench.problems() == []

    def test_moving_nobody_moves_nothing(self, bench: Workbench) -> None:
        assert set(bench.do(Rehome(bench.stamp(), ANA, BOB)).values()) == {0}
        assert bench.run(bench.store.places("local")) == []

    def test_an_erasure_is_undone_with_the_rest_of_its_transaction(self, bench: Workbench) -> None:
        stored = self.furnished(bench)
        before, found = bench.get(stored.id), bench.changes()
        missing = Alter(bench.stamp(), bench.id(), (ANA,), {"tier": "long"})
        erasing = Erase(bench.stamp(), (ANA,), everything=True)
        with pytest.raises(NotFound):
            bench.apply(erasing, missing)
        assert bench.get(stored.id) == before
        assert bench.changes() == found
        assert bench.search("secret").keys.size == 1
        assert texts(bench.run(bench.store.members(ANA, "secret group"))) == ["the secret word"]
        assert bench.run(bench.store.tombstoned("local", [stored.id])) == set()
        assert bench.problems() == []
