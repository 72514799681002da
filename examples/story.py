"""A story in a terminal: what a memory does for the one who has it. Run by `make demo`.

Remembers, recalls and says why, corrects, travels in time, survives `kill -9`, forgets. Needs no
key and no server; everything happens in a folder that is gone at the end.
"""

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import recollect
from recollect import Memory

COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
#: How much the child process has to write before it is killed in the middle of the next write.
ACKNOWLEDGED = 250

LIFE = (
    ("2025-09-01", "fact", "I live in Lisbon, near the river, in a flat with a tiny kitchen."),
    ("2025-10-12", "preference", "I am allergic to peanuts and I avoid shellfish."),
    ("2025-11-03", "episode", "Cooked a lemon risotto for eight friends; it was a triumph."),
    ("2025-12-24", "fact", "My sister Marta keeps the old recipe book of our grandmother."),
    ("2026-01-15", "preference", "On weekdays I cook nothing that takes over thirty minutes."),
    ("2026-02-02", "decision", "I learn one new dish a month; February is ramen."),
)


# -- saying it -------------------------------------------------------------------------------------


def paint(code: str, text: str) -> str:
    """The text in a colour, where there are colours."""
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def chapter(number: int, title: str, call: str) -> None:
    """A heading, and the call that the chapter is about."""
    print(f"\n{paint('1;36', f'{number}. {title}')}   {paint('2', call)}")


def tell(text: str, *, good: bool = False) -> None:
    """One line of the story."""
    print(f"   {paint('32', '✓') if good else ' '} {text}")


def bar(share: float, full: float, width: int = 16) -> str:
    """A share of a score as a bar."""
    return paint("32", "█" * max(1, round(width * share / full)))


# -- the chapters ----------------------------------------------------------------------------------


def remembers(memory: Memory) -> None:
    """Some months of a life, each with the day it happened."""
    ana = memory.scope(user="ana")
    for day, kind, text in LIFE:
        told = ana.remember(text, kind=kind, occurred_at=day)
        tell(f"{paint('2', f'{day}  {told.id[-8:]}')}  {text}")
    tell(f"{ana.count()} memories, each on disk before the call came back", good=True)


def recalls(memory: Memory) -> None:
    """A question, the best answers, and what their scores are made of."""
    ana = memory.scope(user="ana")
    for question in ("what must I avoid when I cook for friends?", "who has the recipe book?"):
        found = ana.recall(question, limit=2)
        full = max(hit.score for hit in found)
        tell(paint("1", f"“{question}”"))
        for hit in found:
            tell(f"  {hit.score:5.2f}  {hit.text}")
            for name, share in hit.why.shares.items():
                words = ", ".join(hit.why.words)
                tell(f"         {paint('2', name)} {bar(share, full)} {paint('2', words)}")
    for_bob = memory.scope(user="bob").recall("recipe book")
    tell(f"Bob asks for the recipe book: {len(for_bob)} hits. It is not his memory.", good=True)


def corrects_and_travels(memory: Memory) -> None:
    """What is no longer true is closed, not lost: the past can still be asked."""
    ana = memory.scope(user="ana")
    question = "where do I live?"
    home = ana.recall(question).hits[0].memory
    ana.correct(home, "I live in Porto now, with a big kitchen.", valid_from="2026-03-01")
    tell(paint("1", f"“{question}”"))
    for label, when in (("today", None), ("on New Year's Eve", "2025-12-31")):
        top = ana.recall(question, as_of=when).top
        tell(f"  {label:<18}  {top.text if top else 'nobody knew'}")
    for change in ana.history(home):
        fields = ", ".join(change.event.fields) or "everything"
        tell(f"  {paint('2', change.event.id)}  {change.event.action}: {fields}")
    tell("the old memory stays: closed, linked to the new one, and explained", good=True)


