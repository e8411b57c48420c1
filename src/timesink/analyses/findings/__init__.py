"""What costs time and what to try: one rule per file, each from a trace to its findings.

A rule says nothing without numbers: what share of a step it concerns, what mending it may save,
and which steps, operators or kernels show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from timesink.analyses.findings.between_steps import between_steps
from timesink.analyses.findings.communication import exposed_communication, gloo_on_devices
from timesink.analyses.findings.copies import pageable_copies
from timesink.analyses.findings.data_loading import data_loading
from timesink.analyses.findings.data_parallel import data_parallel
from timesink.analyses.findings.finding import SEVERITIES, Evidence, Finding
from timesink.analyses.findings.gaps import large_gaps
from timesink.analyses.findings.idle_device import low_utilisation
from timesink.analyses.findings.layout import layout_conversions
from timesink.analyses.findings.memory_limit import memory_limit
from timesink.analyses.findings.per_step import complete_steps
from timesink.analyses.findings.recording import cut_steps
from timesink.analyses.findings.tensor_cores import tensor_cores_unused
from timesink.analyses.findings.tiny_kernels import tiny_kernels
from timesink.analyses.findings.waits import many_waits
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace

__all__ = ["RULES", "Evidence", "Finding", "find_all", "gravest_first"]

RULES: tuple[Callable[[Trace], list[Finding]], ...] = (
    data_loading,
    between_steps,
    low_utilisation,
    exposed_communication,
    data_parallel,
    gloo_on_devices,
    tensor_cores_unused,
    layout_conversions,
    memory_limit,
    tiny_kernels,
    many_waits,
    pageable_copies,
    large_gaps,
    cut_steps,
)


@once_per_trace
def find_all(trace: Trace) -> tuple[Finding, ...]:
    """Everything the rules find, the gravest first.

    >>> import timesink
    >>> findings = find_all(timesink.open(timesink.sample()))
    >>> all(finding.evidence for finding in findings)
    True
    """
    marked = complete_steps(trace).marked
    found = (finding for rule in RULES for finding in rule(trace))
    return gravest_first(replace(finding, marked=marked) for finding in found)


def gravest_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, then by what mending them may save.

    >>> small, large = (Finding("a", "", "", "", share, gain_ns=9) for share in (0.01, 0.5))
    >>> gravest_first([small, large])[0] is large
    True
    """
    return tuple(sorted(found, key=_order))


def _order(finding: Finding) -> tuple[int, float]:
    return SEVERITIES.index(finding.severity), -(finding.gain_ns + finding.between_ns)
