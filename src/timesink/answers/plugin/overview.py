"""`/overview`: how the steps divide, the device in a few lines, the environment, what to try."""

from __future__ import annotations

from html import escape
from typing import Any, TypeAlias

import polars as pl

from timesink.analyses.columns import UNKNOWN_DEVICE
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.device_utilisation import device_utilisation
from timesink.analyses.names import LIGHTNING, LIGHTNING_MODULE, device_word
from timesink.analyses.steps import PARTS, average_step, role_ranges, step_breakdown
from timesink.answers.plugin.query import Query, microseconds
from timesink.answers.views import meanings_of, parts_of
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import is_collective_call, is_collective_kernel
from timesink.rules.run_findings import find_all

# The device summary of `/overview`: what each device is and how busy it was.

Line: TypeAlias = dict[str, str]

_BETWEEN_DEVICES: Line = {"title": "<hr/>", "value": ""}


def device_summary(trace: Trace) -> tuple[str, dict[str, Any]] | None:
    """Key and value of the summary in the overview; None without kernels."""
    devices = device_utilisation(trace, zeros=True).to_dicts()
    if not devices:
        return None
    word = device_word(trace)
    lines: list[Line] = []
    for measured in devices:
        lines += [_BETWEEN_DEVICES] if lines else []
        lines += _lines(measured, trace, word)
    meanings = [
        text.format(word=word)
        for column, text in meanings_of("device-summary").items()
        if any(measured[column] is not None for measured in devices)
    ]
    # The same devices against other denominators.
    more = [
        f"{_label(measured, word)}: {_percent(measured['utilisation'])} of "
        f"{measured['window_ns'] / 1e6:.3f} ms from first to last step; "
        f"{_percent(measured['within_steps'])} of the {measured['steps_ns'] / 1e6:.3f} ms inside "
        f"steps; {_percent(measured['any_activity'])} when copies and memsets count as well."
        for measured in devices
    ]
    key = "mlu_metrics" if word == "MLU" else "gpu_metrics"
    tooltip = "\n\n".join([*meanings, *more])
    return key, {"title": f"{word} Summary", "data": lines, "tooltip": tooltip}


def _lines(measured: dict[str, Any], trace: Trace, word: str) -> list[Line]:
    devices = trace.metadata.devices
    device = next((candidate for candidate in devices if candidate.id == measured["device"]), None)
    facts: list[tuple[str, str | None]] = []
    if device is not None:
        memory = device.memory_bytes
        facts = [
            ("Name", device.name or None),
            ("Memory", None if memory is None else f"{round(memory / 1024**3, 2)} GB"),
            ("Compute Capability", device.compute_capability or None),
        ]
    facts += [
        (f"{word} Utilization", _percent(measured["utilisation"])),
        ("Est. SM Efficiency", _percent(measured["sm_efficiency"])),
        ("Est. Achieved Occupancy", _percent(measured["occupancy_pct"], of=100)),
        ("Kernel Time using Tensor Cores", _percent(measured["tensor_core_ratio"])),
    ]
    return [
        {"title": f"{_label(measured, word)}:", "value": ""},
        *({"title": title, "value": value} for title, value in facts if value is not None),
    ]


def _label(measured: dict[str, Any], word: str) -> str:
    number = measured["device"]
    return f"{word} without number" if number == UNKNOWN_DEVICE else f"{word} {number}"


def _percent(value: float | None, of: float = 1) -> str | None:
    return None if value is None else f"{round(value * (100 / of), 2)} %"


_TITLES = {part: named_part.words for part, named_part in parts_of("former-steps").items()}
_DEVICE_PARTS = ("kernel", "memcpy", "memset")
_HOVER = {"type": "string", "role": "tooltip", "p": {"html": "true"}}


