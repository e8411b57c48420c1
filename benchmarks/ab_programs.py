"""Programs that are run again and again to see how runs of one program differ: small loops."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
from torch import nn

_CYCLES = 1_000_000


def layers(device: str) -> tuple[nn.Module, torch.Tensor]:
    """Many small layers: the host is the bottleneck."""
    return nn.Sequential(*[nn.Linear(64, 64) for _ in range(16)]).to(device), torch.randn(32, 64)


def wide(device: str) -> tuple[nn.Module, torch.Tensor]:
    """Few wide layers: arithmetic is the bottleneck."""
    width, rows = (4096, 4096) if device != "cpu" else (320, 128)
    model = nn.Sequential(*[nn.Linear(width, width) for _ in range(6)])
    kind = torch.bfloat16 if device != "cpu" else torch.float32
    return model.to(device, kind), torch.randn(rows, width, dtype=kind)


def attention(device: str) -> tuple[nn.Module, torch.Tensor]:
    """A transformer."""
    width = 1024 if device != "cpu" else 64
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    rows = (16, 256, width) if device != "cpu" else (4, 16, width)
    model = nn.TransformerEncoder(layer, 4 if device != "cpu" else 2, enable_nested_tensor=False)
    kind = torch.bfloat16 if device != "cpu" else torch.float32
    return model.to(device, kind), torch.randn(rows, dtype=kind)


def copies(device: str, slower_pct: float) -> None:
    """Copy for ever, nothing else: memory is the bottleneck, and a program that starts soon.

    A cycle has 100 copies, and as many more as percent are asked for.
    """
    source = torch.ones((1 << 24) if device != "cpu" else (1 << 15), device=device)
    target = torch.empty_like(source)
    for _ in range(_CYCLES):
        copy_step(source, target, 100 + round(slower_pct))


def copy_step(source: torch.Tensor, target: torch.Tensor, many: int) -> None:
    """One cycle: `--marker copy_step`."""
    for _ in range(many):
        target.copy_(source)
    target[0].item()


def main() -> None:
    """Train one of them for ever; `slower` times as much of the last part of it is done."""
    name, slower_pct = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if name == "copies":
        copies(device, slower_pct)
        return
    model, batch = globals()[name](device)
    batch = batch.to(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)

    def step(more: Callable[[], None] | None = None) -> None:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        if more is not None:
            more()
        optimizer.step()
        loss.item()

    # More of the same work, measured once: a part of a cycle in every cycle.
    took_s = []
    for _ in range(30):
        begun_s = time.perf_counter()
        step()
        took_s.append(time.perf_counter() - begun_s)
    more = extra(device, slower_pct / 100 * sorted(took_s)[10])
    for _ in range(_CYCLES):
        step(more)


def extra(device: str, wanted_s: float) -> Callable[[], None] | None:
    """Work that takes so long, of the kind the device does."""
    if wanted_s <= 0:
        return None
    if device == "cpu":
        return lambda: spin(wanted_s)
    # The device counts cycles of its clock: how many that are is measured.
    tried = 20_000_000
    torch.cuda._sleep(tried)  # noqa: SLF001 - the first one loads its kernel
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.cuda._sleep(tried)  # noqa: SLF001 - keeps the device busy
    end.record()
    end.synchronize()
    cycles = int(tried * 1000 * wanted_s / begin.elapsed_time(end))
    return lambda: torch.cuda._sleep(cycles)  # noqa: SLF001


def spin(wanted_s: float) -> None:
    """Keep a core busy."""
    until_s = time.perf_counter() + wanted_s
    while time.perf_counter() < until_s:
        pass


if __name__ == "__main__":
    main()
