"""Work that a device is given: kernels that could be faster or fewer, copies, waits, memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    device_columns,
    device_names,
    device_numbers,
    event_ranges,
    host_columns,
    host_names,
    memoize_per_trace,
)
from timesink.analyses.device_idle import idle_causes, idle_ranges
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.memory_curve import memory_peaks
from timesink.analyses.names import tensor_core_use
from timesink.analyses.operators import node_times
from timesink.analyses.steps import cut_steps as steps_cut
from timesink.analyses.steps import find_steps, role_ranges
from timesink.model import intervals, units
from timesink.model.findings import MEDIUM, Evidence, RunFinding
from timesink.model.health import MAX_TIMES_FULL
from timesink.model.trace import Device, Trace
from timesink.model.vendors import NVIDIA, is_allocator_call, waits_for_device
from timesink.patterns import regex
from timesink.rules.register import make_finding
from timesink.rules.steps import Steps, complete_steps, longest_by_name, most_by_name
from timesink.rules.thresholds import DeviceWorkLimits

_MAX_CUT_SHOWN = 4
FIRST_TENSOR_CORES, FIRST_TF32 = 7, 8
"""NVIDIA devices have tensor cores from compute capability 7.0 on."""
IMAGE_LAYOUT = regex(r"nchw\w*(to|2)\w*nhwc|nhwc\w*(to|2)\w*nchw", re.IGNORECASE)
_MATRIX_KERNEL = regex(
    r"gemm|gemv|convol|conv\d|wgrad|dgrad|fprop|winograd|cutlass|scudnn|matmul|_mm", re.IGNORECASE
)
_AROUND_IT = regex(r"nchw\w*to|nhwc\w*to|tonchw|tonhwc|reduce|im2col|transpose", re.IGNORECASE)
"""Kernels that prepare or finish the product: no tensor core would help them."""


def tensor_cores_unused(trace: Trace) -> list[RunFinding]:
    """Kernels of eligible operators that surely do not use tensor cores."""
    steps = complete_steps(trace)
    newest = max(map(_major, trace.metadata.devices), default=0)
    if not steps.length_ns or trace.metadata.vendor != NVIDIA.name or newest < FIRST_TENSOR_CORES:
        return []
    missed = _missed_kernels(trace, steps)
    per_step = steps.time_of(missed)
    if per_step <= DeviceWorkLimits.min_share * steps.length_ns:
        return []
    all_kernels = int(node_times(trace).kernel_self[call_forest(trace).is_operator].sum())
    tf32 = " Or allow TF32 (torch.set_float32_matmul_precision('high'))."
    time = pl.col("dur_ns").sum() / 1000
    operators = most_by_name(
        "operator", missed, "kernel_us", "operator", kernels=pl.len(), kernel_us=time
    )
    return steps.loss_findings(
        "tensor-cores-unused",
        f"Operators that can use tensor cores spend {units.brief_ns(per_step)} "
        f"of {steps.step_phrase} in kernels without them "
        f"({units.share(int(missed['dur_ns'].sum()), all_kernels)} of all kernel time of "
        "operators).",
        per_step,
        (*operators, *longest_by_name("kernel", missed)),
        {"tf32": tf32 if newest >= FIRST_TF32 else ""},
        cost_ns=per_step * (1 - 1 / DeviceWorkLimits.tensor_core_speedup),
        kernels=tuple(missed["name"].cast(pl.String).unique()),
    )


def _major(device: Device) -> int:
    major = (device.compute_capability or "0").split(".")[0]
    return int(major) if major.isdigit() else 0


def _missed_kernels(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Kernels in the steps, launched by eligible operators, that do not use tensor cores."""
    device, forest, links = device_columns(trace), call_forest(trace), link_launches(trace)
    if not len(forest):
        empty = device.select("name", "ts_ns", "dur_ns").clear()
        return empty.with_columns(operator=pl.lit(None, pl.String()))
    without = (~tensor_core_use(trace)).fill_null(value=False).to_numpy()
    kernels = device_names(trace).matching(
        lambda name: _MATRIX_KERNEL.search(name) is not None and _AROUND_IT.search(name) is None
    )
    kernels &= (device["kind"] == "kernel").to_numpy()
    by_operator: NDArray[np.bool_] = node_times(trace).eligible_by_name & (forest.role == OPERATOR)
    rows = np.flatnonzero(kernels & without & (links.node >= 0) & by_operator[links.node])
    rows = rows[steps.hold(device["ts_ns"].to_numpy()[rows])]
    operators = forest.names_of(links.node[rows])
    return device.select("name", "ts_ns", "dur_ns")[rows].with_columns(operator=operators)


