"""4.11: a profile past its limit is summarised, with the originals kept, and can be reset."""

from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.domain.distilling import SUMMARY_CHARS_MAX, shortened
from recollect.domain.errors import ProviderError, ValidationError
from recollect.testing import ScriptedChat
from tests.faces import FACES, opened

pytestmark = pytest.mark.acceptance("4.11")

SHORT = "Ana is a nurse in Porto who is learning German and struggles with cases."


def fill(ana: Memory) -> None:
    ana.profile("personal_info").merge({"name": "Ana", "job": {"title": "nurse", "city": "Porto"}})
    for number in range(30):
        ana.items("area_to_improve").create(f"k{number}", f"Struggles with topic number {number}.")
    ana.remember("Ana is allergic to peanuts.", kind="fact", importance=0.9)


def test_a_small_profile_is_its_own_summary(ana: Memory) -> None:
    empty = ana.person().summary()
    assert (empty.text, empty.by, empty.characters) == ("", "whole", 0)
    ana.profile("personal_info").merge({"name": "Ana", "languages": ["German", "French"]})
    ana.items("area_to_improve").create("cases", "Mixes up cases")
    ana.remember("Ana is allergic to peanuts.", kind="fact")
    told = ana.person().summary()
    assert told.text == (
        "name: Ana. languages: German, French. struggling: Mixes up cases. "
        "Ana is allergic to peanuts."
    )
    assert (told.by, told.characters) == ("whole", len(told.text))


def test_a_large_one_is_cut_at_a_sentence_and_nothing_is_lost(ana: Memory) -> None:
    fill(ana)
    told = ana.person().summary()
    assert told.by == "extract"
    assert len(told.text) <= SUMMARY_CHARS_MAX < told.characters
    assert told.text.startswith("name: Ana. job title: nurse. job city: Porto. struggling: ")
    assert told.text.endswith(".")
    assert len(ana.items("area_to_improve").list()) == 30


def test_what_was_cleared_is_missing_from_the_very_next_summary(ana: Memory) -> None:
    fill(ana)
    ana.profile("personal_info").remove("name")
    assert "name: Ana" not in ana.person().summary().text
    first = ana.items("area_to_improve").list(limit=1)[0]
    assert first.text in ana.person().summary().text
    ana.forget(first)
    assert first.text not in ana.person().summary().text


@pytest.mark.parametrize("face", FACES)
def test_the_model_writes_a_large_one_and_its_text_counts_until_something_changes(
    face: str, tmp_path: Path
) -> None:
    chat = ScriptedChat(SHORT, ProviderError("down"), "Too long. " * 100)
    with opened(face, tmp_path, memory_model=chat) as world:
        ana = world.memory.scope(user="ana")
        fill(ana)
        person = ana.person()
        assert person.summary().by == "extract"  # nobody waits for a model
        person.refresh()
        world.memory.maintain()
        told = person.summary()
        assert (told.text, told.by) == (SHORT, "scripted:model")
        assert told.made_at is not None
        person.refresh()
        world.memory.maintain()
        assert len(chat.asked) == 1  # nothing has changed
        area = ana.items("area_to_improve").create("new", "Speaks too fast.")
        assert person.summary().by == "extract"
        person.refresh()
        assert world.memory.maintain().failed == {"distil_profile": 1}
        assert person.summary().by == "extract"
        world.clock.advance(minutes=30)
        world.memory.maintain()
        again = person.summary()
        assert again.by == "scripted:model"
        assert len(again.text) <= SUMMARY_CHARS_MAX
        assert again.text.endswith("Too long.")
        assert not [hit for hit in ana.recall("nurse Porto German") if SHORT in hit.text]
        assert not [one for one in ana.list(limit=100) if one.kind == "profile_summary"]
        assert ana.forget(area).derived == 1  # with every version of the text


def test_the_profile_is_reset_to_a_template_and_back(ana: Memory) -> None:
    fill(ana)
    ana.profile("hobbies").merge({"sport": "rowing"})
    before = {name: one.data for name, one in ana.profiles().items()}
    template: Any = {"personal_info": {"name": "", "level": "A1"}}
    ana.person().reset(template, reason="a new course")
    after = {name: one.data for name, one in ana.profiles().items() if one.data}
    assert after == template
    assert len(ana.items("area_to_improve").list()) == 30  # items are not part of it
    assert ana.profile("hobbies").history()[-2].data == {"sport": "rowing"}
    event = next(one.event.id for one in ana.events(limit=1000) if "reset" in one.event.action)
    ana.undo(event)
    assert {name: one.data for name, one in ana.profiles().items()} == before
    ana.person().reset()
    assert not any(one.data for one in ana.profiles().values())
    with pytest.raises(ValidationError):
        ana.person().reset({"personal_info": [1]})


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("One. Two. Three.", 9, "One. Two."),
        ("One. Two. Three.", 100, "One. Two. Three."),
        ("Is it? Yes! Good.", 11, "Is it? Yes!"),
        ("A sentence that is far too long.", 14, "A sentence…"),
    ],
)
def test_texts_are_cut_at_sentences(text: str, limit: int, short: str) -> None:
    assert shortened(text, limit) == short
