"""Programs that torch.compile compiles, with a planted graph break and a planted change of shape.

    timesink record -o train --with compiled -- python benchmarks/compiled_programs.py train
    timesink record -o infer --with compiled --marker predict -- \
        python benchmarks/compiled_programs.py infer
    python benchmarks/compiled_accuracy.py train infer

The model is a small transformer; `library` compiles one of Hugging Face as it is, and `skipped` is
a function that no graph of the device can hold.
Works on a CPU too, with small sizes.
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IS_LARGE = DEVICE == "cuda"
WIDTH, HEADS, LAYERS = (1024, 16, 4) if IS_LARGE else (64, 4, 2)
BATCH, LENGTH, WORDS = (8, 512, 8192) if IS_LARGE else (2, 16, 128)
TYPE = torch.bfloat16 if IS_LARGE else torch.float32
STEPS = 60 if IS_LARGE else 16
CHANGES_AT = 8 if IS_LARGE else 4


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.all_heads = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = self.all_heads(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.before_wide = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x))
        return x + self.narrow(functional.gelu(self.wide(self.before_wide(x))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS // 2))
        self.later_blocks = nn.ModuleList(Block() for _ in range(LAYERS - LAYERS // 2))
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        print(end="")  # the planted graph break
        for block in self.later_blocks:
            x = block(x)
        return self.head(self.last(x))


def batch(step: int) -> torch.Tensor:
    length = LENGTH if step < CHANGES_AT else LENGTH // 2
    return torch.randint(WORDS, (BATCH, length), device=DEVICE)


def train() -> None:
    model = Transformer().to(DEVICE, TYPE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    compiled = torch.compile(model)
    for step in range(STEPS):
        words = batch(step)
        logits = compiled(words)
        loss = functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), words[:, 1:].flatten()
        )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def infer() -> None:
    """A step is a call of `predict`."""
    model = Transformer().to(DEVICE, TYPE).eval()
    compiled = torch.compile(model)

    def predict(step: int) -> torch.Tensor:
        with torch.no_grad():
            return compiled(batch(step)).argmax(-1)

    for step in range(STEPS):
        predict(step)


def library() -> None:
    """A model of a library, compiled from outside."""
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415 - only here

    config = GPT2Config(
        vocab_size=WORDS, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS
    )
    model = GPT2LMHeadModel(config).to(DEVICE, TYPE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    compiled = torch.compile(model)
    for step in range(STEPS):
        words = batch(step)
        compiled(words, labels=words).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def skipped() -> None:
    """Asks for graphs of the device, which changing an input in place forbids."""

    def add_in_place(x: torch.Tensor, many: torch.Tensor) -> torch.Tensor:
        x.add_(many.sum())
        return x.relu()

    compiled = torch.compile(add_in_place, mode="reduce-overhead")
    parameter = nn.Parameter(torch.zeros(1, device=DEVICE))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    x = torch.zeros(1024, device=DEVICE)
    for _ in range(STEPS):
        with torch.no_grad():
            compiled(x, torch.ones(1024, device=DEVICE))
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    {"train": train, "infer": infer, "library": library, "skipped": skipped}[sys.argv[1]]()
