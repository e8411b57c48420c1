"""The anatomy of the cycles of a recording with a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.anatomy.anatomy import (
    CYCLE_SPANS,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    with_calls,
)
from timesink.analyses.anatomy.device_parts import DeviceTime, device_times
from timesink.analyses.anatomy.hardware import cores_of, hardware_names
from timesink.analyses.anatomy.host_parts import host_ranges
from timesink.analyses.anatomy.launches import launch_rows
from timesink.analyses.anatomy.levels import Sampled, level_rows, run_queue_share
from timesink.analyses.anatomy.parts import part_rows, split, with_run_queue
from timesink.analyses.anatomy.places import place_rows
from timesink.analyses.anatomy.threads import Crew, crews
from timesink.analyses.behaviour.counter_devices import match_devices
from timesink.analyses.behaviour.places import counter_book
from timesink.analyses.behaviour.untraced import is_mark
from timesink.analyses.behaviour.windows import Windows, windows_by_process
from timesink.analyses.cycles.cycles import Cycles
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace


def anatomies(trace: Trace, cycles: Cycles) -> dict[str, Anatomy]:
    """What the cycles of each process are made of."""
    windows = {pid: _with_length(each) for pid, each in windows_by_process(cycles).items()}
    device = device_times(trace, list(windows))
    numbers = sorted({number for each in device.values() for number in each.devices})
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    run = _Run(trace, is_mark(trace, cycles), cycles.table["cycle"].to_numpy())
    mine: dict[str, list[Crew]] = {pid: [] for pid in windows}
    for crew in crews(trace, cycles, windows):
        mine[crew.process].append(crew)
    found = {}
    for pid, window in windows.items():
        used = device[pid].devices
        levels = level_rows(Sampled(book, devices, pid, used), window, run.cycle)
        parts = [place_rows(run.trace, crew, run.marks, run.cycle) for crew in mine[pid]]
        columns: Mapping[str, Ints] = {
            "cycle": run.cycle[window.row],
            "ts_ns": window.start,
            "dur_ns": window.end - window.start,
        }
        found[pid] = Anatomy(
            parts=_parts(run, mine[pid], device[pid], levels),
            places=pl.concat([pl.DataFrame(schema=PLACE_TIMES), *parts]).sort("cycle", "ts_ns"),
            levels=levels,
            hardware=hardware_names(trace, devices, pid, used),
            cores=cores_of(trace),
            cycles=pl.DataFrame(columns, schema=CYCLE_SPANS).sort("cycle"),
            launches=launch_rows(trace, device[pid].rows, window, run.cycle),
            on_device=cycles.on_device,
        )
    return with_calls(trace, found)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What the anatomies of all processes stand on."""

    trace: Trace
    marks: Flags
    """Which host events mark cycles."""
    cycle: Ints
    """The number of each row of the table of cycles."""


def _with_length(windows: Windows) -> Windows:
    return windows.take(windows.end > windows.start)


def _parts(
    run: _Run, mine: Sequence[Crew], device: DeviceTime, levels: pl.DataFrame
) -> pl.DataFrame:
    parts = [pl.DataFrame(schema=PART_TIMES)]
    for crew in mine:
        found = split(crew.windows, device, host_ranges(run.trace, crew, run.marks))
        numbers = run.cycle[crew.windows.row]
        parts.append(part_rows(with_run_queue(found, run_queue_share(levels, numbers)), numbers))
    return pl.concat(parts).sort("cycle", "part", "family")
