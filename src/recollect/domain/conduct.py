"""How texts are read, what the engine does by itself, how memories live: the settings' say."""

from dataclasses import dataclass, field
from typing import Literal

from recollect.domain.policy import Policies

Duplicates = Literal["strengthen", "keep"]
Contradictions = Literal["supersede", "review", "keep"]


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the engine deals with what is written, and how memories live."""

    language: str = "english"
    duplicates: Duplicates = "strengthen"
    contradictions: Contradictions = "supersede"
    #: Whether the system's memory model works for agents that have a model of their own.
    memory_model_first: Literal["off", "on"] = "off"
    background: Literal["on", "off"] = "off"  #: whether jobs run beside it
    policies: Policies = field(default_factory=Policies)


#: What is done unless somebody says otherwise.
USUAL = Conduct()
