"""Logs: their two forms, what an operator learns from them, and that no content gets into them."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import logs
from recollect.domain.errors import ProviderError
from recollect.testing import FrozenClock, HashEmbedder, open_memory

CANARY = "Zanzibar-4711"


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    logger = logging.getLogger(logs.LOGGER)
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before[0], before[1], before[2]


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_the_text_form_is_one_line_with_facts() -> None:
    stream = io.StringIO()
    logs.setup("info", "text", stream)
    facts = {"hits": 3, "ms": 0.5, "why": "two words", "odd": "a\nb", "none": None}
    logs.note(logging.getLogger("recollect.engine"), logging.INFO, "recalled", **facts)
    (line,) = lines(stream)
    moment, rest = line.split(" ", 1)
    assert moment.endswith("Z")
    assert rest == 'INFO recollect.engine recalled hits=3 ms=0.5 why="two words" odd="a\\nb"'


def test_the_json_form_is_one_object_with_facts() -> None:
    stream = io.StringIO()
    logs.setup("info", "json", stream)
    logs.note(logging.getLogger("recollect.engine"), logging.INFO, "recalled", hits=3)
    told = json.loads(stream.getvalue())
    assert told.pop("at").endswith("Z")
    assert told == {
        "level": "info",
        "logger": "recollect.engine",
        "event": "recalled",
        "hits": 3,
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_logged_by_its_class_and_never_by_its_words(form: str) -> None:
    stream = io.StringIO()
    logs.setup("info", "json" if form == "json" else "text", stream)
    try:
        raise ValueError(CANARY)
    except ValueError:
        logging.getLogger("recollect.engine").exception("failed")
    assert "ValueError" in stream.getvalue()
    assert CANARY not in stream.getvalue()


def test_setting_up_again_replaces_the_handler_and_the_level() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.setup("debug", "text", first)
    logs.setup("warning", "text", second)
    logger = logging.getLogger("recollect.engine")
    logger.info("quiet")
    logger.warning("loud")
    assert (lines(first), len(lines(second))) == ([], 1)


def test_a_program_that_sets_up_nothing_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with open_memory() as memory:
        memory.remember("tea")
    assert capsys.readouterr() == ("", "")


def whole_story(folder: Path) -> None:
    """Every use-case, with the canary in every text, name and reason, and in what is refused."""
    with recollect.open(str(folder / "memory.db"), embedder=HashEmbedder(16)) as memory:
        ana = memory.scope(user=f"ana {CANARY}")
        texts = [f"{CANARY} number {number}" for number in range(300)]
        ana.remember_many([{"text": text, "metadata": {"x": CANARY}} for text in texts])
        one = ana.remember(f"I moved to {CANARY}.", tags=[CANARY], key=CANARY, reason=CANARY)
        ana.recall(CANARY)
        new = ana.correct(one, f"I left {CANARY}.", reason=CANARY)
        ana.update(new, text=f"I really left {CANARY}.")
        ana.undo(ana.history(new)[-1].event.id)
        ana.profile("personal_info").merge({"name": CANARY})
        with ana.session() as chat:
            chat.add("user", CANARY)
        for refused in (f"\x00{CANARY}", CANARY * 100_000):
            with pytest.raises(recollect.RecollectError):
                ana.remember(refused)
        with pytest.raises(recollect.RecollectError):
            ana.list(where={CANARY: 1})
        memory.export(str(folder / "all.jsonl"), everything=True)
        memory.backup(str(folder / "copy.db"))
        memory.verify(repair=True)
        ana.forget(new)
        memory.forget(user=f"ana {CANARY}", reason=CANARY)
        memory.import_(str(folder / "all.jsonl"))


@pytest.mark.acceptance("X.3")
@pytest.mark.parametrize("form", ["text", "json"])
def test_content_never_gets_into_the_logs(form: str, tmp_path: Path) -> None:
    stream = io.StringIO()
    logs.setup("debug", "json" if form == "json" else "text", stream)
    whole_story(tmp_path)
    told = stream.getvalue()
    for event in ("opened", "committed", "remembered", "recalled", "erased", "backed up"):
        assert event in told
    assert CANARY.lower() not in told.lower()


def test_an_operator_learns_sizes_times_and_the_receipt(tmp_path: Path) -> None:
    stream = io.StringIO()
    logs.setup("debug", "json", stream)
    with recollect.open(str(tmp_path / "memory.db")) as memory:
        told = memory.remember("tea")
        memory.remember_many(["milk", "café"])
        memory.recall("tea")
        receipt = memory.forget(told)
        memory.verify()
    found = [json.loads(line) for line in lines(stream)]
    events = {one["event"]: one for one in found}
    single, batch = (one for one in found if one["event"] == "remembered")
    assert (single["id"], single["stored"], single["bytes"]) == (told.id, 1, 3)
    assert (batch["stored"], batch["bytes"], batch["failed"], "id" in batch) == (2, 9, 0, False)
    assert (events["recalled"]["hits"], events["recalled"]["searched"]) == (1, 3)
    assert (events["erased"]["receipt"], events["erased"]["memories"]) == (receipt.id, 1)
    assert events["verified"]["findings"] == 0
    assert events["opened"]["durability"] == "full"
    assert [one["event"] for one in found][-1] == "closed"
    assert all(one["ms"] >= 0 for one in found if "ms" in one)


def test_an_embedder_that_does_not_answer_is_a_warning() -> None:
    class Broken(HashEmbedder):
        async def embed(self, texts: object, purpose: object) -> None:  # type: ignore[override]
            raise ProviderError(f"cannot embed {CANARY}")

    stream = io.StringIO()
    logs.setup("warning", "json", stream)
    with open_memory(embedder=Broken(16), clock=FrozenClock()) as memory:
        memory.remember("tea")
    told = json.loads(lines(stream)[0])
    assert told["event"] == "the embedder did not answer"
    assert (told["level"], told["texts"], told["error"]) == ("warning", 1, "ProviderError")
    assert CANARY not in stream.getvalue()
