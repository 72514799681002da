"""Explanation: what a hit shares with its question, and what keeps a memory from being one."""

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from recollect.domain import times
from recollect.domain.filters import All, Compare, Filter, Not, matches
from recollect.domain.queries import View
from recollect.domain.recall import Obstacle, Reason, Why
from recollect.domain.records import MemoryRecord, Status
from recollect.ports.store import Candidates
from recollect.retrieval.periods import Period
from recollect.retrieval.question import Understood
from recollect.retrieval.ranking import Ranked


def whys(
    found: Candidates, ranked: Ranked, lines: Sequence[np.intp], asked: Understood
) -> list[Why]:
    """For each chosen candidate the features' shares, and the words and times that matched."""
    names = list(ranked.shares)
    shares = np.stack([ranked.shares[name][lines] for name in names], axis=1).tolist()
    held = (found.counts[lines] > 0).tolist()
    begins = found.facets["begins"][lines].tolist()
    return [
        Why(
            dict(zip(names, share, strict=True)),
            tuple(compress(asked.terms, holds)),
            dates=tuple(period.said for period in asked.periods if period.holds(moment)),
        )
        for share, holds, moment in zip(shares, held, begins, strict=True)
    ]


def in_days(period: Period) -> str:
    """A period in words and days: "last month: 2026-05-01 to 2026-05-31"."""
    begins = "" if period.begins is None else f"{times.show(period.begins):%Y-%m-%d}"
    ends = "" if period.ends is None else f"{times.show(period.ends - 1):%Y-%m-%d}"
    if begins == ends:
        return f"{period.said}: {begins}"
    open_end = f"from {begins}" if not ends else f"until {ends}"
    return f"{period.said}: {f'{begins} to {ends}' if begins and ends else open_end}"


# -- what keeps a memory out -----------------------------------------------------------------------


def kept_out(record: MemoryRecord, view: View) -> Iterator[Reason]:
    """Why a view does not show a memory of its places, one reason per condition it fails."""
    if view.session is not None and record.session != view.session:
        said = f"it is not of the session {view.session!r}"
        yield Reason(Obstacle.OTHER_SESSION, f"Only one session is searched, and {said}")
    if view.agent is not None and record.agent != view.agent:
        said = f"Only what the agent {view.agent!r} wrote is searched"
        yield Reason(Obstacle.OTHER_AGENT, said)
    if view.where is not None and not matches(view.where, record):
        for part in failing(view.where, record):
            yield Reason(Obstacle.FILTERED, f"The filter wants {part}")
    yield from _at_a_time(record, view) if view.in_the_past else _at_present(record, view)


def _at_present(record: MemoryRecord, view: View) -> Iterator[Reason]:
    now = times.show(view.now)
    wanted = view.statuses or (Status.ACTIVE.value,)
    if record.status not in wanted:
        said = f"It is {record.status}, and {' or '.join(wanted)} memories are searched"
        yield Reason(Obstacle.STATUS, said)
    elif record.status == Status.ACTIVE and record.valid_to is not None and record.valid_to <= now:
        yield Reason(Obstacle.ENDED, f"It was true until {times.day_of(record.valid_to)}")
    if record.expires_at is not None and record.expires_at <= now:
        yield Reason(Obstacle.EXPIRED, f"It expired on {times.day_of(record.expires_at)}")


def _at_a_time(record: MemoryRecord, view: View) -> Iterator[Reason]:
    wanted = view.statuses or (Status.ACTIVE.value, Status.SUPERSEDED.value)
    if record.status not in wanted:
        yield Reason(Obstacle.STATUS, f"It is {record.status}")
    if view.as_of is not None and not record.true_at(times.show(view.as_of)):
        to = f" to {times.day_of(record.valid_to)}" if record.valid_to else " on"
        true = f"it is true from {times.day_of(record.begins)}{to}"
        asked = times.day_of(times.show(view.as_of))
        yield Reason(Obstacle.NOT_YET, f"The question is about {asked}, and {true}")
    if view.known_at is not None and record.created_at > times.show(view.known_at):
        learned = times.day_of(record.created_at)
        yield Reason(Obstacle.NOT_YET, f"It was learned on {learned}, which is later than asked")


def failing(condition: Filter, record: MemoryRecord) -> Iterator[str]:
    """The parts of a filter that a memory does not fulfil, in words."""
    if isinstance(condition, All):
        for part in condition.parts:
            if not matches(part, record):
                yield from failing(part, record)
    else:
        yield worded(condition)


def worded(condition: Filter) -> str:
    """A filter in words: "kind eq 'fact'"."""
    if isinstance(condition, Compare):
        name = ".".join((condition.field, *condition.path))
        return f"{name} {condition.operator} {condition.value!r:.80}"
    if isinstance(condition, Not):
        return f"not ({worded(condition.part)})"
    joined = " and " if isinstance(condition, All) else " or "
    return f"({joined.join(map(worded, condition.parts))})" if condition.parts else "nothing"


def not_among(found_words: Sequence[str], lanes: Sequence[str]) -> Reason:
    """Why a memory that the view shows does not match."""
    words = ", ".join(found_words) or "none"
    also = ", and its meaning is not among the nearest" if "meaning" in lanes else ""
    said = f"It holds no word that is looked for ({words}){also}"
    return Reason(Obstacle.NO_MATCH, said)
