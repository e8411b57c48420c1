"""Cycles of single layers: for those who ask for them, never a guess at the unit of a run."""

from __future__ import annotations

import re

import numpy as np

from timesink.analyses.cycles.python.calls import PythonCalls, python_calls
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, family_name, spans_of
from timesink.analyses.nesting import Nodes
from timesink.model.trace import Trace

_LAYER = re.compile(r"layer(?!_?norm)(?!s?/)", re.IGNORECASE)
"""A layer by its name; a norm of layers and a file in a folder `layers/` are none."""


def layers(trace: Trace) -> Reading | None:
    """Every call of the outermost function or module that is a layer by its name.

    Of several, the one that is called nearest to the top, then on average nearest, then the
    longest, the steadiest, the one with the largest total.
    """
    calls = python_calls(trace)
    if not len(calls):
        return None
    found = _families(calls)
    if not found:
        return None
    name, nodes = min(found.items(), key=lambda item: (*_rank(calls, item[1]), item[0]))
    spans = spans_of(
        calls.processes(nodes),
        calls.named(nodes),
        calls.start[nodes],
        calls.end[nodes],
        ["generic"] * len(nodes),
    )
    reason = f"{name!r} is the outermost call named as a layer, {len(nodes)} times"
    return Reading("layer", name, spans, 0.9, reason)


def _families(calls: PythonCalls) -> dict[str, Nodes]:
    """Outermost calls of each layer; modules that differ in their number are one."""
    names: dict[str, list[int]] = {}
    for code, name in enumerate(calls.names):
        if _LAYER.search(name.rpartition("): ")[2]):
            names.setdefault(_layer_name(name), []).append(code)
    found: dict[str, Nodes] = {}
    for name, codes in names.items():
        nodes = calls.outermost(np.isin(calls.name, codes))
        if len(nodes) >= MIN_REPEATS:
            found[name] = nodes
    return found


def _layer_name(name: str) -> str:
    return family_name(name) if name.startswith("nn.Module: ") else name


def _rank(calls: PythonCalls, nodes: Nodes) -> tuple[float, ...]:
    depth, length = calls.depth[nodes], calls.length[nodes]
    mean = float(length.mean())
    spread = float(length.std()) / max(mean, 1.0)
    return (float(depth.min()), float(depth.mean()), -mean, spread, -float(length.sum()))
