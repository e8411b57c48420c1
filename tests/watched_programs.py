"""Small programs that are watched, and what they tell."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked_programs import ForkedProgram, Host
from timesink.recorder.agent.watched import order_file
from timesink.recorder.cycle_channel import CycleBatch, CycleReceiver
from timesink.recorder.folder import RecordPlan, read_notes, write_plan
from timesink.recorder.recording import recorded_environment

TRAINING = """
import sys, time, torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def cycle(batch=8, seconds=0.004):
    model(torch.ones(batch, 4)).sum().backward()
    time.sleep(seconds)
    optimizer.step()
"""

MARKED = """
import time, torch
def serve(size):
    time.sleep(0.003)
def idle():
    time.sleep(0.006)
for number in range(20):
    serve(number)
    idle()
"""

VLLM = """
import time
class GPUModelRunner:
    def execute_model(self, scheduler_output, intermediate_tensors=None):
        time.sleep(0.001)
        self.state = scheduler_output
        return None if scheduler_output.num_scheduled_tokens else "nothing to do"
    def sample_tokens(self, grammar_output):
        time.sleep(0.003)
        return AsyncGPUModelRunnerOutput() if self.is_ahead else "tokens"
class AsyncGPUModelRunnerOutput:
    def get_output(self):
        time.sleep(0.004)
"""
VLLM_PROGRAM = """
import time, torch
from types import SimpleNamespace as Told
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
runner = GPUModelRunner()
runner.is_ahead = IS_AHEAD
def step(new, cached, written):
    scheduled = {f"n{i}": 50 for i in range(new)} | {f"c{i}": 1 for i in range(len(cached))}
    fresh = [Told(req_id=f"n{i}", num_computed_tokens=0) for i in range(new)]
    seen = Told(num_computed_tokens=cached, num_output_tokens=written)
    told = Told(num_scheduled_tokens=scheduled, total_num_scheduled_tokens=sum(scheduled.values()),
                scheduled_new_reqs=fresh, scheduled_cached_reqs=seen)
    if runner.execute_model(told) is None:
        out = runner.sample_tokens(None)
        if runner.is_ahead:
            out.get_output()
step(2, [], [])
step(0, [], [])
for _ in range(10):
    step(1, [100, 300], [5, 7])
    time.sleep(0.010)
step(0, [100, 300, 500], [5, 7, 0])
step(0, [100, 300], [5, 7])
"""


@dataclass
class Watched:
    """A watched program and what came of it."""

    folder: Path
    receiver: CycleReceiver
    host: Host
    batches: list[CycleBatch] = field(default_factory=list)
    process: subprocess.Popen[str] | ForkedProgram | None = None

    def start(self, text: str, **plan: Any) -> None:
        write_plan(RecordPlan(watch=True, **plan), self.folder)
        environment = recorded_environment(os.environ, self.folder)
        self.process = self.host.start(self.folder, self._program(text), environment)

    def start_python(self, text: str, **plan: Any) -> None:
        """The same in a Python of its own, which imports torch itself."""
        write_plan(RecordPlan(watch=True, **plan), self.folder)
        self.process = subprocess.Popen(
            [sys.executable, str(self._program(text))],
            env=recorded_environment(os.environ, self.folder),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_unwatched(self, text: str) -> None:
        """One that nobody watches yet."""
        write_plan(RecordPlan(watch=True), self.folder)
        environment = {key: os.environ[key] for key in os.environ if key != "TIMESINK_RECORD"}
        self.process = self.host.start(self.folder, self._program(text), environment)

    def _program(self, text: str) -> Path:
        program = self.folder / "program.py"
        program.write_text(textwrap.dedent(text))
        return program

    def close(self) -> None:
        """What a test that failed has left does not outlive it."""
        self.receiver.close()
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)

    def until(self, is_so: Callable[[], bool], within_s: float = 90.0) -> None:
        deadline = time.monotonic() + within_s
        while not is_so():
            assert time.monotonic() < deadline
            assert self.process is not None
            assert self.process.poll() is None
            self.batches += self.receiver.read(0.05)

    def to_the_end(self, *, is_quiet: bool = True) -> str:
        """What the program printed; it must end well, and say nothing of ours."""
        assert self.process is not None
        while self.process.poll() is None:
            self.batches += self.receiver.read(0.05)
        self.batches += self.receiver.read()
        out, errors = self.process.communicate()
        assert self.process.returncode == 0, errors
        assert not (is_quiet and errors)
        return out

    def run(self, text: str, **plan: Any) -> str:
        self.start(text, **plan)
        return self.to_the_end()

    @property
    def durations_ms(self) -> list[float]:
        return [duration_ns / 1e6 for batch in self.batches for duration_ns in batch.duration_ns]

    def usually(self, least_ms: float, most_ms: float) -> bool:
        """Whether cycles take as long; on a busy machine some take longer, but not all."""
        return statistics.median(self.durations_ms) > least_ms and min(self.durations_ms) < most_ms

    def column(self, name: str) -> list[float | None]:
        return [
            duration_ns
            for batch in self.batches
            for duration_ns in batch.workload.get(name, [None] * len(batch.start_us))
        ]

    def order(self, **order: Any) -> None:
        assert self.process is not None
        path = order_file(self.folder, self.process.pid)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(order))
        unfinished.replace(path)

    def notes(self, event: str) -> list[Any]:
        return [
            note
            for process in read_notes(self.folder)
            for note in process.notes
            if note["event"] == event
        ]


def module(folder: Path, name: str, text: str) -> None:
    """A stand-in for a library: a module of its name that does nearly nothing."""
    path = folder.joinpath(*name.split("."))
    path.parent.mkdir(parents=True, exist_ok=True)
    for above in path.relative_to(folder).parents:
        (folder / above / "__init__.py").touch()
    path.with_suffix(".py").write_text(textwrap.dedent(text))
