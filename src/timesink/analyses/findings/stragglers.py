"""Workers that the others wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from timesink.analyses.breakdown import average_step
from timesink.analyses.communication.comparison import mean_over_steps
from timesink.analyses.communication.workers import compared
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import complete_steps
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.05
_MOST_NAMED = 3
_SPENT_ON = {
    "kernel": "kernels",
    "memcpy": "copies",
    "memset": "memsets",
    "runtime": "runtime calls with an idle device",
    "data_loader": "data loading",
    "cpu_exec": "host code with an idle device",
    "other": "time with no recorded activity",
}

Means: TypeAlias = Mapping[str, float]
"""A number for each worker, of its average step."""


def stragglers(workers: Mapping[str, Trace]) -> list[Finding]:
    """Workers that wait for the others far less than the others wait: these wait for them.

    >>> import timesink
    >>> stragglers({"rank0": timesink.open(timesink.sample())})
    []
    """
    waiting = _waiting(workers)
    lengths = [complete_steps(workers[worker]).length_ns for worker in waiting]
    if len(waiting) < 2 or not min(lengths):
        return []
    length = float(np.mean(lengths))
    late = {
        worker: lag
        for worker in waiting
        if (lag := _others(waiting, worker) - waiting[worker]) >= LEAST_SHARE * length
    }
    # Where half of the workers or more wait less than the rest, none of them holds up the rest.
    if not late or 2 * len(late) > len(waiting):
        return []
    return [_finding(workers, waiting, late, length)]


def _waiting(workers: Mapping[str, Trace]) -> Means:
    """How long each worker that communicates waits in its average step."""
    if len(workers) < 2:
        return {}
    means = mean_over_steps(compared(workers).by_step, "waiting_ns")
    return {worker: ns for worker, ns in means.rows() if ns is not None}


def _others(means: Means, worker: str) -> float:
    return float(np.median([value for other, value in means.items() if other != worker]))


def _finding(workers: Mapping[str, Trace], waiting: Means, late: Means, length: float) -> Finding:
    ordered = sorted(late, key=lambda worker: (-late[worker], worker))
    worst = ordered[0]
    shown = ordered if len(ordered) <= _MOST_NAMED else [f"{len(ordered)} workers"]
    verb = "makes" if len(ordered) == 1 else "make"
    names = " and ".join(shown)
    marked = complete_steps(workers[worst]).marked
    lag = min(late[worst], length)
    return Finding(
        rule="stragglers",
        title=f"{names} {verb} the others wait",
        sentence=f"{names} {verb} the others wait: {units.duration_ns(lag)}"
        f"{' a step' if marked else ''} ({units.share(lag, length)}). The others wait "
        f"{units.duration_ns(_others(waiting, worst))}, {worst} only "
        f"{units.duration_ns(waiting[worst])}.{_difference(workers, waiting, worst)}",
        advice=f"Find out what {worst} does differently: compare its steps with those of another "
        "worker (data, host, clocks, other programs on that machine).",
        share=lag / length,
        gain_ns=lag,
        gain_basis=f"{worst} is as fast as the others",
        evidence=tuple(
            Evidence("worker", worker, {"waiting_us_per_step": ns / 1000})
            for worker, ns in sorted(waiting.items(), key=lambda item: item[1])
        ),
        marked=marked,
    )


def _difference(workers: Mapping[str, Trace], waiting: Means, worst: str) -> str:
    """What the straggler spends more time on than the others; nothing where that is little."""
    averages = {worker: average_step(workers[worker]) for worker in waiting}
    more = {
        part: averages[worst][f"{part}_ns"]
        - _others({worker: step[f"{part}_ns"] for worker, step in averages.items()}, worst)
        for part in _SPENT_ON
    }
    part = max(more, key=lambda name: more[name])
    if more[part] < LEAST_SHARE * averages[worst]["total_ns"]:
        return ""
    return f" Its steps have {units.duration_ns(more[part])} more of {_SPENT_ON[part]}."
