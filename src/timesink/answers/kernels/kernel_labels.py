"""What a report on kernels has to say besides its tables; where it appears is up to others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.kernels.roofline import DeviceRoof, Roofline
from timesink.analyses.kernels.usage import Axis, DeviceUse
from timesink.analyses.names import device_word
from timesink.answers.kernels.report import KernelReport
from timesink.model import units
from timesink.model.findings import KernelAdvice
from timesink.output.names import told_apart

MEANINGS = {
    "both_low": "latency-bound or too small",
    "low_sm": "memory-bound",
    "low_dram": "compute-bound",
    "neither_low": "balanced",
    "unknown": "a counter is missing",
}
"""Each class in a few words."""
UNIT = {"sm": "SM", "tensor": "tensor"}
_MUCH_PCT = 10.0
METRICS = {"tensor": "tensor", "dram": "DRAM", "sm": "SM"}


def class_title(name: str, axis: Axis) -> str:
    """A class in words; `axis` is what stands for the multiprocessors."""
    if name == "unknown":
        return "no counters"
    return name.replace("_", " ").replace("sm", UNIT[axis]).replace("dram", "DRAM")


def class_shares(use: DeviceUse) -> dict[str, str]:
    """Each class of a device with its share of the time, in words; but for those without any."""
    return {
        name: f"{class_title(name, use.axis)} {units.share(share, 1)}"
        for name, share in use.class_share.items()
        if share
    }


def peak_share(value: float) -> str:
    """A part of a peak, as precise as such measurements are."""
    return f"{value:.0f} %"


def three_digits(value: float) -> str:
    """Or all before the point: rates and intensities span many magnitudes."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def run_name(report: KernelReport) -> str:
    """Name of the file or folder."""
    name = Path(report.source).resolve().name or report.source
    return os.fsencode(name).decode("utf-8", "replace")


def device_rows(reports: Sequence[KernelReport]) -> list[tuple[str, DeviceUse]]:
    """Every device of every run: the name of the run, with the device where it has several."""
    return [
        (f"{name}, {device_name(report, use)}" if len(report.devices) > 1 else name, use)
        for name, report in zip(run_names(reports), reports, strict=True)
        for use in report.devices
    ]


