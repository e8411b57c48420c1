"""The answer in sentences: where the time of a step goes, what to do, how near to limits it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.columns import device_columns, device_names, host_columns
from timesink.analyses.damage import refusing_damage
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.fitness import BACKLOG, NOTHING, recording_fitness
from timesink.analyses.kernels.peaks import GIVEN, DevicePeaks, PeaksChoice, peaks_at_clock
from timesink.analyses.names import device_word, short_kernel_name
from timesink.analyses.program_traits import program_traits
from timesink.analyses.replay.own_clock import MEASURED, OwnClock
from timesink.analyses.steps import average_step, find_steps
from timesink.analyses.work.calls import (
    LIKE,
    MODELLED,
    NO_CALL,
    NO_FORMULA,
    NO_SHAPES,
    UNTOLD,
    agreement,
    known_times,
)
from timesink.analyses.work.efficiency import (
    LEAST_MODELLED,
    Efficiency,
    family_efficiency,
    operator_efficiency,
)
from timesink.analyses.work.steps import BEYOND, MATRIX, MEMORY, VECTOR, StepEfficiency
from timesink.answers.analysis.sections import microseconds, percent, to_rows
from timesink.model import csv_rows, units
from timesink.model.findings import SEVERITIES, Finding
from timesink.model.fitness import IDLE, Reason
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.rules import Steps, complete_steps, find_all
from timesink.rules.counter_names import resource_of
from timesink.rules.idle import LEAST_BETWEEN, LEAST_IDLE, time_between

_ROWS = csv_rows(Path(__file__).with_name("headline.csv"))
_SAID = {row["part"]: (row["share"], row["cost"]) for row in _ROWS if row["share"]}
"""Parts of a step beside kernels: what a share of it is, and that it costs time."""
_ON_DEVICE = {"kernel": "computation", "communication": "communication"}
_ON_DEVICE |= {"memcpy": "copies", "memset": "memsets"}
_LEAST_BESIDE, _LEAST_TOLD = 0.002, 0.0005
"""Of a step: where the rest of device work takes less, it is not told apart; nor is a part."""
_MOST_PARTS, _MUCH = 3, 0.3
"""Parts that are told; and what of the costliest one a finding, or a call, has to be about."""

_RULES = {row["part"]: tuple(row["rules"].split()) for row in _ROWS}
"""Rules that speak about a part of the time; of equally grave ones the first is taken."""
_OF_RANKS = ("stragglers", "odd-rank")


_TOLD = 0.02
"""How far a recorded cycle may be from its own length, as a share, before one speaks of that."""


def tells_clocks_apart(clock: OwnClock) -> bool:
    """Whether recording made cycles longer or shorter than nobody would mind."""
    own = clock.own_ns
    return bool(own) and abs(clock.recorded_ns - (own or 0.0)) > _TOLD * (own or 0.0)


def interval(clock: OwnClock, length_ns: float, recorded_ns: float) -> str:
    """How sure an own clock is of a length that was recorded as another, in words."""
    bounds = clock.bounds_of(length_ns, recorded_ns) or (length_ns, length_ns)
    return units.from_to(*map(units.duration_ns, bounds)).replace(" → ", " to ")


def headline(
    trace: Trace,
    found: Sequence[Finding] | None = None,
    *,
    clock: OwnClock | None = None,
    recorded_ns: float = 0.0,
) -> str:
    """Where the time of a step goes, and what to do about it.

    The advice is taken from `found`, by default from what the rules find in this trace alone.
    Of a trace on its own `clock` it is told how long its average step was as recorded.
    """
    average, unfit = average_step(trace), recording_fitness(trace).against(IDLE)
    if untold := _untold(trace, average, unfit):
        return untold
    found = find_all(trace) if found is None else found
    if unfit:
        told = _unfit(trace, unfit).removesuffix(".")
        return f"{told}{_advice(found, '', found)}" if found else f"{told}."
    costs = {part: average[f"{part}_ns"] for part in _SAID}
    steps = complete_steps(trace)
    apart = clock is not None and tells_clocks_apart(clock)
    each = steps.each if clock is None else _each(steps, clock, recorded_ns)
    if has_device_work(trace):
        said, lost = _on_device(trace, average, costs, each)
    else:
        said, lost = _on_host(steps, costs, each), ""
    if apart:
        longer = recorded_ns > steps.length_ns
        under = "recorded under a profiler that made it" if longer else "though recorded as"
        said += f", {under} {units.duration_ns(recorded_ns)}"
    said += lost
    between = time_between(trace)
    if between.share(between.idle_ns) > LEAST_BETWEEN:
        costs["between"] = between.each_ns(between.idle_ns)
        said += (
            f"; between two steps pass {units.duration_ns(costs['between'])} without device work "
            f"({units.share(between.share(between.idle_ns), 1)} of the time)"
        )
    costly = max(costs, key=lambda part: costs[part])
    for one in found:
        if one.rule == "cpu-contention" and one.rule in _RULES.get(costly, ()):
            return f"{said}; {one.title[0].lower()}{one.title[1:]}. {one.advice}"
        if one.rule == "dominant-operator" and one.rule in _RULES.get(costly, ()):
            took = one.share * steps.length_ns
            said += f"; {one.evidence[0].name} alone takes {units.brief_ns(took)} of it on the host"
            return f"{said}: {one.advice[0].lower()}{one.advice[1:]}"
    # What is about a small part of it only is not what to try about it.
    least = _MUCH * costs[costly] / average["total_ns"] if costly != "between" else 0.0
    telling = [one for one in found if not one.share or one.share >= least]
    # What a replay says to save nothing is not what to try either.
    telling = [one for one in telling if not one.saves_nothing]
    if costly == "runtime" and not any(one.rule in _RULES["runtime"] for one in telling):
        said += _longest_call(trace, costs[costly])
    return said + _advice(found, costly, telling)


def _untold(trace: Trace, average: Mapping[str, float], unfit: Sequence[Reason]) -> str:
    """Why there is no answer at all: damage before what may follow from it; empty for one."""
    damage = refusing_damage(recording_fitness(trace))
    if damage is not None:
        return f"Where the time goes cannot be told. {damage.sentence} {damage.record}"
    if average and average["total_ns"]:
        return ""
    nothing = [reason for reason in unfit if reason.code == NOTHING]
    return _unfit(trace, nothing) if nothing else "Nothing in this trace takes time."


def _unfit(trace: Trace, reasons: Sequence[Reason]) -> str:
    """What a recording says of its device that cannot tell how idle that is, and what to do."""
    word, steps, device = device_word(trace), complete_steps(trace), device_columns(trace)
    record = reasons[0].record.partition(". ")[0].removesuffix(".")
    if not has_device_work(trace):
        return f"{reasons[0].sentence} {record}."
    busy_ns = steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS)))
    busy, length = units.duration_ns(busy_ns), units.duration_ns(steps.length_ns)
    if reasons[0].code == BACKLOG and not steps.marked:
        share = units.share(busy_ns, steps.length_ns)
        return (
            f"The {word} is busy {share} of the {length} it was recorded for; how idle it was "
            f"before cannot be told. {record}."
        )
    where = f"{_which(steps)} of {length}" if steps.marked else f"{length}"
    return (
        f"{busy} of {word} work in {where} were recorded; how idle the {word} was cannot be told. "
        f"{record}."
    )


def _each(steps: Steps, clock: OwnClock, recorded_ns: float) -> str:
    """What a part is taken of where recording changed its length: a step, or all there is."""
    length = units.duration_ns(steps.length_ns)
    if clock.source != MEASURED and tells_clocks_apart(clock):
        length = f"about {length} ({interval(clock, steps.length_ns, recorded_ns)})"
        return f"{_which(steps)} of {length}" if steps.marked else f"{length} that all this takes"
    return steps.each if steps.marked else f"the {length} that all this takes"


def _which(steps: Steps) -> str:
    """What a figure is of: of one step it says nothing about others."""
    return "the one recorded step" if steps.count == 1 else "each step"


def _longest_call(trace: Trace, cost_ns: float) -> str:
    """The runtime call that takes much of their time; empty where none does, or all is little."""
    host, steps = host_columns(trace), complete_steps(trace)
    if cost_ns < LEAST_IDLE * steps.length_ns:
        return ""
    made = host.filter(host["kind"].is_in(LAUNCH_KINDS))
    made = made.filter(steps.hold(made["ts_ns"].to_numpy()))
    by_name = made.group_by("name").agg(pl.col("dur_ns").sum()).sort("dur_ns", "name")
    if by_name.is_empty():
        return ""
    name, total = by_name.row(-1)
    took = total / steps.count
    is_much = took >= _MUCH * cost_ns
    return f"; {name} takes {units.brief_ns(took)}{steps.a_step}" if is_much else ""


def _on_device(
    trace: Trace, average: dict[str, float], costs: dict[str, float], each: str
) -> tuple[str, str]:
    """How much of each step is device work, of which sort; and what costs most beside kernels."""
    word, steps = device_word(trace), complete_steps(trace)
    main = max(_ON_DEVICE, key=lambda part: average[f"{part}_ns"])
    if average["kernel_ns"]:
        main = "kernel"
    working, is_so = average[f"{main}_ns"], f"is {word} work"
    if main != "kernel":
        is_so = f"{_SAID[main][0]}, and no {word} computes"
    else:
        # Everything that ran on a device; communication of the host is not among it.
        device = device_columns(trace)
        busy = steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS)))
        parts = {part: average[f"{part}_ns"] for part in _ON_DEVICE}
        parts["communication"] = busy - sum(parts.values()) + parts["communication"]
        if busy - working >= _LEAST_BESIDE * steps.length_ns:
            told = (
                f"{_ON_DEVICE[part]} {units.share(ns, steps.length_ns)}"
                for part, ns in parts.items()
                if ns >= _LEAST_TOLD * steps.length_ns
            )
            is_so = f"{is_so} ({', '.join(told)})"
        working = max(busy, working)
    said = f"{units.share(working, steps.length_ns)} of {each} {is_so}"
    costly = max((part for part in costs if part != main), key=lambda part: costs[part])
    if not costs[costly]:
        return said, ""
    return said, f"; {_SAID[costly][1]} {units.brief_ns(costs[costly])}"


def _on_host(steps: Steps, costs: dict[str, float], each: str) -> str:
    """What the host does where no device worked: the largest parts."""
    largest = sorted((part for part in costs if costs[part]), key=lambda part: -costs[part])
    *first, last = (
        f"{units.share(costs[part], steps.length_ns)} {_SAID[part][0]}"
        for part in largest[:_MOST_PARTS]
    )
    shares = f"{', '.join(first)} and {last}" if first else last
    return f"No device work was recorded; of {each}, {shares}"


def _advice(found: Sequence[Finding], costly: str, telling: Sequence[Finding]) -> str:
    """What to try about the costliest part, or else about the gravest finding.

    Only findings that are about much of that part tell what to try about it.
    """
    rules = _RULES.get(costly, ())
    first = [finding for finding in found if finding.rule == "odd-rank"] or found[:1]
    if first and first[0].rule in _OF_RANKS:
        rules = (first[0].rule,)
    about_it = [
        one for one in found if one.rule in rules and (one in telling or one.rule in _OF_RANKS)
    ]
    helpful = [finding for finding in found if not finding.saves_nothing]
    best = min(
        about_it,
        key=lambda one: (SEVERITIES.index(one.severity), rules.index(one.rule)),
        default=None,
    )
    # What to try about a small part is no answer where something graver was found.
    if best is not None and (best.rule in _OF_RANKS or best.severity == helpful[0].severity):
        if best.rule in _OF_RANKS:
            # Which rank it is comes first: what to try is of no use without it.
            return f"; {best.title}. {best.advice}"
        return f": {best.advice[0].lower()}{best.advice[1:]}"
    measured = [finding for finding in helpful if finding.share] or helpful
    return f". Gravest finding: {measured[0].title}. {measured[0].advice}" if measured else "."


# -- how near a run comes to what its device can do ------------------------------------------------

_TERA = 1e12
_ABOVE = 1.0
_PRODUCTS = ("gemm", "attention", "convolution")
_CLOCK, _CLOCK_TOLD = "device_clock", 0.03
_LONGEST, _AGREES, _SMALL, _ODD_PCT = 48, 0.95, 0.001, 105.0
_LEAST_NAMED = 0.005
"""Of the kernel time: what is less is not told apart."""


def efficiency_values(found: Efficiency) -> dict[str, Any]:
    """The section `efficiency` of the JSON answer."""
    step, peaks = found.step, found.peaks
    return {
        "modelled_share_pct": percent(found.modelled.modelled_share),
        "device": peaks.device if peaks else None,
        "peaks": peaks.to_dict() if peaks else None,
        "notes": list(notes_of(found)),
        "step": None if step is None else step_values(step),
        "families": to_rows(family_efficiency(found)),
        "operators": to_rows(operator_efficiency(found)),
    }


def step_values(step: StepEfficiency) -> dict[str, Any]:
    """What an average step computes and moves, and how near that is to the device's limits."""
    seconds = step.step_ns / 1e9
    return {
        "step_us": microseconds(step.step_ns),
        "devices": step.devices,
        "flop": step.flop,
        "matrix_flop": step.matrix_flop,
        "vector_flop": step.vector_flop,
        "recomputed_flop": step.recomputed_flop,
        "matrix_flop_by_precision": dict(step.matrix_flop_by_precision),
        "bytes": step.bytes,
        "wire_bytes": step.wire_bytes,
        "tflops": step.matrix_flop / seconds / _TERA if seconds else None,
        "tb_per_s": step.bytes / seconds / _TERA if seconds else None,
        "mfu_pct": percent(step.mfu),
        "hfu_pct": percent(step.hfu),
        "mbu_pct": percent(step.mbu),
        "ideal_us": microseconds(sum(step.ideal_ns.values())),
        "waterfall": [
            *(
                {"part": f"{name}_roof", "time_us": microseconds(ns)}
                for name, ns in step.ideal_ns.items()
            ),
            *(
                {"part": name.removesuffix("_ns"), "time_us": microseconds(getattr(step, name))}
                for name in BEYOND
            ),
        ],
    }


