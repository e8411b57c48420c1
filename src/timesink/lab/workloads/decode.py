"""A decoder-only transformer that generates tokens with a cache of keys and values.

`generate_token` is one cycle.  The tokens are read in every cycle, as a server does that looks for
the end of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from timesink.lab import gate
from timesink.lab.workloads.setting import Setting, setting_of


@dataclass(frozen=True)
class Size:
    """How large the model is, and how much it has read before."""

    width: int
    heads: int
    layers: int
    words: int
    batch: int
    context: int


SIZES = {
    "small": Size(width=512, heads=8, layers=12, words=4000, batch=12, context=512),
    "medium": Size(width=2048, heads=16, layers=16, words=32000, batch=16, context=2048),
    "large": Size(width=2048, heads=16, layers=24, words=32000, batch=96, context=2048),
}


@dataclass(frozen=True)
class Cache:
    """Keys and values of a layer: batch, head, place, feature."""

    keys: torch.Tensor
    values: torch.Tensor


class Layer(nn.Module):
    """Attention over all that was read, then a gated pair of linear layers."""

    def __init__(self, size: Size, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._heads = size.heads
        self._before_attention = nn.LayerNorm(size.width)
        self._queries_keys_values = nn.Linear(size.width, 3 * size.width, bias=False)
        self._from_heads = nn.Linear(size.width, size.width, bias=False)
        self._before_mlp = nn.LayerNorm(size.width)
        self._wider = nn.Linear(size.width, 8 * size.width, bias=False)
        self._narrower = nn.Linear(4 * size.width, size.width, bias=False)

    def forward(self, hidden: torch.Tensor, cache: Cache, place: int) -> torch.Tensor:
        hidden = hidden + self._attention(self._before_attention(hidden), cache, place)
        hidden = hidden + self._mlp(self._before_mlp(hidden))
        for _ in self._setting.switches.reads:
            hidden[0, 0].item()
        return hidden

    def _attention(self, hidden: torch.Tensor, cache: Cache, place: int) -> torch.Tensor:
        batch, width = hidden.shape
        apart = self._queries_keys_values(hidden).view(batch, 3, self._heads, 1, -1)
        queries, keys, values = apart.unbind(1)
        cache.keys[:, :, place] = keys[:, :, 0]
        cache.values[:, :, place] = values[:, :, 0]
        mixed = functional.scaled_dot_product_attention(
            queries, cache.keys[:, :, : place + 1], cache.values[:, :, : place + 1]
        )
        joined: torch.Tensor = self._from_heads(mixed.reshape(batch, width))
        return joined

    def _mlp(self, hidden: torch.Tensor) -> torch.Tensor:
        gates, values = self._linear(self._wider, hidden).chunk(2, -1)
        return self._linear(self._narrower, functional.silu(gates) * values)

    def _linear(self, layer: nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
        if self._setting.switches.full_precision:
            wide = functional.linear(hidden.float(), layer.weight.float())
            return wide.to(hidden.dtype)
        narrow: torch.Tensor = layer(hidden)
        return narrow


class Decoder(nn.Module):
    """Words, layers, and the next word."""

    def __init__(self, size: Size, setting: Setting) -> None:
        super().__init__()
        depth = setting.switches.depth(size.layers)
        self._words = nn.Embedding(size.words, size.width)
        self._layers = nn.ModuleList(Layer(size, setting) for _ in range(depth))
        self._norm = nn.LayerNorm(size.width)

    def forward(self, tokens: torch.Tensor, caches: Sequence[Cache], place: int) -> torch.Tensor:
        hidden = self._words(tokens)
        for layer, cache in zip(self._layers, caches, strict=True):
            hidden = layer(hidden, cache, place)
        return functional.linear(self._norm(hidden), self._words.weight).argmax(-1)


def generate_token(
    model: nn.Module, tokens: torch.Tensor, caches: Sequence[Cache], place: int, setting: Setting
) -> torch.Tensor:
    """The next token of every text, read by the host as well."""
    setting.switches.stall()
    following: torch.Tensor = model(tokens, caches, place)
    following.tolist()
    return following


def main() -> None:
    """Generate as many tokens as there are cycles."""
    setting = setting_of(__doc__)
    size = SIZES[setting.size]
    with torch.device(setting.device), torch.inference_mode():
        model = Decoder(size, setting).to(torch.bfloat16)
        shape = size.batch, size.heads, size.context + setting.cycles, size.width // size.heads
        caches = [
            Cache(*(torch.randn(shape, dtype=torch.bfloat16) for _ in range(2)))
            for _ in range(setting.switches.depth(size.layers))
        ]
        tokens = torch.randint(size.words, (size.batch,))
        gate.say("workload.ready")
        gate.wait_for("workload.go")
        for place in range(size.context, size.context + setting.cycles):
            tokens = generate_token(model, tokens, caches, place, setting)


if __name__ == "__main__":
    main()
