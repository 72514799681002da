"""Every place where a memory calls a model: what P8 tries with each fault, and how it is reached.

A place is named by the engine's function that embeds, or by the `operation` that asks the memory
model. `found_in_source` reads both from the source: one that is not listed here fails the promise's
test, which says so.
"""

import ast
import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.domain.errors import ProviderError
from recollect.ports.chat import Ask, Turn
from recollect.testing import open_memory

SOURCE = Path(__file__).parents[2] / "src/recollect"
ROOMS = ("engine", "lifecycle", "context", "extraction")
#: What embeds, and what it is called through inside the engine.
EMBEDDING = {"_embed", "_entry", "_entries", "_embed_passages", "_question_vector"}
ASKING = {"_memory_model", "_reasoning_model"}

#: More than a message may have before it becomes a reference.
FILLING = "and then she told me about the bicycles of her neighbours " * 150
#: The label of the model that is asked whether it answers.
UNDER_TEST = "under test"

Place = Callable[[Memory, str], Any]


def _remember(memory: Memory, text: str) -> Any:
    return memory.remember(text)


def _batch(memory: Memory, text: str) -> Any:
    return memory.remember_many([text, f"{text} again, in other words"])


def _update(memory: Memory, text: str) -> Any:
    first = memory.remember("to be changed", vector=None)
    return memory.update(first.id, text=text)


def _correct(memory: Memory, text: str) -> Any:
    first = memory.remember("to be corrected")
    return memory.correct(first.id, text)


def _message(memory: Memory, text: str) -> Any:
    with memory.session(id="talk") as chat:
        return chat.add("user", text)


def _item(memory: Memory, text: str) -> Any:
    return memory.items("notes").upsert("one", content=text)


def _given(memory: Memory, text: str) -> Any:
    """A caller's vector, while nobody knows yet how many dimensions the embedder makes."""
    return memory.remember(text, vector=[1.0] * 8)


def _undo(memory: Memory, text: str) -> Any:
    first = memory.remember(text)
    changed = memory.update(first.id, text="something else")
    return memory.undo(memory.history(changed.id)[-1].event.id)


def _import(memory: Memory, text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder, open_memory() as elsewhere:
        elsewhere.remember(text)
        elsewhere.export(f"{folder}/all.jsonl")
        return memory.import_(f"{folder}/all.jsonl")


def _context(memory: Memory, text: str) -> Any:
    """A message so long that the memory model is asked to sum it up."""
    with memory.session(id=text) as chat:
        chat.add("user", f"{text} {FILLING}")
        return chat.context("And what then?")


def _consolidate(memory: Memory, text: str) -> Any:
    """Memories that links hold together, some days later."""
    ana = memory.scope(user=text)
    first, *others = [ana.remember(f"{text} said {n} times") for n in ("one", "two", "three")]
    for other in others:
        ana.link(first, other)
    later(memory, days=3)
    return ana.consolidate().made


def _profile(memory: Memory, text: str) -> Any:
    """A profile that is too long to be told whole, when its time has come."""
    ana = memory.scope(user=text)
    ana.profile("preferences").merge({f"taste {n}": f"likes {text} {n}" for n in range(40)})
    ana.person().refresh()
    later(memory, days=2)
    return memory.maintain()


def later(memory: Memory, **by: float) -> None:
    """Move the clock of a memory that stands still."""
    clock: Any = memory._inner._backend._clock  # type: ignore[attr-defined]
    clock.advance(**by)


def _test(memory: Memory, _: str) -> Any:
    told = memory.models().test(UNDER_TEST)
    assert told["ok"] is (told["error"] is None)
    return told


def _chat(memory: Memory, text: str) -> Any:
    """What an agent asks its model: who asked hears of a failure by its type."""
    model = memory.model(UNDER_TEST)
    assert model is not None
    with suppress(ProviderError):
        return asyncio.run(model.answer(Ask((Turn("user", text),), "reply")))


#: What stores a text that is found again by its words, whatever becomes of its vector.
WRITING: Mapping[str, Place] = {
    "remember": _remember,
    "remember_many": _batch,
    "update": _update,
    "correct": _correct,
    "message": _message,
    "item": _item,
    "undo": _undo,
    "import": _import,
    "given": _given,
}
#: The places that ask a language model.
ASKING_PLACES = {"context", "consolidate", "profile", "models test", "chat"}
#: What answers all the same.
READING: Mapping[str, Place] = {
    "recall": lambda memory, text: memory.recall(text),
    "recall with a vector": lambda memory, text: memory.recall(text, vector=[1.0] * 8),
    "catch_up": lambda memory, _: memory.catch_up(limit=1),
    "context": _context,
    "consolidate": _consolidate,
    "profile": _profile,
    "models test": _test,
    "chat": _chat,
}
#: What the source calls them, and by which of the places above they are tried.
COVERED: Mapping[str, str] = {
    "_written": "remember",
    "_index_all": "import",
    "update": "update",
    "_memory_reversal": "undo",
    "_inquiry": "recall",
    "_knows_dimensions": "given",
    "embed_later": "catch_up",
    "operation:context": "context",
    "operation:consolidate": "consolidate",
    "_drafted": "consolidate",
    "operation:profile": "profile",
    "operation:chat": "chat",
    "_written_short": "profile",
}


def found_in_source() -> Iterator[str]:
    """`function` for what embeds, `operation:name` for what asks the memory model."""
    for room in ROOMS:
        for file in sorted((SOURCE / room).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for function in ast.walk(tree):
                if isinstance(function, ast.AsyncFunctionDef):
                    yield from _calls(function)


def _calls(function: ast.AsyncFunctionDef) -> Iterator[str]:
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr in EMBEDDING and function.name not in EMBEDDING:
            yield function.name
        if call.func.attr in ASKING:
            named = [one for one in call.args if isinstance(one, ast.Constant)]
            yield f"operation:{named[0].value if named else function.name}"