def efficiency_sentences(found: Efficiency) -> Iterator[str]:
    """The answer: the ideal step, and the utilisation of the device."""
    step = found.step
    if step is None:
        return
    ideal, length = sum(step.ideal_ns.values()), units.duration_ns(step.step_ns)
    unit = _unit(found, step)
    if found.peaks is not None and ideal:
        compute = step.ideal_ns[MATRIX] + step.ideal_ns[VECTOR]
        told = f"speed of light: {units.duration_ns(ideal)} of the {length} {unit} takes"
        memory = units.duration_ns(step.ideal_ns[MEMORY])
        yield (
            f"{told} ({units.duration_ns(compute)} bound by arithmetic, "
            f"{memory} by memory), at the {_told_peaks(found.peaks)}"
        )
    needed = step.matrix_flop - step.recomputed_flop
    tflops = 1e9 * needed / step.step_ns / _TERA
    digits = f"{tflops:,.1f}" if tflops >= 1 else f"{tflops:.2g}"
    rate = f"{digits} TFLOP/s of matrix products"
    if step.mfu is None:
        yield f"{unit} does {_amount(needed)} of matrix products, {rate}"
        return
    said = f"MFU {_share(step.mfu)}: {_amount(needed)} {unit}, {rate}"
    if step.recomputed_flop and step.hfu is not None:
        said += f" (HFU {_share(step.hfu)}: {_amount(step.recomputed_flop)} more are recomputed)"
    if step.mbu is not None:
        said += f"; MBU {_share(step.mbu)}: {units.size_bytes(step.bytes)} {unit}"
    yield said


