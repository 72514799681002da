"""Model clients and agents as data: how a model is reached, and who thinks with which.

Decides what may be written down, and that no secret ever is: a key is the name of an environment
variable. Knows the providers by name; speaks to none of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from recollect.domain.errors import ValidationError, shown
from recollect.domain.limits import DIMENSIONS_MAX, METADATA_BYTES_MAX, at_most
from recollect.domain.records import JsonObject, compact
from recollect.domain.scopes import check_characters, check_name


@dataclass(frozen=True, slots=True)
class Provider:
    """Who runs models: how one speaks to it, where, and the usual name of the key."""

    wire: str  #: openai, anthropic or google
    base_url: str | None = None
    key_env: str | None = None  #: None: needs no key
    window: int = 128_000  #: of a model that nothing more is known of


#: A provider that is not here speaks as OpenAI does, and its `base_url` has to be said.
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        "anthropic": Provider(
            "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", 200_000
        ),
        "deepseek": Provider("openai", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        "gemini": Provider(
            "google", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY", 1_000_000
        ),
        "ollama": Provider("openai", "http://localhost:11434/v1", None, 8_192),
        "openrouter": Provider("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        "mistral": Provider("openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        "groq": Provider("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        "together": Provider("openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        "xai": Provider("openai", "https://api.x.ai/v1", "XAI_API_KEY"),
    }
)
#: Other names of the same provider.
_ALSO = {"google": "gemini", "claude": "anthropic"}

#: Names of variables are written in capitals, which keys never are: a key that is given in place
#: of a name is refused, and not shown.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}\Z")
_PRICE_MAX = 1_000_000.0
#: What the options of a client may say: the kind of value, and from where to where.
_NUMBERS: Mapping[str, tuple[type, float, float]] = MappingProxyType(
    {
        "temperature": (float, 0, 2),
        "top_p": (float, 0, 1),
        "window": (int, 256, 100_000_000),
        "dimensions": (int, 1, DIMENSIONS_MAX),
        "deadline_s": (float, 0.01, 3600),
        "retries": (int, 0, 5),
        "price_in": (float, 0, _PRICE_MAX),
        "price_out": (float, 0, _PRICE_MAX),
        "price_cached": (float, 0, _PRICE_MAX),
    }
)
FALLBACKS = "fallbacks"
FALLBACKS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClient:
    """How a model is reached, under a label."""

    label: str
    provider: str
    model: str
    base_url: str | None = None
    key_env: str | None = None  #: the name of the environment variable that holds the key
    options: JsonObject = field(default_factory=dict[str, Any])
    active: bool = True

    @property
    def name(self) -> str:
        """provider:model."""
        return f"{self.provider}:{self.model}"

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Labels or names of the models that are asked when this one does not answer."""
        return tuple(self.options.get(FALLBACKS, ()))

    @property
    def known(self) -> Provider:
        """What is known of the provider; an unknown one speaks as OpenAI does."""
        return PROVIDERS.get(self.provider, Provider("openai"))

    @property
    def url(self) -> str:
        """Where the provider is."""
        return self.base_url or self.known.base_url or ""

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key: as said, else the provider's usual one."""
        return self.key_env or self.known.key_env

    def to_dict(self) -> JsonObject:
        """As it is written in files and answered in JSON."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """An agent as data: what it is told, and which models it thinks and remembers with."""

    label: str
    type: str = "chat"
    system_message: str = ""
    model_client: str  #: label of the model that it thinks with
    memory_model_client: str | None = None  #: label of the model for its memory work
    context: JsonObject = field(default_factory=dict[str, Any])
    tools: tuple[str, ...] = ()
    description: str | None = None

    def to_dict(self) -> JsonObject:
        """As it is written in files and answered in JSON."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**said, "tools": list(self.tools)}


def named_client(name: str) -> ModelClient:
    """The client that `provider:model` names without saying more; its label is its name.

    >>> named_client("openai:gpt-4o-mini").key_variable
    'OPENAI_API_KEY'
    """
    provider, _, model = name.partition(":")
    return client_of({"label": name, "provider": provider, "model": model})


def checked_name(name: str, *, field: str) -> str:
    """A label, or `provider:model` of a provider that is known."""
    check_name(name, field=field)
    if ":" in name:
        named_client(name)
    return name


