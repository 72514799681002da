"""MiniLM: the embedder that comes with the package, on the CPU, through onnxruntime.

Decides how texts become runs of the model: what is cut, what is run together, and how one warm
model serves every memory of a process. The weights are made by training/. Nothing is
downloaded, and nothing is loaded before the first text is embedded.
"""

import importlib
import importlib.util
import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.domain.errors import MissingExtra, ProviderError, ValidationError
from recollect.domain.passages import passages
from recollect.models.embedding.wordpiece import CLS, PAD, SEP, WordPiece
from recollect.ports.embedder import Purpose

FOLDER = Path(__file__).with_name("minilm")
RUNTIME = "onnxruntime"
BATCH_PASSAGES_MAX = 32
#: Of a text longer than about 5,000 words the rest is found by its words alone: reading a megabyte
#: would take half a minute, and a mean over thousands of passages points nowhere.
PASSAGES_MAX = 64
WHOLE_CHARS_MAX = 8_000  #: longer texts are cut into passages without counting their tokens first
THREADS_MAX = 64
SEVERITY_ERROR = 3

Matrix = NDArray[np.float32]
Row = list[int]


class Encoded(NamedTuple):
    """What the model says of one text: as a whole, and token by token."""

    vector: Matrix  #: of unit length; for a text of several passages their mean's direction
    token_ids: NDArray[np.int32]  #: without the marks of beginning and end
    token_vectors: Matrix  #: one row of unit length per token, as seen in its passage
    ends: tuple[int, ...]  #: for each passage where its tokens end


class MiniLM:
    """MiniLM, trained to find what was said: 384 dimensions, English, passages of 256 tokens.

    >>> MiniLM().dimensions
    384
    """

    inline = True

    def __init__(self, *, threads: int = 1) -> None:
        if not is_installed():
            raise MissingExtra(
                f"search by meaning needs {RUNTIME}: pip install 'recollect[local]', "
                "or set embedder to none to search by words"
            )
        if not 1 <= threads <= THREADS_MAX:
            raise ValidationError(
                f"threads must be from 1 to {THREADS_MAX}, not {threads}", field="threads"
            )
        self._threads = threads

    @property
    def space(self) -> str:
        """Model, revision and dimension; another revision is another space."""
        return f"{_card()['model']}-{_card()['revision']}-{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(_card()["dimensions"])

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Matrix:
        """One row of unit length per text; a question is read as a passage is."""
        model = _warm(self._threads)
        rows, owners = model.rows(texts)
        vectors = np.empty((len(rows), self.dimensions), dtype=np.float32)
        for chosen in _batches(rows):
            vectors[chosen] = model.run([rows[index] for index in chosen], ["sentence"])[0]
        return _means(vectors, owners, len(texts))

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Each text with the vectors of its tokens, from the same run of the model."""
        model = _warm(self._threads)
        rows, owners = model.rows(texts)
        vectors = np.empty((len(rows), self.dimensions), dtype=np.float32)
        tokens: list[Matrix] = [vectors] * len(rows)
        for chosen in _batches(rows):
            batch = [rows[index] for index in chosen]
            vectors[chosen], together = model.run(batch, ["sentence", "tokens"])
            for index, row, found in zip(chosen, batch, together, strict=True):
                tokens[index] = found[1 : len(row) - 1].copy()
        means = _means(vectors, owners, len(texts))
        parts: list[list[int]] = [[] for _ in texts]
        for index, owner in enumerate(owners):
            parts[owner].append(index)
        return [
            Encoded(
                mean,
                np.concatenate([np.array(rows[index][1:-1], dtype=np.int32) for index in part]),
                np.concatenate([tokens[index] for index in part]),
                tuple(np.cumsum([len(rows[index]) - 2 for index in part]).tolist()),
            )
            for mean, part in zip(means, parts, strict=True)
        ]


def is_installed() -> bool:
    """Whether the package that runs the model is there; it is not loaded to find out."""
    try:
        return importlib.util.find_spec(RUNTIME) is not None
    except (ImportError, ValueError):
        return False


# -- one warm model per process --------------------------------------------------------------------


@dataclass(slots=True)
class _Model:
    """A loaded model, its vocabulary and how many tokens it takes. Safe to share by threads."""

    session: Any
    pieces: WordPiece
    tokens_max: int

    def rows(self, texts: Sequence[str]) -> tuple[list[Row], list[int]]:
        """The passages of all texts as token numbers, and for each the text that it is of."""
        first, last = self.pieces.id(CLS), self.pieces.id(SEP)
        rows: list[Row] = []
        owners: list[int] = []
        for index, text in enumerate(texts):
            for ids in self._passages(text):
                rows.append([first, *ids, last])
                owners.append(index)
        return rows, owners

    def _passages(self, text: str) -> list[Row]:
        room = self.tokens_max - 2
        if len(text) <= WHOLE_CHARS_MAX:
            ids = self.pieces.ids(text)
            if len(ids) <= room:
                return [ids]
        cut: list[Row] = []
        for passage in passages(text):
            ids = self.pieces.ids(passage)
            cut += [ids[start : start + room] for start in range(0, len(ids), room)]
            if len(cut) >= PASSAGES_MAX:
                break
        return cut[:PASSAGES_MAX]

    def run(self, rows: Sequence[Row], outputs: Sequence[str]) -> list[Matrix]:
        """The outputs of one batch."""
        ids = np.full((len(rows), max(map(len, rows))), self.pieces.id(PAD), dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, row in enumerate(rows):
            ids[line, : len(row)] = row
            mask[line, : len(row)] = 1
        return self.session.run(list(outputs), {"input_ids": ids, "attention_mask": mask})


class _Shelf:
    """The models of this process by their number of threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.models: dict[int, _Model] = {}
        self.left_behind: list[_Model] = []

    def after_fork(self) -> None:
        """Go on in a child: its copy of the lock may be held by a thread that it does not have.

        A model that works with several threads lost them too, and is loaded anew. What is left of
        it is kept, for its end would wait for those threads.
        """
        self.left_behind += [model for count, model in self.models.items() if count > 1]
        self.models = {count: model for count, model in self.models.items() if count == 1}
        self.lock = threading.Lock()


