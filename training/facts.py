"""Questions made by rule: statements about oneself in conversations that are about other things.

facts.txt holds what people say and what is asked later, mostly in other words. Decides how
statements are strewn among turns that say nothing of the kind, who says them, and which statements
answer a question: all that fit, when there are several.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from training.conversations import Conversation, Question

FILE = Path(__file__).with_name("facts.txt")
SOURCE = "facts"
STATEMENTS = 45  #: of a person in a conversation
PERSONS = {
    "third": {"is": "is", "was": "was", "has": "has", "does": "does"},
    "first": {"is": "am", "was": "was", "has": "have", "does": "do"},
}
LISTED, DATED = "l", "w"  #: kinds of questions beside the plain ones
OPENINGS = (
    "", "", "", "", "Thanks, {other}!", "Hey {other}!", "Yeah, totally.", "Oh, by the way:",
    "Not much here.", "Good to hear from you.", "Wow, nice.", "Long time no talk!",
    "Aww, thank you!", "That's so true.", "Sounds good!", "Speaking of which,", "Funny you ask.",
    "You know what?",
)  # fmt: skip
CLOSINGS = (
    "", "", "", "", "How about you?", "What's new with you?", "It's been on my mind.",
    "Anyway, how have you been?", "I'll tell you more later.", "It really made my week.",
    "What do you think?", "Any advice?", "I wish you could have seen it.", "So that's that.",
)  # fmt: skip
REACTIONS = (
    "That's wonderful, {other}!", "Wow, I had no idea.", "Oh no, really?", "That sounds amazing!",
    "Good for you, {other}!", "Tell me more!", "I love that for you.", "So cool!", "How did it go?",
    "That must mean a lot to you.", "Nice! I've heard a lot about {echo}.", "{echo}? Great choice!",
    "I always wanted to know more about {echo}.", "My friend keeps talking about {echo}.",
    "What made you think of {echo}?", "How long has that been going on?", "Take care of yourself!",
)  # fmt: skip
REQUESTS = (
    "Can you help me with something about {about}?", "I'm looking for ideas on {about}.",
    "What should I know about {about}?", "Could you give me some tips on {about}?",
    "I've been thinking about {about} lately.", "I need a plan for {about}.", "", "", "", "",
)  # fmt: skip
ASIDES = ("By the way,", "", "", "Just so you know,", "For context,", "Also,", "I should mention:")
ANSWERS = (
    "Many people enjoy {echo}, so it could be worth a look.", "You might start with {echo}.",
    "Consider {echo} if it fits your schedule and budget.", "Some prefer {echo} instead.",
    "Here are a few ideas for {about}:", "It depends on what you need, of course.",
    "First, write down what matters most to you.", "Let me know if you would like more detail.",
    "Set a reminder so that you do not forget.", "Great question! Let's go through it.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of facts.txt: a statement or a question of a topic."""

    kind: str
    letters: str  #: which of the topic's statements a question is about; all if none is named
    text: str

    def about(self, said: "Line") -> bool:
        """Whether a question is about a statement."""
        return not self.letters or said.letters in self.letters


@dataclass(frozen=True, slots=True)
class Topic:
    """What can be said of one thing, and asked."""

    name: str
    lines: tuple[Line, ...]

    def of(self, kinds: str) -> list[Line]:
        """The lines of some kinds."""
        return [line for line in self.lines if line.kind in kinds]


#: What is asked about an answer of the assistant.
RECALLED = (
    "What did you suggest when we talked about {about}?",
    "Remind me what you recommended about {about}.",
    "You told me something about {about}, what was it?",
    "Which option did you mention for {about}?",
    "In our earlier conversation about {about}, what was your advice?",
)
#: What is asked about two things that happened.
COMPARED = (
    "Which came first: did {x} {a}, or did {x} {b}?",
    "How many days passed from when {x} did {a} until {x} did {b}?",
    "Did {x} {a} before or after {x} did {b}?",
    "How long after the time {x} did {a} did {x} {b}?",
)


@dataclass(slots=True)
class Said:
    """A statement that somebody made."""

    topic: Topic
    line: Line
    slots: dict[str, str]
    turn: int = -1

    @property
    def text(self) -> str:
        """The words."""
        return _filled(self.line.text, self.slots)


@cache
def topics() -> tuple[dict[str, list[str]], list[Topic]]:
    """The choices of each slot, and the topics."""
    slots: dict[str, list[str]] = {}
    found: dict[str, list[Line]] = {}
    lines: list[Line] = []
    for text in FILE.read_text(encoding="utf-8").splitlines():
        mark, _, rest = text.partition(":")
        if text.startswith("@"):
            slots[mark[1:]] = [choice.strip() for choice in rest.split("|")]
        elif text.startswith("== "):
            lines = found[text[3:]] = []
        elif text and not text.startswith("#"):
            lines.append(Line(mark[0], mark[1:], rest.strip()))
    return slots, [Topic(name, tuple(held)) for name, held in found.items()]


