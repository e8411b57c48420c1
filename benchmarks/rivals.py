"""The same recordings read by others: HTA and PyTorch's former TensorBoard plugin.

    python -m venv rivals && rivals/bin/pip install HolisticTraceAnalysis torch-tb-profiler
    python benchmarks/rivals.py --source TRACE --python rivals/bin/python [--events 0.3 1]

Each answers where the time of one recording goes: HTA its temporal breakdown and that of kernels,
the plugin all pages of a run, timesink `analyze` as text and in full.  Every figure is a whole
process, in turn; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import timesink
from generate import repeat
from run import FLOOR, Run, machine, measure, median
from tables import markdown_table

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
print(analysis.get_temporal_breakdown(visualize=False))
print(analysis.get_gpu_kernel_breakdown(visualize=False)[0])
"""
PLUGIN = """
import sys, tempfile
from torch_tb_profiler.profiler.run_generator import RunGenerator
from torch_tb_profiler.profiler.data import RunProfileData
with tempfile.TemporaryDirectory() as folder:
    data = RunProfileData.parse("worker", None, sys.argv[1], folder)
    data.process()
    data.analyze()
    RunGenerator("worker", None, data).generate_run_profile()
"""
TEXT = """
import sys
from timesink.cli import main
sys.exit(main(["analyze", sys.argv[1], "--no-cache"]))
"""
IN_FULL = """
import sys
from timesink.cli import main
sys.exit(main(["analyze", sys.argv[1], "--no-cache", "--format", "json"]))
"""
PACKAGES = ("HolisticTraceAnalysis", "torch-tb-profiler")
HEADER = ["events", "JSON", "program", "time", "/ floor", "peak memory (of JSON)"]


def versions_of(python: str) -> list[str]:
    """What is compared, as that environment has it."""
    program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    found = (
        subprocess.run([python, "-c", program, name], capture_output=True, text=True, check=True)
        for name in PACKAGES
    )
    return [run.stdout.strip() for run in found]


def rows_of(source: Path, events: int, rounds: int, python: str) -> Iterator[list[str]]:
    """The figures of one size, the floor first."""
    hta, plugin = versions_of(python)
    programs = {
        "floor: unpack and parse": (FLOOR, sys.executable),
        "`timesink analyze`, text": (TEXT, sys.executable),
        "`timesink analyze`, full JSON": (IN_FULL, sys.executable),
        f"HTA {hta}, two breakdowns": (HTA, python),
        f"TensorBoard plugin {plugin}, all pages": (PLUGIN, python),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json.gz"
        written, size = repeat(source, path, events)
        runs = defaultdict[str, list[Run]](list)
        for _ in range(rounds):
            for name, (program, interpreter) in programs.items():
                runs[name].append(measure(program, path, dict(os.environ), interpreter))
        floor_s = median(next(iter(runs.values()))).seconds
        for name, measured in runs.items():
            typical = median(measured)
            yield [
                f"{written / 1e6:.2f} M",
                f"{size / 1e6:.0f} MB",
                name,
                f"{typical.seconds:.1f} s",
                f"{typical.seconds / floor_s:.1f}",
                f"{typical.peak_mb:.0f} MB ({typical.peak_mb * 1e6 / size:.1f})",
            ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--python", required=True, help="interpreter of an environment with both")
    parser.add_argument("--events", type=float, nargs="+", default=[0.1, 1], help="millions")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = [
        row
        for millions in options.events
        for row in rows_of(options.source, int(millions * 1e6), options.rounds, options.python)
    ]
    print(markdown_table(machine(options.source), HEADER, rows))


if __name__ == "__main__":
    main()