def _unit(found: Efficiency, step: StepEfficiency) -> str:
    """What figures are of: a step, or all where none are marked; of each device."""
    marked = bool(find_steps(found.trace)["marked"].any())
    each = f" on each of {step.devices} devices" if step.devices > 1 else ""
    return f"{'a step' if marked else 'the recording'}{each}"


def _told_peaks(peaks: DevicePeaks) -> str:
    """Whose peaks they are, and which of them were measured or given."""
    said = "" if peaks.device == GIVEN else "published peaks of "
    said += _cut(peaks.device)
    for how, names in (("measured", peaks.measured), ("given", peaks.given)):
        said += f", {how}: {' '.join(names)}" if names else ""
    return said


def _share(value: float) -> str:
    """A share in percent, small ones with the digits that tell something."""
    return units.share(value, 1) if value >= _SMALL or not value else f"{100 * value:.2g} %"


def notes_of(found: Efficiency) -> Iterator[str]:
    """How much is modelled and what is not, why figures are missing, or odd."""
    modelled, step = found.modelled, found.step
    share = modelled.modelled_share
    if share is None:
        return
    times = known_times(modelled.kernels)
    total = sum(times.values())
    said = f"{units.share(share, 1)} of the kernel time is modelled"
    if times.get(LIKE, 0) > _LEAST_NAMED * total:
        said += f", {units.share(times[LIKE], total)} by the same kernel launched elsewhere"
    lacking = [
        f"{units.share(ns, total)} {_WHY[why]}"
        for why, ns in times.items()
        if why in _WHY and ns > _LEAST_NAMED * total
    ]
    yield said + (f"; of the rest {', '.join(lacking)}" if lacking else "")
    unknown = _largest_unknown(found)
    if unknown:
        yield f"not modelled are mostly {unknown}"
    in_steps = found.step_modelled_share
    if not found.has_step_time:
        yield "no MFU: how long a step takes cannot be told from this recording"
    elif step is None and in_steps is not None and in_steps < LEAST_MODELLED:
        said = f"no MFU: only {units.share(in_steps, 1)} of the kernel time of steps is modelled"
        mostly = max((why for why in times if why in _TRY), default="", key=lambda why: times[why])
        graphs = mostly != NO_CALL or "graphs" in program_traits(found.trace)
        helps = _TRY[mostly] if graphs and mostly else _LINKS if mostly else ""
        yield f"{said}; {helps}" if helps else said
    if found.peaks is None:
        yield f"no roofs: {found.choice.reason}"
    elif step is not None and step.mfu is None:
        lost = [name or "?" for name in step.matrix_flop_by_precision if not _has_peak(found, name)]
        yield f"no MFU: the peak of {', '.join(lost)} of {found.peaks.device} is not known"
    elif step is not None:
        used = found.sets.filter(pl.col("peak") != "")["peak"].unique(maintain_order=True)
        yield from found.peaks.doubts(["dram", *used])
        yield from _clock_note(found, step)
    if step is not None:
        yield from _left_out(found)
    yield from _above(found)
    yield from _doubtful(found, total)
    yield from _own_formulas(found)


