"""`timesink kernels`: how well the kernels of a recording use the hardware."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from timesink.analyses.kernels.calls import (
    Sampling,
    has_counters,
    kernel_calls,
    launch_origins,
    sampling_of,
    with_weights,
)
from timesink.analyses.kernels.families import Families, load_families
from timesink.analyses.kernels.join import MIN_ALIGNED, Join, join_calls
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.kernels.roofline import roofline
from timesink.analyses.kernels.usage import DeviceUse, Thresholds, device_use, with_class
from timesink.answers.kernels.report import KernelReport, find_notes
from timesink.errors import UnreadableError, UsageError
from timesink.formats.read_options import Progress
from timesink.model import units
from timesink.model.trace import Trace
from timesink.sources.discovery import Input, input_of
from timesink.sources.opening import open_trace

_PROFILER_FILES = (".csv", ".csv.gz", ".ncu-rep", ".txt")
_WANTED = "give --trace a recording of the PyTorch profiler, Nsight Systems or rocprofv3"


def kernels(
    source: str | Path | Input | Trace,
    *,
    trace: str | Path | Input | Trace | None = None,
    families: str | Path | None = None,
    low: float = 1 / 3,
    every: int | None = None,
    peaks: str | Path | None = None,
    device: str | None = None,
    min_aligned: float = MIN_ALIGNED,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> KernelReport:
    """How well the kernels of a recording use the hardware.

    The source is a kernel profiler's file, or a timeline, whose kernels have no hardware counters.
    `trace` is a timeline of the same program: it tells which operator and module launched the
    kernels of a profiler's file; at least `min_aligned` of these must be found in it.  Below `low`,
    a fraction of the peak, use is low.  `every` declares that the file holds every n-th launch
    only.  `device` and `peaks` are for the roofline.  `worker`, `span` and `rank` choose among the
    timelines of a folder.

    >>> import timesink
    >>> report = timesink.kernels(timesink.sample())
    >>> report.groups("family")["group"].to_list()[:2]
    ['normalisation', 'copy']
    """
    thresholds = Thresholds.above(low)
    # With the usual families, the launches are those that other analyses share.
    rules = () if families is None else (load_families(families),)
    reading: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": progress}
    choice = {"worker": worker, "span": span, "rank": rank}
    opened = _open_source(source, choice if trace is None else {}, reading)
    timeline = None if trace is None else _timeline(opened, _open_source(trace, choice, reading))
    sampling = _launch_sampling(opened, every)
    calls = with_class(with_weights(kernel_calls(opened, *rules), sampling), thresholds)
    join = (
        None if timeline is None else _join_timeline(calls, timeline, rules, sampling, min_aligned)
    )
    calls = _with_origins(calls, timeline or opened, join)
    same = None if join is None or join.refused else timeline
    best = choose_peaks(opened, timeline=same, device=device, peaks=peaks)
    roofs = roofline(opened, calls, best)
    devices = _with_names(device_use(calls, opened, thresholds, sampling), same)
    return KernelReport(
        trace=opened,
        source=_path_of(source),
        calls=calls,
        thresholds=thresholds,
        sampling=sampling,
        devices=devices,
        join=join,
        timeline=None if trace is None else _path_of(trace),
        roofline=roofs,
        notes=tuple(find_notes(opened, calls, devices, sampling)),
    )


def _path_of(source: str | Path | Input | Trace) -> str:
    if isinstance(source, Trace):
        return source.metadata.source
    return str(source.source if isinstance(source, Input) else source)


def _open_source(
    source: str | Path | Input | Trace, choice: Mapping[str, Any], reading: Mapping[str, Any]
) -> Trace:
    if isinstance(source, Trace):
        opened = source
    elif not _path_of(source):
        raise UsageError("the path is empty", "give a file of a kernel profiler, or a timeline")
    else:
        try:
            opened = open_trace(input_of(source, **choice), **reading)
        except UnreadableError as error:
            hint = _files_to_name(Path(_path_of(source)))
            raise UnreadableError(error.message, hint) if hint else error from None
    if opened.has_behaviour and not opened.has_timeline:
        raise UnreadableError.only_behaviour(_path_of(source))
    return opened


def _files_to_name(folder: Path) -> str:
    """Files of a kernel profiler are named one by one; empty where a folder holds none."""
    if not folder.is_dir():
        return ""
    endings = [end for end in _PROFILER_FILES if any(folder.glob(f"*{end}"))]
    folder_text = shlex.quote(str(folder))
    return f"name the files: timesink kernels {folder_text}/*{endings[0]}" if endings else ""


def _timeline(measured: Trace, timeline: Trace) -> Trace:
    """The timeline to join with; refuses what is none, and what needs none."""
    if not has_counters(measured):
        raise UsageError(
            f"{measured.metadata.source}: a timeline, which needs no other",
            "leave out --trace; it belongs to a file with hardware counters",
        )
    if has_counters(timeline):
        raise UsageError(f"{timeline.metadata.source}: no timeline", _WANTED)
    if kernel_calls(timeline).is_empty():
        raise UsageError(
            f"{timeline.metadata.source}: a timeline without kernels",
            "record it without the kernel profiler: only one of them sees the device at a time",
        )
    return timeline


def _launch_sampling(trace: Trace, every: int | None) -> Sampling | None:
    """How the launches were chosen, as the file or else the user says."""
    stated = sampling_of(trace.metadata)
    if every is None or (stated is not None and stated.every == every):
        return stated
    source = trace.metadata.source
    if stated is not None:
        raise UsageError(f"{source}: the file says that {stated} was measured", "leave out --every")
    if not has_counters(trace):
        raise UsageError(f"{source}: a timeline holds every launch", "leave out --every")
    return None if every == 1 else Sampling(every, "launch")


def _join_timeline(
    calls: pl.DataFrame,
    timeline: Trace,
    rules: tuple[Families, ...],
    sampling: Sampling | None,
    min_aligned: float,
) -> Join:
    steps = launch_origins(timeline)["step"]
    timed = kernel_calls(timeline, *rules)
    join = join_calls(calls, timed, steps=steps, sampling=sampling, min_aligned=min_aligned)
    if join.aligned or join.refused:
        return join
    # Without a single launch in common there is nothing to join, however little was asked for.
    problem = f"none of the {units.count_noun(join.calls, 'kernels')} was found in the timeline"
    return replace(join, reason=f"{problem}: another program?")


def _with_origins(calls: pl.DataFrame, timeline: Trace, join: Join | None) -> pl.DataFrame:
    """The calls with the operator and the module that launched them, where a timeline tells."""
    if has_counters(timeline) or (join is not None and join.refused):
        return calls
    origins = launch_origins(timeline)
    columns = [column for column in ("operator", "module") if origins[column].is_not_null().any()]
    of_calls = origins.select(columns) if join is None else origins.select(columns)[join.rows]
    joined = calls.hstack(of_calls)
    return joined.with_columns(_module_class()) if "module" in columns else joined


def _with_names(devices: tuple[DeviceUse, ...], timeline: Trace | None) -> tuple[DeviceUse, ...]:
    """The devices with the name a timeline of the same program knows, where theirs is missing."""
    timeline_devices = () if timeline is None else timeline.metadata.devices
    names = {device.name for device in timeline_devices if device.name}
    if len(names) != 1:
        return devices
    return tuple(use if use.name else replace(use, name=next(iter(names))) for use in devices)


def _module_class() -> pl.Expr:
    """Paths of modules without the numbers that tell instances apart."""
    path = pl.col("module").cast(pl.String())
    return path.str.replace_all(r"([._]\d+)+(\.|$)", "$2").alias("module_class")
