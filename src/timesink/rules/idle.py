"""Idle time of devices: data loading, time between steps, gaps, and their causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import device_columns, host_columns, host_names, memoize_per_trace
from timesink.analyses.device_activities import Gaps, device_activities
from timesink.analyses.device_idle import (
    CAUSES,
    STALL_NS,
    holding_calls,
    host_meanwhile,
    idle_causes,
    idle_ranges,
)
from timesink.analyses.device_utilisation import device_utilisation
from timesink.analyses.forest import OPERATOR, CallForest, call_forest, descendant_mask
from timesink.analyses.names import device_word, is_data_loader, short_kernel_name
from timesink.analyses.operators import node_times, python_frames
from timesink.analyses.replay.own_clock import may_be_overhead
from timesink.analyses.steps import average_step, find_steps, role_ranges
from timesink.model import intervals, units
from timesink.model.arrays import sums_by
from timesink.model.findings import Evidence, RunFinding
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace
from timesink.model.vendors import is_collective_call, waits_for_device
from timesink.patterns import regex
from timesink.rules.device_work import tiny_kernels
from timesink.rules.register import catalogue
from timesink.rules.steps import complete_steps, longest_by_name, worst_step
from timesink.rules.thresholds import CommunicationLimits, IdleLimits

_PUBLIC = regex(r"aten::[a-z]\w*")
"""Operators of PyTorch without a leading underscore."""
_MAX_NAMED = 4
_MAX_SHOWN = 3

_ON_DEVICE = ("kernel", "memcpy", "memset")
_HOST_DID = {
    "communication": "communicated",
    "runtime": "was in runtime calls",
    "data_loader": "fetched data",
    "cpu_exec": "ran host code",
    "other": "ran no operator and made no runtime call",
}
_WORK = {"kernel": "kernels", "memcpy": "copies", "memset": "memsets"}
_BOUND = {row["idle_for"]: rule for rule, row in catalogue()["run"].items() if "idle_for" in row}
"""The rule about devices that are idle mostly for a cause."""


class StepGaps(msgspec.Struct, frozen=True):
    """What lies between the complete steps, from the first to the last."""

    window_ns: int
    """From the start of the first step to the end of the last."""
    pauses: int
    """How often one step follows another."""
    parts: Mapping[str, int]
    """Time without device work by what the host did; a moment counts for the first of them."""

    @property
    def idle_ns(self) -> int:
        return sum(self.parts.values())

    def share(self, ns: float) -> float:
        """Part of the whole window."""
        return ns / self.window_ns if self.window_ns else 0.0

    def each_ns(self, amount_ns: float) -> float:
        """An amount as its average between two steps."""
        return amount_ns / max(1, self.pauses)


@memoize_per_trace
def time_between(trace: Trace) -> StepGaps:
    """How long devices are idle between steps, and what the host does then."""
    steps = complete_steps(trace)
    windows = steps.windows
    if len(windows) < 2:
        return StepGaps(0, 0, dict.fromkeys(_HOST_DID, 0))
    pauses = np.stack([windows[:-1, 1], windows[1:, 0]]).T
    layers = {
        part: _overlapping_ranges(ranges, pauses) for part, ranges in role_ranges(trace).items()
    }
    parts, parts["other"] = intervals.waterfall(layers, pauses)
    return StepGaps(
        window_ns=int(windows[-1, 1] - windows[0, 0]),
        pauses=steps.count - 1,
        parts={part: int(ns.sum()) for part, ns in parts.items() if part not in _ON_DEVICE},
    )


def _overlapping_ranges(ranges: IntervalSet, pauses: IntervalSet) -> IntervalSet:
    """Those that reach into a pause; nearly all lie in steps."""
    first = np.searchsorted(ranges[:, 1].copy(), pauses[:, 0], side="right")
    last = np.searchsorted(ranges[:, 0].copy(), pauses[:, 1])
    pieces = [ranges[begin:end] for begin, end in zip(first, last, strict=True) if begin < end]
    return intervals.merge(np.concatenate(pieces)) if pieces else ranges[:0]


def between_steps(trace: Trace) -> list[RunFinding]:
    """Pauses between steps that take over a tenth of the time from the first to the last."""
    between = time_between(trace)
    idle, loading = between.idle_ns, between.parts["data_loader"]
    if between.share(idle) <= IdleLimits.min_between:
        return []
    did = {part: between.each_ns(ns) for part, ns in between.parts.items() if ns}
    longest = sorted(did, key=lambda part: -did[part])[:2]
    doing = [f"{_HOST_DID[part]} for {units.brief_ns(did[part])}" for part in longest]
    # Data loading has a finding of its own.
    reported_ns = loading if between.share(loading) > IdleLimits.min_loading else 0
    numbers = {f"{part}_us": ns / 1000 for part, ns in did.items()}
    return complete_steps(trace).loss_findings(
        "between-steps",
        f"Devices are idle for {units.brief_ns(between.each_ns(idle))} between two steps, "
        f"{units.share(idle, between.window_ns)} of the time from the first step to the last. "
        f"Meanwhile the host {' and '.join(doing)}.",
        0.0,
        [Evidence("gap", "between two steps", numbers=numbers)],
        share=between.share(idle),
        between_ns=between.each_ns(idle - reported_ns),
    )


def data_loading(trace: Trace) -> list[RunFinding]:
    """Time in which the next batch was fetched and nothing ran on a device.

    Some programs fetch inside a step, some between two steps: either counts.
    """
    steps, between = complete_steps(trace), time_between(trace)
    waited = average_step(trace).get("data_loader_ns", 0.0)
    fetching = between.parts["data_loader"]
    inside = waited > IdleLimits.min_loading * steps.length_ns
    outside = between.share(fetching) > IdleLimits.min_loading
    if not inside and not outside:
        return []
    sentences, shares = [], [waited / steps.length_ns]
    # No more can be hidden than the rest of a step takes, and what else lies between two.
    fetched = between.each_ns(fetching)
    rest = steps.length_ns - waited + between.each_ns(between.idle_ns) - fetched
    hidden = min(waited, rest)
    if inside:
        sentences.append(f"Data loading takes {steps.part(waited)} while no device works.")
    if outside:
        shares.append((waited * steps.count + fetching) / between.window_ns)
        sentences.append(
            f"{'It takes another' if inside else 'Data loading takes'} "
            f"{units.brief_ns(between.each_ns(fetching))} between two steps"
            f"{'' if inside else ' while no device works'}, "
            f"{units.share(fetching, between.window_ns)} of the time from the first step to the "
            "last."
        )
    called = host_columns(trace)[host_names(trace).rows(is_data_loader)]
    loaders = called.filter(pl.col("kind").is_in(["operator", "annotation"]))
    slowest = [worst_step(trace, "data_loader")] if inside else []
    return steps.loss_findings(
        "data-loading",
        " ".join(sentences),
        waited,
        (*longest_by_name("call", loaders), *slowest),
        share=min(1.0, max(shares)),
        cost_ns=hidden,
        between_ns=min(fetched, rest - hidden),
    )


_IdleDevice: TypeAlias = tuple[int, int, Evidence]
"""A device, what it lost to the main cause in all steps, and its idle time by cause."""


def low_utilisation(trace: Trace) -> list[RunFinding]:
    """Devices that are idle for a fifth of the steps, or compute for less than half of them.

    Those with the same main cause share a finding.
    """
    steps = complete_steps(trace)
    if not steps.length_ns:
        return []
    used = dict(device_utilisation(trace).select("device", "within_steps").rows())
    # Causes that have a rule of their own, where that rule speaks up.
    average, reported_causes = average_step(trace), set()
    if average["data_loader_ns"] > IdleLimits.min_loading * average["total_ns"]:
        reported_causes.add("data_loading")
    if average["communication_ns"] > CommunicationLimits.min_talking * average["total_ns"]:
        reported_causes.add("communication")
    if tiny_kernels(trace):
        reported_causes.add("host")
    devices_by_cause: dict[str, list[_IdleDevice]] = {}
    for row in idle_causes(trace).to_dicts():
        number, steps_ns = row["device"], row["steps_ns"]
        if used.get(number) is None or not row["idle_ns"]:
            continue
        lazy = used[number] < IdleLimits.min_utilisation
        if not lazy and row["idle_ns"] < IdleLimits.min_idle * steps_ns:
            continue
        causes = {cause: row[f"{cause}_ns"] for cause in CAUSES}
        cause = max(causes, key=lambda name: causes[name])
        lost = causes[cause]
        copying = steps_ns - row["idle_ns"] - round(used[number] * steps_ns)
        if lazy and copying > IdleLimits.copy_bound_share * steps_ns and copying > lost:
            cause, lost = "copies", copying
        if cause in _BOUND and cause not in reported_causes:
            idle = {"idle": sum(causes.values()), **causes}
            numbers = {
                f"{name}_us_per_step": ns / steps.count / 1000 for name, ns in idle.items() if ns
            }
            numbers = {"utilisation_pct": 100 * used[number], **numbers}
            evidence = Evidence("device", _device_names(trace, [number]), numbers=numbers)
            devices_by_cause.setdefault(cause, []).append((number, lost, evidence))
    return [
        finding
        for cause, devices in devices_by_cause.items()
        for finding in _low_utilisation(
            trace, cause, sorted(devices, key=lambda entry: -entry[1]), used
        )
    ]


def _low_utilisation(
    trace: Trace, cause: str, devices: list[_IdleDevice], utilisation: Mapping[int, float]
) -> list[RunFinding]:
    """What devices lose to one cause, the one that loses most first."""
    steps, (worst, lost_ns, _) = complete_steps(trace), devices[0]
    rule, many, lost = _BOUND[cause], len(devices) > 1, lost_ns / steps.count
    names = _device_names(trace, sorted(number for number, *_ in devices))
    used = [utilisation[number] for number, *_ in devices]
    low, high = units.share(min(used), 1), units.share(max(used), 1)
    has_cause = cause != "unknown"
    words = {
        "names": names,
        "meanwhile": "" if has_cause else _meanwhile(trace),
        "which": "" if has_cause else _unlinked_work(trace, worst),
    }
    holding_calls = tuple(_holding_calls(trace, worst, cause))
    words["call"] = f", mostly {holding_calls[0].name}" if holding_calls else ""
    function, took_ns = _silent_function(trace, worst) if cause == "stalled" else ("", 0)
    words["function"] = function
    words["took"] = units.brief_ns(took_ns / steps.count) + steps.a_step
    function_text = f" Of it, {words['took']} are in {function}." if function else ""
    return steps.loss_findings(
        rule,
        f"{names} {'run' if many else 'runs'} kernels {low if low == high else f'{low} to {high}'} "
        f"of the time{' inside steps' if steps.marked else ''}. "
        f"Main cause: {catalogue()['run'][rule]['because'].format(**words)}; "
        f"{'on the worst of them ' if many else ''}{steps.part(lost)}.{function_text}",
        lost,
        (*holding_calls, *(evidence for *_, evidence in devices)),
        words,
        advice="named" if function else "advice",
        cost_ns=lost if has_cause else 0.0,
    )


def _meanwhile(trace: Trace) -> str:
    """What the host did for most of the time in which no device worked."""
    if host_columns(trace).is_empty():
        return "nothing of the host was recorded"
    average = average_step(trace)
    return f"the host mostly {_HOST_DID[max(_HOST_DID, key=lambda part: average[f'{part}_ns'])]}"


def _unlinked_work(trace: Trace, device: int) -> str:
    """Which work of a device mostly lacks its launch, in words."""
    rows = device_activities(trace)
    mine = rows.device == device
    kinds = device_columns(trace)["kind"].cast(pl.String).gather(rows.row[mine])
    launched = pl.DataFrame({"kind": kinds, "launched": rows.launched[mine]})
    shares = dict(launched.group_by("kind").agg(pl.col("launched").mean()).iter_rows())
    unlinked_kinds = [words for kind, words in _WORK.items() if shares.get(kind, 1.0) < 0.5]
    return (
        f"its {' and '.join(unlinked_kinds)}"
        if 0 < len(unlinked_kinds) < len(shares)
        else "its work"
    )


def _silent_function(trace: Trace, device: int) -> tuple[str, int]:
    """The Python function in which the host is for most of the time it does nothing else.

    Counted while the device is idle, on threads that run operators, and without the functions it
    calls; empty where none was recorded.
    """
    frames, forest = python_frames(trace), call_forest(trace)
    calls, roles = frames.calls, role_ranges(trace)
    places = {forest.threads[place] for place in np.unique(forest.thread[forest.is_operator])}
    works = np.array([place in places for place in calls.threads] or [False], dtype=np.bool_)
    if not len(calls) or not works[calls.thread].any():
        return "", 0
    silent = idle_ranges(trace)[device]
    for role in ("communication", "runtime", "data_loader", "cpu_exec"):
        silent = intervals.subtract(silent, roles[role])
    inside = intervals.coverage_within(silent, np.stack([calls.start, calls.end]).T)
    called = calls.parent >= 0
    self_ns = inside - sums_by(calls.parent[called], inside[called], len(calls))
    self_ns = np.where(works[calls.thread], np.maximum(self_ns, 0), 0)
    names, code = np.unique(np.array(frames.name), return_inverse=True)
    spent = sums_by(code[frames.row], self_ns, len(names))
    most = int(spent.argmax())
    if not spent[most]:
        return "", 0
    name = str(names[most])
    chain = int(
        sums_by(frames.row, np.where(code[frames.row] == most, self_ns, 0), len(code)).argmax()
    )
    if name.startswith("<") and frames.outer[chain] >= 0:
        # What is built in is called by something that has a place.
        name = f"{name} (called by {frames.name[frames.outer[chain]]})"
    return name, int(spent[most])


def _device_names(trace: Trace, numbers: list[int]) -> str:
    """The device, the devices, or how many there are."""
    word = device_word(trace)
    if len(numbers) == 1:
        return f"{word} {numbers[0]}" if numbers[0] >= 0 else word
    if len(numbers) > _MAX_NAMED:
        return f"{len(numbers)} {word}s ({numbers[0]} to {numbers[-1]})"
    return f"{word}s {', '.join(map(str, numbers))}"


def _holding_calls(trace: Trace, device: int, cause: str) -> tuple[Evidence, ...]:
    """The calls that held up the host while the device was idle."""
    if cause not in ("sync", "runtime_call"):
        return ()
    calls, ranges = holding_calls(trace), idle_ranges(trace)[device]
    mine = calls.waits == (cause == "sync")
    # A gap may begin where a wait ends: touching counts.
    frames = calls.ranges[mine] + np.array([0, 1])
    rows = calls.row[mine][intervals.coverage_within(ranges, frames) > 0]
    return longest_by_name("call", host_columns(trace).select("name", "dur_ns")[rows])


def dominant_operator(trace: Trace) -> list[RunFinding]:
    """One operator that takes much of a step on the host, while no device works.

    Runtime calls it makes are its own here; tables of operators count them apart.
    """
    steps, forest = complete_steps(trace), call_forest(trace)
    mine = np.flatnonzero(forest.is_operator & steps.hold(forest.start))
    if not len(mine) or not steps.length_ns:
        return []
    spent = np.bincount(forest.name[mine], weights=node_times(trace).host_self[mine])
    named = forest.name == int(spent.argmax())
    operator_nodes = mine[named[mine]]
    name = str(forest.names_of(operator_nodes[:1])[0]) if spent.any() else ""
    if not name or is_data_loader(name) or is_collective_call(name):
        return []
    # Its calls without the other operators that they call.
    called = descendant_mask(operator_nodes, forest.size) & (forest.role == OPERATOR) & ~named
    spans = np.stack([forest.start, forest.end]).T
    self_ranges = intervals.subtract(spans[operator_nodes], spans[called])
    # Nor is what it waits for its own: where nothing runs meanwhile, that was not recorded.
    holding = holding_calls(trace)
    self_ranges = intervals.subtract(self_ranges, holding.ranges[holding.waits])
    host_ns, idle = steps.per_step_ns(self_ranges), idle_ranges(trace).values()
    lost = [steps.per_step_ns(intervals.intersect(self_ranges, ranges)) for ranges in idle]
    idle_ns = min(lost, default=host_ns)
    if idle_ns <= IdleLimits.min_operator * steps.length_ns:
        return []
    calls = units.count_noun(len(operator_nodes), "calls")
    numbers = {"calls": len(operator_nodes), "host_us_per_step": host_ns / 1000}
    table_ns = float(spent.max()) / steps.count
    public = _public_name(forest, operator_nodes)
    public = public if public == name else f"{public.removeprefix('aten::')}()"
    inside = f" (in {public})" if public != name else ""
    how = (
        "by itself"
        if abs(host_ns - table_ns) <= IdleLimits.max_time_difference * host_ns
        else "with its runtime calls"
    )
    return steps.loss_findings(
        "dominant-operator",
        f"{name}{inside} takes {steps.part(host_ns)} on the host {how}, in {calls}"
        f"{f'; no device works for {units.brief_ns(idle_ns)} of it' if lost else ''}.",
        idle_ns,
        [Evidence("operator", name, numbers=numbers)],
        {"names": public},
        advice="unsure" if lost and may_be_overhead(trace, name) else "advice",
        cost_ns=idle_ns if lost else 0.0,
    )


def _public_name(forest: CallForest, nodes: NDArray[np.int64]) -> str:
    """The outermost operator that calls most of these, as code spells it: what a program calls.

    Annotations, modules and backward nodes around it are no operators of a library.
    """
    outermost = nodes.copy()
    current = nodes
    while (has_parent := forest.parent[current] >= 0).any():
        current = np.where(has_parent, forest.parent[current], current)
        is_public = np.array(
            [_PUBLIC.fullmatch(str(name)) is not None for name in forest.names_of(current)]
        )
        outermost = np.where(has_parent & is_public, current, outermost)
    names, counts = np.unique(np.array(forest.names_of(outermost), dtype=str), return_counts=True)
    return str(names[counts.argmax()])


_LargeGap: TypeAlias = tuple[int, str, str | None, Evidence]
"""Length and step of a gap between two activities, and what the host did for most of it."""


def large_gaps(trace: Trace) -> list[RunFinding]:
    """Gaps inside the steps that are long by themselves, of the device that loses most."""
    steps = complete_steps(trace)
    if not steps.length_ns:
        return []
    least = steps.large_gap_ns
    devices = ([*_unexplained_gaps(trace, large)] for large in _gaps_by_device(trace, least))
    gaps = max(
        devices, key=lambda device_gaps: sum(length for length, *_ in device_gaps), default=[]
    )
    if not gaps:
        return []
    longest_ns, step, host_name, _ = gaps[0]
    per_step = sum(length for length, *_ in gaps) / steps.count
    where = f", in step {step}" if steps.marked else ""
    meanwhile = f"while the host was in {host_name}"
    if host_name is None:
        meanwhile = "without a single host event as its cause"
    return steps.loss_findings(
        "large-gaps",
        f"{units.count_noun(len(gaps), 'gaps')} of {units.brief_ns(least)} or more "
        f"{'takes' if len(gaps) == 1 else 'take'} {units.share(per_step, steps.length_ns)} of "
        f"{'the steps' if steps.marked else steps.step_phrase}. The longest lasts "
        f"{units.brief_ns(longest_ns)}{where}, {meanwhile}.",
        per_step,
        (evidence for *_, evidence in gaps[:_MAX_SHOWN]),
    )


def _gaps_by_device(trace: Trace, least: float) -> Iterator[Gaps]:
    """The longest gaps of each device inside the steps, between two of its activities."""
    work = device_activities(trace)
    for device, idle in idle_ranges(trace).items():
        mine = np.flatnonzero(work.device == device)
        first, last = int(work.start[mine].min()), int(work.end[mine].max())
        inner = intervals.clip(idle, first, last)
        inner = inner[inner[:, 1] - inner[:, 0] >= least]
        if len(inner):
            inner = inner[np.argsort(inner[:, 0] - inner[:, 1], kind="stable")][
                : IdleLimits.looked_at
            ]
            by_start, by_end = (
                mine[np.argsort(times[mine], kind="stable")] for times in (work.start, work.end)
            )
            after = by_start[np.searchsorted(work.start[by_start], inner[:, 1])]
            before = by_end[np.searchsorted(work.end[by_end], inner[:, 0], side="right") - 1]
            yield Gaps(inner[:, 0], inner[:, 1], before, after)


def _unexplained_gaps(trace: Trace, gaps: Gaps) -> Iterator[_LargeGap]:
    """Gaps that no other rule speaks about: fetching data and communication have their own.

    So have those in which the host waits for the device, which had work that was not recorded.
    """
    work, device, host = device_activities(trace), device_columns(trace), host_columns(trace)
    before, after = (device["name"][work.row[side]] for side in (gaps.before, gaps.after))
    names, marked = find_steps(trace)["name"].to_list(), complete_steps(trace).marked
    step = np.searchsorted(find_steps(trace)["start_ns"].to_numpy(), gaps.start, side="right") - 1
    meanwhile = host_meanwhile(trace, work, gaps).select("row", "loading")
    talking = intervals.coverage_within(
        role_ranges(trace)["communication"], np.stack([gaps.start, gaps.start + gaps.length]).T
    )
    for place, (row, loading) in enumerate(meanwhile.iter_rows()):
        host_name = host["name"][row] if row >= 0 else None
        in_vain = waits_for_device(host_name or "") and gaps.length[place] >= STALL_NS
        talks = 2 * talking[place] > gaps.length[place] or is_collective_call(host_name or "")
        if not loading and not in_vain and not talks:
            name, length = names[step[place]], int(gaps.length[place])
            ends = (short_kernel_name(side[place] or "") for side in (before, after))
            gap_text = f"{f'in step {name} ' if marked else ''}from {' to '.join(ends)}"
            if host_name is not None:
                gap_text += f", host in {host_name}"
            numbers = {"gap_us": length / 1000, "start_ns": int(gaps.start[place])}
            yield length, name, host_name, Evidence("gap", gap_text, numbers=numbers)
