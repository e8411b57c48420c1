"""A program that torch.compile compiles, recorded: what is planted in it is found."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import timesink
from recorded import environment, record, write
from timesink.model.trace import Trace
from timesink.rules.compiled import broken_graphs

pytestmark = pytest.mark.whole

PROGRAM = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.GELU()

    def forward(self, x):
        x = self.act(x)
        print(end="")
        return x

@torch.compile
def in_rows(x):
    return x.reshape(2, -1)

net = torch.compile(Net())
with torch.no_grad():
    net(torch.ones(8))
    for size in (8, 12):
        in_rows(torch.ones(size))
"""
"""What is compiled for two shapes has no kernel of its own: g++ runs once."""
QUICKLY = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "0",
}
"""Without processes, headers and trials that pay where there is more to compile."""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    pytest.importorskip("torch")
    if shutil.which("g++") is None:
        pytest.skip("the compiler of torch needs g++")
    folder = tmp_path_factory.mktemp("compiled")
    program = write(folder, PROGRAM, as_it_is=True)
    cache = os.fspath(folder / "cache")
    variables = {**environment(), **QUICKLY, "TORCHINDUCTOR_CACHE_DIR": cache}
    options = ["--whole", "--with", "compiled", "--counters", "none"]
    recording = record(folder / "run", options, [sys.executable, program], variables)
    assert recording.code == 0, recording.err
    return timesink.open(recording.folder, cache=False)


def test_a_planted_graph_break_is_found_with_its_line(trace: Trace):
    (finding,) = broken_graphs(trace)
    assert "program.py:10" in finding.sentence
    assert 'print(end="")' in finding.proofs[0]
    code = trace.metadata.compiled
    assert code is not None
    assert [found.function for found in code.breaks] == ["forward"]


def test_a_planted_change_of_shape_is_found_with_its_guard(trace: Trace):
    code = trace.metadata.compiled
    assert code is not None
    (again,) = [compiled for compiled in code.compilations if compiled.reason]
    assert again.function == "in_rows"
    assert "size mismatch at index 0, expected 8, actual 12" in again.reason


def test_generated_kernels_name_operators_modules_and_lines(trace: Trace):
    code = trace.metadata.compiled
    assert code is not None
    uses = {kernel.name: kernel.uses[0] for kernel in code.kernels}
    gelu = next(use for name, use in uses.items() if "gelu" in name)
    assert (gelu.modules, gelu.module_kinds) == (("act",), ("GELU",))
    assert [Path(place).name for place in gelu.places] == ["program.py:9"]
    assert gelu.lines == ("x = self.act(x)",)
