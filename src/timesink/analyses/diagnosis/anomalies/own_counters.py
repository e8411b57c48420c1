"""Counters of a process: those of the one that is compared, and not those of its neighbours."""

from __future__ import annotations

import re

import polars as pl

from timesink.analyses.diagnosis.anomalies.resources import pid_of, without_pid

_NUMBER = re.compile(r"\d+$")


def only_own(levels: pl.DataFrame, pid: str) -> pl.DataFrame:
    """Levels without counters of other processes, and without the numbers of processes in names.

    A counter that names the process comes before one that names none.  Where only one process was
    sampled, that is the one: it may have another number inside a container.

    >>> names = ["process_cpu_usage_7", "process_cpu_usage_9", "gpu_usage"]
    >>> levels = pl.DataFrame({"metric": names, "device": ["Host", "Host", "GPU 0"]})
    >>> only_own(levels, "9").rows()
    [('process_cpu_usage', 'Host'), ('gpu_usage', 'GPU 0')]
    """
    named = levels.select("metric", "device").unique(maintain_order=True)
    chosen: dict[tuple[str, str], list[str]] = {}
    for metric, device in named.iter_rows():
        chosen.setdefault((without_pid(metric), device), []).append(metric)
    rows = [
        (own, device, name)
        for (name, device), metrics in chosen.items()
        if (own := _own(metrics, pid)) is not None
    ]
    names = pl.DataFrame(rows, schema=["metric", "device", "name"], orient="row").cast(pl.String)
    kept = levels.join(names, ["metric", "device"], "inner", maintain_order="left")
    return kept.with_columns(metric="name").drop("name")


def _own(metrics: list[str], pid: str) -> str | None:
    """Which of several counters of one sort is the process's own."""
    number = _NUMBER.search(pid)
    by_pid = {pid_of(metric): metric for metric in metrics}
    named = None if number is None else by_pid.get(number[0])
    if named is not None or len(metrics) == 1:
        return named or metrics[0]
    return by_pid.get(None)
