"""Summaries: what a model is asked, what of its answer is taken, and how to do without one.

Without a model the sentences that say most are kept, in their order. Either way a summary grows:
the one before it and what was said since make the next.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from recollect.context.quoting import block, indented

Count = Callable[[str], int]
#: Words of a reference's summary.
REFERENCE_WORDS = 50
#: What a message over the threshold may contribute to a summary, in tokens.
LONG_TOKENS = 200
#: The least that a chunk holds, however small the model's window is.
CHUNK_TOKENS_MIN = 128
#: Sentences that a summary without a model chooses from: of a longer text the first and the last.
SENTENCES_MAX = 20_000
_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+(?=\s|$)|[.!?。！？]|\n|$)")
_WORD = re.compile(r"\w{4,}|[^\W\d_a-zA-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_SPEAKER = re.compile(r"^\w[\w -]{0,40}: ")
_PROMPTS = Path(__file__).parent / "prompts"


@cache
def prompt(name: str) -> str:
    """The text of a prompt."""
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8").strip()


def asked(previous: str, parts: Sequence[str]) -> str:
    """What a model is given to summarise: the summary so far and what was said since, as data."""
    blocks = [block("summary", "The summary so far.", indented(previous))] if previous else []
    said = "\n".join(indented(part) for part in parts)
    return "\n".join([*blocks, block("messages", "What was said since.", said)])


def usable(answer: str, tokens_max: int, count: Count) -> str | None:
    """A model's answer as a summary of bounded length; None when it says nothing."""
    text = answer.replace("\x00", "").encode("utf-8", "ignore").decode().strip()
    return cut(text, tokens_max, count) if _LETTER.search(text) else None


def cut(text: str, tokens_max: int, count: Count) -> str:
    """The first sentences of a text that fit, or the beginning of the first."""
    if count(text) <= tokens_max:
        return text
    kept = ""
    for sentence in _SENTENCE.findall(text):
        if count(kept + sentence) > tokens_max:
            break
        kept += sentence
    words = text.split()
    while not kept.strip() and words:
        words = words[: len(words) // 2]
        shorter = " ".join(words)
        if count(shorter) <= tokens_max:
            kept = shorter
    return kept.strip() or text[:tokens_max]


def chunks(parts: Sequence[str], tokens_max: int, count: Count) -> Iterator[list[str]]:
    """The parts in chunks that fit; a part that is too long alone is split."""
    room = max(tokens_max, CHUNK_TOKENS_MIN)
    chunk: list[str] = []
    left = room
    for piece in (piece for part in parts for piece in _split(part, room, count)):
        size = count(piece) + 2
        if size > left and chunk:
            yield chunk
            chunk, left = [], room
        chunk.append(piece)
        left -= size
    if chunk:
        yield chunk


def _split(part: str, room: int, count: Count) -> list[str]:
    """A part in halves of halves, until each fits."""
    if count(part) + 2 <= room or len(part) < 2:
        return [part]
    middle = len(part) // 2
    return [*_split(part[:middle], room, count), *_split(part[middle:], room, count)]


def extract(parts: Sequence[str], tokens_max: int, count: Count) -> str:
    """The sentences that say most, in their order, a line each.

    A sentence says much when it holds words that occur often here; numbers and a person's own
    words count more, and length is no merit.
    """
    sentences = list(dict.fromkeys(one for part in parts for one in _sentences(part)))
    if len(sentences) > SENTENCES_MAX:
        half = SENTENCES_MAX // 2
        sentences = [*sentences[:half], *sentences[-half:]]
    words = [set(_WORD.findall(one.lower())) for one in sentences]
    often = Counter(word for held in words for word in held)
    scored = sorted(
        range(len(sentences)),
        key=lambda at: (-_worth(sentences[at], words[at], often), at),
    )
    chosen: list[int] = []
    left = tokens_max
    for at in scored:
        size = count(sentences[at]) + 1
        if size <= left:
            chosen.append(at)
            left -= size
        if left < 8:
            break
    kept = "\n".join(sentences[at] for at in sorted(chosen))
    return (
        kept if chosen and count(kept) <= tokens_max else cut("\n".join(parts), tokens_max, count)
    )


def _sentences(part: str) -> Iterator[str]:
    """The sentences of a part, each with the name of who said them."""
    named = _SPEAKER.match(part)
    who = named.group() if named else ""
    for sentence in _SENTENCE.findall(part[len(who) :]):
        told = " ".join(sentence.split())
        if _LETTER.search(told):
            yield f"{who}{told}"


def _worth(sentence: str, words: set[str], often: Counter[str]) -> float:
    if not words:
        return 0.0
    weight = sum(math.log1p(often[word]) for word in words) / math.sqrt(len(words) + 4)
    own = 1.5 if sentence.startswith("user: ") else 1.0
    return weight * own * (1.3 if any(one.isdigit() for one in sentence) else 1.0)


def reference_summary(text: str, source: str) -> str:
    """What a message over the threshold is about, without a model: where it is from and begins."""
    words = " ".join(text[:2000].split()).split(" ")
    begins = " ".join(words[: REFERENCE_WORDS // 2])
    return f"Large content from {source}: {begins[:200]}"
