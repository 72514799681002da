"""Which tokenizer a model has, as far as the world knows.

Where the tokenizer is public, the count is exact. Anthropic, Google and others publish none, or
none that comes as a small package: their models are counted with o200k times a factor that leans
to the high side, since a context that is a little too short still works.
"""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Family:
    """Models that share a tokenizer, or are counted with the one of others times a factor."""

    names: str  #: a pattern for the beginning of a name
    encoding: str
    factor: float = 1.0
    instead: float = 1.0  #: the factor for o200k where the encoding is not installed


#: The first that fits counts.
FAMILIES = (
    Family(r"gpt-4o|gpt-4\.[15]|gpt-[5-9]|gpt-oss|chatgpt|o[1-9]\b", "o200k_base"),
    Family(r"gpt-4|gpt-3\.5|text-embedding-(?:3|ada-002)", "cl100k_base"),
    Family(r"deepseek", "deepseek", instead=1.1),
    Family(r"claude", "o200k_base", 1.25),
    Family(r"gemini|gemma|qwen|grok|llama|phi", "o200k_base", 1.1),
    Family(r"mistral|mixtral|codestral|ministral|smollm", "o200k_base", 1.2),
)
UNKNOWN = Family("", "o200k_base", 1.2)


@cache
def family_of(model: str) -> Family:
    """The family of a model: `openai:gpt-4o`, `openrouter:anthropic/claude-…`, `llama3.2:3b`."""
    # A name begins at the start or behind a provider, never inside a word: `llama` is in `ollama`.
    for family in FAMILIES:
        if re.search(rf"(?:^|[:/@])(?:{family.names})", model.lower()):
            return family
    return UNKNOWN
