"""One run: for each conversation a fresh memory, everything stored, every question asked.

Only the public API is used, with one configuration for all sets: what is measured is what a
program would get.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import recollect
from recollect.domain.limits import BATCH_ITEMS_MAX, RECALL_LIMIT_MAX
from recollect.domain.recall import Recall
from recollect.measuring import ablating, metrics
from recollect.measuring.data import Case, Conversation, DataSet, Session, Turn
from recollect.measuring.embedding import RememberingEmbedder
from recollect.ports.embedder import Embedder
from recollect.ports.store import Progress

if sys.platform == "win32":
    resource = None
else:
    import resource
if TYPE_CHECKING:
    from recollect.client.memory import Memory

LIMIT = 50  #: hits that every question asks for
USER = APP = "bench"
#: Speakers that are roles; all others are people, who speak for themselves.
ROLES = ("user", "assistant", "system", "tool", "function")
WORDS, MEANING, BOTH = "words", "meaning", "both"
LANES = (WORDS, MEANING, BOTH)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one recall found, and what it took."""

    case: Case
    ranks: Mapping[str, metrics.Rank]
    scores: metrics.Scores  #: empty for a question without evidence
    words: int  #: in the first hits
    wall_s: float
    cpu_s: float


@dataclass(slots=True)
class LaneRun:
    """All answers of one lane."""

    lane: str
    answers: list[Answer] = field(default_factory=list[Answer])
    first_s: list[float] = field(default_factory=list[float])  #: the first recall of each memory
    took_part: set[str] = field(default_factory=set[str])
    degraded: int = 0  #: recalls in which something could not take part


@dataclass(slots=True)
class SetRun:
    """What was measured with one set."""

    data: DataSet
    lanes: dict[str, LaneRun]
    turns: int = 0
    ingest_s: float = 0.0
    embedded: int = 0
    embedding_s: float = 0.0
    ablations: dict[str, LaneRun] = field(
        default_factory=dict[str, LaneRun]
    )  #: by feature left out
    peak_bytes: int | None = None  #: the most memory that the process had so far


Ask = Callable[[Case], Recall]


def run(
    data: DataSet,
    lanes: Sequence[str],
    embedder: RememberingEmbedder | None,
    progress: Progress,
    *,
    ablate: bool = False,
) -> SetRun:
    """Store and ask everything of a set; with `ablate` also without each feature in turn."""
    result = SetRun(data, {lane: LaneRun(lane) for lane in lanes})
    before = (embedder.embedded, embedder.seconds) if embedder else (0, 0.0)
    asked = 0
    for conversation, cases in data.by_conversation():
        progress(f"{data.name}: {conversation.id}", asked, len(data.cases))
        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, ExitStack() as open_:
            url = str(Path(folder, "memory.db"))
            memory = open_.enter_context(_opened(url, embedder))
            begun = time.perf_counter()
            store(memory, conversation)
            result.ingest_s += time.perf_counter() - begun
            result.turns += len(conversation.session_of())
            for lane, lane_run in result.lanes.items():
                # Without an embedder the same file answers by words alone.
                alone = lane == WORDS and embedder is not None
                reader = open_.enter_context(_opened(url, None)) if alone else memory
                _ask_all(lane_run, reader, conversation, cases)
            if ablate:
                _ablate(result.ablations, memory, conversation, cases)
        asked += len(cases)
    if embedder:
        result.embedded = embedder.embedded - before[0]
        result.embedding_s = embedder.seconds - before[1]
    result.peak_bytes = _peak_bytes()
    return result


def _opened(url: str, embedder: Embedder | None) -> "Memory":
    return recollect.open(url, user=USER, app=APP, embedder=embedder or "none")


def store(memory: "Memory", conversation: Conversation) -> None:
    """Store every session, turn by turn, as a program would."""
    for session in conversation.sessions:
        with memory.session(session.id) as chat:
            for start in range(0, len(session.turns), BATCH_ITEMS_MAX):
                part = session.turns[start : start + BATCH_ITEMS_MAX]
                chat.add_many([message(turn, session) for turn in part])


def message(turn: Turn, session: Session) -> dict[str, Any]:
    """A turn as `add_many` takes it."""
    role = turn.speaker.lower()
    who = {"role": role} if role in ROLES else {"role": "user", "speaker": turn.speaker}
    return {
        **who,
        "text": turn.text,
        "occurred_at": turn.time or session.time,
        "metadata": {"turn": turn.id},
    }


def _ask_all(run: LaneRun, memory: "Memory", conversation: Conversation, cases: list[Case]) -> None:
    homes = conversation.session_of()
    limit = RECALL_LIMIT_MAX if run.lane == MEANING else LIMIT

    def ask(case: Case) -> Recall:
        return memory.recall(case.question, limit=limit, now=case.date or conversation.latest)

    # The first recall of a memory loads its index: told apart, so that it distorts no median.
    begun = time.perf_counter()
    ask(cases[0])
    run.first_s.append(time.perf_counter() - begun)
    for case in cases:
        wall, cpu = time.perf_counter(), time.process_time()
        recall = ask(case)
        spent = (time.perf_counter() - wall, time.process_time() - cpu)
        run.took_part.update(recall.lanes)
        run.degraded += bool(recall.degraded)
        run.answers.append(_answer(case, _found(recall, run.lane), homes, *spent))


def _ablate(
    runs: dict[str, LaneRun], memory: "Memory", conversation: Conversation, cases: list[Case]
) -> None:
    """Answer every question without each feature in turn."""
    homes = conversation.session_of()
    for case in cases:
        now = case.date or conversation.latest
        recall = memory.recall(case.question, limit=RECALL_LIMIT_MAX, now=now)
        turns = [(hit.memory.metadata["turn"], hit.text) for hit in recall]
        for name, order in ablating.orders(recall).items():
            found = [turns[index] for index in order[:LIMIT]]
            answer = _answer(case, found, homes, 0.0, 0.0)
            runs.setdefault(name, LaneRun(name)).answers.append(answer)


def _found(recall: Recall, lane: str) -> list[tuple[str, str]]:
    """Turn and text of each hit; for one lane alone in the order of its share in the score."""
    hits = list(recall)
    if lane == MEANING:
        hits = [hit for hit in hits if hit.why.shares.get(MEANING, 0) > 0]
        hits.sort(key=lambda hit: -hit.why.shares[MEANING])
    return [(hit.memory.metadata["turn"], hit.text) for hit in hits[:LIMIT]]


def _answer(
    case: Case, found: list[tuple[str, str]], homes: Mapping[str, str], wall_s: float, cpu_s: float
) -> Answer:
    turns = [turn for turn, _ in found]
    ranks = metrics.ranks(turns, case.evidence)
    # A session stands where its best turn stands.
    sessions = list(dict.fromkeys(homes[turn] for turn in turns))
    scores: metrics.Scores = {}
    if case.evidence:
        session_ranks = metrics.ranks(sessions, case.sessions)
        scores = metrics.scores([*ranks.values()], [*session_ranks.values()])
    words = sum(len(text.split()) for _, text in found[: metrics.DEPTH])
    return Answer(case, ranks, scores, words, wall_s, cpu_s)


def _peak_bytes() -> int | None:
    """The most memory that this process ever had; None where nobody can say."""
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
