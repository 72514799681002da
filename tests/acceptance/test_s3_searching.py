"""3.5, the lexical half: any character is text, filters are obeyed, exact codes are found."""

from typing import Any

import pytest

from recollect import Memory
from recollect.domain.errors import UnknownFilter, ValidationError

LEXICAL = pytest.mark.acceptance(
    "3.5", half="search by meaning finds a paraphrase that search by words misses"
)
TEXTS = [
    "Discount of 100% on everything",
    "Discount of 100 euros on something",
    "the file my_notes.txt",
    "the file myXnotes.txt",
    'She said "it\'s fine"',
    "A fox 🦊 in the garden",
    "A dog 🐕 in the garden",
    "Order XK-4711/b was shipped",
    "Order XK-4712/b was shipped",
    "error E0308 in src/app.py::main",
    "café in København",
    "東京で会いましょう",
    "Я живу в Москве",
    "C++ and C#",
    "snake_case_name and CamelCaseName",
]


#: What is asked, and which of the texts answers it best.
QUESTIONS = [
    ("100%", 0),
    ("my_notes.txt", 2),
    ("myXnotes.txt", 3),
    ('"it\'s fine"', 4),
    ("🦊", 5),
    ("🐕", 6),
    ("XK-4711/b", 7),
    ("xk-4712/b", 8),
    ("E0308", 9),
    ("src/app.py", 9),
    ("kobenhavn cafe", 10),
    ("東京", 11),
    ("москва", 12),
    ("C++", 13),
    ("snake_case_name", 14),
    ("camel case", 14),
    ("shipping orders XK-4711/b", 7),
]
SIGNS = [
    "%",
    "_",
    "'",
    '"',
    "';--",
    "*",
    "NEAR(",
    "a AND OR NOT",
    "(((",
    "\\",
    "{}",
    "%_%",
    "🦊'\"%",
]


@LEXICAL
def test_a_text_is_found_by_what_is_written_in_it(ana: Memory) -> None:
    ana.remember_many(TEXTS)
    for question, first in QUESTIONS:
        found = ana.recall(question)
        assert found.top is not None, question
        assert found.top.text == TEXTS[first], question


@LEXICAL
def test_signs_are_text_and_never_a_language(ana: Memory) -> None:
    ana.remember_many(TEXTS)
    for question in SIGNS:
        for hit in ana.recall(question, limit=100):
            assert hit.why.words, question
    assert ana.count() == len(TEXTS)


@LEXICAL
def test_a_filter_takes_any_character_as_text(ana: Memory) -> None:
    ana.remember_many(TEXTS)
    for part in ("100%", "my_notes", "\"it's", "🦊", "%", "_case_"):
        listed = {one.text for one in ana.list(where={"text": {"contains": part}})}
        assert listed == {text for text in TEXTS if part in text}, part


@LEXICAL
def test_search_obeys_kind_parent_and_limit(ana: Memory) -> None:
    parent = ana.remember("tea in general")
    fact = ana.remember("green tea is a fact", kind="fact", parent=parent)
    ana.remember("black tea is an episode", kind="episode", parent=parent)
    ana.remember("white tea is a fact", kind="fact")

    def found(**chosen: Any) -> set[str]:
        return {hit.text for hit in ana.recall("tea", **chosen)}

    assert len(found()) == 4
    assert found(kind="fact") == {"green tea is a fact", "white tea is a fact"}
    assert len(found(where={"parent": parent.id})) == 2
    assert found(where={"parent": parent.id}, kind="fact") == {fact.text}
    assert len(found(limit=2)) == 2
    assert found(kind="nothing") == set()


@LEXICAL
def test_a_filter_that_cannot_be_is_refused_by_name(ana: Memory) -> None:
    for where in ({"colour": "blue"}, {"kind": {"like": "f%"}}, {"1=1": "x"}):
        with pytest.raises(UnknownFilter):
            ana.recall("tea", where=where)
    for limit in (0, 1001, -1, 1.5, True):
        with pytest.raises(ValidationError):
            ana.recall("tea", limit=limit)  # type: ignore[arg-type]
    for question in ("", "   ", "x" * 10_001, "a\x00b"):
        with pytest.raises(ValidationError):
            ana.recall(question)


@LEXICAL
def test_nothing_foreign_is_found_or_changes_a_score(memory: Memory, ana: Memory) -> None:
    ana.remember("I drink tea")
    before = ana.recall("tea")
    for number in range(20):
        memory.scope(user="bob").remember(f"Bob drinks tea too, cup {number}")
    assert ana.recall("tea") == before
