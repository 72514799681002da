"""The command that measures how well a memory recalls."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.asking import Asked, pass_asked
from recollect.cli.tables import BOLD, DIM, Column, Row, facts, paint_if, table
from recollect.cli.terminal import remark, screen_of, waiting
from recollect.domain.errors import MissingExtra

if TYPE_CHECKING:
    from recollect.measuring.data import DataSet
    from recollect.measuring.embedding import RememberingEmbedder
    from recollect.measuring.running import SetRun
    from recollect.measuring.tables import Table
    from recollect.settings import Settings
    from recollect.wiring import Models

#: The columns that a narrow screen can do without.
SPARE = ("R@1", "R@50", "MRR", "s.R@10")
LANES = ("words", "meaning", "both")


class LaneNames(click.ParamType[tuple[str, ...]]):
    """An option that takes lanes, separated by commas."""

    name = "lanes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The lanes, each once."""
        given = [name.strip() for name in str(value).split(",") if name.strip()]
        for name in given:
            if name not in LANES:
                self.fail(f"{name!r} is not one of {', '.join(LANES)}", param, ctx)
        if not given:
            self.fail(f"name at least one of {', '.join(LANES)}", param, ctx)
        return tuple(dict.fromkeys(given))


OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)
INPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
LANES_HELP = "Which of words, meaning, both; separated by commas. Default: all that can be."


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--lanes", type=LaneNames(), metavar="LANES", help=LANES_HELP)
@click.option("--limit", type=click.IntRange(min=1), help="Ask only so many questions of each set.")
@click.option("--folds", is_flag=True, help="Show the means without each conversation in turn.")
@click.option("--ablate", is_flag=True, help="Show how much is lost without each feature.")
@click.option("--compare", type=INPUT, metavar="FILE", help="Show differences to a former --json.")
@click.option("--json", "data_file", type=OUTPUT, metavar="FILE", help="Write everything as JSON.")
@click.option("--markdown", type=OUTPUT, metavar="FILE", help="Write the tables as Markdown.")
@click.option("--plot", type=OUTPUT, metavar="FILE", help="Draw bar charts as SVG.")
@pass_asked
def bench(
    asked: Asked,
    /,
    path: Path,
    lanes: tuple[str, ...] | None,
    limit: int | None,
    folds: bool,
    ablate: bool,
    compare: Path | None,
    **files: Path | None,
) -> None:
    """Measure how well it recalls known answers.

    PATH is a folder of NAME.questions.jsonl and NAME.conversations.jsonl, or one such file of
    questions. Each conversation is stored in a fresh memory; yours is neither read nor written.
    """
    from recollect.measuring import drawing, report, tables
    from recollect.measuring.reading import read

    before = report.from_json(compare) if compare else None
    sets = read(path)
    for note in (note for one in sets for note in one.notes):
        remark(note)
    embedder = _embedder(asked, lanes)
    data = report.report(
        report.conditions(asked.settings, embedder),
        _run(sets, lanes or (LANES if embedder else LANES[:1]), embedder, limit, ablate=ablate),
    )
    more: list[Table] = list(tables.folds(data)) if folds else []
    if before is not None:
        more += tables.differences(before, data)
    _write(files["data_file"], lambda: report.as_json(data))
    _write(files["markdown"], lambda: tables.as_page(data, more))
    _write(files["plot"], lambda: drawing.picture(data))
    asked.tell(data, lambda: _shown(tables.conditions(data), [*tables.results(data), *more]))


def _embedder(asked: Asked, lanes: Sequence[str] | None) -> "RememberingEmbedder | None":
    """The embedder of the settings, if meaning is to be measured; an error if that cannot be."""
    from recollect import wiring
    from recollect.measuring.embedding import RememberingEmbedder

    if lanes == LANES[:1]:
        return None
    found = wiring.embedder_of(_models(asked.settings), in_loop=False)
    if found is None and lanes:
        raise MissingExtra(
            "the lane of meaning needs an embedder: pip install 'recollect[local]', or set "
            "embedder to local if it is none"
        )
    if found is None:
        remark("there is no embedder: only words are measured")
        return None
    return RememberingEmbedder(found)


def _models(settings: "Settings") -> "Models":
    from recollect.client.runner import LoopThread
    from recollect.wiring import Models

    named = (settings.embedder, settings.embedder_url, settings.embedder_key_env)
    return Models(*named, beside=LoopThread)


def _run(
    sets: "Sequence[DataSet]",
    lanes: Sequence[str],
    embedder: "RememberingEmbedder | None",
    limit: int | None,
    *,
    ablate: bool,
) -> "list[SetRun]":
    from recollect.measuring.running import run

    with waiting() as progress:
        return [run(one.limited(limit), lanes, embedder, progress, ablate=ablate) for one in sets]


def _write(path: Path | None, made: Callable[[], str]) -> None:
    if path is None:
        return
    try:
        path.write_text(made(), encoding="utf-8")
    except OSError as exc:
        raise click.ClickException(f"could not write {path}: {exc.strerror}") from exc
    remark(f"wrote {path}")


def _shown(conditions: Sequence[tuple[str, str]], tables: "Sequence[Table]") -> Iterator[str]:
    screen = screen_of(sys.stdout)
    yield from facts(conditions, screen)
    for one in tables:
        yield ""
        yield paint_if(screen, BOLD, one.title)
        columns = [
            Column(head, right=number > 0, spare=head in SPARE)
            for number, head in enumerate(one.head)
        ]
        # A last column takes what is left of the line: it stays empty, for numbers stand right.
        rows = [Row((*cells, "")) for cells in one.rows]
        yield from table([*columns, Column("")], rows, screen)
        yield from (paint_if(screen, DIM, line) for line in one.below)
