"""Commands about models and agents as data: models, agents."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from recollect.cli.asking import JSON, Asked, common, pass_asked
from recollect.cli.showing import counted
from recollect.cli.tables import GREEN, RED, Column, Row, facts, paint_if, table
from recollect.cli.terminal import screen_of
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.records import JsonObject


@click.group()
def models() -> None:
    """How models are reached, each under a label.

    \b
    recollect models add cheap openai:gpt-4o-mini --option temperature=0
    recollect models test cheap
    """


@models.command("add")
@click.argument("label")
@click.argument("model", metavar="PROVIDER:MODEL")
@click.option("--url", metavar="URL", help="Where it is, if not at its provider's usual address.")
@click.option("--key-env", metavar="NAME", help="The environment variable that holds its key.")
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="temperature=0, window=8192, …"
)
@click.option("--fallback", "fallbacks", multiple=True, metavar="LABEL", help="Asked in its place.")
@click.option("--off", is_flag=True, help="Keep it, and do not use it.")
@common
@pass_asked
def add_model(asked: Asked, /, label: str, model: str, off: bool, **said: Any) -> None:
    """Add a model under a LABEL, or change it.

    A key itself is never stored: name the environment variable that holds it.
    """
    provider, _, name = model.partition(":")
    options = {**dict(_option(one) for one in said["options"])}
    if said["fallbacks"]:
        options["fallbacks"] = list(said["fallbacks"])
    with asked.memory(new=True) as memory:
        client = memory.models().set(
            label,
            provider=provider,
            model=name or model,
            base_url=said["url"],
            key_env=said["key_env"],
            options=options,
            active=not off,
        )
    asked.tell(client.to_dict(), lambda: _done(f"Set {label} to {client.name}"))


def _option(said: str) -> tuple[str, Any]:
    name, equals, value = said.partition("=")
    if not equals:
        raise click.UsageError(f"--option {said!r} must be NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError as exc:
        raise click.UsageError(f"--option {name}: {value!r} is not a number") from exc


@models.command("list")
@common
@pass_asked
def list_models(asked: Asked) -> None:
    """List all models."""
    with asked.memory() as memory:
        found = memory.models().list()
    answer = {"model_clients": [one.to_dict() for one in found]}
    asked.tell(answer, lambda: _models(found))


def _models(found: Sequence[ModelClient]) -> Iterator[str]:
    if not found:
        yield "No models yet: recollect models add LABEL PROVIDER:MODEL"
        return
    columns = (Column("LABEL"), Column("MODEL"), Column("KEY FROM", spare=True), Column("WHERE"))
    rows = [
        Row((one.label, one.name, one.key_variable or "none", one.url if one.active else "off"))
        for one in found
    ]
    yield from table(columns, rows, screen_of(sys.stdout))


@models.command("show")
@click.argument("label")
@common
@pass_asked
def show_model(asked: Asked, label: str) -> None:
    """Show everything about a model but its key."""
    with asked.memory() as memory:
        client = memory.models().get(label)
    asked.tell(client.to_dict(), lambda: _facts(client.to_dict()))


@models.command("remove")
@click.argument("label")
@click.option("--release", is_flag=True, help="Let agents go that remember with it.")
@common
@pass_asked
def remove_model(asked: Asked, label: str, release: bool) -> None:
    """Remove a model that no agent needs."""
    with asked.memory() as memory:
        memory.models().remove(label, release=release)
    asked.tell({"removed": label}, lambda: _done(f"Removed {label}"))


@models.command("test")
@click.argument("label", metavar="LABEL")
@common
@pass_asked
def test_model(asked: Asked, label: str) -> None:
    """Ask a model, by label or PROVIDER:MODEL, for one word.

    Exits with 1 if it does not answer. The call is booked like every other.
    """
    with asked.memory(new=True) as memory:
        told = memory.models().test(label)
    asked.tell({"tests": [told]}, lambda: _tested([told]))
    if not told["ok"]:
        raise click.exceptions.Exit(1)


def _tested(tests: Sequence[JsonObject]) -> Iterator[str]:
    screen = screen_of(sys.stdout)
    for told in tests:
        if told["ok"]:
            word = paint_if(screen, GREEN, "Answers:")
            yield f"{word} {told['label']} ({told['model']}) after {told['ms']:,} ms"
        else:
            yield f"{paint_if(screen, RED, 'Does not answer:')} {told['label']}: {told['error']}"


@click.group()
def agents() -> None:
    """Agents, and the models they think and remember with.

    \b
    recollect agents add tutor --model dear --memory-model cheap
    recollect agents load agents.yaml
    """


@agents.command("add")
@click.argument("label")
@click.option("--model", "model_client", metavar="LABEL", help="The model it thinks with.")
@click.option("--memory-model", metavar="LABEL", help="The model for its memory; none: its own.")
@click.option("--system", "system_message", metavar="TEXT", help="What it is told first.")
@click.option("--type", "kind", metavar="TYPE", help="chat, code, …")
@click.option("--description", metavar="TEXT", help="What it is for.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="A tool that it may call.")
@click.option("--context", type=JSON, help="How its context is made, as JSON.")
@common
@pass_asked
def add_agent(asked: Asked, /, label: str, kind: str | None, **said: Any) -> None:
    """Add an agent under a LABEL, or change it: what is not said stays as it was."""
    remembers = said.pop("memory_model")
    fields = {name: value for name, value in said.items() if value not in (None, ())}
    if remembers is not None:
        fields["memory_model_client"] = None if remembers == "none" else remembers
    if kind is not None:
        fields["type"] = kind
    with asked.memory(new=True) as memory:
        agent = memory.agents().set(label, **fields)
    asked.tell(agent.to_dict(), lambda: _done(f"Set {label}"))


@agents.command("list")
@common
@pass_asked
def list_agents(asked: Asked) -> None:
    """List all agents."""
    with asked.memory() as memory:
        found = memory.agents().list()
    answer = {"agents": [one.to_dict() for one in found]}
    asked.tell(answer, lambda: _agents(found))


def _agents(found: Sequence[AgentRecord]) -> Iterator[str]:
    if not found:
        yield "No agents yet: recollect agents add LABEL --model LABEL"
        return
    titles = ("LABEL", "TYPE", "THINKS WITH", "REMEMBERS WITH", "DESCRIPTION")
    rows = [
        Row(
            (
                *(one.label, one.type, one.model_client),
                *(one.memory_model_client or "the same", one.description or ""),
            )
        )
        for one in found
    ]
    yield from table([Column(title) for title in titles], rows, screen_of(sys.stdout))


@agents.command("show")
@click.argument("label")
@common
@pass_asked
def show_agent(asked: Asked, label: str) -> None:
    """Show an agent, and which models work for it and why."""
    with asked.memory() as memory:
        agent = memory.agents().get(label)
        status = memory.scope(agent=label).status()["models"]
    answer = {**agent.to_dict(), "models": status}

    def lines() -> Iterator[str]:
        yield from _facts(agent.to_dict())
        told = [(name, status[name]) for name in ("memory", "reasoning")]
        yield from facts(
            [(f"{name} model", f"{one['model']} ({one['why']})") for name, one in told],
            screen_of(sys.stdout),
        )

    asked.tell(answer, lines)


@agents.command("remove")
@click.argument("label")
@common
@pass_asked
def remove_agent(asked: Asked, label: str) -> None:
    """Remove an agent; its memories stay."""
    with asked.memory() as memory:
        memory.agents().remove(label)
    asked.tell({"removed": label}, lambda: _done(f"Removed {label}"))


@agents.command("test")
@click.argument("label")
@common
@pass_asked
def test_agent(asked: Asked, label: str) -> None:
    """Ask both models of an agent for one word; exits with 1 if one does not answer."""
    with asked.memory() as memory:
        agent = memory.agents().get(label)
        labels = dict.fromkeys((agent.model_client, agent.memory_model_client))
        told = [memory.models().test(one) for one in labels if one is not None]
    asked.tell({"tests": told}, lambda: _tested(told))
    if not all(one["ok"] for one in told):
        raise click.exceptions.Exit(1)


@agents.command("load")
@click.argument("path", type=click.Path(exists=True, dir_okay=False))
@common
@pass_asked
def load_agents(asked: Asked, path: str) -> None:
    """Take over models and agents from PATH, in JSON, YAML or TOML: all of them or none."""
    with asked.memory(new=True) as memory:
        told = memory.agents().load(path)
    taken = f"{counted(told['model_clients'], 'model')} and {counted(told['agents'], 'agent')}"
    asked.tell(told, lambda: _done(f"Loaded {taken}"))


@agents.command("dump")
@common
@pass_asked
def dump_agents(asked: Asked) -> None:
    """Write everything that `load` would need to make the same, as JSON."""
    with asked.memory() as memory:
        told = memory.agents().dump()
    asked.tell(told, lambda: iter(json.dumps(told, ensure_ascii=False, indent=2).splitlines()))


def _facts(told: JsonObject) -> Iterator[str]:
    pairs = [
        (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
        for name, value in told.items()
        if value not in (None, "", {}, [])
    ]
    yield from facts(pairs, screen_of(sys.stdout))


def _done(line: str) -> Iterator[str]:
    first, _, rest = line.partition(" ")
    yield f"{paint_if(screen_of(sys.stdout), GREEN, first)} {rest}"
