"""What the settings say of what the engine does: reading texts, memories' lives, contexts."""

from dataclasses import dataclass, field
from typing import Literal

from recollect.domain.context import Rules
from recollect.domain.policy import Policies

Duplicates = Literal["strengthen", "keep"]
Contradictions = Literal["supersede", "review", "keep"]
Treatment = Literal["allow", "redact", "refuse"]


@dataclass(frozen=True, slots=True)
class Conduct:
    """What the settings say about the engine's own doings."""

    language: str = "english"
    duplicates: Duplicates = "strengthen"
    contradictions: Contradictions = "supersede"
    #: Whether the system's memory model works for agents that have a model of their own.
    memory_model_first: Literal["off", "on"] = "off"
    facts: Literal["off", "rules"] = "off"
    echoes: Literal["drop", "keep"] = "drop"
    quarantine: Literal["on", "off"] = "on"
    off_the_record: Literal["refuse", "allow"] = "refuse"
    secrets: Treatment = "redact"
    card_numbers: Treatment = "redact"
    bank_accounts: Treatment = "allow"
    national_ids: Treatment = "redact"
    emails: Treatment = "allow"
    phones: Treatment = "allow"
    background: Literal["on", "off"] = "off"  #: whether jobs run beside it
    consolidation: Literal["on", "off"] = "off"  #: whether jobs consolidate by themselves
    policies: Policies = field(default_factory=Policies)
    context: Rules = field(default_factory=Rules)


#: What is done unless somebody says otherwise.
USUAL = Conduct()
