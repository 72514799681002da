"""The terminal: what kind it is, how something is said on it, and progress while one waits."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from recollect.cli.tables import DIM, Screen, bar, paint_if
from recollect.domain.errors import ValidationError

#: Work that is done before this passes shows no progress at all.
PATIENCE_S = 1.0
REDRAW_S = 0.1
BAR_WIDTH = 24


def screen_of(stream: TextIO) -> Screen:
    """What a stream can show. NO_COLOR is honoured; what is piped gets plain text."""
    if not stream.isatty():
        return Screen()
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size().columns, colour, _shows_blocks(stream))


def _shows_blocks(stream: TextIO) -> bool:
    try:
        "█▏…".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def say(line: str = "") -> None:
    """One line of an answer."""
    # Colours were decided by `screen_of`; click must not decide once more.
    click.echo(line, color=True)


def drawn(path: str, picture: str) -> None:
    """Write a picture to a file, and say so."""
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as exc:
        raise ValidationError(f"cannot write {path}: {exc.strerror}", field="plot") from exc
    remark(f"drawn in {path}")


def remark(line: str) -> None:
    """One line beside the answer, on stderr."""
    click.echo(paint_if(screen_of(sys.stderr), DIM, line), err=True, color=True)


class Waiting:
    """A progress line on stderr, drawn only for people and only when it takes a while."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._screen = screen_of(stream)
        self._clock = clock
        self._begun = self._due = clock()
        self._due += PATIENCE_S
        self._drawn = False

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        """Draw how far it is; `total` of None means that nobody knows the end."""
        now = self._clock()
        if self._screen.width is None or now < self._due:
            return
        self._due, self._drawn = now + REDRAW_S, True
        line = self._line(doing, done, total, now - self._begun)[: self._screen.width - 1]
        self._stream.write(f"\r\033[K{line}")
        self._stream.flush()

    def _line(self, doing: str, done: int, total: int | None, seconds: float) -> str:
        if not total:
            return f"{doing}  {done:,}  {seconds:.0f} s"
        share = min(done / total, 1.0)
        drawn = bar(share, BAR_WIDTH, self._screen)
        return f"{doing}  {drawn}  {share:4.0%}  {seconds:.0f} s"

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r\033[K")
            self._stream.flush()


@contextmanager
def waiting() -> Generator[Waiting]:
    """Progress for the time of a block."""
    progress = Waiting(sys.stderr)
    try:
        yield progress
    finally:
        progress.clear()
