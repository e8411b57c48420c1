"""`/overview`: how the steps divide, the device in a few lines, the environment, what to try."""

from __future__ import annotations

from html import escape
from typing import Any

import polars as pl

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.device.presence import has_device_work
from timesink.analyses.names import device_word
from timesink.analyses.roles import role_ranges
from timesink.model.trace import Trace
from timesink.reports.plugin.device_summary import device_summary
from timesink.reports.plugin.query import Query, microseconds
from timesink.rules.single_run import find_all

TITLES = {
    "kernel": "Kernel",
    "memcpy": "Memcpy",
    "memset": "Memset",
    "communication": "Communication",
    "runtime": "Runtime",
    "data_loader": "DataLoader",
    "cpu_exec": "CPU Exec",
    "other": "Other",
}
_DEVICE_PARTS = ("kernel", "memcpy", "memset")
_HOVER = {"type": "string", "role": "tooltip", "p": {"html": "true"}}


def overview(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/overview`."""
    shown = _shown_parts(trace)
    advice = [
        f"<li>{escape(finding.sentence)} {escape(finding.advice)}</li>"
        for finding in find_all(trace)
    ]
    word = device_word(trace) if has_device_work(trace) else "CPU"
    answer: dict[str, Any] = {
        "steps": _steps(step_breakdown(trace), shown),
        "performance": [_performance(average_step(trace), shown)],
        "recommendations": f"<ul>{''.join(advice) or '<li>N/A</li>'}</ul>",
        "environments": [
            {"title": "Number of Worker(s)", "value": str(query.workers)},
            {"title": "Device Type", "value": word},
        ],
    }
    summary = device_summary(trace)
    return answer if summary is None else answer | dict([summary])


def _shown_parts(trace: Trace) -> list[str]:
    """Parts of a device are for runs that used one; nothing that takes time is left out."""
    roles, on_device = role_ranges(trace), has_device_work(trace)
    shown = {
        **dict.fromkeys(_DEVICE_PARTS, on_device),
        "runtime": on_device or len(roles["runtime"]) > 0,
        "communication": len(roles["communication"]) > 0,
    }
    return [part for part in PARTS if shown.get(part, True)]


def _steps(steps: pl.DataFrame, shown: list[str]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [{"type": "string", "name": "Step"}]
    for part in shown:
        columns += [{"type": "number", "name": TITLES[part]}, dict(_HOVER)]
    rows = []
    for step in steps.to_dicts():
        cells = [step["name"]]
        for part in shown:
            cells += [microseconds(step[f"{part}_ns"]), _hover(step, part)]
        rows.append(cells)
    return {"columns": columns, "rows": rows}


def _hover(step: dict[str, Any], part: str) -> str:
    own, total = step[f"{part}_ns"], step["total_ns"]
    share = round(100 * own / total, 2) if total else 0.0
    note = "" if step["complete"] else " (cut by the end of the recording)"
    return (
        '<div class="visualization-tooltip" style="white-space: nowrap;">'
        f"Step {escape(step['name'])}{note}: {microseconds(total)} us<br>"
        f"<b>{TITLES[part]}: {microseconds(own)} us</b>, {share} %</div>"
    )


def _performance(average: dict[str, float], shown: list[str]) -> dict[str, Any]:
    total = average.get("total_ns", 0.0)
    children = [
        {
            "name": TITLES[part],
            "description": "",
            "value": round(average.get(f"{part}_ns", 0.0) / 1000),
            "extra": round(100 * average[f"{part}_ns"] / total, 2) if total else 0.0,
        }
        for part in shown
    ]
    return {
        "name": "Average Step Time",
        "description": "",
        "value": round(total / 1000),
        "extra": 100,
        "children": children,
    }
