"""The model that comes with the package, run for real, and what chooses it."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.client.runner import Inline
from recollect.domain.errors import MissingExtra, ProviderError, ValidationError
from recollect.domain.passages import WORDS_MAX, WORDS_MIN, passages
from recollect.models.embedding import minilm
from recollect.models.embedding.callable import CallableEmbedder
from recollect.models.embedding.minilm import MiniLM
from recollect.testing import open_memory
from training import base

Vectors = NDArray[np.float32]

#: Two sentences that say the same in other words, and one that shares words with the first only.
TRIPLES = (
    ("I quit my job at the bank.", "She resigned from her position.", "I robbed the bank."),
    ("My sister is a nurse.", "A sibling works in a hospital.", "My sister is tall."),
    ("We adopted a grey cat.", "The family got a kitten.", "The wall is grey."),
    ("I can't eat peanuts.", "Nuts make him ill.", "I can't hear you."),
    ("He moved to Lisbon.", "He now lives in Portugal.", "He moved the table."),
    ("The server does not respond.", "The service is down.", "The waiter does not respond."),
)
WITHOUT_RUNTIME = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "onnxruntime":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import recollect
"""


def embed(*texts: str, threads: int = 1) -> Vectors:
    return Inline().run(MiniLM(threads=threads).embed(texts, "passage"))


