"""The content policy: secrets and personal data are allowed, taken out, or refused, and told."""

import json
from collections import Counter
from pathlib import Path

import pytest

from recollect import Memory
from recollect.domain.conduct import Conduct
from recollect.domain.errors import ContentRefused
from recollect.guarding.content import WITHHELD, Content
from recollect.testing import open_memory
from tests.truth.sensitive import benign, personal, secrets

KEY = "sk-proj-4f9Zq8LmN2xV7bTr5KcW1yHd"
CLASSES = ("secrets", "card_numbers", "bank_accounts", "national_ids", "emails", "phones")
STRICT = Conduct(**dict.fromkeys(CLASSES, "redact"))  # type: ignore[arg-type]


def test_what_is_found_and_what_is_only_thought_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    content = Content(STRICT)
    missed: Counter[str] = Counter()
    sensitive = [("secrets", *one) for one in secrets(1_000)] + list(personal(700))
    for what, kind, text in sensitive:
        _, treated = content.treat(text)
        missed[kind] += what not in {one.what for one in treated}
    alarms = [text for text in benign(1_000) if content.treat(text)[1]]
    with capsys.disabled():
        share = 1 - missed.total() / len(sensitive)
        wrong = len(alarms) / 1_000
        print(f"\ncontent policy: {share:.1%} of {len(sensitive)} found, {wrong:.1%} false alarms")
    assert missed.total() <= 0.02 * len(sensitive), missed.most_common(5)
    assert len(alarms) <= 0.01 * 1_000, alarms[:5]


def test_a_secret_is_taken_out_before_it_is_stored_and_the_caller_is_told(tmp_path: Path) -> None:
    with open_memory() as memory:
        told = memory.remember(f"The key is {KEY}, keep it.", metadata={"raw": [KEY]})
        assert KEY not in json.dumps(told.memory.to_dict())
        assert told.memory.text == "The key is [secret removed], keep it."
        assert [(one.what, one.action) for one in told.treated] == [("secrets", "redacted")] * 2
        assert memory.update(told, text=f"Now {KEY}").text == "Now [secret removed]"
        corrected = memory.correct(told, f"Rather {KEY}.")
        assert corrected.treated
        assert KEY not in corrected.text
        chat = memory.session("s").add("user", f"here: {KEY}")
        assert (KEY not in chat.text, len(chat.treated)) == (True, 1)
        profile = memory.profile("personal_info").merge({"notes": {"key": KEY}})
        assert KEY not in json.dumps(profile.data)
        memory.export(str(tmp_path / "all.jsonl"), everything=True)
        assert KEY not in (tmp_path / "all.jsonl").read_text()
        line = (tmp_path / "all.jsonl").read_text().replace("[secret removed]", KEY)
        (tmp_path / "bad.jsonl").write_text(line)
    with open_memory() as other:
        other.import_(str(tmp_path / "bad.jsonl"))
        shown = json.dumps([one.to_dict() for one in other.list(limit=100)])
        assert "secret removed" in shown
        assert KEY not in shown
    with open_memory(secrets="refuse") as strict:
        assert strict.import_(str(tmp_path / "bad.jsonl"))["refused"] >= 3
        assert strict.count() == 0


def test_each_class_has_a_setting_of_its_own() -> None:
    text = "Write to ana@example.org."
    with open_memory(emails="refuse") as memory:
        with pytest.raises(ContentRefused, match="e-mail address") as failure:
            memory.remember(text)
        assert "ana@" not in str(failure.value)
        batch = memory.remember_many([text, "I like tea."], atomic=False)
        assert [len(batch.stored), len(batch.failed)] == [1, 1]
    with open_memory(emails="redact") as memory:
        assert memory.remember(text).text == "Write to [e-mail address removed]."
    with open_memory() as memory:
        assert memory.remember(text).text == text
    with open_memory(secrets="allow") as memory:
        assert KEY in memory.remember(f"It is {KEY}").text


def test_a_vector_of_what_was_taken_out_is_not_kept() -> None:
    with open_memory() as memory:
        memory.remember(f"key {KEY}", vector=[1.0, 0.0])
        assert memory.stats()["vectors"] == 0


UNSAID = [
    "Please don't remember this: I was late.",
    "Off the record, the launch slips.",
    "Do not store that I called.",
    "Forget what I just said about Bob.",
]


@pytest.mark.parametrize("text", UNSAID)
def test_what_is_not_to_be_remembered_is_not(text: str) -> None:
    with open_memory() as memory:
        with pytest.raises(ContentRefused, match="not to be remembered"):
            memory.remember(text)
        chat = memory.session("s")
        chat.add("user", "Hello.")
        told = chat.add("user", text)
        assert (told.text, told.treated[0].what) == (WITHHELD, "off_the_record")
        assert len(chat.messages()) == 2
    with open_memory(off_the_record="allow") as memory:
        assert memory.remember(text).text == text


@pytest.mark.parametrize(
    "text",
    ["I don't remember this street.", "We never keep it warm.", "Who did not save it?"],
)
def test_talk_about_remembering_is_remembered(memory: Memory, text: str) -> None:
    assert memory.remember(text).text == text


@pytest.fixture
def memory() -> Memory:
    return open_memory()