def named(text: str) -> list[str]:
    """The slots of a line."""
    return re.findall(r"\{(\w+)\}", text)


def _filled(text: str, slots: dict[str, str]) -> str:
    whole = re.sub(r"\{(\w+)\}", lambda match: slots.get(match[1], match[0]), text)
    return whole[:1].upper() + whole[1:]


class Maker:
    """Makes conversations, each from a seed of its own."""

    def __init__(self, seed: int, fillers: Sequence[str], longer: Sequence[str]) -> None:
        self.chance = random.Random(seed)
        self.fillers = fillers  #: turns of small talk that state nothing about the speaker
        self.longer = longer  #: sentences of an encyclopedia, as an assistant might say them
        self.slots, self.topics = topics()

    def conversation(self, *, roles: bool) -> Conversation:
        """Two people who talk, or a user and an assistant."""
        speakers = (
            ("user", "assistant") if roles else tuple(self.chance.sample(self.slots["speaker"], 2))
        )
        made: dict[str, list[Said]] = {name: self._statements() for name in speakers[: 2 - roles]}
        turns: list[tuple[str, str]] = []
        waiting = [(name, said) for name, every in made.items() for said in every]
        self.chance.shuffle(waiting)
        for name, said in waiting:
            other = speakers[1] if name == speakers[0] else speakers[0]
            turns += self._small_talk(speakers, roles=roles)
            said.turn = len(turns)
            turns.append((name, self._turn(said, other, roles=roles)))
            turns.append((other, self._reaction(said, name, roles=roles)))
        questions = [
            question
            for name, every in made.items()
            for question in self._questions(every, None if roles else name)
        ]
        for name, every in made.items():
            questions += self._compared(every, None if roles else name)
            questions += self._recalled(every) if roles else []
        self.chance.shuffle(questions)
        return Conversation(SOURCE + ("1p" if roles else ""), tuple(turns), tuple(questions))

    def _statements(self) -> list[Said]:
        """What a person will say: of some topics once, of others several times."""
        found: list[Said] = []
        order = list(self.topics)
        self.chance.shuffle(order)
        for topic in order:
            times = self.chance.choice((1, 1, 2, 3, 4)) if topic.of(LISTED) else 1
            seen: set[str] = set()
            for _ in range(times):
                said = self._said(topic)
                if said.text not in seen and len(found) < STATEMENTS:
                    seen.add(said.text)
                    found.append(said)
        return found

    def _said(self, topic: Topic) -> Said:
        line = self.chance.choice(topic.of("s"))
        slots = {name: self.chance.choice(self._choices(name)) for name in named(line.text)}
        return Said(topic, line, slots)

    def _choices(self, name: str) -> list[str]:
        return self.slots[name.rstrip("2")]

    def _small_talk(self, speakers: Sequence[str], *, roles: bool) -> Iterator[tuple[str, str]]:
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            yield speakers[0], self.chance.choice(self.fillers)
            second = self.chance.sample(self.longer, 2) if roles else [""]
            yield speakers[1], " ".join(second) if roles else self.chance.choice(self.fillers)

    def _turn(self, said: Said, other: str, *, roles: bool) -> str:
        if not roles:
            opening = self.chance.choice(OPENINGS).format(other=other)
            closing = self.chance.choice((*CLOSINGS, self.chance.choice(self.fillers)))
            return " ".join(part for part in (opening, said.text, closing) if part)
        about = self.chance.choice(REQUESTS).format(about=said.topic.name)
        parts = [about, f"{self.chance.choice(ASIDES)} {said.text}".strip()]
        if self.chance.random() < 0.4:
            parts.append(self.chance.choice(self.fillers))
        if self.chance.random() < 0.3:
            self.chance.shuffle(parts)
        return " ".join(part for part in parts if part)

    def _reaction(self, said: Said, name: str, *, roles: bool) -> str:
        if not roles:
            echo = self.chance.choice([*said.slots.values(), "it"])
            return self.chance.choice(REACTIONS).format(other=name, echo=echo)
        parts: list[str] = []
        for template in self.chance.sample(ANSWERS, self.chance.randint(2, 5)):
            kinds = [slot for line in said.topic.of("s") for slot in named(line.text)] or ["goal"]
            echo = self.chance.choice(self._choices(self.chance.choice(kinds)))
            parts.append(template.format(echo=echo, about=said.topic.name))
        return " ".join([*parts, self.chance.choice(self.longer)])

    # -- questions -------------------------------------------------------------------------------

    def _questions(self, every: Sequence[Said], name: str | None) -> Iterator[Question]:
        """The questions about what one person said; without a name the person asks."""
        asked: set[str] = set()
        for said in every:
            same = [one for one in every if one.topic is said.topic]
            for question in self._about(said, same, name):
                if question.text not in asked:
                    asked.add(question.text)
                    yield question

    def _about(self, said: Said, same: Sequence[Said], name: str | None) -> Iterator[Question]:
        fitting = [
            line
            for line in said.topic.of("q" + DATED + LISTED)
            if line.about(said.line) and self._answered(line, said)
        ]
        for line in self.chance.sample(fitting, min(3, len(fitting))):
            gold = [
                one.turn for one in same if line.about(one.line) and self._fits(line, one, said)
            ]
            text = _asked(line.text, said.slots, name)
            yield Question(self._varied(text), tuple(sorted(gold)))

    def _compared(self, every: Sequence[Said], name: str | None) -> Iterator[Question]:
        """Questions about the order of two things that happened."""
        dated: list[tuple[Said, str]] = []
        for said in every:
            for line in said.topic.of(DATED):
                if line.text.startswith("When did {x} ") and line.about(said.line):
                    alone = [one for one in every if one.topic is said.topic] == [said]
                    if alone and self._answered(line, said):
                        dated.append((said, line.text[len("When did {x} ") : -1]))
        self.chance.shuffle(dated)
        for (one, a), (other, b) in zip(dated[::2], dated[1::2], strict=False):
            if one is not other:
                form = self.chance.choice(COMPARED).replace("{a}", a).replace("{b}", b)
                text = _asked(form, {**one.slots, **other.slots}, name)
                yield Question(text, tuple(sorted((one.turn, other.turn))))

    def _recalled(self, every: Sequence[Said]) -> Iterator[Question]:
        """Questions about what the assistant answered, where it answered on a topic once."""
        for said in every:
            if [one for one in every if one.topic is said.topic] == [said]:
                form = self.chance.choice(RECALLED)
                yield Question(form.format(about=said.topic.name), (said.turn + 1,))

    def _answered(self, line: Line, said: Said) -> bool:
        """Whether the statement says what the question names, and a time if it asks for one."""
        wanted = [slot for slot in named(line.text) if slot in self.slots]
        dated = line.kind != DATED or any(slot in said.slots for slot in ("when", "soon"))
        return dated and all(slot in said.slots for slot in wanted)

    def _fits(self, line: Line, one: Said, said: Said) -> bool:
        """Whether another statement answers the question as well."""
        wanted = [slot for slot in named(line.text) if slot in self.slots]
        return self._answered(line, one) and all(one.slots[s] == said.slots[s] for s in wanted)

    def _varied(self, text: str) -> str:
        chance = self.chance.random()
        if chance < 0.08:
            return text.rstrip("?").lower()
        if chance < 0.14:
            return self.chance.choice(("Can you tell me: ", "Remind me, ", "Quick question: ")) + (
                text[0].lower() + text[1:]
            )
        return text