def run(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def lines() -> list[str]:
    """Texts in many scripts and of many lengths."""
    path = Path(__file__).parents[1] / "unit/wordpiece.json"
    return [text for text, _ in json.loads(path.read_text(encoding="utf-8"))][::6]


# -- the vectors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "paraphrase", "lookalike"), TRIPLES)
def test_a_paraphrase_is_nearer_than_a_sentence_of_the_same_words(
    text: str, paraphrase: str, lookalike: str
) -> None:
    one, same, other = embed(text, paraphrase, lookalike)
    unrelated = embed("The comet returns in seventy-six years.")[0]
    assert one @ same > one @ unrelated + 0.1
    assert one @ same > 0.25
    assert other @ same < one @ same + 0.05


def test_every_vector_has_unit_length_and_the_dimensions_of_the_model(lines: list[str]) -> None:
    vectors = embed(*lines)
    assert vectors.shape == (len(lines), MiniLM().dimensions) == (len(lines), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_same_texts_give_the_same_bytes(lines: list[str]) -> None:
    assert embed(*lines).tobytes() == embed(*lines).tobytes()


def test_a_text_has_one_vector_whatever_it_is_run_together_with(lines: list[str]) -> None:
    together = embed(*lines)
    for line, vector in zip(lines, together, strict=True):
        np.testing.assert_allclose(embed(line)[0], vector, atol=1e-5)


def test_several_threads_of_the_model_say_the_same(lines: list[str]) -> None:
    np.testing.assert_allclose(embed(*lines[:20], threads=2), embed(*lines[:20]), atol=1e-5)


@pytest.mark.parametrize(
    "odd", ["", " ", "\n\t", "\x00", "\u200d", "🥜", "中", "a" * 5000, "\ufffd" * 9]
)
def test_whatever_is_no_text_has_a_direction_too(odd: str) -> None:
    vector = embed(odd)[0]
    assert np.isfinite(vector).all()
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


def test_no_text_gives_no_vector() -> None:
    assert embed().shape == (0, 384)
    assert MiniLM().encode([]) == []


def test_the_space_names_model_revision_and_dimension() -> None:
    assert MiniLM().space == "recollect-minilm-int8-1-384"


def test_the_files_are_those_that_the_tool_wrote_and_carry_their_licence() -> None:
    card = json.loads((minilm.FOLDER / "model.json").read_text(encoding="utf-8"))
    model = (minilm.FOLDER / "model.onnx").read_bytes()
    assert hashlib.sha256(model).hexdigest() == card["model_sha256"]
    assert card["base_sha256"] == base.DIGESTS[base.WEIGHTS]
    vocabulary = (minilm.FOLDER / "vocab.txt").read_bytes()
    assert hashlib.sha256(vocabulary).hexdigest() == base.DIGESTS[base.VOCABULARY]
    assert "Apache License" in (minilm.FOLDER / "LICENSE").read_text(encoding="utf-8")
    notice = (minilm.FOLDER / "NOTICE").read_text(encoding="utf-8")
    for named in ("all-MiniLM-L6-v2", "CC BY 4.0", "CC BY-SA 4.0", "CDLA-Sharing-1.0"):
        assert named in notice
    assert len(model) < 24_000_000


# -- long texts ------------------------------------------------------------------------------------


def test_the_end_of_a_long_text_counts() -> None:
    filler = "The committee met again and talked about the budget of the town. " * 60
    plain, long, fact = embed(filler, filler + "I am allergic to peanuts. " * 20, "peanut allergy")
    assert long @ fact > plain @ fact + 0.05


def test_a_long_text_without_a_space_is_read_to_its_end() -> None:
    [found] = MiniLM().encode(["猫" * 1000])
    assert len(found.token_ids) == 1000
    assert found.ends == (254, 508, 762, 1000)


@pytest.mark.slow
def test_a_very_long_text_takes_bounded_work() -> None:
    [found] = MiniLM().encode(["one two three four five six seven eight nine ten. " * 20_000])
    assert len(found.ends) == minilm.PASSAGES_MAX


def test_passages_end_where_sentences_end() -> None:
    sentence = "This is a sentence of exactly eight words. "
    cut = list(passages(sentence * 40))
    assert [len(passage.split()) for passage in cut] == [88, 88, 88, 56]
    assert all(passage.endswith("words.") for passage in cut)


def test_a_short_rest_joins_the_passage_before_it() -> None:
    words = "word " * (WORDS_MAX + WORDS_MIN - 1)
    assert [len(passage.split()) for passage in passages(words)] == [WORDS_MAX + WORDS_MIN - 1]
    longer = "word " * (WORDS_MAX + WORDS_MIN)
    assert [len(passage.split()) for passage in passages(longer)] == [WORDS_MAX, WORDS_MIN]


def test_passages_lose_no_word(lines: list[str]) -> None:
    text = "\n".join(lines * 3)
    assert " ".join(passages(text)).split() == text.replace("。", "。 ").split()


# -- token vectors ---------------------------------------------------------------------------------


def test_encode_gives_the_tokens_of_the_run_that_gave_the_vector(lines: list[str]) -> None:
    vectors = embed(*lines)
    for found, vector in zip(MiniLM().encode(lines), vectors, strict=True):
        np.testing.assert_allclose(found.vector, vector, atol=1e-6)
        assert found.token_vectors.shape == (len(found.token_ids), 384)
        assert found.ends[-1] == len(found.token_ids)
        lengths = np.linalg.norm(found.token_vectors, axis=1)
        np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_a_token_is_seen_in_its_sentence() -> None:
    river, money, same = MiniLM().encode(
        ["the bank of the river", "the bank lends money", "the bank lends money"]
    )
    assert river.token_ids[1] == money.token_ids[1]
    assert river.token_vectors[1] @ money.token_vectors[1] < 0.9
    assert same.token_vectors[1] @ money.token_vectors[1] > 0.999


# -- one warm model --------------------------------------------------------------------------------


def test_threads_that_begin_at_once_share_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = minilm._load
    monkeypatch.setattr(minilm, "_SHELF", minilm._Shelf())
    monkeypatch.setattr(minilm, "_load", lambda threads: (loads.append(threads), load(threads))[1])
    begin, made = threading.Barrier(6), dict[int, Vectors]()

    def work(number: int) -> None:
        begin.wait()
        made[number] = embed("Where does she live?", f"thread {number}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert loads == [1]
    for number, vectors in made.items():
        np.testing.assert_array_equal(vectors, embed("Where does she live?", f"thread {number}"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.slow
def test_a_forked_child_embeds_though_a_thread_held_the_lock() -> None:
    program = """
import os, sys
from recollect.client.runner import Inline
from recollect.models.embedding import minilm
def embed(threads):
    return Inline().run(minilm.MiniLM(threads=threads).embed(["hello"], "passage")).tobytes()
before = embed(1), embed(2)
minilm._SHELF.lock.acquire()
child = os.fork()
if not child:
    os._exit(0 if (embed(1), embed(2)) == before else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run(program)


# -- in a memory -----------------------------------------------------------------------------------


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(str(tmp_path / "m.db"), embedder="local") as memory:
        memory.remember_many(["Clara is a nurse.", "Our cat is called Pebble.", "It rained."])
        yield memory


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Who works at a hospital?", "Clara"), ("Do they have a pet?", "Pebble")],
)
def test_recall_finds_what_shares_no_word(
    facts: recollect.Memory, question: str, answer: str
) -> None:
    found = facts.recall(question)
    assert found.top is not None
    assert answer in found.top.text
    assert "meaning" in found.top.why.shares
    assert found.lanes == ("words", "meaning")
    assert found.degraded == ()


def test_inside_an_event_loop_the_model_works_in_a_thread(tmp_path: Path) -> None:
    seen: list[str] = []

    def function(texts: list[str]) -> list[list[float]]:
        seen.append(threading.current_thread().name)
        return [[1.0, 0.0] for _ in texts]

    async def story() -> None:
        file = str(tmp_path / "m.db")
        async with recollect.AsyncMemory.open(file, embedder=function) as memory:
            await memory.remember("I moved to Lisbon.")
        async with recollect.AsyncMemory.open(file, embedder="local") as memory:
            await memory.remember("Our cat is called Pebble.")
            found = await memory.recall("Do they have a pet?")
            assert found.top is not None
            assert "Pebble" in found.top.text

    asyncio.run(story())
    assert seen
    assert threading.main_thread().name not in seen


def test_vectors_that_callers_bring_stay_apart_from_a_model_nobody_asked_for(
    tmp_path: Path,
) -> None:
    with recollect.open(str(tmp_path / "m.db"), embedder="auto") as memory:
        memory.remember("I moved to Lisbon.", vector=[1.0, 0.0])
        memory.remember("Our cat is called Pebble.")
        by_vector = memory.recall("Where is home?", vector=[1.0, 0.0])
        by_words = memory.recall("Do they have a pet?")
    assert by_vector.top is not None
    assert by_vector.top.text == "I moved to Lisbon."
    assert by_words.top is not None
    assert "Pebble" in by_words.top.text
    with recollect.open(str(tmp_path / "n.db"), embedder="auto") as memory:
        pebble = embed("Our cat is called Pebble.")[0]
        memory.remember("zzz", vector=pebble)  # as long as the model's, yet not known to be of it
        assert memory.recall("Do they have a pet?").top is None
        top = memory.recall("Do they have a pet?", vector=pebble).top
        assert top is None or top.text == "zzz"
    with (
        recollect.open(str(tmp_path / "o.db"), embedder="local") as memory,
        pytest.raises(ValidationError, match="2 dimensions"),
    ):
        memory.remember("I moved to Lisbon.", vector=[1.0, 0.0])


# -- choosing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "lanes"),
    [("auto", ("words", "meaning")), ("local", ("words", "meaning")), ("none", ("words",))],
)
def test_the_setting_chooses(
    setting: str, lanes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", setting)
    with recollect.open(str(tmp_path / "m.db")) as memory:
        memory.remember("I moved to Lisbon.")
        assert memory.recall("Lisbon").lanes == lanes


def test_an_unknown_embedder_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="auto, none, local"):
        recollect.open(str(tmp_path / "m.db"), embedder="hal")
    with pytest.raises(ValidationError, match="function from texts to vectors"):
        recollect.open(str(tmp_path / "m.db"), embedder=9000)
    with pytest.raises(ValidationError, match="threads must be from 1"):
        MiniLM(threads=0)


def test_without_the_extra_recall_goes_by_words_and_says_so(tmp_path: Path) -> None:
    program = f"""{WITHOUT_RUNTIME}
with recollect.open({str(tmp_path / "m.db")!r}) as memory:
    memory.remember("I moved to Lisbon.")
    found = memory.recall("lisbon")
    print(found.top.text, found.lanes, found.degraded)
"""
    told = run(program, RECOLLECT_EMBEDDER="auto")
    assert told == "I moved to Lisbon. ('words',) ()\n"


def test_asking_for_the_model_without_the_extra_names_the_extra(tmp_path: Path) -> None:
    program = f"""{WITHOUT_RUNTIME}
try:
    recollect.open({str(tmp_path / "m.db")!r}, embedder="local")
except recollect.RecollectError as exc:
    print(type(exc).__name__, exc)
"""
    told = run(program)
    assert told.startswith("MissingExtra")
    assert "pip install 'recollect[local]'" in told
    assert not (tmp_path / "m.db").exists()


def test_a_runtime_that_cannot_be_loaded_degrades_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "_SHELF", minilm._Shelf())
    with recollect.open(str(tmp_path / "m.db"), embedder="local") as memory:
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        assert memory.remember("I moved to Lisbon.").pending_embedding
        found = memory.recall("lisbon")
        assert len(found) == 1
        assert found.degraded == ("meaning",)
        monkeypatch.undo()
        assert memory.catch_up() == 1
        assert memory.recall("Where is her home?").top is not None


def test_missing_extra_is_raised_where_the_model_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="recollect\\[local\\]"):
        MiniLM()


def test_a_memory_for_tests_takes_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "auto")
    with open_memory() as memory:
        memory.remember("I moved to Lisbon.")
        assert memory.recall("lisbon").lanes == ("words",)


# -- what it costs ---------------------------------------------------------------------------------


def test_opening_writing_nothing_and_listing_load_no_runtime(tmp_path: Path) -> None:
    program = f"""
import sys, recollect
with recollect.open({str(tmp_path / "m.db")!r}, embedder="local") as memory:
    memory.list(); memory.stats()
    print("onnxruntime" in sys.modules)
    memory.recall("hello")
    print("onnxruntime" in sys.modules)
"""
    assert run(program).split() == ["False", "True"]


@pytest.mark.slow
def test_a_cold_process_recalls_within_a_second_of_cpu(tmp_path: Path) -> None:
    file = str(tmp_path / "m.db")
    with recollect.open(file, embedder="local") as memory:
        memory.remember("Our cat is called Pebble.")
    program = f"""
import time, recollect
with recollect.open({file!r}, embedder="local") as memory:
    assert "Pebble" in memory.recall("Do they have a pet?").top.text
print(time.process_time())
"""
    assert min(float(run(program)) for _ in range(3)) <= 1.0


# -- any function ----------------------------------------------------------------------------------


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Counts of vowels: a model of sorts."""
    return [[text.count(vowel) + 0.1 for vowel in "aeiou"] for text in texts]


def test_any_function_is_an_embedder(tmp_path: Path) -> None:
    with recollect.open(str(tmp_path / "m.db"), embedder=letters) as memory:
        memory.remember_many(["banana", "kiwi ii", "tofu uu"])
        found = memory.recall("aaa")
    assert found.top is not None
    assert found.top.text == "banana"
    assert found.lanes == ("words", "meaning")


def test_a_function_names_its_space_and_shows_its_dimensions() -> None:
    assert CallableEmbedder(letters).space == "letters-5"
    assert CallableEmbedder(lambda _: [[1.0]], space="toy").space == "toy-1"
    embedder = CallableEmbedder(letters)
    Inline().run(embedder.embed(["a", "b"], "question"))
    assert embedder.dimensions == 5


@pytest.mark.parametrize(
    "answer", [[[1.0, np.nan]], [[np.inf, 1.0]], [1.0, 2.0], [[1.0], [2.0]], [[]], None, ["x"], 7]
)
def test_a_function_that_answers_nonsense_is_a_failing_provider(answer: object) -> None:
    embedder = CallableEmbedder(lambda _: answer, space="odd")
    with pytest.raises(ProviderError, match="odd"):
        Inline().run(embedder.embed(["one text"], "passage"))


def test_a_function_that_changes_its_dimensions_is_a_failing_provider() -> None:
    embedder = CallableEmbedder(lambda texts: [[1.0] * len(texts[0])], space="odd")
    Inline().run(embedder.embed(["abc"], "passage"))
    with pytest.raises(ProviderError, match="4 dimensions"):
        Inline().run(embedder.embed(["abcd"], "passage"))


def test_a_function_that_fails_stops_no_write_and_no_recall(tmp_path: Path) -> None:
    def broken(texts: Sequence[str]) -> list[list[float]]:
        raise OSError("no route to host")

    with recollect.open(str(tmp_path / "m.db"), embedder=broken) as memory:
        memory.remember("I moved to Lisbon.")
        found = memory.recall("lisbon")
    assert len(found) == 1
    assert found.lanes == ("words",)
    assert found.degraded == ("meaning",)


def test_an_async_function_is_refused_with_what_to_give_instead() -> None:
    async def later(texts: Sequence[str]) -> list[list[float]]:
        return letters(texts)

    with pytest.raises(ValidationError, match="inline = False"):
        CallableEmbedder(later)
