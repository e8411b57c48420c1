"""The models of `edited_programs.py`: public architectures with random weights, and plain torch.

Each is a function of the settings that gives a module; a module for training takes a batch as
keywords and gives a loss, one for decoding is a causal language model of `transformers`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset

VOCABULARY = 16384
CLASSES = 100
FEATURES = 64


@dataclass(frozen=True)
class Settings:
    """What a user sets at the top of a script; a change of the code may be one of these."""

    batch: int = 32
    length: int = 256  # tokens, samples of sound, or pixels on a side
    layers: int = 4
    width: int = 768
    attention: str = "sdpa"
    activation: str = "gelu"
    dropout: float = 0.0
    precision: str = "autocast"  # or autocast16, tf32, default, exact; half: in the weights
    optimizer: str = "adamw fused"
    clip: float = 0.0
    accumulate: int = 1
    set_to_none: bool = True
    checkpointing: bool = False
    channels_last: bool = False
    pinned: bool = True
    workers: int = 2
    log_every: int = 0
    evaluate_every: int = 0
    run: str = "eager"  # or graph, compile
    bucket_mb: int = 25
    unrolled: bool = False


def of_config(model_class: Any, config: Any, settings: Settings) -> nn.Module:
    return model_class._from_config(config, attn_implementation=settings.attention)  # noqa: SLF001


def vit(settings: Settings) -> nn.Module:
    config = transformers.ViTConfig(
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        image_size=settings.length,
        hidden_act=settings.activation,
        hidden_dropout_prob=settings.dropout,
        num_labels=CLASSES,
    )
    return of_config(transformers.ViTForImageClassification, config, settings)


def t5(settings: Settings) -> nn.Module:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=settings.width,
        d_ff=4 * settings.width,
        num_layers=settings.layers,
        num_heads=settings.width // 64,
        dropout_rate=settings.dropout,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


def gpt_neox(settings: Settings) -> nn.Module:
    config = transformers.GPTNeoXConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        hidden_act=settings.activation,
        hidden_dropout=settings.dropout,
        max_position_embeddings=2048,
    )
    return of_config(transformers.GPTNeoXForCausalLM, config, settings)


def mistral(settings: Settings) -> nn.Module:
    config = transformers.MistralConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        num_key_value_heads=max(settings.width // 256, 1),
        intermediate_size=3 * settings.width,
        head_dim=64,
    )
    return of_config(transformers.MistralForCausalLM, config, settings)


def phi(settings: Settings) -> nn.Module:
    config = transformers.PhiConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
    )
    return of_config(transformers.PhiForCausalLM, config, settings)


def swin(settings: Settings) -> nn.Module:
    config = transformers.SwinConfig(
        image_size=settings.length,
        embed_dim=settings.width // 8,
        depths=[2] * (settings.layers // 2),
        num_heads=[3 * 2**stage for stage in range(settings.layers // 2)],
        hidden_act=settings.activation,
        hidden_dropout_prob=settings.dropout,
        drop_path_rate=0.0,
        num_labels=CLASSES,
    )
    return of_config(transformers.SwinForImageClassification, config, settings)


def wav2vec2(settings: Settings) -> nn.Module:
    config = transformers.Wav2Vec2Config(
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        hidden_dropout=settings.dropout,
        layerdrop=0.0,
        apply_spec_augment=False,
        num_labels=CLASSES,
    )
    return of_config(transformers.Wav2Vec2ForSequenceClassification, config, settings)


def distilbert(settings: Settings) -> nn.Module:
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=settings.width,
        n_layers=settings.layers,
        n_heads=settings.width // 64,
        hidden_dim=4 * settings.width,
        activation=settings.activation,
        dropout=settings.dropout,
        attention_dropout=settings.dropout,
    )
    return of_config(transformers.DistilBertForMaskedLM, config, settings)


def segformer(settings: Settings) -> nn.Module:
    config = transformers.SegformerConfig(
        depths=[settings.layers // 2] * 4,
        hidden_dropout_prob=settings.dropout,
        classifier_dropout_prob=settings.dropout,
        drop_path_rate=0.0,
        num_labels=20,
    )
    return transformers.SegformerForSemanticSegmentation(config)


def olmoe(settings: Settings) -> nn.Module:
    config = transformers.OlmoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=settings.width,
        num_experts=8,
        num_experts_per_tok=2,
    )
    return of_config(transformers.OlmoeForCausalLM, config, settings)


def mamba(settings: Settings) -> nn.Module:
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=settings.width, num_hidden_layers=settings.layers
    )
    return transformers.MambaForCausalLM(config)


class Residual(nn.Module):
    """Two convolutions around which the input goes as well."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.act(self.norm(self.first(x))))


class ConvNet(nn.Module):
    """A plain image classifier that takes a batch of bytes."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width // 8
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3)
        self.blocks = nn.ModuleList(Residual(width) for _ in range(settings.layers))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, pixel_values: Tensor, labels: Tensor) -> Tensor:
        x = functional.max_pool2d(self.stem(pixel_values), 2)
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(x.mean((2, 3))), labels)


class AutoEncoder(nn.Module):
    """Images to a small code and back."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, layers = settings.width // 8, settings.layers // 2
        down: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.SiLU()]
        up: list[nn.Module] = []
        for _ in range(layers):
            down += [nn.Conv2d(width, width, 4, 2, 1), nn.GroupNorm(8, width), nn.SiLU()]
            up += [nn.ConvTranspose2d(width, width, 4, 2, 1), nn.GroupNorm(8, width), nn.SiLU()]
        self.encoder = nn.Sequential(*down)
        self.decoder = nn.Sequential(*up, nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, pixel_values: Tensor, **_: Tensor) -> Tensor:
        return functional.mse_loss(self.decoder(self.encoder(pixel_values)), pixel_values)


