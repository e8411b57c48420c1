"""A small vision transformer in training: worker processes load, AdamW, bfloat16.

The loss is read in every cycle, as loops that log it do: so the host does not run ahead of the
device, and what it loses is lost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from timesink_lab.workloads import switches as words
from timesink_lab.workloads.setting import Attention, WorkloadSetting, setting_of

_KINDS = 100
_PICTURES = 256
"""How many there are; they come again and again."""
_MARGIN = 8
"""Pixels a picture is larger than what is cut out of it."""


@dataclass(frozen=True)
class VisionSize:
    """How large model and batches are."""

    image: int
    patch: int
    width: int
    heads: int
    layers: int
    batch: int
    workers: int

    @property
    def patches(self) -> int:
        """Into how many an image is cut."""
        return (self.image // self.patch) ** 2


SIZES = {
    "small": VisionSize(image=32, patch=8, width=128, heads=4, layers=4, batch=16, workers=2),
    "medium": VisionSize(image=224, patch=16, width=384, heads=6, layers=12, batch=48, workers=4),
    "large": VisionSize(image=224, patch=16, width=384, heads=6, layers=12, batch=192, workers=6),
}


class Pictures(Dataset[tuple[torch.Tensor, int]]):
    """Made-up pictures, each cut out at another place."""

    def __init__(self, size: VisionSize, batches: int, loader_ms: float) -> None:
        side = size.image + _MARGIN
        self._pixels = torch.randint(256, (_PICTURES, 3, side, side), dtype=torch.uint8)
        self._image = size.image
        self._length = size.batch * batches
        self._pause_s = loader_ms / size.batch / 1e3

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if self._pause_s:
            time.sleep(self._pause_s)
        top, left = index % _MARGIN, index // _MARGIN % _MARGIN
        picture = self._pixels[index % _PICTURES]
        return picture[:, top : top + self._image, left : left + self._image], index % _KINDS


class TransformerBlock(nn.Module):
    """Attention, then two linear layers."""

    def __init__(self, size: VisionSize, setting: WorkloadSetting, number: int) -> None:
        super().__init__()
        self._setting = setting
        # A quarter of them is enough: without tensor cores they take many times as long.
        self._in_16_bits = not (setting.switches.full_precision and number % 4 == 0)
        self._before_attention = nn.LayerNorm(size.width)
        self._attention = Attention(size.width, size.heads)
        self._before_mlp = nn.LayerNorm(size.width)
        self._wider = nn.Linear(size.width, 4 * size.width)
        self._narrower = nn.Linear(4 * size.width, size.width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self._attention(self._before_attention(hidden))
        with self._setting.autocast(enabled=self._in_16_bits):
            wide = self._wider(self._before_mlp(hidden).to(hidden.dtype))
            hidden = hidden + self._narrower(functional.gelu(wide))
        for _ in self._setting.switches.reads:
            hidden[0, 0, 0].item()
        return hidden


class VisionTransformer(nn.Module):
    """Patches, blocks, and a guess of the kind."""

    def __init__(self, size: VisionSize, setting: WorkloadSetting) -> None:
        super().__init__()
        self._patches = nn.Conv2d(3, size.width, size.patch, size.patch)
        self._places = nn.Parameter(torch.zeros(1, size.patches, size.width))
        depth = setting.switches.depth(size.layers)
        self._blocks = nn.Sequential(
            *(TransformerBlock(size, setting, number) for number in range(depth))
        )
        self._norm = nn.LayerNorm(size.width)
        self._guess = nn.Linear(size.width, _KINDS)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = self._patches(images).flatten(2).transpose(1, 2) + self._places
        guess: torch.Tensor = self._guess(self._norm(self._blocks(hidden)).mean(1))
        return guess


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: tuple[torch.Tensor, torch.Tensor],
    setting: WorkloadSetting,
) -> float:
    """One step; the loss."""
    setting.switches.stall()
    images, kinds = (tensor.to(setting.device, non_blocking=True) for tensor in batch)
    with setting.autocast():
        guess = model(images.float() / 255)
        loss = functional.cross_entropy(guess, kinds)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    value: float = loss.item()
    return value


def main() -> None:
    """Train for the cycles asked for."""
    setting = setting_of(__doc__)
    size = SIZES[setting.size]
    slow_ms = setting.switches.loader_ms
    batches = DataLoader(
        Pictures(size, setting.cycles, slow_ms),
        size.batch,
        num_workers=1 if slow_ms else size.workers,
        pin_memory=setting.on_gpu,
    )
    model = VisionTransformer(size, setting).to(setting.device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    words.print_word("workload.ready")
    words.wait_for("workload.go")
    for batch in batches:
        train_step(model, optimizer, batch, setting)
    words.print_word("workload.done")


if __name__ == "__main__":
    main()
