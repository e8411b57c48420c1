"""A memory snapshot and a recording of one training run, against the allocator's own figures.

    python benchmarks/memory_snapshots.py [FOLDER]

Needs PyTorch with a GPU.  Trains a small transformer in this process under `timesink.record` with a
memory snapshot, and compares: the peak of the snapshot, and the sum of what is live then by module,
with `torch.cuda.max_memory_allocated`; what is reserved with `torch.cuda.memory_reserved`; sums of
segments with those of `torch.cuda._memory_viz`; and how long reading takes with `pickle.load`.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path
from typing import Any

import timesink
from timesink.formats.source_file import read_trace

_STEPS, _WIDTH, _LAYERS, _BATCH, _LENGTH = 12, 1024, 6, 8, 512


def _train(torch: Any, folder: Path) -> int:
    """Train, recorded; the most that the allocator says it had allocated."""
    device = torch.device("cuda")
    layer = torch.nn.TransformerEncoderLayer(_WIDTH, 16, 4 * _WIDTH, batch_first=True)
    options = {"cycles": 4, "skip": 2, "plain": 2, "counters": "none", "force": True}
    extras = ("memory-snapshot", "modules", "stack")
    with timesink.record(folder, extras=extras, **options) as recording:
        model = torch.nn.TransformerEncoder(layer, _LAYERS).to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        torch.cuda.reset_peak_memory_stats()
        for _ in range(_STEPS):
            values = torch.randn(_BATCH, _LENGTH, _WIDTH, device=device)
            model(values).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            recording.step()
    # Every step is like the others, so steps after the recording rise no higher.
    return torch.cuda.max_memory_allocated()


def _row(what: str, ours: float, theirs: float) -> None:
    off = 100 * (ours / theirs - 1) if theirs else float("nan")
    print(f"{what:<46} {ours:>16,.0f} {theirs:>16,.0f} {off:>+8.3f} %")


def main() -> None:
    """Record, compare, print a table."""
    import torch  # noqa: PLC0415 - the help needs none

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "memory-run")
    peak = _train(torch, folder)
    file = folder / "memory.pickle"
    began = time.perf_counter()
    with file.open("rb") as stream:
        snapshot = pickle.load(stream)  # noqa: S301 - written above
    bare = time.perf_counter() - began
    began = time.perf_counter()
    alone = read_trace(file)
    ours = time.perf_counter() - began
    analysis = timesink.analyze(folder)
    print(f"{'':<46} {'timesink':>16} {'PyTorch':>16}")
    for view in ("memory-categories", "memory-modules", "memory-stacks"):
        _row(f"live at the peak, {view}", analysis.table(view)["bytes"].sum(), peak)
    segments = sum(segment["total_size"] for segment in snapshot["segments"])
    _row("reserved at the end", alone.memory_segments["bytes"].sum(), segments)
    used = sum(segment["allocated_size"] for segment in snapshot["segments"])
    _row("allocated at the end", alone.memory["total_allocated_bytes"][-1], used)
    taken = sum(
        event["size"]
        for trace in snapshot["device_traces"]
        for event in trace
        if event["action"] == "alloc"
    )
    seen = alone.memory_blocks.drop_nulls("allocated_ts_ns")
    events = sum(map(len, snapshot["device_traces"]))
    _row("bytes asked for, all allocations", seen["requested_bytes"].sum(), taken)
    print(f"{events} events, {file.stat().st_size:,} bytes: read {ours:.2f} s, load {bare:.2f} s")
    print(analysis.table("memory-categories"))
    print(analysis.table("memory-steps"))


if __name__ == "__main__":
    main()
