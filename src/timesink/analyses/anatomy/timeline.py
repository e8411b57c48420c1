"""The anatomy of the cycles of a recording with a timeline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import (
    CYCLE_SPANS,
    LEVELS,
    PART_OF_CLASS,
    PART_TIMES,
    PARTS,
    PLACE_TIMES,
    Anatomy,
)
from timesink.analyses.anatomy.levels import (
    cores_of,
    hardware_names,
    level_rows,
    levels_beside,
    run_queue_share,
    series_by_device,
)
from timesink.analyses.anatomy.parts import (
    Crew,
    crews,
    device_times,
    host_ranges,
    is_host_collective,
    is_loading,
    launch_rows,
    part_rows,
)
from timesink.analyses.anatomy.places import place_rows, with_calls
from timesink.analyses.behaviour.calls import windows_by_process
from timesink.analyses.behaviour.counters import counter_book, match_devices
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.behaviour.untraced import is_mark
from timesink.analyses.cycles.cycles import Cycles
from timesink.analyses.kernels.families import load_families
from timesink.model import vendors
from timesink.model.arrays import Ints
from timesink.model.schema import HOST_DEVICE
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
        levels = level_rows(book, series_by_device(book, devices, pid, used), window, cycle)
        parts = [pl.DataFrame(schema=PART_TIMES)]
        for crew in mine[pid]:
            numbers_of = cycle[crew.windows.row]
            queued, host = run_queue_share(levels, numbers_of), host_ranges(trace, crew, marks)
            parts.append(part_rows(crew, device[pid], host, queued, numbers_of))
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


Key = tuple[str, str | None]
"""Part and family of kernels."""

_ON_CPU = "on_cpu"
"""What the scheduler says: it holds launches and all other calls."""
_ON_DEVICE = ("device_compute", "exposed_communication", "copies")
_ORDER = ("exposed_communication", *(part for part in PARTS[1:-1] if part[:7] != "exposed"))
"""Parts in the order in which they are given what remains of a cycle, after computing."""


def anatomy_of(behaviour: pl.DataFrame, counters: pl.DataFrame | None = None) -> Anatomy:
    """The anatomy of the cycles of one process from its behaviour table.

    Times of functions do not say what happened at the same time.  Parts are therefore put one after
    the other, device work first, each cut to what remains of the cycle.  Counters that were sampled
    beside the table are added where it lacks them.
    """
    table = plain_texts(behaviour).filter(pl.col("cycle_dur_ns") > 0)
    first = table.group_by("cycle").agg(
        pl.col("cycle_ts_ns").min().fill_null(0).alias("ts_ns"),
        pl.col("cycle_dur_ns").max().alias("dur_ns"),
    )
    cycles = first.sort("cycle").select(*CYCLE_SPANS).cast(pl.Schema(CYCLE_SPANS))
    # Functions of a cycle share the samples of a counter: their median is what it read.
    known = table.filter(pl.col("metric").is_not_null() & pl.col("mu").cast(pl.Float64).is_finite())
    medians = known.group_by("cycle", "metric", "device").agg(
        pl.col("unit").drop_nulls().first(), pl.col("mu").median().alias("value")
    )
    levels = medians.select(*LEVELS).cast(pl.Schema(LEVELS))
    notes: tuple[str, ...] = ()
    if counters is not None and counters.height:
        pid = table["pid"].drop_nulls()
        process = str(pid[0]) if len(pid) else ""
        beside, notes = levels_beside(counters, cycles, process)
        levels = pl.concat([levels, beside.join(levels, "metric", "anti")])
    length = cycles["dur_ns"].to_numpy()
    times = _times(table).join(cycles.select("cycle").with_row_index("row"), "cycle")
    found: dict[Key, Ints] = {}
    keys = times.select("part", "family").unique().sort("part", "family")
    for part, family in keys.iter_rows():
        mine = times.filter(part=part).filter(pl.col("family").eq_missing(family))
        found[part, family] = np.zeros(len(length), dtype=np.int64)
        found[part, family][mine["row"].to_numpy()] = mine["dur_ns"].to_numpy()
    return Anatomy(
        parts=_rows(cycles["cycle"], _cut(length, found)),
        places=pl.DataFrame(schema=PLACE_TIMES),
        levels=levels.sort("cycle", "metric", "device"),
        from_timeline=False,
        cycles=cycles,
        notes=notes,
    )


def _times(table: pl.DataFrame) -> pl.DataFrame:
    """Time by cycle, part and family of kernels; of devices that of the busiest one."""
    once = once_per_cycle(table)
    kinds = once.select("function", "function_class", "device", "anchor").unique()
    parts = [_part(*row) for row in kinds.iter_rows()]
    rules = load_families()
    family = [
        rules.of(name) if part == "device_compute" else None
        for name, part in zip(kinds["function"].to_list(), parts, strict=True)
    ]
    labelled = kinds.with_columns(
        part=pl.Series(parts, dtype=pl.String), family=pl.Series(family, dtype=pl.String)
    )
    keys = ["function", "function_class", "device", "anchor"]
    rows = once.join(labelled, keys, nulls_equal=True).filter(pl.col("part").is_not_null())
    device = pl.col("part").is_in(_ON_DEVICE) & (pl.col("device") != HOST_DEVICE)
    busy = rows.filter(device).group_by("device").agg(pl.col("dur_ns").sum())
    if busy.height > 1:
        busiest = busy.sort("dur_ns", "device", descending=[True, False])["device"][0]
        rows = rows.filter(~device | (pl.col("device") == busiest))
    return rows.group_by("cycle", "part", "family").agg(pl.col("dur_ns").sum())


def _part(function: str, function_class: str | None, device: str, anchor: str | None) -> str | None:
    """What a function counts for; None for one that says nothing about what is done."""
    on_host = device == HOST_DEVICE
    if on_host and is_loading(function):
        return "data_loading"
    if is_host_collective(function) or (not on_host and vendors.is_collective_kernel(function)):
        return "exposed_communication"
    if on_host and function == anchor:
        return None
    return _ON_CPU if function_class == "oncpu" else PART_OF_CLASS.get(function_class or "")


def _cut(length: Ints, found: dict[Key, Ints]) -> dict[Key, Ints]:
    """Parts one after the other, as far as the cycle lasts; what is left is idle."""
    nothing = np.zeros(len(length), dtype=np.int64)
    if (_ON_CPU, None) in found:
        launches = found.get(("launch_gap", None), nothing)
        found["host_cpu", None] = np.maximum(found[_ON_CPU, None] - launches, 0)
    computing = {key: time for key, time in found.items() if key[0] == "device_compute"}
    # Kernels that ran at the same time share what there is.
    total = sum(computing.values(), nothing)
    share = np.minimum(1.0, length / np.maximum(total, 1))
    cut = {key: np.floor(time * share).astype(np.int64) for key, time in computing.items()}
    rest = length - sum(cut.values(), nothing)
    for part in _ORDER:
        cut[part, None] = np.minimum(found.get((part, None), nothing), rest)
        rest = rest - cut[part, None]
    cut["idle", None] = rest
    return cut


def _rows(cycle: pl.Series, cut: dict[Key, Ints]) -> pl.DataFrame:
    parts = [
        pl.DataFrame(
            {"cycle": cycle, "part": part, "family": family, "dur_ns": time.astype(np.float64)},
            schema=PART_TIMES,
        )
        for (part, family), time in cut.items()
    ]
    return pl.concat(parts).filter(pl.col("dur_ns") > 0).sort("cycle", "part", "family")
