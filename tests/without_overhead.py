"""Runs whose recordings say how long steps are without profiler overhead, and judgements."""

from __future__ import annotations

from dataclasses import replace

from compared import two_runs
from gated import MS
from timesink.analyses.replay.own_clock import StepTime
from timesink.comparison.results import Pair, Process
from timesink.model.diagnosis import CycleTime, ProgramChange, SteadyTimes, StepTimeTest

Bounds = tuple[float, float]


def step_time(role: Process, low_ms: float, middle_ms: float, high_ms: float) -> Process:
    """A process whose recording says how long its mean step is without profiler overhead."""
    times = StepTime(role.mean_cycle_ns, middle_ms * MS, (low_ms * MS, high_ms * MS))
    return replace(role, step_time=lambda: times)


def corrected_pair(base: tuple[float, float, float], new: tuple[float, float, float]) -> Pair:
    pair = two_runs(cycles=4)
    return replace(pair, base=step_time(pair.base, *base), new=step_time(pair.new, *new))


def program(delta_ms: float) -> ProgramChange:
    """The same calls; device time of a step grows by so much, for certain, or stays the same."""
    bounds = (delta_ms - 0.1) * MS, (delta_ms + 0.1) * MS
    device = SteadyTimes(40 * MS, (40 + delta_ms) * MS, bounds)
    return ProgramChange((), (), device, delta_ms * MS, 0.0, 0.0, 0.0, certain=True, varying=0)


def recorded_judgement(verdict: str, new_ms: float, interval_ms: Bounds) -> StepTimeTest:
    """Steps of 100 ms as recorded that take another time in the new run."""
    low, high = interval_ms
    steady = SteadyTimes(100 * MS, new_ms * MS, (low * MS, high * MS))
    lengths = CycleTime(100 * MS, new_ms * MS, new_ms - 100, interval_ms, 0.01, steady)
    return StepTimeTest(verdict, f"Steps as recorded: {verdict}.", lengths)
