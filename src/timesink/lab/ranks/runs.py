"""A plan carried out: times of all ranks, and what is true about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from timesink.lab.ranks.layout import PlannedLayout
from timesink.lab.ranks.plan import Answer, Plan, PlannedStraggler, Truth
from timesink.lab.ranks.simulate import (
    Floats,
    Healthy,
    Slowness,
    StageTimes,
    affected_steps,
    culprits,
    put_in,
    simulate,
)
from timesink.model.arrays import Ints

FIRST_STEP = 3
"""What the first recorded step is called: profilers warm up before."""
_WHOLE_LAYERS = ("first_stage", "last_stage")
_TRIES, _CLOSE, _FLATTEST = 8, 0.1, 0.1


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """A run that took place."""

    plan: Plan
    layout: PlannedLayout
    slow: Slowness
    stages: list[StageTimes]
    truth: Truth

    def tokens_of(self, rank: int) -> Floats:
        """Factor on the tokens of a rank in each step."""
        factors: Floats = self.slow.tokens[:, rank]
        return factors

    def synced_steps(self, rank: int) -> tuple[int, ...]:
        """Steps in which a rank synchronises after every layer."""
        return tuple(int(step) for step in np.flatnonzero(self.slow.sync_us[:, rank] > 0))


def carry_out(plan: Plan) -> SimulatedRun:
    """Simulate a plan, and the same plan without each straggler, which tells what each costs."""
    trials = _Trials(plan)
    stragglers = {place: trials.tuned(place) for place in range(len(plan.stragglers))}
    slow = trials.slowness(stragglers)
    stages = simulate(plan, trials.layout, slow) if stragglers else trials.healthy_stages
    run_us = _length(stages)
    # Offset (ns) and drift (ppm) of the clock of every node.
    rng = np.random.default_rng([plan.seed, 4])
    offset = np.round(1e3 * plan.skew_us * rng.random(plan.nodes))
    drift = plan.drift_ppm * (2 * rng.random(plan.nodes) - 1)
    truth = Truth(
        answers=tuple(
            _answer(plan, trials.layout, place, run_us - trials.length_without(place, stragglers))
            for place in stragglers
        ),
        run_us=run_us,
        healthy_run_us=trials.healthy_us,
        clock_offset_ns=tuple(int(one) for one in offset[trials.layout.node]),
        clock_drift_ppm=tuple(float(one) for one in drift[trials.layout.node]),
    )
    return SimulatedRun(plan, trials.layout, slow, stages, truth)


class _Trials:
    """The run without stragglers, and how long it takes with some."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.layout = plan, PlannedLayout(plan)
        self.healthy_stages = simulate(plan, self.layout, Slowness.none(plan))
        self.healthy_us = _length(self.healthy_stages)
        self.healthy = _measured(plan, self.healthy_stages)

    def slowness(self, stragglers: Mapping[int, PlannedStraggler]) -> Slowness:
        slow = Slowness.none(self.plan)
        for place, straggler in stragglers.items():
            slow = put_in(
                slow, self.plan, self.layout, straggler, place=place, healthy=self.healthy
            )
        return slow

    def length_with(self, stragglers: Mapping[int, PlannedStraggler]) -> float:
        if not stragglers:
            return self.healthy_us
        return _length(simulate(self.plan, self.layout, self.slowness(stragglers)))

    def length_without(self, left_out: int, stragglers: Mapping[int, PlannedStraggler]) -> float:
        return self.length_with({at: one for at, one in stragglers.items() if at != left_out})

    def tuned(self, place: int) -> PlannedStraggler:
        """A straggler with the intensity that costs what was asked for, where it can be chosen."""
        straggler = self.plan.stragglers[place]
        if straggler.kind in _WHOLE_LAYERS:
            return straggler
        steps = len(_steps(self.plan, straggler, place))
        asked, given, slope = straggler.intensity, straggler.intensity, 1.0
        before: tuple[float, float] | None = None
        for _ in range(_TRIES):
            tried = replace(straggler, intensity=given)
            cost = self.length_with({place: tried}) - self.healthy_us
            got = cost / (self.healthy.step_us * steps)
            if abs(got / asked - 1.0) < _CLOSE:
                break
            if before is not None and given != before[0]:
                slope = max((got - before[1]) / (given - before[0]), _FLATTEST)
            before = (given, got)
            given += (asked - got) / slope
        return tried


def _answer(plan: Plan, layout: PlannedLayout, place: int, cost_us: float) -> Answer:
    straggler = plan.stragglers[place]
    return Answer(
        kind=straggler.kind,
        cause=straggler.cause,
        ranks=tuple(int(rank) for rank in culprits(layout, straggler)),
        steps=tuple(int(step) + FIRST_STEP for step in _steps(plan, straggler, place)),
        cost_us=cost_us,
        separable=straggler.kind != "slow_link" or len(layout.alike(straggler.rank)) == 1,
    )


def _steps(plan: Plan, straggler: PlannedStraggler, place: int) -> Ints:
    lasting = straggler.kind in {"slow_link", "slow_bus", *_WHOLE_LAYERS}
    return np.arange(plan.steps) if lasting else affected_steps(plan, straggler, place)


def _length(stages: list[StageTimes]) -> float:
    first = min(float(stage.call_start[0].min()) for stage in stages)
    return max(float(stage.call_end[-1].max()) for stage in stages) - first


def _measured(plan: Plan, stages: list[StageTimes]) -> Healthy:
    """What a step of the slowest stage is made of."""
    stage = max(stages, key=lambda one: float(one.kernel_end[-1].max()))
    calls = stage.program.calls
    is_talk = np.array([calls[call].talks for call, _ in stage.program.launches])
    grows = np.array(
        [not calls[call].talks and calls[call].kernels[place].per_token
         for call, place in stage.program.launches]
    )  # fmt: skip
    takes = np.median(stage.kernel_end - stage.kernel_start, axis=1)
    takes = np.median(takes.reshape(plan.steps, -1), axis=0)
    busy = np.median(stage.call_end - stage.call_start, axis=1).reshape(plan.steps, -1)
    shortest = (stage.kernel_end - stage.kernel_start).min(axis=1).reshape(plan.steps, -1)
    lead = np.median(stage.lead, axis=1).reshape(plan.steps, -1)[:, stage.program.stall_at]
    ends = np.median(stage.call_end, axis=1).reshape(plan.steps, -1)[:, -1]
    starts = np.median(stage.call_start, axis=1).reshape(plan.steps, -1)[:, 0]
    return Healthy(
        step_us=float(np.median(ends - starts)),
        kernels_us=float(takes[~is_talk].sum()),
        tokens_us=float(takes[grows].sum()),
        talking_us=float(np.median(shortest, axis=0)[is_talk].sum()) or 1.0,
        host_us=float(np.median(busy, axis=0)[:-1].sum() + 6.0 * len(calls)),
        calls=len(calls),
        syncs=max(1, sum(call.kind == "extra_sync" for call in calls)),
        lead_us=float(np.median(lead)),
    )
