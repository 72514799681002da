"""`recollect chat`: talk to an agent in a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli.asking import Asked, common, pass_asked
from recollect.cli.showing import id_shown
from recollect.cli.tables import BOLD, DIM, clean, paint_if
from recollect.cli.terminal import remark, say, screen_of
from recollect.domain.errors import RecollectError

if TYPE_CHECKING:
    from recollect.agents import Agent, Reply, Runtime

HELP = """\
/why        what the last answer was told, and which tools it used
/memory     the newest memories
/forget ID  erase a memory
/help       this
/quit       leave; so do Ctrl-C and Ctrl-D"""
NAMELESS = "memory"
SYSTEM = "You help this person. Use what you remember of them."
NO_MODEL = (
    "no language model: answers are what is remembered, word for word; "
    "--model openai:gpt-4o-mini names one"
)
SHOWN = 8


@click.command()
@click.argument("agent", required=False)
@click.option("--model", metavar="NAME", help="provider:model, in place of the agent's own.")
@click.option("--session", metavar="NAME", help="The conversation to go on with.")
@click.option("--message", metavar="TEXT", help="Ask this one thing, and leave.")
@common
@pass_asked
def chat(
    asked: Asked,
    /,
    agent: str | None,
    model: str | None,
    session: str | None,
    message: str | None,
) -> None:
    """Talk to AGENT: a file, or a bare name in configs/. Without one, to your memory.

    \b
    recollect chat configs/tutor.yaml
    recollect chat --message "where do I live?"
    """
    _talk(asked, agent, model, session, message)


def _talk(
    asked: Asked, agent: str | None, model: str | None, session: str | None, message: str | None
) -> None:
    """One loop for the whole conversation; it stands while the person types."""
    from recollect.agents import runtime

    settings = asked.settings
    with asyncio.Runner() as loop:
        app = loop.run(_opened(runtime, settings.url, settings.user))
        try:
            made = _agent(app, agent, model)
            talk = _Talk(asked, app, made, session)
            if message is not None:
                loop.run(talk.answer(message))
                return
            if made.model is None:
                remark(NO_MODEL)
            remark(f"{made.agent_id}, on {asked.where}; /help says what else there is")
            talk.go(loop)
        finally:
            loop.run(app.close())


async def _opened(runtime: Callable[..., Runtime], url: str, user: str) -> Runtime:
    return runtime(10, url, user=user)


def _agent(app: Runtime, agent: str | None, model: str | None) -> Agent:
    if agent is not None:
        return app.add_agent(agent, model=model)
    return app.create_agent(NAMELESS, model, SYSTEM)


class _Talk:
    """A conversation between a terminal and an agent."""

    def __init__(self, asked: Asked, app: Runtime, agent: Agent, session: str | None) -> None:
        self._asked = asked
        self._app = app
        self._agent = agent
        self._session = session
        self._screen = screen_of(sys.stdout)
        self._last: Reply | None = None

    def go(self, loop: asyncio.Runner) -> None:
        """Line by line, until there are no more."""
        while True:
            try:
                line = _read().strip()
            except (EOFError, KeyboardInterrupt):
                return
            if line in ("/quit", "/exit"):
                return
            try:
                loop.run(self._command(line) if line.startswith("/") else self.answer(line))
            except RecollectError as error:
                remark(f"error: {clean(str(error))}")

    async def answer(self, message: str) -> None:
        """Show the answer as it comes."""
        from recollect.agents import Reply

        if not message:
            return
        stream = self._app.stream(self._agent.agent_id, message, session=self._session)
        async for piece in stream:
            if isinstance(piece, Reply):
                self._last = piece
            elif not self._asked.as_json:
                click.echo(clean(piece, lines=True), nl=False)
        if self._asked.as_json and self._last is not None:
            say(json.dumps(_as_json(self._last), ensure_ascii=False, indent=2))
        else:
            say()

    async def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name == "/why":
            for one in self._why():
                say(one)
        elif name == "/memory":
            memory = await self._app.memory_of(None)
            for record in (await memory.list(limit=SHOWN)).items:
                say(f"{id_shown(record.id, self._screen)}  {clean(record.text)}")
        elif name == "/forget":
            memory = await self._app.memory_of(None)
            receipt = await memory.forget(rest.strip())
            say(f"erased {receipt.erased.get('memories', 0)}, receipt {receipt.id}")
        else:
            say(HELP)

    def _why(self) -> Iterator[str]:
        """What the last answer was told."""
        if self._last is None:
            yield "nothing was asked yet"
            return
        told = self._last.told
        yield paint_if(self._screen, BOLD, f"{told.model}, {told.context.tokens:,} tokens")
        for section, tokens in told.context.sections.items():
            yield f"  {section:<13} {tokens:>7,}"
        for record in told.context.memories:
            yield f"  {id_shown(record.id, self._screen)}  {clean(record.text)}"
        if told.tools:
            yield paint_if(self._screen, DIM, f"  tools: {', '.join(told.tools)}")


def _read() -> str:
    return input("> " if sys.stdin.isatty() else "")


def _as_json(reply: Reply) -> dict[str, object]:
    told = reply.told
    return {
        "reply": str(reply),
        "agent": told.agent,
        "model": told.model,
        "tools": list(told.tools),
        "context": told.context.to_dict(),
    }
