"""Events: every change leaves one, with the states around it; seals chain them."""

from recollect.domain import digests, times
from recollect.domain.operations import Alter, Remember, SetGroup, SetMember, WriteProfile
from recollect.domain.records import pack
from recollect.testing.contract.workbench import ANA, BOB, SHARED, OnWorkbench, Workbench


class EventsContract(OnWorkbench):
    """What a store must know about what happened."""

    def test_a_change_is_told_with_the_states_around_it(self, bench: Workbench) -> None:
        stored = bench.remember("text")
        stamp = bench.stamp("update", actor="ana", reason="better known")
        altered = bench.do(Alter(stamp, stored.id, (ANA,), {"tier": "long", "kind": "fact"}))
        first, second = bench.changes(subject=stored.id)
        assert (first.event.action, first.before, first.after) == ("remember", None, stored)
        assert (second.before, second.after) == (stored, altered)
        event = second.event
        assert (event.id, event.at, event.version) == (stamp.event, times.show(stamp.at), 2)
        assert (event.actor, event.reason) == ("ana", "better known")
        assert (event.subject, event.fields) == (stored.id, ("kind", "tier"))
        digest = digests.of_packed(pack(altered), stamp.salt).hex()
        assert (first.event.before_digest, event.after_digest) == (None, digest)
        assert event.before_digest == digests.of_packed(pack(stored), stamp.salt).hex()

    def test_events_have_rising_numbers_and_are_read_from_one_on(self, bench: Workbench) -> None:
        for text in "abcd":
            bench.remember(text)
        numbers = [one.event.sequence for one in bench.changes()]
        assert numbers == sorted(set(numbers))
        some = bench.changes(after=numbers[0], limit=2)
        assert [one.event.sequence for one in some] == numbers[1:3]

    def test_events_are_read_by_place_by_subject_or_by_id(self, bench: Workbench) -> None:
        own, shared, foreign = (bench.record("x", place) for place in (ANA, SHARED, BOB))
        stamp = bench.stamp("import")
        bench.apply(*(Remember(stamp, one, bench.entry("x")) for one in (own, shared, foreign)))
        assert [one.after for one in bench.changes()] == [own]
        assert [one.after for one in bench.changes(ANA, SHARED)] == [own, shared]
        assert [one.after for one in bench.changes(ANA, SHARED, event=stamp.event)] == [own, shared]
        assert bench.changes(subject=foreign.id) == []
        assert bench.changes(subject=bench.id()) == []
        assert bench.changes(event=bench.id("evt")) == []

    def test_everything_that_changes_leaves_an_event(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b")
        bench.link(a.id, b.id)
        group = bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "g"))
        bench.do(SetMember(bench.stamp(), ANA, "g", a.id, True))
        bench.do(WriteProfile(bench.stamp(), ANA, "likes", "merge", {"tea": True}))
        subjects = [one.event.subject for one in bench.changes()]
        assert subjects == [
            a.id,
            b.id,
            f"link:{a.id}",
            f"group:{group.id}",
            f"member:{a.id}",
            "profile:likes",
        ]

    def test_what_changes_nothing_leaves_no_event(self, bench: Workbench) -> None:
        a, b = bench.remember("a"), bench.remember("b")
        bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "g"))
        bench.link(a.id, b.id)
        count = len(bench.changes())
        bench.do(SetGroup(bench.stamp(), ANA, bench.id("grp"), "g"))
        bench.link(a.id, b.id)
        bench.do(SetMember(bench.stamp(), ANA, "g", a.id, False))
        assert len(bench.changes()) == count

    def test_events_are_sealed_once(self, bench: Workbench) -> None:
        assert bench.run(bench.store.seal()) == 0
        for text in "abc":
            bench.remember(text)
        assert bench.run(bench.store.seal()) == 3
        assert bench.run(bench.store.seal()) == 0
        bench.remember("d")
        assert bench.run(bench.store.seal()) == 1
        assert bench.problems() == []

    def test_seals_stay_sound_when_content_is_erased(self, bench: Workbench) -> None:
        gone = bench.remember("gone")
        bench.remember("kept")
        bench.do(Alter(bench.stamp(reason="why"), gone.id, (ANA,), {"tier": "long"}))
        bench.run(bench.store.seal())
        bench.erase(gone.id)
        bench.run(bench.store.seal())
        assert bench.problems() == []
