"""What a question is understood to ask: cues, periods, names, in several languages."""

import sys
import time
from collections.abc import Iterator

import pytest

from recollect.domain import times
from recollect.retrieval import dates
from recollect.retrieval.analyser import Analyser
from recollect.retrieval.question import Cue, Edge, Period, Understood, understand

#: A Monday.
NOW = times.parse("2026-06-15T12:00", field="now")
ANALYSER = Analyser()


def read(text: str) -> Understood:
    return understand(text, ANALYSER, now=NOW)


def days(period: Period) -> tuple[str, str]:
    """The first and the last day of a period; open ends are empty."""
    begins = "" if period.begins is None else f"{times.show(period.begins):%Y-%m-%d}"
    ends = "" if period.ends is None else f"{times.show(period.ends - times.DAY):%Y-%m-%d}"
    return begins, ends


# -- cues ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("What did you recommend for dinner?", Cue.TOLD_ME),
        ("Can you remind me how many mummies there were?", Cue.TOLD_ME),
        ("In our previous chat we spoke about bread.", Cue.TOLD_ME),
        ("Was hast du mir empfohlen?", Cue.TOLD_ME),
        ("¿Qué me recomendaste para cenar?", Cue.TOLD_ME),
        ("Qu'est-ce que tu m'as conseillé ?", Cue.TOLD_ME),
        ("Что ты мне посоветовал?", Cue.TOLD_ME),
        ("你之前推荐过哪家餐厅？", Cue.TOLD_ME),
        ("What have I told you about my brother?", Cue.I_TOLD),
        ("Was habe ich dir über Lissabon erzählt?", Cue.I_TOLD),
        ("When did she move?", Cue.WHEN),
        ("Wann bin ich umgezogen?", Cue.WHEN),
        ("いつ引っ越しましたか", Cue.WHEN),
        ("In which year was that?", Cue.WHEN),
        ("How long was I in Korea?", Cue.HOW_LONG),
        ("How many days passed between the two trips?", Cue.HOW_LONG),
        ("How many bikes do I own?", Cue.HOW_MANY),
        ("¿Cuántos gatos tengo?", Cue.HOW_MANY),
        ("How often do I run?", Cue.HOW_OFTEN),
        ("Which job did I have first?", Cue.FIRST),
        ("What is my most recent address?", Cue.LAST),
        ("What do I drink instead of coffee?", Cue.INSTEAD),
        ("What did I do first, the trip or the course?", Cue.ORDER),
        ("List the order in which I visited them.", Cue.ORDER),
        ("In welcher Reihenfolge war ich dort?", Cue.ORDER),
        ("Can you suggest a hotel?", Cue.ADVICE),
        ("Kannst du mir ein Hotel empfehlen?", Cue.ADVICE),
        ("What is my favorite colour?", Cue.PREFERENCE),
        ("Where do I live?", Cue.FIRST_PERSON),
    ],
)
def test_a_cue_is_seen(text: str, cue: Cue) -> None:
    assert cue in read(text).cues


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Can you suggest a hotel?", Cue.TOLD_ME),  # a request, not a memory of one
        ("Where was she when the storm came?", Cue.WHEN),
        ("What happened last week?", Cue.LAST),
        ("In order to sleep, what do I drink?", Cue.ORDER),
        ("What did I tell you earlier about Lisbon?", Cue.EARLIER),
        ("What does Iris like?", Cue.FIRST_PERSON),
    ],
)
def test_a_cue_is_not_seen_where_it_is_not_meant(text: str, cue: Cue) -> None:
    assert cue not in read(text).cues


