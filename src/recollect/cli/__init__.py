"""The command `recollect`: the everyday part of Recollect in a terminal.

Parses, calls, renders; decides nothing. Exit codes: 0 done, 1 an error or findings, 2 wrong usage.
"""

import json
import sys
from collections.abc import Sequence

import click

from recollect._version import __version__
from recollect.cli.asking import Asked, common
from recollect.cli.bench import bench
from recollect.cli.chatting import chat
from recollect.cli.completing import completion
from recollect.cli.consolidating import consolidate
from recollect.cli.costs import budgets, cost
from recollect.cli.doctoring import doctor
from recollect.cli.forecasting import forecast
from recollect.cli.keeping import backup, export, import_, stats, verify
from recollect.cli.modelling import agents, models
from recollect.cli.packing import context
from recollect.cli.reading import history_, list_, profile, recall, show, why_not
from recollect.cli.reviewing import review
from recollect.cli.routing import route
from recollect.cli.tables import RED, clean, paint_if
from recollect.cli.terminal import screen_of
from recollect.cli.working import jobs, maintain, worker
from recollect.cli.writing import correct, forget, reinforce, remember, restore, undo
from recollect.domain.errors import RecollectError

__all__ = ["commands", "main"]

#: The commands in the order of the help, under their headings.
SECTIONS = {
    "Remember": (remember, correct, review, reinforce, restore, undo, forget),
    "Look": (recall, why_not, context, list_, show, history_, profile, forecast),
    "Talk": (chat,),
    "Keep": (consolidate, export, import_, backup, verify, doctor, stats),
    "Later": (maintain, worker, jobs),
    "Models": (models, agents, cost, budgets, route),
    "Measure": (bench,),
    "Shell": (completion,),
}
#: What to do about an error whose message does not say it already, by its code.
REMEDIES = {
    "not-found": "`recollect list --status all` shows what there is",
    "unknown-filter": "`recollect list --help` shows an example",
    "internal": "run it again with --debug and report what it prints",
}
NO_MEMORY = 'make one with `recollect remember "..."`, or name another with --db or RECOLLECT_URL'


class Commands(click.Group):
    """Lists the commands by what one wants to do."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the sections."""
        return [str(command.name) for section in SECTIONS.values() for command in section]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list a section."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                lines = [(str(one.name), one.get_short_help_str(limit=60)) for one in section]
                formatter.write_dl(lines, col_max=12)


@click.group(cls=Commands, invoke_without_command=True)
@common
@click.version_option(__version__, prog_name="recollect", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Memory for agents and people, in one file.

    \b
    recollect remember "I moved to Lisbon in March." --kind fact
    recollect recall "where do I live?" --why
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _section in SECTIONS.values():
    for _command in _section:
        commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code."""
    asked = Asked()
    try:
        status = commands.main(
            args=arguments, prog_name="recollect", standalone_mode=False, obj=asked
        )
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.format_message())
        status = 0
    except click.UsageError as exc:
        path = exc.ctx.command_path if exc.ctx else "recollect"
        status = complain(asked, "usage", exc.format_message(), f"`{path} --help` shows how", 2)
    except click.Abort:
        status = complain(asked, "aborted", "stopped before it was done", "", 1)
    except click.ClickException as exc:
        status = complain(asked, "error", exc.format_message(), "", 1)
    except Exception as exc:
        if asked.debug:
            raise
        status = complain(asked, *_explained(exc, asked), 1)
    sys.exit(status if isinstance(status, int) else 0)


def _explained(exc: Exception, asked: Asked) -> tuple[str, str, str]:
    """Code, message and remedy of an error."""
    if not isinstance(exc, RecollectError):
        what = f"{type(exc).__name__}: {exc}"
        return "internal", f"this should not happen: {what}", REMEDIES["internal"]
    remedy = "trying again is safe" if exc.retryable else REMEDIES.get(exc.code, "")
    if exc.code == "not-found" and asked.file is not None and not asked.file.exists():
        remedy = NO_MEMORY
    return exc.code, str(exc), remedy


def complain(asked: Asked, code: str, message: str, remedy: str, status: int) -> int:
    """One line on stderr: what is wrong, its code, what to do. The exit code is handed on."""
    if asked.as_json:
        told = {"error": {"code": code, "message": message, "remedy": remedy or None}}
        click.echo(json.dumps(told, ensure_ascii=False), err=True)
        return status
    ending = f"; {remedy}" if remedy else ""
    line = f"{clean(message).rstrip('.')} [{code}]{ending}"
    click.echo(f"{paint_if(screen_of(sys.stderr), RED, 'error:')} {line}", err=True, color=True)
    return status
