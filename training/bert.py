"""BERT in torch, as small as it gets.

Weights go by the names of the published ones, so that a checkpoint can be read by anything.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.base import WORDS

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
PLACES = "embeddings.position_embeddings.weight"
KINDS = "embeddings.token_type_embeddings.weight"

Weights = dict[str, NDArray[Any]]


class Reader(nn.Module):
    """Weights by their published names, and what can be read off the last layer.

    The vectors of words are frozen: they know more words than the data does.
    """

    padding = 0
    epsilon = EPSILON

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.held = nn.ParameterDict(
            {
                name.replace(".", "/"): nn.Parameter(
                    torch.tensor(np.asarray(value, dtype=np.float32)), requires_grad=name != WORDS
                )
                for name, value in weights.items()
            }
        )

    def weights(self) -> Weights:
        """The weights by their published names."""
        return {
            name.replace("/", "."): value.detach().float().cpu().numpy()
            for name, value in self.held.items()
        }

    def get(self, name: str) -> Tensor:
        """A weight by its published name."""
        return self.held[name.replace(".", "/")]

    def linear(self, name: str, entering: Tensor) -> Tensor:
        """A matrix times what enters, plus a bias."""
        return functional.linear(entering, self.get(f"{name}.weight"), self.get(f"{name}.bias"))

    def norm(self, name: str, entering: Tensor) -> Tensor:
        """Layer normalisation."""
        scale, bias = self.get(f"{name}.weight"), self.get(f"{name}.bias")
        return functional.layer_norm(entering, (entering.shape[-1],), scale, bias, self.epsilon)

    def hidden(self, ids: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        """The vectors of tokens after the last layer."""
        raise NotImplementedError

    def sentence(self, ids: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        """One vector of unit length per row."""
        hidden = self.hidden(ids, mask, dropout)
        share = mask[:, :, None].to(hidden.dtype)
        return functional.normalize((hidden * share).sum(1).float(), dim=-1)


class Encoder(Reader):
    """The model that is shipped."""

    def hidden(self, ids: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        """The vectors of tokens after the last layer."""
        length = ids.shape[1]
        start = functional.embedding(ids, self.get(WORDS))
        start = start + self.get(PLACES)[:length] + self.get(KINDS)[0]
        hidden = self.norm("embeddings.LayerNorm", start)
        hidden = functional.dropout(hidden, dropout, self.training)
        seen = mask[:, None, None, :].bool()
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            parts = []
            for part in ("query", "key", "value"):
                mixed = self.linear(f"{name}.attention.self.{part}", hidden)
                parts.append(mixed.unflatten(-1, (HEADS, -1)).transpose(1, 2))
            found = functional.scaled_dot_product_attention(*parts, attn_mask=seen)
            found = found.transpose(1, 2).flatten(2)
            found = self.linear(f"{name}.attention.output.dense", found)
            found = functional.dropout(found, dropout, self.training)
            hidden = self.norm(f"{name}.attention.output.LayerNorm", found + hidden)
            wide = functional.gelu(self.linear(f"{name}.intermediate.dense", hidden))
            found = self.linear(f"{name}.output.dense", wide)
            found = functional.dropout(found, dropout, self.training)
            hidden = self.norm(f"{name}.output.LayerNorm", found + hidden)
        return hidden
