"""A language model that follows a script."""

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from recollect.domain.errors import ProviderBadResponse, shown
from recollect.domain.schemas import faults
from recollect.ports.chat import Answer, Ask

Line = str | dict[str, Any] | list[Any] | Answer | BaseException
"""What the model says: a text, JSON for a request with a schema, a whole answer, or an error."""

CHARS_PER_TOKEN = 4
WORD = re.compile(r"\s*\S+|\s+$")


class ScriptedChat:
    """Says its lines in order, then what `then` makes of each request; keeps what it was asked.

    A text that should be JSON and is not, or does not fulfil the schema, is the error that a real
    model's answer would be. Tokens are counted as a quarter of the characters.

    >>> chat = ScriptedChat("Hello.", then=lambda ask: ask.turns[-1].text.upper())
    """

    inline = True

    def __init__(
        self,
        *lines: Line,
        then: Callable[[Ask], Line] | None = None,
        model: str = "scripted:model",
        window: int = 128_000,
    ) -> None:
        self.model = model
        self.window = window
        self.asked: list[Ask] = []
        self.closed = 0
        self._lines = list(lines)
        self._then = then

    async def answer(self, ask: Ask) -> Answer:
        """The next line."""
        self.asked.append(ask)
        if self._lines:
            line = self._lines.pop(0)
        elif self._then is not None:
            line = self._then(ask)
        else:
            raise AssertionError(
                f"the script of {self.model} has no line for request {len(self.asked)}, "
                f"a {ask.purpose}"
            )
        if isinstance(line, BaseException):
            raise line
        return self._spoken(line, ask)

    async def stream(self, ask: Ask) -> AsyncIterator[str | Answer]:
        """The next line word by word, and at the end as a whole."""
        whole = await self.answer(ask)
        for word in WORD.findall(whole.text):
            yield word
        yield whole

    async def close(self) -> None:
        """Count it."""
        self.closed += 1

    def _spoken(self, line: str | dict[str, Any] | list[Any] | Answer, ask: Ask) -> Answer:
        if isinstance(line, Answer):
            return line
        text = line if isinstance(line, str) else json.dumps(line)
        heard = sum(len(turn.text) for turn in ask.turns)
        answer = Answer(text, self.model, heard // CHARS_PER_TOKEN, len(text) // CHARS_PER_TOKEN)
        if ask.schema is None:
            return answer
        try:
            data = json.loads(text)
        except ValueError as exc:
            raise ProviderBadResponse(f"{self.model} did not answer JSON: {shown(text)}") from exc
        for fault in faults(data, ask.schema):
            raise ProviderBadResponse(f"{self.model} answered against the schema: {fault}")
        return replace(answer, data=data)
