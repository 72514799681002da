"""Settings: one typed object, and where its values come from.

Later sources win: the defaults below, `recollect.toml` or `recollect.yaml` in the working folder,
`.env` beside it, `RECOLLECT_*` in the environment, arguments. Nothing is read before `load` is
called. A key nobody knows or a value that does not fit is refused with its source, never skipped.
"""

import importlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

import Stemmer

from recollect.domain import policy
from recollect.domain.errors import MissingExtra, SettingsError
from recollect.domain.limits import CONTEXT_TOKENS_MAX, LIST_LIMIT_MAX, RECALL_LIMIT_MAX
from recollect.domain.policy import Policies

PREFIX = "RECOLLECT_"
#: Variables that programs set for context management before they used this one. Ours win.
ALSO = MappingProxyType(
    {
        "MAX_CONTEXT_TOKENS": "context_tokens",
        "MAX_CONTEXT_TOKENS_CLAUDE": "context_tokens_claude",
        "CONTEXT_SUMMARIZATION_THRESHOLD": "context_threshold",
        "PRESERVE_RECENT_MESSAGES": "context_recent",
    }
)
TOML, YAML, DOTENV = "recollect.toml", "recollect.yaml", ".env"


def _setting(default: Any, meaning: str, **bounds: Any) -> Any:
    return field(default=default, metadata={"help": meaning, **bounds})


def _treated(default: str, what: str) -> Any:
    said = f"what happens to {what} in a text: `allow`, `redact` (take it out) or `refuse` the text"
    return _setting(default, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """In a file by these names; in the environment as `RECOLLECT_` and the name in capitals."""

    url: str = _setting("memory.db", "the memory to open when none is named: a path or a URL")
    user: str = _setting("local", "whose memories are read and written unless a scope says so")
    app: str = _setting("default", "the application whose memories are read and written")
    durability: Literal["full", "relaxed"] = _setting(
        "full",
        "`full`: what was acknowledged survives a power cut; "
        "`relaxed`: faster, the last moments may be lost",
    )
    language: str = _setting(
        "english",
        "the language whose word forms are matched in Latin script",
        one_of=tuple(Stemmer.algorithms()),
    )
    embedder: str = _setting(
        "auto",
        "`local`: search by meaning with the model that comes with the package; "
        "`none`: search by words only; `auto`: `local` if `recollect[local]` is installed; "
        "`provider:model`: a provider's, such as `openai:text-embedding-3-small`",
    )
    embedder_url: str = _setting(
        "", "where the embedder's provider is, if not at its usual address"
    )
    embedder_key_env: str = _setting(
        "", "the environment variable that holds the embedder's key, if not the usual one"
    )
    memory_model: str = _setting(
        "none",
        "the model for the memory's own work: `provider:model`, the label of a model client, or "
        "`none` to do it without one",
    )
    memory_model_first: Literal["off", "on"] = _setting(
        "off",
        "`on`: `memory_model` also works for agents that name no memory model of their own; "
        "`off`: they use the model that they think with",
    )
    code_model: str = _setting(
        "deepseek:deepseek-chat", "the model that requests for code are routed to"
    )
    reasoning_model: str = _setting(
        "anthropic:claude-sonnet-4-5", "the model that every other request is routed to"
    )
    duplicates: Literal["strengthen", "keep"] = _setting(
        "strengthen",
        "what says the same as a memory: `strengthen` that one, or `keep` both",
    )
    contradictions: Literal["supersede", "review", "keep"] = _setting(
        "supersede",
        "what gives another answer to a question that a memory answers (where one lives, what "
        "one's favourite is): `supersede` the older one where that is clear and list the rest for "
        "review, list everything for `review`, or `keep` both",
    )
    background: Literal["on", "off"] = _setting(
        "on",
        "`on`: jobs that are due run beside the program that has the memory open; "
        "`off`: only `recollect worker` and `maintain` run them",
    )
    facts: Literal["off", "rules"] = _setting(
        "off",
        "facts of the messages of a conversation: `rules` stores them as the messages come, `off` "
        "only when a session is asked to `extract()`",
    )
    echoes: Literal["drop", "keep"] = _setting(
        "drop",
        "what was recalled a moment ago and is remembered again as it was: `drop` or `keep` it",
    )
    quarantine: Literal["on", "off"] = _setting(
        "on",
        "`on`: what a tool or a web page says and is shaped like an instruction is not recalled "
        "until somebody has reviewed it",
    )
    off_the_record: Literal["refuse", "allow"] = _setting(
        "refuse", "what says that it is not to be remembered: `refuse` it, or `allow` it"
    )
    secrets: Literal["allow", "redact", "refuse"] = _treated("redact", "keys, tokens and passwords")
    card_numbers: Literal["allow", "redact", "refuse"] = _treated(
        "redact", "numbers of payment cards"
    )
    bank_accounts: Literal["allow", "redact", "refuse"] = _treated(
        "allow", "numbers of bank accounts (IBAN)"
    )
    national_ids: Literal["allow", "redact", "refuse"] = _treated(
        "redact", "identity and tax numbers"
    )
    emails: Literal["allow", "redact", "refuse"] = _treated("allow", "e-mail addresses")
    phones: Literal["allow", "redact", "refuse"] = _treated("allow", "telephone numbers")
    recall_limit: int = _setting(
        10, "hits that `recollect recall` shows", least=1, most=RECALL_LIMIT_MAX
    )
    list_limit: int = _setting(
        50, "memories that `recollect list` shows at a time", least=1, most=LIST_LIMIT_MAX
    )
    context_tokens: int = _setting(
        10_000, "tokens that a context may have", least=1, most=CONTEXT_TOKENS_MAX
    )
    context_tokens_claude: int = _setting(
        150_000, "the same for a model of the Claude family", least=1, most=CONTEXT_TOKENS_MAX
    )
    context_threshold: float = _setting(
        0.75, "the part of these tokens from where on older messages are summarised"
    )
    context_recent: int = _setting(
        8, "messages that are sent word for word, however long the conversation", least=0, most=1000
    )
    context_every: int = _setting(
        20, "messages that a summary takes in at once, while there is room", least=1, most=1000
    )
    context_summary_tokens: int = _setting(500, "tokens of a summary", least=50, most=100_000)
    context_reference_tokens: int = _setting(
        1000, "tokens from which on a message is sent as a reference", least=1, most=1_000_000
    )
    context_limit: int = _setting(
        5, "memories that a context recalls", least=0, most=RECALL_LIMIT_MAX
    )
    context_facts: int = _setting(
        10, "facts that a context recalls", least=0, most=RECALL_LIMIT_MAX
    )
    context_floor: float = _setting(
        0.5, "the part of the best hit's score below which a context recalls nothing"
    )
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "warning", "the least grave messages that the `recollect` command logs"
    )
    log_format: Literal["text", "json"] = _setting(
        "text", "how the `recollect` command logs: lines for people or JSON for machines"
    )
    consolidation: Literal["on", "off"] = _setting(
        "off", "`on`: related memories are consolidated twice a day; `off`: when you say so"
    )
    policies: Policies = field(
        default_factory=Policies,
        metadata={"help": "how memories live; said by the names of `Policy` below"},
    )


