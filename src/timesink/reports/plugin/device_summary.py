"""The device summary of `/overview`: what each device is and how busy it was."""

from __future__ import annotations

from typing import Any, TypeAlias

from timesink.analyses.device.numbers import UNKNOWN_DEVICE
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.names import device_word
from timesink.model.trace import Trace

Line: TypeAlias = dict[str, str]

_BETWEEN_DEVICES: Line = {"title": "<hr/>", "value": ""}
_MEANINGS = {
    "utilisation": (
        "{word} Utilization: time with at least one kernel running, as a part of the time from "
        "the start of the first step to the end of the last, gaps between steps included."
    ),
    "sm_efficiency": (
        "Est. SM Efficiency: multiprocessors that have a block to work on, as a part of all, over "
        "the same time. Estimated from the blocks of each launch."
    ),
    "occupancy_pct": (
        "Est. Achieved Occupancy: warps in flight as a part of what a multiprocessor can hold, "
        "while kernels run. Estimated from each launch, weighted by duration."
    ),
    "tensor_core_ratio": (
        "Kernel Time using Tensor Cores: of the time of kernels launched by operators, the part "
        "of kernels that run on tensor cores, judged by their names."
    ),
}
"""What the ratios mean, by the column they come from."""


def device_summary(trace: Trace) -> tuple[str, dict[str, Any]] | None:
    """Key and value of the summary in the overview; None without kernels."""
    devices = device_utilisation(trace).to_dicts()
    if not devices:
        return None
    word = device_word(trace)
    lines: list[Line] = []
    for measured in devices:
        lines += [_BETWEEN_DEVICES] if lines else []
        lines += _lines(measured, trace, word)
    meanings = [
        text.format(word=word)
        for column, text in _MEANINGS.items()
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
    device = next((one for one in devices if one.id == measured["device"]), None)
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
