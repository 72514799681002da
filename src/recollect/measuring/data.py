"""The data that recall is measured with: conversations, and questions whose evidence is known."""

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.domain import times

#: Categories of questions that the data cannot answer; they do not count in the overall numbers.
UNANSWERABLE = ("adversarial", "abstention")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said."""

    id: str
    speaker: str
    text: str  #: with the caption of an image that was shared
    time: str | None


@dataclass(frozen=True, slots=True)
class Session:
    """Turns that belong together."""

    id: str
    time: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything that is stored before questions are asked."""

    id: str
    sessions: tuple[Session, ...]

    @property
    def latest(self) -> str:
        """When the last session began: the time of questions that have none."""
        return max(
            (session.time for session in self.sessions),
            key=lambda time: times.parse(time, field="time"),
        )

    def session_of(self) -> dict[str, str]:
        """The session of each turn."""
        return {turn.id: session.id for session in self.sessions for turn in session.turns}


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the turns that answer it."""

    id: str
    conversation: str
    category: str
    question: str
    evidence: tuple[str, ...]
    sessions: tuple[str, ...]  #: the sessions that answer it
    date: str | None

    @property
    def counts(self) -> bool:
        """Whether it is part of the overall numbers."""
        return bool(self.evidence) and self.category not in UNANSWERABLE


@dataclass(frozen=True, slots=True)
class DataSet:
    """Questions with the conversations that they are about."""

    name: str
    cases: tuple[Case, ...]
    conversations: Mapping[str, Conversation]
    notes: tuple[str, ...] = ()  #: what the files hold that nobody reads

    def limited(self, count: int | None) -> "DataSet":
        """So many of the questions, spread evenly over the file."""
        total = len(self.cases)
        if count is None or count >= total:
            return self
        chosen = tuple(self.cases[index * total // count] for index in range(count))
        return DataSet(self.name, chosen, self.conversations, self.notes)

    def by_conversation(self) -> list[tuple[Conversation, list[Case]]]:
        """The conversations that are asked about, each with its questions."""
        asked: dict[str, list[Case]] = {}
        for case in self.cases:
            asked.setdefault(case.conversation, []).append(case)
        return [(self.conversations[id], cases) for id, cases in asked.items()]
