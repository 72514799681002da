"""Writes the parts of docs/reference that are taken from the source; `--check` only compares.

A page keeps what people wrote on it: only what stands between its two markers is written anew.
"""

import argparse
import dataclasses
import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs/reference"
SCHEMA = ROOT / "src/recollect/storage/sqlite/schema"
START, END = "<!-- written by `make docs` from here -->", "<!-- to here -->"
LIMIT = re.compile(r"^(?P<name>[A-Z][A-Z_0-9]*)\s*=.*?#:\s*(?P<meaning>.+)$", re.MULTILINE)
TABLE = re.compile(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)")
HELP_WIDTH = 88
#: How the rows begin that the README takes over from docs/reference/benchmarks.md.
TELLING = (
    "`import recollect`",
    "durable single `remember`, CPU against",
    "durable single `remember`, wall against",
    "durable single `remember`, syncs",
    "batch `remember`",
    "`recall` in 500 of 10,000",
    "`recall` in 5,000 of 100,000",
    "recall@10 of the vector search in 1,000",
    "resident memory with 100,000 memories of 20",
    "8 processes",
)


def errors() -> Iterator[str]:
    """The exception tree as a table."""
    module = importlib.import_module("recollect.domain.errors")
    yield "| class | is a | code | HTTP | retry | meaning |\n|---|---|---|---|---|---|\n"
    classes: list[Any] = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    for kind in classes:
        if not issubclass(kind, module.RecollectError):
            continue
        retry = "yes" if kind.retryable else "no"
        yield f"| `{kind.__name__}` | `{kind.__base__.__name__}` | `{kind.code}` "
        yield f"| {kind.http_status} | {retry} | {one_line(kind)} |\n"


def limits() -> Iterator[str]:
    """Every limit with its value and its comment."""
    module = importlib.import_module("recollect.domain.limits")
    yield "| limit | value | what it bounds |\n|---|---:|---|\n"
    for found in LIMIT.finditer(inspect.getsource(module)):
        value = getattr(module, found["name"])
        shown = f"{value:,}" if found["name"].endswith("_MAX") and value > 9999 else f"{value}"
        yield f"| `{found['name']}` | {shown} | {found['meaning']} |\n"


def cli() -> Iterator[str]:
    """The help text of every command."""
    module = importlib.import_module("recollect.cli")
    yield from command_help(module.commands, click.Context(module.commands, info_name="recollect"))


