"""Logs: what an operator sees under the logger `recollect`. Ids, names, counts and times, never
content: `note` takes no text that came from a memory, and errors are logged by their class alone.

A library does not set up logging by itself: `setup` is for programs, such as our own command.
"""

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import Literal, TextIO

LOGGER = "recollect"
Fact = str | int | float | bool | None


def note(logger: logging.Logger, level: int, what: str, **facts: Fact) -> None:
    """Log a constant phrase with facts. Before costly facts, ask `logger.isEnabledFor(level)`."""
    if logger.isEnabledFor(level):
        told = {name: fact for name, fact in facts.items() if fact is not None}
        logger.log(level, what, extra={"facts": told}, stacklevel=2)


def ms_since(begun: float) -> float:
    """Milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - begun) * 1000, 3)


def setup(
    level: str = "warning",
    format: Literal["text", "json"] = "text",
    stream: TextIO | None = None,
) -> None:
    """Send what Recollect logs to a stream (stderr), from a level on; once more replaces it."""
    logger = logging.getLogger(LOGGER)
    for handler in [one for one in logger.handlers if isinstance(one, _OurHandler)]:
        logger.removeHandler(handler)
    handler = _OurHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


class _OurHandler(logging.StreamHandler[TextIO]):
    """The handler that `setup` may replace."""


class TextLines(logging.Formatter):
    """`2026-03-01T09:00:00.000Z INFO recollect.engine recalled hits=3 ms=0.8`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        parts = [_moment(record), record.levelname, record.name, record.getMessage()]
        parts += [f"{name}={_shown(value)}" for name, value in _facts(record).items()]
        return " ".join(parts)


class JsonLines(logging.Formatter):
    """One JSON object a line: `at`, `level`, `logger`, `event`, and the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        head = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        return json.dumps({**head, **_facts(record)}, ensure_ascii=False)


def _facts(record: logging.LogRecord) -> dict[str, Fact]:
    facts: dict[str, Fact] = dict(getattr(record, "facts", {}))
    if record.exc_info and record.exc_info[0] is not None:
        # The message of an error may quote what was asked; its class never does.
        facts["error"] = record.exc_info[0].__name__
    return facts


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: Fact) -> str:
    text = f"{value}"
    return json.dumps(text, ensure_ascii=False) if " " in text or not text.isprintable() else text
