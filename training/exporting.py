"""From a checkpoint to the files of src/recollect/models/embedding/minilm.

    pip install onnx                                   # beside the tools of requirements/dev.txt
    python -m training.exporting CHECKPOINT            # build, measure, write
    python -m training.exporting CHECKPOINT --check    # build and compare with what is there

A checkpoint holds what was learned; the vectors of words are those of the base. The same checkpoint
gives the same bytes.
"""

import argparse
import hashlib
import importlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recollect.models.embedding.wordpiece import CLS, SEP, WordPiece
from training import base
from training.graph import (
    EPSILON,
    HEAD_SIZE,
    HEADS,
    LAYERS,
    MODEL,
    REVISION,
    SIZE,
    TOKENS_MAX,
    Tensor,
    Weights,
    build,
    linear,
    positions,
)

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src/recollect/models/embedding/minilm"
SENTENCES = Path(__file__).with_name("sentences.txt")
COSINE_MEAN_MIN, COSINE_MIN, MEGABYTES_MAX = 0.992, 0.98, 24.0


def checkpoint(path: Path, words: Tensor) -> Weights:
    """The weights of a checkpoint, with the vectors of words that all models share."""
    with np.load(path) as held:
        learned = {name: held[name].astype(np.float32) for name in held.files}
    return {**learned, base.WORDS: words}


def save(path: Path, weights: Weights) -> None:
    """Write a checkpoint, in sixteen bits."""
    learned = {name: value for name, value in weights.items() if name != base.WORDS}
    with path.open("wb") as file:
        np.savez(file, **{name: value.astype(np.float16) for name, value in learned.items()})


# -- the same in float32, to compare with ----------------------------------------------------------


def exact(weights: Weights, ids: list[int]) -> tuple[Tensor, Tensor]:
    """The sentence's vector and those of its tokens, by the published weights."""
    hidden = weights["embeddings.word_embeddings.weight"][ids] + positions(weights)[: len(ids)]
    hidden = exact_norm(weights, "embeddings.LayerNorm", hidden)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        heads: list[Tensor] = []
        for part in ("query", "key", "value"):
            matrix, bias = linear(weights, f"{name}.attention.self.{part}")
            mixed = (hidden @ matrix.T + bias).reshape(len(ids), HEADS, HEAD_SIZE)
            heads.append(mixed.transpose(1, 0, 2))
        query, key, value = heads
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(HEAD_SIZE)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        found = (shares @ value).transpose(1, 0, 2).reshape(len(ids), SIZE)
        matrix, bias = linear(weights, f"{name}.attention.output.dense")
        grown = found @ matrix.T + bias + hidden
        hidden = exact_norm(weights, f"{name}.attention.output.LayerNorm", grown)
        matrix, bias = linear(weights, f"{name}.intermediate.dense")
        wide = hidden @ matrix.T + bias
        narrow = wide * (1 + erf(wide / np.sqrt(2))) / 2
        matrix, bias = linear(weights, f"{name}.output.dense")
        grown = narrow @ matrix.T + bias + hidden
        hidden = exact_norm(weights, f"{name}.output.LayerNorm", grown)
    sentence = hidden.mean(axis=0)
    return (
        sentence / np.linalg.norm(sentence),
        hidden / np.linalg.norm(hidden, axis=-1, keepdims=True),
    )


def exact_norm(weights: Weights, name: str, entering: Tensor) -> Tensor:
    """Layer normalisation."""
    centred = entering - entering.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def erf(x: Tensor) -> Tensor:
    """The error function within 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    series = sum(factor * t ** (power + 1) for power, factor in enumerate(terms))
    return np.sign(x) * (1 - series * np.exp(-x * x))


# -- measuring -------------------------------------------------------------------------------------


def measure(model: bytes, weights: Weights, vocabulary: bytes) -> bool:
    """Print how close, how fast and how large the model is; whether it is good enough."""
    pieces = WordPiece(vocabulary.decode().split("\n")[:-1])
    sentences = SENTENCES.read_text(encoding="utf-8").splitlines()
    rows = [[pieces.id(CLS), *pieces.ids(text), pieces.id(SEP)] for text in sentences]
    began = time.perf_counter()
    session = loaded(model)
    load_s = time.perf_counter() - began
    answers = [run(session, row) for row in rows]
    wanted = [exact(weights, row) for row in rows]
    whole = np.array([a[0] @ w[0] for a, w in zip(answers, wanted, strict=True)])
    single = np.concatenate([np.sum(a[1] * w[1], -1) for a, w in zip(answers, wanted, strict=True)])
    question = min(rows, key=lambda row: abs(len(row) - 10))
    question_s = min(timed(session, [question]) for _ in range(200))
    all_s = min(timed(session, rows) for _ in range(3))
    tokens = sum(map(len, rows))
    megabytes = (len(model) + len(vocabulary)) / 1e6
    print(f"sentences            {len(rows)}, {tokens / len(rows):.1f} tokens on average")
    print(f"cosine to float32    mean {whole.mean():.4f}, least {whole.min():.4f}")
    print(f"  of single tokens   mean {single.mean():.4f}, least {single.min():.4f}")
    print(f"question             {question_s * 1e3:.2f} CPU ms for {len(question)} tokens")
    print(f"texts                {len(rows) / all_s:.0f} per CPU second, one by one")
    print(f"tokens               {tokens / all_s:.0f} per CPU second")
    print(f"load                 {load_s:.3f} s")
    print(f"size                 {megabytes:.2f} MB with the vocabulary")
    close = whole.mean() >= COSINE_MEAN_MIN and whole.min() >= COSINE_MIN
    return bool(close and megabytes <= MEGABYTES_MAX)


def loaded(model: bytes) -> Any:
    """The model in the runtime that the package uses, on one thread."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session: Any, row: list[int]) -> tuple[Tensor, Tensor]:
    """The sentence's vector and those of its tokens."""
    ids = np.array([row], dtype=np.int64)
    sentence, tokens = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return sentence[0], tokens[0]


def timed(session: Any, rows: list[list[int]]) -> float:
    """CPU seconds of running rows one by one."""
    began = time.process_time()
    for row in rows:
        run(session, row)
    return time.process_time() - began


# -- the folder ------------------------------------------------------------------------------------


def contents(model: bytes, vocabulary: bytes, learned: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that are made; LICENSE and NOTICE beside them are written by hand."""
    yield "model.onnx", model
    yield "vocab.txt", vocabulary
    card = {
        "model": MODEL,
        "revision": REVISION,
        "dimensions": SIZE,
        "tokens_max": TOKENS_MAX,
        "base_sha256": base.DIGESTS[base.WEIGHTS],
        "checkpoint_sha256": hashlib.sha256(learned).hexdigest(),
        "model_sha256": hashlib.sha256(model).hexdigest(),
    }
    yield "model.json", (json.dumps(card, indent=2) + "\n").encode()


def main() -> int:
    """Build, measure, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="what `python -m training` wrote")
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    given = parser.parse_args()
    published, vocabulary = base.fetch()
    weights = checkpoint(given.checkpoint, published[base.WORDS])
    model = build(weights)
    good = measure(model, weights, vocabulary)
    for name, content in contents(model, vocabulary, given.checkpoint.read_bytes()):
        path = FOLDER / name
        same = path.is_file() and path.read_bytes() == content
        print(f"{name:20s} {'as it was' if same else 'differs' if given.check else 'written'}")
        good = good and (same or not given.check)
        if not given.check and not same:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
