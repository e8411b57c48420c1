"""The answer in one sentence: how much of a step is device work, and what costs most beside it."""

from __future__ import annotations

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import device_columns
from timesink.analyses.findings import find_all
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_COSTS = {
    "memcpy": "copies cost",
    "memset": "memsets cost",
    "communication": "communication that nothing overlaps costs",
    "runtime": "runtime calls with an idle device cost",
    "data_loader": "data loading costs",
    "cpu_exec": "host code with an idle device costs",
    "other": "time with no recorded activity costs",
}


_SLOW_HOST = ("low-utilisation-launch-bound", "low-utilisation-sync-bound")
_RULES = {
    "memcpy": ("pageable-copies", "low-utilisation-copy-bound"),
    "communication": ("exposed-communication", "gloo-on-devices", "data-parallel"),
    "runtime": (
        "many-waits",
        "low-utilisation-sync-bound",
        "tiny-kernels",
        "low-utilisation-launch-bound",
    ),
    "data_loader": ("data-loading", "low-utilisation-input-bound"),
    "cpu_exec": (
        "many-waits",
        "tiny-kernels",
        "low-utilisation-launch-bound",
        "low-utilisation-sync-bound",
    ),
    "other": ("low-utilisation-host-stalled", "large-gaps", "low-utilisation-launch-bound"),
}
"""Rules that speak about a part of the step."""


def headline(trace: Trace) -> str:
    """Where the time of a step goes, and the finding that matters most.

    >>> import timesink
    >>> " is GPU work" in headline(timesink.open(timesink.sample()))
    True
    """
    average = average_step(trace)
    if not average or not average["total_ns"]:
        return "Nothing in this trace takes time."
    whole = _whole(trace, average["total_ns"])
    costly = max(_COSTS, key=lambda part: average[f"{part}_ns"])
    cost = f"{_COSTS[costly]} {units.duration_ns(average[f'{costly}_ns'])}"
    if not device_columns(trace)["kind"].is_in(BUSY_KINDS).any():
        return (
            f"No device work was recorded; of {whole}, {_on_host(average)}{_advice(trace, costly)}"
        )
    kernels = units.share(average["kernel_ns"], average["total_ns"])
    return f"{kernels} of {whole} is {device_word(trace)} work; {cost}{_advice(trace, costly)}"


def _whole(trace: Trace, total_ns: float) -> str:
    steps = find_steps(trace)
    length = units.duration_ns(total_ns)
    return f"each {length} step" if steps["marked"][0] else f"the recorded {length}"


def _on_host(average: dict[str, float]) -> str:
    code, loading, talking = (
        units.share(average[f"{part}_ns"], average["total_ns"])
        for part in ("cpu_exec", "data_loader", "communication")
    )
    if average["communication_ns"]:
        return f"{code} is host code, {loading} data loading and {talking} communication"
    return f"{code} is host code and {loading} data loading"


def _advice(trace: Trace, costly: str) -> str:
    """What to try about the costliest part, or else about the gravest finding."""
    found = find_all(trace)
    if not found:
        return "."
    for finding in found:
        if finding.rule in _RULES.get(costly, ()):
            return f": {finding.advice[0].lower()}{finding.advice[1:]}"
    return f". Gravest finding: {found[0].title[0].lower()}{found[0].title[1:]}."