class Attention(nn.Module):
    """Attention over all positions, with a kernel of the library or written out."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.heads, self.written_out = settings.width // 64, settings.attention == "eager"
        self.qkv = nn.Linear(settings.width, 3 * settings.width)
        self.out = nn.Linear(settings.width, settings.width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if self.written_out:
            weights = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1)
            mixed = weights @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer of a transformer; shifted and scaled by a condition where there is one."""

    def __init__(self, settings: Settings, *, conditioned: bool = False) -> None:
        super().__init__()
        width = settings.width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(settings)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = {"gelu": nn.GELU(), "silu": nn.SiLU(), "relu": nn.ReLU()}[settings.activation]
        self.condition = nn.Linear(width, 2 * width) if conditioned else None

    def forward(self, x: Tensor, condition: Tensor | None = None) -> Tensor:
        y = self.norm1(x)
        if self.condition is not None and condition is not None:
            scale, shift = self.condition(condition)[:, None].chunk(2, -1)
            y = y * (1 + scale) + shift
        x = x + self.attention(y)
        return x + self.down(self.act(self.up(self.norm2(x))))


class Encoder(nn.Module):
    """Tokens to a mean of features; gives a loss where there are labels."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, settings.width)
        self.blocks = nn.ModuleList(Block(settings) for _ in range(settings.layers))
        self.head = nn.Linear(settings.width, CLASSES)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Tensor:
        x = self.embed(input_ids)
        for block in self.blocks:
            x = block(x)
        scores = self.head(x.mean(1))
        return scores if labels is None else functional.cross_entropy(scores, labels)


class Diffusion(nn.Module):
    """A transformer that takes noise away from latent patches, in training."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.patch = nn.Linear(64, settings.width)
        self.time = nn.Sequential(nn.Linear(1, settings.width), nn.SiLU())
        self.blocks = nn.ModuleList(
            Block(settings, conditioned=True) for _ in range(settings.layers)
        )
        self.out = nn.Linear(settings.width, 64)

    def forward(self, latents: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        condition = self.time(times[:, None])
        x = self.patch(latents + times[:, None, None] * noise)
        for block in self.blocks:
            x = block(x, condition)
        return functional.mse_loss(self.out(x).float(), noise)


class Recurrent(nn.Module):
    """A language model of one LSTM, by the library or written as a loop over the tokens."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, settings.width)
        self.unrolled = settings.unrolled
        self.lstm = nn.LSTM(settings.width, settings.width, batch_first=True)
        self.cell = nn.LSTMCell(settings.width, settings.width) if settings.unrolled else None
        self.norm = nn.LayerNorm(settings.width)
        self.head = nn.Linear(settings.width, VOCABULARY)

    def forward(self, input_ids: Tensor, labels: Tensor) -> Tensor:
        x = self.embed(input_ids)
        if self.cell is None:
            x, _ = self.lstm(x)
        else:
            state, outputs = None, []
            for token in x.unbind(1):
                state = self.cell(token, state)
                outputs.append(state[0])
            x = torch.stack(outputs, 1)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class Images(Dataset[dict[str, Tensor]]):
    """Random images, each cut and turned into floats, as a reader of files would."""

    pause_s = 0.0

    def __init__(self, settings: Settings, count: int) -> None:
        self.side, self.count = settings.length, count
        self.stored = torch.randint(0, 256, (16, 3, self.side + 32, self.side + 32)).byte()

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        time.sleep(self.pause_s)
        top, left = index % 32, (7 * index) % 32
        image = self.stored[index % 16, :, top : top + self.side, left : left + self.side]
        pixels = image.float().div(255).sub(0.5).div(0.25)
        return {"pixel_values": pixels, "labels": torch.tensor(index % CLASSES)}


def random_batch(kind: str, settings: Settings) -> dict[str, Tensor]:
    """A batch as the model of that kind takes it."""
    rows, length = settings.batch, settings.length
    labels = torch.randint(0, CLASSES, (rows,))
    tokens = torch.randint(0, VOCABULARY, (rows, length))
    if kind in {"images", "masks"}:
        masks = torch.randint(0, 20, (rows, length, length))
        images = torch.randn(rows, 3, length, length)
        return {"pixel_values": images, "labels": labels if kind == "images" else masks}
    if kind == "sound":
        return {"input_values": torch.randn(rows, length), "labels": labels}
    if kind == "latents":
        latents, noise = torch.randn(2, rows, length, 64)
        return {"latents": latents, "noise": noise, "times": torch.rand(rows)}
    if kind == "vectors":
        return {"nodes": torch.randn(rows, FEATURES)}
    if kind == "graph":
        count = rows * length
        sources, targets = torch.randint(0, count, (2, 8 * count))
        labels = torch.randint(0, CLASSES, (count,))
        nodes = torch.randn(count, FEATURES)
        return {"nodes": nodes, "sources": sources, "targets": targets, "labels": labels}
    wanted = {"classes": labels, "sentences": tokens[:, : length // 4].clone()}
    return {"input_ids": tokens, "labels": wanted.get(kind, tokens.clone())}
