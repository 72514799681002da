"""Models as pydantic-ai makes them, one way for each kind of wire.

The clients of the providers neither try again nor follow redirects here: both are decided above.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from recollect.domain.clients import ModelClient


def model_of(client: ModelClient, key: str, http: Any) -> Any:
    """A model that speaks through an HTTP client."""
    return _WIRES[client.known.wire](client, key, http)


def _openai(client: ModelClient, key: str, http: Any) -> Any:
    sdk = importlib.import_module("openai")
    models = importlib.import_module("pydantic_ai.models.openai")
    open = sdk.AsyncOpenAI(api_key=key, base_url=client.url, http_client=http, max_retries=0)
    module, name = _OPENAI_LIKE.get(client.provider, ("openai_compatible", ""))
    providers = importlib.import_module(f"pydantic_ai.providers.{module}")
    if name:
        provider = getattr(providers, name)(openai_client=open)
    else:
        provider = providers.OpenAICompatibleProvider(client.provider, openai_client=open)
    # Only OpenAI itself insists on the new name of the limit; the others all know the old one.
    old_name = None if client.provider == "openai" else _OLD_NAME
    return models.OpenAIChatModel(client.model, provider=provider, profile=old_name)


_OLD_NAME = {"openai_chat_supports_max_completion_tokens": False}
#: Providers whose own ways pydantic-ai knows: which roles, which form of a schema.
_OPENAI_LIKE = {
    "openai": ("openai", "OpenAIProvider"),
    "deepseek": ("deepseek", "DeepSeekProvider"),
    "ollama": ("ollama", "OllamaProvider"),
    "openrouter": ("openrouter", "OpenRouterProvider"),
    "together": ("together", "TogetherProvider"),
}


def _anthropic(client: ModelClient, key: str, http: Any) -> Any:
    sdk = importlib.import_module("anthropic")
    models = importlib.import_module("pydantic_ai.models.anthropic")
    providers = importlib.import_module("pydantic_ai.providers.anthropic")
    open = sdk.AsyncAnthropic(api_key=key, base_url=client.url, http_client=http, max_retries=0)
    provider = providers.AnthropicProvider(anthropic_client=open)
    return models.AnthropicModel(client.model, provider=provider)


def _google(client: ModelClient, key: str, http: Any) -> Any:
    models = importlib.import_module("pydantic_ai.models.google")
    providers = importlib.import_module("pydantic_ai.providers.google")
    provider = providers.GoogleProvider(api_key=key, base_url=client.base_url, http_client=http)
    return models.GoogleModel(client.model, provider=provider)


_WIRES: Mapping[str, Callable[[ModelClient, str, Any], Any]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
}
