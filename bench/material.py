"""Seeded texts, vectors and questions to measure with; the same on every machine."""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20
DIMENSIONS = 384
USERS = 20
TEXT_WORDS = 20
QUESTION_WORDS = 6
VOCABULARY = 30_000
#: How steeply the use of words falls with their rank; English lies near 1.
ZIPF = 1.07
#: One in so many texts is a sentence that a person might say.
SAID_EVERY = 4
CLUSTERS = 1_000
#: How far vectors stray from the centre of their cluster; their own length is 1.
STRAY = 0.6

Vectors = NDArray[np.float32]

_COMMON = (
    "the of and to a in is it you that he was for on are with as his they be at one have this "
    "from or had by but not what all were we when your can said there use an each which she "
    "do how their if will up other about out many then them these so some her would make like "
    "him into time has look two more write go see number no way could people my than first "
    "been call who its now find long down day did get come made may part"
)
#: So many words are too common to be asked for.
COMMON = len(_COMMON.split())
_SAID = (
    "We flew to {0} in {1} and heard {2} there, mostly on {3}.",
    "My sister {0} is allergic to {1}, please never suggest {2} when we go out to eat.",
    "We decided to use {0} instead of {1} because the {2} was too slow for {3}.",
    "Remind me to send the {0} report to {1} before the meeting about {2} next week.",
    "I prefer {0} over {1}, and my favourite place to read about {2} is the library in {3}.",
    "The flight to {0} was cancelled, so {1} booked a train and a hotel near {2} for two nights.",
)
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words and as a vector, and the user whom it is asked about."""

    user: int
    text: str
    words: tuple[str, ...]
    vector: Vectors


@cache
def words() -> list[str]:
    """The vocabulary, most used first: common English words, then made-up ones."""
    chance = np.random.default_rng([SEED, 0])
    made: dict[str, None] = dict.fromkeys(_COMMON.split())
    while len(made) < VOCABULARY:
        picked = chance.integers(len(_SYLLABLES), size=int(chance.integers(2, 5)))
        made["".join(_SYLLABLES[i] for i in picked)] = None
    return list(made)


class Material:
    """An endless supply. Two of the same part supply the same."""

    def __init__(self, part: int = 1) -> None:
        self._chance = np.random.default_rng([SEED, part])
        self._words = words()
        weights = 1.0 / np.arange(1, VOCABULARY + 1) ** ZIPF
        self._reach = np.array(list(accumulate(weights / weights.sum())))
        centres = np.random.default_rng([SEED, 0]).standard_normal((CLUSTERS, DIMENSIONS))
        self._centres = unit(centres.astype(np.float32))

    def texts(self, count: int) -> list[str]:
        """That many texts of about twenty words."""
        drawn = self._drawn(count * TEXT_WORDS).reshape(count, TEXT_WORDS).tolist()
        sentences = [" ".join([self._words[rank] for rank in ranks]) for ranks in drawn]
        for at in range(0, count, SAID_EVERY):
            sentences[at] = _SAID[at // SAID_EVERY % len(_SAID)].format(
                *(string.capwords(self._words[rank]) for rank in drawn[at][:4])
            )
        return sentences

    def vectors(self, count: int) -> Vectors:
        """That many vectors of length 1, in clusters."""
        near = self._chance.integers(CLUSTERS, size=count)
        noise = self._chance.standard_normal((count, DIMENSIONS), dtype=np.float32)
        return unit(self._centres[near] + noise * np.float32(STRAY / DIMENSIONS**0.5))

    def questions(self, count: int, users: int = USERS) -> list[Question]:
        """Questions of six telling words, each user's in turn."""
        vectors = self.vectors(count)
        ranks = self._drawn(count * QUESTION_WORDS * 8)
        telling = [self._words[rank] for rank in ranks.tolist() if rank >= COMMON]
        asked = [
            tuple(telling[at : at + QUESTION_WORDS])
            for at in range(0, count * QUESTION_WORDS, QUESTION_WORDS)
        ]
        return [
            Question(at % users, f"what do you know about {' '.join(said)}?", said, vectors[at])
            for at, said in enumerate(asked)
        ]

    def batches(self, count: int, size: int = 1_000) -> Iterator[tuple[list[str], Vectors]]:
        """Texts with their vectors, in batches."""
        for start in range(0, count, size):
            part = min(size, count - start)
            yield self.texts(part), self.vectors(part)

    def _drawn(self, count: int) -> NDArray[np.intp]:
        ranks = np.searchsorted(self._reach, self._chance.random(count))
        return np.minimum(ranks, VOCABULARY - 1)


def unit(rows: Vectors) -> Vectors:
    """Rows brought to length 1."""
    lengths: Vectors = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths


def drafts(texts: Sequence[str], vectors: Vectors | None) -> list[dict[str, Any]]:
    """What `remember_many` takes."""
    if vectors is None:
        return [{"text": text} for text in texts]
    return [{"text": text, "vector": row} for text, row in zip(texts, vectors, strict=True)]
