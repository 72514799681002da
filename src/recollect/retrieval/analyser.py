"""The one analyser: what counts as a term of a text, in any script.

Words are lower-cased, freed of accents and stemmed in their language. Scripts that write without
spaces are cut into single characters and pairs. Whatever is written as one token (an identifier, a
path, a version, an e-mail address) is a term as a whole besides its parts, so that exact strings
are found exactly. Stores know terms as 64-bit numbers.
"""

import re
import unicodedata
from hashlib import blake2b
from importlib.resources import files

import Stemmer

#: Letters and digits, and the marks that scripts set above, below and between them.
_LETTER = (
    r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3])"
)
_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*|[\u2190-\u2bff\u3030\U0001f000-\U0001faff]")
#: Tokens that mean more than their parts: joined by signs, in camel case, or ending in ++ or #.
_COMPOUND = re.compile(
    r"\w+(?:[-_./:@&+\\]+\w+)+|[^\W_]*[a-z][A-Z][^\W_]*|(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)"
)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: Scripts that are written without spaces between words.
_DENSE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_MARKS = re.compile(r"[\u0300-\u036f\u064b-\u0652]")
_CYRILLIC, _ARABIC, _GREEK = "\u0400\u04ff", "\u0600\u06ff", "\u0370\u03ff"
_SCRIPT_LANGUAGES = ((_CYRILLIC, "russian"), (_ARABIC, "arabic"), (_GREEK, "greek"))
#: What stands between two spaces is remembered with its terms, up to this many and this long.
_CACHE_MAX = 200_000
_CHUNK_CACHED = 40


class Analyser:
    """Turns texts into terms. `language` stems words in Latin script."""

    def __init__(self, language: str = "english") -> None:
        self._stemmers = {name: Stemmer.Stemmer(name) for _, name in _SCRIPT_LANGUAGES}
        self._latin = Stemmer.Stemmer(language)
        self._packed: dict[str, bytes] = {}
        self._stop = frozenset(
            term for word in _stop_words(language) for term in self._terms_of(word)
        )

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order and with repetitions.

        >>> Analyser().terms("She painted src/app.py")
        ['she', 'paint', 'src', 'app', 'py', 'src/app.py']
        """
        return [term for chunk in text.split() for term in self._terms_of(chunk)]

    def packed(self, text: str) -> bytes:
        """The terms of a text as stores index them."""
        known, chunks = self._packed, text.split()
        try:
            return b"".join([known[chunk] for chunk in chunks])
        except KeyError:
            return b"".join([self._packed_of(chunk) for chunk in chunks])

    def question(self, text: str) -> list[str]:
        """The terms that a question looks for: each once, without stop words if that leaves any."""
        terms = list(dict.fromkeys(self.terms(text)))
        return [term for term in terms if term not in self._stop] or terms

    def number(self, term: str) -> int:
        """A term as the number that stores know it by."""
        return int.from_bytes(_hashed(term), "little", signed=True)

    def _packed_of(self, chunk: str) -> bytes:
        packed = self._packed.get(chunk)
        if packed is None:
            packed = b"".join(_hashed(term) for term in self._terms_of(chunk))
            if len(chunk) <= _CHUNK_CACHED:
                if len(self._packed) > _CACHE_MAX:
                    self._packed.clear()
                self._packed[chunk] = packed
        return packed

    def _terms_of(self, chunk: str) -> list[str]:
        """The terms of what stands between two spaces."""
        words = _WORD.findall(chunk.lower())
        terms = [term for word in words for term in self._split(word)]
        if len(words) > 1 or not chunk.islower():
            for compound in _COMPOUND.findall(chunk):
                terms.extend(self._split_compound(compound))
        return terms

    def _split(self, word: str) -> list[str]:
        if word.isascii():
            return [self._stem(word.removesuffix("'s").replace("'", ""))]
        plain = unicodedata.normalize("NFKC", word).casefold().replace("’", "").replace("'", "")
        terms: list[str] = []
        at = 0
        for run in _DENSE.finditer(plain):
            terms.extend(self._spaced(plain[at : run.start()]))
            terms.extend(_dense_terms(run[0]))
            at = run.end()
        terms.extend(self._spaced(plain[at:]))
        return terms

    def _split_compound(self, compound: str) -> list[str]:
        """The whole token; and the words in its camel case, which its lower case hides."""
        whole = unicodedata.normalize("NFKC", compound).casefold()
        hidden = [
            self._stem(part.lower())
            for run in re.findall(r"[^\W_]*[a-z][A-Z][^\W_]*", compound)
            for part in _CAMEL.findall(run)
        ]
        return hidden if whole.isalnum() else [*hidden, whole]

    def _spaced(self, run: str) -> list[str]:
        if not run:
            return []
        for script, language in _SCRIPT_LANGUAGES:
            if script[0] <= run[0] <= script[1]:
                bare = _MARKS.sub("", run) if language == "arabic" else run
                return [self._stemmers[language].stemWord(bare)]
        return [self._stem(_MARKS.sub("", unicodedata.normalize("NFKD", run)))]

    def _stem(self, word: str) -> str:
        return word if any(map(str.isdigit, word)) else self._latin.stemWord(word)


def _dense_terms(run: str) -> list[str]:
    """Characters and pairs of characters."""
    return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]


def _hashed(term: str) -> bytes:
    return blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _stop_words(language: str) -> list[str]:
    name = f"stopwords_{language}.txt"
    listed = files("recollect.retrieval") / "language" / name
    return listed.read_text(encoding="utf-8").split() if listed.is_file() else []
