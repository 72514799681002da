"""3.17: sessions are made, recorded on each write, give their last turns in order, and expire."""

import pytest

from recollect import Memory
from recollect.domain.errors import NotFound, ValidationError
from recollect.testing import FrozenClock

pytestmark = pytest.mark.acceptance("3.17")


def test_a_session_belongs_to_a_person_and_has_a_kind(memory: Memory, ana: Memory) -> None:
    with ana.session("s1", kind="lesson", metadata={"topic": "cases"}) as chat:
        record = chat.open()
    assert (record.id, record.kind, record.metadata) == ("s1", "lesson", {"topic": "cases"})
    assert (record.place.name, record.messages, record.expires_at) == ("ana", 0, None)
    assert [one.id for one in ana.sessions()] == ["s1"]
    assert memory.scope(user="bob").sessions() == []


def test_a_session_without_a_name_gets_one_and_keeps_it(ana: Memory) -> None:
    chat = ana.session(expires_at="2030-01-01")
    for text in "ab":
        chat.add("user", text)
    (session,) = ana.sessions()
    assert session.id.startswith("ses_")
    assert session.messages == 2


def test_session_and_agent_are_recorded_on_every_write(ana: Memory) -> None:
    tutor = ana.scope(session="s1", agent="tutor")
    note = tutor.remember("a note")
    (many,) = tutor.remember_many(["another"]).stored
    other = tutor.remember("by somebody else", agent="grader")
    with ana.scope(agent="tutor").session("s1") as chat:
        message = chat.add("user", "hello")
    for id in (note.id, many.id, message.id):
        got = ana.get(id)
        assert (got.session, got.agent, got.user) == ("s1", "tutor", "ana")
    assert ana.get(other.id).agent == "grader"
    assert ana.get(message.id).position == 0


def test_the_last_turns_come_in_order(ana: Memory, clock: FrozenClock) -> None:
    with ana.session("s1") as chat, ana.session("s2") as other:
        for number in range(30):
            clock.advance(seconds=1)
            chat.add("user", f"turn {number}", speaker="Ana")
            other.add("user", "elsewhere")
        chat.add_many([{"role": "assistant", "text": f"turn {n}"} for n in (30, 31)])
        ana.scope(session="s1").remember("a note is no turn")
        assert [one.text for one in chat.messages(last=3)] == ["turn 29", "turn 30", "turn 31"]
        assert [one.text for one in chat.messages()] == [f"turn {n}" for n in range(32)]
        assert [one.role for one in chat.messages(last=2)] == ["assistant", "assistant"]
        assert [one.position for one in chat.messages(last=2)] == [30, 31]
        for last in (0, -1, 1001, True):
            with pytest.raises(ValidationError):
                chat.messages(last=last)
    assert {one.id: one.messages for one in ana.sessions()} == {"s1": 32, "s2": 30}


def test_coming_back_goes_on_where_it_stopped(ana: Memory) -> None:
    ana.session("s1", kind="lesson").add("user", "first")
    again = ana.session("s1", kind="ignored")
    again.add("assistant", "second")
    assert [one.text for one in again.messages()] == ["first", "second"]
    assert again.open().kind == "lesson"


def test_a_session_is_searched_alone_or_with_everything(ana: Memory) -> None:
    ana.remember("tea at home")
    with ana.session("s1") as chat:
        chat.add("user", "tea in the session")
        assert [hit.text for hit in chat.recall("tea")] == ["tea in the session"]
    assert len(ana.recall("tea")) == 2
    alone = ana.scope(session="s1", only_session=True)
    assert [one.text for one in alone.list()] == ["tea in the session"]


def test_an_expired_session_takes_and_shows_nothing(ana: Memory, clock: FrozenClock) -> None:
    chat = ana.session("s1", expires_at="2026-01-01T01:00")
    chat.add("user", "in time")
    clock.advance(minutes=59)
    chat.add("user", "just in time")
    clock.advance(minutes=1)
    for late in (chat, ana.session("s1"), ana.session("s1", expires_at="2027-01-01")):
        with pytest.raises(NotFound, match="'s1' expired at 2026-01-01T01:00"):
            late.add("user", "too late")
        with pytest.raises(NotFound, match="expired"):
            late.messages()
    assert [one.text for one in ana.list(order="asc")] == ["in time", "just in time"]
    assert [one.messages for one in ana.sessions()] == [2]


def test_a_session_cannot_begin_expired(ana: Memory) -> None:
    with pytest.raises(ValidationError) as failure:
        ana.session("s1", expires_at="2025-12-31").open()
    assert failure.value.field == "expires_at"
    assert ana.sessions() == []
