"""Jobs, and the store as a thing that is opened, copied and closed."""

import pytest

from recollect.domain import times
from recollect.domain.errors import ClosedError
from recollect.domain.operations import Enqueue
from recollect.testing.contract.workbench import ANA, BOB, OnWorkbench, Workbench

LEASE = 10 * times.SECOND


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

    def test_a_late_holder_of_a_job_is_fenced_off(self, bench: Workbench) -> None:
        at = bench.now
        bench.do(Enqueue(at, "work", {}, ANA))
        claim = bench.store.claim_jobs
        (late,) = bench.run(claim(["work"], 9, now=at, lease_us=LEASE))
        assert bench.run(claim(["work"], 9, now=at + LEASE - 1, lease_us=LEASE)) == []
        (next_holder,) = bench.run(claim(["work"], 9, now=at + LEASE, lease_us=LEASE))
        assert next_holder.attempt == late.attempt + 1
        assert bench.run(bench.store.finish_job(late)) is False
        assert bench.run(bench.store.finish_job(next_holder)) is True
        assert bench.run(bench.store.finish_job(next_holder)) is False
        assert bench.run(claim(["work"], 9, now=at + 9 * LEASE, lease_us=LEASE)) == []

    def test_a_job_is_about_a_memory_of_its_place(self, bench: Workbench) -> None:
        foreign = bench.remember("foreign", BOB)
        assert bench.do(Enqueue(bench.now, "work", {}, ANA, foreign.id)) is None
        assert bench.run(bench.store.stats("local"))["jobs"] == 0

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

    def test_a_sound_store_verifies_and_scrubs(self, bench: Workbench) -> None:
        stored = bench.remember("text", vector=[1, 0, 0])
        bench.erase(stored.id)
        assert bench.run(bench.store.scrub()) is True
        assert bench.problems() == []
