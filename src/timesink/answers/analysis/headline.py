"""The answer in sentences: where the time of a step goes, what to do, how near to limits it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from timesink.analyses.columns import device_columns, device_names, host_columns
from timesink.analyses.damage import refusing_damage
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.fitness import NOTHING, recording_fitness
from timesink.analyses.kernels.peaks import USER_PEAKS, DevicePeaks, PeaksChoice, peaks_at_clock
from timesink.analyses.names import device_word, short_kernel_name
from timesink.analyses.program_traits import program_traits
from timesink.analyses.replay.critical_path import ON_DEVICE
from timesink.analyses.replay.own_clock import OwnClock
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
    MIN_MODELLED,
    Efficiency,
    family_efficiency,
    operator_efficiency,
)
from timesink.analyses.work.steps import MATRIX, MEMORY, VECTOR, StepEfficiency
from timesink.answers.analysis.graphs import named_share
from timesink.model import units
from timesink.model.data_files import csv_rows
from timesink.model.findings import RunFinding
from timesink.model.fitness import CRITICAL_PATH, IDLE, Reason
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import runtime_title
from timesink.patterns import regex
from timesink.rules.counter_names import resource_of
from timesink.rules.idle import time_between
from timesink.rules.register import catalogue
from timesink.rules.run_findings import find_all
from timesink.rules.steps import Steps, complete_steps
from timesink.rules.thresholds import EfficiencyLimits, IdleLimits

_ROWS = csv_rows(Path(__file__).with_name("headline.csv"))
_PART_WORDS = {row["part"]: (row["share"], row["cost"]) for row in _ROWS if row["share"]}
"""Parts of a step beside kernels: what a share of it is, and that it takes time."""
_MAX_PARTS, _MIN_SHARE_OF_PART = 3, 0.3
"""Parts in a sentence; and what of the costliest one a call has to take to be named."""

_RULES = {row["part"]: tuple(row["rules"].split()) for row in _ROWS}
"""Rules about a part of the time."""
_OF_RANKS = ("stragglers", "odd-rank")
_HOST_PARTS = ("runtime", "cpu_exec", "other")
_DOMINANT, _LAUNCHES = "dominant-operator", "low-utilisation-launch-bound"
_LAUNCH_BOUND = (_LAUNCHES, "tiny-kernels")
_MEASURES = "Time a step without a profiler"
"""How advice begins that is to measure before anything is changed."""
_MIN_BUSY = 0.0005
"""Of the step: less is 0.0 % as shares are written."""
_NO_BOUND = ("low-utilisation-unexplained", "low-utilisation-dependency-bound")
"""Rules about idle devices whose cause is not the host's time."""

_MIN_DIFFERENCE = 0.02
"""How far a recorded step may be from its corrected length, as a share, before it is mentioned."""


def tells_clocks_apart(clock: OwnClock) -> bool:
    """Whether profiler overhead makes steps noticeably longer or shorter."""
    corrected_ns = clock.own_ns
    return bool(corrected_ns) and abs(
        clock.recorded_ns - (corrected_ns or 0.0)
    ) > _MIN_DIFFERENCE * (corrected_ns or 0.0)


def interval(clock: OwnClock, length_ns: float, recorded_ns: float) -> str:
    """The confidence interval of a length without profiler overhead, in words."""
    low, high = clock.bounds_of(length_ns, recorded_ns) or (length_ns, length_ns)
    return units.range_ns(low, high)