def survives(path: Path) -> None:
    """Another process writes as fast as it can and is killed; what it was told is there."""
    command = [sys.executable, __file__, "--write", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [line.strip() for line in itertools.islice(writer.stdout, ACKNOWLEDGED)]
        writer.kill()
        # Whatever it had said before it died counts as well.
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    tell(f"process {writer.pid} wrote {len(acknowledged)} memories, then got signal 9")
    with recollect.open(str(path)) as memory:
        carl = memory.scope(user="carl")
        there = {record.id for page in pages(carl) for record in page}
        lost = [id for id in acknowledged if id not in there]
        tell(f"opened again: {len(there)} are there, {len(lost)} of the acknowledged are lost")
        if lost or not memory.verify().ok:
            raise SystemExit("the promise is broken: an acknowledged memory is gone")
        tell("nothing lost, nothing torn, no repair needed", good=True)


def pages(memory: Memory) -> "list[list[recollect.MemoryRecord]]":
    """All memories of a scope, page by page."""
    found, cursor = [], None
    while True:
        page = memory.list(limit=1000, cursor=cursor)
        found.append(list(page))
        cursor = page.cursor
        if cursor is None:
            return found


def forgets(memory: Memory, folder: Path) -> None:
    """Erasure with a receipt, and a look into the files themselves."""
    traces = ("peanuts", "Marta", "risotto", "Porto")
    tell(f"before: {found_in(folder, traces)}")
    receipt = memory.forget(user="ana", reason="she asked for it")
    rows = ", ".join(f"{count} {name}" for name, count in receipt.erased.items() if count)
    tell(f"receipt {paint('2', receipt.id)}")
    tell(f"erased {rows}")
    after = found_in(folder, traces)
    tell(f"after:  {after}")
    if after != NO_TRACE or not receipt.complete:
        raise SystemExit("the promise is broken: something is left of what was forgotten")
    tell("every byte of every file was read: no trace", good=True)


NO_TRACE = "nothing of her is in the files"


def found_in(folder: Path, words: tuple[str, ...]) -> str:
    """How often each word stands in the files, whatever their format."""
    content = b"".join(file.read_bytes() for file in sorted(folder.iterdir()))
    counts = {word: content.count(word.encode()) for word in words}
    told = ", ".join(f"{word} ×{count}" for word, count in counts.items() if count)
    return told or NO_TRACE


# -- the story -------------------------------------------------------------------------------------


def write_for_ever(path: str) -> None:
    """What the child process does: write, and say so once it is acknowledged."""
    with recollect.open(path, user="carl") as memory:
        for number in itertools.count(1):
            print(memory.remember(f"Carl's note number {number}").id, flush=True)


def main() -> None:
    """Tell the story."""
    sys.stdout.reconfigure(errors="replace")  # a terminal without our signs shows others
    with tempfile.TemporaryDirectory(prefix="recollect-story-") as name:
        folder = Path(name)
        path = folder / "memory.db"
        print(paint("1", "Recollect: a memory in one file. No key, no server."))
        with recollect.open(str(path)) as memory:
            chapter(1, "It remembers", "ana.remember(text, kind=…, occurred_at=…)")
            remembers(memory)
            chapter(2, "It recalls, and says why", "ana.recall(question)")
            recalls(memory)
            chapter(3, "It is corrected, and knows the past", "ana.correct(…), recall(as_of=…)")
            corrects_and_travels(memory)
        chapter(4, "It survives kill -9", "another process, the same file")
        survives(path)
        with recollect.open(str(path)) as memory:
            chapter(5, "It forgets", 'memory.forget(user="ana")')
            forgets(memory, folder)
            sound = memory.verify()
        checked = sum(sound.checked.values())
        print(f"\n{paint('1;32', 'The file is sound:')} {checked:,} rows read and compared.")
        print(f"Go on with {paint('36', 'recollect --help')} or docs/tutorial.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_for_ever(sys.argv[2])
    else:
        main()
