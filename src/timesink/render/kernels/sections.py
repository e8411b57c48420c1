"""What a report on kernels says, section by section; how it looks is up to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from timesink.analyses.kernel_calls.classes import Axis
from timesink.analyses.kernel_calls.usage import DeviceUse, of_device
from timesink.analyses.roofline.roofline import Roofline
from timesink.render.kernels import words
from timesink.render.kernels.columns import HEADROOM, LEFT_ON, MAIN, ROOFLINE, WHOLE, Column
from timesink.render.kernels.groups import Choice, choose, shown_table
from timesink.render.shown import Shown
from timesink.reports.kernels import KernelReport
from timesink.reports.kernels.headline import headroom_sentence

_TOP, _TOP_OF_MANY = 10, 5
"""Rows of a table unless asked for: of one device, and of each of several."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it: sentences, classes as bars, a table."""

    title: str
    lines: tuple[str, ...] = ()
    classes: tuple[words.ClassShare, ...] = ()
    table: Shown | None = None
    after: tuple[str, ...] = ()
    """Sentences about the table."""


def sections(report: KernelReport, choice: Choice) -> Iterator[Section]:
    """The whole summary: device by device, then what a roofline and a timeline add."""
    shortened = choice
    if choice.top is None:
        shortened = replace(choice, top=_TOP if len(report.devices) == 1 else _TOP_OF_MANY)
    for use in report.devices:
        yield from _device_sections(report, use, shortened)
    yield from _roofline_sections(report, shortened)
    yield from _joined_sections(report, shortened)


def one_table(report: KernelReport, by: str, choice: Choice) -> Shown:
    """The kernels of all devices in one table."""
    return _table(report, report.groups(by), by, choice, WHOLE)


def _device_sections(report: KernelReport, use: DeviceUse, choice: Choice) -> Iterator[Section]:
    yield Section(words.device_title(report, use), tuple(words.device_lines(report, use)))
    classes = tuple(words.class_shares(use))
    if classes:
        yield Section(words.classes_title(report), classes=classes)
    prefix = _prefix(report, use)
    tried = tuple(words.advice_lines(report, use))
    if tried:
        yield Section(f"{prefix}What to try", tried)
    kernels = of_device(report.groups("name"), use)
    table = _table(report, kernels, "name", choice, MAIN)
    yield Section(prefix + table.title, table=table, after=tuple(words.namesakes(kernels)))
    if use.headroom_ns:
        yield _headroom(report, use, kernels, choice, prefix)
    families = _table(report, of_device(report.groups("family"), use), "family", choice, MAIN)
    yield Section(prefix + families.title, table=families)


def _prefix(report: KernelReport, use: DeviceUse) -> str:
    """What a heading begins with where there are several devices."""
    return "" if len(report.devices) == 1 else f"{words.device_name(report, use)}: "


def _headroom(
    report: KernelReport, use: DeviceUse, kernels: pl.DataFrame, choice: Choice, prefix: str
) -> Section:
    """Kernels by what they would gain, whatever order the other tables are in."""
    by_gain = replace(choice, sort="headroom")
    table = _table(report, with_nearest(kernels), "name", by_gain, LEFT_ON, left_of="headroom")
    return Section(f"{prefix}Headroom", (headroom_sentence(use),), table=table)


def _roofline_sections(report: KernelReport, choice: Choice) -> Iterator[Section]:
    """The kernels against the roofs of their device, the longest first."""
    roofs = report.roofline
    if roofs is None:
        return
    title = words.roofline_title(roofs)
    reason = (f"no roofs: {roofs.reason}",) if roofs.reason else ()
    parts = [_roofline_section(report, roofs, use, choice) for use in report.devices]
    if len(parts) == 1:
        lines = (*reason, *parts[0].lines, *roofs.notes)
        yield replace(parts[0], title=title, lines=lines)
    else:
        yield Section(title, (*reason, *roofs.notes))
        yield from parts


def _roofline_section(
    report: KernelReport, roofs: Roofline, use: DeviceUse, choice: Choice
) -> Section:
    groups = roofline_groups(report, roofs, use)
    table = _table(report, groups, "name", replace(choice, sort="time"), ROOFLINE)
    lines = tuple(roofline_lines(roofs, use))
    return Section(f"{_prefix(report, use)}Roofline", lines, table=table)


def roofline_groups(report: KernelReport, roofs: Roofline, use: DeviceUse) -> pl.DataFrame:
    """The kernels of a device with what their roofs allow."""
    return of_device(roofs.groups(report.calls, "short_name"), use).with_columns(
        pl.col("group").alias("label"),
        share_pct=100 * pl.col("total_ns") / pl.col("total_ns").sum(),
    )


def roofline_lines(roofs: Roofline, use: DeviceUse) -> Iterator[str]:
    """How long the work of a device takes at the roofs."""
    return words.roof_lines(roofs.of(use), roofs.peaks, use)


def _joined_sections(report: KernelReport, choice: Choice) -> Iterator[Section]:
    """What a timeline adds: the operators and modules that launched the kernels."""
    if report.join is not None:
        yield Section("Joined with a timeline", tuple(words.join_lines(report)))
    for by in words.origins(report):
        # A network repeats its layers: their class says more than each of them.
        rows = "module-class" if by == "module" else by
        groups = report.groups(rows)
        table = _table(report, groups, rows, choice, (*MAIN, HEADROOM))
        yield Section(table.title, table=table, after=tuple(words.instances(report, groups, by)))


def _table(
    report: KernelReport,
    groups: pl.DataFrame,
    by: str,
    choice: Choice,
    columns: tuple[Column, ...],
    *,
    left_of: str = "time",
) -> Shown:
    sampled = report.sampling is not None
    excerpt = choose(groups, choice, left_of)
    return shown_table(excerpt, by, columns, sampled=sampled, axis=axis_of_all([report]))


def axis_of_all(reports: Sequence[KernelReport]) -> Axis:
    """What stands for the multiprocessors: the tensor pipe only where no device has better."""
    return "sm" if any(use.axis == "sm" for one in reports for use in one.devices) else "tensor"


def with_nearest(groups: pl.DataFrame) -> pl.DataFrame:
    """The groups with the limit each is nearest to, and how near."""
    metrics = list(words.METRICS)
    values = groups.select(f"{metric}_pct" for metric in metrics).rows()
    known = [[(value, metric) for value, metric in zip(row, metrics, strict=True)
              if value is not None] for row in values]  # fmt: skip
    nearest = [words.nearest(*max(row)) if row else None for row in known]
    return groups.with_columns(pl.Series("nearest", nearest, dtype=pl.String))
