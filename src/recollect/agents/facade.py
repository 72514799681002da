"""The one-line front: a runtime from a size and a path, and agents from their files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect import wiring
from recollect.agents.files import read_agent
from recollect.agents.orchestrator import Agent, Orchestrator, checked_model, warn_of_legacy
from recollect.domain.clients import ModelClient, client_of
from recollect.domain.errors import SettingsError, ValidationError
from recollect.ports.chat import Chat

_KEY = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
#: What an agent's file may say.
KNOWN = (
    *("agent_id", "description", "system_message", "model", "tools", "function_calling"),
    "memory",  # of the time when each agent had its own
)


class Runtime(Orchestrator):
    """An orchestrator whose agents come from files.

    >>> app = runtime(buffer_memory=10, long_term_memory="memory.db")
    >>> app.add_agent("configs/tutor.yaml")
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._opened: list[Chat] = []

    async def close(self) -> None:
        """Close the models of agent files, and the memory."""
        for chat in self._opened:
            await chat.close()
        await super().close()

    def add_agent(
        self,
        file: str | Path,
        *,
        agent_id: str | None = None,
        model: Chat | str | None = None,
        set_as_default: bool = False,
    ) -> Agent:
        """Add the agent that a file describes, or a bare name in `configs/`; may be awaited.

        `model` takes the place of the one in the file.
        """
        said = read_agent(file)
        unknown = [name for name in said if name not in KNOWN]
        if unknown:
            raise SettingsError(
                f"{file}: an agent has no {unknown[0]!r}; known: {', '.join(KNOWN)}"
            )
        if said.get("memory"):
            warn_of_legacy({"long_term_memory": said["memory"]})
        chosen = said.get("model") if model is None else model
        thinks = model_of(chosen, where=str(file))
        if isinstance(chosen, Mapping) and not isinstance(thinks, str):
            self._opened.append(thinks)
        return self.create_agent(
            agent_id or said["agent_id"],
            thinks,
            said.get("system_message") or "",
            said.get("description"),
            set_as_default,
            tools=said.get("tools"),
            function_calling=said.get("function_calling", True),
        )


def runtime(
    buffer_memory: object = None,
    long_term_memory: object = None,
    db_connection_string: str | None = None,
    **options: Any,
) -> Runtime:
    """A runtime: what its agents hear and remember belongs to it.

    `buffer_memory` is a size, a mapping or a BufferMemory; `long_term_memory` is True, a path, a
    URL or an AsyncMemory; `db_connection_string` is another name for the URL. Options are those of
    `recollect.open`.
    """
    if db_connection_string is not None:
        if long_term_memory not in (None, True):
            raise ValidationError(
                "long_term_memory and db_connection_string both name a memory; keep one",
                field="db_connection_string",
            )
        long_term_memory = db_connection_string
    return Runtime(buffer_memory, long_term_memory, **options)


def model_of(chosen: object, *, where: str) -> Chat | str:
    """The model that an agent thinks with: itself, its name or label, or from its description."""
    if isinstance(chosen, Mapping):
        return wiring.connect([_client(chosen, where)], beside=None)
    model = checked_model(chosen)
    if model is None:
        raise SettingsError(
            f"{where}: say the model, as provider:model, as the label of a model client, or as a "
            "mapping with provider and model"
        )
    return model


def _client(said: Mapping[str, Any], where: str) -> ModelClient:
    """A model as agent files describe it. Of the key only the variable's name is kept."""
    values: dict[str, Any] = dict(said)
    key = values.pop("api_key", None)
    if key is not None:
        named = _KEY.match(key) if isinstance(key, str) else None
        if named is None:
            raise SettingsError(
                f'{where}: write the key as "${{NAME_OF_A_VARIABLE}}"; a key itself never stands '
                "in a file"
            )
        values["key_env"] = named[1]
    options = {name: values.pop(name) for name in ("temperature", "top_p") if name in values}
    return client_of({"label": where, **values, "options": options})
