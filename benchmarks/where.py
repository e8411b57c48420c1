"""What `timesink record --where` costs: cycles of a small transformer, plain and recorded, in turn.

python benchmarks/where.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from timesink.recorder.agent.profiling import RecordedWindow
from timesink.recorder.folder import Notebook

ROUNDS, CYCLES, WARM = 4, 15, 5
WAYS = {"plain": None, "recorded": False, "--where": True}
"""Whether modules are shown; None is without the profiler."""


def transformer(width: int, batch: int, length: int) -> Callable[[], float]:
    """A cycle of training."""
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6), nn.Linear(width, 100))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    values, loss_of = torch.randn(batch, length, width), nn.CrossEntropyLoss()
    target = torch.zeros(batch * length, dtype=torch.long)

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(model(values).flatten(0, 1), target)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def time_steps(step: Callable[[], float], *, where: bool | None) -> list[float]:
    """Milliseconds of the processor in some cycles."""
    with tempfile.TemporaryDirectory() as folder:
        window = None
        if where is not None:
            window = RecordedWindow(torch, (), Notebook(Path(folder)), where=where)
            window.open()
        times_ms = []
        for number in range(CYCLES):
            if window is not None:
                window.mark(number)
            start = time.process_time()
            step()
            times_ms.append((time.process_time() - start) * 1e3)
        if window is not None:
            window.close([], "")
    return times_ms[WARM:]


def main() -> None:
    torch.set_num_threads(1)
    for width, batch, length in ((64, 4, 32), (32, 1, 8)):
        step = transformer(width, batch, length)
        times: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, where in WAYS.items():
                times[name] += time_steps(step, where=where)
        # Others use the machine too: time of the processor, and of that the fastest quarter.
        quick = {
            name: statistics.quantiles(step_times, n=4)[0] for name, step_times in times.items()
        }
        parts = (f"{name} {ms:.2f} ms ({ms / quick['plain']:.2f})" for name, ms in quick.items())
        print(f"{batch} x {length} x {width}:", ", ".join(parts))


if __name__ == "__main__":
    main()