def headline(
    trace: Trace,
    findings: Sequence[RunFinding] | None = None,
    *,
    clock: OwnClock | None = None,
    path: Mapping[str, float] | None = None,
) -> str:
    """The bottleneck of a step with its number, and what saves most.

    The advice is taken from `findings`, by default from what the rules find in this trace alone.
    A trace with a `clock` is without profiler overhead.  A device that the critical `path`, by kind
    in ns, is mostly not on is not called the bottleneck, however busy it is.
    """
    if trace.has_only_memory:
        from timesink.answers.analysis.untimed_headlines import memory_headline  # noqa: PLC0415 - start-up time

        return memory_headline(trace, find_all(trace) if findings is None else findings)
    if trace.has_only_collectives:
        from timesink.answers.analysis.untimed_headlines import log_headline  # noqa: PLC0415 - start-up time

        return log_headline(trace, find_all(trace) if findings is None else findings)
    average, unfit = average_step(trace), recording_fitness(trace).against(IDLE)
    if no_answer := _no_answer(trace, average, unfit):
        return no_answer
    findings = find_all(trace) if findings is None else findings
    if unfit:
        return f"{_unfit(trace, unfit)}{_advice(findings)}"
    steps = complete_steps(trace)
    costs = {part: average[f"{part}_ns"] for part in _PART_WORDS}
    step_words = _step_words(steps, is_corrected=clock is not None and tells_clocks_apart(clock))
    bound = _shown_bound(trace, _bound(trace, average, costs, findings), path or {})
    if has_device_work(trace):
        line = _on_device(trace, costs, step_words, bound)
    else:
        line = _on_host(steps, costs, step_words, bound)
    between = time_between(trace)
    if between.share(between.idle_ns) > IdleLimits.min_between:
        costs["between"] = between.each_ns(between.idle_ns)
        line += (
            f" Between two steps, no device works for {units.brief_ns(costs['between'])} "
            f"({units.brief_share(between.share(between.idle_ns), 1)} of the time)."
        )
    costly = max(costs, key=lambda part: costs[part])
    for finding in findings:
        if finding.id == "cpu-contention" and finding.id in _RULES.get(costly, ()):
            return f"{line} {finding.title}. {finding.advice}"
    if costly == "runtime":
        line += _longest_call(trace, costs[costly])
    return line + _advice(findings)


def _no_answer(trace: Trace, average: Mapping[str, float], unfit: Sequence[Reason]) -> str:
    """Why there is no answer at all: damage before its consequences; empty where there is one."""
    damage = refusing_damage(recording_fitness(trace))
    if damage is not None:
        return f"Cannot tell where the time goes: {_clause(damage)} {damage.record}"
    if average and average["total_ns"]:
        return ""
    nothing = [reason for reason in unfit if reason.code == NOTHING]
    return _unfit(trace, nothing) if nothing else "Nothing in this recording takes time."


def _clause(reason: Reason) -> str:
    """The first sentence of a reason, to follow a colon."""
    first = reason.sentence.partition(". ")[0].removesuffix(".")
    return f"{_lower_first(first)}."


def _lower_first(text: str) -> str:
    """A sentence as a clause; names and abbreviations at its beginning stay."""
    return f"{text[0].lower()}{text[1:]}" if text[1:2].islower() or text[1:2] == " " else text


def _unfit(trace: Trace, reasons: Sequence[Reason]) -> str:
    """Why a recording cannot say how idle its device is, what it holds, and what to record."""
    word, steps, device = device_word(trace), complete_steps(trace), device_columns(trace)
    record = reasons[0].record.partition(". ")[0].removesuffix(".")
    if not has_device_work(trace):
        return f"{reasons[0].sentence} {record}."
    busy = units.brief_ns(steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS))))
    where = _step_words(steps) if steps.marked else units.brief_ns(steps.length_ns)
    return (
        f"Cannot tell how idle the {word} is: {_clause(reasons[0])} "
        f"The recording holds {busy} of {word} work in {where}. {record}."
    )


def _step_words(steps: Steps, *, is_corrected: bool = False) -> str:
    """What a part is taken of: a step, or the recording where none is marked."""
    length = units.brief_ns(steps.length_ns)
    if not steps.marked:
        without = " that it takes without profiler overhead" if is_corrected else ""
        return f"the {length}{without}" if without else f"the recorded {length}"
    return f"the {length} step (one step recorded)" if steps.count == 1 else f"each {length} step"


