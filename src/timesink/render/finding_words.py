"""Findings in words: what mending them may save, and what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.model import units
from timesink.model.findings import Evidence, Finding
from timesink.render.told_apart import told_apart


def gain_text(finding: Finding) -> str:
    """What mending it may save; empty where nothing can be said."""
    gains = []
    if finding.gain_ns:
        gains.append(units.duration_ns(finding.gain_ns) + (" a step" if finding.marked else ""))
    if finding.between_ns:
        gains.append(f"{units.duration_ns(finding.between_ns)} between two steps")
    return f"may save {' and '.join(gains)} if {finding.gain_basis}" if gains else ""


def evidence_lines(finding: Finding, most: int = 3) -> list[str]:
    """The first pieces of evidence, a line each."""
    shown = finding.evidence[:most]
    names = told_apart([f"{item.kind} {_evidence_name(item)}" for item in shown])
    return [
        f"{name}{_numbers(item, marked=finding.marked)}"
        for name, item in zip(names, shown, strict=True)
    ]


def _evidence_name(item: Evidence) -> str:
    return short_kernel_name(item.name) if item.kind == "kernel" else item.name


def _numbers(item: Evidence, *, marked: bool) -> str:
    numbers = ", ".join(
        _numbered(key, value, marked=marked)
        for key, value in item.numbers.items()
        if key != "start_ns"
    )
    return f": {numbers}" if numbers else ""


_UNITS: Mapping[str, Callable[[float], str]] = {
    "_us": lambda value: units.duration_ns(1000 * value),
    "_ns": lambda value: f"{units.count(int(value))} ns",
    "_bytes": units.size_bytes,
    "_pct": lambda value: f"{value:.1f} %",
}


def _numbered(key: str, value: float, *, marked: bool) -> str:
    """A number with its unit in words; those of a step are all there is where none is marked."""
    name = key.removesuffix("_per_step")
    each = " a step" if marked and name != key else ""
    unit = next((ending for ending in _UNITS if f"_{name}".endswith(ending)), "")
    shown = _UNITS[unit](value) if unit else units.count(round(value))
    spoken = name.removesuffix(unit).replace("_", " ")
    return f"{spoken} {shown}{each}"