def layout_conversions(trace: Trace) -> list[RunFinding]:
    """Kernels that only change the memory layout of images, because a library wants another."""
    steps = complete_steps(trace)
    kernels = _named_in_steps(trace, steps, IMAGE_LAYOUT.search, "kernel")
    per_step = steps.time_of(kernels)
    if kernels.is_empty() or per_step <= DeviceWorkLimits.min_share * steps.length_ns:
        return []
    often = units.count_noun(round(kernels.height / steps.count), "kernels")
    return steps.loss_findings(
        "layout-conversions",
        f"{often}{steps.a_step} that only convert between NCHW and NHWC take "
        f"{steps.part(per_step)}.",
        per_step,
        longest_by_name("kernel", kernels),
        kernels=tuple(kernels["name"].cast(pl.String).unique()),
    )


def _named_in_steps(trace: Trace, steps: Steps, fits: Any, kind: str) -> pl.DataFrame:
    """Device work of a kind whose name fits, inside the steps, with its row in the table."""
    rows = device_names(trace).rows(lambda name: bool(fits(name)))
    columns = device_columns(trace).select("name", "kind", "ts_ns", "dur_ns")
    events = columns[rows].with_columns(row=pl.Series(rows, dtype=pl.Int64()))
    events = events.filter(events["kind"] == kind)
    return events.filter(pl.Series(steps.hold(events["ts_ns"].to_numpy()), dtype=pl.Boolean))


@memoize_per_trace
def tiny_kernels(trace: Trace) -> list[RunFinding]:
    """Kernels shorter than their launch, in numbers that keep the device waiting.

    Of several devices the one that loses most counts.
    """
    steps, events = complete_steps(trace), device_columns(trace)
    candidates = []
    for device, host_ns in idle_causes(trace).select("device", "host_ns").rows():
        if not host_ns >= DeviceWorkLimits.min_share * steps.length_ns * steps.count > 0:
            continue
        kernels = (events["kind"] == "kernel").to_numpy() & (device_numbers(trace) == device)
        rows = np.flatnonzero(kernels)
        rows = rows[steps.hold(events["ts_ns"].to_numpy()[rows])]
        tiny = rows[events["dur_ns"].to_numpy()[rows] < DeviceWorkLimits.tiny_ns]
        part = len(tiny) / len(rows) if len(rows) else 0.0
        # What one launch waits for that long is no matter of how many there are.
        gaps = np.diff(idle_ranges(trace)[device], axis=1)
        short_ns = int(gaps[gaps < steps.large_gap_ns].sum())
        lost_ns = min(host_ns, short_ns) / steps.count * part
        often = len(tiny) >= DeviceWorkLimits.min_tiny_per_step * steps.count
        if (
            often
            and part >= DeviceWorkLimits.min_tiny
            and lost_ns >= DeviceWorkLimits.min_share * steps.length_ns
        ):
            candidates.append((lost_ns, host_ns / steps.count, tiny, len(rows)))
    if not candidates:
        return []
    lost_ns, waited_ns, tiny, number = max(candidates, key=lambda candidate: candidate[0])
    return steps.loss_findings(
        "tiny-kernels",
        f"{units.share(len(tiny), number)} of the kernels "
        f"({units.count(len(tiny) // steps.count)}{steps.a_step}) run less than "
        f"{units.brief_ns(DeviceWorkLimits.tiny_ns)}, about the time of a launch. The device waits "
        f"{units.brief_ns(waited_ns)} of {steps.step_phrase} for launches.",
        lost_ns,
        most_by_name(
            "kernel",
            events.select("name", "dur_ns")[tiny],
            "calls_per_step",
            calls_per_step=pl.len() / steps.count,
            mean_us=pl.col("dur_ns").mean() / 1000,
        ),
    )


