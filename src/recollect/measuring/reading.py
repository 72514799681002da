"""From files to data sets.

A set is `NAME.questions.jsonl` and either `NAME.conversations.jsonl` or, where questions share
sessions, `NAME.sessions.jsonl` and `NAME.haystacks.jsonl`; each of them may be gzipped.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.domain.errors import ValidationError
from recollect.domain.records import JsonObject
from recollect.measuring.data import Case, Conversation, DataSet, Session, Turn
from recollect.measuring.lines import ANYTHING, LIST, PAIRS, STRING, TEXT, TEXTS, TIME, Lines, Shape

ENDINGS = (".jsonl", ".jsonl.gz")
TURN = Shape(
    "a turn", {"id": TEXT, "speaker": TEXT, "text": STRING}, {"time": TIME, "caption": STRING}
)
SESSION = Shape("a session", {"id": TEXT, "time": TIME, "turns": LIST})
SHARED_SESSION = Shape("a session", {"id": TEXT, "turns": LIST})
CONVERSATION = Shape("a conversation", {"conv_id": TEXT, "sessions": LIST})
HAYSTACK = Shape("a haystack", {"qid": TEXT, "sessions": PAIRS})
QUESTION = Shape(
    "a question",
    {"conv_id": TEXT, "qid": TEXT, "category": TEXT, "question": TEXT, "evidence": TEXTS},
    {"answer": ANYTHING, "evidence_sessions": TEXTS, "date": TIME},
)


def read(path: Path) -> list[DataSet]:
    """Every set of a folder, or the one set that a file of questions belongs to."""
    if not path.is_dir():
        return [read_set(path)]
    files = [file for ending in ENDINGS for file in path.glob(f"*.questions{ending}")]
    if not files:
        raise ValidationError(f"{path} holds no NAME.questions.jsonl, plain or gzipped")
    return [read_set(file) for file in sorted(files)]


def read_set(questions: Path) -> DataSet:
    """The set that a file of questions belongs to."""
    name, mark, _ = questions.name.partition(".questions.jsonl")
    if not mark:
        raise ValidationError(f"{questions.name} is not called NAME.questions.jsonl")
    parts = {
        part: _beside(questions, name, part) for part in ("conversations", "sessions", "haystacks")
    }
    asked = Lines(questions)
    if whole := parts["conversations"]:
        files = [Lines(whole), asked]
        conversations = _conversations(files[0])
        cases = tuple(_cases(asked, conversations, "conv_id"))
    elif (shared := parts["sessions"]) and (haystacks := parts["haystacks"]):
        files = [Lines(shared), Lines(haystacks), asked]
        conversations = _haystacks(files[1], _shared_sessions(files[0]))
        cases = tuple(_cases(asked, conversations, "qid"))
    else:
        raise ValidationError(
            f"{questions.name} needs {name}.conversations.jsonl beside it, or both "
            f"{name}.sessions.jsonl and {name}.haystacks.jsonl"
        )
    if not cases:
        raise ValidationError(f"{questions.name} holds no question")
    return DataSet(
        name, cases, conversations, tuple(note for file in files for note in file.notes())
    )


def _beside(questions: Path, name: str, part: str) -> Path | None:
    found = [
        file for end in ENDINGS if (file := questions.with_name(f"{name}.{part}{end}")).is_file()
    ]
    if len(found) > 1:
        raise ValidationError(
            f"there is both {found[0].name} and {found[1].name}; keep one of them"
        )
    return found[0] if found else None


def _conversations(lines: Lines) -> dict[str, Conversation]:
    found: dict[str, Conversation] = {}
    for line in lines:
        given = lines.check(line, CONVERSATION)
        id: str = given["conv_id"]
        lines.once(id, found, CONVERSATION.what)
        sessions: list[Session] = []
        for one in given["sessions"]:
            session = lines.check(one, SESSION)
            sessions.append(Session(session["id"], session["time"], _turns(lines, session)))
        found[id] = _conversation(lines, id, sessions)
    return found


def _conversation(lines: Lines, id: str, sessions: list[Session]) -> Conversation:
    """A conversation with something in it, in which no session and no turn has another's id."""
    if not any(session.turns for session in sessions):
        raise lines.wrong(f"{id} has no turns")
    seen: set[str] = set()
    for session in sessions:
        lines.once(session.id, seen, SESSION.what)
        seen.add(session.id)
    seen.clear()
    for turn in (turn for session in sessions for turn in session.turns):
        lines.once(turn.id, seen, TURN.what)
        seen.add(turn.id)
    return Conversation(id, tuple(sessions))


def _turns(lines: Lines, session: JsonObject) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for one in session["turns"]:
        given = lines.check(one, TURN)
        text: str = given["text"]
        if caption := given.get("caption"):
            text = f"{text} [shares image: {caption}]".lstrip()
        if not text.strip():
            raise lines.wrong(f"turn {given['id']!r} has neither a text nor a caption")
        turns.append(Turn(given["id"], given["speaker"], text, given.get("time")))
    return tuple(turns)


def _shared_sessions(lines: Lines) -> dict[str, tuple[Turn, ...]]:
    found: dict[str, tuple[Turn, ...]] = {}
    for line in lines:
        session = lines.check(line, SHARED_SESSION)
        lines.once(session["id"], found, SHARED_SESSION.what)
        found[session["id"]] = _turns(lines, session)
    return found


def _haystacks(lines: Lines, shared: Mapping[str, tuple[Turn, ...]]) -> dict[str, Conversation]:
    found: dict[str, Conversation] = {}
    for line in lines:
        given = lines.check(line, HAYSTACK)
        id: str = given["qid"]
        lines.once(id, found, HAYSTACK.what)
        sessions: list[Session] = []
        for session, time in given["sessions"]:
            if session not in shared:
                raise lines.wrong(f"there is no session {session!r}")
            sessions.append(Session(session, time, shared[session]))
        found[id] = _conversation(lines, id, sessions)
    return found


def _cases(lines: Lines, conversations: Mapping[str, Conversation], named: str) -> Iterator[Case]:
    """The questions; `named` is the field that says which conversation one is about."""
    seen: set[str] = set()
    for line in lines:
        given = lines.check(line, QUESTION)
        id: str = given["qid"]
        lines.once(id, seen, QUESTION.what)
        seen.add(id)
        if given[named] not in conversations:
            raise lines.wrong(f"there is no conversation {given[named]!r} for question {id!r}")
        conversation = conversations[given[named]]
        homes = conversation.session_of()
        evidence = tuple(dict.fromkeys(given["evidence"]))
        if strange := [turn for turn in evidence if turn not in homes]:
            raise lines.wrong(f"the evidence {strange[0]!r} of question {id!r} is not a turn")
        sessions = given.get("evidence_sessions") or [homes[turn] for turn in evidence]
        if strange := [one for one in sessions if one not in homes.values()]:
            raise lines.wrong(f"the evidence {strange[0]!r} of question {id!r} is not a session")
        yield Case(
            id=id,
            conversation=conversation.id,
            category=given["category"],
            question=given["question"],
            evidence=evidence,
            sessions=tuple(dict.fromkeys(sessions)),
            date=given.get("date"),
        )
