"""However a program ends, what it recorded until then is there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from forked_programs import record_fork
from recorded import needs_torch, plain

pytestmark = pytest.mark.whole

ENDINGS = """
import importlib.util
# Libraries ask where torch is long before they import it.
assert importlib.util.find_spec("torch")
import os, signal, sys, torch

class Mine(torch.optim.Adam):
    def step(self, closure=None):
        return super().step(closure)

def train():
    model = torch.nn.Linear(8, 8)
    optimizers = [Mine(model.parameters()), torch.optim.Adam(model.parameters())]
    for step in range(8):
        for optimizer in optimizers:
            model(torch.randn(2, 8)).sum().backward()
            optimizer.step()

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)

# Importing torch takes longer than all the rest.
children = []
for end in (lambda: os._exit(7), terminate, lambda: sys.exit(4)):
    children.append(os.fork())
    if children[-1] == 0:
        train()
        end()
for child in children:
    print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
OPTIONS = ("--skip", "2", "--plain", "0", "--counters", "none")


@needs_torch
def test_recording_until_the_end(tmp_path: Path):
    recording = plain(tmp_path, ENDINGS, *OPTIONS)
    codes = dict(map(int, line.split()) for line in recording.out.splitlines())
    assert list(codes.values()) == [7, -signal.SIGTERM, 4]
    processes = {process["pid"]: process for process in recording.run["processes"]}
    assert [processes[pid]["why_partial"] for pid in codes] == [
        "the program ended with os._exit",
        "the program was ended by SIGTERM",
        "the program ended",
    ]
    # The first optimizer counts, once for each of its steps, and the other's lie within.
    assert recording.run["cycles"]["name"] == "Mine"
    assert recording.run["why_partial"].endswith(", after 6 of 20 steps")
    for process in processes.values():
        assert process["cycles"] == 6
        marks = recording.marks(process["trace"])
        assert sum(name.startswith("Optimizer.step#Mine") for name in marks) >= 6
        assert marks[-1] != "ProfilerStep#7"


LOADERS = """
import os, torch
# A generator of random numbers needs it, and has to do without where all of this is left out.
import torch._prims.rng_prims
from torch.utils.data import DataLoader, TensorDataset

class Stepping(TensorDataset):
    def __getitem__(self, index):
        weight = torch.nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.sum().backward()
        optimizer.step()
        return super().__getitem__(index)

if __name__ == "__main__":
    data = Stepping(torch.randn(16, 8))
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    for start in ("fork", "spawn"):
        for (x,) in DataLoader(data, batch_size=2, num_workers=1, multiprocessing_context=start):
            model(x).sum().backward()
            optimizer.step()
    print(os.getpid())
"""


@needs_torch
def test_workers_that_load_data_record_nothing(tmp_path: Path):
    """Not even where they use an optimizer, as hardly any does."""
    recording = record_fork(tmp_path, LOADERS, *OPTIONS, "--cycles", "10")
    assert recording.code == 0
    assert recording.files == ["run.json", "trace.json.gz"]
    (process,) = recording.run["processes"]
    assert (process["pid"], process["cycles"]) == (int(recording.out), 10)
    assert recording.run["complete"] is True
