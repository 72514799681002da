"""Names are made of the words of the glossary, so that one thing has one name everywhere."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import recollect.cli
from recollect import Memory
from recollect.client import handles

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
SCHEMA = sorted((ROOT / "src/recollect/storage/sqlite/schema").glob("*.sql"))
ROW = re.compile(r"^\| (?P<words>(?:\*\*|`).*?) \|", re.MULTILINE)
TABLE = re.compile(r"CREATE TABLE (?P<name>\w+) \((?P<columns>.*?)\n\)", re.DOTALL)

#: Words of plain English, or of databases, that mean here what they mean everywhere.
PLAIN_WORDS = (
    "about action after as at atomic attempt before by cascade change completion cursor data days "
    "description destination detail dry everything first id if kind last limit many name now "
    "number of once order origin path progress question row run show since sort start to "
    "until up url what where"
)
#: Words that only the tables have, each explained by a comment in the schema.
TABLE_ONLY_WORDS = (
    "access body code digest dimension hash lease payload run salt seal segment seq sum unsealed"
)
PLAIN, TABLE_WORDS = set(PLAIN_WORDS.split()), set(TABLE_ONLY_WORDS.split())
#: The table of groups cannot name a column by a keyword of SQL.
ABBREVIATED = {"grp": "group"}


def listed(text: str) -> set[str]:
    """The words that head the rows of the glossary."""
    heads = " ".join(row["words"] for row in ROW.finditer(text))
    return {bold or code for bold, code in re.findall(r"\*\*(.+?)\*\*|`(.+?)`", heads)}


WORDS = listed(GLOSSARY) | set(re.findall(r"\*\*(.+?)\*\*", GLOSSARY))


def roots(word: str) -> set[str]:
    """A word, and what it may be a form of: memories, leased, changed, expires."""
    found = {word, ABBREVIATED.get(word, word)}
    for ending, root in (("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("d", "")):
        if word.endswith(ending):
            found.add(word.removesuffix(ending) + root)
    return found


def unknown(name: str, known: set[str]) -> list[str]:
    """The parts of a name that are no known word; none if the glossary lists the whole name."""
    if name.strip("_") in WORDS:
        return []
    return [part for part in name.strip("_").split("_") if not roots(part) & known]


def methods() -> Iterator[tuple[str, str]]:
    """Public methods of the memory and of its handles, and their parameters."""
    kinds = [kind for _, kind in inspect.getmembers(handles, inspect.isclass)]
    for kind in (Memory, *(one for one in kinds if one.__module__ == handles.__name__)):
        for name, method in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_"):
                yield f"{kind.__name__}.{name}", name
                for parameter in inspect.signature(method).parameters.values():
                    if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                        yield f"{kind.__name__}.{name}({parameter.name})", parameter.name


def commands() -> Iterator[tuple[str, str]]:
    """The commands of the command line."""
    groups = [one for one in vars(recollect.cli).values() if isinstance(one, click.Group)]
    for group in groups:
        for name in group.commands:
            yield f"recollect {name}", name.replace("-", "_")


def tables() -> Iterator[tuple[str, str]]:
    """Tables and their columns."""
    for file in SCHEMA:
        script = re.sub(r"--.*", "", file.read_text(encoding="utf-8"))
        for table in TABLE.finditer(script):
            yield table["name"], table["name"]
            for line in table["columns"].strip().splitlines():
                column = line.split()[0]
                if column not in ("UNIQUE", "PRIMARY", "FOREIGN", "CHECK"):
                    yield f"{table['name']}.{column}", column


@pytest.mark.parametrize(
    ("names", "known"),
    [(methods, WORDS | PLAIN), (commands, WORDS | PLAIN), (tables, WORDS | PLAIN | TABLE_WORDS)],
    ids=["methods", "commands", "tables"],
)
def test_names_are_made_of_words_that_the_glossary_explains(
    names: Callable[[], Iterator[tuple[str, str]]], known: set[str]
) -> None:
    found = list(names())
    assert len(found) > 10
    strange = {where: parts for where, name in found if (parts := unknown(name, known))}
    assert strange == {}


def test_a_synonym_that_the_glossary_does_not_have_is_noticed() -> None:
    known = WORDS | PLAIN
    assert unknown("delete_fact", known) == ["delete", "fact"]
    assert unknown("search", known) == ["search"]
    assert unknown("remember_many", known) == unknown("superseded_by", known) == []


def test_every_deed_of_the_glossary_can_be_done() -> None:
    deeds = listed(GLOSSARY.partition("## Deeds")[2].partition("\n## ")[0])
    done = {part.strip("_") for _, name in methods() for part in (name, *name.split("_"))}
    assert deeds - done == set()
