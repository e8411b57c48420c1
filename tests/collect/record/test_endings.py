"""However a program ends, what it recorded until then is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recorded import Recording, needs_torch, record

TRAIN = """
import importlib.util
# Libraries ask where torch is long before they import it.
assert importlib.util.find_spec("torch")
import os, signal, sys, torch

class Mine(torch.optim.Adam):
    def step(self, closure=None):
        return super().step(closure)

model = torch.nn.Linear(8, 8)
optimizers = [Mine(model.parameters()), torch.optim.Adam(model.parameters())]
for step in range(8):
    for optimizer in optimizers:
        model(torch.randn(2, 8)).sum().backward()
        optimizer.step()
"""


def plain(folder: Path, text: str, *options: str) -> Recording:
    program = folder / "program.py"
    program.write_text(text)
    options = ("--skip", "2", "--counters", "none", *options)
    return record(folder / "run", list(options), [sys.executable, str(program)])


@needs_torch
@pytest.mark.parametrize(
    ("last_words", "code", "why"),
    [
        ("os._exit(7)", 7, "the program ended with os._exit"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, "the program was ended by SIGTERM"),
        ("sys.exit(4)", 4, "the program ended"),
    ],
)
def test_recording_until_the_end(tmp_path: Path, last_words: str, code: int, why: str):
    told = plain(tmp_path, TRAIN + last_words)
    assert told.code == code
    assert told.run["why_partial"].startswith(why)
    assert told.run["why_partial"].endswith(", after 6 of 20 cycles")
    # The first optimizer counts, once for each of its steps, and the other's lie within.
    assert told.run["cycles"]["name"] == "Mine"
    steps = [name for name in told.marks() if name.startswith("Optimizer.step#Mine")]
    assert len(steps) >= 6
    assert told.marks()[-1] != "ProfilerStep#7"


LOADERS = """
import os, torch
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
    told = plain(tmp_path, LOADERS, "--cycles", "10")
    assert told.code == 0
    assert told.files == ["run.json", "trace.json.gz"]
    (process,) = told.run["processes"]
    assert (process["pid"], process["cycles"]) == (int(told.out), 10)
    assert told.run["complete"] is True
