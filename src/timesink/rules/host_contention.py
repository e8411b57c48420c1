"""The host of a run: whether its threads wait for a core that others have."""

from __future__ import annotations

import polars as pl

from timesink.analyses.device_idle import idle_ranges
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.trace import Trace
from timesink.rules.counter_names import resource_of
from timesink.rules.steps import Steps, complete_steps
from timesink.rules.thresholds import HostContentionLimits

_RUN_QUEUE = "run_queue"


def cpu_contention(trace: Trace) -> list[RunFinding]:
    """Threads that could run and have no core, by counters of the run queue beside the trace.

    The least share that counts is that of `resources.csv`, a tenth for run queues: healthy runs
    that were recorded have 0.01 %.
    """
    steps = complete_steps(trace)
    waits = _run_queue_waits(trace, steps)
    if waits.is_empty() or not steps.length_ns:
        return []
    counter, device, mean_pct, most_pct, samples = waits.row(0)
    waiting = min(1.0, mean_pct / 100)
    idle = idle_ranges(trace).values()
    # Where a device has work meanwhile, nobody waits for the host.
    open_ns = min((steps.per_step_ns(ranges) for ranges in idle), default=steps.length_ns)
    of_device = " while the device is idle" if idle else ""
    lost_ns = waiting * open_ns
    numbers = {"mean_pct": mean_pct, "highest_pct": most_pct, "samples": samples}
    return steps.loss_findings(
        "cpu-contention",
        f"A thread of the program waits for a core {units.percent(mean_pct)} of the time "
        f"({counter}, {device}: up to {units.percent(most_pct)} in "
        f"{units.count_noun(samples, 'samples')}). "
        f"That is up to {steps.part(lost_ns)}{of_device}.",
        lost_ns,
        [Evidence("counter", f"{counter} of {device}", numbers=numbers)],
        {"wait": f"{mean_pct:.0f} %"},
    )


def _run_queue_waits(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Counters of the run queue that are too high in the steps, in percent, the highest first."""
    columns = ["counter", "device", "mean_pct", "most_pct", "samples"]
    table = trace.counters.lazy().select("ts_ns", "counter", "device", "value").collect()
    names = table["counter"].unique().cast(pl.String).drop_nulls().to_list()
    resources = {name: resource_of(name) for name in names}
    floors = {
        name: resource.floor
        for name, resource in resources.items()
        if resource.resource == _RUN_QUEUE and units.quantity(1.0, units.unit_of(name))[1] == "%"
    }
    text = pl.col("counter").cast(pl.String)
    table = table.filter(text.is_in([*floors]), pl.col("value").is_finite())
    if table.is_empty():
        return pl.DataFrame(schema=columns)
    inside = table.filter(pl.Series(steps.hold(table["ts_ns"].to_numpy())))
    scale = {name: units.quantity(1.0, units.unit_of(name))[0] for name in floors}
    levels = (
        inside.with_columns(text, pl.col("device").cast(pl.String).fill_null("the host"))
        .with_columns(pct=pl.col("value") * text.replace_strict(scale, default=1.0))
        .group_by("counter", "device")
        .agg(mean_pct=pl.col("pct").mean(), most_pct=pl.col("pct").max(), samples=pl.len())
        .filter(
            pl.col("samples") >= HostContentionLimits.min_samples,
            pl.col("mean_pct") >= 100 * text.replace_strict(floors, default=1.0),
        )
    )
    return levels.select(columns).sort(
        "mean_pct", "counter", "device", descending=[True, False, False]
    )
