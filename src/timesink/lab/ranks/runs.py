"""A plan carried out: times of all ranks, and what is true about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from timesink.lab.ranks.layout import Ints, Layout
from timesink.lab.ranks.meetings import Floats
from timesink.lab.ranks.plan import Answer, Plan, Straggler, Truth
from timesink.lab.ranks.simulate import StageTimes, simulate
from timesink.lab.ranks.slowness import Healthy, Slowness, affected_steps, culprits, put_in

FIRST_STEP = 3
"""What the first recorded step is called: profilers warm up before."""
_WHOLE_LAYERS = ("first_stage", "last_stage")
_TRIES, _CLOSE = 4, 0.1


@dataclass(frozen=True, eq=False)
class Run:
    """A run that took place."""

    plan: Plan
    layout: Layout
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


def carry_out(plan: Plan) -> Run:
    """Simulate a plan, and the same plan without each straggler, which tells what each costs.

    >>> run = carry_out(Plan(ranks=8, stragglers=(Straggler("data_loading", rank=5),)))
    >>> run.truth.answers[0].ranks, 0.15 < run.truth.answers[0].cost_us / run.truth.run_us < 0.25
    ((5,), True)
    """
    layout = Layout(plan)
    stages = simulate(plan, layout, Slowness.none(plan))
    healthy_us = run_us = _length(stages)
    slow, costs = Slowness.none(plan), []
    if plan.stragglers:
        healthy = _measured(plan, stages)
        stragglers = tuple(_tuned(plan, layout, place, healthy, healthy_us)
                           for place in range(len(plan.stragglers)))  # fmt: skip
        slow = _slowness(plan, layout, stragglers, healthy)
        stages = simulate(plan, layout, slow)
        run_us = _length(stages)
        costs = [_cost(plan, layout, stragglers, left_out, run_us, healthy_us, healthy)
                 for left_out in range(len(stragglers))]  # fmt: skip
    offset, drift = _clocks(plan)
    truth = Truth(
        answers=tuple(
            _answer(plan, layout, straggler, place, cost)
            for place, (straggler, cost) in enumerate(zip(plan.stragglers, costs, strict=True))
        ),
        run_us=run_us,
        healthy_run_us=healthy_us,
        clock_offset_ns=tuple(int(one) for one in offset[layout.node]),
        clock_drift_ppm=tuple(float(one) for one in drift[layout.node]),
    )
    return Run(plan, layout, slow, stages, truth)


def _slowness(
    plan: Plan, layout: Layout, stragglers: tuple[Straggler | None, ...], healthy: Healthy
) -> Slowness:
    slow = Slowness.none(plan)
    for place, straggler in enumerate(stragglers):
        if straggler is not None:
            slow = put_in(slow, plan, layout, straggler, place, healthy)
    return slow


def _tuned(
    plan: Plan, layout: Layout, place: int, healthy: Healthy, healthy_us: float
) -> Straggler:
    """A straggler with the intensity that costs what was asked for, where it may be chosen."""
    straggler = plan.stragglers[place]
    if straggler.kind in _WHOLE_LAYERS:
        return straggler
    steps = _steps(plan, straggler, place)
    asked = straggler.intensity * healthy.step_us * len(steps)
    for _ in range(_TRIES):
        alone = tuple(straggler if one == place else None for one in range(len(plan.stragglers)))
        cost = _length(simulate(plan, layout, _slowness(plan, layout, alone, healthy))) - healthy_us
        if abs(cost / asked - 1.0) < _CLOSE:
            break
        factor = min(max(asked / max(cost, 0.01 * asked), 0.25), 6.0)
        straggler = replace(straggler, intensity=straggler.intensity * factor)
    return straggler


def _cost(
    plan: Plan,
    layout: Layout,
    stragglers: tuple[Straggler, ...],
    left_out: int,
    run_us: float,
    healthy_us: float,
    healthy: Healthy,
) -> float:
    if len(stragglers) == 1:
        return run_us - healthy_us
    others = tuple(
        None if place == left_out else straggler for place, straggler in enumerate(stragglers)
    )
    return run_us - _length(simulate(plan, layout, _slowness(plan, layout, others, healthy)))


def _answer(
    plan: Plan, layout: Layout, straggler: Straggler, place: int, cost_us: float
) -> Answer:
    return Answer(
        kind=straggler.kind,
        cause=straggler.cause,
        ranks=tuple(int(rank) for rank in culprits(layout, straggler)),
        steps=tuple(int(step) + FIRST_STEP for step in _steps(plan, straggler, place)),
        cost_us=cost_us,
    )


def _steps(plan: Plan, straggler: Straggler, place: int) -> Ints:
    lasting = straggler.kind == "slow_link" or straggler.kind in _WHOLE_LAYERS
    return np.arange(plan.steps) if lasting else affected_steps(plan, straggler, place)


def _length(stages: list[StageTimes]) -> float:
    first = min(float(stage.call_start[0].min()) for stage in stages)
    return max(float(stage.call_end[-1].max()) for stage in stages) - first


def _clocks(plan: Plan) -> tuple[Floats, Floats]:
    """Offset (ns) and drift (ppm) of the clock of every node."""
    rng = np.random.default_rng([plan.seed, 4])
    offset = np.round(1e3 * plan.skew_us * rng.random(plan.nodes))
    return offset, plan.drift_ppm * (2 * rng.random(plan.nodes) - 1)


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