def client_of(said: Mapping[str, Any]) -> ModelClient:
    """A client as somebody wrote it down, checked. `model` may be `provider:model`."""
    values = _known(said, ModelClient, _CLIENT_ALSO, "a model client")
    label = check_name(values.get("label"), field="label")
    provider, model = values.get("provider"), check_name(values.get("model"), field="model")
    if provider is None and ":" in model:
        provider, _, model = model.partition(":")
    provider = _ALSO.get(str(provider).lower(), check_name(provider, field="provider").lower())
    base_url = _url(values.get("base_url"))
    if base_url is None and provider not in PROVIDERS:
        raise ValidationError(
            f"nobody knows where {shown(provider)} is: say its base_url, or name one of "
            f"{', '.join(PROVIDERS)}",
            field="base_url",
        )
    key_env, active = values.get("key_env"), values.get("active", True)
    if key_env is not None and not (isinstance(key_env, str) and _VARIABLE.match(key_env)):
        raise ValidationError(
            "key_env must be the name of an environment variable, in capitals, such as "
            "OPENAI_API_KEY; a key itself is never stored",
            field="key_env",
        )
    if not isinstance(active, bool):
        raise ValidationError(f"active must be true or false, not {shown(active)}", field="active")
    return ModelClient(
        label=label,
        provider=provider,
        model=check_name(model, field="model"),
        base_url=base_url,
        key_env=key_env,
        options=_options(values.get("options") or {}),
        active=active,
    )


def agent_of(said: Mapping[str, Any]) -> AgentRecord:
    """An agent as somebody wrote it down, checked."""
    values = _known(said, AgentRecord, _AGENT_ALSO, "an agent")
    for name in ("label", "model_client"):
        check_name(values.get(name), field=name)
    for name in ("memory_model_client", "type", "description"):
        if values.get(name) is not None:
            check_name(values[name], field=name)
    message = values.get("system_message") or ""
    if not isinstance(message, str):
        raise ValidationError(
            f"system_message must be a text, not {shown(message)}", field="system_message"
        )
    check_characters(message, field="system_message")
    tools = values.get("tools") or ()
    if isinstance(tools, str) or not all(isinstance(tool, str) for tool in tools):
        raise ValidationError(f"tools must be a list of names, not {shown(tools)}", field="tools")
    return AgentRecord(
        label=values["label"],
        type=values.get("type") or "chat",
        system_message=message,
        model_client=values["model_client"],
        memory_model_client=values.get("memory_model_client"),
        context=_object(values.get("context") or {}, "context"),
        tools=tuple(tools),
        description=values.get("description"),
    )


# -- checking --------------------------------------------------------------------------------------

#: What others call our fields.
_CLIENT_ALSO = {
    "name": "label",
    "model_name": "model",
    "api_key_type": "key_env",
    "config": "options",
    "is_active": "active",
}
_AGENT_ALSO = {"name": "label", "agent_id": "label", "agent_type": "type"}


def _known(
    said: Mapping[str, Any], kind: type[Any], also: Mapping[str, str], what: str
) -> JsonObject:
    """What was said by our names; a field that nobody knows is refused, and its value not shown."""
    if not isinstance(said, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"{what} must be a mapping of fields", field="fields")
    ours = [one.name for one in fields(kind)]
    values: JsonObject = {}
    for name, value in said.items():
        known = also.get(name, name)
        if known not in ours:
            raise ValidationError(
                f"{what} has no field {shown(name)}; known: {', '.join(ours)}", field=str(name)
            )
        values[known] = value
    return values


def _url(url: object) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError("base_url must be an http or https URL", field="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValidationError(
            "base_url must hold no name, password or query: keys come from the environment",
            field="base_url",
        )
    return parts.geturl().rstrip("/")


def _object(value: object, field: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValidationError(f"{field} must be a JSON object, not {shown(value)}", field=field)
    found: JsonObject = dict(value)
    try:
        size = len(compact(found).encode())
    except (TypeError, ValueError, RecursionError) as exc:
        raise ValidationError(f"{field} cannot be written as JSON: {exc}", field=field) from exc
    at_most(size, METADATA_BYTES_MAX, name="METADATA_BYTES_MAX", field=field)
    return found


def _options(said: object) -> JsonObject:
    options = _object(said, "options")
    for name, value in options.items():
        where = f"options.{name}"
        if name == FALLBACKS:
            if not isinstance(value, list | tuple) or len(value) > FALLBACKS_MAX:
                raise ValidationError(
                    f"{where} must be a list of at most {FALLBACKS_MAX} labels", field=where
                )
            for label in value:
                check_name(label, field=where)
            options = {**options, name: list(value)}
            continue
        if name not in _NUMBERS:
            known = ", ".join((*_NUMBERS, FALLBACKS))
            raise ValidationError(f"no option {shown(name)}; known: {known}", field=where)
        kind, low, high = _NUMBERS[name]
        allowed = (int,) if kind is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed) or not low <= value <= high:
            wanted = "whole number" if kind is int else "number"
            raise ValidationError(
                f"{where} must be a {wanted} from {low:g} to {high:g}", field=where
            )
    return options
