"""Single long gaps in the work of a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.activities import Gaps, device_activities
from timesink.analyses.device.idle_causes import idle_ranges
from timesink.analyses.device.meanwhile import host_meanwhile
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.analyses.names import is_collective_call
from timesink.analyses.steps import find_steps
from timesink.model import intervals, units
from timesink.model.trace import Trace

LOOKED_AT = 50
LEAST_GAP_NS = 1_000_000
LEAST_GAP_SHARE = 0.05
"""A gap is large when it takes this much of an average step, and at least a millisecond."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Gap:
    """A gap inside a step, between two activities of a device."""

    start_ns: int
    length_ns: int
    step: str
    before: str
    after: str
    host_name: str | None
    """What the host did for most of it."""

    @property
    def meanwhile(self) -> str:
        if self.host_name is None:
            return "with no single host event behind it"
        return f"while the host was in {self.host_name}"


def large_gaps(trace: Trace) -> list[Finding]:
    """Gaps inside the steps that are long by themselves, of the device that loses most.

    >>> import timesink
    >>> [finding.rule for finding in large_gaps(timesink.open(timesink.sample()))]
    []
    """
    steps = complete_steps(trace)
    if not steps.length_ns:
        return []
    least = max(LEAST_GAP_NS, LEAST_GAP_SHARE * steps.length_ns)
    devices = ([*_unexplained(trace, large)] for large in _by_device(trace, least))
    worst = max(devices, key=_lost, default=[])
    return [_finding(worst, steps, least)] if worst else []


def _lost(gaps: list[_Gap]) -> int:
    return sum(gap.length_ns for gap in gaps)


def _finding(gaps: list[_Gap], steps: Steps, least: float) -> Finding:
    longest, per_step = gaps[0], _lost(gaps) / steps.count
    where = f", in step {longest.step}" if steps.marked else ""
    return Finding(
        rule="large-gaps",
        title="Large gaps in device work",
        sentence=f"{units.counted(len(gaps), 'gaps')} of {units.duration_ns(least)} or more "
        f"{'takes' if len(gaps) == 1 else 'take'} {units.share(per_step, steps.length_ns)} of "
        f"{'the steps' if steps.marked else steps.each}; the longest lasts "
        f"{units.duration_ns(longest.length_ns)}{where}, {longest.meanwhile}.",
        advice="Look at what the host does in the largest gaps; move it to another thread, "
        "overlap it with device work, or do it less often.",
        share=per_step / steps.length_ns,
        gain_ns=per_step,
        gain_basis="the device works through these gaps",
        evidence=tuple(_evidence(gap, steps) for gap in gaps[:_SHOWN]),
    )


def _evidence(gap: _Gap, steps: Steps) -> Evidence:
    name = f"in step {gap.step} " if steps.marked else ""
    name += f"from {short_kernel_name(gap.before)} to {short_kernel_name(gap.after)}"
    if gap.host_name is not None:
        name += f", host in {gap.host_name}"
    return Evidence("gap", name, {"gap_us": gap.length_ns / 1000, "start_ns": gap.start_ns})


# -- from idle time to gaps ------------------------------------------------------------------------


def _by_device(trace: Trace, least: float) -> Iterator[Gaps]:
    """The longest gaps of each device inside the steps, between two of its activities."""
    work = device_activities(trace)
    for device, idle in idle_ranges(trace).items():
        mine = np.flatnonzero(work.device == device)
        first, last = int(work.start[mine].min()), int(work.end[mine].max())
        inner = intervals.clip(idle, first, last)
        inner = inner[inner[:, 1] - inner[:, 0] >= least]
        if len(inner):
            inner = inner[np.argsort(inner[:, 0] - inner[:, 1], kind="stable")][:LOOKED_AT]
            by_start, by_end = (
                mine[np.argsort(times[mine], kind="stable")] for times in (work.start, work.end)
            )
            after = by_start[np.searchsorted(work.start[by_start], inner[:, 1])]
            before = by_end[np.searchsorted(work.end[by_end], inner[:, 0], side="right") - 1]
            yield Gaps(inner[:, 0], inner[:, 1], before, after)


def _unexplained(trace: Trace, gaps: Gaps) -> Iterator[_Gap]:
    """Gaps that no other rule speaks about: fetching data and communication have their own."""
    work, device, host = device_activities(trace), device_columns(trace), host_columns(trace)
    before, after = (device["name"][work.row[side]] for side in (gaps.before, gaps.after))
    names = find_steps(trace)["name"].to_list()
    step = np.searchsorted(find_steps(trace)["start_ns"].to_numpy(), gaps.start, side="right") - 1
    for place, meanwhile in enumerate(host_meanwhile(trace, work, gaps)):
        host_name = host["name"][meanwhile.row] if meanwhile.row >= 0 else None
        if not meanwhile.loading and not is_collective_call(host_name or ""):
            yield _Gap(
                start_ns=int(gaps.start[place]),
                length_ns=int(gaps.length[place]),
                step=names[step[place]],
                before=before[place] or "",
                after=after[place] or "",
                host_name=host_name,
            )
