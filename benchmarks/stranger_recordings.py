"""Recordings as strangers make them, by torch.profiler on a GPU, and what is true of each.

  python benchmarks/stranger_recordings.py FOLDER          makes all of them; needs CUDA and torch
  python benchmarks/stranger_recordings.py FOLDER --only backlog,host_sleep

Nothing of timesink runs beside them.  `truth.json` in FOLDER says of each what it shows: the step
measured without a profiler, what was changed between two of them, what is absent.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
STEPS = 5


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 8, batch_first=True)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    """A small transformer for classification of each place."""

    def __init__(self, width: int = 512, layers: int = 4, words: int = 1000) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def make_training_step(
    *,
    layers: int = 4,
    batch: int = 16,
    length: int = 256,
    lengths: Callable[[], int] | None = None,
    sleep_s: float = 0.0,
) -> Callable[[], None]:
    """A step of training, ready to be called."""
    model = Model(layers=layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        many = lengths() if lengths else length
        ids = torch.randint(0, 1000, (batch, many), device="cuda")
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if sleep_s:
            time.sleep(sleep_s)
        optimizer.step()

    return step


def step_ms(step: Callable[[], None], count: int = 20) -> float:
    """Median of steps without a profiler, in ms."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    lengths = []
    for _ in range(count):
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        lengths.append(1000 * (time.perf_counter() - began))
    return sorted(lengths)[count // 2]


def record_by_schedule(
    step: Callable[[], None], path: Path, *, active: int = STEPS, **options: Any
) -> None:
    """A recording by the schedule of the tutorials."""
    plan = schedule(wait=1, warmup=2, active=active, repeat=1)
    with profile(activities=BOTH, schedule=plan, **options) as profiler:
        for _ in range(active + 3):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(path))


@contextmanager
def plain(path: Path, **options: Any) -> Iterator[None]:
    """A recording of a stretch of a program."""
    with profile(activities=BOTH, **options) as profiler:
        yield
    profiler.export_chrome_trace(str(path))


# -- the programs ----------------------------------------------------------------------------------


def train_with_monitor(folder: Path) -> dict[str, Any]:
    """Training under stacks beside a thread that only waits."""
    import threading  # noqa: PLC0415

    stop = threading.Event()

    def monitor() -> None:
        while not stop.wait(10.0):
            pass

    threading.Thread(target=monitor, daemon=True).start()
    step = make_training_step()
    unprofiled = step_ms(step)
    record_by_schedule(
        step, folder / "train_with_monitor.json", with_stack=True, record_shapes=True
    )
    stop.set()
    return {"step_ms": unprofiled, "bottleneck": "kernels or host, never the waiting thread"}


def backlog(folder: Path) -> dict[str, Any]:
    """The profiler starts while the device has 200 ms of queued work."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(a)
    graph = torch.cuda.CUDAGraph()
    for _ in range(3):
        torch.mm(a, a, out=out)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(20):
            torch.mm(a, a, out=out)
    with profile(activities=BOTH):  # the profiler itself starts slowly the first time
        torch.mm(a, a, out=out)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(150):
        torch.mm(a, a, out=out)
    host_done = time.perf_counter() - began
    with plain(folder / "backlog.json"):
        graph.replay()
        torch.cuda.synchronize()
    return {
        "idle": "cannot be told: the device was busy from before the recording",
        "queued_s": host_done,
    }


def waits_for_unrecorded(folder: Path) -> dict[str, Any]:
    """The host waits 300 ms for work that was launched before the recording."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(a)
    small = torch.randn(1024, device="cuda")
    with profile(activities=BOTH):
        torch.mm(a, a, out=out)
    torch.cuda.synchronize()
    for _ in range(250):
        torch.mm(a, a, out=out)
    with plain(folder / "waits_for_unrecorded.json"):
        float(small.sum().item())
    return {"idle": "cannot be told", "bottleneck": "work that was not recorded"}


def teardown(folder: Path) -> dict[str, Any]:
    """Steps, and then two seconds in which the program does something else."""
    step = make_training_step()
    unprofiled = step_ms(step)
    with plain(folder / "teardown.json"):
        for _ in range(4):
            step()
        torch.cuda.synchronize()
        time.sleep(2.0)
    return {"step_ms": unprofiled, "window": "2 s of the recording are after the work"}


def cut_step(folder: Path) -> dict[str, Any]:
    """The profiler stops after the forward pass of the fourth step."""
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 1000, (16, 256), device="cuda")

    def forward() -> torch.Tensor:
        return nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())

    for _ in range(3):
        forward().backward()
        optimizer.step()
    profiler = profile(activities=BOTH)
    profiler.start()
    for number in range(4):
        with torch.profiler.record_function(f"ProfilerStep#{number}"):
            loss = forward()
            if number == 3:
                torch.cuda.synchronize()
                break
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    profiler.stop()
    profiler.export_chrome_trace(str(folder / "cut_step.json"))
    return {"steps": "three complete, the fourth is cut"}