def pageable_copies(trace: Trace) -> list[RunFinding]:
    """Host-device copies that go through a staging buffer and hold up the host."""
    steps = complete_steps(trace)
    copies = _named_in_steps(trace, steps, lambda name: "Pageable" in name, "memcpy")
    if copies.is_empty():
        return []
    exposed = intervals.subtract(event_ranges(copies), role_ranges(trace)["kernel"])
    exposed_ns = steps.per_step_ns(exposed)
    if exposed_ns <= DeviceWorkLimits.min_copies * steps.length_ns:
        return []
    sizes = trace.lazy("device").select("bytes").collect()["bytes"]
    copies = copies.with_columns(sizes[copies["row"].to_numpy()])
    volume = int(copies["bytes"].sum() or 0)
    size = f" ({units.brief_bytes(volume)})" if volume else ""
    return steps.loss_findings(
        "pageable-copies",
        f"{units.count_noun(copies.height, 'copies')}{size} "
        f"{'uses' if copies.height == 1 else 'use'} pageable host memory. Without a kernel beside "
        f"{'it, it takes' if copies.height == 1 else 'them, they take'} {steps.part(exposed_ns)}.",
        exposed_ns,
        most_by_name(
            "copy",
            copies,
            "total_us",
            copies=pl.len(),
            total_us=pl.col("dur_ns").sum() / 1000,
            bytes=pl.col("bytes").sum(),
        ),
        cost_ns=exposed_ns * (1 - 1 / DeviceWorkLimits.pinned_speedup),
    )


def allocator_calls(trace: Trace) -> list[RunFinding]:
    """Calls that reserve device memory or give it back inside steps.

    They cost no more than the time in which no device works meanwhile.
    """
    steps, idle = complete_steps(trace), idle_ranges(trace)
    calls = host_columns(trace)[host_names(trace).rows(is_allocator_call)]
    calls = calls.filter(pl.Series(steps.hold(calls["ts_ns"].to_numpy()), dtype=pl.Boolean))
    spent = steps.time_of(calls)
    if calls.is_empty() or spent <= DeviceWorkLimits.min_copies * steps.length_ns:
        return []
    spans = event_ranges(calls)
    waited = [
        steps.per_step_ns(intervals.intersect(spans, device_idle)) for device_idle in idle.values()
    ]
    cost = max(waited, default=0.0)
    # Of a whole recording, what begins it is no news unless a device waits for it.
    if not steps.marked and waited and cost <= DeviceWorkLimits.min_copies * steps.length_ns:
        return []
    often = units.count_noun(max(1, round(calls.height / steps.count)), "calls")
    idly = f", {units.brief_ns(cost)} of it with an idle device" if cost else ""
    return steps.loss_findings(
        "allocator-calls",
        f"Allocating and freeing device memory takes {steps.part(spent)}{idly}, in "
        f"{often}{steps.a_step}.",
        spent,
        longest_by_name("call", calls),
        cost_ns=cost,
    )