_WHY = {
    NO_FORMULA: "has no formula",
    NO_SHAPES: "has no shapes",
    NO_CALL: "was launched by no recorded call",
    UNTOLD: "has arguments that do not tell",
}


_LINKS = "keep the ids that link launches to device work (correlation, External id)"
_TRY = {
    NO_FORMULA: "--formulas FILE says what operators of your own do",
    NO_SHAPES: "record shapes: record_shapes=True",
    NO_CALL: "graphs do not tell their operators: record without them",
}


def _has_peak(found: Efficiency, precision: str) -> bool:
    peaks = found.peaks
    return peaks is not None and any(map(peaks.peak, (f"{precision}_tensor", precision)))


def _own_formulas(found: Efficiency) -> Iterator[str]:
    """Formulas of the user that tell nothing, and why."""
    asked = dict(found.modelled.sets.group_by("operator").agg(pl.col("matrix_flop").count()).rows())
    for name in found.own.rows if found.own else ():
        if "*" in name or asked.get(name):
            continue
        why = "gives no figure for what it was given" if name in asked else "is of no call here"
        yield f"the formula of {name} {why}"


_LEAST_ASSUMED = 0.0005
"""Of the kernel time: less is 0.0 % as shares are written."""


def _doubtful(found: Efficiency, total: float) -> Iterator[str]:
    """What the profiler counted otherwise, and what was assumed."""
    counted = agreement(found.modelled)
    if counted is not None and counted[1] < _AGREES:
        other, calls = units.share(1 - counted[1], 1), units.counted(counted[0], "calls")
        yield f"the profiler counted other operations for {other} of {calls}"
    assumed = operator_efficiency(found).filter(pl.col("assumed") != "")
    part = float(assumed["device_ns"].sum())
    if part > _LEAST_ASSUMED * total:
        yield f"{units.share(part, total)} of it rests on what was assumed, as the table says"


