"""Steps that wait for their batch."""

from __future__ import annotations

import polars as pl

from timesink.analyses.breakdown import average_step, step_breakdown
from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.findings.between_steps import LEAST_LOADING, Between, time_between
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.names import is_data_loader
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.05


def data_loading(trace: Trace) -> list[Finding]:
    """Time in which the next batch was fetched and nothing ran on a device.

    Some programs fetch inside a step, some between two steps: either counts.

    >>> import timesink
    >>> data_loading(timesink.open(timesink.sample()))
    []
    """
    steps, between = complete_steps(trace), time_between(trace)
    waited = average_step(trace).get("data_loader_ns", 0.0)
    inside = waited > LEAST_SHARE * steps.length_ns
    outside = between.loading_share > LEAST_LOADING
    if not inside and not outside:
        return []
    fetching = between.parts["data_loader"]
    shares = [waited / steps.length_ns]
    if outside:
        shares.append((waited * steps.count + fetching) / between.window_ns)
    return [
        Finding(
            rule="data-loading",
            title="Steps wait for data",
            sentence=_sentence(steps, waited if inside else 0.0, between if outside else None),
            advice="Raise num_workers of the DataLoader, keep workers alive "
            "(persistent_workers), pin memory, prefetch, or move decoding and augmentation to the "
            "device.",
            share=min(1.0, max(shares)),
            gain_ns=waited,
            between_ns=between.each_ns(fetching),
            gain_basis="all fetching overlaps with device work",
            evidence=(*_loaders(trace), *([_slowest_step(trace)] if inside else [])),
        )
    ]


def _sentence(steps: Steps, waited: float, between: Between | None) -> str:
    said = []
    if waited:
        said.append(
            f"Fetching data takes {units.duration_ns(waited)} of {steps.each} "
            f"({units.share(waited, steps.length_ns)}) while no device works."
        )
    if between is not None:
        fetching = between.parts["data_loader"]
        said.append(
            f"Between two steps {'another ' if waited else 'fetching data takes '}"
            f"{units.duration_ns(between.each_ns(fetching))} "
            f"{'go to it' if waited else 'while no device works'}, "
            f"{units.share(fetching, between.window_ns)} of the time from the first step to the "
            "last."
        )
    return " ".join(said)


def _loaders(trace: Trace) -> tuple[Evidence, ...]:
    called = host_columns(trace)[host_names(trace).rows(is_data_loader)]
    fetching = called.filter(pl.col("kind").is_in(["operator", "annotation"]))
    return longest_by_name("call", fetching)


def _slowest_step(trace: Trace) -> Evidence:
    step = step_breakdown(trace).filter("complete").sort("data_loader_ns").row(-1, named=True)
    numbers = {"data_loader_us": step["data_loader_ns"] / 1000, "step_us": step["total_ns"] / 1000}
    return Evidence("step", step["name"], numbers)
