"""The graph of the model: written node by node, with the weights in eight bits.

Only standard operators of ONNX, so that it runs wherever ONNX does, and the same weights give the
same bytes. Every matrix is stored in eight bits with one scale per output, the vectors of words
with one per word; what goes into a matrix is brought to eight bits with one scale per token, so
that a text's vector does not depend on the texts that it is run together with.
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODEL, REVISION = "recollect-minilm-int8", 1
LAYERS, HEADS, SIZE, TOKENS_MAX = 6, 12, 384, 256
HEAD_SIZE = SIZE // HEADS
EPSILON = 1e-12
OPSET, IR = 20, 9
FLOAT, UINT8, INT64 = 1, 2, 7  #: numbers of ONNX's element types
LEVELS = 127
#: Processors without VNNI add two neighbouring products in sixteen bits: 255 · 128 fits, no more.
PAIR_LEVELS = 128
MASKED = -10_000.0

Tensor = NDArray[Any]
Weights = dict[str, Tensor]


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
