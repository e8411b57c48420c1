"""Tables of single launches and of whole runs as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.output.blocks import Table
from timesink.output.columns import column, joined, table
from timesink.render.document.kernels_tables import HELP, LINKS, MOST_ROWS, classes_in_words
from timesink.render.kernels.calls_table import chosen_calls
from timesink.render.kernels.classes import class_title
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.runs import runs_frame
from timesink.render.kernels.sections import axis_of_all
from timesink.render.kernels.words import MEANINGS
from timesink.reports.kernels import KernelReport

_UTILISATIONS = {
    "tensor_pct": "tensor",
    "dram_pct": "DRAM",
    "sm_pct": "SM",
    "occupancy_pct": "occupancy",
}


def launches_block(report: KernelReport, choice: Choice, id_: str) -> Table:
    """Launches in launch order, or the first ones of another order that was asked for."""
    sort = None if choice.sort in {"time", "calls"} else choice.sort
    calls = chosen_calls(report.calls, sort, replace(choice, top=None))
    rows = calls.head(choice.top or MOST_ROWS)
    axis = axis_of_all([report])
    grid, block = ([rows[f"{what}_{axis}"] for axis in "xyz"] for what in ("grid", "block"))
    several = rows.select("host", "device").n_unique() > 1
    texts = {name: rows[name].cast(pl.String) for name in ("short_name", "family", "name", "class")}
    origins = [name for name in ("operator", "module") if name in rows.columns]
    return table(
        id_,
        "Launches",
        [
            column("index", "launch", "count", rows["index"]),
            column("short_name", "kernel", "text", texts["short_name"], link="kernel"),
            *([column("device", "device", "text", rows["device"].cast(pl.String))] * several),
            column("dur_ns", "duration", "time_ns", rows["dur_ns"], bar=True),
            *(
                column(name, title, "percent", rows[name], help=HELP[name])
                for name, title in _UTILISATIONS.items()
            ),
            column("class", "class", "text", classes_in_words(rows["class"], axis)),
            *(
                column(name, name, "text", rows[name].cast(pl.String), link=LINKS[name])
                for name in origins
            ),
            column("grid", "grid", "text", joined(grid), main=False),
            column("block", "block", "text", joined(block), main=False),
            column("stream", "stream", "text", rows["stream"].cast(pl.String), main=False),
            column("family", "family", "text", texts["family"], main=False),
            column("name", "full name", "text", texts["name"], main=False),
        ],
        total_rows=calls.height,
        meanings=HELP,
    )


# -- runs ------------------------------------------------------------------------------------------


def runs_block(reports: Sequence[KernelReport]) -> Table:
    """One row per run and device: how much ran, how well it used the device, and its classes."""
    rows = runs_frame(reports)
    axis = axis_of_all(reports)
    several = any(len(report.devices) > 1 for report in reports)
    return table(
        "runs",
        "Runs",
        [
            column("run", "run", "text", rows["run"]),
            *([column("device", "device", "text", rows["device"].cast(pl.String))] * several),
            column("calls", "calls", "count", rows["calls"]),
            column("total_ns", "total", "time_ns", rows["total_ns"], bar=True),
            *(
                column(name, title, "percent", rows[name], help=HELP[name])
                for name, title in _UTILISATIONS.items()
                if name in rows.columns
            ),
            column("headroom_ns", "headroom", "time_ns", rows["headroom_ns"],
                   help=HELP["headroom_ns"]),
            *(
                column(f"{name}_share_pct", class_title(name, axis), "percent",
                       rows[f"{name}_share_pct"], help=f"Part of the time: {MEANINGS[name]}.")
                for name in CLASSES
                if rows[f"{name}_share_pct"].sum()
            ),
            column("device_name", "device name", "text", rows["device_name"].replace("", None)),
        ],
        meanings=HELP,
    )  # fmt: skip
