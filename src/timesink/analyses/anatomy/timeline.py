"""The anatomy of the cycles of a recording with a timeline."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from timesink.analyses.anatomy.anatomy import (
    CYCLE_SPANS,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    with_calls,
)
from timesink.analyses.anatomy.device_parts import device_times
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
from timesink.analyses.behaviour.windows import windows_by_process
from timesink.analyses.cycles.cycles import Cycles
from timesink.model.arrays import Ints
from timesink.model.trace import Trace


def anatomies(trace: Trace, cycles: Cycles) -> dict[str, Anatomy]:
    """What the cycles of each process are made of."""
    every = windows_by_process(cycles)
    windows = {pid: each.take(each.end > each.start) for pid, each in every.items()}
    device = device_times(trace, list(windows))
    numbers = sorted({number for each in device.values() for number in each.devices})
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    marks, cycle = is_mark(trace, cycles), cycles.table["cycle"].to_numpy()
    mine: dict[str, list[Crew]] = {pid: [] for pid in windows}
    for crew in crews(trace, cycles, windows):
        mine[crew.process].append(crew)
    found = {}
    for pid, window in windows.items():
        used = device[pid].devices
        levels = level_rows(Sampled(book, devices, pid, used), window, cycle)
        parts = [pl.DataFrame(schema=PART_TIMES)]
        for crew in mine[pid]:
            time = split(crew.windows, device[pid], host_ranges(trace, crew, marks))
            numbers_of = cycle[crew.windows.row]
            queued = run_queue_share(levels, numbers_of)
            parts.append(part_rows(with_run_queue(time, queued), numbers_of))
        places = [place_rows(trace, crew, marks, cycle) for crew in mine[pid]]
        columns: Mapping[str, Ints] = {
            "cycle": cycle[window.row],
            "ts_ns": window.start,
            "dur_ns": window.end - window.start,
        }
        found[pid] = Anatomy(
            parts=pl.concat(parts).sort("cycle", "part", "family"),
            places=pl.concat([pl.DataFrame(schema=PLACE_TIMES), *places]).sort("cycle", "ts_ns"),
            levels=levels,
            hardware=hardware_names(trace, devices, pid, used),
            cores=cores_of(trace),
            cycles=pl.DataFrame(columns, schema=CYCLE_SPANS).sort("cycle"),
            launches=launch_rows(trace, device[pid].rows, window, cycle),
            on_device=cycles.on_device,
        )
    return with_calls(trace, found)
