"""Conversations to learn from: turns, and questions that some of the turns answer.

A file holds one conversation a line: {"src": where it is from, "t": [[speaker, text], …],
"br": [where a new session begins, …], "q": [[question, [turns that answer], [turns that look as
if], …], …]}. Decides how a turn is read: as the package reads a message.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Speakers whose name is not part of what they say.
ROLES = frozenset({"", "user", "assistant", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation."""

    text: str
    gold: tuple[int, ...]  #: turns that answer it
    hard: tuple[int, ...] = ()  #: turns that look as if they did


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, and what can be asked about it."""

    source: str
    turns: tuple[tuple[str, str], ...]  #: speaker and text
    questions: tuple[Question, ...]
    breaks: tuple[int, ...] = field(default=())  #: turns with which a session begins

    @property
    def texts(self) -> list[str]:
        """The turns as they are searched."""
        return [spoken(speaker, text) for speaker, text in self.turns]


def spoken(speaker: str, text: str) -> str:
    """A turn with the name of who said it, if it is a name.

    >>> spoken("Ana", "Hello"), spoken("user", "Hello")
    ('Ana: Hello', 'Hello')
    """
    return text if speaker.lower() in ROLES else f"{speaker}: {text}"


def read(path: Path) -> Iterator[Conversation]:
    """The conversations of a file, plain or gzipped."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            held = json.loads(line)
            yield Conversation(
                source=held["src"],
                turns=tuple((speaker, text) for speaker, text in held["t"]),
                questions=tuple(
                    Question(text, tuple(gold), tuple(hard)) for text, gold, hard in held["q"]
                ),
                breaks=tuple(held["br"]),
            )


def write(path: Path, conversations: Iterable[Conversation]) -> None:
    """Write a file that `read` reads; the same conversations give the same bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        for one in conversations:
            held = {
                "src": one.source,
                "t": one.turns,
                "br": one.breaks,
                "q": [[asked.text, asked.gold, asked.hard] for asked in one.questions],
            }
            file.write(json.dumps(held, ensure_ascii=False).encode() + b"\n")