@pytest.mark.acceptance("1.6b", half="recalling the turns")
@pytest.mark.parametrize(
    "text",
    [
        "What did I tell you earlier?",
        "what have I told you so far",
        "What did I just say?",
        "Do you remember what I said before?",
        "What did we talk about last time?",
        "What were we talking about?",
        "Where did we leave off?",
        "Can you repeat what you said?",
        "Was habe ich dir vorhin gesagt?",
        "¿Qué te dije antes?",
        "De quoi avons-nous parlé la dernière fois ?",
        "Что я тебе говорил раньше?",
        "我刚才说了什么？",
        "さっき何を言った？",
    ],
)
def test_a_question_about_nothing_but_what_was_said_is_one_about_the_latest_turns(
    text: str,
) -> None:
    assert Cue.EARLIER in read(text).cues


# -- periods ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did I do on 2026-05-03?", "2026-05-03", "2026-05-03"),
        ("What did I do on 3 May 2026?", "2026-05-03", "2026-05-03"),
        ("What did I do on the 3rd of May?", "2026-05-03", "2026-05-03"),
        ("What did I do on May 3rd, 2025?", "2025-05-03", "2025-05-03"),
        ("What did I do on July 3?", "2025-07-03", "2025-07-03"),
        ("What did I do on 5/31/2026?", "2026-05-31", "2026-05-31"),
        ("What did I do on 31.5.2026?", "2026-05-31", "2026-05-31"),
        ("What did I do in 2026-02?", "2026-02-01", "2026-02-28"),
        ("What did I do in May?", "2026-05-01", "2026-05-31"),
        ("What did I do in July?", "2025-07-01", "2025-07-31"),
        ("What did I do in July 2024?", "2024-07-01", "2024-07-31"),
        ("What did I do in 2024?", "2024-01-01", "2024-12-31"),
        ("What did I do in summer 2024?", "2024-06-01", "2024-08-31"),
        ("What did I do yesterday?", "2026-06-14", "2026-06-14"),
        ("What did I do the day before yesterday?", "2026-06-13", "2026-06-13"),
        ("What did I do last week?", "2026-06-08", "2026-06-14"),
        ("What did I do last weekend?", "2026-06-13", "2026-06-14"),
        ("What did I do last month?", "2026-05-01", "2026-05-31"),
        ("What did I do last year?", "2025-01-01", "2025-12-31"),
        ("What did I do last Tuesday?", "2026-06-09", "2026-06-09"),
        ("What did I do on Monday?", "2026-06-08", "2026-06-08"),
        ("What will I do next Friday?", "2026-06-19", "2026-06-19"),
        ("What did I do three days ago?", "2026-06-12", "2026-06-12"),
        ("What did I do 2 weeks ago?", "2026-05-29", "2026-06-04"),
        ("What did I do two years ago?", "2024-01-01", "2024-12-31"),
        ("What did I do in the past 3 weeks?", "2026-05-25", "2026-06-15"),
        ("What did I do between March and May 2025?", "2025-03-01", "2025-05-31"),
        ("What did I do from 3 May to 5 May 2026?", "2026-05-03", "2026-05-05"),
        ("What did I do before May?", "", "2026-04-30"),
        ("What did I do after May 2025?", "2025-06-01", ""),
        ("What did I do since last Tuesday?", "2026-06-09", ""),
        ("Where did I live as of May?", "", "2026-05-31"),
        ("What happened the week before 3 August 2025?", "2025-07-27", "2025-08-02"),
        ("What did he get two weeks before August 11, 2025?", "2025-07-25", "2025-07-31"),
        ("What did I do last winter?", "2025-12-01", "2026-02-28"),
    ],
)
def test_a_period_is_resolved_against_the_date_of_the_question(
    text: str, first: str, last: str
) -> None:
    assert [days(period) for period in read(text).periods] == [(first, last)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Was habe ich letzten Monat gemacht?", "2026-05-01", "2026-05-31"),
        ("Wo war ich am 3. Mai 2026?", "2026-05-03", "2026-05-03"),
        ("Was habe ich vor zwei Wochen gemacht?", "2026-05-29", "2026-06-04"),
        ("¿Dónde estuve el 3 de mayo de 2026?", "2026-05-03", "2026-05-03"),
        ("¿Qué hice el mes pasado?", "2026-05-01", "2026-05-31"),
        ("Où étais-je la semaine dernière ?", "2026-06-08", "2026-06-14"),
        ("Cosa ho fatto ieri?", "2026-06-14", "2026-06-14"),
        ("O que fiz em março?", "2026-03-01", "2026-03-31"),
        ("Что я делал в прошлом месяце?", "2026-05-01", "2026-05-31"),
        ("我上个月去了哪里？", "2026-05-01", "2026-05-31"),
        ("2026年5月3日我在哪里？", "2026-05-03", "2026-05-03"),
        ("先月どこに行きましたか", "2026-05-01", "2026-05-31"),
        ("지난달에 어디 갔었지?", "2026-05-01", "2026-05-31"),
        ("أين كنت الشهر الماضي؟", "2026-05-01", "2026-05-31"),
    ],
)
def test_other_languages_name_periods_too(text: str, first: str, last: str) -> None:
    assert [days(period) for period in read(text).periods] == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "May I have the recipe?",
        "How many weeks ago did we meet?",
        "Which version is 10.2.33?",
        "What costs $2000?",
        "Is 2026-13-41 a day?",
        "What happened in build 20260503?",
        "How long did the march take?",
    ],
)
def test_what_only_looks_like_a_date_names_no_period(text: str) -> None:
    assert read(text).periods == ()


