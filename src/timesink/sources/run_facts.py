"""A trace with what `run.json` beside it says: who ran what where, and how well it was recorded."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import structs

from timesink.errors import UnreadableError
from timesink.formats import behaviour
from timesink.formats.file_names import is_named_as_table
from timesink.formats.small_files import DamagedError, decode_small_json, joined_blocks
from timesink.formats.source_file import open_source, read_trace, reader_of
from timesink.model import units
from timesink.model.diagnosis import PLAIN
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.recorded_run import OVERHEAD_TOLD, WHOLE_PROGRAM, RecordedRun, RunProcess
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import NO_ACCELERATOR
from timesink.patterns import regex
from timesink.sources.places import folders_below
from timesink.sources.sidecars import (
    RunFile,
    counters_of_run,
    find_topology,
    is_trace_file,
    run_file_in,
)

OVERHEAD_HEAVY = 1.5
"""Profiled steps longer than unprofiled ones by this factor show mostly the profiler."""
_COUNTED = regex(r"\b(?:cycle|step)s?\b")
"""A reason that names how many steps there are; recorders before this one called them cycles."""
_US, _MS = 1_000, 1_000_000


def run_health(run: RecordedRun, process: RunProcess | None) -> list[HealthEntry]:
    """What weakens a recording, of one of its processes where that is known."""
    from timesink.recorder.counter_probes import Missing, missing_in_words  # noqa: PLC0415 - start-up time

    missing = run.counters.missing
    lines = missing_in_words(Missing(counter.counter, counter.why) for counter in missing)
    counter_entries = (
        [HealthEntry("missing_counters", len(missing), "\n".join(lines))] if missing else []
    )
    return [*_partial(run, process), *_overhead(run), *_clock(run), *counter_entries]


def _partial(run: RecordedRun, process: RunProcess | None) -> Iterator[HealthEntry]:
    ended_early = run.complete is False or (process is not None and process.complete is False)
    if not ended_early:
        return
    recorded = run.cycles.recorded if process is None or process.cycles is None else process.cycles
    nothing = recorded == 0 and run.cycles.by != WHOLE_PROGRAM and not run.asked_plain
    reason = run.why_partial or (process and process.why_partial)
    if not reason and run.exit.signal:
        reason = f"the program was ended by {run.exit.signal}"
    elif not reason and run.exit.code:
        reason = f"the program ended with exit code {run.exit.code}"
    reason = reason or "the reason is not known"
    if recorded and recorded < (run.cycles.asked or 0) and not _COUNTED.search(reason):
        wanted = units.count_noun(run.cycles.asked or 0, "steps")
        reason += f" ({units.count(recorded)} of {wanted})"
    yield HealthEntry("lost_recording" if nothing else "partial_recording", 1, reason)


def _overhead(run: RecordedRun) -> Iterator[HealthEntry]:
    ratio = run.overhead.ratio
    if ratio is None or ratio < OVERHEAD_TOLD:
        return
    plain, profiled = run.overhead.cycle_us, run.overhead.cycle_profiled_us
    heavy = ratio >= OVERHEAD_HEAVY
    sentence = f"{ratio:.1f} times as long" if heavy else f"{100 * (ratio - 1):.0f} % longer"
    if plain and profiled:
        sentence += f", {units.brief_ns(profiled * _US)} instead of {units.brief_ns(plain * _US)}"
    yield HealthEntry("heavy_profiling" if heavy else "profiler_overhead", 1, sentence)


def _clock(run: RecordedRun) -> Iterator[HealthEntry]:
    interval = run.counters.interval_ms
    offset, spread = abs(run.clock.offset_us or 0.0), abs(run.clock.spread_us or 0.0)
    if interval is None or max(offset, spread) * _US <= interval * _MS:
        return
    apart, unsure = units.brief_ns(offset * _US), units.brief_ns(spread * _US)
    sentence = (
        f"{apart} apart, give or take {unsure}; sampled every {units.brief_ns(interval * _MS)}"
    )
    yield HealthEntry("counter_clock_offset", 1, sentence)


_OF_SNAPSHOT = ("out_of_memory", "annotations", "allocator_settings")
_AWAY_NS = 3_600 * 10**9
"""An hour: a snapshot that ends longer before a recording is of another run."""


def with_snapshot(trace: Trace, file: Path) -> Trace:
    """The trace with the blocks of a memory snapshot of the same run; both have the clock of Unix.

    What the profiler recorded of memory itself stays; where it recorded none, the snapshot has it.
    """
    try:
        snapshot = read_trace(file)
    except UnreadableError as error:
        entry = HealthEntry("unreadable_snapshot", 1, error.message)
        return replace(trace, health=merge_entries([*trace.health, entry]))
    if not snapshot.has_snapshot:
        entry = HealthEntry("unreadable_snapshot", 1, f"{file}: no memory snapshot")
        return replace(trace, health=merge_entries([*trace.health, entry]))
    why = _of_another_time(trace, snapshot)
    if why:
        entry = HealthEntry("foreign_snapshot", 1, f"{file}: {why}")
        return replace(trace, health=merge_entries([*trace.health, entry]))
    tables = ["memory_blocks", "memory_segments"]
    if trace.lazy("memory").head(1).collect().is_empty():
        tables.append("memory")
    frames = {**trace.frames, **{name: snapshot.lazy(name) for name in tables}}
    extra = {name: snapshot.metadata.extra.get(name) for name in _OF_SNAPSHOT}
    metadata = replace(trace.metadata, extra={**trace.metadata.extra, **extra})
    health = merge_entries([*trace.health, *snapshot.health])
    return replace(trace, frames=frames, metadata=metadata, health=health)


def _of_another_time(trace: Trace, snapshot: Trace) -> str:
    """Why a snapshot is not of the time of a recording; empty where it is, or knows no times."""
    ends = [pl.col("ts_ns").min().alias("first"), pl.col("ts_ns").max().alias("last")]
    recorded = trace.lazy("host").select(ends).collect().row(0)
    allocated = snapshot.lazy("memory").select(ends).collect().row(0)
    if None in recorded or None in allocated:
        return ""
    if trace.metadata.clock != "unix":
        return "the recording is not on the clock of Unix, so the two cannot be joined"
    if allocated[0] > recorded[1] or allocated[1] < recorded[0] - _AWAY_NS:
        return "its history is of another time than the recording"
    return ""


def with_run(trace: Trace, file: RunFile) -> Trace:
    """The trace with the facts of its run in its metadata, and what they mean in its health."""
    broken = [HealthEntry("bad_run_file", len(file.unused), "".join(file.unused[:1]))]
    if file.run is None:
        return replace(trace, health=merge_entries([*trace.health, *broken]))
    process = file.run.process_of(Path(trace.metadata.source).name)
    # What the trace says of itself comes first.
    distributed = trace.metadata.distributed
    if process is not None:
        distributed = replace(
            distributed,
            rank=process.rank if distributed.rank is None else distributed.rank,
            world_size=distributed.world_size or process.world_size,
        )
    # As traces spell them: `cuda_driver_version`.
    raw_versions = {
        **file.run.versions,
        **({"timesink": file.run.timesink} if file.run.timesink else {}),
    }
    versions = {
        f"{name.removesuffix('_version')}_version": raw_versions[name] for name in raw_versions
    }
    metadata = replace(
        trace.metadata,
        run=file.run,
        distributed=distributed,
        versions={**versions, **trace.metadata.versions},
    )
    health = [*trace.health, *broken, *run_health(file.run, process)]
    if trace.metadata.format == "counters":
        # Why there are counters alone; a program without PyTorch has no cycles to lose, and one
        # whose plain cycles were asked for has what was asked for.
        lost = "" if file.run.uses_torch else "lost_recording"
        lost = "counters_only" if file.run.asked_plain else lost
        health = [
            structs.replace(entry, example=file.run.why_no_calls)
            if entry.code == "counters_only"
            else entry
            for entry in health
            if entry.code != lost
        ]
    if process is not None:
        # A process without a rank, as its recorder saw it, is no part of a larger job.
        health = [entry for entry in health if entry.code != "rank_assumed"]
    return replace(trace, metadata=metadata, health=merge_entries(health))


def plain_run_in(folder: Path) -> RunFile | None:
    """The run of a folder that holds unprofiled steps and no timeline; None where there is one."""
    file = run_file_in(folder) if folder.is_dir() else None
    if file is None or file.run is None or not file.run.plain_ns:
        return None
    return None if any(map(is_trace_file, folder.iterdir())) else file


def plain_recording(folder: Path) -> Trace | None:
    """A recording of plain cycles alone, as a trace without tables; None where there is more."""
    file = plain_run_in(folder)
    if file is None or counters_of_run(file) is not None:
        return None
    metadata = Metadata(source=str(folder), format=PLAIN, vendor=NO_ACCELERATOR, events=0)
    return with_run(Trace(metadata), file)


def samples_of_process(samples: pl.DataFrame, run: RecordedRun | None, trace: str) -> pl.DataFrame:
    """Samples without those of other processes of the run, whose traces have them."""
    process = None if run is None else run.process_of(trace)
    if run is None or process is None:
        return samples
    other_devices = [
        f"pid {other.pid}" for other in run.processes if other.pid not in (None, process.pid)
    ]
    device = pl.col("device").cast(pl.String)
    return (
        samples.filter(~device.is_in(other_devices).fill_null(value=False))
        if other_devices
        else samples
    )


# `topo_component.csv` beside a trace: what the machine is made of, one component per row.
#
# Components have a `category` and JSON in `inventory`: frequency and cores of processors, size of
# memory, number and memory of accelerators, accelerators of processes.

KEY = "topology"
"""Under which `metadata.extra` holds what was found."""

_NUMBER = regex(r"[0-9]+(?:\.[0-9]+)?")
Component = tuple[str, Mapping[str, Any]]
"""Category without `CAT_`, and what the inventory says."""


def with_topology(trace: Trace, file: Path) -> Trace:
    """The trace with memory of its devices, and processors and host memory in `extra`."""
    try:
        components, broken = _components(file)
    except UnreadableError as error:
        components, broken = [], [HealthEntry("bad_metadata", 1, error.message)]
    metadata = trace.metadata
    described = replace(
        metadata,
        devices=_with_memory(metadata.devices, components),
        extra={**metadata.extra, KEY: _machine(components)} if components else metadata.extra,
    )
    health = merge_entries([*trace.health, *broken])
    return replace(trace, metadata=described, health=health)


def _components(file: Path) -> tuple[list[Component], list[HealthEntry]]:
    text = joined_blocks(open_source(file).blocks(), file).decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"category", "inventory"} <= set(rows.fieldnames or ()):
        raise UnreadableError(f"{file}: not a table of components", "remove it or write it again")
    components: list[Component] = []
    broken = []
    for row in rows:
        inventory = _object(row["inventory"])
        if inventory is None:
            broken.append(HealthEntry("bad_metadata", 1, f"{file.name}: {row['inventory']!r}"))
            continue
        category = (row["category"] or "").upper().removeprefix("CAT_")
        components.append((category, inventory))
    return components, broken


def _object(text: str | None) -> dict[str, Any] | None:
    """A JSON object, what it holds under `macro` lifted to the top; empty text is none of it."""
    if not (text or "").strip():
        return {}
    try:
        value = decode_small_json((text or "").encode("utf-8", "replace"), "inventory")
    except DamagedError:
        return None
    inner = value.get("macro")
    return {**value, **inner} if isinstance(inner, dict) else value


def _number(value: Any) -> float | None:
    """The first number of `4000 MHz`, 64 or "64"."""
    match = _NUMBER.search(str(value))
    return None if match is None or isinstance(value, bool) else float(match[0])


def _numbers(components: Iterable[Component], category: str, key: str) -> list[float]:
    numbers = (
        _number(fields[key]) for name, fields in components if name == category and key in fields
    )
    return [number for number in numbers if number is not None]


def _machine(components: list[Component]) -> dict[str, Any]:
    frequencies = _numbers(components, "CPU", "freq")
    cores = _numbers(components, "CPU", "cores")
    memory = _numbers(components, "MEMORY", "size")
    processes = {
        str(fields["pid"]): fields["gpu_index"]
        for name, fields in components
        if name == "PROCESS" and "pid" in fields and "gpu_index" in fields
    }
    return {
        "cpu_max_mhz": max(frequencies, default=None),
        "cpu_cores": int(sum(cores)) or None,
        "host_memory_bytes": int(sum(memory)) * 1024**2 or None,
        "gpus_of_process": processes,
    }


def _with_memory(devices: tuple[Device, ...], components: list[Component]) -> tuple[Device, ...]:
    """Devices with the memory their component names, where each number stands for one component.

    Numbers in a trace are those a process sees: with one accelerator of several that need not be
    the machine's, so a device that no component stands for gets none.
    """
    numbered = [
        (int(index), int(size))
        for name, fields in components
        if name == "XPU"
        and (index := _number(fields.get("index"))) is not None
        and (size := _number(fields.get("memory_capacity"))) is not None
    ]
    sizes = {size for _, size in numbered}
    seen = Counter(index for index, _ in numbered)
    # Where all are alike, it does not matter which is which.
    memory = {index: size for index, size in numbered if seen[index] == 1}
    common_size = sizes.pop() if len(sizes) == 1 else None
    return tuple(
        replace(device, memory_bytes=device.memory_bytes or common_size or memory.get(device.id))
        for device in devices
    )


_ENDINGS = (".csv", ".csv.gz", ".parquet")


def find_behaviour_tables(folder: Path) -> list[Path]:
    """Every behaviour table in a folder and below it, in the order of their paths.

    A table is named `..._perf_data.csv[.gz]`, or has `behaviour` in its name, and is one by
    content.
    """
    paths = (path for path in may_be_tables(folder) if is_named_as_table(path.name))
    return sorted(path for path in paths if is_behaviour_table(path))


def may_be_tables(folder: Path) -> list[Path]:
    """Every file in a folder and below it that ends as tables do, whatever it holds."""
    return sorted(
        path
        for place in folders_below(folder)
        for path in place.iterdir()
        if path.name.lower().endswith(_ENDINGS) and path.is_file()
    )


def is_behaviour_table(path: Path) -> bool:
    """Whether a file is a behaviour table with all it needs, by content."""
    with suppress(UnreadableError, OSError):
        source = open_source(path)
        return behaviour.is_table(source.head())
    return False


def why_no_table(path: Path) -> str | None:
    """Why a file that may be meant as a table is none; None where it is something else.

    Counters, events, the description of a machine: these are read with what they belong to.
    """
    if find_topology(path) == path:
        return None
    try:
        reader = reader_of(open_source(path))
        if reader.NAME == behaviour.NAME:
            read_trace(path)
    except UnreadableError as error:
        return error.message
    except OSError as error:
        return UnreadableError.denied(path, error).message
    return None
