"""JSONL files: one JSON object a line, written beside and then moved into place."""

import importlib
import json
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from recollect.domain.errors import MissingExtra, StorageUnavailable, ValidationError, shown
from recollect.domain.limits import at_most
from recollect.domain.records import JsonObject
from recollect.domain.scopes import check_characters
from recollect.ports.store import Progress

PATH_CHARS_MAX = 4096
LINE_BYTES_MAX = 8 * 1024 * 1024
TOLD_EVERY = 500  #: lines between two words of progress


def checked_path(path: object) -> Path:
    """A path that the operating system can be asked about."""
    known = isinstance(path, str | PathLike)
    text = str(path) if known else ""  # pyright: ignore[reportUnknownArgumentType]
    if not text.strip() or not Path(text).name:
        raise ValidationError(f"the path must name a file, not {shown(path)}", field="path")
    check_characters(text, field="path")
    at_most(len(text), PATH_CHARS_MAX, name="PATH_CHARS_MAX", field="path")
    return Path(text)


def read_document(path: str) -> JsonObject:
    """What a file in JSON, YAML or TOML says, by the ending of its name."""
    file = checked_path(path)
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".toml":
            found: Any = tomllib.loads(text)
        elif file.suffix in (".yaml", ".yml"):
            found = _yaml(path)(text)
        else:
            found = json.loads(text)
    except OSError as exc:
        raise StorageUnavailable(f"could not read {path}: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise ValidationError(f"{path} cannot be read: {exc!s:.200}", field="path") from exc
    if not isinstance(found, dict):
        raise ValidationError(f"{path} must hold names and values", field="path")
    return found


def _yaml(path: str) -> Callable[[str], Any]:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ModuleNotFoundError as exc:
        raise MissingExtra(f"{path} needs a YAML parser: pip install 'recollect[yaml]'") from exc

    def load(text: str) -> Any:
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as exc:
            raise ValueError(str(exc)) from exc

    return load


async def write_lines(path: str, lines: AsyncIterator[JsonObject], progress: Progress) -> int:
    """Write all lines, or leave no file; how many there were."""
    target = checked_path(path)
    partial = target.with_name(target.name + ".partial")
    count = 0
    try:
        partial.touch(mode=0o600)
        with partial.open("w", encoding="utf-8") as stream:
            async for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
                if count % TOLD_EVERY == 0:
                    progress("exporting lines", count, None)
        partial.replace(target)
    except OSError as exc:
        raise StorageUnavailable(f"could not write {path}: {exc.strerror}") from exc
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return count


def read_lines(path: str, batch: int) -> Iterator[list[JsonObject]]:
    """The lines of a file in batches; what is not a JSON object is named with its number."""
    waiting: list[JsonObject] = []
    try:
        with checked_path(path).open(encoding="utf-8") as stream:
            number = 0
            while line := stream.readline(LINE_BYTES_MAX):
                number += 1
                if line.strip():
                    waiting.append(_parsed(path, number, line))
                if len(waiting) == batch:
                    yield waiting
                    waiting = []
    except OSError as exc:
        raise StorageUnavailable(f"could not read {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ValidationError(f"{path} is not UTF-8 text: {exc.reason}", field="path") from exc
    if waiting:
        yield waiting


def _parsed(path: str, number: int, line: str) -> JsonObject:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise ValidationError(f"{path}, line {number}: not JSON", field="path") from exc
    if not isinstance(parsed, dict):
        raise ValidationError(f"{path}, line {number}: not a JSON object", field="path")
    known: JsonObject = parsed
    return known