def command_help(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of one command, then of those below it."""
    context.terminal_width = context.max_content_width = HELP_WIDTH
    yield f"## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner and not inner.hidden:
                yield from command_help(inner, click.Context(inner, info_name=name, parent=context))


def settings() -> Iterator[str]:
    """Every setting: name, type, default and help."""
    module = importlib.import_module("recollect.settings")
    for kind in (module.Settings, module.policy.Policy):
        yield f"## `{kind.__name__}`\n\n{one_line(kind)}\n\n"
        yield "| setting | type | default | meaning |\n|---|---|---|---|\n"
        for field in dataclasses.fields(kind):
            yield (
                f"| `{field.name}` | {code(type_name(field.type))} | {code(default(field))} "
                f"| {field.metadata.get('help', '')} |\n"
            )
        yield "\n"


def default(field: "dataclasses.Field[Any]") -> str:
    """The default of a setting as one would write it."""
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "required"


def type_name(kind: object) -> str:
    """A type as one would write it."""
    return kind.__name__ if inspect.isclass(kind) else str(kind).removeprefix("typing.")


def schema() -> Iterator[str]:
    """The tables of the SQLite file, each with its comment and its statement."""
    for file in sorted(SCHEMA.glob("*.sql")):
        yield f"## `{file.name}`\n\n"
        for part in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip()):
            lines = part.splitlines()
            body = next((i for i, line in enumerate(lines) if not line.startswith("--")), None)
            if table := TABLE.search(part):
                yield f"### `{table[1]}`\n\n"
            prose = "\n".join(line.removeprefix("--").strip() for line in lines[:body])
            yield f"{prose}\n\n" if prose else ""
            if body is not None:
                yield "```sql\n" + "\n".join(lines[body:]) + "\n```\n\n"


def api() -> Iterator[str]:
    """The public methods of `Memory`; `AsyncMemory` has the same, awaited."""
    memory = importlib.import_module("recollect").Memory
    for name in sorted(name for name in dir(memory) if not name.startswith("_")):
        member = inspect.getattr_static(memory, name)
        yield f"## `Memory.{name}`\n\n"
        if callable(getattr(memory, name)):
            yield f"```text\n{wrapped(name + signature(member))}\n```\n\n"
        yield f"{documentation(getattr(memory, name))}\n\n"


def signature(method: Any) -> str:
    """The signature as a caller sees it: without `self`, and without the modules of types."""
    function = inspect.unwrap(getattr(method, "__func__", method))
    found = inspect.signature(function)
    given = list(found.parameters.values())
    called = found.replace(parameters=given if isinstance(method, staticmethod) else given[1:])
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", str(called)).replace("'", "")


def wrapped(call: str) -> str:
    """A signature on one line if it fits, else one parameter per line."""
    if len(call) <= HELP_WIDTH:
        return call
    head, _, rest = call.partition("(")
    inside, arrow, result = rest.rpartition(") ->")
    parameters = re.split(r", (?![^\[(]*[\])])", inside)
    return "\n".join([f"{head}(", *(f"    {given}," for given in parameters), f"{arrow}{result}"])


def benchmarks() -> Iterator[str]:
    """The rows of the last `make bench` that say the most, for the README."""
    page = REFERENCE / "benchmarks.md"
    rows = [line.split(" | ") for line in page.read_text(encoding="utf-8").splitlines()]
    yield "| what | target | measured | |\n|---|---|---|---|\n"
    for chosen in TELLING:
        for row in rows:
            if row[0].startswith(f"| {chosen}"):
                yield f"{' | '.join(row[:3])} | {row[-1].strip(' |')} |\n"


def documentation(thing: object) -> str:
    """The docstring as Markdown: an example, indented or after `>>>`, becomes a code block."""
    paragraphs = re.split(r"\n\s*\n", inspect.getdoc(thing) or "")
    return "\n\n".join(
        f"```pycon\n{textwrap.dedent(part)}\n```" if part.startswith((">>>", "    ")) else part
        for part in paragraphs
    )


def one_line(thing: object) -> str:
    """The docstring, joined and fit for a table cell."""
    return " ".join((inspect.getdoc(thing) or "").split()).replace("|", "\\|")


def code(words: str) -> str:
    """Code that is fit for a table cell."""
    return f"`{words}`".replace("|", "\\|")


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of the reference and where its generated part comes from."""

    name: str
    title: str
    intro: str
    source: str
    write: Callable[[], Iterator[str]]

    @property
    def path(self) -> Path:
        """Where it is."""
        return (REFERENCE / f"{self.name}.md").resolve()

    def now(self) -> str:
        """The page as it stands, or a new one."""
        if self.path.exists():
            return self.path.read_text(encoding="utf-8")
        return f"# {self.title}\n\n{self.intro}\n\n{START}\n{END}\n"

    def anew(self) -> str:
        """The page with its generated part from the source of today."""
        before, found, rest = self.now().partition(START)
        _, ended, after = rest.partition(END)
        if not (found and ended):
            raise SystemExit(f"{self.path}: needs the two markers {START} and {END}")
        return f"{before}{START}\n\n{''.join(self.write()).strip()}\n\n{END}{after}"


PAGES = (
    Page(
        "errors",
        "Errors",
        "Every error is one of these classes. `code` is the same word in Python, on the command "
        "line\nand in logs; where *retry* says yes, the same call may be tried again.",
        "recollect.domain.errors",
        errors,
    ),
    Page(
        "limits",
        "Limits",
        "Everything that comes from outside is bounded. An error names the limit that it met.",
        "recollect.domain.limits",
        limits,
    ),
    Page("cli", "Command line", "Every command, with its options.", "recollect.cli", cli),
    Page("settings", "Settings", "What can be set.", "recollect.settings", settings),
    Page(
        "schema",
        "The SQLite file",
        "The tables are public: they can be read with any SQLite. Write through Recollect only.",
        "recollect.storage.sqlite",
        schema,
    ),
    Page(
        "api",
        "Memory",
        "What `recollect.open(...)` returns. `AsyncMemory` has the same methods, to be awaited.",
        "recollect",
        api,
    ),
    Page("../../README", "Recollect", "", "bench", benchmarks),
)


def exists(module: str) -> bool:
    """Whether the module has been written; an empty folder does not count."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None


def main() -> int:
    """Write the pages, or name those that are out of date."""
    parser = argparse.ArgumentParser(description="The generated pages of docs/reference.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = 0
    for page in PAGES:
        if not page.path.exists() and not exists(page.source):
            print(f"{page.path.relative_to(ROOT)}: skipped, {page.source} is not written yet")
            continue
        new = page.anew()
        if page.path.exists() and page.path.read_text(encoding="utf-8") == new:
            continue
        stale += 1
        if check:
            print(f"{page.path.relative_to(ROOT)}: out of date, run `make docs`")
        else:
            page.path.parent.mkdir(parents=True, exist_ok=True)
            page.path.write_text(new, encoding="utf-8")
            print(f"{page.path.relative_to(ROOT)}: written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
