"""The models of `clock_programs.py` that no other benchmark has: public ones, and plain torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import IterableDataset

from edited_models import CLASSES, VOCABULARY, Settings, of_config

FIELDS = 26
TABLE = 20_000


def resnet50(_: Settings) -> nn.Module:
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=CLASSES))


def convnext(settings: Settings) -> nn.Module:
    config = transformers.ConvNextConfig(
        depths=[settings.layers // 4] * 4,
        hidden_sizes=[settings.width // 8 * 2**stage for stage in range(4)],
        num_labels=CLASSES,
    )
    return transformers.ConvNextForImageClassification(config)


def bert(settings: Settings) -> nn.Module:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
    )
    return of_config(transformers.BertForMaskedLM, config, settings)


def gpt2(settings: Settings) -> nn.Module:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.width // 64,
        resid_pdrop=settings.dropout,
        embd_pdrop=settings.dropout,
        attn_pdrop=settings.dropout,
    )
    return of_config(transformers.GPT2LMHeadModel, config, settings)


def llama(settings: Settings) -> nn.Module:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        num_key_value_heads=max(settings.width // 256, 1),
        intermediate_size=3 * settings.width,
    )
    return of_config(transformers.LlamaForCausalLM, config, settings)


def mixtral(settings: Settings) -> nn.Module:
    config = transformers.MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        num_key_value_heads=settings.width // 64,
        intermediate_size=2 * settings.width,
        num_local_experts=8,
    )
    return of_config(transformers.MixtralForCausalLM, config, settings)


def whisper_encoder(settings: Settings) -> nn.Module:
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=settings.width,
        encoder_layers=settings.layers,
        encoder_attention_heads=settings.width // 64,
        encoder_ffn_dim=4 * settings.width,
        max_source_positions=settings.length // 2,
        num_labels=CLASSES,
    )
    return of_config(transformers.WhisperForAudioClassification, config, settings)


def _conv_block(into: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(into, out, 3, padding=1), nn.GroupNorm(8, out), nn.SiLU(),
        nn.Conv2d(out, out, 3, padding=1), nn.GroupNorm(8, out), nn.SiLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """Down and up again, with what was seen on the way down; tells classes of pixels."""

    def __init__(self, settings: Settings, *, channels: int = 3, out: int = 20) -> None:
        super().__init__()
        widths = [settings.width // 16 * 2**level for level in range(settings.layers)]
        self.down = nn.ModuleList(
            _conv_block(into, width)
            for into, width in zip([channels, *widths], widths, strict=False)
        )
        self.up = nn.ModuleList(
            _conv_block(wide + width, width) for width, wide in itertools.pairwise(widths)
        )
        self.head = nn.Conv2d(widths[0], out, 1)

    def features(self, x: Tensor) -> Tensor:
        seen = []
        for block in self.down:
            seen.append(block(x))
            x = functional.max_pool2d(seen[-1], 2)
        x = seen.pop()
        for block in reversed(self.up):
            x = functional.interpolate(x, scale_factor=2.0)
            x = block(torch.cat([x, seen.pop()], 1))
        return self.head(x)

    def forward(self, pixel_values: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(self.features(pixel_values), labels)


class Recommender(nn.Module):
    """Vectors of many fields, and layers over all of them: will it be clicked."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.table = nn.Embedding(FIELDS * TABLE, 32)
        sizes = [FIELDS * 32 + 13, *[settings.width] * settings.layers]
        layers = [
            part
            for into, out in itertools.pairwise(sizes)
            for part in (nn.Linear(into, out), nn.ReLU())
        ]
        self.layers = nn.Sequential(*layers, nn.Linear(settings.width, 1))

    def forward(self, numbers: Tensor, fields: Tensor, clicked: Tensor) -> Tensor:
        vectors = self.table(fields).flatten(1)
        scores = self.layers(torch.cat([numbers, vectors], 1)).squeeze(-1)
        return functional.binary_cross_entropy_with_logits(scores, clicked)


class Clicks(IterableDataset[dict[str, Tensor]]):
    """Batches of what users did, put together as they are asked for."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        offsets = torch.arange(FIELDS) * TABLE
        while True:
            yield {
                "numbers": torch.rand(self.rows, 13).log1p(),
                "fields": torch.randint(0, TABLE, (self.rows, FIELDS)) + offsets,
                "clicked": torch.randint(0, 2, (self.rows,)).float(),
            }


def generator(width: int) -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(64, 4 * width, 4), nn.BatchNorm2d(4 * width), nn.ReLU(),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def critic(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 4 * width, 4, 2, 1), nn.BatchNorm2d(4 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(4 * width, 1, 4), nn.Flatten(0),
    )  # fmt: skip
