"""The tools with which a model reads and writes the memory of the person that it talks to.

A bad call is answered with a text that says what is wrong, so that the model can do better; it
never breaks the chat. A model cannot reach beyond the memory that the toolbox was made for.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from recollect.client.async_memory import AsyncMemory
from recollect.domain.errors import NotFound, RecollectError, ValidationError
from recollect.domain.schemas import faults
from recollect.ports.chat import ToolCall

#: What a model may change while it answers one message.
WRITES_MAX = 5
ALL = ("search_memories", "get_memory", "remember", "update_memory", "forget_memory")
#: A value of so many words that repeats the message is a transcript of it.
TRANSCRIPT_WORDS = 4
FOUND_NOTHING = "Nothing is remembered about that."


@cache
def _described() -> Mapping[str, Mapping[str, Any]]:
    text = resources.files("recollect.agents").joinpath("tools.json").read_text(encoding="utf-8")
    told: dict[str, dict[str, Any]] = json.loads(text)
    return {name: {"name": name, **one} for name, one in told.items()}


def schemas(names: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Tools as models are told of them.

    >>> [tool["name"] for tool in schemas(["remember"])]
    ['remember']
    """
    for name in names:
        if name not in ALL:
            raise ValidationError(
                f"there is no tool {name!r}; known: {', '.join(ALL)}", field="tools"
            )
    return tuple(_described()[name] for name in names)


class Toolbox:
    """The tools over one person's memory, for the answer to one message."""

    def __init__(self, memory: AsyncMemory, message: str, actor: str) -> None:
        self._memory = memory
        self._message = message
        self._actor = actor
        self.writes = 0
        self._does: dict[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {
            "search_memories": self._search,
            "get_memory": self._get,
            "remember": self._remember,
            "update_memory": self._update,
            "forget_memory": self._forget,
        }

    async def run(self, call: ToolCall) -> str:
        """The answer to a call, whatever the call is."""
        if call.name not in self._does:
            return f"Error: there is no tool {call.name!r}; there are {', '.join(self._does)}."
        wrong = next(
            iter(faults(dict(call.arguments), _described()[call.name]["parameters"])), None
        )
        try:
            if wrong is not None:
                return _refused(call.name, wrong)
            return await self._does[call.name](call.arguments)
        except RecollectError as exc:
            return _refused(call.name, str(exc))

    async def _search(self, said: Mapping[str, Any]) -> str:
        found = await self._memory.recall(said["query"], limit=said.get("limit", 5))
        lines = [f"[{hit.id}] {json.dumps(hit.text, ensure_ascii=False)}" for hit in found]
        return "\n".join(lines) or FOUND_NOTHING

    async def _get(self, said: Mapping[str, Any]) -> str:
        try:
            return json.dumps((await self._memory.get(said["id"])).text, ensure_ascii=False)
        except NotFound:
            return f"There is no memory {said['id']}; nothing was done."

    async def _remember(self, said: Mapping[str, Any]) -> str:
        refusal = self._refusal([])
        if refusal:
            return _refused("remember", refusal)
        self.writes += 1
        kind = said.get("kind", "general")
        told = await self._memory.remember(
            said["text"], kind=kind, source="agent", actor=self._actor
        )
        return f"Remembered as {told.id}."

    async def _update(self, said: Mapping[str, Any]) -> str:
        refusal = self._refusal(_texts(said["data"]))
        if refusal:
            return _refused("update_memory", refusal)
        self.writes += 1
        category = self._memory.profile(said["category"])
        write = category.merge if said["operation"] == "merge" else category.replace
        await write(said["data"], actor=self._actor)
        return f"Successfully updated {said['category']}."

    async def _forget(self, said: Mapping[str, Any]) -> str:
        try:
            record = await self._memory.get(said["id"])
        except NotFound:
            return f"There is no memory {said['id']}; nothing was done."
        quoted = json.dumps(record.text, ensure_ascii=False)
        if not said.get("confirm"):
            return f"This would erase {quoted}. Ask the person, then call again with confirm: true."
        refusal = self._refusal([])
        if refusal:
            return _refused("forget_memory", refusal)
        self.writes += 1
        receipt = await self._memory.forget(record.id, actor=self._actor)
        return f"Erased {quoted}; receipt {receipt.id}."

    def _refusal(self, texts: list[str]) -> str | None:
        """Why nothing more may be written, or not this."""
        if self.writes >= WRITES_MAX:
            return f"at most {WRITES_MAX} changes may be made per message; the rest can wait"
        message = " ".join(self._message.lower().split())
        for text in texts:
            words = text.lower().split()
            if len(words) >= TRANSCRIPT_WORDS and " ".join(words).strip(' ".!?') in message:
                return "that repeats what was said; write down what follows from it"
        return None


def _refused(tool: str, why: str) -> str:
    what = "updating memory" if tool == "update_memory" else f"in {tool}"
    return f"Error {what}: {why}"


def _texts(data: Any) -> list[str]:
    """Every text in a JSON value, however deep."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        return [text for value in data.values() for text in _texts(value)]
    if isinstance(data, list | tuple):
        return [text for value in data for text in _texts(value)]
    return []
