"""Recordings with a known fault, each with the run it is compared with and what should be said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import timesink
from timesink.answers.comparison.report import compare
from timesink.comparison.results import Pair, Process
from timesink_lab.faults import Expected
from timesink_lab.score import cases_of, fault_files

PROCESS = ", process "
"""Between the name of a run and that of a process of it."""

EXPECTED = {
    "gpu_clock": Expected("gpu_clock", "gpu_clock"),
    "cpu_squeeze": Expected("cpu_contention", "cpu_contention"),
    "gpu_contention": Expected("gpu_contention"),
    "pcie_saturation": Expected("pcie_contention"),
    "hbm_saturation": Expected("hbm_contention"),
    "python_stall": Expected(cause="host_code"),
    "sync_bug": Expected(cause="synchronisation"),
    "fp32_regression": Expected(cause="kernel_change"),
    "normal_b": Expected(verdict="regression"),
    "ddp8_stall_rank3": Expected(cause="straggler|host_code", verdict="regression"),
    "gpu_instability": Expected("gpu_clock"),
    "gpu_memory_squeeze_out_NVLink": Expected("nvlink_contention"),
    "cpu_frequency_reduction": Expected("cpu_clock"),
}


@dataclass(frozen=True, eq=False)
class FaultCase:
    """One fault, compared with a run without it."""

    name: str
    pairs: tuple[Pair, ...]
    expected: Expected


def pairs_of(*sources: Path) -> tuple[Pair, ...]:
    """Every process of the second run beside that of the first."""
    return tuple(pair.pair for pair in compare(*sources).pairs)


def recorded_cases(folder: Path) -> Iterator[FaultCase]:
    """Cases in a folder of recordings, a folder with a `fault.json` each."""
    for file in fault_files(folder):
        for case in cases_of(file, EXPECTED):
            yield FaultCase(case.name, case.pairs(), case.expected)


def published_cases(folder: Path) -> Iterator[FaultCase]:
    """Cases in a folder of case folders, `normal_perf_data` and `abnormal_perf_data` in each."""
    for abnormal in sorted(folder.glob("*/abnormal_perf_data")):
        case = abnormal.parent
        yield FaultCase(case.name, pairs_of(case), EXPECTED.get(case.name, Expected()))


def published_runs(folder: Path) -> Iterator[FaultCase]:
    """Runs without a fault of different cases, each beside each that has as many processes.

    They were recorded at different times, so cycle time may differ; no name should be given.
    """
    normal = {path.parent.name: path for path in sorted(folder.glob("*/normal_perf_data"))}
    for base, new in permutations(normal, 2):
        pairs = pairs_of(normal[base], normal[new])
        if len(pairs) == 1:
            yield FaultCase(f"normal of {base} vs normal of {new}", pairs, Expected())


def ranked_cases(folder: Path) -> Iterator[FaultCase]:
    """A run of several ranks of which one is late."""
    base, new = folder / "ddp8_normal", folder / "ddp8_stall_rank3"
    if base.is_dir() and new.is_dir():
        yield FaultCase(new.name, pairs_of(base, new), EXPECTED[new.name])


def roles_of(cases: Iterable[FaultCase], folders: Iterable[Path]) -> dict[str, Process]:
    """Every process of all cases, and of the other recordings in folders of folders, by name."""
    roles = [role for case in cases for pair in case.pairs for role in (pair.base, pair.new)]
    case_folders = {Path(role.source).parent for role in roles}
    for folder in folders:
        for place in sorted(folder.iterdir() if folder.is_dir() else ()):
            if place.is_dir() and place not in case_folders:
                roles += timesink.compare(place, place).roles
    return {_role_name(role): role for role in roles}


def _role_name(role: Process) -> str:
    place = Path(role.source).parent
    side = place.name.partition("_perf_data")
    run = f"{place.parent.name}, {side[0]}" if side[1] else place.name
    return f"{run}{PROCESS}{role.pid}"