def _bound(
    trace: Trace,
    average: Mapping[str, float],
    costs: Mapping[str, float],
    findings: Sequence[RunFinding],
) -> str:
    """The bottleneck in a word of the glossary; empty where nothing clearly dominates.

    A part dominates from half of the step on. Computation does where the device is hardly idle,
    and mostly where it takes half of the step or more.
    """
    length_ns, between = average["total_ns"], time_between(trace)
    between_share = between.share(between.idle_ns)
    if has_device_work(trace) and between_share >= IdleLimits.min_utilisation:
        is_loading = 2 * between.parts["data_loader"] >= between.idle_ns
        return "data-loading-bound" if is_loading else "host-bound"
    parts = {
        "copy-bound": costs["memcpy"],
        "communication-bound": costs["communication"],
        "data-loading-bound": costs["data_loader"],
        "host-bound": sum(costs[part] for part in _HOST_PARTS),
    }
    bound = max(parts, key=lambda name: parts[name])
    computing_ns = average["kernel_ns"] + costs["memcpy"] + costs["memset"]
    if parts[bound] < IdleLimits.min_utilisation * length_ns:
        share = 0.0 if between_share > IdleLimits.min_between else computing_ns / length_ns
        return _computing_bound(device_word(trace), share)
    if bound != "host-bound":
        return bound
    if not has_device_work(trace):
        return ""
    about_host = [
        finding.id
        for finding in findings
        if finding.id in _NO_BOUND or any(finding.id in _RULES[part] for part in _HOST_PARTS)
    ]
    first = about_host[0] if about_host else ""
    if first in _NO_BOUND:
        return ""
    # All launches as a graph would be without the operator too.
    is_operator = first == _LAUNCHES and _DOMINANT in about_host
    return "launch-bound" if first in _LAUNCH_BOUND and not is_operator else bound


def _shown_bound(trace: Trace, bound: str, path: Mapping[str, float]) -> str:
    """The bottleneck where the recording shows it, and where its critical path does not deny it."""
    if not recording_fitness(trace).answers(CRITICAL_PATH):
        return ""
    on_device = sum(path.get(kind, 0.0) for kind in ON_DEVICE)
    is_denied = f"{device_word(trace)}-bound" in bound and 2 * on_device < sum(path.values())
    return "" if is_denied else bound


def _computing_bound(word: str, share: float) -> str:
    """The bottleneck where a device computes for this share of a step, and nothing else takes most.

    Empty where it computes for less than half of it.
    """
    if share < IdleLimits.min_utilisation:
        return ""
    return f"{word}-bound" if share >= EfficiencyLimits.busy_share else f"mostly {word}-bound"


def _longest_call(trace: Trace, cost_ns: float) -> str:
    """The runtime call that takes much of their time; empty where none does, or all is little."""
    host, steps = host_columns(trace), complete_steps(trace)
    if cost_ns < IdleLimits.min_idle * steps.length_ns:
        return ""
    calls = host.filter(host["kind"].is_in(LAUNCH_KINDS))
    calls = calls.filter(steps.hold(calls["ts_ns"].to_numpy()))
    by_name = calls.group_by("name").agg(pl.col("dur_ns").sum()).sort("dur_ns", "name")
    if by_name.is_empty():
        return ""
    name, total = by_name.row(-1)
    took = total / steps.count
    is_much = took >= _MIN_SHARE_OF_PART * cost_ns
    return f" {name} takes {units.brief_ns(took)}{steps.a_step}." if is_much else ""


def _on_device(trace: Trace, costs: Mapping[str, float], step_words: str, bound: str) -> str:
    """The bottleneck and how busy the device is; and what takes most time beside kernels."""
    word, steps, device = device_word(trace), complete_steps(trace), device_columns(trace)
    # Everything that ran on a device; communication of the host is not among it.
    busy_ns = steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS)))
    busy = f"busy {units.brief_share(busy_ns, steps.length_ns)} of {step_words}"
    if busy_ns < _MIN_BUSY * steps.length_ns:
        busy = f"idle in {'nearly ' * bool(busy_ns)}all of {step_words}"
    costly = max(costs, key=lambda part: costs[part])
    part_name, took = _PART_WORDS[costly][0], units.brief_ns(costs[costly])
    start = f"{bound[0].upper()}{bound[1:]}: " if bound else ""
    devices = _devices(trace, word)
    if bound == f"{word}-bound":
        return f"{start}{devices} {busy}."
    if bound in ("communication-bound", "copy-bound", "data-loading-bound") and costs[costly]:
        share = f"{units.brief_share(costs[costly], steps.length_ns)} of {step_words}"
        if costs[costly] >= IdleLimits.min_utilisation * steps.length_ns:
            return f"{start}{part_name} {_be(part_name)} {share}."
    between = time_between(trace)
    is_between = between.each_ns(between.idle_ns) > costs[costly]
    is_named = costs[costly] and not (
        is_between and between.share(between.idle_ns) > IdleLimits.min_between
    )
    cost = f" {_PART_WORDS[costly][1].format(took=took)}." if is_named else ""
    runtime = runtime_title(trace.metadata.vendor)
    if runtime and costly == "runtime":
        cost = cost.replace("Runtime calls", f"{runtime} runtime calls")
    return f"{start}{devices if bound else _upper_first(devices)} {busy}.{cost}"


