"""The answer of `timesink kernels` as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.kernels.calls import Sampling, has_counters
from timesink.analyses.kernels.families import distinguish_names
from timesink.analyses.kernels.groups import call_groups
from timesink.analyses.kernels.join import Join
from timesink.analyses.kernels.roofline import Roofline
from timesink.analyses.kernels.usage import DeviceUse, Thresholds, of_device
from timesink.analyses.names import device_word, short_name
from timesink.answers.common_json import HealthJson
from timesink.answers.kernels.kernels_json import (
    GROUPED_BY,
    SCHEMA,
    AdviceJson,
    DeviceUseJson,
    JoinJson,
    KernelsJson,
    RooflineJson,
    SampleJson,
    ThresholdsJson,
    rounded,
)
from timesink.answers.kernels.largest_headroom import largest_headroom_sentence
from timesink.answers.tables import ViewTable
from timesink.answers.views import KERNEL_GROUPS, kernel_view
from timesink.errors import UsageError
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.model.findings import KernelAdvice
from timesink.model.trace import Trace
from timesink.model.vendors import NVIDIA, UNKNOWN
from timesink.rules.kernel_use import advise

_REMEDY = ": measure them with `timesink ncu`"
_DURATIONS = "; collect gpu__time_duration.sum as well, as `timesink ncu` does"
_AXES = {"sm": "SM", "tensor": "the tensor pipe"}
_NEARLY_ALL = 0.995


def can_be_measured(trace: Trace) -> bool:
    """Whether `timesink ncu` works on the device of a recording, so far as it says."""
    return trace.metadata.vendor in {NVIDIA.name, UNKNOWN}


def _amount(use: DeviceUse, sampling: Sampling | None) -> str:
    time = units.brief_ns(use.total_ns)
    if sampling is None:
        more = f" ({units.count(use.untimed)} more without a duration)" if use.untimed else ""
        calls = units.count_noun(use.timed, "calls")
        return f"{calls} of {units.count_noun(use.names, 'kernels')}{more} took {time}"
    low, high = (use.intervals or {}).get("total_ns", (use.total_ns, use.total_ns))
    between = f"{units.brief_ns(low)} to {units.brief_ns(high)}"
    return (
        f"about {units.count_noun(use.launches, 'calls')} of "
        f"{units.count_noun(use.names, 'kernels')} took {time} "
        f"({between}, estimated from {units.count(use.calls)}: {sampling})"
    )


def _unused_text(use: DeviceUse, thresholds: Thresholds, *, is_brief: bool) -> str:
    """How much of the time is in kernels with low utilisation; empty where none is.

    `is_brief` leaves only what was not measured.
    """
    unknown = use.class_share["unknown"]
    missing = f" ({units.share(unknown, 1)} not measured)" if unknown > 1 - _NEARLY_ALL else ""
    if is_brief or (not use.class_share["both_low"] and not missing):
        return missing
    third = abs(thresholds.low - 1 / 3) < 0.005
    limit = "a third" if third else f"{units.share(thresholds.low, 1)}"
    share = units.share(use.class_share["both_low"], 1)
    return (
        f", {share} of it in kernels that use less than {limit} of both {_AXES[use.axis]} and "
        f"DRAM{missing}"
    )


def headroom_sentence(use: DeviceUse) -> str:
    """What is left to gain on a device, of the time of launches with any utilisation."""
    saved, total = (units.brief_ns(ns) for ns in (use.headroom_ns or 0, use.measured_ns))
    same_unit = saved.rsplit(" ", 1)[-1] == total.rsplit(" ", 1)[-1]
    saved_text = saved.rsplit(" ", 1)[0] if same_unit else saved
    return f"Headroom: {saved_text} of {total}, if each kernel's busiest unit ran at peak"


_COLUMN = {"name": "short_name", "full-name": "name", "module-class": "module_class"}
_ORIGINS = ("operator", "module", "module-class")
OUTSIDE_MODULES = "(outside modules)"
NOT_ALIGNED = "(not aligned)"
"""Labels of launches whose operator is in no module, and of those a timeline does not hold."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelReport:
    """Every launch of one recording, and what they come to.

    >>> import timesink
    >>> report = timesink.kernels(timesink.sample())
    >>> report.groups("family").columns[:4]
    ['host', 'device', 'group', 'label']
    """

    trace: Trace
    source: str
    calls: pl.DataFrame
    """`kernel_calls` with `class` and `weight`; `operator`, `module` and `module_class` where they
    are known."""
    thresholds: Thresholds
    sampling: Sampling | None
    devices: tuple[DeviceUse, ...]
    join: Join | None = None
    """How the launches fit those of a timeline; None where no timeline was given."""
    timeline: str | None = None
    """Path of that timeline."""
    roofline: Roofline | None = None
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers."""

    @property
    def headline(self) -> str:
        """The kernel with the most headroom and what to do about it, then what kernels took."""
        trace, devices, timed = self.trace, self.devices, [use for use in self.devices if use.timed]
        if not devices:
            return "No kernels were recorded."
        if not timed:
            remedy = _DURATIONS if can_be_measured(trace) else ""
            calls = units.count_noun(len(self.calls), "kernels")
            return f"{calls} without a duration: kernel time is not known{remedy}."
        longest = max(timed, key=lambda use: use.total_ns)
        text, place = _amount(longest, self.sampling), ""
        if len(devices) > 1:
            # Which device is spoken of.
            word = device_word(trace)
            place = "one without number" if longest.device is None else f"{word} {longest.device}"
            hosts = {use.host for use in devices}
            host = f" of {longest.host}" if len(hosts) > 1 and longest.host else ""
            many = f"{units.count(len(devices))} {word}s"
            text = f"{many}; on {place}{host}, the busiest, {text}"
            place = f" on the busiest {word}" if longest.device is None else f" on {place}{host}"
        text = f"{text[0].upper()}{text[1:]}"
        if not longest.total_ns:
            return f"{text}: no kernel time to analyze."
        if longest.headroom_ns is not None:
            first = largest_headroom_sentence(
                self.calls, longest, self.thresholds, vendor=trace.metadata.vendor, place=place
            )
            unknown_text = _unused_text(longest, self.thresholds, is_brief=bool(first))
            return f"{first} {text}{unknown_text}. {headroom_sentence(longest)}.".lstrip()
        why = f"no hardware counters{_REMEDY if can_be_measured(trace) else ''}"
        if trace.metadata.format == "ncu":
            why = "no measured metric is a utilisation"
        by_family = call_groups(of_device(self.calls, longest), "family")
        family, share = by_family.select("group", "share_pct").row(0)
        has_family = share and family != "other"
        largest = f", {units.share(share, 100)} of it in {family}" if has_family else ""
        return f"{text}{largest}; {why}."

    @cached_property
    def advice(self) -> tuple[KernelAdvice, ...]:
        """What to try on each device, first what may bring most."""
        about = self.trace.metadata.devices
        multiprocessors = {
            device.id: device.multiprocessors for device in about if device.multiprocessors
        }
        return advise(self.calls, self.devices, self.thresholds, multiprocessors)

    def view(self, by: str = "name") -> ViewTable:
        """The table of `timesink kernels --by`, from which every form of it comes.

        >>> import timesink
        >>> timesink.kernels(timesink.sample()).view("family").rows(1)["group"].item()
        'normalisation'
        """
        return ViewTable(kernel_view(by), self.groups(by))

    def groups(self, by: str = "name") -> pl.DataFrame:
        """One row per device and group, the longest first; see `call_groups`.

        `label` names a group for people: of a full name, what tells it from its namesakes; of
        launches without the operator or module, why there is none.

        >>> import timesink
        >>> report = timesink.kernels(timesink.sample())
        >>> report.groups("full-name").height > report.groups("name").height
        True
        """
        column = self._column(by)
        if by in _ORIGINS:
            return self._by_origin(column)
        groups = call_groups(self.calls, column)
        label = pl.col("group")
        if by == "full-name":
            # Short names, with what tells namesakes apart in angle brackets.
            labels = {
                name: f"{short_name(name)}<{mark}>" if mark else short_name(name)
                for name, mark in distinguish_names(
                    groups["group"].drop_nulls().unique().to_list()
                ).items()
            }
            label = label.replace_strict(labels, default=None, return_dtype=pl.String())
        return _with_label(groups, label)

    def _by_origin(self, column: str) -> pl.DataFrame:
        """Launches by what launched them; those without it by why that is, where it is known.

        They are not in the timeline, or their operator is in no module.
        """
        is_aligned = (
            pl.lit(value=True) if self.join is None else pl.lit(self.join.rows.is_not_null())
        )
        lost = pl.when(~is_aligned).then(pl.lit(NOT_ALIGNED))
        why: pl.Expr = lost
        if column != "operator" and "operator" in self.calls.columns:
            why = lost.when(pl.col("operator").is_not_null()).then(pl.lit(OUTSIDE_MODULES))
        origin = pl.col(column).cast(pl.String())
        groups = call_groups(
            self.calls.with_columns(pl.coalesce(origin, why).alias(column)), column
        )
        named = pl.when(~pl.col("group").is_in([OUTSIDE_MODULES, NOT_ALIGNED])).then("group")
        return _with_label(groups, pl.col("group")).with_columns(named)

    def _column(self, by: str) -> str:
        if by not in KERNEL_GROUPS:
            raise UsageError(
                f"kernels are not grouped by {by!r}", f"choose from {', '.join(KERNEL_GROUPS)}"
            )
        column = _COLUMN.get(by, by)
        if column in self.calls.columns:
            return column
        by = by.replace("-", " ")
        if self.join is not None and self.join.refused:
            raise UsageError(
                f"{self.source}: which {by} launched a kernel is not known: {self.join.reason}",
                f"give --trace a timeline of the same program{self.join_remedy}",
            )
        what = f"does not say which {by} launched a kernel"
        if self.join is not None or not has_counters(self.trace):
            raise UsageError(
                f"{self.source}: the timeline {what}",
                "record with the PyTorch profiler: with_modules=True for modules",
            )
        raise UsageError(
            f"{self.source}: {what}", "name a timeline of the same program with --trace"
        )

    @property
    def join_remedy(self) -> str:
        """How a refused join may be had all the same: not at all where nothing was found."""
        has_aligned = self.join is not None and self.join.aligned > 0
        return ", or lower --min-aligned" if has_aligned else ""

    @property
    def json(self) -> KernelsJson:
        """The whole answer as JSON has it; `docs/kernels.md` describes every key."""
        about, calls, sampling = self.trace.metadata, self.calls, self.sampling
        device = self.devices[0] if len(self.devices) == 1 else None
        names = calls["short_name"].n_unique()
        sampled = None
        if sampling is not None:
            launches = sum(use.launches for use in self.devices)
            sampled = SampleJson(sampling.every, sampling.per, calls.height, names, launches)
        limits = self.thresholds
        return KernelsJson(
            schema=SCHEMA,
            headline=self.headline,
            source=self.source,
            format=about.format,
            layout=about.extra.get("layout"),
            calls=calls.height,
            kernels=names,
            total_ns=device.total_ns if device and device.timed else None,
            sampled=sampled,
            thresholds=ThresholdsJson(rounded(100 * limits.low), rounded(100 * limits.high)),
            devices=list(map(DeviceUseJson.of, self.devices)),
            advice=list(map(AdviceJson.of, self.advice)),
            groups={
                by: self.view(by).rows().to_dicts()
                for by, column in GROUPED_BY.items()
                if column in calls.columns
            },
            join=None if self.join is None else JoinJson.of(self.join, self.timeline),
            roofline=None if self.roofline is None else RooflineJson.of(self.roofline),
            notes=list(self.notes),
            health=list(map(HealthJson.of, self.trace.health)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return plain_values(self.json)

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(self.json)

    def __repr__(self) -> str:
        """One line: what was read, and the answer."""
        return f"<KernelReport of {Path(self.source).name}: {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        tables = (self.groups(by).head(8) for by in ("name", "family"))
        return f"<p><b>{escape(self.headline)}</b></p>" + "".join(t._repr_html_() for t in tables)


def _with_label(groups: pl.DataFrame, label: pl.Expr) -> pl.DataFrame:
    place = groups.columns.index("group") + 1
    return groups.insert_column(place, groups.select(label.alias("label")).to_series())


def find_notes(
    trace: Trace, calls: pl.DataFrame, devices: Sequence[DeviceUse], sampling: Sampling | None
) -> Iterator[str]:
    """One sentence each, without a full stop; what trace health says already is left out."""
    if not has_counters(trace):
        yield no_counters(trace)
    elif any(use.timed for use in devices):
        yield "durations are of kernels replayed one by one, not of the program's own run"
    if sampling is not None:
        yield from _sampling_notes(calls, sampling)
    if any(use.axis == "tensor" and use.headroom_ns is not None for use in devices):
        yield (
            "no SM counter: the tensor pipe stands in for it, which overstates `both low` and the "
            "headroom of kernels that use other pipes"
        )
    if len(devices) > 1:
        yield f"{len(devices)} {device_word(trace)}s: their times are not added up"
    profiler_notes = trace.metadata.extra.get("profiler_notes")
    examples = [entry.example for entry in trace.health if entry.example]
    for note in profiler_notes if isinstance(profiler_notes, list | tuple) else ():
        text = str(note).removeprefix("Note: ")
        if not any(example.endswith(text) for example in examples):
            yield f"the profiler says: {text}"


def no_counters(trace: Trace) -> str:
    """Why nothing is known of how well kernels use the hardware, and what to do about it."""
    reason = "a timeline has no hardware counters"
    if not can_be_measured(trace):
        return reason
    return (
        f"{reason}: record them with `timesink ncu -- PROGRAM`, then "
        f"`timesink kernels COUNTERS --trace {Path(trace.metadata.source).name}`"
    )


def _sampling_notes(calls: pl.DataFrame, sampling: Sampling) -> Iterator[str]:
    seen, names = calls.height, calls["short_name"].n_unique()
    # Of each kernel the first launch is measured, however rarely it runs.
    missing = "kernels that run rarely may be missing, and " if sampling.per == "launch" else ""
    yield (
        f"a sample: {sampling} was measured, {units.count_noun(seen, 'launches')} of "
        f"{units.count_noun(names, 'kernels')} seen; totals are scaled, intervals hold in 95 "
        "of 100 "
        f"cases; {missing}the order of launches cannot be rebuilt"
    )
    if sampling.per == "launch":
        yield (
            f"if the program repeats itself every {sampling.every} launches, or a number that "
            f"shares a factor with {sampling.every}, the sample always meets the same kernels"
        )