def run_names(reports: Sequence[KernelReport]) -> list[str]:
    """Names of several runs, with as many folders as it takes to tell them apart."""
    paths = [Path(report.source).resolve().parts for report in reports]
    for folders in range(1, max(map(len, paths))):
        names = ["/".join(parts[-folders:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return told_apart([run_name(report) for report in reports])


def subject(report: KernelReport) -> str:
    """What was read, and on which device it was recorded."""
    devices = sorted({use.name for use in report.devices if use.name})
    return ", ".join([run_name(report), *devices[:2]])


def has_utilisation(use: DeviceUse) -> bool:
    """Whether anything is known of how well the device was used."""
    return use.headroom_ns is not None


def device_name(report: KernelReport, use: DeviceUse) -> str:
    """Number of the device, and its machine where there are several."""
    word = device_word(report.trace)
    name = f"{word} without number" if use.device is None else f"{word} {use.device}"
    hosts = {other.host for other in report.devices}
    return f"{use.host} {name}" if len(hosts) > 1 and use.host else name


def device_lines(report: KernelReport, use: DeviceUse) -> Iterator[str]:
    """How much ran on a device, and how well it was used."""
    sampled = report.sampling is not None
    amount = units.count_noun(use.calls, "calls")
    if use.untimed:
        amount += f" ({units.count(use.untimed)} without a duration)"
    amount += f" of {units.count_noun(use.names, 'kernels')}"
    if sampled:
        amount += f", a sample of about {units.count_noun(use.launches, 'launches')}"
    if use.timed:
        amount += f", {units.brief_ns(use.total_ns)}"
        bounds = (use.intervals or {}).get("total_ns")
        if sampled and bounds is not None:
            amount += f" ({units.brief_ns(bounds[0])} to {units.brief_ns(bounds[1])})"
        if use.min_ns is not None and use.max_ns is not None and use.calls > 1:
            amount += f", {units.brief_ns(use.min_ns)} to {units.brief_ns(use.max_ns)} each"
    yield amount
    phrases = [
        f"{title} {units.share(value, 100)}{interval(use, f'{metric}_pct', 1)}"
        for metric, title in METRICS.items()
        if (value := getattr(use, f"{metric}_pct")) is not None
    ]
    if phrases:
        yield f"{', '.join(phrases)} of peak, weighted by time"
    missing_parts = [
        f"{METRICS[metric]} for {units.share(missing, use.total_ns)} of the time"
        for metric, missing in use.missing_ns.items()
        if 0 < missing < use.total_ns and metric in METRICS
    ]
    if missing_parts:
        yield f"not measured: {', '.join(missing_parts)}"


def interval(use: DeviceUse, key: str, scale: float) -> str:
    """The 95 % interval of a share of a sample."""
    bounds = (use.intervals or {}).get(key)
    return "" if bounds is None else f" ({scale * bounds[0]:.1f} to {scale * bounds[1]:.1f} %)"


def what_is_low(report: KernelReport) -> str:
    """From where on use is no longer low."""
    return f"low: below {units.share(report.thresholds.low, 1)} of peak"


def gain(advice: KernelAdvice) -> str:
    """What an advice may save, as a clause; empty where there is no honest number."""
    if not advice.cost_ns:
        return ""
    return f"estimated saving {units.brief_ns(advice.cost_ns)} if {advice.gain_basis}"


def namesakes(kernels: pl.DataFrame) -> Iterator[str]:
    """Which short name hides several kernels and much of the time."""
    many = kernels.filter(pl.col("variants") > 1, pl.col("share_pct") >= _MUCH_PCT)
    if many.height:
        name, variants = many.select("group", "variants").row(0)
        yield f"{name} is the short name of {variants} kernels; --by full-name lists each"


def roofline_title(roofline: Roofline) -> str:
    """Against what the kernels are measured."""
    peaks = roofline.peaks
    if peaks is None:
        return "Roofline"
    peak_texts = []
    if peaks.dram_bytes_per_s:
        peak_texts.append(f"DRAM {units.brief_rate(peaks.dram_bytes_per_s, 'B')}")
    for precision in roofline.precisions[:1]:
        peak = peaks.peak(precision)
        if peak:
            peak_texts.append(f"{precision.replace('_', ' ')} {units.brief_rate(peak, 'FLOP')}")
    return f"Roofline of {peaks.device} ({', '.join(peak_texts)})"


def roof_lines(roof: DeviceRoof, peaks: DevicePeaks | None, use: DeviceUse) -> Iterator[str]:
    """How long the work of a device takes at the roofs, and what sets these."""
    if roof.roof_ns is not None and roof.covered_ns and peaks is not None:
        peak_kind = "measured" if peaks.measured else "data-sheet"
        user_peaks = f"given peaks of the {peaks.device}" if peaks.source else "given peaks"
        which = user_peaks if peaks.stated else f"{peak_kind} peaks of the {peaks.device}"
        text = (
            f"at the {which} the same work would take {units.brief_ns(roof.roof_ns)} of "
            f"{units.brief_ns(roof.covered_ns)} ({units.share(roof.roof_ns, roof.covered_ns)})"
        )
        differs = "; headroom above is relative to the peak at the clock of the run"
        yield text + (differs if has_utilisation(use) else "")
        yield ", ".join(
            f"{units.share(time, roof.covered_ns)} of the time is {what}-bound"
            for what, time in roof.bound_ns.items()
        )
    if 0 < roof.covered_ns < roof.total_ns:
        uncovered_ns = roof.total_ns - roof.covered_ns
        yield f"{units.share(uncovered_ns, roof.total_ns)} of the time has no roofline"


def origins(report: KernelReport) -> list[str]:
    """What is known of who launched the kernels."""
    return [by for by in ("operator", "module") if by in report.calls.columns]


def instances(report: KernelReport, classes: pl.DataFrame, by: str) -> Iterator[str]:
    """How many modules stand behind fewer classes."""
    modules = report.calls[by].drop_nulls().n_unique()
    if by == "module" and modules > classes["group"].drop_nulls().n_unique():
        yield f"--by module lists each of {units.count(modules)} modules"


def join_lines(report: KernelReport) -> Iterator[str]:
    """How well the recording fits the timeline it was joined with."""
    join = report.join
    if join is None:
        return
    timeline = Path(report.timeline or "the timeline").name
    calls = units.count_noun(join.calls, "kernels")
    text = f"{units.share(join.aligned_share, 1)} of {calls} aligned with {timeline}"
    if join.steps:
        text += f", step {join.steps[0]}" if len(join.steps) == 1 else f", {len(join.steps)} steps"
    origin_names = " and ".join(origins(report))
    yield (
        f"{text}; utilisation by {origin_names}"
        if origin_names
        else f"{text}, which names no operators"
    )
    if join.exact_share < join.aligned_share:
        rest = join.aligned_share - join.exact_share
        yield f"{units.share(rest, 1)} by name only: grid or block differ"


def runs_headline(reports: Sequence[KernelReport]) -> str:
    """Which run leaves the most unused, and which the least, of those that can be compared."""
    runs, axis = units.count_noun(len(reports), "runs"), axis_of_all(reports)
    candidates = [
        (name, use)
        for name, use in device_rows(reports)
        if use.headroom_ns is not None and use.measured_ns > 0
    ]
    # Without an SM counter kernels of ordinary pipes seem idle: such runs compare among themselves.
    comparable = [(name, use) for name, use in candidates if use.axis == axis]
    left = sorted(((use.headroom_ns or 0) / use.measured_ns, name) for name, use in comparable)
    if len(left) < 2 or units.share(left[0][0], 1) == units.share(left[-1][0], 1):
        return f"{runs} compared"
    (least, best), (most, worst) = left[0], left[-1]
    which = (
        runs if len(comparable) == len(candidates) else f"{runs}, as far as they have SM counters,"
    )
    return (
        f"Of {which} {worst} has the most headroom, {units.share(most, 1)} of its kernel time; "
        f"{best} has the least, {units.share(least, 1)}"
    )


def axis_of_all(reports: Sequence[KernelReport]) -> Axis:
    """What stands for the multiprocessors: the tensor pipe only where no device has better."""
    return (
        "sm" if any(use.axis == "sm" for report in reports for use in report.devices) else "tensor"
    )
