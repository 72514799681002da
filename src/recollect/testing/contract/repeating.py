"""Saying a thing again: one memory, stronger, in one transaction; nothing that is new is lost."""

from dataclasses import replace
from typing import Any

import pytest

from recollect.domain import times
from recollect.domain.errors import NotFound
from recollect.domain.operations import Alter, Once, Remember, Repeated
from recollect.domain.records import MemoryRecord
from recollect.domain.sameness import mark_of
from recollect.domain.scopes import Place
from recollect.testing.contract.workbench import ANA, BOB, OnWorkbench, Workbench


def saying(bench: Workbench, text: str, place: Place = ANA, **fields: Any) -> Remember:
    """A write that strengthens what says the same already."""
    record = bench.record(text, place, **fields)
    mark = mark_of(record)
    op = bench.remembering(record)
    marks = () if mark is None else (mark,)
    return replace(op, entry=replace(op.entry, marks=marks), strengthen=1.5)


class RepeatingContract(OnWorkbench):
    """What a store must do about memories that are said again."""

    def test_what_is_said_again_is_stored_once_and_stronger(self, bench: Workbench) -> None:
        first: MemoryRecord = bench.do(saying(bench, "I like tea.", importance=0.5))
        again = bench.do(saying(bench, "i like  TEA", importance=0.5))
        assert isinstance(again, Repeated)
        assert again.record == bench.get(first.id)
        assert again.record.reinforcements == 1
        assert again.record.importance == 0.75
        assert again.record.reinforced_at == times.show(bench.now)
        assert bench.do(saying(bench, "I like tea.")).record.importance == 1.0
        assert bench.listed() == ["I like tea."]
        assert [one.event.action for one in bench.changes()] == ["remember", *["reinforce"] * 2]
        assert bench.problems() == []

    def test_it_is_noticed_within_one_batch(self, bench: Workbench) -> None:
        said = ("a", "b", "A", "c", "b.")
        answers = bench.apply(*(saying(bench, text) for text in said))
        assert [isinstance(one, Repeated) for one in answers] == [False, False, True, False, True]
        assert bench.listed() == ["a", "b", "c"]
        assert answers[2].record.id == answers[0].id

    def test_a_failed_batch_strengthens_nothing(self, bench: Workbench) -> None:
        first = bench.do(saying(bench, "a"))
        lost = replace(saying(bench, "c"), record=bench.record("c", parent=bench.id()))
        bench.apply(saying(bench, "b"), lost, saying(bench, "b"), atomic=False)
        assert bench.listed() == ["a", "b"]
        assert bench.get(first.id) == first

    def test_what_says_more_is_another_memory(self, bench: Workbench) -> None:
        bench.do(saying(bench, "tea", trust="limited"))
        later = times.show(bench.now)
        more: list[dict[str, Any]] = [
            {"trust": "trusted"},
            {"kind": "fact"},
            {"tags": ("drinks",)},
            {"metadata": {"n": 1}},
            {"occurred_at": later},
            {"expires_at": later},
            {"session": "s"},
            {"agent": "scribe"},
            {"tier": "long"},
            {"speaker": "Zoë"},
            {"status": "quarantined"},
        ]
        for fields in more:
            told = bench.do(saying(bench, "tea", ANA, **{"trust": "limited", **fields}))
            assert isinstance(told, MemoryRecord), fields

    def test_messages_and_items_are_never_merged(self, bench: Workbench) -> None:
        for _ in range(2):
            bench.do(saying(bench, "hi", kind="interaction", role="user", session="s"))
        bench.do(saying(bench, "note", item_key="a"))
        bench.do(saying(bench, "note", item_key="b"))
        assert bench.listed() == ["hi", "hi", "note", "note"]

    def test_people_do_not_repeat_each_other(self, bench: Workbench) -> None:
        for place in (ANA, BOB):
            bench.do(saying(bench, "tea", place))
        assert bench.listed(bench.view(ANA, BOB)) == ["tea", "tea"]

    def test_what_is_no_longer_said_is_said_anew(self, bench: Workbench) -> None:
        gone = bench.do(saying(bench, "tea"))
        bench.do(Alter(bench.stamp(), gone.id, (ANA,), {"status": "superseded"}))
        changed = bench.do(saying(bench, "tea"))
        assert changed.id != gone.id
        entry = bench.entry("milk")
        bench.do(Alter(bench.stamp(), changed.id, (ANA,), {"text": "milk"}, entry=entry))
        assert isinstance(bench.do(saying(bench, "tea")), MemoryRecord)
        assert sorted(bench.listed()) == ["milk", "tea"]

    def test_what_was_erased_is_said_anew(self, bench: Workbench) -> None:
        gone = bench.do(saying(bench, "tea"))
        assert bench.erase(gone.id)["marks"] == 1
        assert isinstance(bench.do(saying(bench, "tea")), MemoryRecord)
        assert bench.listed() == ["tea"]
        assert bench.problems() == []

    def test_a_key_of_a_repetition_answers_with_the_memory_that_was_there(
        self, bench: Workbench
    ) -> None:
        first = bench.do(saying(bench, "tea"))
        keyed = replace(saying(bench, "tea"), once=Once("k", b"b"))
        assert bench.do(keyed).record.id == first.id
        assert bench.do(replace(keyed, record=bench.record("tea"))).id == first.id
        assert bench.get(first.id).reinforcements == 1  # type: ignore[union-attr]

    def test_active_memories_are_found_by_their_marks_newest_first(self, bench: Workbench) -> None:
        made = [bench.record(text) for text in ("a", "b", "c", "d")]
        ops = [bench.remembering(one) for one in made]
        for number, op in enumerate(ops):
            bench.do(replace(op, entry=replace(op.entry, marks=(number, 7))))
        foreign = bench.remembering(bench.record("e", BOB))
        bench.do(replace(foreign, entry=replace(foreign.entry, marks=(7,))))
        bench.do(Alter(bench.stamp(), made[1].id, (ANA,), {"status": "archived"}))
        bench.do(Alter(bench.stamp(), made[2].id, (ANA,), {"text": "C"}, entry=bench.entry("C")))
        found = bench.run(bench.store.marked(ANA, (7, 0, 99)))
        assert [one.text for one in found] == ["d", "a"]
        assert bench.run(bench.store.marked(replace(ANA, name="nobody"), (7,))) == []

    def test_a_successor_exists_in_the_same_place(self, bench: Workbench) -> None:
        old, foreign = bench.remember("old"), bench.remember("foreign", BOB)
        for id in (foreign.id, bench.id()):
            with pytest.raises(NotFound, match=f"{id}.*superseded_by"):
                bench.do(Alter(bench.stamp(), old.id, (ANA,), {"superseded_by": id}))
        assert bench.get(old.id) == old