def _left_out(found: Efficiency) -> Iterator[str]:
    """That products which are not modelled are not in the MFU."""
    table = family_efficiency(found)
    lost = pl.col("step_ns") * (1 - pl.col("modelled_pct") / 100)
    left = float(table.filter(pl.col("name").is_in(_PRODUCTS)).select(lost).sum().item() or 0.0)
    total = float(table["step_ns"].sum())
    if left > _LEAST_NAMED * total:
        said = f"{units.share(left, total)} of the kernel time multiplies matrices"
        yield f"{said} and is not modelled: the real MFU is higher"


def _clock_note(found: Efficiency, step: StepEfficiency) -> Iterator[str]:
    """What the clock was while it was recorded, where counters tell, and what is possible at it."""
    peaks = found.peaks
    counters = found.trace.lazy("counters").select(pl.col("counter").cast(pl.String), "value")
    means = counters.group_by("counter").agg(pl.col("value").mean()).sort("counter").collect()
    clocks = [hz for name, hz in means.iter_rows() if resource_of(name).resource == _CLOCK and hz]
    if not clocks or peaks is None or step.hfu is None:
        return
    hz = 1e6 * clocks[0]
    slower = peaks_at_clock(peaks, hz)
    at_clock = Efficiency(found.trace, PeaksChoice(slower), found.modelled).step
    if at_clock is None or at_clock.mfu is None or step.mfu is None:
        return
    if abs(at_clock.mfu / step.mfu - 1) > _CLOCK_TOLD:
        share = units.share(at_clock.mfu, 1)
        yield f"at the clock it ran at, {hz / 1e9:.2f} GHz in the mean, MFU is {share}"


