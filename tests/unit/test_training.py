"""What the model is trained with: files, questions made by rule, leaks, eight bits, the export."""

import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from recollect.models.embedding.minilm import FOLDER
from training import base, facts, leaks
from training.conversations import Conversation, Question, read, write
from training.graph import LEVELS, PAIR_LEVELS, by_output, by_row
from training.judging import Judge

FILLERS = ("The weather has been strange.", "That band sold out again.", "Trains run late here.")
LONGER = ("The canal was finished in 1890 after many delays.", "Most of it is oxygen.")
CHECKPOINT = Path(__file__).parents[2] / "training" / "checkpoint.npz"


@pytest.fixture(scope="module")
def made() -> list[Conversation]:
    return facts.make(5, 6, FILLERS, LONGER)


# -- files -----------------------------------------------------------------------------------------


def test_what_is_written_is_read_again_and_the_bytes_are_the_same(
    made: list[Conversation], tmp_path: Path
) -> None:
    one, two = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"
    write(one, made)
    write(two, made)
    assert list(read(one)) == made
    assert one.read_bytes() == two.read_bytes()


def test_a_name_is_part_of_what_is_searched_and_a_role_is_not() -> None:
    talk = Conversation("test", (("Ana", "Hello."), ("assistant", "Hi.")), ())
    assert talk.texts == ["Ana: Hello.", "Hi."]


# -- questions made by rule ------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_conversations(made: list[Conversation]) -> None:
    assert facts.make(5, 6, FILLERS, LONGER) == made
    assert facts.make(6, 6, FILLERS, LONGER) != made


def test_every_line_of_the_file_can_be_said_or_asked() -> None:
    slots, topics = facts.topics()
    persons = {"x", "x2", "xs", *facts.PERSONS["third"]}
    for topic in topics:
        said = {line.letters for line in topic.of("s")}
        for line in topic.lines:
            wanted = {name.rstrip("2") for name in facts.named(line.text)} - {"x", *persons}
            assert wanted <= set(slots), (topic.name, line.text)
            assert line.kind in "sqlw", (topic.name, line.text)
            if line.kind != "s" and line.letters:
                assert said & set(line.letters), (topic.name, line.text)


def test_questions_point_to_turns_of_whom_they_ask_about(made: list[Conversation]) -> None:
    for one in made:
        names = {speaker for speaker, _ in one.turns}
        assert len(one.questions) > 20
        for asked in one.questions:
            assert asked.gold
            assert "{" not in asked.text
            speakers = {one.turns[turn][0] for turn in asked.gold}
            assert len(speakers) == 1
            named = {name for name in names if name.lower() in asked.text.lower()}
            assert not named or speakers <= named, asked.text


def test_a_user_asks_in_the_first_person_and_may_ask_what_the_assistant_said(
    made: list[Conversation],
) -> None:
    [own] = [one for one in made[:3] if one.source == "facts1p"]
    texts = [asked.text for asked in own.questions]
    assert not [text for text in texts if "does I" in text or "Has I " in text]
    assert any(" I " in text for text in texts)
    answered = {own.turns[turn][0] for asked in own.questions for turn in asked.gold}
    assert answered == {"user", "assistant"}


def test_when_is_asked_only_where_a_time_is_told(made: list[Conversation]) -> None:
    slots, _ = facts.topics()
    times = [*slots["when"], *slots["soon"]]
    asked = [(one, q) for one in made for q in one.questions if q.text.startswith("When did")]
    assert asked
    for one, question in asked:
        for turn in question.gold:
            assert any(time.lower() in one.turns[turn][1].lower() for time in times)


def test_small_talk_says_nothing_about_oneself() -> None:
    turns = (("Ana", "I love the theater very much."), ("Ben", "The theater opened in 1921 here."))
    squad = (("", "the canal of the north was finished in 1890 after many long delays."),)
    fillers, longer = facts.small_talk(
        [Conversation("topical", turns, ()), Conversation("squad", squad, ())]
    )
    assert fillers == ["The theater opened in 1921 here."]
    assert longer == ["The canal of the north was finished in 1890 after many long delays."]


# -- leaks -----------------------------------------------------------------------------------------


def test_eight_words_in_a_row_are_a_leak_and_seven_are_not() -> None:
    measured = ["We went to the old harbor on a cold Sunday morning."]
    assert leaks.shared(["They went to the old harbor on a cold day."], measured)
    assert not leaks.shared(["They met at the old harbor on a cold day."], measured)
    [(run, text), *_] = leaks.shared(["WENT to the old harbor, on a cold boat!"], measured).items()
    assert " ".join(run) == "went to the old harbor on a cold"
    assert text.startswith("WENT")


# -- judging ---------------------------------------------------------------------------------------


def test_a_judge_counts_what_is_found_by_the_best_passage(tmp_path: Path) -> None:
    filler = "Nothing of interest was said on that day by anyone. " * 20
    turns = [
        {"id": "a", "speaker": "Ana", "text": f"{filler}The key is under the stone."},
        {"id": "b", "speaker": "Ben", "text": "It rained."},
        *({"id": f"c{i}", "speaker": "Ben", "text": f"Sentence {i}."} for i in range(9)),
    ]
    talk = {"conv_id": "1", "sessions": [{"id": "s", "time": "2024-01-01T00:00:00Z"}]}
    talk["sessions"][0]["turns"] = turns  # type: ignore[index]
    asked = {"conv_id": "1", "qid": "q", "category": "place", "evidence": ["a"]}
    asked["question"] = "stone"
    (tmp_path / "toy.conversations.jsonl").write_text(json.dumps(talk) + "\n")
    (tmp_path / "toy.questions.jsonl").write_text(json.dumps(asked) + "\n")

    def encode(texts: object) -> np.ndarray:
        return np.array([["stone" in text, 0.1] for text in texts], dtype=float)  # type: ignore[attr-defined]

    table = Judge(tmp_path).table(encode)
    assert table["toy"] == {"all": (100.0, 100.0, 100.0), "place": (100.0, 100.0, 100.0)}


