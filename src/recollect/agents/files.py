"""Agent files: JSON or YAML, by path or by bare name in `configs/`, `${VARIABLE}` filled in."""

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.domain.errors import MissingExtra, SettingsError
from recollect.settings import variable

FOLDER = "configs"
SUFFIXES = (".yaml", ".yml", ".json")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_agent(given: str | Path) -> dict[str, Any]:
    """What an agent's file says; its `agent_id` is the file's name unless it says another."""
    file = _found(given)
    said = _parsed(file)
    filled = _filled(said, file)
    name = filled.pop("agent_id", None) or filled.pop("name", None) or file.stem
    return {**filled, "agent_id": name}


def _found(given: str | Path) -> Path:
    """The file that a path or a bare name means."""
    path = Path(given)
    if path.is_file():
        return path
    named = [Path(FOLDER) / path] if path.suffix in SUFFIXES else []
    if not path.suffix:
        named = [base.with_suffix(end) for base in (path, Path(FOLDER) / path) for end in SUFFIXES]
    for candidate in named:
        if candidate.is_file():
            return candidate
    looked = ", ".join(str(one) for one in (path, *named))
    raise SettingsError(f"there is no agent file {str(given)!r}; looked for {looked}")


def _parsed(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"could not read the agent file {file}: {exc}") from exc
    if file.suffix == ".json":
        try:
            found = json.loads(text)
        except ValueError as exc:
            raise SettingsError(f"{file} is not valid JSON: {exc}") from exc
    elif file.suffix in SUFFIXES:
        found = _from_yaml(file, text)
    else:
        raise SettingsError(f"{file}: an agent file ends in {', '.join(SUFFIXES)}")
    if not isinstance(found, dict):
        raise SettingsError(f"{file} must hold names and values, not a {type(found).__name__}")
    return found  # pyright: ignore[reportUnknownVariableType]


def _from_yaml(file: Path, text: str) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ModuleNotFoundError as exc:
        raise MissingExtra(
            f"{file} needs a YAML parser: pip install 'recollect[yaml]', or write JSON"
        ) from exc
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise SettingsError(f"{file} is not valid YAML: {exc}") from exc


def _filled(said: Any, file: Path, where: str = "") -> Any:
    """The same with every `${VARIABLE}` replaced, but for keys, of which the name is kept."""
    if isinstance(said, Mapping):
        found: Mapping[str, Any] = said
        return {
            name: value if name == "api_key" else _filled(value, file, f"{where}.{name}")
            for name, value in found.items()
        }
    if isinstance(said, list):
        listed: list[Any] = said
        return [_filled(one, file, where) for one in listed]
    if not isinstance(said, str):
        return said

    def value_of(found: re.Match[str]) -> str:
        value = variable(found[1])
        if value is None:
            raise SettingsError(f"{file}: {where[1:]} names ${{{found[1]}}}, which is not set")
        return value

    return _VARIABLE.sub(value_of, said)