def _be(noun: str) -> str:
    return "are" if noun.endswith("s") else "is"


def _upper_first(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _devices(trace: Trace, word: str) -> str:
    """The device, or of several at least one, as the subject of a sentence with its verb."""
    numbers = device_columns(trace).filter(pl.col("kind").is_in(BUSY_KINDS))["device"].n_unique()
    return f"at least one of {numbers} {word}s is" if numbers > 1 else f"the {word} is"


def _on_host(steps: Steps, costs: Mapping[str, float], step_words: str, bound: str) -> str:
    """What the host does where no device worked: the largest parts."""
    largest = sorted((part for part in costs if costs[part]), key=lambda part: -costs[part])
    if bound:
        name = _PART_WORDS[largest[0]][0]
        share = f"{units.brief_share(costs[largest[0]], steps.length_ns)} of {step_words}"
        return f"{_upper_first(bound)}: {name} {_be(name)} {share}. No device work was recorded."
    largest_part, *smaller_parts = (
        (_PART_WORDS[part][0], units.brief_share(costs[part], steps.length_ns))
        for part in largest[:_MAX_PARTS]
    )
    verb = "take" if _be(largest_part[0]) == "are" else "takes"
    shares = ", ".join(
        [f"{largest_part[0]} {verb} {largest_part[1]}", *map(" ".join, smaller_parts)]
    )
    return f"No device work was recorded. Of {step_words}, {shares}."


def _advice(findings: Sequence[RunFinding]) -> str:
    """What saves most and how much that is, or else what to do about the most severe finding."""
    ranks = [finding for finding in findings if finding.id == "odd-rank"] or findings[:1]
    if ranks and ranks[0].rule in _OF_RANKS:
        # Which rank it is comes first: what to try is of no use without it.
        return f" {_upper_first(ranks[0].title)}. {ranks[0].advice}"
    best = biggest_saving(findings)
    if best is not None:
        return f" {saving_sentence(best)}"
    helpful = [finding for finding in findings if not finding.saves_nothing]
    measured = [finding for finding in helpful if finding.share] or helpful
    return f" Advice: {_lower_first(_action(measured[0].advice))}." if measured else ""


def biggest_saving(findings: Iterable[RunFinding]) -> RunFinding | None:
    """The finding that saves most, in steps and between two; None where none saves anything."""
    saving = [finding for finding in findings if finding.cost_ns or finding.between_ns]
    return max(saving, key=lambda finding: finding.cost_ns + finding.between_ns, default=None)


def saving_sentence(best: RunFinding) -> str:
    """What to do and how much shorter a step is then."""
    head, mark, rest = _split_action(_action(best.advice))
    amount = "at most" if catalogue()["run"][best.rule].get("at_most") else "about"
    saved = f"{amount} {units.brief_ns(best.cost_ns or best.between_ns)}"
    if best.saving_share and not (best.cost_ns and best.between_ns):
        of = "" if best.cost_ns else " between two steps"
        saved += f"{of}, {units.brief_share(best.saving_share, 1)}"
    elif best.between_ns:
        saved += f" and {units.brief_ns(best.between_ns)} between two steps"
    # One pair of brackets is enough.
    action = f"{head[:-1]}; {saved})" if head.endswith(")") else f"{head} ({saved})"
    # What only a measurement tells comes before any saving.
    lead = "Biggest saving"
    if head.startswith(_MEASURES):
        lead, action = "Next", f"{head} (saving {saved})"
    return f"{lead}: {_lower_first(action)}{mark}{rest}.{_limit_of(best)}"


def _limit_of(finding: RunFinding) -> str:
    """Why no more than that can be saved, where the finding says so; after a space."""
    if finding.id != "exposed-communication":
        return ""
    reason = finding.sentence.partition("). ")[2]
    return f" {reason}" if reason else ""


def _action(advice: str) -> str:
    """The first sentence of an advice, which is one action."""
    return advice.partition(". ")[0].removesuffix(".")


_AFTER_ACTION = regex(r"; |(?<!\)): ")


def _split_action(sentence: str) -> tuple[str, str, str]:
    """The action, and what explains it."""
    match = _AFTER_ACTION.search(sentence)
    if match is None:
        return sentence, "", ""
    return sentence[: match.start()], match[0], sentence[match.end() :]


# -- how near a run comes to what its device can do ------------------------------------------------

_TERA = 1e12
_ABOVE = 1.0
_PRODUCTS = ("gemm", "attention", "convolution")
_CLOCK, _CLOCK_TOLD = "device_clock", 0.03
_LONGEST, _AGREES, _SMALL, _ODD_PCT = 48, 0.95, 0.001, 105.0
_MIN_NAMED = 0.005
"""Of the kernel time: what is less is not distinguished."""


def efficiency_sentences(efficiency: Efficiency) -> Iterator[str]:
    """The answer: the ideal step, and the utilisation of the device."""
    step = efficiency.step
    if step is None:
        return
    ideal, length = sum(step.ideal_ns.values()), units.brief_ns(step.step_ns)
    unit = _unit(efficiency, step)
    if efficiency.peaks is not None and ideal:
        compute = step.ideal_ns[MATRIX] + step.ideal_ns[VECTOR]
        ideal_text = f"speed of light: {units.brief_ns(ideal)} of the {length} {unit} takes"
        memory = units.brief_ns(step.ideal_ns[MEMORY])
        yield (
            f"{ideal_text} ({units.brief_ns(compute)} compute-bound, "
            f"{memory} memory-bound), at the {_peaks_text(efficiency.peaks)}"
        )
    needed = step.matrix_flop - step.recomputed_flop
    tflops = 1e9 * needed / step.step_ns / _TERA
    digits = units.three_digits(tflops, 1) if tflops >= 1 else f"{tflops:.2g}"
    rate = f"{digits} TFLOP/s of matrix products"
    if step.mfu is None:
        yield f"{unit} does {_amount(needed)} of matrix products, {rate}"
        return
    line = f"MFU {_share(step.mfu)}: {_amount(needed)} {unit}, {rate}"
    if step.recomputed_flop and step.hfu is not None:
        line += f" (HFU {_share(step.hfu)}: {_amount(step.recomputed_flop)} more are recomputed)"
    if step.mbu is not None:
        line += f"; MBU {_share(step.mbu)}: {units.brief_bytes(step.bytes)} {unit}"
    yield line


def _unit(efficiency: Efficiency, step: StepEfficiency) -> str:
    """What figures are of: a step, or all where none are marked; of each device."""
    marked = bool(find_steps(efficiency.trace)["marked"].any())
    per_device = f" on each of {step.devices} devices" if step.devices > 1 else ""
    return f"{'a step' if marked else 'the recording'}{per_device}"


def _peaks_text(peaks: DevicePeaks) -> str:
    """Whose peaks they are, and which of them were measured or given."""
    text = "" if peaks.device == USER_PEAKS else "published peaks of "
    text += _cut_name(peaks.device)
    for how, names in (("measured", peaks.measured), ("given", peaks.stated)):
        text += f", {how}: {' '.join(names)}" if names else ""
    return text


def _share(value: float) -> str:
    """A share in percent, small ones with the digits that tell something."""
    return units.share(value, 1) if value >= _SMALL or not value else f"{100 * value:.2g} %"


def notes_of(efficiency: Efficiency) -> Iterator[str]:
    """How much is modelled and what is not, why figures are missing, or odd."""
    modelled, step = efficiency.modelled, efficiency.step
    share = modelled.modelled_share
    if share is None:
        return
    times = known_times(modelled.kernels)
    total = sum(times.values())
    line = f"{units.share(share, 1)} of the kernel time is modelled"
    if times.get(LIKE, 0) > _MIN_NAMED * total:
        line += f", {units.share(times[LIKE], total)} by the same kernel launched elsewhere"
    missing_parts = [
        f"{units.share(ns, total)} {_WHY[why]}"
        for why, ns in times.items()
        if why in _WHY and ns > _MIN_NAMED * total
    ]
    yield line + (f"; of the rest {', '.join(missing_parts)}" if missing_parts else "")
    yield from named_share(efficiency.trace)
    unknown = _largest_unknown(efficiency)
    if unknown:
        yield f"mostly not modelled: {unknown}"
    in_steps = efficiency.step_modelled_share
    if not efficiency.has_step_time:
        yield "no MFU: this recording does not show how long a step takes"
    elif step is None and in_steps is not None and in_steps < MIN_MODELLED:
        line = f"no MFU: only {units.share(in_steps, 1)} of the kernel time of steps is modelled"
        mostly = max((why for why in times if why in _TRY), default="", key=lambda why: times[why])
        graphs = mostly != NO_CALL or "graphs" in program_traits(efficiency.trace)
        helps = _TRY[mostly] if graphs and mostly else _LINKS if mostly else ""
        yield f"{line}; {helps}" if helps else line
    if efficiency.peaks is None:
        yield f"no roofline: {efficiency.choice.reason}"
    elif step is not None and step.mfu is None:
        lost = [
            name or "?" for name in step.matrix_flop_by_precision if not _has_peak(efficiency, name)
        ]
        yield f"no MFU: the peak of {', '.join(lost)} of {efficiency.peaks.device} is not known"
    elif step is not None:
        used = efficiency.sets.filter(pl.col("peak") != "")["peak"].unique(maintain_order=True)
        yield from efficiency.peaks.doubts(["dram", *used])
        yield from _clock_note(efficiency, step)
    if step is not None:
        yield from _left_out(efficiency)
    yield from _above(efficiency)
    yield from _doubtful(efficiency, total)
    yield from _own_formulas(efficiency)


_WHY = {
    NO_FORMULA: "has no formula",
    NO_SHAPES: "has no shapes",
    NO_CALL: "was launched by no recorded call",
    UNTOLD: "has arguments that do not determine it",
}


_LINKS = "keep the ids that link launches to device work (correlation, External id)"
_TRY = {
    NO_FORMULA: "--formulas FILE says what operators of your own do",
    NO_SHAPES: "record shapes: record_shapes=True",
    NO_CALL: "name the captures of the graphs with --capture, or an eager run with --names-from",
}


def _has_peak(efficiency: Efficiency, precision: str) -> bool:
    peaks = efficiency.peaks
    return peaks is not None and any(map(peaks.peak, (f"{precision}_tensor", precision)))


def _own_formulas(efficiency: Efficiency) -> Iterator[str]:
    """Formulas of the user that tell nothing, and why."""
    flop_counts = dict(
        efficiency.modelled.sets.group_by("operator").agg(pl.col("matrix_flop").count()).rows()
    )
    for name in efficiency.formulas.rows if efficiency.formulas else ():
        if "*" in name or flop_counts.get(name):
            continue
        why = "gives no figure for its arguments" if name in flop_counts else "matches no call here"
        yield f"the formula of {name} {why}"


_MIN_ASSUMED = 0.0005
"""Of the kernel time: less is 0.0 % as shares are written."""


def _doubtful(efficiency: Efficiency, total: float) -> Iterator[str]:
    """What the profiler counted otherwise, and what was assumed."""
    counted = agreement(efficiency.modelled)
    if counted is not None and counted[1] < _AGREES:
        other, calls = units.share(1 - counted[1], 1), units.count_noun(counted[0], "calls")
        yield f"the profiler counts a different number of operations for {other} of {calls}"
    assumed = operator_efficiency(efficiency).filter(pl.col("assumed") != "")
    part = float(assumed["device_ns"].sum())
    if part > _MIN_ASSUMED * total:
        yield f"{units.share(part, total)} of the kernel time rests on assumptions (column assumed)"


def _left_out(efficiency: Efficiency) -> Iterator[str]:
    """That products which are not modelled are not in the MFU."""
    table = family_efficiency(efficiency)
    lost = pl.col("step_ns") * (1 - pl.col("modelled_pct") / 100)
    left = float(table.filter(pl.col("name").is_in(_PRODUCTS)).select(lost).sum().item() or 0.0)
    total = float(table["step_ns"].sum())
    if left > _MIN_NAMED * total:
        line = f"{units.share(left, total)} of the kernel time is matrix products"
        yield f"{line} that are not modelled: the real MFU is higher"


def _clock_note(efficiency: Efficiency, step: StepEfficiency) -> Iterator[str]:
    """What the clock was while it was recorded, where counters tell, and what is possible at it."""
    peaks = efficiency.peaks
    counters = efficiency.trace.lazy("counters").select(pl.col("counter").cast(pl.String), "value")
    means = counters.group_by("counter").agg(pl.col("value").mean()).sort("counter").collect()
    clocks = [hz for name, hz in means.iter_rows() if resource_of(name).resource == _CLOCK and hz]
    if not clocks or peaks is None or step.hfu is None:
        return
    hz = 1e6 * clocks[0]
    slower = peaks_at_clock(peaks, hz)
    at_clock = Efficiency(efficiency.trace, PeaksChoice(slower), efficiency.modelled).step
    if at_clock is None or at_clock.mfu is None or step.mfu is None:
        return
    if abs(at_clock.mfu / step.mfu - 1) > _CLOCK_TOLD:
        share = units.share(at_clock.mfu, 1)
        yield f"at its mean clock of {hz / 1e9:.2f} GHz, MFU is {share}"


def _largest_unknown(efficiency: Efficiency) -> str:
    kernels = efficiency.modelled.kernels
    lost = kernels.filter(pl.col("is_kernel") & ~pl.col("known").is_in([MODELLED, LIKE]))
    total = float(kernels.filter("is_kernel")["dur_ns"].sum())
    if float(lost["dur_ns"].sum()) < _MIN_NAMED * total:
        return ""
    named = device_names(efficiency.trace)
    code = pl.Series("code", named.codes[lost["row"].to_numpy()])
    largest = (
        lost.with_columns(code)
        .group_by("code")
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "code", descending=[True, False])
        .head(3)
    )
    return ", ".join(
        f"{_cut_name(short_kernel_name(named.texts[code] or ''))} ({units.share(ns, total)})"
        for code, ns in largest.iter_rows()
        if ns > _MIN_NAMED * total
    )


