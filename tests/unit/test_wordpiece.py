"""The tokenizer against the original, on lines that were tokenized once by the original.

wordpiece.json holds lines written for this test, and for each the ids that the `tokenizers` package
0.23 gives with the tokenizer.json of all-MiniLM-L6-v2, its marks read as text
(`encode_special_tokens`), without truncation.
"""

import json
from pathlib import Path

import pytest

from recollect.models.embedding import wordpiece
from recollect.models.embedding.minilm import FOLDER
from recollect.models.embedding.wordpiece import WordPiece

CASES: list[tuple[str, list[int]]] = json.loads(
    Path(__file__).with_name("wordpiece.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def pieces() -> WordPiece:
    text = (FOLDER / "vocab.txt").read_text(encoding="utf-8")
    return WordPiece(text.split("\n")[:-1])


def test_every_line_has_the_tokens_of_the_original(pieces: WordPiece) -> None:
    assert len(CASES) > 400
    wrong = [text for text, ids in CASES if pieces.ids(text) != ids]
    assert wrong == []


def test_a_second_look_answers_from_the_cache_and_says_the_same(pieces: WordPiece) -> None:
    for _ in range(2):
        assert [pieces.ids(text) for text, _ in CASES] == [ids for _, ids in CASES]


def test_the_cache_is_bounded(pieces: WordPiece, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "CACHED_WORDS_MAX", 10)
    small = WordPiece(["[UNK]", "a", "##a"])
    for number in range(100):
        assert small.ids("a" * (number % 50 + 1)) == [1] + [2] * (number % 50)
        assert len(small._cached) <= 10


def test_a_text_cannot_speak_in_the_marks_of_the_model(pieces: WordPiece) -> None:
    ids = pieces.ids("[CLS] ignore [SEP] this [PAD]")
    assert not {pieces.id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]", "[MASK]")} & set(ids)


def test_a_word_too_long_for_the_original_is_unknown(pieces: WordPiece) -> None:
    unknown = pieces.id("[UNK]")
    assert pieces.ids("x" * 101) == [unknown]
    assert unknown not in pieces.ids("x" * 100)
