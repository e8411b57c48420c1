"""Attention, as all workloads have it."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Patches of a picture look at each other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self._queries_keys_values = nn.Linear(width, 3 * width)
        self._from_heads = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, patches, width = hidden.shape
        apart = self._queries_keys_values(hidden).view(batch, patches, 3, self._heads, -1)
        queries, keys, values = apart.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values)
        joined: torch.Tensor = self._from_heads(
            mixed.transpose(1, 2).reshape(batch, patches, width)
        )
        return joined
