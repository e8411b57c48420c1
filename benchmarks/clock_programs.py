"""Programs whose own clock is to be found, and changes whose saving is to be foretold.

Each program is a function that gives an iterator: what is done between two of its items is a
cycle.  Nothing waits for the device at the end of one unless a user's script would.  These
are there for writing the rules, those of `clock_last.py` for judging them.  Without a GPU
everything is tiny.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

import clock_models as models
import edited_models
import edited_more_models
from edited_changes import Change, Program, busy, empty_cache
from edited_models import Settings, random_batch
from edited_programs import DOES, NO_CHANGE

Cycles = Callable[[], Iterator[None]]
HAS_GPU = Path("/dev/nvidiactl").exists()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
AT_MOST = 3000
"""Cycles that a program would make."""


@dataclass(frozen=True)
class Clocked:
    """A program, and how much of it is recorded."""

    run: Cycles
    cycles: int = 10
    options: tuple[str, ...] = ()
    """It is recorded again with each of these."""


@dataclass(frozen=True)
class Pair:
    """A program before and after a change, and what a user would ask before making it."""

    change: str
    base: Cycles
    changed: Cycles
    question: str
    cycles: int = 10


def of(program: Program, change: Change = NO_CHANGE, **settings: Any) -> Cycles:
    """A program of the corpus of edited programs, with other settings."""
    set_so = replace(program, settings=replace(program.settings, **settings))
    return lambda: DOES[program.does](set_so, change, AT_MOST)


def edit(cause: str = "", **how: Any) -> Change:
    return Change(cause, "", **how)


def pick_size(full: int, small: int) -> int:
    return full if HAS_GPU else small


# Programs that are no plain training, decoding or answering.


@torch.no_grad()
def gpt2_forward() -> Iterator[None]:
    settings = Settings(pick_size(4, 1), pick_size(128, 8), 6, pick_size(768, 128))
    model = models.gpt2(settings).to(DEVICE, torch.bfloat16).eval()
    tokens = random_batch("tokens", settings)["input_ids"].to(DEVICE)
    while True:
        model(input_ids=tokens, use_cache=False)
        yield


@torch.no_grad()
def whisper() -> Iterator[None]:
    settings = Settings(pick_size(32, 1), pick_size(3000, 64), 4, pick_size(768, 128))
    model = models.whisper_encoder(settings).to(DEVICE, torch.bfloat16).eval()
    sound = torch.randn(settings.batch, 80, settings.length)
    while True:
        features = sound.to(DEVICE, torch.bfloat16, non_blocking=True)
        model(features).logits.argmax(-1).tolist()
        yield


@torch.no_grad()
def denoise_images() -> Iterator[None]:
    """Every cycle makes images out of noise, in six steps."""
    settings = Settings(pick_size(8, 1), pick_size(64, 16), 3, pick_size(1024, 128))
    model = models.UNet(settings, channels=4, out=4).to(DEVICE, torch.bfloat16).eval()
    betas = torch.linspace(1e-4, 0.02, 6).tolist()
    shape = (settings.batch, 4, settings.length, settings.length)
    while True:
        x = torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)
        for beta in betas:
            noise = model.features(x)
            x = (x - beta * noise) / (1 - beta) ** 0.5 + beta**0.5 * torch.randn_like(x)
        x.clamp_(-1, 1)
        yield


def gan() -> Iterator[None]:
    width, rows = pick_size(64, 8), pick_size(64, 2)
    make, judge = models.generator(width).to(DEVICE), models.critic(width).to(DEVICE)
    makes, judges = (torch.optim.Adam(network.parameters(), 2e-4) for network in (make, judge))
    photos = torch.randn(rows, 3, 32, 32)
    while True:
        real = photos.to(DEVICE, non_blocking=True)
        fake = make(torch.randn(rows, 64, 1, 1, device=DEVICE))
        judges.zero_grad()
        wrong = functional.softplus(judge(fake.detach())) + functional.softplus(-judge(real))
        wrong.mean().backward()
        judges.step()
        makes.zero_grad()
        functional.softplus(-judge(fake)).mean().backward()
        makes.step()
        yield


def recommender() -> Iterator[None]:
    settings = Settings(pick_size(4096, 4), layers=4, width=pick_size(1024, 64))
    model = models.Recommender(settings).to(DEVICE)
    optimizer = torch.optim.Adagrad(model.parameters(), 0.01)
    clicks = models.Clicks(settings.batch)
    for batch in DataLoader(clicks, None, num_workers=pick_size(4, 1), pin_memory=HAS_GPU):
        on_device = {name: part.to(DEVICE, non_blocking=True) for name, part in batch.items()}
        optimizer.zero_grad()
        model(**on_device).backward()
        optimizer.step()
        yield


@torch.no_grad()
def two_streams() -> Iterator[None]:
    """Two networks look at the same sentences, each on a stream of its own."""
    settings = Settings(pick_size(16, 2), pick_size(256, 8), 4, pick_size(768, 128))
    pair = [edited_models.Encoder(settings).to(DEVICE, torch.bfloat16) for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in pair] if HAS_GPU else []
    tokens = random_batch("tokens", settings)["input_ids"].to(DEVICE)
    while True:
        scores = []
        for number, model in enumerate(pair):
            if HAS_GPU:
                streams[number].wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(streams[number]) if HAS_GPU else contextlib.nullcontext():
                scores.append(model(tokens))
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        (scores[0] + scores[1]).softmax(-1).cpu()
        yield


@torch.no_grad()
def gather_scores(*, at_once: bool) -> Iterator[None]:
    """Scores of a hundred sentences, to the host one by one or together."""
    settings = Settings(pick_size(100, 3), pick_size(64, 8), 4, pick_size(768, 128))
    model = edited_models.Encoder(settings).to(DEVICE, torch.bfloat16).eval()
    tokens = random_batch("tokens", settings)["input_ids"].to(DEVICE)
    while True:
        scores = model(tokens).softmax(-1)
        _ = scores.to("cpu") if at_once else [row.to("cpu") for row in scores]
        yield


# What is recorded for writing the rules.

_BERT = Program(
    models.bert, "tokens", settings=Settings(8, 128, 4, dropout=0.1, optimizer="adamw foreach")
)
_GPT2 = Program(models.gpt2, "tokens", settings=Settings(16, 1024, 4, 1024))
_RESNET = Program(
    models.resnet50,
    "images",
    settings=Settings(128, 224, optimizer="sgd fused", channels_last=True),
)
_VIT = Program(edited_models.vit, "images", settings=Settings(128, 224, 4))
_ENCODER = Program(edited_models.Encoder, "classes", "infer", Settings(4, 64, 8))
_CNN = Program(
    edited_models.ConvNet, "images", settings=Settings(64, 160, 8, 1024, optimizer="sgd foreach")
)
_LOADED = replace(_CNN, kind="loader")
_ALL = ("shapes", "stack", "modules", "memory", "where")


def _read_actions(actions: Tensor) -> None:
    actions.tolist()


def _asks_the_world(model: nn.Module) -> None:
    model.seen = _read_actions  # type: ignore[assignment]


def compile_blocks(model: Any) -> None:
    for block in model.blocks:
        block.compile()


FIT = {
    "resnet50_large": Clocked(of(_RESNET), 6),
    "resnet50_small": Clocked(
        of(_RESNET, batch=8, optimizer="sgd foreach", precision="tf32", channels_last=False),
        5,
        _ALL,
    ),
    "bert_train": Clocked(of(_BERT), options=_ALL),
    "gpt2_train": Clocked(of(_GPT2)),
    "gpt2_forward": Clocked(gpt2_forward, options=_ALL),
    "llama_decode": Clocked(
        of(Program(models.llama, "tokens", "decode", Settings(8, 256, 6, 1024, precision="half"))),
        options=_ALL,
    ),
    "llama_decode_eager": Clocked(
        of(
            Program(models.llama, "tokens", "decode", Settings(8, 256, 6, 1024, precision="half")),
            attention="eager",
        ),
        options=("shapes", "stack"),
    ),
    "vit_train": Clocked(of(_VIT), options=_ALL),
    "unet_train": Clocked(
        of(Program(models.UNet, "masks", settings=Settings(32, 128, 4, optimizer="adamw foreach")))
    ),
    "t5_train": Clocked(
        of(Program(edited_models.t5, "sentences", settings=Settings(32, 256, 2, 512, clip=1.0))), 8
    ),
    "lstm_cells": Clocked(
        of(
            Program(
                edited_models.Recurrent,
                "tokens",
                settings=Settings(64, 32, 1, 1024, precision="tf32", unrolled=True),
            )
        ),
        options=_ALL,
    ),
    "mamba_train": Clocked(
        of(Program(edited_models.mamba, "tokens", settings=Settings(4, 32, 2, 512))), 4
    ),
    "convnext_train": Clocked(
        of(Program(models.convnext, "images", settings=Settings(64, 160, 8)))
    ),
    "whisper_encoder": Clocked(whisper),
    "mixtral_train": Clocked(
        of(Program(models.mixtral, "tokens", settings=Settings(8, 256, 2, 512))), 8
    ),
    "recommender": Clocked(recommender),
    "compiled_blocks": Clocked(
        of(
            Program(edited_models.Encoder, "classes", settings=Settings(32, 256, 4)),
            edit(model=compile_blocks),
        )
    ),
    "graph_replay": Clocked(of(_ENCODER, run="graph", batch=16)),
    "denoising": Clocked(denoise_images),
    "gan": Clocked(gan),
    "distilbert_item": Clocked(
        of(
            Program(edited_models.distilbert, "tokens", settings=Settings(16, 128, 3)),
            edit(step=lambda _, loss: loss.item()),
        )
    ),
    "two_streams": Clocked(two_streams),
    "actor_critic": Clocked(
        of(
            Program(
                edited_more_models.ActorCritic,
                "vectors",
                settings=Settings(256, 1, 16, 256, precision="default"),
            ),
            edit(model=_asks_the_world),
        ),
        6,
    ),
    "loader_cnn": Clocked(of(_LOADED, workers=2)),
}


def _norms_one_by_one(model: nn.Module) -> list[Tensor]:
    return [part.grad.norm().to("cpu") for part in model.parameters() if part.grad is not None]


def _norms_at_once(model: nn.Module) -> Tensor:
    norms = [part.grad.norm() for part in model.parameters() if part.grad is not None]
    return torch.stack(norms).to("cpu")


def _rows_one_by_one(outputs: Any) -> Tensor:
    return torch.stack([row.float().softmax(-1).amax(-1).mean() for row in outputs.logits.detach()])


def _rows_at_once(outputs: Any) -> Tensor:
    return outputs.logits.detach().float().softmax(-1).amax(-1).mean(-1)


def _items(outputs: Any) -> list[float]:
    return [row.detach().float().mean().item() for row in outputs.logits[:8]]


def _more_items(outputs: Any) -> list[float]:
    return [row.detach().float().mean().item() for row in outputs.logits]


def _after(milliseconds: float) -> Any:
    """A batch that the host has to prepare first."""
    wait = busy(milliseconds)

    def prepare(batch: dict[str, Tensor]) -> dict[str, Tensor]:
        wait()
        return batch

    return prepare


PREPARED = edit(batch=_after(6))
PREPARED_WITH_ITEM = edit(batch=_after(6), step=lambda _, loss: loss.item())
_TRAINED = Program(edited_models.Encoder, "classes", settings=Settings(64, 512, 4))
_SMALL_GPT2 = replace(_GPT2, settings=Settings(8, 512, 3, 768))

WHATIF = {
    "bert_fused": Pair(
        "AdamW one parameter after the other -> fused",
        of(_BERT, optimizer="adamw loop"),
        of(_BERT, optimizer="adamw fused"),
        "fuse Optimizer.step: its operators and launches become one launch per group",
        6,
    ),
    "gpt2_fused": Pair(
        "AdamW foreach -> fused",
        of(_SMALL_GPT2, optimizer="adamw foreach"),
        of(_SMALL_GPT2),
        "fuse Optimizer.step",
    ),
    "vit_no_item": Pair(
        "loss.item() of every step removed",
        of(_VIT, edit(step=lambda _, loss: loss.item()), batch=48),
        of(_VIT, batch=48),
        "remove sync:aten::item (at the end of every step)",
    ),
    "bert_no_items": Pair(
        "eight .item() between forward and backward removed, with the means they read",
        of(_BERT, edit(outputs=_items), batch=32),
        of(_BERT, batch=32),
        "remove sync:aten::item, and the aten::mean before each",
    ),
    "vit_pinned": Pair(
        "pageable -> pinned, non-blocking copies of the images",
        of(_VIT, pinned=False, batch=64),
        of(_VIT, batch=64),
        "copies of host to device at the rate of pinned memory, and nobody waits for them",
    ),
    "cnn_workers": Pair(
        "DataLoader workers 0 -> 4",
        of(_LOADED, workers=0),
        of(_LOADED, workers=4),
        "loader workers inf: time in DataLoader.__next__ removed",
    ),
    "gpt2_sdpa": Pair(
        "attention written out -> sdpa",
        of(_SMALL_GPT2, attention="eager", length=1024),
        of(_SMALL_GPT2, length=1024),
        "kernels of attention (bmm, softmax, where, masks) at a quarter of their time",
    ),
    "encoder_compiled": Pair(
        "torch.compile of each block, in training",
        of(_TRAINED, batch=16, length=128),
        of(_TRAINED, edit(model=compile_blocks), batch=16, length=128),
        "fuse Block.forward and its backward: elementwise kernels and their launches go",
    ),
    "bert_twice": Pair(
        "batch 8 -> 16, launch-bound",
        of(_BERT),
        of(_BERT, batch=16),
        "all kernels twice as long; the cycle should hardly change",
    ),
    "vit_twice": Pair(
        "batch 64 -> 128, device-bound",
        of(_VIT, batch=64),
        of(_VIT),
        "all kernels and copies twice as long",
    ),
    "encoder_graph": Pair(
        "inference as a CUDA graph",
        of(_ENCODER),
        of(_ENCODER, run="graph"),
        "launches of the forward pass become one: fuse everything within answer()",
    ),
    "cnn_channels_last": Pair(
        "channels_last",
        of(_CNN),
        of(_CNN, channels_last=True),
        "convolutions without their transposing kernels (nchwToNhwc, nhwcToNchw removed)",
    ),
    "bert_rows": Pair(
        "a loop over the rows of the scores -> one expression",
        of(_BERT, edit(outputs=_rows_one_by_one), batch=32),
        of(_BERT, edit(outputs=_rows_at_once), batch=32),
        "remove 31 of 32 calls of softmax, amax and mean, with their launches",
    ),
    "gpt2_autocast": Pair(
        "fp32 products -> bfloat16 autocast",
        of(_SMALL_GPT2, precision="exact"),
        of(_SMALL_GPT2),
        "kernels of products at an eighth of their time",
    ),
    "gpt2_no_empty_cache": Pair(
        "torch.cuda.empty_cache() of every step removed",
        of(_SMALL_GPT2, edit(step=empty_cache)),
        of(_SMALL_GPT2),
        "remove cudaFree and cudaMalloc, and the waits in them",
    ),
    "bert_no_preparing": Pair(
        "6 ms of preparing data on the main thread removed",
        of(_BERT, PREPARED),
        of(_BERT),
        "remove what the host does between steps (6 ms outside of any operator)",
    ),
    "bert_one_gather": Pair(
        "norms of the gradients, each sent to the host -> stacked and sent once",
        of(_BERT, edit(before_step=_norms_one_by_one)),
        of(_BERT, edit(before_step=_norms_at_once)),
        "remove all but one of the copies to the host, and the waits for them",
    ),
}

# The same kinds of change where they save more than such a machine varies.
MORE_PAIRS = {
    "vit_no_item_prepared": Pair(
        "loss.item() of every step removed, where the host prepares batches for 6 ms",
        of(_VIT, PREPARED_WITH_ITEM),
        of(_VIT, PREPARED),
        "remove sync:aten::item (at the end of every step)",
    ),
    "bert_no_row_items": Pair(
        "an .item() of every row between forward and backward removed, with its mean",
        of(_BERT, edit(outputs=_more_items), batch=32),
        of(_BERT, batch=32),
        "remove sync:aten::item, and the aten::mean before each",
    ),
    "encoder_large_compiled": Pair(
        "torch.compile of each block, in training, device-bound",
        of(_TRAINED),
        of(_TRAINED, edit(model=compile_blocks)),
        "fuse Block.forward and its backward: elementwise kernels and their launches go",
    ),
    "encoder_one_gather": Pair(
        "a hundred results sent to the host one by one -> at once",
        partial(gather_scores, at_once=False),
        partial(gather_scores, at_once=True),
        "remove all but one of the copies to the host, and the waits for them",
    ),
}
