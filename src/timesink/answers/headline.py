"""The answer in one sentence: how much of a step is device work, and what costs most beside it."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.analyses.device.activities import has_device_work
from timesink.analyses.names import device_word
from timesink.analyses.steps import average_step
from timesink.model import units
from timesink.model.findings import SEVERITIES, Finding
from timesink.model.trace import Trace
from timesink.rules.idle import LEAST_BETWEEN, time_between
from timesink.rules.single_run import complete_steps, find_all

_COSTS = {
    "memcpy": "copies cost",
    "memset": "memsets cost",
    "communication": "communication that nothing overlaps costs",
    "runtime": "runtime calls with an idle device cost",
    "data_loader": "data loading costs",
    "cpu_exec": "host code with an idle device costs",
    "other": "time with no recorded activity costs",
}
_IS = {
    "memcpy": "is copies",
    "memset": "is memsets",
    "communication": "is communication",
    "runtime": "is runtime calls",
    "data_loader": "is data loading",
    "cpu_exec": "is host code",
    "other": "has no recorded activity",
}
_ON_DEVICE = ("communication", "memcpy", "memset")
_MOST_PARTS = 3

_SLOW_HOST = (
    "many-waits",
    "low-utilisation-sync-bound",
    "low-utilisation-runtime-bound",
    "tiny-kernels",
    "low-utilisation-launch-bound",
)
_RULES = {
    "memcpy": ("pageable-copies", "low-utilisation-copy-bound"),
    "communication": (
        "stragglers",
        "exposed-communication",
        "gloo-on-devices",
        "data-parallel",
        "low-utilisation-communication-bound",
    ),
    "runtime": _SLOW_HOST,
    "data_loader": ("data-loading", "low-utilisation-input-bound"),
    "cpu_exec": (*_SLOW_HOST, "large-gaps"),
    "other": ("low-utilisation-host-stalled", "large-gaps", *_SLOW_HOST),
    "between": ("data-loading", "between-steps"),
}
"""Rules that speak about a part of the time; of equally grave ones the first is taken."""


def headline(trace: Trace, found: Sequence[Finding] | None = None) -> str:
    """Where the time of a step goes, and what to do about it.

    The advice is taken from `found`, by default from what the rules find in this trace alone.
    """
    average = average_step(trace)
    if not average or not average["total_ns"]:
        return "Nothing in this trace takes time."
    costs = {part: average[f"{part}_ns"] for part in _COSTS}
    said = _on_device(trace, average, costs) if has_device_work(trace) else _on_host(trace, costs)
    between = time_between(trace)
    if between.share(between.idle_ns) > LEAST_BETWEEN:
        costs["between"] = between.each_ns(between.idle_ns)
        said += (
            f"; between two steps pass {units.duration_ns(costs['between'])} without device work "
            f"({units.share(between.share(between.idle_ns), 1)} of the time)"
        )
    costly = max(costs, key=lambda part: costs[part])
    return said + _advice(find_all(trace) if found is None else found, costly)


def _on_device(trace: Trace, average: dict[str, float], costs: dict[str, float]) -> str:
    """How much is device work, and what costs most beside it."""
    word, steps = device_word(trace), complete_steps(trace)
    main = max(("kernel", *_ON_DEVICE), key=lambda part: average[f"{part}_ns"])
    if average["kernel_ns"]:
        main = "kernel"
    share = units.share(average[f"{main}_ns"], steps.length_ns)
    said = f"{share} of {steps.each} {_IS.get(main, f'is {word} work')}"
    if main != "kernel":
        said += f", and no {word} computes"
    costly = max((part for part in costs if part != main), key=lambda part: costs[part])
    if not costs[costly]:
        return said
    return f"{said}; {_COSTS[costly]} {units.brief_ns(costs[costly])}"


def _on_host(trace: Trace, costs: dict[str, float]) -> str:
    """What the host does where no device worked: the largest parts."""
    steps = complete_steps(trace)
    largest = sorted((part for part in costs if costs[part]), key=lambda part: -costs[part])
    *first, last = (
        f"{units.share(costs[part], steps.length_ns)} {_IS[part]}" for part in largest[:_MOST_PARTS]
    )
    shares = f"{', '.join(first)} and {last}" if first else last
    return f"No device work was recorded; of {steps.each}, {shares}"


def _advice(found: Sequence[Finding], costly: str) -> str:
    """What to try about the costliest part, or else about the gravest finding."""
    rules = _RULES.get(costly, ())
    if found and found[0].rule == "stragglers":
        rules = (found[0].rule,)
    about_it = [finding for finding in found if finding.rule in rules]
    if about_it:
        best = min(
            about_it, key=lambda one: (SEVERITIES.index(one.severity), rules.index(one.rule))
        )
        if best.rule == "stragglers":
            # Which rank it is comes first: what to try is of no use without it.
            return f"; {best.title}. {best.advice}"
        return f": {best.advice[0].lower()}{best.advice[1:]}"
    measured = [finding for finding in found if finding.share] or found
    return f". Gravest finding: {measured[0].title}. {measured[0].advice}" if measured else "."
