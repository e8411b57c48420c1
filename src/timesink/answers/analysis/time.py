"""Where time goes: the average step, each step, devices, workers, and the figures one looks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns
from timesink.analyses.communication_workers import mean_over_steps, step_communication
from timesink.analyses.damage import refusing_damage
from timesink.analyses.device_utilisation import device_utilisation
from timesink.analyses.memory_curve import CPU, memory_peaks
from timesink.analyses.names import device_word, short_kernel_name
from timesink.analyses.replay.critical_path import outside_calls_ns, path_kinds
from timesink.analyses.steps import PARTS, average_step, cut_steps, find_steps, step_breakdown
from timesink.answers.analysis.roofs import efficiency_tiles
from timesink.answers.analysis.tables import Analysed, Empty, SectionResult, neighbours, together
from timesink.answers.tables import sentence
from timesink.answers.views import (
    NO_COMMUNICATION,
    NO_DEVICE_WORK,
    NO_PATH,
    NO_STEPS,
    Absent,
    NamedParts,
    columns_of,
    parts_of,
)
from timesink.model import units
from timesink.model.fitness import CRITICAL_PATH, IDLE, STEP_TIME
from timesink.model.trace import Trace
from timesink.output.blocks import Block, Part, Parts, Section, StackPart, Stacks, Text, Tile, Tiles
from timesink.output.names import cut_middle

_STEP = parts_of("steps")
_UNMARKED = Absent("no steps are marked", "call step() of the profiler after each one")
MAX_BARS = 200
"""More bars are not legible side by side."""


def breakdown_section(run: Analysed) -> SectionResult:
    """The average step and its parts, which add up to it."""
    if refusing_damage(run.analysis.fitness) is not None:
        return None
    average, steps = average_step(run.trace), find_steps(run.trace)
    marked = steps.is_empty() or bool(steps["marked"][0])
    title = "Step time by part" if marked else "Time by part"
    if not average.get("total_ns"):
        return Empty("breakdown", title, NO_STEPS)
    about = columns_of("steps")
    parts = tuple(
        Part(part, _STEP[part].words, average[f"{part}_ns"], about[f"{part}_ns"].meaning)
        for part in PARTS
        if average[f"{part}_ns"]
    )
    bar = Parts("The average step", "time_ns", average["total_ns"], parts)
    return Section("breakdown", title, (bar,), f"{_steps_sentence(run)}.")


def steps_section(run: Analysed) -> SectionResult:
    """Each step as a bar of its parts; many steps in groups of neighbours."""
    if refusing_damage(run.analysis.fitness) is not None:
        return None
    frame = run.frame("steps")
    if frame.is_empty() or not find_steps(run.trace)["marked"][0]:
        return Empty("steps", "Steps", _UNMARKED)
    if frame.height == 1:
        # Its parts are those of the average step.
        return Section("steps", "Steps", (run.table("steps"),))
    named = {f"{part}_ns": _STEP[part] for part in PARTS if frame[f"{part}_ns"].sum()}
    bars = _stacks("Steps and their parts", frame, "name", named)
    blocks: tuple[Block, ...] = (bars, run.table("steps"))
    return Section("steps", "Steps", blocks, _grouped_lead(frame.height))


PATH_KINDS = parts_of("critical-path")
_OUTSIDE = "outside of recorded calls"
_MIN_SHARE_SHOWN = 0.01
"""Of the critical path: smaller parts are not named."""


def critical_path_section(run: Analysed) -> SectionResult:
    """The critical path: the chain of work and waits that decides the step time."""
    marked = bool(find_steps(run.trace)["marked"].any())
    title = "Critical path of a step" if marked else "Critical path"
    if not run.analysis.fitness.answers(CRITICAL_PATH):
        return None
    played = run.analysis.played
    kinds, cycle = path_kinds(played), played.cycle_ns
    if not kinds:
        if run.brief and find_steps(run.trace).height:
            return Section("critical-path", title, (Text(sentence(NO_PATH)),))
        return Empty("critical-path", title, NO_PATH)
    # What no recorded call covers is called so everywhere.
    outside_ns = outside_calls_ns(played)
    named = {PATH_KINDS[kind].words: ns for kind, ns in kinds.items()}
    if outside_ns >= _MIN_SHARE_SHOWN * cycle:
        code = PATH_KINDS["host"].words
        named |= {code: named[code] - outside_ns, f"{code} {_OUTSIDE}": outside_ns}
    largest = sorted(named.items(), key=lambda part: -part[1])
    shares = (
        f"{words} {units.share(ns, cycle)}"
        for place, (words, ns) in enumerate(largest)
        if not place or ns >= _MIN_SHARE_SHOWN * cycle
    )
    line = f"{', '.join(shares)}."
    line = f"{line[0].upper()}{line[1:]}"
    if run.brief:
        return Section("critical-path", title, (Text(line),))
    parts = tuple(
        Part(PATH_KINDS[kind].colour, PATH_KINDS[kind].words, ns) for kind, ns in kinds.items()
    )
    bar = Parts("The critical path of a step", "time_ns", cycle, parts)
    tables = [run.table(view) for view in ("critical-path", "critical-path-modules")]
    lead = f"{line} Work outside this path can become faster without making a step shorter."
    blocks: tuple[Block, ...] = (bar, *(table for table in tables if table.rows))
    return Section("critical-path", title, blocks, lead)


def _grouped_lead(steps: int) -> str:
    """What to say where a bar stands for several steps."""
    size = -(-steps // MAX_BARS)
    text = f"Each bar is the mean of {size} neighbouring steps of {units.count(steps)}."
    return text if size > 1 else ""


def _stacks(title: str, frame: pl.DataFrame, label: str, named: NamedParts) -> Stacks:
    """One bar per row, or per group of neighbours where there are too many; parts by column."""
    groups = neighbours(frame.height, MAX_BARS)
    starts, ends = np.array(groups).T
    parts = []
    for column, (colour, words, _) in named.items():
        sums = np.add.reduceat(frame[column].cast(pl.Float64).fill_null(0).to_numpy(), starts)
        means = tuple((sums / (ends - starts)).round(1).tolist())
        parts.append(StackPart(colour, words, means))
    names = frame[label].cast(pl.String).to_list()
    return Stacks(title, "time_ns", together(names, groups), tuple(parts))


def _steps_sentence(run: Analysed) -> str:
    """How many steps there are and how much they vary."""
    all_steps = find_steps(run.trace)
    lengths_ns = step_breakdown(run.trace).filter("complete")["total_ns"]
    if lengths_ns.is_empty():
        return "no steps"
    if not all_steps["marked"][0]:
        what = "" if run.clock == "own" else "recorded "
        length = units.brief_ns(int(lengths_ns[0]))
        unmarked_text = f"no steps are marked; the {what}{length} count as one step"
        return unmarked_text + _repetitions(run)
    left = ~all_steps["complete"].to_numpy()
    cut = int((left & cut_steps(run.trace)).sum())
    rest = {"cut by the end": cut, "without device work at the end": int(left.sum()) - cut}
    text = units.count_noun(lengths_ns.len(), "steps")
    if lengths_ns.len() > 1:
        shortest, longest = int(lengths_ns.to_numpy().min()), int(lengths_ns.to_numpy().max())
        text += f", {units.brief_ns(shortest)} to {units.brief_ns(longest)}"
    more = (
        f", {units.count_noun(count, 'more steps')} {why}" for why, count in rest.items() if count
    )
    return text + "".join(more)


def _repetitions(run: Analysed) -> str:
    """What repeats in a recording whose steps nobody marked, if it tells how long that takes."""
    from timesink.analyses.cycles.search import unmarked_repetitions  # noqa: PLC0415 - start-up time

    repetitions = unmarked_repetitions(run.analysis.recording)
    if repetitions is None or not run.analysis.fitness.answers(STEP_TIME):
        return ""
    name = short_kernel_name(repetitions.anchor) if repetitions.on_device else repetitions.anchor
    many = units.count_noun(repetitions.count, "repetitions")
    where = f" in {repetitions.processes} processes" * (repetitions.processes > 1)
    length = f"{units.brief_ns(repetitions.median_ns)} as recorded" + " (median)" * (
        repetitions.count > 1
    )
    return f"; timesink steps finds {many} of {cut_middle(name, _ANCHOR)}{where}, {length}"


_ANCHOR = 48
"""Characters of a name in a sentence."""


# -- devices ---------------------------------------------------------------------------------------


_DID, _IDLE = "Time of {}, from its first activity to its last", "Idle time of {} by cause"

_BUSY = ("utilisation", "any_activity", "sm_efficiency", "occupancy_pct", "tensor_core_ratio")


def devices_section(run: Analysed) -> SectionResult:
    """What each device did and why it was idle; of several, tables too."""
    if refusing_damage(run.analysis.fitness) is not None:
        return None
    times = run.frame("device-time")
    if times.is_empty():
        return Empty("devices", "Devices", NO_DEVICE_WORK)
    word = device_word(run.trace)
    spans = {row["device"]: row for row in times.to_dicts()}
    rows, knows_idle = device_utilisation(run.trace).to_dicts(), run.analysis.fitness.answers(IDLE)
    lines = [
        _device_line(word, row, spans.get(row["device"]))
        if knows_idle
        else _work_line(word, row, spans.get(row["device"]))
        for row in rows
    ]
    if run.brief:
        return Section("devices", "Devices", tuple(Text(line) for line in lines))
    causes = run.frame("idle-causes")
    idle = causes.filter((causes["idle_ns"] > 0) & knows_idle)
    blocks = [_picture(_DID, word, times, "device-time")]
    if idle.height:
        blocks.append(_picture(_IDLE, word, idle, "idle-causes"))
    if times.height > 1:
        blocks += [run.table(view) for view in ("devices", "device-time", "idle-causes")]
    return Section("devices", "Devices", tuple(blocks), "; ".join(lines))


_MIN_APART_STEPS, _MIN_APART_SPAN = 0.005, 0.05
"""How far the busy share of the whole window may be from that inside steps, and from that between
the first and the last activity, before the other one is shown too."""


def _device_line(word: str, row: Mapping[str, Any], span: Mapping[str, Any] | None) -> str:
    """How busy a device was; also inside steps and where it worked, where that differs."""
    about = columns_of("devices")
    phrases = [
        f"{about[name].title} {_part_text(row[name], 100 if name.endswith('_pct') else 1)}"
        for name in _BUSY
        if row[name] is not None or name == "utilisation"
    ]
    in_steps, steps_ns = row["within_steps"], row["steps_ns"]
    if in_steps and abs(in_steps - (row["utilisation"] or 0.0)) >= _MIN_APART_STEPS:
        inside, steps = units.share(in_steps, 1), units.brief_ns(steps_ns)
        phrases.append(f"kernels {inside} of the steps ({steps}) without the gaps between them")
    within = span["busy_ns"] / span["span_ns"] if span and span["span_ns"] else None
    if within is not None and abs(within - (row["any_activity"] or 0.0)) >= _MIN_APART_SPAN:
        length = units.brief_ns(span["span_ns"]) if span else ""
        share = units.share(within, 1)
        phrases.append(f"busy {share} of the {length} from its first activity to its last")
    return f"{_device(word, row['device'])}: {', '.join(phrases)}"


def _part_text(part: float | None, total: float) -> str:
    return "-" if part is None else units.share(part, total)


def _work_line(word: str, row: Mapping[str, Any], span: Mapping[str, Any] | None) -> str:
    """The recorded work of a device whose idle time is unknown."""
    line = f"{_device(word, row['device'])}: {units.brief_ns(span['busy_ns'] if span else 0)}"
    return f"{line} of recorded work; this recording does not show how idle it was"


def _picture(title: str, word: str, frame: pl.DataFrame, view: str) -> Block:
    """One device as a whole and its parts, several as bars side by side."""
    drawn_parts = {
        column: words_row for column, words_row in parts_of(view).items() if frame[column].sum()
    }
    names = [_device(word, number) for number in frame["device"].to_list()]
    if len(names) > 1:
        parts = tuple(
            StackPart(colour, words, tuple(frame[column].fill_null(0).to_list()))
            for column, (colour, words, _) in drawn_parts.items()
        )
        return Stacks(title.format("each device"), "time_ns", tuple(names), parts)
    about = columns_of(view)
    slices = tuple(
        Part(colour, words, frame[column][0], about[column].meaning)
        for column, (colour, words, _) in drawn_parts.items()
    )
    return Parts(title.format(names[0]), "time_ns", sum(part.value for part in slices), slices)


def _device(word: str, number: int | None) -> str:
    has_number = number is not None and number >= 0
    return f"{word} {number}" if has_number else f"{word} without number"


_MAX_WORKERS = 64
"""Beyond this, workers are in tables only."""


def workers_section(run: Analysed) -> SectionResult:
    """How much of a step each worker transfers and waits."""
    steps = run.frame("workers")
    if steps.is_empty():
        return Empty("workers", "Workers", NO_COMMUNICATION)
    tables = (run.table("collective-statistics"), run.table("workers"))
    if not run.analysis.is_set:
        lead = "Waiting times need the recordings of all workers."
        return Section("workers", "Workers", tables, lead)
    # Steps come by worker, in the order of ranks.
    means = mean_over_steps(steps, "transfer_ns", "waiting_ns")
    if means.height > _MAX_WORKERS:
        return Section("workers", "Workers", tables)
    bars = _stacks("Communication of an average step", means, "worker", parts_of("workers"))
    return Section(
        "workers",
        "Workers",
        (bars, *tables),
        "The worker that waits least is usually the one the others wait for.",
    )


def overlap_section(run: Analysed) -> SectionResult:
    """How much communication each step hides behind computation."""
    title = "Communication and computation"
    steps = step_communication(run.trace)
    if not steps["communication_ns"].sum():
        return Empty("overlap", title, NO_COMMUNICATION)
    parts = steps.with_columns(pl.col("computation_ns", "communication_ns") - pl.col("overlap_ns"))
    bars = _stacks("Steps by activity", parts, "name", parts_of("overlap"))
    return Section("overlap", title, (bars,), _grouped_lead(steps.height))


_RATIOS = {
    "any_activity": ("{word} busy", "time with any work on the device, from first to last step"),
    "sm_efficiency": ("SM efficiency", "multiprocessors in use, from first to last step"),
    "occupancy_pct": ("Occupancy", "the profiler's estimate, weighted by kernel time"),
    "tensor_core_ratio": ("Tensor cores", "part of the time of all kernels, by kernel name"),
}


_OF_TIME = ("any_activity", "sm_efficiency")
"""Ratios to the whole window: idle time is in them."""


def figures_section(run: Analysed) -> Section | None:
    """Length of a step, how busy the device was, memory; unknown figures stay unknown.

    A snapshot or a log, which cannot have most of them, has those that it has.
    """
    trace = run.trace
    length, steps = average_step(trace).get("total_ns"), find_steps(trace)
    marked = steps.height if steps.height and steps["marked"][0] else None
    step = Tile("Step", length, "time_ns", "mean of the complete steps")
    if steps.height and marked is None:
        hint = "no steps are marked: the recording counts as one"
        step = Tile("All" if run.clock == "own" else "Recorded", length, "time_ns", hint)
    kernels = int((device_columns(trace)["kind"] == "kernel").sum())
    tiles = (
        step,
        *_of_devices(trace, knows_idle=run.analysis.fitness.answers(IDLE)),
        *efficiency_tiles(run.efficiency),
        _of_memory(trace),
        Tile("Steps", marked, "count", "steps in the recording, cut ones included"),
        Tile("Kernels", kernels, "count", "kernel launches in the recording"),
    )
    if is_untimed(trace):
        tiles = tuple(tile for tile in tiles if tile.value)
        if not tiles:
            return None
    notes = ". ".join(f"{note[0].upper()}{note[1:]}" for note in run.analysis.told_notes)
    return Section("figures", "Key figures", (Tiles(tiles),), f"{notes}." if notes else "")


def is_untimed(trace: Trace) -> bool:
    """Whether nothing in it has a duration, as it is made: a memory snapshot or logs."""
    return trace.has_only_memory or trace.has_only_collectives


def _of_devices(trace: Trace, *, knows_idle: bool) -> Iterator[Tile]:
    """Ratios over the devices that are known; null, not 0, where none is."""
    rows = device_utilisation(trace)
    word = device_word(trace) if rows.height else "Device"
    several = f"; mean of {rows.height} devices" if rows.height > 1 else ""
    for name, (label, meaning) in _RATIOS.items():
        mean: Any = rows[name].mean() if knows_idle or name not in _OF_TIME else None
        share = mean / 100 if name.endswith("_pct") and mean is not None else mean
        unknown = "" if mean is not None else "; not in this recording"
        about = f"{meaning}{several}{unknown}"
        yield Tile(label.format(word=word), share, "share", about, share)


def _of_memory(trace: Trace) -> Tile:
    """The device that comes closest to its limit."""
    peaks = [row for row in memory_peaks(trace).to_dicts() if row["device"] != CPU]
    if not peaks:
        return Tile("Memory peak", None, "bytes", "no memory of a device was recorded")
    peak = max(peaks, key=lambda row: row["peak_allocated_bytes"])
    size, capacity = peak["peak_allocated_bytes"], peak["capacity_bytes"]
    share = size / capacity if capacity else None
    return Tile("Memory peak", size, "bytes", f"most that was allocated on {peak['device']}", share)
