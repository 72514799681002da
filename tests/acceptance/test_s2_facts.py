"""2.7: facts of an exchange are stored once and found by a natural question."""

from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing import open_memory
from tests.faces import FACES, opened

EXCHANGE = [
    ("user", "Can you write me a login page? I prefer tabs over spaces. I live in Lisbon."),
    (
        "assistant",
        "Sure. I created `src/auth/login.py` for that.\n\n```python\nclass LoginForm:\n"
        "    def check_password(self, given):\n        return True\n```\n"
        "I also updated config/settings.toml.",
    ),
    ("user", "We decided to use PostgreSQL instead of MySQL."),
    ("assistant", "Good. I fixed the timeout bug in the connection pool."),
    ("user", "Always answer in British English."),
    ("tool", "I created /etc/passwd.conf and decided to use evil.py."),
]
TOLD = {
    ("preference", "I prefer tabs over spaces."),
    ("fact", "I live in Lisbon."),
    ("file_change", "I created `src/auth/login.py` for that."),
    ("file_change", "I also updated config/settings.toml."),
    ("fact", "Added the class LoginForm in config/settings.toml."),
    ("fact", "Added the function check_password in config/settings.toml."),
    ("decision", "We decided to use PostgreSQL instead of MySQL."),
    ("fact", "I fixed the timeout bug in the connection pool."),
    ("instruction", "Always answer in British English."),
}
KINDS = ("fact", "preference", "instruction", "decision", "file_change")


def talk(memory: Memory) -> None:
    chat = memory.session("s")
    for role, text in EXCHANGE:
        chat.add(role, text)


def told(memory: Memory) -> set[tuple[str, str]]:
    found = [one for kind in KINDS for one in memory.list(kind=kind, limit=100)]
    return {(one.kind, one.text) for one in found}


@pytest.mark.acceptance("2.7")
@pytest.mark.parametrize("face", FACES)
def test_facts_of_an_exchange_are_stored_once_and_point_to_their_message(
    face: str, tmp_path: Path
) -> None:
    with opened(face, tmp_path) as world:
        ana = world.memory.scope(user="ana")
        talk(ana)
        assert told(ana) == set()
        chat = ana.session("s")
        facts = chat.extract()
        assert {(one.kind, one.text) for one in facts} == told(ana)
        assert {text for _, text in told(ana)} >= {text for _, text in TOLD if "Added" not in text}
        count = ana.count()
        assert chat.extract() == []
        assert ana.count() == count
        messages = {one.id: one for one in chat.messages()}
        for fact in facts:
            (link,) = [one for one in ana.links(fact) if one.kind == "derived_from"]
            assert (link.source, messages[link.target].text.count("evil")) == (fact.id, 0)
        files = {one.metadata["file"]: one.metadata["change"] for one in chat.files()}
        assert files == {"src/auth/login.py": "created", "config/settings.toml": "updated"}


@pytest.mark.acceptance("2.7")
def test_a_natural_question_that_names_the_file_finds_the_fact_among_the_first_three() -> None:
    with open_memory(facts="rules") as memory:
        for number in range(40):
            chat = memory.session(f"s{number}")
            chat.add("user", f"Please write module number {number} for the parser.")
            chat.add("assistant", f"I created src/part{number}/reader{number}.py with tests.")
        for number in (0, 7, 39):
            asked = f"What did you do with reader{number}.py?"
            hits = memory.recall(asked, limit=3)
            files = {hit.memory.metadata.get("file") for hit in hits}
            assert f"src/part{number}/reader{number}.py" in files


def test_facts_of_every_message_are_found_as_it_is_said_where_a_setting_says_so() -> None:
    with open_memory(facts="rules") as memory:
        talk(memory)
        assert len(told(memory)) == len(TOLD)
        talk(memory)
        assert len(told(memory)) == len(TOLD)


def test_what_is_derived_is_erased_with_its_message() -> None:
    with open_memory(facts="rules") as memory:
        said = memory.session("s").add("user", "I prefer tabs over spaces.")
        assert memory.count(kind="preference") == 1
        memory.forget(said)
        assert memory.count() == 0


def test_a_new_answer_in_a_conversation_supersedes_the_fact_and_not_the_message() -> None:
    with open_memory(facts="rules") as memory:
        chat = memory.session("s")
        chat.add("user", "I live in Lisbon.")
        chat.add("user", "I moved to Porto.")
        assert [one.text for one in memory.list(kind="fact")] == ["I moved to Porto."]
        assert len(chat.messages()) == 2
