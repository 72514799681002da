"""What every command is told: which memory, whose, and how to answer."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

import recollect
from recollect import logs
from recollect.cli.tables import clean
from recollect.cli.terminal import remark, say
from recollect.domain.errors import NotFound, RecollectError, ValidationError
from recollect.domain.records import Status, Verification
from recollect.ports.store import Progress
from recollect.settings import Settings, load

if TYPE_CHECKING:
    from recollect.client.memory import Memory
    from recollect.lifecycle.keeper import Keeper

SHORT_ID = 8  #: characters of an id that a screen shows
FRAGMENT = re.compile(r"(?:mem_)?[0-9a-f]{4,32}\Z")
WHOLE_ID = re.compile(r"mem_[0-9a-f]{32}\Z")
EVERY_STATUS = tuple(status.value for status in Status)
T = TypeVar("T", bound=Callable[..., Any])


@dataclass
class Asked:
    """The options that every command has, before or behind its name."""

    db: str | None = None
    user: str | None = None
    as_json: bool = False
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The settings, with what the command line says on top."""
        return load(url=self.db, user=self.user)

    @property
    def file(self) -> Path | None:
        """The file that is meant; None when a URL of another kind is."""
        url = self.settings.url.removeprefix("sqlite:///")
        return None if "://" in url else Path(url)

    @contextmanager
    def memory(self, *, new: bool = False) -> "Generator[Memory]":
        """The memory that is meant, open. Only what writes may make a new file, and says so."""
        settings = self.settings
        missing = self._prepare(new=new)
        # A command is over before anything beside it would begin.
        with recollect.open(settings.url, user=settings.user, background="off") as memory:
            if missing:
                remark(f"made a new memory: {self.where} (--db or RECOLLECT_URL names another)")
            yield memory

    def keeper(self) -> "Keeper":
        """What runs jobs on the memory that is meant; called in the loop that it is to use."""
        from recollect.client.opening import open_backend
        from recollect.lifecycle.keeper import Keeper

        self._prepare(new=False)
        backend, _ = open_backend(self.settings.url, threaded=True, background="off")
        assert isinstance(backend, Keeper)
        return backend

    def check(self, progress: Progress) -> Verification:
        """Check the file that is meant without changing a byte of it."""
        from recollect import wiring

        self._prepare(new=False)
        return wiring.verify_file(self.settings.url, progress)

    def _prepare(self, *, new: bool) -> bool:
        """Set up logging, and see whether the file is missing; an error unless it may be `new`."""
        logs.setup(self.settings.log_level, self.settings.log_format)
        missing = self.file is not None and not self.file.exists()
        if missing and not new:
            raise NotFound(f"there is no memory at {self.where} yet")
        return missing

    @property
    def where(self) -> str:
        """The place of the memory as one would type it."""
        if self.file is None:
            return self.settings.url
        whole, here, home = self.file.absolute(), Path.cwd(), Path.home()
        if whole.is_relative_to(here):
            return str(whole.relative_to(here))
        return f"~/{whole.relative_to(home)}" if whole.is_relative_to(home) else str(whole)

    def tell(self, data: Mapping[str, Any], lines: Callable[[], Iterator[str]]) -> None:
        """Answer: as JSON where that was asked for, else in lines for people."""
        if self.as_json:
            say(json.dumps(data, ensure_ascii=False, indent=2))
            return
        for line in lines():
            say(line)


pass_asked = click.make_pass_decorator(Asked, ensure=True)


def _note(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option where a command finds it, whether it stood before or behind its name."""
    if value and parameter.name:
        setattr(context.ensure_object(Asked), parameter.name, value)


def common(command: T) -> T:
    """Give a command the options that all have."""
    options = (
        click.option(
            "--db",
            metavar="PATH",
            help="The memory to open: a path or URL. Default: RECOLLECT_URL, else memory.db.",
            type=click.Path(),
            expose_value=False,
            callback=_note,
        ),
        click.option(
            "--user",
            metavar="NAME",
            help="Whose memories. Default: RECOLLECT_USER, else local.",
            expose_value=False,
            callback=_note,
        ),
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            help="Answer in JSON.",
            expose_value=False,
            callback=_note,
        ),
        click.option(
            "--debug",
            is_flag=True,
            help="Show the traceback of an error.",
            expose_value=False,
            callback=_note,
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


class JsonText(click.ParamType[Any]):
    """An option that takes a JSON object."""

    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        """The object."""
        try:
            parsed = json.loads(value)
        except ValueError as exc:
            self.fail(f"not JSON: {exc}", param, ctx)
        if not isinstance(parsed, dict):
            self.fail('not a JSON object, such as {"kind": "fact"}', param, ctx)
        found: dict[str, Any] = parsed
        return found


JSON = JsonText()


def whole_id(memory: "Memory", given: str) -> str:
    """The id that is meant by an id, or by any part of one that fits only one memory."""
    if WHOLE_ID.match(given):
        return given
    if not FRAGMENT.match(given):
        raise ValidationError(
            f"{given!r:.80} is neither an id nor part of one (at least 4 of its characters)"
        )
    part = {"id": {"contains": given.removeprefix("mem_")}}
    found = [record.id for record in memory.list(where=part, status=EVERY_STATUS, limit=3)]
    if not found:
        raise NotFound(f"no memory {given} of this user")
    if len(found) > 1:
        raise ValidationError(f"{given} fits several memories: {', '.join(found)}")
    return found[0]


def short(id: str) -> str:
    """The end of an id, which tells apart what was written together; accepted by every command."""
    return id[-SHORT_ID:]


def complete_id(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids for the shell to offer, newest first, each with its text."""
    asked = context.ensure_object(Asked)
    # Before the first character of an answer nobody wants to read an error.
    with suppress(RecollectError), asked.memory() as memory:
        return [
            CompletionItem(short(record.id), help=clean(record.text[:60]))
            for record in memory.list(limit=50)
            if short(record.id).startswith(incomplete)
        ]
    return []