# -- eight bits and the export ---------------------------------------------------------------------


def test_a_table_in_eight_bits_is_within_half_a_step() -> None:
    table = np.random.default_rng(1).normal(size=(40, 16)).astype(np.float32)
    small, scales = by_row(table)
    assert np.abs(small * scales - table).max() <= scales.max() / 2 + 1e-6
    assert np.abs(small.astype(int)).max() == LEVELS


def test_no_pair_of_neighbours_overflows_sixteen_bits() -> None:
    matrix = np.random.default_rng(2).normal(size=(30, 24)).astype(np.float32)
    matrix[3, 4:6] = 5.0
    small, scales = by_output(matrix)
    wide = small.astype(int)
    for signed in (np.maximum(wide, 0), np.maximum(-wide, 0)):
        assert (signed[:, 0::2] + signed[:, 1::2]).max() <= PAIR_LEVELS
    assert np.abs(small * scales[:, None] - matrix).max() <= scales.max() / 2 + 1e-6


def test_tensors_are_read_from_a_file_of_weights() -> None:
    numbers = np.arange(6, dtype=np.float32)
    table = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "pooler.b": {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]},
    }
    head = json.dumps(table).encode()
    file = len(head).to_bytes(8, "little") + head + numbers.tobytes() + b"\0" * 4
    found = base.tensors(file)
    assert list(found) == ["a"]
    np.testing.assert_array_equal(found["a"], numbers.reshape(2, 3))


def test_the_package_names_the_checkpoint_that_it_was_made_from() -> None:
    said = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))
    assert said["checkpoint_sha256"] == hashlib.sha256(CHECKPOINT.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("onnx") is None,
    reason="needs onnx (pip install it) and the package index",
)
def test_the_files_in_the_package_are_what_the_checkpoint_exports() -> None:
    from training.exporting import checkpoint, contents
    from training.graph import build

    published, vocabulary = base.fetch()
    model = build(checkpoint(CHECKPOINT, published[base.WORDS]))
    for name, content in contents(model, vocabulary, CHECKPOINT.read_bytes()):
        held = (FOLDER / name).read_bytes()
        assert hashlib.sha256(held).hexdigest() == hashlib.sha256(content).hexdigest(), name


# -- learning --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch (pip install it)"
)
def test_a_tiny_model_learns_a_tiny_conversation() -> None:
    import torch

    from training.bert import Encoder
    from training.learning import Material, Plan, Texts, learn
    from training.tokens import Tokens

    words = sorted({w for i in range(9) for w in (f"thing{i}", f"place{i}")})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    turns = tuple(("user", f"thing{i} thing{i}") for i in range(9))
    questions = tuple(Question(f"place{i}", (i,)) for i in range(9))
    tokens = Tokens(vocabulary, 8)
    material = Material([Conversation("facts", turns, questions)], tokens)
    weights = _tiny(len(vocabulary))
    model, texts = Encoder(weights), Texts(tokens, "cpu")

    def right() -> int:
        vectors = texts.encode_all(model, range(len(tokens.rows)))
        return int(
            (vectors[material.asked[0]] @ vectors[material.turns[0]].T)
            .argmax(1)
            .eq(torch.arange(9))
            .sum()
        )

    torch.set_num_threads(1)
    before = right()
    learn(model, material, texts, Plan(epochs=40, rate=5e-3, dropout=0.0))
    assert before < 5
    assert right() >= 7
    np.testing.assert_array_equal(model.weights()[base.WORDS], weights[base.WORDS])


def _tiny(words: int, size: int = 24) -> dict[str, np.ndarray]:
    """Random weights by the published names."""
    from training.bert import KINDS, LAYERS, PLACES

    chance = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {
        base.WORDS: (words, size),
        PLACES: (16, size),
        KINDS: (2, size),
        "embeddings.LayerNorm": (size,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            shapes[f"{name}.attention.self.{part}"] = (size, size)
        shapes[f"{name}.attention.output.dense"] = (size, size)
        shapes[f"{name}.attention.output.LayerNorm"] = (size,)
        shapes[f"{name}.intermediate.dense"] = (2 * size, size)
        shapes[f"{name}.output.dense"] = (size, 2 * size)
        shapes[f"{name}.output.LayerNorm"] = (size,)
    found: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            found[f"{name}.weight"] = np.ones(shape, dtype=np.float32)
            found[f"{name}.bias"] = np.zeros(shape, dtype=np.float32)
        elif name.startswith("embeddings."):
            loud = np.eye(*shape, k=-4) * 20 if name == base.WORDS else 0.0
            found[name] = (chance.normal(size=shape) / 10 + loud).astype(np.float32)
        else:
            found[f"{name}.weight"] = (chance.normal(size=shape) / 5).astype(np.float32)
            found[f"{name}.bias"] = np.zeros(shape[0], dtype=np.float32)
    return found
