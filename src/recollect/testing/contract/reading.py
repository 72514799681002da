"""Reading: views of the present and the past, filters, listings and their cursors."""

from datetime import datetime
from typing import Any

import pytest

from recollect.domain import times
from recollect.domain.errors import InvalidCursor
from recollect.domain.filters import matches, parse
from recollect.domain.operations import Alter, Touch
from recollect.domain.queries import SORTS, Scan
from recollect.domain.records import MemoryRecord
from recollect.testing.contract.workbench import (
    ANA,
    BOB,
    EVERY_STATUS,
    FOREIGN,
    SHARED,
    SPACE,
    OnWorkbench,
    Workbench,
    packed,
    texts,
)

DAY = times.DAY
FILTERS: list[dict[Any, Any]] = [
    {"kind": "fact"},
    {"kind": {"ne": "fact"}},
    {"kind": {"in": ["fact", "episode"]}},
    {"kind": {"nin": ["fact"]}},
    {"kind": {"in": []}},
    {"kind": {"nin": []}},
    {"agent": None},
    {"agent": {"ne": None}},
    {"agent": {"ne": "scribe"}},
    {"agent": {"exists": True}},
    {"agent": {"exists": False}},
    {"agent": {"gt": "a"}},
    {"agent": {"contains": "cri"}},
    {"text": {"contains": "%"}},
    {"text": {"contains": "Ä"}},
    {"text": {"gte": "b"}},
    {"importance": {"gte": 0.5, "lt": 0.9}},
    {"importance": 1},
    {"priority": {"lte": 3}},
    {"priority": {"in": [None, 3]}},
    {"occurred_at": {"gt": "2026-01-15"}},
    {"occurred_at": {"exists": False}},
    {"created_at": {"lt": "2026-01-01T00:00:03"}},
    {"access_count": {"gte": 2}},
    {"access_count": 0},
    {"tags": "home"},
    {"tags": None},
    {"tags": {"contains": "home"}},
    {"tags": {"exists": True}},
    {"tags": {"ne": "home"}},
    {"tags": {"in": ["home", "ü"]}},
    {"metadata.n": 1},
    {"metadata.n": {"ne": 1}},
    {"metadata.n": {"gt": 0}},
    {"metadata.n": {"lt": "b"}},
    {"metadata.n": True},
    {"metadata.n": "1"},
    {"metadata.n": None},
    {"metadata.n": {"exists": True}},
    {"metadata.n": {"in": [1, "1"]}},
    {"metadata.list": {"contains": 2}},
    {"metadata.list": {"contains": None}},
    {"metadata.list": {"contains": True}},
    {"metadata.deep.key": "value"},
    {"metadata.deep": {"exists": True}},
    {"metadata.deep": "value"},
    {("metadata", 'odd ".key'): {"contains": "od"}},
    {"not": {"kind": "fact"}},
    {"not": {"metadata.n": 1}},
    {"or": [{"kind": "fact"}, {"priority": 3}, {"and": [{"agent": None}, {"tags": None}]}]},
    {"kind": "fact", "importance": {"gt": 0.5}},
]


