"""How texts are read, and what the engine does by itself when one is written: the settings' say."""

from dataclasses import dataclass
from typing import Literal

Duplicates = Literal["strengthen", "keep"]


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the engine deals with what is written."""

    language: str = "english"
    duplicates: Duplicates = "strengthen"
    background: Literal["on", "off"] = "off"  #: whether jobs run beside it


#: What is done unless somebody says otherwise.
USUAL = Conduct()
