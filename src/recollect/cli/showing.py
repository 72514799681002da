"""How memories, answers and histories look on a screen, and in JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from recollect.cli.asking import short
from recollect.cli.tables import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Column,
    Paint,
    Row,
    Screen,
    bar,
    clean,
    facts,
    fitted,
    paint_if,
    table,
)
from recollect.domain import times
from recollect.domain.recall import Hit, Recall, WhyNot
from recollect.domain.records import Change, JsonObject, MemoryRecord, Page, Status
from recollect.domain.scopes import PlaceKind

WHY_WIDTH = 12
#: Fields that every change moves; what a history shows is the rest.
_MOVED_ALWAYS = frozenset({"version", "updated_at", "access_count", "reinforced_at"})
_STATUS_PAINTS: Mapping[str, Paint] = {
    Status.SUPERSEDED: DIM,
    Status.QUARANTINED: RED,
    Status.ARCHIVED: YELLOW,
}


def day(moment: datetime | None) -> str:
    """A date as a table shows it."""
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def minute(moment: datetime | None) -> str:
    """A moment as a person reads it, in UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}Z"


def counted(number: int, thing: str) -> str:
    """`1 memory`, `2 memories`."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing[:-1]}ies" if thing.endswith("y") else f"{number:,} {thing}s"


def id_shown(id: str, screen: Screen) -> str:
    """An id: its end on a screen, the whole of it where a program may read it."""
    return id if screen.width is None else short(id)


# -- memories --------------------------------------------------------------------------------------


def listing(page: Page[MemoryRecord], screen: Screen) -> Iterator[str]:
    """A page of memories as a table."""
    columns = (
        Column("ID", paint=CYAN),
        Column("KIND", spare=True),
        Column("WHEN", spare=True),
        Column("STATUS"),
        Column("TAGS", spare=True),
        Column("TEXT"),
    )
    rows = [
        Row(
            (
                id_shown(one.id, screen),
                one.kind,
                day(one.begins),
                "" if one.status == Status.ACTIVE else one.status,
                ", ".join(one.tags),
                one.text,
            ),
            paint=_STATUS_PAINTS.get(one.status),
        )
        for one in page
    ]
    return table(columns, rows, screen)


def one_memory(record: MemoryRecord, screen: Screen) -> Iterator[str]:
    """Everything about one memory: its text, then what is known about it."""
    for line in clean(record.text, lines=True).splitlines():
        yield paint_if(screen, BOLD, line)
    yield ""
    until = f" until {minute(record.valid_to)}" if record.valid_to else ""
    pairs = (
        ("id", record.id),
        ("kind", record.kind),
        ("status", record.status),
        ("true from", f"{minute(record.begins)}{until}"),
        ("happened", minute(record.occurred_at)),
        ("learned", minute(record.created_at)),
        ("changed", minute(record.updated_at) if record.version > 1 else ""),
        ("expires", minute(record.expires_at)),
        ("superseded by", record.superseded_by or ""),
        ("tags", ", ".join(record.tags)),
        ("importance", f"{record.importance:g}"),
        ("tier", record.tier),
        ("source", f"{record.source} ({record.trust})"),
        ("belongs to", belonging(record)),
        ("session", record.session or ""),
        ("role", record.role or ""),
        ("speaker", record.speaker or ""),
        ("agent", record.agent or ""),
        ("parent", record.parent or ""),
        ("priority", "" if record.priority is None else str(record.priority)),
        ("stage", record.stage or ""),
        *((f"metadata.{name}", f"{value}") for name, value in record.metadata.items()),
        ("version", str(record.version)),
    )
    yield from facts(pairs, screen)


def belonging(record: MemoryRecord) -> str:
    """Whose memory it is, in words."""
    place = record.place
    if place.kind is PlaceKind.SHARED:
        return f"everybody in app {place.app}"
    return f"{place.kind.value} {place.name}"


# -- recall ----------------------------------------------------------------------------------------


def recalled(
    recall: Recall, screen: Screen, *, why: bool, owner: str, timeline: bool = False
) -> Iterator[str]:
    """The hits as a table; with `why`, the shares of each score as bars, and the near misses.

    As a `timeline` they stand in the order in which they happened, and keep their numbers.
    """
    if not recall.hits:
        yield f"Nothing found in {counted(recall.searched, 'memory')} of {owner}."
        return
    full = max(share for hit in recall.hits for share in hit.why.shares.values())
    place = {hit.id: rank for rank, hit in enumerate(recall.hits, start=1)}
    ranked = [(place[hit.id], hit) for hit in (recall.timeline() if timeline else recall.hits)]
    yield from table(
        _HIT_COLUMNS,
        [_hit_row(str(rank), hit, screen, full if why else None) for rank, hit in ranked],
        screen,
    )
    if why and recall.near_misses:
        yield ""
        yield paint_if(screen, BOLD, "Near misses")
        yield from table(
            _MISS_COLUMNS, [_miss_row(hit, screen) for hit in recall.near_misses], screen
        )
    yield ""
    if recall.dates:
        yield paint_if(screen, DIM, f"time asked about: {'; '.join(map(clean, recall.dates))}")
    if recall.as_of is not None:
        yield paint_if(screen, DIM, f"how things stood on {minute(recall.as_of)}")
    hits = counted(len(recall.hits), "hit")
    searched = counted(recall.searched, "memory")
    ways = " and ".join(recall.lanes)
    without = f"; without {', '.join(recall.degraded)}" if recall.degraded else ""
    yield paint_if(screen, DIM, f"{hits} in {searched} of {owner}, found by {ways}{without}")


_HIT_COLUMNS = (
    Column("#", right=True, paint=DIM),
    Column("SCORE", right=True, paint=GREEN),
    Column("ID", paint=CYAN),
    Column("KIND", spare=True),
    Column("WHEN", spare=True),
    Column("TEXT", lines_max=3),
)
_MISS_COLUMNS = (
    Column("SCORE", right=True),
    Column("ID", paint=CYAN),
    Column("KEPT OUT"),
    Column("TEXT"),
)


def _hit_row(rank: str, hit: Hit, screen: Screen, full: float | None) -> Row:
    record = hit.memory
    cells = (
        rank,
        f"{hit.score:.2f}",
        id_shown(hit.id, screen),
        record.kind,
        day(record.begins),
        hit.rendered,
    )
    below = None if full is None else partial(_reasons, hit, full, screen)
    return Row(cells, below, _highlighter(hit.why.words))


def _miss_row(hit: Hit, screen: Screen) -> Row:
    cells = (f"{hit.score:.2f}", id_shown(hit.id, screen), hit.why.cut or "", hit.text)
    return Row(cells, paint=DIM)


def _reasons(hit: Hit, full: float, screen: Screen, room: int | None) -> Iterator[str]:
    """A bar per share, longest where the best share of all hits is; then what matched."""
    width = max(map(len, hit.why.shares), default=0)
    for name, share in hit.why.shares.items():
        colour = GREEN if share >= 0 else RED
        drawn = paint_if(screen, colour, bar(abs(share) / full if full else 0, WHY_WIDTH, screen))
        yield f"{name.replace('_', ' '):<{width}}  {drawn} {share:5.2f}"
    sources = (id_shown(id, screen) for id in hit.why.sources)
    told = (
        ("holds", hit.why.words),
        ("in the time of", hit.why.dates),
        ("derived from", sources),
    )
    for what, things in told:
        if listed := clean(", ".join(things)):
            yield paint_if(screen, DIM, fitted(f"{what} {listed}", room, 1)[0])
    if hit.memory.place.kind is PlaceKind.SHARED:
        yield paint_if(screen, DIM, "shared by the app")


def not_recalled(answer: WhyNot, record: MemoryRecord | None, screen: Screen) -> Iterator[str]:
    """Why a memory is not among the hits: the reasons, and what its score is made of."""
    if record is not None:
        yield paint_if(screen, BOLD, clean(record.text))
        yield ""
    if answer.is_hit:
        yield paint_if(screen, GREEN, f"It is a hit, number {answer.rank}.")
    for reason in answer.reasons:
        what = paint_if(screen, YELLOW, reason.obstacle.replace("_", " "))
        yield f"{what}  {clean(reason.said)}."
    if answer.superseded_by is not None:
        now = answer.superseded_by
        yield f"{paint_if(screen, DIM, 'holds now')}  {clean(now.text)}  {id_shown(now.id, screen)}"
    if answer.hit is not None:
        yield ""
        shares = answer.hit.why.shares
        full = max([*shares.values(), answer.needed or 0.0], default=0.0)
        yield from _reasons(answer.hit, full, screen, screen.width)
        yield paint_if(screen, DIM, _scores(answer))


def _scores(answer: WhyNot) -> str:
    told = f"score {answer.hit.score:.2f}" if answer.hit else ""
    return told if answer.needed is None else f"{told}; the last hit has {answer.needed:.2f}"


def why_not_json(answer: WhyNot) -> JsonObject:
    """Why a memory is not among the hits."""
    return {
        "question": answer.question,
        "id": answer.id,
        "is_hit": answer.is_hit,
        "reasons": [{"obstacle": one.obstacle, "said": one.said} for one in answer.reasons],
        "rank": answer.rank,
        "needed": answer.needed,
        "hit": _hit_json(answer.hit) if answer.hit else None,
        "superseded_by": answer.superseded_by.to_dict() if answer.superseded_by else None,
    }


def _highlighter(stems: Sequence[str]) -> Paint | None:
    """Paints the words of a text that begin like the terms that matched."""
    if not stems:
        return None
    found = re.compile(rf"\b(?:{'|'.join(map(re.escape, stems))})\w*", re.IGNORECASE)
    return lambda text: found.sub(lambda word: BOLD(word[0]), text)


def recall_json(recall: Recall) -> JsonObject:
    """A recall with every reason."""
    return {
        "question": recall.question,
        "hits": [_hit_json(hit) for hit in recall.hits],
        "near_misses": [_hit_json(hit) for hit in recall.near_misses],
        "searched": recall.searched,
        "lanes": list(recall.lanes),
        "degraded": list(recall.degraded),
        "cues": list(recall.cues),
        "dates": list(recall.dates),
        "as_of": times.iso(recall.as_of) if recall.as_of else None,
        "timeline": [hit.id for hit in recall.timeline()],
    }


def _hit_json(hit: Hit) -> JsonObject:
    why = {
        "shares": dict(hit.why.shares),
        "words": list(hit.why.words),
        "cut": hit.why.cut,
        "dates": list(hit.why.dates),
        "sources": list(hit.why.sources),
    }
    return {"score": hit.score, "why": why, "note": hit.note, "memory": hit.memory.to_dict()}


# -- history ---------------------------------------------------------------------------------------


def history(changes: Sequence[Change], screen: Screen) -> Iterator[str]:
    """What happened to a memory: an entry per event, with what it changed."""
    for number, change in enumerate(changes):
        event = change.event
        if number:
            yield ""
        who = f" by {clean(event.actor)}" if event.actor else ""
        why = f": {clean(event.reason)}" if event.reason else ""
        when = paint_if(screen, DIM, minute(event.at))
        action = paint_if(screen, BOLD, event.action)
        yield f"{when}  {action}{who}{why}  {paint_if(screen, DIM, event.id)}"
        pairs = [
            (name, f"{told} → {now}" if told else now) for name, told, now in differences(change)
        ]
        yield from (f"  {line}" for line in facts(pairs, _narrower(screen)))


def _narrower(screen: Screen) -> Screen:
    width = None if screen.width is None else screen.width - 2
    return Screen(width, screen.colour, screen.blocks)


def differences(change: Change) -> Iterator[tuple[str, str, str]]:
    """Field, what it was and what it became, for everything that an event changed."""
    if change.after is None:
        detail = change.event.detail
        told = ", ".join(f"{name} {value}" for name, value in detail.items() if value is not None)
        yield "detail" if told else "content", "", told or "erased"
        return
    after = change.after.to_dict()
    if change.before is None:
        yield "text", "", change.after.text
        return
    before = change.before.to_dict()
    for name in after:
        if name not in _MOVED_ALWAYS and before[name] != after[name]:
            yield name, _value(before[name]), _value(after[name])


def _value(value: Any) -> str:
    """A field's value in a history."""
    if value is None or value == []:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def change_json(change: Change) -> JsonObject:
    """An event with the states around it."""
    event = change.event
    return {
        "event": event.id,
        "sequence": event.sequence,
        "at": times.iso(event.at),
        "action": event.action,
        "subject": event.subject,
        "version": event.version,
        "actor": event.actor,
        "reason": event.reason,
        "detail": event.detail,
        "before": change.before.to_dict() if change.before else None,
        "after": change.after.to_dict() if change.after else None,
    }
