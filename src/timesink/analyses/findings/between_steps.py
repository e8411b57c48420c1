"""Time that passes between steps while no device works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from timesink.analyses.breakdown import PARTS
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import complete_steps
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import role_ranges
from timesink.model import intervals, units
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

LEAST_SHARE = 0.1
LEAST_LOADING = 0.05
"""Fetching data between steps is worth a word from this share of the time on."""

_ON_DEVICE = ("kernel", "memcpy", "memset")
_HOST_DID = {
    "communication": "communicated",
    "runtime": "was in runtime calls",
    "data_loader": "fetched data",
    "cpu_exec": "ran host code",
    "other": "ran no operator and made no runtime call",
}


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between the complete steps, from the first to the last."""

    window_ns: int
    """From the start of the first step to the end of the last."""
    pauses: int
    """How often one step follows another."""
    parts: Mapping[str, int]
    """Time without device work by what the host did; a moment counts for the first of them."""

    @property
    def idle_ns(self) -> int:
        return sum(self.parts.values())

    @property
    def share(self) -> float:
        """Of the whole window."""
        return self.idle_ns / self.window_ns if self.window_ns else 0.0

    @property
    def loading_share(self) -> float:
        return self.parts["data_loader"] / self.window_ns if self.window_ns else 0.0

    def each_ns(self, amount_ns: float) -> float:
        """An amount as its average between two steps."""
        return amount_ns / max(1, self.pauses)


@once_per_trace
def time_between(trace: Trace) -> Between:
    """How long devices stand still between steps, and what the host does then.

    >>> import timesink
    >>> 0 <= time_between(timesink.open(timesink.sample())).share <= 1
    True
    """
    steps = complete_steps(trace)
    windows = steps.windows
    if len(windows) < 2:
        return Between(0, 0, dict.fromkeys(_HOST_DID, 0))
    pauses = np.stack([windows[:-1, 1], windows[1:, 0]]).T
    parts, left = {}, pauses
    for part in PARTS:
        rest = left[:0]
        if part != "other":
            rest = intervals.subtract(left, _touching(role_ranges(trace)[part], pauses))
        parts[part] = intervals.coverage(left) - intervals.coverage(rest)
        left = rest
    return Between(
        window_ns=int(windows[-1, 1] - windows[0, 0]),
        pauses=steps.count - 1,
        parts={part: ns for part, ns in parts.items() if part not in _ON_DEVICE},
    )


def _touching(ranges: IntervalSet, pauses: IntervalSet) -> IntervalSet:
    """Those that reach into a pause; nearly all lie in steps."""
    first = np.searchsorted(ranges[:, 1].copy(), pauses[:, 0], side="right")
    last = np.searchsorted(ranges[:, 0].copy(), pauses[:, 1])
    pieces = [ranges[begin:end] for begin, end in zip(first, last, strict=True) if begin < end]
    return intervals.merge(np.concatenate(pieces)) if pieces else ranges[:0]


def between_steps(trace: Trace) -> list[Finding]:
    """Pauses between steps that take over a tenth of the time from the first to the last.

    >>> import timesink
    >>> between_steps(timesink.open(timesink.sample()))
    []
    """
    between = time_between(trace)
    if between.share <= LEAST_SHARE:
        return []
    did = {part: ns for part, ns in between.parts.items() if ns}
    # What fetching data takes is told, and to be gained, under that heading.
    told_elsewhere = between.parts["data_loader"] if between.loading_share > LEAST_LOADING else 0
    gain_ns = between.each_ns(between.idle_ns - told_elsewhere)
    return [
        Finding(
            rule="between-steps",
            title="Time passes between steps",
            sentence=f"Between two steps devices stand still for "
            f"{units.duration_ns(between.each_ns(between.idle_ns))}, "
            f"{units.share(between.idle_ns, between.window_ns)} of the time from the first step "
            f"to the last. Meanwhile the host {_doing(between, did)}.",
            advice="Look at what the program does between steps (fetching data, logging, "
            "evaluating, saving checkpoints): do it less often or in the background; call "
            "profiler.step() right before the next batch is fetched, so that a step holds all "
            "of it.",
            share=between.share,
            between_ns=gain_ns,
            gain_basis="a step follows the one before at once" if gain_ns else "",
            evidence=(
                Evidence(
                    "gap",
                    "between two steps",
                    {f"{part}_us": between.each_ns(ns) / 1000 for part, ns in did.items()},
                ),
            ),
        )
    ]


def _doing(between: Between, did: Mapping[str, int]) -> str:
    """The two things that took most of the pauses."""
    longest = sorted(did, key=lambda part: -did[part])[:2]
    return " and ".join(
        f"{_HOST_DID[part]} for {units.duration_ns(between.each_ns(did[part]))}" for part in longest
    )