def two_streams(folder: Path) -> dict[str, Any]:
    """Copies on a second stream that wait for matrix products, and the other way round."""
    a = torch.randn(4096, 4096, device="cuda")
    host = torch.empty(4096, 4096, pin_memory=True)
    out, side = torch.empty_like(a), torch.cuda.Stream()

    def step() -> None:
        for _ in range(4):
            torch.mm(a, a, out=out)
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                host.copy_(out, non_blocking=True)
            torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()

    unprofiled = step_ms(step)
    record_by_schedule(step, folder / "two_streams.json")
    return {
        "step_ms": unprofiled,
        "path": "kernels and copies in turn: removing copies saves their whole time",
    }


def graph_decode(folder: Path) -> dict[str, Any]:
    """A decode loop that replays a graph and reads one value a step."""
    model = Model(width=1024, layers=8).cuda().half().eval()
    ids = torch.zeros(8, 1, dtype=torch.long, device="cuda")
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(ids)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(ids)

        def step() -> None:
            graph.replay()
            ids.copy_(out[:, -1:].argmax(-1))
            ids[0, 0].item()

        unprofiled = step_ms(step)
        record_by_schedule(step, folder / "graph_decode.json", record_shapes=True)
    return {
        "step_ms": unprofiled,
        "advice": "no CUDA graph: it replays one; the value that is read costs time",
    }


def pair_precision(folder: Path) -> dict[str, Any]:
    """Training with TF32, and without."""
    times = {}
    for name, allowed in (("base", True), ("new", False)):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
        step = make_training_step(batch=32)
        times[name] = step_ms(step)
        record_by_schedule(step, folder / f"pair_precision_{name}.json", record_shapes=True)
    torch.backends.cuda.matmul.allow_tf32 = False
    return {"step_ms": times, "cause": "precision: TF32 lost"}


def pair_same(folder: Path) -> dict[str, Any]:
    """The same training twice."""
    times = {}
    for name in ("base", "new"):
        step = make_training_step()
        times[name] = step_ms(step)
        record_by_schedule(step, folder / f"pair_same_{name}.json")
    return {"step_ms": times, "cause": "none: the same program"}


def pair_sleep(folder: Path) -> dict[str, Any]:
    """Training, and the same with 10 ms of sleep before the optimizer."""
    times = {}
    for name, sleep_s in (("base", 0.0), ("new", 0.010)):
        step = make_training_step(sleep_s=sleep_s)
        times[name] = step_ms(step)
        record_by_schedule(step, folder / f"pair_sleep_{name}.json", with_stack=name == "never")
    return {"step_ms": times, "cause": "host code between backward and the optimizer's step, 10 ms"}


def pair_lengths(folder: Path) -> dict[str, Any]:
    """Batches of one length, and of lengths drawn anew for each batch."""
    times = {}
    for name, lengths in (
        ("base", None),
        ("new", lambda: int(torch.randint(256, 640, (1,)).item())),
    ):
        torch.manual_seed(5)
        step = make_training_step(lengths=lengths)
        times[name] = step_ms(step)
        record_by_schedule(step, folder / f"pair_lengths_{name}.json", record_shapes=True)
    return {"step_ms": times, "cause": "workload: longer batches"}


def pair_layer(folder: Path) -> dict[str, Any]:
    """Four layers, and five."""
    times = {}
    for name, layers in (("base", 4), ("new", 5)):
        step = make_training_step(layers=layers)
        times[name] = step_ms(step)
        record_by_schedule(
            step, folder / f"pair_layer_{name}.json", with_stack=True, with_modules=True
        )
    return {"step_ms": times, "cause": "one more layer"}


def pair_compiled(folder: Path) -> dict[str, Any]:
    """The forward pass as it is, and compiled."""
    times = {}
    for name in ("base", "new"):
        model = Model().cuda().eval()
        called = torch.compile(model) if name == "new" else model
        ids = torch.randint(0, 1000, (16, 256), device="cuda")

        def step(called: Any = called, ids: torch.Tensor = ids) -> None:
            with torch.inference_mode():
                called(ids).sum().item()

        times[name] = step_ms(step)
        record_by_schedule(step, folder / f"pair_compiled_{name}.json", record_shapes=True)
    return {"step_ms": times, "cause": "torch.compile, no graph capture"}


PROGRAMS: dict[str, Callable[[Path], dict[str, Any]]] = {
    program.__name__: program
    for program in (
        train_with_monitor,
        backlog,
        waits_for_unrecorded,
        teardown,
        cut_step,
        two_streams,
        graph_decode,
        pair_precision,
        pair_same,
        pair_sleep,
        pair_lengths,
        pair_layer,
        pair_compiled,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    truth: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name in options.only.split(","):
        try:
            truth[name] = PROGRAMS[name](options.folder)
        except Exception as error:  # noqa: BLE001 - the others are still made
            truth[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(name, truth[name], flush=True)
    (options.folder / "truth.json").write_text(json.dumps(truth, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