def many_waits(trace: Trace) -> list[RunFinding]:
    """Operators such as `aten::item` that hold the host until the device has caught up.

    They cost no more than the idle time that waits for synchronisation.
    """
    steps, idle = complete_steps(trace), idle_causes(trace)
    if not steps.length_ns or idle.is_empty():
        return []
    # Operators that made a waiting call themselves, inside the steps.
    forest, links = call_forest(trace), link_launches(trace)
    waits = np.zeros(host_columns(trace).height, dtype=np.bool_)
    waits[host_names(trace).rows(waits_for_device)] = True
    nodes = links.call_node[waits[links.calls]]
    nodes = np.unique(forest.stands_for[nodes[nodes >= 0]])
    nodes = nodes[(forest.role[nodes] == OPERATOR) & steps.hold(forest.start[nodes])]
    waiting = forest.names_of(nodes).to_frame("name")
    waiting = waiting.with_columns(
        start_ns=pl.Series(forest.start[nodes], dtype=pl.Int64),
        end_ns=pl.Series(forest.end[nodes], dtype=pl.Int64),
    )
    calls = waiting.height / steps.count
    spent = steps.per_step_ns(waiting.select("start_ns", "end_ns").to_numpy())
    cost = min(spent, int(idle["sync_ns"].to_numpy().max()) / steps.count)
    if (
        calls < DeviceWorkLimits.min_waits_per_step
        or cost < DeviceWorkLimits.min_waiting * steps.length_ns
    ):
        return []
    return steps.loss_findings(
        "many-waits",
        f"{units.count(round(calls))} operators{steps.a_step} wait for the device and take "
        f"{steps.part(spent)} on the host.",
        cost,
        most_by_name(
            "operator",
            waiting,
            "host_us",
            calls_per_step=pl.len() / steps.count,
            host_us=(pl.col("end_ns") - pl.col("start_ns")).sum() / 1000,
        ),
    )


def memory_limit(trace: Trace) -> list[RunFinding]:
    """Peak allocation above nine tenths of the device's memory; one finding for all devices."""
    fullness = pl.col("peak_allocated_bytes") / pl.col("capacity_bytes")
    possible = fullness.is_between(DeviceWorkLimits.near_limit, MAX_TIMES_FULL, closed="right")
    near_limit = memory_peaks(trace).filter(pl.col("capacity_bytes") > 0, possible)
    full = near_limit.sort(fullness, descending=True, maintain_order=True).to_dicts()
    if not full:
        return []
    worst, many = full[0], len(full) > 1
    used, capacity = worst["peak_allocated_bytes"], worst["capacity_bytes"]
    devices_text = (
        f", the most of {len(full)} devices above {units.share(DeviceWorkLimits.near_limit, 1)}"
        if many
        else ""
    )
    sizes = ("peak_allocated_bytes", "capacity_bytes", "peak_reserved_bytes")
    return [
        make_finding(
            "memory-near-limit",
            f"{worst['device']} peaks at {units.brief_bytes(used)} allocated of "
            f"{units.brief_bytes(capacity)} ({units.share(used, capacity)}){devices_text}.",
            {"names": f"{len(full)} devices" if many else worst["device"]},
            evidence=tuple(
                Evidence(
                    "device",
                    peak["device"],
                    numbers={size: peak[size] for size in sizes if peak[size] is not None},
                )
                for peak in full
            ),
        )
    ]


def cut_steps(trace: Trace) -> list[RunFinding]:
    """Steps at the end whose device work the recording does not hold."""
    steps = find_steps(trace)
    cut = steps.filter(~steps["complete"] & pl.Series(steps_cut(trace), dtype=pl.Boolean))
    if cut.is_empty():
        return []
    complete = steps.filter("complete")
    usual = float(np.median(complete["device_events"].to_numpy())) if complete.height else 0.0
    most = int(cut["device_events"].to_numpy().max())
    first_cut = cut.select("name", "device_events").head(_MAX_CUT_SHOWN)
    return [
        make_finding(
            "cut-steps",
            f"{units.count_noun(cut.height, 'steps')} of {steps.height} "
            f"({', '.join(first_cut['name'])}) {'lacks' if cut.height == 1 else 'lack'} device "
            f"work: at most {units.count_noun(most, 'device events')}, "
            f"against {usual:.0f} in a complete step. Averages leave them out.",
            evidence=tuple(
                Evidence("step", name, numbers={"device_events": events})
                for name, events in first_cut.rows()
            ),
            least_severity=MEDIUM,
        )
    ]
