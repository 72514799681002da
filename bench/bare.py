"""What we compare ourselves with: plain SQLite, numpy and FTS5, as one would write them at once."""

import json
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.material import Question, Vectors

NEAREST = 10
METADATA = json.dumps({"kind": "general", "user": "u1", "created_at": "2026-01-01T00:00:00.000Z"})


class BareTable:
    """A durable table of one blob per memory: its text, its metadata and its vector."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(30_000)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "full")
        self._connection.execute("CREATE TABLE IF NOT EXISTS m (id INTEGER PRIMARY KEY, body BLOB)")

    def add(self, text: str, vector: Vectors) -> None:
        """One commit."""
        self._connection.execute("INSERT INTO m (body) VALUES (?)", (body(text, vector),))

    def add_many(self, texts: Sequence[str], vectors: Vectors) -> None:
        """One commit for all."""
        rows = [(body(text, row),) for text, row in zip(texts, vectors, strict=True)]
        with self._connection:
            self._connection.executemany("INSERT INTO m (body) VALUES (?)", rows)

    def newest(self) -> bytes:
        """The row that was written last, by anyone."""
        found = self._connection.execute("SELECT body FROM m ORDER BY id DESC LIMIT 1")
        return bytes(found.get)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def matrix_of(path: Path, dimensions: int) -> Vectors:
    """All vectors of a bare table, read into memory."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    count = connection.execute("SELECT count(*) FROM m").get
    rows = np.empty((count, dimensions), dtype=np.float32)
    for at, (stored,) in enumerate(connection.execute("SELECT body FROM m")):
        rows[at] = np.frombuffer(stored[-4 * dimensions :], dtype=np.float32)
    connection.close()
    return rows


def body(text: str, vector: Vectors) -> bytes:
    """The bytes that any durable memory has to write."""
    return text.encode() + METADATA.encode() + vector.tobytes()


class ExactSearch:
    """Each user's vectors as one matrix in memory, compared one by one."""

    def __init__(self, vectors_of: Sequence[Vectors]) -> None:
        self._vectors_of = vectors_of

    def nearest(self, question: Question, count: int = NEAREST) -> NDArray[np.intp]:
        """The places of the nearest, in no order."""
        similar = self._vectors_of[question.user] @ question.vector
        if len(similar) <= count:
            return np.arange(len(similar))
        return np.argpartition(similar, -count)[-count:]


class WordSearch:
    """FTS5 with the user as one more indexed word: the fastest way to scope it."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5(user, text, content='', tokenize='porter')"
        )

    def add_many(self, user: int, texts: Sequence[str]) -> None:
        """Index texts of a user."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO t (user, text) VALUES (?, ?)", [(f"u{user}", text) for text in texts]
            )

    def best(self, question: Question, count: int = NEAREST) -> list[tuple[int, float]]:
        """Rows and scores of the texts that answer best."""
        said = " OR ".join(question.words)
        asked = (f"user:u{question.user} AND text:({said})", count)
        found = self._connection.execute(
            "SELECT rowid, bm25(t) FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", asked
        )
        return list(found)