def overview(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/overview`."""
    # Parts of a device are for runs that used one; nothing that takes time is left out.
    roles, on_device = role_ranges(trace), has_device_work(trace)
    has = {
        **dict.fromkeys(_DEVICE_PARTS, on_device),
        "runtime": on_device or len(roles["runtime"]) > 0,
        "communication": len(roles["communication"]) > 0,
    }
    parts = [part for part in PARTS if has.get(part, True)]
    advice = [
        f"<li>{escape(finding.sentence)} {escape(finding.advice)}</li>"
        for finding in find_all(trace)
    ]
    word = device_word(trace) if on_device else "CPU"
    answer: dict[str, Any] = {
        "steps": _steps(step_breakdown(trace), parts),
        "performance": [_performance(average_step(trace), parts)],
        "recommendations": f"<ul>{''.join(advice) or '<li>N/A</li>'}</ul>",
        "environments": [
            {"title": "Number of Worker(s)", "value": str(query.workers)},
            {"title": "Device Type", "value": word},
        ],
    }
    summary = device_summary(trace)
    return answer if summary is None else answer | dict([summary])


def _steps(steps: pl.DataFrame, parts: list[str]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [{"type": "string", "name": "Step"}]
    for part in parts:
        columns += [{"type": "number", "name": _TITLES[part]}, dict(_HOVER)]
    rows = []
    for step in steps.to_dicts():
        cells = [step["name"]]
        for part in parts:
            cells += [microseconds(step[f"{part}_ns"]), _hover(step, part)]
        rows.append(cells)
    return {"columns": columns, "rows": rows}


def _hover(step: dict[str, Any], part: str) -> str:
    part_ns, total = step[f"{part}_ns"], step["total_ns"]
    share = round(100 * part_ns / total, 2) if total else 0.0
    note = "" if step["complete"] else " (cut by the end of the recording)"
    return (
        '<div class="visualization-tooltip" style="white-space: nowrap;">'
        f"Step {escape(step['name'])}{note}: {microseconds(total)} us<br>"
        f"<b>{_TITLES[part]}: {microseconds(part_ns)} us</b>, {share} %</div>"
    )


def _performance(average: dict[str, float], parts: list[str]) -> dict[str, Any]:
    total = average.get("total_ns", 0.0)
    children = [
        {
            "name": _TITLES[part],
            "description": "",
            "value": round(average.get(f"{part}_ns", 0.0) / 1000),
            "extra": round(100 * average[f"{part}_ns"] / total, 2) if total else 0.0,
        }
        for part in parts
    ]
    return {
        "name": "Average Step Time",
        "description": "",
        "value": round(total / 1000),
        "extra": 100,
        "children": children,
    }


VIEWS = ("Overview", "Operator", "Kernel", "Trace", "Distributed", "Memory", "Module", "Lightning")
"""Every view, in the order they are listed."""


def available_views(trace: Trace) -> list[str]:
    """Names of the views with data; one trace of a run is enough to tell."""
    lightning = trace.metadata.framework == LIGHTNING and any(
        name.startswith(LIGHTNING_MODULE) for name in _names(trace, "host")
    )
    communicates = (
        _has_rows(trace, "collectives")
        or any(is_collective_call(name) for name in _names(trace, "host"))
        or any(is_collective_kernel(name) for name in _names(trace, "device"))
    )
    has_data = {
        "Kernel": _has_rows(trace, "device", pl.col("kind").is_in(KERNEL_KINDS)),
        "Distributed": communicates,
        "Memory": _has_rows(trace, "memory"),
        "Module": not lightning and _has_rows(trace, "host", pl.col("kind") == "module"),
        "Lightning": lightning,
    }
    return [view for view in VIEWS if has_data.get(view, True)]


def _has_rows(trace: Trace, table: str, condition: pl.Expr | None = None) -> bool:
    rows = trace.lazy(table)
    if condition is not None:
        rows = rows.filter(condition)
    return bool(rows.select(pl.len() > 0).collect().item())


def _names(trace: Trace, table: str) -> list[str]:
    distinct = trace.lazy(table).select(pl.col("name").unique().cast(pl.String)).collect()
    return distinct.to_series().drop_nulls().to_list()
