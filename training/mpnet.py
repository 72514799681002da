"""MPNet in torch: the larger model that teaches the small ones, and that nobody ships."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from training.base import WORDS
from training.bert import PLACES, Reader

LAYERS, HEADS, BUCKETS, FARTHEST = 12, 12, 32, 128
MARKS = ("<s>", "</s>", "<pad>")


class Teacher(Reader):
    """all-mpnet-base-v2."""

    padding = 1
    epsilon = 1e-5

    def hidden(self, ids: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        """The vectors of tokens after the last layer."""
        length = ids.shape[1]
        start = functional.embedding(ids, self.get(WORDS))
        start = start + self.get(PLACES)[self.padding + 1 : self.padding + 1 + length]
        hidden = self.norm("embeddings.LayerNorm", start)
        hidden = functional.dropout(hidden, dropout, self.training)
        seen = torch.zeros_like(mask, dtype=hidden.dtype).masked_fill(~mask.bool(), -1e4)
        seen = seen[:, None, None, :] + self._distances(length, ids.device)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            parts = []
            for part in ("q", "k", "v"):
                mixed = self.linear(f"{name}.attention.attn.{part}", hidden)
                parts.append(mixed.unflatten(-1, (HEADS, -1)).transpose(1, 2))
            bias = seen.to(parts[0].dtype)
            found = functional.scaled_dot_product_attention(*parts, attn_mask=bias)
            found = self.linear(f"{name}.attention.attn.o", found.transpose(1, 2).flatten(2))
            found = functional.dropout(found, dropout, self.training)
            hidden = self.norm(f"{name}.attention.LayerNorm", found + hidden)
            wide = functional.gelu(self.linear(f"{name}.intermediate.dense", hidden))
            found = self.linear(f"{name}.output.dense", wide)
            found = functional.dropout(found, dropout, self.training)
            hidden = self.norm(f"{name}.output.LayerNorm", found + hidden)
        return hidden

    def _distances(self, length: int, device: torch.device) -> Tensor:
        """What the distance of two tokens adds to their attention, per head."""
        places = torch.arange(length, device=device)
        apart = places[None, :] - places[:, None]
        half, exact = BUCKETS // 2, BUCKETS // 4
        far = apart.abs().clamp(min=1).float() / exact
        steps = (far.log() / math.log(FARTHEST / exact) * (half - exact)).long() + exact
        bucket = torch.where(apart.abs() < exact, apart.abs(), steps.clamp(max=half - 1))
        bucket = bucket + (apart > 0) * half
        bias = self.get("encoder.relative_attention_bias.weight")
        return functional.embedding(bucket, bias).permute(2, 0, 1)
