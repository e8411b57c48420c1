"""Graphs of a run: why some could not be captured, what is left outside, memory they hold."""

from __future__ import annotations

from timesink.analyses.columns import device_columns, device_kinds
from timesink.analyses.forest import call_forest
from timesink.analyses.graphs import replays_of
from timesink.analyses.links import link_launches
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.graph_facts import GraphFacts
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.rules.register import make_finding
from timesink.rules.steps import complete_steps, longest_by_name
from timesink.rules.thresholds import GraphsLimits

_MAX_REASONS = 3


def failed_captures(trace: Trace) -> list[RunFinding]:
    """Captures that failed, as the recorder saw them, the most frequent first; one finding.

    >>> import timesink
    >>> failed_captures(timesink.open(timesink.sample()))
    []
    """
    failures = [*(trace.metadata.graphs or GraphFacts()).failures]
    if trace.metadata.compiled is not None:
        failures += trace.metadata.compiled.skips
    ordered = sorted(failures, key=lambda failure: -failure.times)
    if not ordered:
        return []
    first = ordered[0]
    times = sum(failure.times for failure in ordered)
    place = f" at {first.place}" if first.place else ""
    mostly = "mostly " if len(ordered) > 1 else ""
    often = units.count_noun(times, "times")
    return [
        make_finding(
            "graph-capture-failed",
            f"The program could not capture a graph {often}, {mostly}because of {first.reason}"
            f"{place}.",
            evidence=tuple(
                Evidence("call", failure.place or failure.reason, numbers={"times": failure.times})
                for failure in ordered[:_MAX_REASONS]
            ),
        )
    ]


def outside_graphs(trace: Trace) -> list[RunFinding]:
    """Device work that a program launches piece by piece, though it replays graphs.

    >>> import timesink
    >>> outside_graphs(timesink.open(timesink.sample()))
    []
    """
    replays, steps = replays_of(trace), complete_steps(trace)
    if not len(replays) or not steps.count:
        return []
    device = device_columns(trace)
    start = device["ts_ns"].to_numpy()
    work = device_kinds(trace).among(*BUSY_KINDS) & steps.hold(start)
    outside = work.copy()
    outside[replays.row] = False
    duration = device["dur_ns"].to_numpy()
    all_ns, outside_ns = int(duration[work].sum()), int(duration[outside].sum())
    launches = int(outside.sum()) / steps.count
    is_much = outside_ns >= GraphsLimits.min_outside * all_ns
    if not all_ns or not is_much or launches < GraphsLimits.min_launches:
        return []
    node = link_launches(trace).node[outside]
    calls = call_forest(trace).names_of(node)
    events = device.filter(outside).select("dur_ns").with_columns(name=calls)
    return [
        make_finding(
            "outside-graphs",
            f"Graphs leave out {units.share(outside_ns, all_ns)} of device work: "
            f"{units.count(round(launches))} pieces{steps.a_step} are launched one by one.",
            share=min(outside_ns / steps.count / steps.length_ns, 1.0) if steps.length_ns else 0.0,
            evidence=longest_by_name("operator", events.filter(events["name"].is_not_null())),
        )
    ]


def memory_of_graphs(trace: Trace) -> list[RunFinding]:
    """How much memory graphs hold, where the recorder measured it and it is a part to speak of.

    >>> import timesink
    >>> memory_of_graphs(timesink.open(timesink.sample()))
    []
    """
    captures = (trace.metadata.graphs or GraphFacts()).captures
    holding = [capture for capture in captures if capture.memory_bytes]
    capacity = max((device.memory_bytes or 0 for device in trace.metadata.devices), default=0)
    held = sum(capture.memory_bytes or 0 for capture in holding)
    if not capacity or held < GraphsLimits.min_memory * capacity:
        return []
    many, share = units.count_noun(len(holding), "graphs"), units.share(held, capacity)
    largest = sorted(holding, key=lambda capture: -(capture.memory_bytes or 0))[:_MAX_REASONS]
    replayed = sum(capture.replays > 0 for capture in holding)
    return [
        make_finding(
            "graph-memory",
            f"{units.brief_bytes(held)} of device memory ({share}) is held by {many}; "
            f"{units.count(replayed)} of them were replayed.",
            evidence=tuple(
                Evidence(
                    "call",
                    capture.label or f"graph of {units.count_noun(capture.nodes, 'nodes')}",
                    numbers={"memory_bytes": capture.memory_bytes or 0, "replays": capture.replays},
                )
                for capture in largest
            ),
        )
    ]
