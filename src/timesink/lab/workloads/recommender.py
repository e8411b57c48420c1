"""A recommender in training: embedding tables, a perceptron, batches of numbers from the host."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from timesink.lab import gate
from timesink.lab.workloads.setting import Setting, setting_of

_FEATURES = 64


@dataclass(frozen=True)
class Size:
    """How large tables, perceptron and batches are."""

    tables: int
    rows: int
    columns: int
    looked_up: int
    """Rows of a table that one example looks up."""
    width: int
    layers: int
    batch: int
    workers: int


SIZES = {
    "small": Size(6, 2_000, 16, 4, width=256, layers=3, batch=1024, workers=2),
    "medium": Size(16, 50_000, 64, 4, width=2048, layers=3, batch=8192, workers=4),
    "large": Size(32, 100_000, 64, 4, width=4096, layers=3, batch=32768, workers=6),
}

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Clicks(Dataset[Batch]):
    """Made-up batches: which rows were looked at, numbers beside them, and what was clicked."""

    def __init__(self, size: Size, batches: int, loader_ms: float) -> None:
        self._rows = torch.randint(size.rows, (2, size.tables, size.batch, size.looked_up))
        self._numbers = torch.randn(2, size.batch, _FEATURES)
        self._clicked = torch.rand(2, size.batch).round()
        self._length = batches
        self._pause_s = loader_ms / 1e3

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Batch:
        if self._pause_s:
            time.sleep(self._pause_s)
        turn = index % 2
        return self._rows[turn].clone(), self._numbers[turn].clone(), self._clicked[turn].clone()


class Recommender(nn.Module):
    """What the tables say of an example, and what follows from it."""

    def __init__(self, size: Size, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._tables = nn.ModuleList(
            nn.EmbeddingBag(size.rows, size.columns, mode="sum", sparse=True)
            for _ in range(size.tables)
        )
        first = nn.Linear(size.tables * size.columns + _FEATURES, size.width)
        more = setting.switches.depth(size.layers) - 1
        self._layers = nn.ModuleList(
            [first, *(nn.Linear(size.width, size.width) for _ in range(more))]
        )
        self._last = nn.Linear(size.width, 1)

    def forward(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        found = []
        for table, of_table in zip(self._tables, rows, strict=True):
            found.append(table(of_table))
            for _ in self._setting.switches.reads:
                found[-1][0, 0].item()
        hidden = torch.cat([*found, numbers], dim=1)
        for number, layer in enumerate(self._layers):
            whole = bool(self._setting.switches.full_precision) and number == 1
            with self._setting.autocast(enabled=not whole):
                hidden = functional.relu(layer(hidden.float() if whole else hidden))
        click: torch.Tensor = self._last(hidden)
        return click[:, 0]


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, setting: Setting
) -> float:
    """One step; the loss."""
    setting.switches.stall()
    rows, numbers, clicked = (one.to(setting.device, non_blocking=True) for one in batch)
    with setting.autocast():
        guess = model(rows, numbers)
        loss = functional.binary_cross_entropy_with_logits(guess.float(), clicked)
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
        Clicks(size, setting.cycles, slow_ms),
        batch_size=None,
        num_workers=1 if slow_ms else size.workers,
        pin_memory=setting.on_gpu,
    )
    model = Recommender(size, setting).to(setting.device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    gate.say("workload.ready")
    gate.wait_for("workload.go")
    for batch in batches:
        train_step(model, optimizer, batch, setting)


if __name__ == "__main__":
    main()
