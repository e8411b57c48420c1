"""The models of `edited_scripts.py`: written in plain torch, as in a repository of research."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import IterableDataset

VOCABULARY = 16384
TABLES, TABLE_ROWS, FEATURES = 16, 20000, 32


class Clicks(IterableDataset[tuple[Tensor, Tensor, Tensor]]):
    """Batches of clicks: numbers, categories hashed to rows of tables, and answers."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        random = np.random.default_rng(0)
        while True:
            numbers = random.standard_normal((self.rows, 13), dtype=np.float32)
            raw = random.integers(0, 1 << 31, (self.rows, TABLES, 4))
            clicked = (random.random(self.rows) < 0.3).astype(np.float32)
            categories = torch.from_numpy(raw * 2654435761 % TABLE_ROWS)
            yield torch.from_numpy(numbers), categories, torch.from_numpy(clicked)


def _layers(*widths: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


class Recommender(nn.Module):
    """Tables of embeddings, whose products with one another a dense network reads."""

    def __init__(self, *, tables_first: bool) -> None:
        super().__init__()
        self.tables_first = tables_first
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(TABLE_ROWS, FEATURES, mode="sum") for _ in range(TABLES)
        )
        self.bottom = _layers(13, 512, 256, FEATURES)
        pairs = (TABLES + 1) * TABLES // 2
        self.top = _layers(pairs + FEATURES, 1024, 512, 1)
        rows, columns = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
        self.register_buffer("places", rows * (TABLES + 1) + columns)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        if self.tables_first:
            found = [table(categories[:, place]) for place, table in enumerate(self.tables)]
            dense = self.bottom(numbers)
        else:
            dense = self.bottom(numbers)
            found = [table(categories[:, place]) for place, table in enumerate(self.tables)]
        features = torch.stack([dense, *found], 1)
        products = torch.bmm(features, features.transpose(1, 2)).flatten(1)
        chosen = products[:, self.places]
        return self.top(torch.cat([dense, chosen], 1)).squeeze(1)


