"""Answers that have to be JSON: asked for, read out of what was said, and asked for again.

What cannot be read or does not fulfil the schema is never dropped silently and never used: the
faults are listed, first to the model, then to the caller.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

from recollect.domain.errors import shown
from recollect.domain.schemas import faults
from recollect.ports.chat import Turn

#: How often a model is told what is wrong with its answer.
REPAIRS = 1
FAULTS_SHOWN = 8


def asking(schema: Mapping[str, Any]) -> Turn:
    """What asks for JSON where the provider does not enforce a schema."""
    return Turn("system", _prompt("answer_json").format(schema=json.dumps(schema, indent=1)))


def again(text: str, wrong: list[str]) -> tuple[Turn, Turn]:
    """What the model said, and what is wrong with it."""
    listed = "\n".join(f"- {fault}" for fault in wrong)
    return Turn("assistant", text or "…"), Turn("user", _prompt("repair").format(faults=listed))


def read(text: str, schema: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The JSON in a text, and everything that is wrong with it."""
    try:
        data = json.loads(_bare(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None, [f"it is not JSON: {shown(text)}"]
    return data, list(islice(faults(data, schema), FAULTS_SHOWN))


def _bare(text: str) -> str:
    """A text without what models like to put around JSON: a fence, or a sentence before it."""
    stripped = text.strip()
    if stripped.startswith(("{", "[")):
        return stripped
    first = min((at for at in (stripped.find("{"), stripped.find("[")) if at >= 0), default=-1)
    if first < 0:
        return stripped
    last = stripped.rfind("}" if stripped[first] == "{" else "]")
    return stripped[first : last + 1] if last > first else stripped


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@cache
def _prompt(name: str) -> str:
    folder = files("recollect.models.chat") / "prompts"
    return (folder / f"{name}.md").read_text(encoding="utf-8")