def test_a_period_says_whether_it_was_counted_from_today() -> None:
    relative, fixed = read("What did I do last month and on 3 May 2026?").periods
    assert relative.relative
    assert not fixed.relative
    assert fixed.said == "3 may 2026"
    assert fixed.holds(times.parse("2026-05-03T23:59", field="at"))
    assert not fixed.holds(times.parse("2026-05-04", field="at"))


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "dateparser.date", None)
    dates._library.cache_clear()
    yield
    dates._library.cache_clear()


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_english_and_numbers_are_understood() -> None:
    assert read("¿Qué hice el mes pasado?").periods == ()
    assert days(read("¿Qué hice el 2026-05-03?").periods[0]) == ("2026-05-03", "2026-05-03")
    assert days(read("What did I do last month?").periods[0]) == ("2026-05-01", "2026-05-31")


def test_an_event_may_be_the_edge_of_the_time_asked_about() -> None:
    assert read("Where did I work before I moved to Porto?").edge == Edge(
        "before", "i moved to porto"
    )
    assert read("What did I buy after the wedding?").edge == Edge("after", "the wedding")
    assert read("What did I buy before May?").edge is None


# -- names -----------------------------------------------------------------------------------------


def test_names_are_seen_in_full_and_by_the_first_of_their_parts() -> None:
    known = ["Ana Silva", "Bob", "Will", "Ñusta", "小明", "Анна"]
    assert read("What does Ana's sister do?").mentions(known) == ("Ana Silva",)
    assert read("what did bob say to ñusta").mentions(known) == ("Bob", "Ñusta")
    assert read("What will happen?").mentions(known) == ()
    assert read("What did Will say?").mentions(known) == ("Will",)
    assert read("小明住在哪里？").mentions(known) == ("小明",)
    assert read("Где живёт Анна?").mentions(known) == ("Анна",)
    assert read("Where does the user live?").mentions(["user", "assistant", ""]) == ()


def test_what_is_quoted_is_kept_as_it_stands() -> None:
    assert read('Where is "Blue Whale" and `x_1`?').quoted == ("Blue Whale", "x_1")
    assert read("It's Ana's dog, isn't it?").quoted == ()


# -- cost ------------------------------------------------------------------------------------------


def test_a_question_is_understood_in_a_fraction_of_a_millisecond() -> None:
    asked = "What did Caroline and I do in the garden two weeks ago, before the storm came?"
    read(asked)
    took: list[float] = []
    for _ in range(50):
        begun = time.perf_counter()
        read(asked)
        took.append(time.perf_counter() - begun)
    assert min(took) < 0.000_3
