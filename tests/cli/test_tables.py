"""Tables: what fits, what is cut, what is never let through to a terminal."""

import pytest

from recollect.cli import showing, tables
from recollect.cli.tables import Column, Row, Screen, bar, clean, facts, fitted, table, width_of
from recollect.testing import FrozenClock, open_memory

COLUMNS = (Column("ID"), Column("KIND", spare=True), Column("SIZE", right=True), Column("TEXT"))


def drawn(*rows: Row, screen: Screen) -> list[str]:
    return list(table(COLUMNS, rows, screen))


def test_a_table_fits_the_screen_and_cuts_its_last_column() -> None:
    lines = drawn(
        Row(("a1", "fact", "7", "short")),
        Row(("b22", "preference", "1,000", "long enough to need an ellipsis here")),
        screen=Screen(width=52),
    )
    assert lines == [
        "ID   KIND         SIZE  TEXT",
        "a1   fact            7  short",
        "b22  preference  1,000  long enough to need an…",
    ]


def test_without_a_screen_nothing_is_cut_and_nothing_is_coloured() -> None:
    long = "word " * 60
    lines = drawn(Row(("a", "", "", long)), screen=Screen())
    assert lines == ["ID  TEXT", f"a   {long}".rstrip()]


def test_columns_that_can_be_spared_go_first_when_space_is_short() -> None:
    row = Row(("a1", "preference", "1,000", "a text of some length, cut at the end"))
    assert drawn(row, screen=Screen(width=40)) == [
        "ID   SIZE  TEXT",
        "a1  1,000  a text of some length, cut a…",
    ]


def test_wide_and_combining_characters_keep_the_columns_straight() -> None:
    lines = drawn(
        Row(("日本", "e\u0301te\u0301", "1", "x")), Row(("ab", "ete", "2", "y")), screen=Screen(80)
    )
    assert {width_of(line) for line in lines[1:]} == {19}


def test_a_text_wraps_at_words_and_a_long_word_is_cut() -> None:
    assert fitted("one two three four", 9, 2) == ["one two", "three…"]
    assert fitted("abcdefghij", 4, 3) == ["abcd", "efgh", "ij"]
    assert fitted("日本語のテキスト", 6, 2) == ["日本語", "のテ…"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("red \x1b[31m alarm \x07", "red \ufffd[31m alarm \ufffd"),
        ("two\nlines\tand\u00a0more", "two lines and more"),
        ("abc\u202efdp.exe", "abcfdp.exe"),
        ("👩\u200d🚀 flies", "👩\u200d🚀 flies"),
        ("\r\x9b2K", "\ufffd\ufffd2K"),
    ],
)
def test_a_memory_cannot_drive_the_terminal(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_bars_are_drawn_in_eighths_or_in_plain_signs() -> None:
    fine, plain = Screen(80, blocks=True), Screen()
    assert [bar(share, 4, fine) for share in (0, 0.001, 0.5, 0.78, 2)] == [
        "    ",
        "▏   ",
        "██  ",
        "███▏",
        "████",
    ]
    assert [bar(share, 4, plain) for share in (0, 0.001, 0.5)] == ["    ", "#   ", "##  "]


def test_facts_leave_out_what_is_not_known_and_wrap_what_is_long() -> None:
    pairs = [("kind", "fact"), ("parent", ""), ("tags", "one two three four five six seven")]
    assert list(facts(pairs, Screen(30))) == [
        "kind  fact",
        "tags  one two three four five",
        "      six seven",
    ]


def test_colour_is_only_written_to_a_screen_that_has_it() -> None:
    assert tables.paint_if(Screen(80), tables.RED, "x") == "x"
    assert tables.paint_if(Screen(80, colour=True), tables.RED, "x") == "\033[31mx\033[0m"


def test_a_listing_at_80_columns() -> None:
    clock = FrozenClock("2026-03-01")
    with open_memory(clock=clock) as memory:
        memory.remember("I moved to Lisbon.", kind="fact", tags=["home", "travel"])
        clock.advance(days=2)
        memory.remember("Quiet hotels away from the centre, on a high floor.", kind="preference")
        lines = list(showing.listing(memory.list(), Screen(80)))
        ids = [one.id[-8:] for one in memory.list()]
    assert lines == [
        "ID        KIND        WHEN        TAGS          TEXT",
        f"{ids[0]}  preference  2026-03-03                Quiet hotels away from the…",
        f"{ids[1]}  fact        2026-03-01  home, travel  I moved to Lisbon.",
    ]


def test_a_recall_with_its_reasons_at_80_columns() -> None:
    with open_memory(clock=FrozenClock("2026-03-01")) as memory:
        memory.remember("I moved to Lisbon in spring and found a quiet flat near the river there.")
        memory.remember("I like tea.")
        found = memory.recall("who moved to Lisbon?")
        lines = list(showing.recalled(found, Screen(80, blocks=True), why=True, owner="ana"))
    (hit,) = found.hits
    score = f"{hit.score:.2f}"
    assert lines == [
        "#  SCORE  ID        KIND     WHEN        TEXT",
        f"1   {score}  {hit.id[-8:]}  general  2026-03-01  I moved to Lisbon in spring and found a",
        "                                         quiet flat near the river there.",
        "                                         words         ████████▍     0.70",
        "                                         words around  ████████████  1.00",
        "                                         holds move, lisbon",
        "",
        "1 hit in 2 memories of ana, found by words",
    ]


def test_words_that_matched_stand_out_in_a_hit() -> None:
    with open_memory() as memory:
        memory.remember("She painted it; painting is fun.")
        found = memory.recall("paints")
        lines = "\n".join(showing.recalled(found, Screen(80, colour=True), why=False, owner="ana"))
    assert "\033[1mpainted\033[0m it; \033[1mpainting\033[0m is" in lines
