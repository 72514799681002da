"""How providers put what a model says: whole, and piece by piece."""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Protocol

from recollect.ports.chat import ToolCall

WORD = re.compile(r"\s*\S+|\s+$")
Said = str | ToolCall


class Speaker(Protocol):
    """One provider's way of saying things."""

    def streams(self, path: str, body: Any) -> bool:
        """Whether a request wants the answer in pieces."""
        ...

    def whole(self, said: Said, body: Any) -> dict[str, Any]:
        """The answer at once."""
        ...

    def pieces(self, said: Said, body: Any) -> Iterator[str]:
        """The answer as events of a stream."""
        ...


class OpenAI:
    """`/chat/completions`."""

    def streams(self, path: str, body: Any) -> bool:
        """The request says so."""
        return bool(body.get("stream"))

    def whole(self, said: Said, body: Any) -> dict[str, Any]:
        """One choice."""
        message = {"role": "assistant", **self._said(said)}
        finish = "tool_calls" if isinstance(said, ToolCall) else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = _openai_usage(body["messages"], said)
        return {**self._head("chat.completion", body), "choices": [choice], "usage": usage}

    def pieces(self, said: Said, body: Any) -> Iterator[str]:
        """A delta per word, then the end and what it took."""
        head = self._head("chat.completion.chunk", body)
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if isinstance(said, ToolCall):
            calls = self._said(said)["tool_calls"]
            deltas.append({"tool_calls": [{"index": 0, **calls[0]}]})
        else:
            deltas += [{"content": word} for word in WORD.findall(said)]
        for delta in deltas:
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield _data({**head, "choices": [choice]})
        yield _data({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        yield _data({**head, "choices": [], "usage": _openai_usage(body["messages"], said)})
        yield "data: [DONE]"

    def _head(self, kind: str, body: Any) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1767225600, "model": body["model"]}

    def _said(self, said: Said) -> dict[str, Any]:
        if isinstance(said, str):
            return {"content": said}
        function = {"name": said.name, "arguments": json.dumps(dict(said.arguments))}
        call = {"id": said.id, "type": "function", "function": function}
        return {"content": None, "tool_calls": [call]}


class Anthropic:
    """`/v1/messages`."""

    def streams(self, path: str, body: Any) -> bool:
        """The request says so."""
        return bool(body.get("stream"))

    def whole(self, said: Said, body: Any) -> dict[str, Any]:
        """One block."""
        usage = {"input_tokens": _size(body["messages"]), "output_tokens": _length(said)}
        return {**self._head(body, said), "content": [self._block(said)], "usage": usage}

    def pieces(self, said: Said, body: Any) -> Iterator[str]:
        """A delta per word between the block's start and end."""
        usage = {"input_tokens": _size(body["messages"]), "output_tokens": 1}
        start = {**self._head(body, said), "content": [], "stop_reason": None, "usage": usage}
        yield _event("message_start", message=start)
        if isinstance(said, ToolCall):
            empty = {**self._block(said), "input": {}}
            text = json.dumps(dict(said.arguments))
            deltas: list[dict[str, Any]] = [{"type": "input_json_delta", "partial_json": text}]
        else:
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in WORD.findall(said)]
        yield _event("content_block_start", index=0, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
        ended = {"stop_reason": self._head(body, said)["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=ended, usage={"output_tokens": _length(said)})
        yield _event("message_stop")

    def _head(self, body: Any, said: Said) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_reason": "tool_use" if isinstance(said, ToolCall) else "end_turn",
            "stop_sequence": None,
        }

    def _block(self, said: Said) -> dict[str, Any]:
        if isinstance(said, str):
            return {"type": "text", "text": said}
        return {
            "type": "tool_use",
            "id": said.id,
            "name": said.name,
            "input": dict(said.arguments),
        }


class Gemini:
    """`/models/….:generateContent`."""

    def streams(self, path: str, body: Any) -> bool:
        """The path says so."""
        return ":streamGenerateContent" in path

    def whole(self, said: Said, body: Any) -> dict[str, Any]:
        """One candidate."""
        part = self._part(said)
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP",
            "index": 0,
        }
        heard, told = _size(body["contents"]), _length(said)
        usage = {
            "promptTokenCount": heard,
            "candidatesTokenCount": told,
            "totalTokenCount": heard + told,
        }
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted-1"}

    def pieces(self, said: Said, body: Any) -> Iterator[str]:
        """A candidate per word."""
        parts = [said] if isinstance(said, ToolCall) else WORD.findall(said)
        for part in parts:
            yield _data(self.whole(part, body))

    def _part(self, said: Said) -> dict[str, Any]:
        if isinstance(said, str):
            return {"text": said}
        return {"functionCall": {"name": said.name, "args": dict(said.arguments)}}


#: Who speaks under a path.
SPEAKERS: Mapping[str, Speaker] = {
    "/chat/completions": OpenAI(),
    "/messages": Anthropic(),
    "GenerateContent": Gemini(),
    "generateContent": Gemini(),
}


def vector_of(text: str, dimensions: int) -> list[float]:
    """A vector that texts with common words share a part of."""
    row = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        row[blake2b(word.encode(), digest_size=2).digest()[0] % dimensions] += 1.0
    return row


def _openai_usage(messages: Any, said: Said) -> dict[str, int]:
    heard, told = _size(messages), _length(said)
    return {"prompt_tokens": heard, "completion_tokens": told, "total_tokens": heard + told}


def _size(messages: Any) -> int:
    return len(json.dumps(messages)) // 4


def _length(said: Said) -> int:
    return len(said if isinstance(said, str) else said.name) // 4 + 1


def _data(event: Any) -> str:
    return f"data: {json.dumps(event)}"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n{_data({'type': kind, **fields})}"
