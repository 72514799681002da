"""Requests and answers in the words of pydantic-ai, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from recollect.domain.errors import ProviderBadResponse
from recollect.ports.chat import Answer, ToolCall, Turn

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

SCHEMA_NAME = "answer"


def messages(turns: Sequence[Turn]) -> list[ModelMessage]:
    """Turns as messages; what several sides say between two answers is one request."""
    found: list[ModelMessage] = []
    parts: list[Any] = []
    named: dict[str, str] = {}
    for turn in turns:
        if turn.role == "assistant":
            if parts:
                found.append(ModelRequest(parts=parts))
                parts = []
            said = [TextPart(turn.text)] if turn.text else []
            called = [ToolCallPart(c.name, json.dumps(dict(c.arguments)), c.id) for c in turn.calls]
            named.update({call.id: call.name for call in turn.calls})
            found.append(ModelResponse(parts=[*said, *called]))
        elif turn.role == "system":
            parts.append(SystemPromptPart(turn.text))
        elif turn.role == "tool":
            id = turn.answers or ""
            parts.append(ToolReturnPart(named.get(id, "tool"), turn.text, id))
        else:
            parts.append(UserPromptPart(turn.text))
    if parts:
        found.append(ModelRequest(parts=parts))
    return found


def parameters(
    tools: Sequence[Any], schema: Any | None, *, natively: bool
) -> ModelRequestParameters:
    """What may be answered. A schema is the provider's to enforce only if it does so natively."""
    wanted = schema if natively else None
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool["name"],
                description=tool.get("description"),
                parameters_json_schema=dict(
                    tool.get("parameters") or {"type": "object", "properties": {}}
                ),
            )
            for tool in tools
        ],
        output_mode="text" if wanted is None else "native",
        output_object=None
        if wanted is None
        else OutputObjectDefinition(json_schema=dict(wanted), name=SCHEMA_NAME, strict=False),
    )


def piece(event: Any) -> str:
    """The text that an event of a stream adds; empty for what is no text."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def answer(response: ModelResponse, model: str) -> Answer:
    """A response as an answer; what a model thought before it spoke is left out."""
    used = response.usage
    return Answer(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        model=model,
        tokens_in=max(used.input_tokens, 0),
        tokens_out=max(used.output_tokens, 0),
        tokens_cached=max(used.cache_read_tokens, 0),
        calls=tuple(_calls(response)),
    )


def _calls(response: ModelResponse) -> Iterator[ToolCall]:
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            given = part.args
            try:
                arguments = json.loads(given or "{}") if isinstance(given, str | None) else given
            except (ValueError, RecursionError) as exc:
                raise ProviderBadResponse(
                    f"it called {part.tool_name!r:.80} with arguments that are not JSON"
                ) from exc
            if not isinstance(arguments, dict):
                raise ProviderBadResponse(
                    f"it called {part.tool_name!r:.80} with arguments that are not an object"
                )
            yield ToolCall(part.tool_call_id, part.tool_name, arguments)
