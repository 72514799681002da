"""Quoting: remembered text as data that cannot pass for anything else.

A block of data stands between two marks with a number that is a digest of what it encloses and
that does not occur in it, so that no text can hold its own closing mark; and the same data has the
same marks in every call, so that a provider's cache still knows it. Lines of data never begin
where a mark begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from recollect.domain.records import MemoryRecord

MARK_BYTES = 4
INDENT = "  "


@dataclass(frozen=True, slots=True)
class Line:
    """One memory in a block: its id and how it reads there."""

    id: str
    text: str
    digest: str


def block(name: str, told: str, body: str) -> str:
    """Data between two marks, headed by what it is."""
    number = 0
    while True:
        mark = blake2b(f"{number}{name}{body}".encode(), digest_size=MARK_BYTES).hexdigest()
        if mark not in body:
            return f"<{name} {mark}>\n{told}\n{body}\n</{name} {mark}>"
        number += 1


def indented(text: str) -> str:
    """A text whose lines all begin with a blank."""
    return "\n".join(f"{INDENT}{line}" for line in text.splitlines())


def entry(text: str) -> str:
    """A text as an entry of a list; further lines of it are indented."""
    first, *rest = text.strip().splitlines() or [""]
    return "\n".join([f"- {first}", *(f"{INDENT}{line}" for line in rest)])


def dated(record: MemoryRecord, against: Sequence[str] = ()) -> Line:
    """A memory as an entry: since when it is known or true, who said it, what.

    `against` are the dates of memories beside it that say something else.
    """
    who = record.speaker or record.role
    said = f"{record.begins:%Y-%m-%d}{f', {_plain(who)}' if who else ''}"
    doubt = f" (contradicts what is said of {', '.join(against)})" if against else ""
    return Line(record.id, entry(f"{said}{doubt}: {record.text}"), digest(record))


def digest(record: MemoryRecord) -> str:
    """What tells whether a memory is as it was: its text and whether it may be shown."""
    told = f"{record.status}\x00{record.begins:%Y-%m-%d}\x00{record.text}"
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _plain(name: str) -> str:
    """A name without what could end a line."""
    return " ".join(name.split())
