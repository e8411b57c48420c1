"""Several runs side by side: how well the kernels of each use the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from rich.console import Group, RenderableType

from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.usage import DeviceUse
from timesink.model import units
from timesink.output.tables import GAP, natural_width
from timesink.output.terminal import FILE_WIDTH, show, terminal_width, text, to_plain
from timesink.render.kernels import words
from timesink.render.kernels.classes import class_title
from timesink.render.kernels.columns import WHOLE
from timesink.render.kernels.groups import Choice, Excerpt, choose_of_runs, shown_table
from timesink.render.kernels.sections import axis_of_all
from timesink.render.shown import (
    Shown,
    note_blocks,
    note_lines,
    shown_lines,
    table_blocks,
    with_columns,
)
from timesink.reports.kernels import KernelReport

_LONGEST, _SHORTEST = 40, 12
_GLYPHS = {"both_low": "█", "low_sm": "▓", "low_dram": "▒", "neither_low": "░", "unknown": "·"}


def headline(reports: Sequence[KernelReport]) -> str:
    """Which run leaves the most unused, and which the least, of those that can be compared."""
    runs, axis = units.counted(len(reports), "runs"), axis_of_all(reports)
    known = [row for row in words.device_rows(reports) if _has_headroom(row[1])]
    # Without an SM counter kernels of ordinary pipes seem idle: such runs compare among themselves.
    alike = [(name, use) for name, use in known if use.axis == axis]
    left = sorted(((use.headroom_ns or 0) / use.measured_ns, name) for name, use in alike)
    if len(left) < 2 or units.share(left[0][0], 1) == units.share(left[-1][0], 1):
        return f"{runs} side by side"
    (least, best), (most, worst) = left[0], left[-1]
    which = runs if len(alike) == len(known) else f"{runs}, as far as they have SM counters,"
    return (
        f"Of {which} {worst} leaves the most unused: {units.share(most, 1)} of its kernel time "
        f"would vanish at the nearest roofs; {best} the least, {units.share(least, 1)}"
    )


def _has_headroom(use: DeviceUse) -> bool:
    return use.headroom_ns is not None and use.measured_ns > 0


# -- tables ----------------------------------------------------------------------------------------


def runs_frame(reports: Sequence[KernelReport]) -> pl.DataFrame:
    """One row per run and device, every number."""
    rows = [
        {
            "run": name,
            "host": use.host,
            "device": use.device,
            "device_name": use.name,
            **{key: getattr(use, key) for key in _PLAIN},
            **({} if use.timed else {"total_ns": None}),
            **{f"{name}_share_pct": 100 * use.class_share[name] for name in CLASSES},
        }
        for name, report in zip(words.run_names(reports), reports, strict=True)
        for use in report.devices
    ]
    texts = dict.fromkeys(("run", "host", "device_name"), pl.String)
    return pl.DataFrame(rows, schema_overrides=texts, infer_schema_length=None)


_PLAIN = (
    *("calls", "launches", "names", "total_ns", "min_ns", "max_ns"),
    *("tensor_pct", "dram_pct", "sm_pct", "headroom_ns", "measured_ns", "untimed"),
)


def use_table(reports: Sequence[KernelReport]) -> Shown:
    """How much ran in each run and how well it used the device."""
    rows = [
        (
            name,
            _calls(use),
            units.duration_ns(use.total_ns) if use.timed else "-",
            *(_known(value) for value in (use.tensor_pct, use.dram_pct, use.sm_pct)),
            "-" if use.headroom_ns is None else units.duration_ns(use.headroom_ns),
            "-" if use.headroom_ns is None else units.share(use.headroom_ns, use.measured_ns),
        )
        for name, use in words.device_rows(reports)
    ]
    columns = ("run", "calls", "total", "tensor", "DRAM", "SM", "headroom", "of time")
    return _told(Shown("Runs", columns, tuple(rows), (False, *[True] * 7)))


def _calls(use: DeviceUse) -> str:
    """Launches seen; they are only some of those of a sampled run."""
    return units.count(use.calls) if use.intervals is None else f"{units.count(use.calls)} (sample)"


def class_table(reports: Sequence[KernelReport]) -> Shown:
    """Share of the time of each class; no rows where no run has counters."""
    rows = [(name, use) for name, use in words.device_rows(reports) if words.has_utilisation(use)]
    shown = [key for key in CLASSES if any(use.class_share[key] for _, use in rows)]
    axis = axis_of_all(reports)
    return Shown(
        words.classes_title(reports[0]),
        ("run", *(class_title(key, axis) for key in shown)),
        tuple(
            (name, *(units.share(use.class_share[key], 1) for key in shown)) for name, use in rows
        ),
        (False, *[True] * len(shown)),
    )


def _whole_table(reports: Sequence[KernelReport]) -> Shown:
    """Both tables in one, as wide as it gets."""
    use, classes = use_table(reports), class_table(reports)
    shares = {row[0]: row[1:] for row in classes.rows}
    none = ("-",) * (len(classes.columns) - 1)
    return Shown(
        use.title,
        (*use.columns, *classes.columns[1:]),
        tuple((*row, *shares.get(row[0], none)) for row in use.rows),
        (*use.numeric, *classes.numeric[1:]),
    )


def _known(value: float | None) -> str:
    return "-" if value is None else words.peak_share(value)


def _told(table: Shown) -> Shown:
    """The table without columns of which nothing is known."""
    kept = [
        place for place in range(len(table.columns)) if any(row[place] != "-" for row in table.rows)
    ]
    return with_columns(table, kept)


def chosen_groups(reports: Sequence[KernelReport], by: str, choice: Choice) -> Excerpt:
    """Kernels, families, operators or modules of each run, one run after the other."""
    names = words.run_names(reports)
    tables = {name: report.groups(by) for name, report in zip(names, reports, strict=True)}
    return choose_of_runs(tables, choice)


def one_table(reports: Sequence[KernelReport], by: str | None, choice: Choice) -> Shown:
    """One row per run, or the groups of each run, as wide as that gets."""
    if by is None:
        return _whole_table(reports)
    sampled = any(report.sampling is not None for report in reports)
    chosen = chosen_groups(reports, by, choice)
    return shown_table(chosen, by, WHOLE, sampled=sampled, axis=axis_of_all(reports))


# -- on the screen, in a file, in a document -------------------------------------------------------


def print_text(reports: Sequence[KernelReport], by: str | None, choice: Choice) -> None:
    """Show the runs on the terminal, or one table of all of them."""
    width = terminal_width()
    show(_content(reports, by, choice, width), width)


def to_text(reports: Sequence[KernelReport], by: str | None, choice: Choice) -> str:
    """The runs, or one table of all of them, as plain text."""
    return to_plain(_content(reports, by, choice, FILE_WIDTH), FILE_WIDTH)


def _content(
    reports: Sequence[KernelReport], by: str | None, choice: Choice, width: int
) -> RenderableType:
    blocks: list[RenderableType] = [text(headline(reports), "bold")]
    for table in _tables(reports, by, choice):
        shown = table if by else _with_bars(table, reports, width)
        blocks += ["", text(table.title, "bold"), *shown_lines(shown, width)]
    return Group(*blocks, *note_lines(_notes(reports)))


def to_markdown(reports: Sequence[KernelReport], by: str | None, choice: Choice) -> str:
    """The same for a comment or a document."""
    blocks = [f"**{headline(reports)}**"]
    for table in _tables(reports, by, choice):
        blocks += [f"## {table.title}", *table_blocks(table)]
    return "\n\n".join(block for block in (*blocks, *note_blocks(_notes(reports))) if block)


def _tables(reports: Sequence[KernelReport], by: str | None, choice: Choice) -> list[Shown]:
    if by:
        return [one_table(reports, by, choice)]
    return [table for table in (use_table(reports), class_table(reports)) if table.rows]


def _notes(reports: Sequence[KernelReport]) -> list[str]:
    """What to know of the numbers, once; with the runs it holds for where that is not all."""
    told: dict[str, list[str]] = {}
    for name, report in zip(words.run_names(reports), reports, strict=True):
        for note in report.notes:
            told.setdefault(note, []).append(name)
    return [
        note if len(runs) == len(reports) else f"{', '.join(runs)}: {note}"
        for note, runs in told.items()
    ]


def _with_bars(table: Shown, reports: Sequence[KernelReport], width: int) -> Shown:
    """The table of classes with a bar of them in each row, where there is room for one."""
    axis = axis_of_all(reports)
    titles = {class_title(key, axis): key for key in CLASSES}
    if not set(table.columns) & set(titles):
        return table
    columns = tuple(
        f"{_GLYPHS[titles[title]]} {title}" if title in titles else title for title in table.columns
    )
    taken = sum(
        natural_width(title, [row[place] for row in table.rows]) + GAP
        for place, title in enumerate(columns)
    )
    room = min(width - taken, _LONGEST)
    if room < _SHORTEST:
        return table
    uses = [use for _, use in words.device_rows(reports) if words.has_utilisation(use)]
    return replace(
        table,
        columns=(*columns, ""),
        rows=tuple((*row, _bar(use, room)) for row, use in zip(table.rows, uses, strict=True)),
        numeric=(*table.numeric, False),
    )


def _bar(use: DeviceUse, width: int) -> str:
    """Classes one after the other; each ends where its share of all before it does."""
    bar, reached = "", 0.0
    for key in CLASSES:
        reached += use.class_share[key]
        bar += _GLYPHS[key] * (round(width * reached) - len(bar))
    return bar
