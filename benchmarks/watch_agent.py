"""What the agent of `timesink watch` costs a program, per cycle: loops with nothing else in them.

    python benchmarks/watch_agent.py [PYTHON]

Each loop runs alone, watched with somebody who reads, and watched with nobody there.  Times are
those of the processor, which others on the machine do not change much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from timesink.recorder.cycle_channel import CHANNEL_FILE, CycleReceiver
from timesink.recorder.folder import RecordPlan, write_plan
from timesink.recorder.recording import recorded_environment

CYCLES = 20_000
TIMED = f"""
def timed(cycle, cycles={CYCLES}):
    import time
    for _ in range(2000): cycle()
    best = 1e18
    for _ in range(5):
        begin = time.thread_time_ns()
        for _ in range(cycles // 5): cycle()
        best = min(best, (time.thread_time_ns() - begin) / (cycles // 5))
    print(best)
"""
STEPS = f"""{TIMED}
import torch
class Nothing(torch.optim.Optimizer):
    def step(self): pass
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
    def forward(self, x): return x
model, x = Model(), torch.ones(8, 4)
optimizer = Nothing(model.parameters(), {{}})
def cycle():
    model(x)
    optimizer.step()
timed(cycle)
"""
CALLS = f"""{TIMED}
import torch
def serve(size): pass
def cycle(): serve(8)
timed(cycle)
"""
PRESET = f"""{TIMED}
import torch
from types import SimpleNamespace as Told
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
runner = GPUModelRunner()
names = [str(n) for n in range(64)]
cached = Told(num_computed_tokens=[500] * 64, num_output_tokens=[9] * 64)
step = Told(num_scheduled_tokens=dict.fromkeys(names, 1), total_num_scheduled_tokens=64,
            scheduled_new_reqs=[], scheduled_cached_reqs=cached)
timed(lambda: runner.execute_model(step))
"""
OTHER_CALLS = f"""{TIMED}
import torch
def serve(): pass
def other(): pass
for _ in range(3): serve()
timed(other)
"""
RUNS = {
    "optimizer step": (STEPS, RecordPlan(watch=True)),
    "marker, loop": (CALLS, RecordPlan(watch=True, marker="serve")),
    "marker, call": (CALLS, RecordPlan(watch=True, marker="serve", span="call")),
    "preset vllm, 64 requests": (PRESET, RecordPlan(watch=True, preset="vllm")),
    "a function that is no marker": (OTHER_CALLS, RecordPlan(watch=True, marker="serve")),
}


def took_ns(python: str, text: str, variables: dict[str, str], folder: Path) -> float:
    """Per cycle, at best."""
    process = subprocess.run([python, "-c", text], env=variables, cwd=folder, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return float(process.stdout)


def main() -> None:
    """Print a line per loop."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    print(f"{'ns per cycle':<30}{'alone':>8}{'watched':>10}{'nobody':>10}{'more':>8}")
    for name, (text, plan) in RUNS.items():
        control = Path(tempfile.mkdtemp())
        library = control / "vllm" / "v1" / "worker"
        library.mkdir(parents=True)
        runner = "class GPUModelRunner:\n    def execute_model(self, scheduler_output): return 1\n"
        (library / "gpu_model_runner.py").write_text(runner)
        write_plan(plan, control)
        variables = recorded_environment(os.environ, control)
        unwatched = took_ns(python, text, dict(os.environ), control)
        receiver, is_over = CycleReceiver(control), threading.Event()

        def read(receiver: CycleReceiver = receiver, end: threading.Event = is_over) -> None:
            while not end.is_set():
                receiver.read(0.2)

        reader = threading.Thread(target=read)
        reader.start()
        watched = took_ns(python, text, variables, control)
        is_over.set()
        reader.join()
        receiver.close()
        (control / CHANNEL_FILE).unlink()
        nobody = took_ns(python, text, variables, control)
        more = watched - unwatched
        print(f"{name:<30}{unwatched:>8.0f}{watched:>10.0f}{nobody:>10.0f}{more:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