def _cut_name(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _above(efficiency: Efficiency) -> Iterator[str]:
    """Why a figure is above what can be."""
    rows, step = operator_efficiency(efficiency), efficiency.step
    odd = rows.filter(pl.col("roof_pct") > _ODD_PCT)
    if float(odd["device_ns"].sum()) > _MIN_NAMED * float(rows["device_ns"].sum()):
        yield (
            f"{units.count_noun(odd.height, 'rows')} of the table are above their roofline: "
            "tensors came "
            "from a cache, or the peak is not that of this device, clock or precision"
        )
    if step is None:
        return
    if step.hfu is not None and step.hfu > _ABOVE:
        which = "MFU" if (step.mfu or 0.0) > _ABOVE else "HFU"
        yield (
            f"{which} is above 100 %: the device is not the one whose peak was taken, ran above "
            "the clock of that peak, computes in another precision (tf32), or skips work "
            "(sparsity, masks); --device and --peaks choose others"
        )
    if step.mbu is not None and step.mbu > _ABOVE:
        yield "MBU is above 100 %: tensors stay in the cache between operators"


def _amount(flop: float) -> str:
    """Operations in words.

    >>> _amount(5.7609e12)
    '5.76 TFLOP'
    """
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if flop >= factor:
            return f"{units.three_digits(flop / factor)} {prefix}FLOP"
    return f"{flop:,.0f} FLOP"
