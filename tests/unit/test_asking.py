"""Which model does the memory's own work."""

import pytest

import recollect
from recollect.domain.errors import ValidationError
from recollect.domain.scopes import Scope
from recollect.engine.engine import Engine
from recollect.testing import ScriptedChat, open_memory


def chosen(**models: object) -> object:
    memory = open_memory(**models)
    engine = memory._inner._backend
    assert isinstance(engine, Engine)
    model = memory._runner.run(engine._memory_model(Scope(), "recall"))
    return None if model is None else model.model


def test_the_memory_model_works_for_the_memory_else_the_reasoning_model_else_none() -> None:
    cheap, dear = ScriptedChat(model="a:cheap"), ScriptedChat(model="a:dear")
    assert chosen(memory_model=cheap, reasoning_model=dear) == "a:cheap"
    assert chosen(reasoning_model=dear) == "a:dear"
    assert chosen() is None


def test_a_model_that_is_no_chat_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match=r"memory_model must be a chat, .*not 42"):
        recollect.open("memory.db", memory_model=42)