_SHELF = _Shelf()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHELF.after_fork)


def _warm(threads: int) -> _Model:
    """The model, loaded by whoever needs it first."""
    model = _SHELF.models.get(threads)
    if model is None:
        with _SHELF.lock:
            model = _SHELF.models.get(threads) or _load(threads)
            _SHELF.models[threads] = model
    return model


def _load(threads: int) -> _Model:
    try:
        runtime: Any = importlib.import_module(RUNTIME)
    except ImportError as exc:
        raise ProviderError(f"{RUNTIME} is installed but cannot be loaded: {exc}") from exc
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = SEVERITY_ERROR
    vocabulary = (FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return _Model(
        session=runtime.InferenceSession(
            str(FOLDER / "model.onnx"), options, providers=["CPUExecutionProvider"]
        ),
        pieces=WordPiece(vocabulary[:-1]),
        tokens_max=int(_card()["tokens_max"]),
    )


@cache
def _card() -> dict[str, Any]:
    """What the build tool wrote down about the model that it made."""
    return json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))


# -- batches ---------------------------------------------------------------------------------------


def _batches(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Rows of similar length together, so that little is spent on filling up."""
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for start in range(0, len(order), BATCH_PASSAGES_MAX):
        yield order[start : start + BATCH_PASSAGES_MAX]


def _means(vectors: Matrix, owners: Sequence[int], texts: int) -> Matrix:
    """For each text the direction of the mean of its passages."""
    if len(vectors) == texts:
        return vectors
    sums = np.zeros((texts, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, list(owners), vectors)
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)