class ReadingContract(OnWorkbench):
    """What a store must show, and in which order."""

    def some(self, bench: Workbench) -> list[MemoryRecord]:
        """Memories that differ in everything that filters and sorting look at."""
        given: list[dict[str, Any]] = [
            {"text": "a 100% sure", "kind": "fact", "importance": 1.0, "tags": ("home",)},
            {
                "text": "b",
                "kind": "episode",
                "agent": "scribe",
                "metadata": {"n": 1, "list": [1, 2]},
            },
            {"text": "c Ä", "priority": 3, "metadata": {"n": 1.0, "list": [True]}},
            {"text": "d", "metadata": {"n": True, 'odd ".key': "odd"}, "tags": ("home", "ü")},
            {"text": "e", "agent": "Scribe", "metadata": {"n": "1", "deep": {"key": "value"}}},
            {"text": "F", "occurred_at": self.day(20), "importance": 0.7, "metadata": {"n": None}},
            {"text": "g", "occurred_at": self.day(10), "priority": 0, "metadata": {"list": [None]}},
            {"text": "h", "kind": "fact", "importance": 0.7, "priority": 3, "tags": ("ü",)},
        ]
        made = [bench.remember(**fields) for fields in given]
        bench.do(Touch({made[1].id: 2, made[4].id: 5}, bench.now))
        bench.do(Alter(bench.stamp(), made[0].id, (ANA,), {"tier": "long"}))
        read = bench.run(bench.store.get([one.id for one in made], bench.view()))
        return [read[one.id] for one in made]

    @staticmethod
    def day(number: int) -> Any:
        """A day in January."""
        return times.show(times.parse(f"2026-01-{number:02}", field="day"))

    def test_a_filter_shows_what_it_means(self, bench: Workbench) -> None:
        everything = self.some(bench)
        for raw in FILTERS:
            where = parse(raw)
            assert where is not None
            view = bench.view(where=where)
            expected = [one.text for one in everything if matches(where, one)]
            assert bench.listed(view) == expected, raw
            assert bench.run(bench.store.count(view)) == len(expected), raw
            assert bench.search("sure", view=view).total == len(expected), raw

    @pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
    @pytest.mark.parametrize("sort", SORTS)
    def test_listings_are_sorted_with_missing_values_last(
        self, bench: Workbench, sort: str, descending: bool
    ) -> None:
        written = dict(enumerate(self.some(bench)))

        def rank(number: int) -> tuple[Any, ...]:
            value: Any = 0 if sort == "created_at" else getattr(written[number], sort)
            if isinstance(value, datetime):
                value = value.timestamp()
            sign = -1 if descending else 1
            return value is None, sign * (value or 0), sign * number

        expected = [written[number].text for number in sorted(written, key=rank)]
        assert bench.listed(sort=sort, descending=descending) == expected
        assert self.paged(bench, sort=sort, descending=descending) == expected

    def paged(self, bench: Workbench, **parts: Any) -> list[str]:
        """The same listing, three at a time."""
        seen: list[str] = []
        cursor: str | None = None
        while True:
            scan = Scan(bench.view(), 3, cursor=cursor, **parts)
            page = bench.run(bench.store.scan(scan))
            seen += texts(page)
            cursor = page.cursor
            if cursor is None:
                return seen

    def test_pages_skip_and_repeat_nothing_while_memories_come_and_go(
        self, bench: Workbench
    ) -> None:
        made = [bench.remember(text) for text in "abcdef"]
        first = bench.run(bench.store.scan(Scan(bench.view(), 3, descending=False)))
        bench.erase(made[2].id, made[3].id)
        bench.remember("g")
        rest = bench.run(
            bench.store.scan(Scan(bench.view(), 9, descending=False, cursor=first.cursor))
        )
        assert (texts(first), texts(rest)) == (["a", "b", "c"], ["e", "f", "g"])

    @pytest.mark.parametrize("cursor", ["", "nonsense", "x" * 500, "é", "bnVsbA", "WzEsMiwzXQ"])
    def test_an_invented_cursor_is_refused(self, bench: Workbench, cursor: str) -> None:
        with pytest.raises(InvalidCursor):
            bench.run(bench.store.scan(Scan(bench.view(), 3, cursor=cursor)))

    def test_a_cursor_of_another_order_is_refused(self, bench: Workbench) -> None:
        self.some(bench)
        page = bench.run(bench.store.scan(Scan(bench.view(), 2, sort="importance")))
        with pytest.raises(InvalidCursor, match="another order"):
            bench.run(bench.store.scan(Scan(bench.view(), 2, sort="priority", cursor=page.cursor)))

    def test_a_view_shows_its_places_and_no_other(self, bench: Workbench) -> None:
        for place in (ANA, BOB, SHARED, FOREIGN):
            bench.remember(f"of {place.tenant} {place.kind} {place.name}", place)
        assert bench.listed(bench.view(ANA)) == ["of local user ana"]
        assert len(bench.listed(bench.view(ANA, SHARED))) == 2
        assert bench.listed(bench.view(FOREIGN)) == ["of elsewhere user ana"]
        assert bench.run(bench.store.places("local")) == [ANA, BOB, SHARED]
        assert bench.run(bench.store.places("elsewhere")) == [FOREIGN]
        assert set(bench.run(bench.store.places(None))) == {ANA, BOB, SHARED, FOREIGN}

    def test_a_view_may_name_a_session_an_agent_and_statuses(self, bench: Workbench) -> None:
        bench.remember("a", session="s", agent="x")
        bench.remember("b", agent="x")
        bench.remember("c", session="s", status="archived")
        assert bench.listed(bench.view(session="s")) == ["a"]
        assert bench.listed(bench.view(agent="x")) == ["a", "b"]
        assert bench.listed(bench.view(session="s", statuses=EVERY_STATUS)) == ["a", "c"]
        assert bench.listed(bench.view(statuses=("archived",))) == ["c"]

    def test_the_present_leaves_out_what_is_over(self, bench: Workbench) -> None:
        now = bench.now
        bench.remember("expires", expires_at=times.show(now + DAY))
        bench.remember("ends", valid_to=times.show(now + DAY))
        bench.remember("ended, known as such", valid_to=times.show(now + DAY), status="superseded")
        assert bench.listed(bench.view(now=now + DAY - 1)) == ["expires", "ends"]
        assert bench.listed(bench.view(now=now + DAY)) == []
        everything = bench.view(now=now + DAY, statuses=EVERY_STATUS)
        assert bench.listed(everything) == ["ended, known as such"]
        assert bench.run(bench.store.count(everything)) == 1
        assert bench.search("ends", view=everything).total == 1

    def test_a_memory_is_got_whatever_its_status(self, bench: Workbench) -> None:
        archived = bench.remember("x", status="archived", expires_at=times.show(bench.now))
        assert bench.get(archived.id) == archived
        assert bench.get(archived.id, BOB, SHARED) is None
        assert bench.get(bench.id()) is None

    def test_the_past_is_read_in_the_words_of_then(self, bench: Workbench) -> None:
        stored = bench.remember("first words")
        first = bench.now
        entry = bench.entry("second words")
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"text": "second words"}, {}, entry))
        second = bench.now
        for moment, expected in [
            (first - 1, []),
            (first, ["first words"]),
            (second, ["second words"]),
        ]:
            view = bench.view(as_of=moment, known_at=moment)
            assert bench.listed(view) == expected
            assert bench.run(bench.store.count(view)) == len(expected)
            got = bench.get(stored.id, as_of=moment, known_at=moment)
            assert ([] if got is None else [got.text]) == expected
            assert list(bench.found(bench.search("words", view=view))) == expected

    def test_what_was_learned_later_counts_unless_it_could_not_be_known(
        self, bench: Workbench
    ) -> None:
        bench.remember("known", occurred_at=self.day(1))
        moment = bench.now
        late = bench.remember("learned later", occurred_at=self.day(1))
        assert bench.listed(bench.view(as_of=moment)) == ["known", "learned later"]
        assert bench.listed(bench.view(as_of=moment, known_at=moment)) == ["known"]
        assert bench.get(late.id, as_of=moment) == late
        assert bench.get(late.id, as_of=moment, known_at=moment) is None

    def test_the_past_shows_what_was_true_at_the_moment(self, bench: Workbench) -> None:
        bench.remember("spring", valid_from=self.day(1), valid_to=self.day(10))
        bench.remember("summer", valid_from=self.day(10))
        times_of = [times.to_micros(self.day(number)) for number in (5, 10)]
        shown = [bench.listed(bench.view(as_of=moment)) for moment in times_of]
        assert shown == [["spring"], ["summer"]]

    def test_an_ending_that_was_learned_later_counts_unless_it_could_not_be_known(
        self, bench: Workbench
    ) -> None:
        stored = bench.remember("lives in Lisbon", occurred_at=self.day(1))
        moment = bench.now
        ended = times.show(moment)
        bench.do(Alter(bench.stamp(), stored.id, (ANA,), {"valid_to": ended, "tier": "long"}))
        for view, expected in [
            (bench.view(as_of=moment), []),
            (bench.view(as_of=moment - 1, known_at=moment), ["lives in Lisbon"]),
            (bench.view(as_of=moment, known_at=moment), ["lives in Lisbon"]),
        ]:
            assert bench.listed(view) == expected
            assert bench.run(bench.store.count(view)) == len(expected)
            assert list(bench.found(bench.search("Lisbon", view=view))) == expected

    def test_a_listing_of_the_past_has_pages_too(self, bench: Workbench) -> None:
        made = [bench.remember(text) for text in "abcde"]
        moment = bench.now
        for one in made[::2]:
            bench.do(Alter(bench.stamp(), one.id, (ANA,), {"status": "archived"}))
        view = bench.view(as_of=moment)
        first = bench.run(bench.store.scan(Scan(view, 3)))
        rest = bench.run(bench.store.scan(Scan(view, 3, cursor=first.cursor)))
        assert texts(first) + texts(rest) == list("edcba")

    def test_entries_come_in_order_of_writing_from_a_handle_on(self, bench: Workbench) -> None:
        for text in "abc":
            bench.remember(text)
        first = bench.run(bench.store.entries(bench.view(), 0, 2))
        rest = bench.run(bench.store.entries(bench.view(), first[-1][0], 2))
        assert [record.text for _, record in [*first, *rest]] == list("abc")
        assert bench.run(bench.store.entries(bench.view(), rest[-1][0], 2)) == []

    def test_vectors_are_read_by_handle_and_space(self, bench: Workbench) -> None:
        near, bare = bench.remember("near", vector=[3, 4, 0]), bench.remember("bare")
        entries = bench.run(bench.store.entries(bench.view(), 0, 9))
        handles = {record.id: handle for handle, record in entries}
        asked = [*handles.values(), 10**9]
        found = bench.run(bench.store.vectors(asked, SPACE))
        assert found == {handles[near.id]: packed([3, 4, 0])}
        assert handles[bare.id] not in found
        assert bench.run(bench.store.vectors(asked, "elsewhere")) == {}

    def test_counts_tell_what_a_tenant_holds(self, bench: Workbench) -> None:
        bench.remember("a", kind="fact", vector=[1, 0, 0])
        bench.remember("b", SHARED, status="archived", tier="long")
        bench.remember("c", FOREIGN)
        stats = bench.run(bench.store.stats("local"))
        assert stats["memories"] == 2
        assert stats["by_place"] == {"shared": 1, "user": 1}
        assert stats["by_kind"] == {"fact": 1, "general": 1}
        assert stats["by_tier"] == {"long": 1, "short": 1}
        assert stats["by_status"] == {"active": 1, "archived": 1}
        assert (stats["places"], stats["vectors"], stats["jobs"]) == (2, 1, 0)
