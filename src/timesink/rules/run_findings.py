"""What the rules find in a run, with advice that fits its framework, device and program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from timesink.analyses.columns import device_names, memoize_per_trace
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.program_traits import program_traits
from timesink.model.findings import RunFinding, gravest_first
from timesink.model.fitness import IDLE
from timesink.model.trace import Trace
from timesink.model.vendors import UNKNOWN
from timesink.rules.register import (
    catalogue,
    fit_finding,
    is_pytorch,
    rules_for,
)
from timesink.rules.steps import complete_steps


@memoize_per_trace
def find_all(trace: Trace) -> tuple[RunFinding, ...]:
    """Everything the rules find, the most severe first."""
    steps = complete_steps(trace)
    findings = _answerable_findings(
        trace, (finding for rule in rules_for("run") for finding in rule(trace))
    )
    graded = (steps.graded(fit_to_run(finding, trace)) for finding in findings)
    return tuple(structs.replace(finding, marked=steps.marked) for finding in gravest_first(graded))


def fit_to_run(finding: RunFinding, trace: Trace, *, pytorch: bool | None = None) -> RunFinding:
    """A finding of a run with advice for its framework, its device and what its program does."""
    about, traits = trace.metadata, program_traits(trace)
    if pytorch is None:
        names, is_own = device_names(trace).texts, about.format == "kineto"
        pytorch = is_pytorch(about.framework, names, otherwise=is_own)
    vendor = about.vendor or UNKNOWN
    return fit_finding(finding, "run", pytorch=pytorch, vendor=vendor, traits=traits)


def _answerable_findings(trace: Trace, findings: Iterable[RunFinding]) -> Iterator[RunFinding]:
    """Findings about what the recording can answer: the rest may be missing data."""
    fitness, rows = recording_fitness(trace), catalogue()["run"]
    for finding in findings:
        row = rows.get(finding.id, {})
        question = row.get("asks", IDLE if "idle_for" in row else row.get("time", ""))
        if fitness.answers(question):
            yield finding
