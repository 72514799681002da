"""The answer to one message: the model is asked, its tools are run, until it has said its word."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, cast

from recollect.agents.toolbox import Toolbox
from recollect.client.async_memory import AsyncMemory
from recollect.domain.context import Context
from recollect.domain.records import MemoryRecord
from recollect.ports.chat import Answer, Ask, Chat, Role, ToolCall, Turn

#: How often a model may ask for tools before it has to answer with what it has.
ROUNDS_MAX = 6
PURPOSE = "reply"
NO_MODEL = "none"
NOTHING = "I have no language model, and remember nothing about that yet. I keep it in mind."
#: How many memories an answer without a model repeats.
RECITED = 3
RECALLED = 20
#: What a model that cannot call functions writes.
WRITTEN: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reply": {"type": "string"},
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reply", "calls"],
    "additionalProperties": False,
}


class Reply(str):
    """What an agent answered: a text that knows how it came about."""

    told: Told


@dataclass(frozen=True, slots=True)
class Told:
    """How a reply came about."""

    agent: str
    model: str
    context: Context
    tools: tuple[str, ...] = ()  #: that the model used, in order
    ids: tuple[str, ...] = field(default=())  #: of the memories that hold the message and the reply


def reply_of(text: str, told: Told) -> Reply:
    """A text with what is known of it."""
    reply = Reply(text)
    reply.told = told
    return reply


@dataclass(frozen=True, slots=True)
class Spoken:
    """The model's last word, and the tools that it used to find it."""

    answer: Answer
    used: tuple[str, ...] = ()


async def converse(
    model: Chat, context: Context, toolbox: Toolbox, offered: Sequence[Mapping[str, Any]]
) -> AsyncIterator[str | Spoken]:
    """What the model says piece by piece, its tools run in between; at the end the last word."""
    turns = _turns(context)
    used: list[str] = []
    for number in range(ROUNDS_MAX + 1):
        # In the last round it has to answer with what it has.
        given = tuple(offered) if number < ROUNDS_MAX else ()
        answer: Answer | None = None
        async with aclosing(_streamed(model, Ask(tuple(turns), PURPOSE, tools=given))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield piece
                else:
                    answer = piece
        assert answer is not None, "a stream ends with the whole answer"
        if not answer.calls:
            yield Spoken(answer, tuple(used))
            return
        turns.append(Turn("assistant", answer.text, calls=answer.calls))
        for call in answer.calls:
            used.append(call.name)
            turns.append(Turn("tool", await toolbox.run(call), answers=call.id))


async def _streamed(model: Chat, ask: Ask) -> AsyncGenerator[str | Answer]:
    async for piece in model.stream(ask):
        yield piece


async def converse_in_writing(
    model: Chat, context: Context, toolbox: Toolbox, offered: Sequence[Mapping[str, Any]]
) -> AsyncIterator[str | Spoken]:
    """The same with a model that cannot call functions: it writes its calls down as JSON."""
    told = _prompt().replace("{tools}", json.dumps(list(offered), ensure_ascii=False, indent=1))
    turns = [Turn("system", told), *_turns(context)]
    used: list[str] = []
    answer = await model.answer(Ask(tuple(turns), PURPOSE, schema=WRITTEN))
    for _ in range(ROUNDS_MAX):
        said: list[Mapping[str, Any]] = answer.data["calls"]
        if not said:
            break
        results: list[str] = []
        for number, one in enumerate(said):
            used.append(one["tool"])
            call = ToolCall(str(number), one["tool"], one["arguments"])
            results.append(f"{one['tool']}: {await toolbox.run(call)}")
        turns += [Turn("assistant", answer.text), Turn("user", "\n".join(results))]
        answer = await model.answer(Ask(tuple(turns), PURPOSE, schema=WRITTEN))
    reply: str = answer.data["reply"]
    yield reply
    yield Spoken(replace(answer, text=reply), tuple(used))


async def recite(memory: AsyncMemory, message: str, heard: str) -> AsyncIterator[str | Spoken]:
    """The answer without any model: what is remembered about it, word for word."""
    found = await memory.recall(message, limit=RECALLED)
    hits = [hit for hit in found if hit.id != heard and _tells(hit.memory)]
    close = [hit for hit in hits if hit.score >= hits[0].score / 2][:RECITED]
    head = "I have no language model. What I remember about it:" if close else NOTHING
    text = "\n".join((head, *(f"- {hit.text}" for hit in close)))
    yield text
    yield Spoken(Answer(text, NO_MODEL, 0, 0))


def _tells(record: MemoryRecord) -> bool:
    """Whether it is something to repeat: no answer of an agent, and no question."""
    return record.role != "assistant" and not record.text.rstrip().endswith("?")


def _turns(context: Context) -> list[Turn]:
    return [Turn(cast(Role, piece.role), piece.text) for piece in context.messages]


@cache
def _prompt() -> str:
    folder = resources.files("recollect.agents").joinpath("prompts")
    return folder.joinpath("calls_in_writing.md").read_text(encoding="utf-8")
