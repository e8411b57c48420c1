"""Captures of graphs that failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import graph_programs
import timesink
from timesink.model.graph_facts import CaptureFailure, GraphFacts
from timesink.model.trace import Trace
from timesink.rules.graphs import failed_captures
from timesink.rules.run_findings import find_all

KERNELS = [kernel for _, _, kernel in graph_programs.LAYERS]


def with_failures(folder: Path, *failures: CaptureFailure) -> Trace:
    run = graph_programs.write(folder / "run.json", graph_programs.replay(KERNELS, 5000, 500))
    trace = timesink.open(run, cache=False)
    facts = GraphFacts(failures=failures)
    return replace(trace, metadata=replace(trace.metadata, graphs=facts))


def test_the_most_frequent_reason_and_its_place(tmp_path: Path):
    failures = (
        CaptureFailure("a changing shape", "model.py(7)", 1),
        CaptureFailure("a synchronisation", "model.py(12)", 3),
    )
    (finding,) = failed_captures(with_failures(tmp_path, *failures))
    assert finding.sentence == (
        "The program could not capture a graph 4 times, mostly because of a synchronisation at "
        "model.py(12)."
    )


def test_it_is_among_the_findings_of_a_run(tmp_path: Path):
    trace = with_failures(tmp_path, CaptureFailure("a synchronisation"))
    assert "graph-capture-failed" in [finding.id for finding in find_all(trace)]


def test_nothing_without_failures(tmp_path: Path):
    assert failed_captures(with_failures(tmp_path)) == []
