"""The answer in a sentence: where the time of a step goes, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.activities import has_device_work
from timesink.analyses.names import device_word
from timesink.analyses.replay.own_clock import MEASURED, OwnClock
from timesink.analyses.steps import average_step
from timesink.model import units
from timesink.model.data_files import csv_rows
from timesink.model.findings import SEVERITIES, Finding
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.rules.idle import LEAST_BETWEEN, LEAST_IDLE, time_between
from timesink.rules.registry import Steps, complete_steps, find_all

_ROWS = csv_rows(Path(__file__).with_name("headline.csv"))
_SAID = {row["part"]: (row["share"], row["cost"]) for row in _ROWS if row["share"]}
"""Parts of a step beside kernels: what a share of it is, and that it costs time."""
_ON_DEVICE = {"kernel": "computation", "communication": "communication"}
_ON_DEVICE |= {"memcpy": "copies", "memset": "memsets"}
_LEAST_BESIDE, _LEAST_TOLD = 0.002, 0.0005
"""Of a step: where the rest of device work takes less, it is not told apart; nor is a part."""
_MOST_PARTS, _MUCH = 3, 0.3
"""Parts that are told; and what of the costliest one a finding, or a call, has to be about."""

_RULES = {row["part"]: tuple(row["rules"].split()) for row in _ROWS}
"""Rules that speak about a part of the time; of equally grave ones the first is taken."""
_OF_RANKS = ("stragglers", "odd-rank")


_TOLD = 0.02
"""How far a recorded cycle may be from its own length, as a share, before one speaks of that."""


def tells_clocks_apart(clock: OwnClock) -> bool:
    """Whether recording made cycles longer or shorter than nobody would mind."""
    own = clock.own_ns
    return bool(own) and abs(clock.recorded_ns - (own or 0.0)) > _TOLD * (own or 0.0)


def interval(clock: OwnClock, length_ns: float | None = None) -> str:
    """How sure an own clock is of its cycle, or of another length that goes with it, in words."""
    own = clock.own_ns or 1.0
    low, high = (
        units.duration_ns(each * (own if length_ns is None else length_ns) / own)
        for each in clock.interval_ns or (own, own)
    )
    return units.from_to(low, high).replace(" → ", " to ")


def headline(
    trace: Trace,
    found: Sequence[Finding] | None = None,
    *,
    clock: OwnClock | None = None,
    recorded_ns: float = 0.0,
) -> str:
    """Where the time of a step goes, and what to do about it.

    The advice is taken from `found`, by default from what the rules find in this trace alone.
    Of a trace on its own `clock` it is told how long its average step was as recorded.
    """
    average = average_step(trace)
    if not average or not average["total_ns"]:
        return "Nothing in this trace takes time."
    costs = {part: average[f"{part}_ns"] for part in _SAID}
    steps = complete_steps(trace)
    apart = clock is not None and tells_clocks_apart(clock)
    each = steps.each if clock is None else _each(steps, clock)
    if has_device_work(trace):
        said, lost = _on_device(trace, average, costs, each)
    else:
        said, lost = _on_host(steps, costs, each), ""
    if apart:
        longer = recorded_ns > steps.length_ns
        under = "recorded under a profiler that made it" if longer else "though recorded as"
        said += f", {under} {units.duration_ns(recorded_ns)}"
    said += lost
    between = time_between(trace)
    if between.share(between.idle_ns) > LEAST_BETWEEN:
        costs["between"] = between.each_ns(between.idle_ns)
        said += (
            f"; between two steps pass {units.duration_ns(costs['between'])} without device work "
            f"({units.share(between.share(between.idle_ns), 1)} of the time)"
        )
    costly = max(costs, key=lambda part: costs[part])
    found = find_all(trace) if found is None else found
    for one in found:
        if one.rule == "dominant-operator" and one.rule in _RULES.get(costly, ()):
            took = one.share * steps.length_ns
            said += f"; {one.evidence[0].name} alone takes {units.brief_ns(took)} of it on the host"
            return f"{said}: {one.advice[0].lower()}{one.advice[1:]}"
    # What is about a small part of it only is not what to try about it.
    least = _MUCH * costs[costly] / average["total_ns"] if costly != "between" else 0.0
    telling = [one for one in found if not one.share or one.share >= least]
    if costly == "runtime" and not any(one.rule in _RULES["runtime"] for one in telling):
        said += _longest_call(trace, costs[costly])
    return said + _advice(found, costly, telling)


def _each(steps: Steps, clock: OwnClock) -> str:
    """What a part is taken of where recording changed its length: a step, or all there is."""
    length = units.duration_ns(steps.length_ns)
    if clock.source != MEASURED and tells_clocks_apart(clock):
        length = f"about {length} ({interval(clock, steps.length_ns)})"
        return f"each step of {length}" if steps.marked else f"{length} that all this takes"
    return steps.each if steps.marked else f"the {length} that all this takes"


def _longest_call(trace: Trace, cost_ns: float) -> str:
    """The runtime call that takes much of their time; empty where none does, or all is little."""
    host, steps = host_columns(trace), complete_steps(trace)
    if cost_ns < LEAST_IDLE * steps.length_ns:
        return ""
    made = host.filter(host["kind"].is_in(LAUNCH_KINDS))
    made = made.filter(steps.hold(made["ts_ns"].to_numpy()))
    by_name = made.group_by("name").agg(pl.col("dur_ns").sum()).sort("dur_ns", "name")
    if by_name.is_empty():
        return ""
    name, total = by_name.row(-1)
    took = total / steps.count
    is_much = took >= _MUCH * cost_ns
    return f"; {name} takes {units.brief_ns(took)}{steps.a_step}" if is_much else ""


def _on_device(
    trace: Trace, average: dict[str, float], costs: dict[str, float], each: str
) -> tuple[str, str]:
    """How much of each step is device work, of which sort; and what costs most beside kernels."""
    word, steps = device_word(trace), complete_steps(trace)
    main = max(_ON_DEVICE, key=lambda part: average[f"{part}_ns"])
    if average["kernel_ns"]:
        main = "kernel"
    working, is_so = average[f"{main}_ns"], f"is {word} work"
    if main != "kernel":
        is_so = f"{_SAID[main][0]}, and no {word} computes"
    else:
        # Everything that ran on a device; communication of the host is not among it.
        device = device_columns(trace)
        busy = steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS)))
        parts = {part: average[f"{part}_ns"] for part in _ON_DEVICE}
        parts["communication"] = busy - sum(parts.values()) + parts["communication"]
        if busy - working >= _LEAST_BESIDE * steps.length_ns:
            told = (
                f"{_ON_DEVICE[part]} {units.share(ns, steps.length_ns)}"
                for part, ns in parts.items()
                if ns >= _LEAST_TOLD * steps.length_ns
            )
            is_so = f"{is_so} ({', '.join(told)})"
        working = max(busy, working)
    said = f"{units.share(working, steps.length_ns)} of {each} {is_so}"
    costly = max((part for part in costs if part != main), key=lambda part: costs[part])
    if not costs[costly]:
        return said, ""
    return said, f"; {_SAID[costly][1]} {units.brief_ns(costs[costly])}"


def _on_host(steps: Steps, costs: dict[str, float], each: str) -> str:
    """What the host does where no device worked: the largest parts."""
    largest = sorted((part for part in costs if costs[part]), key=lambda part: -costs[part])
    *first, last = (
        f"{units.share(costs[part], steps.length_ns)} {_SAID[part][0]}"
        for part in largest[:_MOST_PARTS]
    )
    shares = f"{', '.join(first)} and {last}" if first else last
    return f"No device work was recorded; of {each}, {shares}"


def _advice(found: Sequence[Finding], costly: str, telling: Sequence[Finding]) -> str:
    """What to try about the costliest part, or else about the gravest finding.

    Only findings that are about much of that part tell what to try about it.
    """
    rules = _RULES.get(costly, ())
    first = [finding for finding in found if finding.rule == "odd-rank"] or found[:1]
    if first and first[0].rule in _OF_RANKS:
        rules = (first[0].rule,)
    about_it = [
        one for one in found if one.rule in rules and (one in telling or one.rule in _OF_RANKS)
    ]
    if about_it:
        best = min(
            about_it, key=lambda one: (SEVERITIES.index(one.severity), rules.index(one.rule))
        )
        if best.rule in _OF_RANKS:
            # Which rank it is comes first: what to try is of no use without it.
            return f"; {best.title}. {best.advice}"
        return f": {best.advice[0].lower()}{best.advice[1:]}"
    measured = [finding for finding in found if finding.share] or found
    return f". Gravest finding: {measured[0].title}. {measured[0].advice}" if measured else "."
