"""What a context is: all that one model call is sent, piece by piece, and why it is that."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from recollect.domain.records import JsonObject, MemoryRecord

#: What providers put around each message; OpenAI's is three tokens, and others are not known.
MESSAGE_TOKENS = 4


class Section(StrEnum):
    """The sections of a context, in the order in which they are sent."""

    SYSTEM = "system"  #: the caller's own system text
    PROFILE = "profile"  #: what the person's profile says, as data
    INSTRUCTIONS = "instructions"  #: standing wishes of the person
    SUMMARY = "summary"  #: what was said before the messages that follow
    MESSAGES = "messages"  #: the conversation, word for word
    FACTS = "facts"  #: recalled memories that state something
    MEMORIES = "memories"  #: recalled memories of other kinds
    DOCUMENTS = "documents"  #: texts that the caller brings along
    CURRENT = "current"  #: the message that is to be answered


@dataclass(frozen=True, slots=True)
class Rules:
    """How contexts are made; each has its setting."""

    model: str = "anthropic:claude-sonnet-4-5"  #: for which tokens are counted unless told
    tokens: int = 10_000
    tokens_claude: int = 150_000
    threshold: float = 0.75  #: of the tokens, from where on older messages are summarised
    recent: int = 8  #: messages that are never summarised
    every: int = 20  #: messages that a summary takes in at once, while there is room for them
    summary_tokens: int = 500
    reference_tokens: int = 1000  #: a longer message is sent as a reference to it
    limit: int = 5  #: memories that are recalled, beside facts
    facts: int = 10  #: facts that are recalled
    floor: float = 0.5  #: of the best hit's score, below which no memory is recalled

    def tokens_of(self, model: str) -> int:
        """How many tokens the context of a model may have."""
        return self.tokens_claude if "claude" in model.lower() else self.tokens


@dataclass(frozen=True, slots=True)
class Piece:
    """One message of a context, and the memories that it shows."""

    role: str
    text: str
    section: str
    tokens: int
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Injected:
    """Remembered data that was put before the message at a position of the conversation.

    The next context repeats it there byte by byte, as long as every memory in it may be shown.
    """

    position: int
    piece: Piece
    digests: tuple[str, ...]  #: of each memory in it, as it was


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in a context, and why."""

    section: str
    why: str
    tokens: int
    id: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Context:
    """All that one model call is sent, within a budget of tokens."""

    question: str | None
    messages: tuple[Piece, ...]
    tokens_max: int
    model: str  #: for which the tokens were counted
    counted: str  #: how they were counted: exact, family, fallback or estimate
    memories: tuple[MemoryRecord, ...] = ()  #: those that were recalled for this call
    left_out: tuple[LeftOut, ...] = ()
    degraded: tuple[str, ...] = ()  #: what should have taken part and could not
    withdrawn: tuple[str, ...] = ()  #: shown earlier, and no longer to be shown
    injected: tuple[Injected, ...] = field(default=())  #: for the next context: `after=`

    @property
    def tokens(self) -> int:
        """The tokens of all messages."""
        return sum(piece.tokens for piece in self.messages)

    @property
    def sections(self) -> Mapping[str, int]:
        """The tokens of each section that has any, in the order in which they are sent."""
        found = {section.value: 0 for section in Section}
        for piece in self.messages:
            found[piece.section] += piece.tokens
        return {name: tokens for name, tokens in found.items() if tokens}

    @property
    def text(self) -> str:
        """Everything as one text."""
        return "\n\n".join(piece.text for piece in self.messages)

    def __repr__(self) -> str:
        held = ", ".join(f"{name} {tokens}" for name, tokens in self.sections.items())
        return f"Context(tokens={self.tokens}/{self.tokens_max}, {held})"

    def to_openai(self) -> list[dict[str, str]]:
        """As `messages` of OpenAI's chat completions, and of the many that speak like it."""
        return [{"role": piece.role, "content": piece.text} for piece in self.messages]

    def to_anthropic(self) -> dict[str, Any]:
        """As `system` and `messages` of Anthropic's messages, marked where its cache may end.

        System texts go together, and so do messages of one role that follow each other.
        """
        system = [_block(piece.text) for piece in self.messages if piece.role == "system"]
        turns: list[dict[str, Any]] = []
        for piece in self.messages:
            if piece.role == "system":
                continue
            if not turns or turns[-1]["role"] != piece.role:
                turns.append({"role": piece.role, "content": []})
            turns[-1]["content"].append(_block(piece.text))
        if system:
            _mark(system[-1])
        if turns:
            _mark(turns[-1]["content"][-1])
        return {"system": system, "messages": turns} if system else {"messages": turns}

    def to_dict(self) -> JsonObject:
        """As JSON: for the command line and other programs."""
        return {
            "question": self.question,
            "model": self.model,
            "tokens": self.tokens,
            "tokens_max": self.tokens_max,
            "counted": self.counted,
            "sections": dict(self.sections),
            "messages": [asdict(piece) for piece in self.messages],
            "memories": [record.to_dict() for record in self.memories],
            "left_out": [asdict(one) for one in self.left_out],
            "degraded": list(self.degraded),
            "withdrawn": list(self.withdrawn),
        }


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _mark(block: dict[str, Any]) -> None:
    """Everything up to here is the same in the next call, if that is a later one."""
    block["cache_control"] = {"type": "ephemeral"}