class TimedResidual(nn.Module):
    """Two convolutions that are told the time."""

    def __init__(self, before: int, after: int, times: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(times, after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.conv1(functional.silu(self.norm1(x)))
        y = y + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(functional.silu(self.norm2(y)))


class PixelAttention(nn.Module):
    """Attention of all pixels with one another."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        rows, width, high, wide = x.shape
        parts = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, -1)
        q, k, v = (part.reshape(rows, high * wide, 4, -1).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        mixed = mixed.permute(0, 1, 3, 2).reshape(rows, width, high, wide)
        return x + self.out(mixed)


class UNet(nn.Module):
    """Down to small images and up again, with what was there on the way down."""

    def __init__(self, width: int, *, contiguous: bool) -> None:
        super().__init__()
        self.contiguous = contiguous
        self.embed = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(
            TimedResidual(before, after, 256)
            for before, after in zip([width, *widths], widths, strict=False)
        )
        self.shrink = nn.ModuleList(nn.Conv2d(part, part, 3, 2, 1) for part in widths)
        self.middle = TimedResidual(widths[-1], widths[-1], 256)
        self.attention = PixelAttention(widths[-1])
        self.up = nn.ModuleList(
            TimedResidual(before + beside, after, 256)
            for before, beside, after in (
                (widths[2], widths[2], widths[1]),
                (widths[1], widths[1], widths[0]),
                (widths[0], widths[0], widths[0]),
            )
        )
        self.last = nn.Conv2d(width, 3, 3, padding=1)
        self.register_buffer("rates", torch.exp(torch.linspace(0, -9, 32)))

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        angles = times[:, None].float() * self.rates
        time = self.embed(torch.cat([angles.sin(), angles.cos()], 1))
        x, seen = self.first(x), []
        for block, shrink in zip(self.down, self.shrink, strict=True):
            x = block(x, time)
            seen.append(x)
            x = shrink(x)
        x = self.attention(self.middle(x, time))
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2, mode="nearest")
            if self.contiguous:
                x = x.contiguous()
            x = block(torch.cat([x, seen.pop()], 1), time)
        return self.last(functional.silu(x))


class Tagger(nn.Module):
    """A recurrent network both ways, and a score for every pair of tags that follow."""

    def __init__(self, width: int, *, field: bool, tags: int = 12) -> None:
        super().__init__()
        self.field = field
        self.embed = nn.Embedding(20000, width)
        self.rnn = nn.GRU(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.score = nn.Linear(2 * width, tags)
        self.follows = nn.Parameter(torch.randn(tags, tags) / 10)

    def forward(self, tokens: Tensor, tags: Tensor) -> Tensor:
        states, _ = self.rnn(self.embed(tokens))
        scores = self.score(states)
        if not self.field:
            return functional.cross_entropy(scores.flatten(0, 1), tags.flatten())
        right = scores.gather(2, tags[:, :, None]).squeeze(2).sum(1)
        right = right + self.follows[tags[:, :-1], tags[:, 1:]].sum(1)
        total = scores[:, 0]
        for place in range(1, scores.shape[1]):
            ways = total[:, :, None] + self.follows + scores[:, place, None, :]
            total = torch.logsumexp(ways, 1)
        return (torch.logsumexp(total, 1) - right).mean()


class NeighbourAttention(nn.Module):
    """A layer in which nodes attend to those that point at them."""

    def __init__(self, before: int, width: int, *, dropout: float, counted: bool) -> None:
        super().__init__()
        self.heads, self.dropout, self.counted = 4, dropout, counted
        self.values = nn.Linear(before, self.heads * width, bias=False)
        self.of_source = nn.Parameter(torch.randn(self.heads, width) / 8)
        self.of_target = nn.Parameter(torch.randn(self.heads, width) / 8)

    def forward(self, x: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        count = x.shape[0]
        if self.counted:
            count = max(count, int(targets.max()) + 1)
        values = self.values(x).view(count, self.heads, -1)
        source = (values * self.of_source).sum(-1)[sources]
        target = (values * self.of_target).sum(-1)[targets]
        weights = functional.leaky_relu(source + target, 0.2)
        places = targets[:, None].expand_as(weights)
        highest = weights.new_full((count, self.heads), -1e9)
        highest = highest.scatter_reduce(0, places, weights.detach(), "amax")
        weights = torch.exp(weights - highest[targets])
        sums = weights.new_zeros(count, self.heads).scatter_add(0, places, weights)
        weights = weights / sums[targets]
        if self.dropout:
            weights = functional.dropout(weights, self.dropout, self.training)
        messages = values[sources] * weights[:, :, None]
        mixed = torch.zeros_like(values).index_add(0, targets, messages)
        return functional.elu(mixed.flatten(1))


class GraphAttention(nn.Module):
    """Several such layers."""

    def __init__(self, layers: int, width: int, *, dropout: float, counted: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            NeighbourAttention(4 * width if place else 128, width, dropout=dropout, counted=counted)
            for place in range(layers)
        )
        self.head = nn.Linear(4 * width, 40)

    def forward(self, nodes: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        for layer in self.layers:
            nodes = layer(nodes, sources, targets)
        return self.head(nodes)


class SwitchLayer(nn.Module):
    """Experts, of which every token gets one; what an expert has no room for goes around."""

    def __init__(self, width: int, flags: dict[str, Any]) -> None:
        super().__init__()
        self.flags, self.experts = flags, flags["experts"]
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, self.experts, bias=False)
        self.up = nn.Parameter(torch.randn(self.experts, width, 4 * width) / 32)
        self.down = nn.Parameter(torch.randn(self.experts, 4 * width, width) / 64)
        self.load = torch.zeros(self.experts)

    def route(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.flags["float_router"]:
            with torch.autocast(x.device.type, enabled=False):
                scores = self.router(x.float())
        else:
            scores = self.router(x)
        share, expert = torch.softmax(scores, -1).max(-1)
        return share, expert

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.norm(x).flatten(0, 1)
        share, expert = self.route(tokens)
        chosen = functional.one_hot(expert, self.experts)
        self.load = chosen.sum(0)
        mixed = (
            self.in_turn(tokens, expert)
            if self.flags["looped"]
            else (self.together(tokens, expert, chosen))
        )
        return x + (mixed * share[:, None]).view_as(x)

    def together(self, tokens: Tensor, expert: Tensor, chosen: Tensor) -> Tensor:
        room = tokens.shape[0] * 5 // (4 * self.experts)
        place = (chosen.cumsum(0) * chosen).sum(1) - 1
        full = place >= room
        place = torch.where(full, self.experts * room, expert * room + place)
        gathered = tokens.new_zeros(self.experts * room + 1, tokens.shape[1])
        gathered = gathered.index_copy(0, place, tokens)
        inputs = gathered[:-1].view(self.experts, room, -1)
        outputs = torch.bmm(functional.gelu(torch.bmm(inputs, self.up)), self.down).flatten(0, 1)
        outputs = torch.cat([outputs, outputs.new_zeros(1, outputs.shape[1])])
        return outputs[place]

    def in_turn(self, tokens: Tensor, expert: Tensor) -> Tensor:
        mixed = torch.zeros_like(tokens)
        for number in range(self.experts):
            rows = torch.nonzero(expert == number).squeeze(1)
            outputs = functional.gelu(tokens[rows] @ self.up[number]) @ self.down[number]
            mixed = mixed.index_copy(0, rows, outputs.to(mixed.dtype))
        return mixed


class SwitchModel(nn.Module):
    """A language model of such layers, each after a mean over what went before."""

    def __init__(self, width: int, layers: int, flags: dict[str, Any]) -> None:
        super().__init__()
        self.flags = flags
        self.embed = nn.Embedding(VOCABULARY, width)
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.layers = nn.ModuleList(SwitchLayer(width, flags) for _ in range(layers))
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: Tensor, wanted: Tensor) -> Tensor:
        x = self.embed(tokens)
        counts = torch.arange(1, tokens.shape[1] + 1, device=x.device)[:, None]
        for mix, layer in zip(self.mix, self.layers, strict=True):
            x = x + mix(x.cumsum(1) / counts)
            if self.flags["checkpointed"]:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return functional.cross_entropy(self.head(x).flatten(0, 1), wanted.flatten())


class ScanLayer(nn.Module):
    """A state that decays by how much the input says, and a gate."""

    def __init__(self, width: int, *, broken: bool, scaled: bool) -> None:
        super().__init__()
        self.broken, self.scaled = broken, scaled
        self.norm = nn.LayerNorm(width)
        self.enter = nn.Linear(width, 3 * width)
        self.conv = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.leave = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        values, gate, decay = self.enter(self.norm(x)).chunk(3, -1)
        values = self.conv(values.transpose(1, 2))[:, :, : x.shape[1]].transpose(1, 2)
        if self.broken:
            torch._dynamo.graph_break()  # noqa: SLF001 - the public name of it
        if self.scaled:
            values = values / max(values.abs().max().item(), 1.0)
        faded = torch.cumsum(-functional.softplus(decay) / 64, 1)
        state = torch.exp(faded) * torch.cumsum(functional.silu(values) * torch.exp(-faded), 1)
        return x + self.leave(state * torch.sigmoid(gate))


class Scans(nn.Module):
    """Layers of scans that foretell what comes next; gives the loss."""

    def __init__(self, width: int, layers: int, *, broken: bool, scaled: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            ScanLayer(width, broken=broken and place == 1, scaled=scaled and place == 1)
            for place in range(layers)
        )
        self.head = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for layer in self.layers:
            y = layer(y)
        return functional.smooth_l1_loss(self.head(y)[:, :-1], x[:, 1:])


class Bottleneck(nn.Module):
    """A block of a residual network."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.parts = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or before != 4 * width:
            self.skip = nn.Sequential(
                nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.parts(x) + self.skip(x))


class ResidualNet(nn.Module):
    """A small residual network for classes of images."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.blocks = nn.Sequential(
            Bottleneck(width, width, 1),
            Bottleneck(4 * width, width, 1),
            Bottleneck(4 * width, 2 * width, 2),
            Bottleneck(8 * width, 2 * width, 1),
            Bottleneck(8 * width, 4 * width, 2),
        )
        self.head = nn.Linear(16 * width, 100)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(functional.max_pool2d(self.stem(x), 3, 2, 1))
        return self.head(x.mean((2, 3)))


class Detector(nn.Module):
    """A residual network whose every place proposes three boxes."""

    def __init__(self, width: int, blocks: int, kind: torch.dtype) -> None:
        super().__init__()
        self.kind = kind
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 4, 3), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(
            Bottleneck(width, width, 2),
            *(Bottleneck(4 * width, width, 1) for _ in range(blocks - 1)),
        )
        self.boxes = nn.Conv2d(4 * width, 3 * 4, 1)
        self.scores = nn.Conv2d(4 * width, 3, 1)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.blocks(self.stem(pixels))
        boxes = self.boxes(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4).sigmoid()
        scores = self.scores(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1)
        return torch.cat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1), scores


def overlaps(boxes: Tensor) -> Tensor:
    """How much of two boxes together both cover, for all pairs of a picture."""
    low = torch.maximum(boxes[:, :, None, :2], boxes[:, None, :, :2])
    high = torch.minimum(boxes[:, :, None, 2:], boxes[:, None, :, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    return both / (area[:, :, None] + area[:, None] - both + 1e-9)


class CachedLayer(nn.Module):
    """A layer of a transformer that attends to keys and values in memory set aside."""

    def __init__(self, width: int, attention: str) -> None:
        super().__init__()
        self.heads, self.attention = width // 64, attention
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor], places: Tensor, mask: Tensor
    ) -> Tensor:
        rows, length, width = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.view(rows, length, self.heads, 64).transpose(1, 2) for part in parts)
        keys, values = cache
        keys.index_copy_(2, places, k)
        values.index_copy_(2, places, v)
        mixed = self.attend(q, keys, values, mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(functional.silu(self.up(self.norm2(x))))

    def attend(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        if self.attention == "math":
            with sdpa_kernel(SDPBackend.MATH):
                return functional.scaled_dot_product_attention(q, keys, values, mask)
        return functional.scaled_dot_product_attention(q, keys, values, mask)


class Decoder(nn.Module):
    """A language model that decodes with a cache of fixed length."""

    longest = 1024

    def __init__(self, width: int, layers: int, attention: str) -> None:
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(CachedLayer(width, attention) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        self.cache: list[tuple[Tensor, Tensor]] = []
        self.saved: list[tuple[Tensor, Tensor]] = []

    def prepare(self, rows: int) -> None:
        shape = (rows, self.width // 64, self.longest, 64)
        empty = torch.zeros(shape, dtype=self.head.weight.dtype, device=self.head.weight.device)
        self.cache = [(empty.clone(), empty.clone()) for _ in self.layers]

    def forward(self, tokens: Tensor, at: int) -> Tensor:
        places = torch.arange(at, at + tokens.shape[1], device=tokens.device)
        mask = torch.arange(self.longest, device=tokens.device) <= places[:, None]
        x = self.embed(tokens)
        for layer, cache in zip(self.layers, self.cache, strict=True):
            x = layer(x, cache, places, mask)
        return self.head(self.norm(x))


def llama(width: int, layers: int, attention: str) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=max(width // 256, 1),
        intermediate_size=3 * width,
        use_cache=False,
    )
    model = transformers.LlamaForCausalLM._from_config(  # noqa: SLF001 - its public way is longer
        config, attn_implementation=attention
    )
    return model.to(torch.bfloat16)


class LoraLinear(nn.Module):
    """A layer that stays as it is, and a small one beside it that learns."""

    def __init__(self, base: nn.Linear, rank: int, kind: torch.dtype) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, rank, bias=False, dtype=kind)
        self.b = nn.Linear(rank, base.out_features, bias=False, dtype=kind)

    def forward(self, x: Tensor) -> Tensor:
        beside = self.b(self.a(x.to(self.a.weight.dtype)))
        return self.base(x) + beside.to(x.dtype)


class AdaptedLinear(LoraLinear):
    """The same by another name."""


def adapt(model: nn.Module, flags: dict[str, Any]) -> None:
    """Adapters beside some layers, in place; the other parameters stay as they are."""
    model.requires_grad_(flags["unfrozen"])
    kind = torch.float32 if flags["float_adapters"] else torch.bfloat16
    module = AdaptedLinear if flags["renamed"] else LoraLinear
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and name in flags["adapted"]:
                setattr(parent, name, module(child, 16, kind))
