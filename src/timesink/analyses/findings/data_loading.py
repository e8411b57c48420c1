"""Steps that wait for their batch."""

from __future__ import annotations

import polars as pl

from timesink.analyses.breakdown import average_step, step_breakdown
from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.names import is_data_loader
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.05


def data_loading(trace: Trace) -> list[Finding]:
    """Time in which the next batch was fetched and nothing ran on a device."""
    average = average_step(trace)
    if not average or average["data_loader_ns"] <= LEAST_SHARE * average["total_ns"]:
        return []
    waited, total = average["data_loader_ns"], average["total_ns"]
    return [
        Finding(
            rule="data-loading",
            title="Steps wait for data",
            sentence=f"Fetching data takes {units.duration_ns(waited)} of each "
            f"{units.duration_ns(total)} step ({units.share(waited, total)}) while no device "
            "works.",
            advice="Raise num_workers of the DataLoader, keep workers alive "
            "(persistent_workers), pin memory, prefetch, or move decoding and augmentation to the "
            "device.",
            share=waited / total,
            gain_ns=waited,
            gain_basis="all fetching overlaps with device work",
            evidence=(*_loaders(trace), _slowest_step(trace)),
        )
    ]


def _loaders(trace: Trace) -> tuple[Evidence, ...]:
    called = host_columns(trace)[host_names(trace).rows(is_data_loader)]
    fetching = called.filter(pl.col("kind").is_in(["operator", "annotation"]))
    return longest_by_name("call", fetching)


def _slowest_step(trace: Trace) -> Evidence:
    step = step_breakdown(trace).filter("complete").sort("data_loader_ns").row(-1, named=True)
    numbers = {"data_loader_us": step["data_loader_ns"] / 1000, "step_us": step["total_ns"] / 1000}
    return Evidence("step", step["name"], numbers)