def _asked(text: str, slots: dict[str, str], name: str | None) -> str:
    person = PERSONS["third" if name else "first"]
    who = {"x": name, "x2": name, "xs": f"{name}'s"} if name else {"x": "I", "x2": "me", "xs": "my"}
    if name is None:  # after a verb that does not bend: "Is I" is written out in the file
        text = re.sub(r"^Is \{x\}", "Am {x}", text)
    return _filled(text, {**slots, **person, **who})


def make(
    seed: int, count: int, fillers: Sequence[str], longer: Sequence[str]
) -> list[Conversation]:
    """So many conversations, every third of them between a user and an assistant."""
    maker = Maker(seed, fillers, longer)
    return [maker.conversation(roles=number % 3 == 2) for number in range(count)]


def small_talk(conversations: Sequence[Conversation]) -> tuple[list[str], list[str]]:
    """What conversations offer to strew statements among: small talk, and sentences of books."""
    fillers = [
        text
        for one in conversations
        if one.source.startswith("topical")
        for _, text in one.turns
        if 20 <= len(text) <= 220 and not re.search(r"\b(I|my|me|mine)\b", text, re.IGNORECASE)
    ]
    longer = [
        text[:1].upper() + text[1:]
        for one in conversations
        if one.source == "squad"
        for _, text in one.turns
        if 60 <= len(text) <= 300 and "-lrb-" not in text
    ]
    return sorted(set(fillers)), sorted(set(longer))
