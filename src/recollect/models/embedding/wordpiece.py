"""WordPiece: text to token numbers, as BERT's uncased models were trained to read it.

Decides what a word is, how it is folded and into which pieces it falls: equal, token for token, to
the original tokenizer with its marks read as text (`[SEP]` in a text is four tokens, never a
separator). Signs that Unicode took in after the original's tables were made are folded by their
categories, which the original does not know. Knows nothing of models, batches or lengths.
"""

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

CLS, SEP, UNK, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
WORD_CHARS_MAX = 100  #: characters of a word; longer ones are unknown, as in the original
CACHED_WORDS_MAX = 50_000
CACHED_CHARS_MAX = 40  #: longer runs are hardly ever seen twice

#: What separates words. Other control characters vanish and join what stands around them.
_RUN = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
#: The ideographs that stand for words of their own, with a slip of the original: U+2B820 to
#: U+2B91F are left out there too.
_IDEOGRAPH = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f])"
)


class WordPiece:
    """A vocabulary, and the pieces of every word seen so far.

    >>> WordPiece(["[UNK]", "play", "##ing"]).ids("Playing!")
    [1, 2, 0]
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._longest = max(map(len, vocabulary))
        self._unknown = self._ids[UNK]
        self._cached: dict[str, tuple[int, ...]] = {}

    def id(self, token: str) -> int:
        """The number of a token of the vocabulary."""
        return self._ids[token]

    def ids(self, text: str) -> list[int]:
        """The numbers of a text's tokens, without marks for its beginning and end."""
        found: list[int] = []
        cached = self._cached
        for run in _RUN.findall(text):
            pieces = cached.get(run)
            found.extend(self._run(run) if pieces is None else pieces)
        return found

    def _run(self, run: str) -> tuple[int, ...]:
        """The pieces of what stands between two spaces."""
        pieces = tuple(piece for word in _words(run) for piece in self._pieces(word))
        if len(run) <= CACHED_CHARS_MAX:
            if len(self._cached) >= CACHED_WORDS_MAX:
                self._cached.clear()
            self._cached[run] = pieces
        return pieces

    def _pieces(self, word: str) -> Sequence[int]:
        """A word as the longest pieces that the vocabulary has, from its start on."""
        if len(word) > WORD_CHARS_MAX:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            before = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._ids.get(before + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(number)
            start = end
        return pieces


def _words(run: str) -> Iterator[str]:
    """Words and punctuation marks of a run, folded: no case, no accents, no control characters."""
    if run.isascii():
        folded = run.lower() if run.isprintable() else _visible(run).lower()
    else:
        spaced = _IDEOGRAPH.sub(r" \1 ", _visible(run))
        bare = (c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
        folded = "".join(c.lower() for c in bare)
    if folded.isalnum():
        yield folded
        return
    start = 0
    for at, char in enumerate(folded):
        if char != " " and not _is_punctuation(char):
            continue
        if start < at:
            yield folded[start:at]
        if char != " ":
            yield char
        start = at + 1
    if start < len(folded):
        yield folded[start:]


def _visible(run: str) -> str:
    return "".join(c for c in run if c != "\ufffd" and not _is_control(c))


@lru_cache(4096)
def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")


@lru_cache(4096)
def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")
