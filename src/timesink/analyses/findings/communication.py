"""Communication that computation does not hide, and the wrong library for it."""

from __future__ import annotations

import polars as pl

from timesink.analyses.breakdown import average_step, step_breakdown
from timesink.analyses.columns import device_columns, host_columns, host_names
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import complete_steps
from timesink.analyses.names import is_collective_call
from timesink.analyses.roles import is_communication
from timesink.model import units
from timesink.model.trace import Trace
from timesink.model.vendors import NVIDIA

LEAST_SHARE = 0.1


def exposed_communication(trace: Trace) -> list[Finding]:
    """Time in which ranks talk and nothing is computed.

    >>> import timesink
    >>> exposed_communication(timesink.open(timesink.sample()))
    []
    """
    average, steps = average_step(trace), complete_steps(trace)
    if not average or average["communication_ns"] <= LEAST_SHARE * average["total_ns"]:
        return []
    exposed, total = average["communication_ns"], average["total_ns"]
    return [
        Finding(
            rule="exposed-communication",
            title="Communication is not hidden",
            sentence=f"{units.duration_ns(exposed)} of {steps.each} "
            f"({units.share(exposed, total)}) go to communication that no computation overlaps.",
            advice="Overlap communication with computation (larger or earlier gradient buckets, "
            "prefetching in FSDP), send less (accumulate gradients, compress, lower precision), or "
            "look for a rank that makes the others wait.",
            share=exposed / total,
            gain_ns=exposed,
            gain_basis="all communication overlaps with computation",
            evidence=(*_collectives(trace), _worst_step(trace)),
        )
    ]


def _worst_step(trace: Trace) -> Evidence:
    step = step_breakdown(trace).filter("complete").sort("communication_ns").row(-1, named=True)
    exposed, total = step["communication_ns"] / 1000, step["total_ns"] / 1000
    return Evidence("step", step["name"], {"communication_us": exposed, "step_us": total})


def _collectives(trace: Trace) -> tuple[Evidence, ...]:
    """The kernels that communicate longest; the host calls where no kernel does."""
    work = device_columns(trace).filter(pl.Series(is_communication(trace)))
    if not work.is_empty():
        return longest_by_name("kernel", work)
    return longest_by_name("call", _collective_calls(trace))


def _collective_calls(trace: Trace) -> pl.DataFrame:
    return host_columns(trace)[host_names(trace).rows(is_collective_call)]


def gloo_on_devices(trace: Trace) -> list[Finding]:
    """Data-parallel training on NVIDIA devices whose collectives go through the host.

    >>> import timesink
    >>> gloo_on_devices(timesink.open(timesink.sample()))
    []
    """
    calls, steps = _collective_calls(trace), complete_steps(trace)
    names = calls["name"].cast(pl.String)
    through_host = names.str.starts_with("gloo:")
    if trace.metadata.vendor != NVIDIA.name or not through_host.any() or not steps.length_ns:
        return []
    if names.str.starts_with(f"{NVIDIA.collectives[0]}:").any() or is_communication(trace).any():
        return []
    spent = int(calls.filter(through_host)["dur_ns"].sum())
    exposed = average_step(trace)["communication_ns"]
    return [
        Finding(
            rule="gloo-on-devices",
            title="Collectives go through the host",
            sentence=f"{units.counted(int(through_host.sum()), 'gloo calls')} take "
            f"{units.duration_ns(spent)} in all; {units.share(exposed, steps.length_ns)} of "
            f"{steps.each} is gloo communication that nothing overlaps.",
            advice="Use the nccl backend where every rank has a device of its own: it keeps the "
            "data on the devices.",
            share=exposed / steps.length_ns,
            gain_ns=exposed,
            gain_basis="communication between devices overlaps with computation" if exposed else "",
            evidence=_collectives(trace),
        )
    ]
