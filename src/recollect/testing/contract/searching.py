"""Searching: which candidates are found, and the raw values that ranking computes with."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from recollect.domain import times
from recollect.domain.operations import Alter, Enqueue
from recollect.domain.queries import Search
from recollect.testing.contract.workbench import (
    ANA,
    BOB,
    FOREIGN,
    SHARED,
    SPACE,
    OnWorkbench,
    Workbench,
    packed,
    silent,
)


class SearchingContract(OnWorkbench):
    """What a store must find."""

    def test_candidates_carry_what_words_are_ranked_by(self, bench: Workbench) -> None:
        bench.remember("tea tea milk")
        bench.remember("milk and honey")
        bench.remember("bread")
        found = bench.search("tea", "milk", "wine")
        lines = bench.found(found)
        assert sorted(lines) == ["milk and honey", "tea tea milk"]
        counts = {text: found.counts[line].tolist() for text, line in lines.items()}
        assert counts == {"tea tea milk": [2, 1, 0], "milk and honey": [0, 1, 0]}
        assert {t: found.lengths[line] for t, line in lines.items()} == {
            "tea tea milk": 3,
            "milk and honey": 3,
        }
        assert found.holding == (1, 2, 0)
        assert found.total == 3
        assert found.mean_length == pytest.approx(7 / 3)
        assert found.similarity is None

    def test_statistics_are_of_what_the_view_shows(self, bench: Workbench) -> None:
        bench.remember("tea", agent="x")
        before = bench.search("tea")
        for place in (BOB, FOREIGN, SHARED):
            bench.remember("tea tea tea", place, vector=[1, 0, 0])
        bench.remember("tea", status="archived")
        bench.remember("tea", expires_at=times.show(bench.now))
        after = bench.search("tea")
        for name in ("total", "mean_length", "holding", "similarity_mean", "similarity_spread"):
            assert getattr(after, name) == getattr(before, name), name
        assert bench.search("tea", view=bench.view(ANA, SHARED)).holding == (2,)
        bench.remember("tea", agent="y")
        assert bench.search("tea", view=bench.view(agent="x")).holding == (1,)

    def test_a_memory_is_found_by_its_present_words(self, bench: Workbench) -> None:
        stored = bench.remember("tea")
        assert bench.search("tea").keys.size == 1
        entry = bench.entry("coffee")
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"text": "coffee"}, {}, entry))
        assert bench.search("tea").holding == (0,)
        assert bench.found(bench.search("coffee")) == {"coffee": 0}

    def test_what_is_archived_is_not_found_and_comes_back(self, bench: Workbench) -> None:
        stored = bench.remember("tea")
        assert bench.search("tea").keys.size == 1
        for status, size in [("archived", 0), ("active", 1)]:
            bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"status": status}))
            assert bench.search("tea").keys.size == size

    def test_vectors_are_compared_exactly(self, bench: Workbench) -> None:
        given = {"near": [0.9, 0.1, 0.05], "far": [-1.0, 0.3, 0.0], "beside": [0.0, 1.0, 0.0]}
        for text, vector in given.items():
            bench.remember(text, vector=vector)
        bench.remember("no vector, but the word tea")
        question = [1.0, 0.02, 0.01]
        found = bench.search("tea", vector=question)
        assert found.similarity is not None
        lines = bench.found(found)
        unit = {text: np.array(v) / np.linalg.norm(v) for text, v in given.items()}
        exact = {
            t: float(v @ (np.array(question) / np.linalg.norm(question))) for t, v in unit.items()
        }
        for text, cosine in exact.items():
            assert found.similarity[lines[text]] == pytest.approx(cosine, abs=1e-6)
        assert np.isnan(found.similarity[lines["no vector, but the word tea"]])
        cosines = list(exact.values())
        assert found.similarity_mean == pytest.approx(np.mean(cosines), abs=0.01)
        assert found.similarity_spread == pytest.approx(np.std(cosines), abs=0.01)
        assert found.total == 4

    def test_only_the_nearest_join_those_that_hold_a_word(self, bench: Workbench) -> None:
        for number in range(8):
            bench.remember(f"angle {number}", vector=[1.0, number / 4, 0.0])
        search = Search(bench.view(), (), packed([1, 0, 0]), SPACE, breadth=3)
        found = bench.found(bench.run(bench.store.candidates(search)))
        assert sorted(found) == ["angle 0", "angle 1", "angle 2"]
        worded = replace(search, terms=(bench.number("7"),))
        found = bench.found(bench.run(bench.store.candidates(worded)))
        assert sorted(found) == ["angle 0", "angle 1", "angle 2", "angle 7"]

    def test_kinds_that_are_always_wanted_join(self, bench: Workbench) -> None:
        bench.remember("answer in verse", kind="instruction")
        bench.remember("no nuts", kind="preference", status="archived")
        bench.remember("not in Bob's", BOB, kind="instruction")
        bench.remember("bread")
        wanted = ("instruction", "preference", "unheard of")
        search = Search(bench.view(), (bench.number("tea"),), always=wanted)
        found = bench.run(bench.store.candidates(search))
        assert bench.found(found) == {"answer in verse": 0}
        assert found.counts.tolist() == [[0]]
        assert (found.total, found.holding) == (2, (0,))

    def test_what_happened_in_a_time_joins_the_latest_first(self, bench: Workbench) -> None:
        for day in (1, 2, 3, 4):
            bench.remember(f"day {day}", occurred_at=datetime(2026, 1, day, tzinfo=UTC))
        bench.remember("not Bob's", BOB, occurred_at=datetime(2026, 1, 2, tzinfo=UTC))
        first, last = (times.to_micros(datetime(2026, 1, day, tzinfo=UTC)) for day in (2, 4))
        search = Search(bench.view(), (bench.number("tea"),), during=((first, last),))
        found = bench.run(bench.store.candidates(search))
        assert set(bench.found(found)) == {"day 2", "day 3"}
        latest = bench.run(bench.store.candidates(replace(search, breadth=1)))
        assert set(bench.found(latest)) == {"day 3"}

    def test_vectors_of_another_space_are_not_compared(self, bench: Workbench) -> None:
        bench.remember("tea", vector=[1, 0, 0])
        for space, vector in [("other", [1, 0, 0]), (SPACE, [1, 0])]:
            search = Search(bench.view(), (bench.number("tea"),), packed(vector), space)
            found = bench.run(bench.store.candidates(search))
            assert found.similarity is not None
            assert np.isnan(found.similarity).tolist() == [True]

    def test_the_vector_of_former_words_is_gone_with_them(self, bench: Workbench) -> None:
        stored = bench.remember("tea", vector=[1, 0, 0])
        assert bench.search(vector=[1, 0, 0]).keys.size == 1
        entry = bench.entry("coffee")
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"text": "coffee"}, {}, entry))
        assert bench.search(vector=[1, 0, 0]).keys.size == 0
        again = bench.entry("cocoa", [0, 1, 0])
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"text": "cocoa"}, {}, again))
        found = bench.search(vector=[0, 1, 0])
        assert found.similarity is not None
        assert found.similarity.tolist() == pytest.approx([1.0])

    def test_a_search_in_the_past_finds_former_words(self, bench: Workbench) -> None:
        bench.remember("tea")
        stored = bench.remember("tea and milk")
        moment = bench.now
        entry = bench.entry("coffee")
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"text": "coffee"}, {}, entry))
        found = bench.search("milk", "tea", view=bench.view(as_of=moment))
        lines = bench.found(found)
        assert sorted(lines) == ["tea", "tea and milk"]
        assert found.counts[lines["tea and milk"]].tolist() == [1, 1]
        assert (found.total, found.holding, found.mean_length) == (2, (1, 2), 2)
        assert bench.search("coffee", view=bench.view(as_of=moment)).keys.size == 0

    def test_what_was_erased_meanwhile_is_not_loaded(self, bench: Workbench) -> None:
        gone, kept = bench.remember("tea gone"), bench.remember("tea kept")
        found = bench.search("tea")
        bench.erase(gone.id)
        loaded = bench.run(bench.store.load(found.keys.tolist()))
        assert list(loaded.values()) == [kept]
        assert bench.found(bench.search("tea")) == {"tea kept": 0}

    def test_nothing_is_found_where_nothing_is(self, bench: Workbench) -> None:
        found = bench.search("tea", vector=[1, 0, 0])
        assert (found.total, found.keys.size, found.holding) == (0, 0, (0,))
        assert found.counts.shape == (0, 1)

    def test_a_rebuilt_index_finds_the_same(self, bench: Workbench) -> None:
        for text in ("tea and milk", "milk", "bread"):
            bench.remember(text, vector=[len(text), 1, 0])
        before = bench.search("milk", "tea", vector=[1, 0, 0])
        done = bench.run(bench.store.rebuild(lambda text: bench.entry(text).terms, silent))
        after = bench.search("milk", "tea", vector=[1, 0, 0])
        assert done == 3
        assert bench.found(after).keys() == bench.found(before).keys()
        assert (after.total, after.holding) == (before.total, before.holding)
        assert after.mean_length == before.mean_length
        assert after.similarity == pytest.approx(before.similarity)

    def test_a_write_is_found_by_the_next_search(self, bench: Workbench) -> None:
        for number in range(40):
            bench.apply(
                bench.remembering(bench.record(f"tea {number}")),
                Enqueue(bench.now, "work", {}, ANA),
            )
            assert bench.search("tea").holding == (number + 1,)