#: What a policy may say is set by its own names.
_FIELDS = MappingProxyType({one.name: one for one in fields(Settings) if one.name != "policies"})
_POLICY = (*policy.RULES, *policy.TABLES)


def load(path: str | os.PathLike[str] | None = None, **overrides: Any) -> Settings:
    """The settings from every source; an override of None counts as not given.

    `path` names a file to read in place of `recollect.toml` or `recollect.yaml`.

    >>> load(url="notes.db").url
    'notes.db'
    """
    values: dict[str, Any] = {}
    said: dict[str, Any] = {}
    for source, given in _sources(path, overrides):
        for name, value in given.items():
            if name in _POLICY:
                said[name] = policy.check(name, value, source)
            else:
                values[name] = _checked(name, value, source)
    return Settings(**values, policies=Policies(said))


def variable(name: str) -> str | None:
    """A variable of the environment, else of `.env`: for what is no setting of ours."""
    value = os.environ.get(name)
    if not value and Path(DOTENV).is_file():
        value = _from_dotenv(_text(Path(DOTENV))).get(name)
    return value or None


def _sources(
    path: str | os.PathLike[str] | None, overrides: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    file = _file() if path is None else Path(path)
    if file is not None:
        yield str(file), _from_file(file)
    if Path(DOTENV).is_file():
        yield DOTENV, _named(_from_dotenv(_text(Path(DOTENV))))
    yield "the environment", _turned_off(os.environ)
    yield "the environment", _named(os.environ)
    yield "an argument", {name: value for name, value in overrides.items() if value is not None}


# -- reading ---------------------------------------------------------------------------------------


def _file() -> Path | None:
    """The settings file of the working folder, if there is one."""
    found = [Path(name) for name in (TOML, YAML) if Path(name).is_file()]
    if len(found) > 1:
        raise SettingsError(f"there is both a {TOML} and a {YAML}; keep one of them")
    return found[0] if found else None


def _from_file(file: Path) -> Mapping[str, Any]:
    text = _text(file)
    if file.suffix in (".yaml", ".yml"):
        return _from_yaml(file, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(f"{file} is not valid TOML: {exc}") from exc


def _from_yaml(file: Path, text: str) -> Mapping[str, Any]:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ModuleNotFoundError as exc:
        raise MissingExtra(
            f"{file} needs a YAML parser: pip install 'recollect[yaml]', or write {TOML}"
        ) from exc
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise SettingsError(f"{file} is not valid YAML: {exc}") from exc
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise SettingsError(f"{file} must hold names and values, not a {type(found).__name__}")
    return {str(name): value for name, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as exc:
        raise SettingsError(f"could not read the settings of {file}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{file} is not UTF-8 text: {exc.reason}") from exc


def _from_dotenv(text: str) -> dict[str, str]:
    """`NAME=value` lines; quotes around a value and `export` before a name are dropped."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.startswith("#"):
            continue
        value = value.strip()
        if len(value) > 1 and value[0] in "'\"" and value[0] == value[-1]:
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        found[name.strip()] = value
    return found


def _named(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in an environment, by their names; empty ones count as not given."""
    also = {ours: environment[name] for name, ours in ALSO.items() if environment.get(name)}
    named = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value
    }
    return {**also, **named}


#: The models that `DEFAULT_PROVIDER` stands for where requests are not routed.
PROVIDERS = {
    "deepseek": "deepseek:deepseek-chat",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai": "openai:gpt-4o",
}
OFF = ("false", "0", "no", "off")


def _turned_off(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the variables that turn recall and routing off say, by the names of our settings."""
    said: dict[str, Any] = {}
    if environment.get("ENABLE_MEMORY_DB", "").strip().lower() in OFF:
        said["context_limit"] = 0
    if environment.get("USE_HYBRID_MODELS", "").strip().lower() in OFF:
        provider = environment.get("DEFAULT_PROVIDER", "anthropic").strip().lower()
        if provider not in PROVIDERS:
            known = f"one of {', '.join(PROVIDERS)}"
            raise _refused("DEFAULT_PROVIDER", provider, "the environment", known)
        said["code_model"] = said["reasoning_model"] = PROVIDERS[provider]
    return said


# -- checking --------------------------------------------------------------------------------------


def _checked(name: str, value: object, source: str) -> Any:
    """A value as its field wants it, or an error that says which, where and what would be right."""
    if name not in _FIELDS:
        known = (*_FIELDS, *_POLICY)
        near = get_close_matches(name, known, n=1, cutoff=0.4)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise SettingsError(
            f"unknown setting {name!r:.80} in {source}; {meant}Known: {', '.join(known)}"
        )
    kind, bounds = _FIELDS[name].type, _FIELDS[name].metadata
    if kind is int:
        return _number(name, value, source, bounds["least"], bounds["most"])
    if kind is float:
        return _part(name, value, source)
    if not isinstance(value, str) or not value.strip():
        raise _refused(name, value, source, "a text that is not empty")
    choices = get_args(kind) if get_origin(kind) is Literal else bounds.get("one_of")
    if choices and value not in choices:
        raise _refused(name, value, source, f"one of {', '.join(choices)}")
    return value


def _number(name: str, value: object, source: str, least: int, most: int) -> int:
    number: object = value
    if isinstance(value, str) and value.strip().isdecimal():
        number = int(value)
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise _refused(name, value, source, f"a whole number from {least} to {most}")
    return number


def _part(name: str, value: object, source: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise _refused(name, value, source, "a number from 0 to 1")
    return number


def _refused(name: str, value: object, source: str, wanted: str) -> SettingsError:
    return SettingsError(f"{name} = {value!r:.80} in {source}: it must be {wanted}")