def _largest_unknown(found: Efficiency) -> str:
    kernels = found.modelled.kernels
    lost = kernels.filter(pl.col("is_kernel") & ~pl.col("known").is_in([MODELLED, LIKE]))
    total = float(kernels.filter("is_kernel")["dur_ns"].sum())
    if float(lost["dur_ns"].sum()) < _LEAST_NAMED * total:
        return ""
    named = device_names(found.trace)
    code = pl.Series("code", named.codes[lost["row"].to_numpy()])
    largest = (
        lost.with_columns(code)
        .group_by("code")
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "code", descending=[True, False])
        .head(3)
    )
    return ", ".join(
        f"{_cut(short_kernel_name(named.texts[code] or ''))} ({units.share(ns, total)})"
        for code, ns in largest.iter_rows()
        if ns > _LEAST_NAMED * total
    )


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _above(found: Efficiency) -> Iterator[str]:
    """Why a figure is above what can be."""
    rows, step = operator_efficiency(found), found.step
    odd = rows.filter(pl.col("roof_pct") > _ODD_PCT)
    if float(odd["device_ns"].sum()) > _LEAST_NAMED * float(rows["device_ns"].sum()):
        yield (
            f"{units.counted(odd.height, 'rows')} of the table are above their roofs: tensors came "
            "from a cache, or the peak is not that of this device, clock or precision"
        )
    if step is None:
        return
    if step.hfu is not None and step.hfu > _ABOVE:
        which = "MFU" if (step.mfu or 0.0) > _ABOVE else "HFU"
        yield (
            f"{which} is above 100 %: the device is not the one whose peak was taken, ran above "
            "the clock of that peak, computes in another precision (tf32), or skips work "
            "(sparsity, masks); --device and --peaks say better"
        )
    if step.mbu is not None and step.mbu > _ABOVE:
        yield "MBU is above 100 %: tensors stay in the cache between operators, and never move"


def _amount(flop: float) -> str:
    """Operations in words.

    >>> _amount(5.7609e12)
    '5.76 TFLOP'
    """
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if flop >= factor:
            return f"{flop / factor:,.2f} {prefix}FLOP"
    return f"{flop:,.0f} FLOP"
