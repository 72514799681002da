"""The files that are measured, each built once and kept until the run is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import recollect
from bench.bare import ExactSearch, WordSearch
from bench.material import USERS, Material, Vectors, drafts


@dataclass(slots=True)
class Filled:
    """A file with memories, spread over users, and the same memories for the bare references."""

    path: Path
    memories: int
    exact: ExactSearch
    words: WordSearch | None
    vectors_of: list[Vectors]
    ids_of: list[list[str]]


@dataclass(slots=True)
class Workshop:
    """Where files lie, how thorough to be, and which files exist already."""

    folder: Path
    quick: bool = False
    full: bool = False
    _filled: dict[tuple[int, int], Filled] = field(default_factory=dict[tuple[int, int], Filled])

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of file that growth is measured over."""
        return (1_000, 10_000) if self.quick else (1_000, 10_000, 100_000)

    def rounds(self, thorough: int) -> int:
        """How often to repeat; a quick run repeats less."""
        return max(3, thorough // 4) if self.quick else thorough

    def path(self, name: str) -> Path:
        """A file that does not exist yet."""
        file = self.folder / name
        for ending in ("", "-wal", "-shm"):
            file.with_name(file.name + ending).unlink(missing_ok=True)
        return file

    def filled(self, memories: int, users: int = USERS) -> Filled:
        """A file with that many memories, the same number for each user."""
        known = self._filled.get((memories, users))
        if known is None:
            known = self._filled[memories, users] = self._fill(memories, users)
        return known

    def _fill(self, memories: int, users: int) -> Filled:
        path = self.path(f"filled-{memories}-{users}.db")
        words = WordSearch() if users > 1 else None
        vectors_of: list[Vectors] = []
        ids_of: list[list[str]] = []
        with recollect.open(str(path)) as memory:
            for user in range(users):
                handle, kept = memory.scope(user=f"u{user}"), list[Vectors]()
                ids_of.append([])
                for texts, vectors in Material(100 + user).batches(memories // users):
                    kept.append(vectors)
                    if words is not None:
                        words.add_many(user, texts)
                    stored = handle.remember_many(drafts(texts, vectors)).stored
                    ids_of[user] += [one.id for one in stored]
                vectors_of.append(np.concatenate(kept))
        return Filled(path, memories, ExactSearch(vectors_of), words, vectors_of, ids_of)


@contextmanager
def opened(path: Path) -> Iterator[recollect.Memory]:
    """An open memory."""
    memory = recollect.open(str(path))
    try:
        yield memory
    finally:
        memory.close()
