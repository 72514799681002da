"""Jobs, and the store as a thing that is opened, copied and closed."""

from dataclasses import replace

import pytest

from recollect.domain import times
from recollect.domain.errors import ClosedError, LeaseLost, NotFound
from recollect.domain.jobs import Job, JobQuery, JobState, Queue, Record
from recollect.domain.operations import (
    BuryJob,
    Enqueue,
    FinishJob,
    RenewJob,
    RetryJob,
    ReviveJob,
)
from recollect.testing.contract.workbench import ANA, BOB, OnWorkbench, Workbench

LEASE = 10 * times.SECOND


def claim(bench: Workbench, *kinds: str) -> list[Job]:
    """Whatever can be claimed now."""
    return bench.run(bench.store.claim_jobs(kinds, 9, now=bench.now, lease_us=LEASE))


def claimed(bench: Workbench, kind: str) -> Job:
    """The one job that is claimed next."""
    (job,) = bench.run(bench.store.claim_jobs([kind], 1, now=bench.now, lease_us=LEASE))
    return job


class WorkingContract(OnWorkbench):
    """What a store must do about work that waits, and about its own end."""

    def test_due_jobs_are_leased_in_order(self, bench: Workbench) -> None:
        stored = bench.remember("text")
        at = bench.now
        payload = {"list": [1]}
        later = Enqueue(at, "embed", payload, ANA, stored.id, run_at=at + 5)
        numbers = bench.apply(later, Enqueue(at, "embed", {}, ANA), Enqueue(at, "other", {}, BOB))
        payload["list"].append(2)
        assert numbers == sorted(set(numbers))
        claim = bench.store.claim_jobs
        (job,) = bench.run(claim(["embed", "unknown"], 9, now=at, lease_us=LEASE))
        assert (job.number, job.kind, job.place, job.memory) == (numbers[1], "embed", ANA, None)
        assert (job.attempt, job.leased_until) == (1, at + LEASE)
        (job,) = bench.run(claim(["embed", "other"], 1, now=at + 5, lease_us=LEASE))
        assert job.kind == "other"
        (job,) = bench.run(claim(["embed"], 9, now=at + 5, lease_us=LEASE))
        assert (job.memory, job.payload) == (stored.id, {"list": [1]})

    def test_a_late_holder_of_a_job_is_fenced_off_with_all_it_wanted_to_write(
        self, bench: Workbench
    ) -> None:
        number = bench.do(Enqueue(bench.now, "work", {}, ANA))
        late = claimed(bench, "work")
        bench.now = late.leased_until - 1
        assert claim(bench, "work") == []
        bench.now += 1
        next_holder = claimed(bench, "work")
        assert (next_holder.attempt, next_holder.tries) == (late.attempt + 1, late.tries + 1)
        effect = bench.remembering(bench.record("twice"))
        for end in (
            FinishJob(number, late.attempt, bench.now),
            RetryJob(number, late.attempt, bench.now, bench.now, "error"),
            RetryJob(number, late.attempt, bench.now, bench.now),
            BuryJob(number, late.attempt, bench.now, "error"),
            RenewJob(number, late.attempt, bench.now + LEASE),
        ):
            for both in ([effect, end], [end, effect]):
                with pytest.raises(LeaseLost):
                    bench.apply(*both)
        assert bench.listed() == []
        done = FinishJob(number, next_holder.attempt, bench.now)
        bench.apply(done, bench.remembering(bench.record("once")))
        with pytest.raises(LeaseLost):
            bench.apply(done, bench.remembering(bench.record("once more")))
        assert bench.listed() == ["once"]
        bench.now += 9 * LEASE
        assert claim(bench, "work") == []

    def test_who_renews_a_lease_keeps_the_job(self, bench: Workbench) -> None:
        number = bench.do(Enqueue(bench.now, "work", {}, None))
        held = claimed(bench, "work")
        assert held.place is None
        bench.do(RenewJob(number, held.attempt, held.leased_until + LEASE))
        bench.now = held.leased_until
        assert claim(bench, "work") == []
        bench.now += LEASE
        assert claimed(bench, "work").number == number

    def test_a_job_that_failed_waits_and_one_that_was_given_back_does_not_count(
        self, bench: Workbench
    ) -> None:
        number = bench.do(Enqueue(bench.now, "work", {}, ANA))
        held = claimed(bench, "work")
        bench.do(RetryJob(number, held.attempt, bench.now, bench.now + 5, "error"))
        assert claim(bench, "work") == []
        (listed,) = bench.run(bench.store.jobs(JobQuery(bench.now)))
        assert (listed.state, listed.reason, listed.tries) == ("waiting", "error", 1)
        bench.now += 5
        held = claimed(bench, "work")
        assert (held.attempt, held.tries) == (2, 2)
        bench.do(RetryJob(number, held.attempt, bench.now, bench.now))
        assert (claimed(bench, "work").tries, held.tries) == (2, 2)

    def test_a_dead_job_stays_with_its_reason_until_it_is_tried_again_by_hand(
        self, bench: Workbench
    ) -> None:
        number = bench.do(Enqueue(bench.now, "work", {"a": 1}, ANA))
        held = claimed(bench, "work")
        bench.do(BuryJob(number, held.attempt, bench.now, "error"))
        bench.now += LEASE
        assert claim(bench, "work") == []
        (dead,) = bench.run(bench.store.jobs(JobQuery(bench.now, JobState.DEAD)))
        assert (dead.number, dead.reason, dead.state) == (number, "error", "dead")
        assert bench.run(bench.store.jobs(JobQuery(bench.now, JobState.WAITING))) == []
        bench.do(ReviveJob(number, bench.now))
        with pytest.raises(NotFound):
            bench.do(ReviveJob(number, bench.now))
        again = claimed(bench, "work")
        assert (again.attempt, again.tries, again.payload) == (2, 1, {"a": 1})

    def test_the_highest_priority_is_claimed_first_then_what_is_due_for_longest(
        self, bench: Workbench
    ) -> None:
        at = bench.now
        low, high = Enqueue(at, "work", {}, ANA), Enqueue(at, "work", {}, ANA, priority=5)
        late, early, first, _ = bench.apply(
            low, replace(low, run_at=at - 9), high, replace(high, run_at=at + 9)
        )
        assert [job.number for job in claim(bench, "work")] == [first, early, late]

    def test_of_a_kind_that_runs_alone_one_runs_in_each_place(self, bench: Workbench) -> None:
        one = Enqueue(bench.now, "work", {}, ANA, alone=True)
        ana, ana_too, bob, other = bench.apply(
            one, one, replace(one, place=BOB), replace(one, kind="other")
        )
        assert [job.number for job in claim(bench, "work", "other")] == [ana, bob, other]
        bench.do(FinishJob(ana, 1, bench.now))
        assert claimed(bench, "work").number == ana_too

    def test_a_job_that_waits_for_a_retry_blocks_none_of_its_kind(self, bench: Workbench) -> None:
        one = Enqueue(bench.now, "work", {}, ANA, alone=True)
        first, second = bench.apply(one, one)
        held = claimed(bench, "work")
        bench.do(RetryJob(first, held.attempt, bench.now, bench.now + LEASE, "error"))
        assert claimed(bench, "work").number == second

    def test_a_unique_job_waits_once(self, bench: Workbench) -> None:
        stored = bench.remember("text")
        one = Enqueue(bench.now, "work", {}, ANA, unique=True)
        first, *others = bench.apply(
            one, one, replace(one, memory=stored.id), replace(one, place=None)
        )
        assert others[0] is None
        assert None not in others[1:]
        assert claimed(bench, "work").number == first
        assert bench.do(one) is not None  # what is new since the other began
        assert bench.do(one) is None

    def test_the_queue_says_what_waits_and_what_was_done(self, bench: Workbench) -> None:
        empty = bench.run(bench.store.queue(bench.now))
        assert empty == Queue()
        at = bench.now
        one = Enqueue(at - 7, "work", {}, ANA)
        first, second, *_ = bench.apply(
            one, one, replace(one, run_at=at + 9), Enqueue(at, "other", {}, None, run_at=at + 5)
        )
        bench.do(FinishJob(first, claimed(bench, "work").attempt, at))
        bench.do(RetryJob(second, claimed(bench, "work").attempt, at, at - 3, "error"))
        told = bench.run(bench.store.queue(at))
        assert (told.waiting, told.running, told.dead, told.due) == (3, 0, 0, 1)
        assert told.due_since == told.next_at == times.show(at - 3)
        assert told.next_by_kind == {"other": times.show(at + 5), "work": times.show(at - 3)}
        moment = times.show(at)
        assert told.records == {"work": Record(1, 1, moment, moment, "error")}
        bench.do(BuryJob(second, claimed(bench, "work").attempt, at + 1, "worse"))
        told = bench.run(bench.store.queue(at))
        assert (told.waiting, told.dead, told.due, told.due_since) == (2, 1, 0, None)
        assert told.records["work"].reason == "worse"
        assert bench.problems() == []

    def test_jobs_are_listed_in_pages(self, bench: Workbench) -> None:
        numbers = bench.apply(*[Enqueue(bench.now, "work", {}, ANA) for _ in range(5)])
        page = bench.run(bench.store.jobs(JobQuery(bench.now, after=numbers[1], limit=2)))
        assert [job.number for job in page] == numbers[2:4]
        asked = JobQuery(bench.now, kinds=("other",))
        assert bench.run(bench.store.jobs(asked)) == []

    def test_a_job_is_about_a_memory_of_its_place(self, bench: Workbench) -> None:
        foreign = bench.remember("foreign", BOB)
        assert bench.do(Enqueue(bench.now, "work", {}, ANA, foreign.id)) is None
        assert bench.run(bench.store.stats("local"))["jobs"] == 0
        assert bench.do(Enqueue(bench.now, "work", {}, None, foreign.id)) is None

    def test_a_closed_store_says_so(self, bench: Workbench) -> None:
        bench.remember("text")
        bench.run(bench.store.close())
        bench.run(bench.store.close())
        with pytest.raises(ClosedError):
            bench.listed()
        with pytest.raises(ClosedError):
            bench.remember("more")
        with pytest.raises(ClosedError):
            bench.run(bench.store.claim_jobs(["work"], 1, now=0, lease_us=1))

    def test_a_store_says_how_much_room_it_has_if_it_can_tell(self, bench: Workbench) -> None:
        room = bench.run(bench.store.room())
        assert room is None or room > 0

    def test_a_sound_store_verifies_and_scrubs(self, bench: Workbench) -> None:
        stored = bench.remember("text", vector=[1, 0, 0])
        bench.erase(stored.id)
        assert bench.run(bench.store.scrub()) is True
        assert bench.problems() == []
