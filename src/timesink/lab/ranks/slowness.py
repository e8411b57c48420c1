"""What stragglers do to a run, as numbers per step and rank."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from timesink.errors import UsageError
from timesink.lab.ranks.layout import Ints, RankLayout
from timesink.lab.ranks.meetings import Floats
from timesink.lab.ranks.plan import Plan, PlannedStraggler


@dataclass(frozen=True, eq=False)
class Slowness:
    """Arrays are steps x ranks, `link` and `bus` ranks alone; healthy are ones and zeros."""

    clock: Floats
    """Factor on what kernels take."""
    tokens: Floats
    """Factor on the tokens a rank works on."""
    host_gap_us: Floats
    """Further time before every call on the host."""
    stall_us: Floats
    """Further time before the optimizer, in which nothing is recorded."""
    pause_us: Floats
    """The same at a place of the forward pass that is another one in every step."""
    loading_us: Floats
    sync_us: Floats
    """Where above 0, the rank synchronises after every layer and then does this much more."""
    link: Floats
    """Factor on what transfers of a rank take."""
    bus: Floats
    """Factor on what copies between host and device take."""
    extra_layers: tuple[int, ...]
    """Further layers of each pipeline stage."""

    @classmethod
    def none(cls, plan: Plan) -> Slowness:
        shape = (plan.steps, plan.ranks)
        ones, zeros = np.ones(shape), np.zeros(shape)
        each = np.ones(plan.ranks)
        stages = (0,) * plan.pipeline
        return cls(ones, ones, zeros, zeros, zeros, zeros, zeros, each, each, stages)

    def of(self, ranks: Ints) -> Slowness:
        """Those of some ranks."""
        chosen = {
            one.name: getattr(self, one.name)[..., ranks]
            for one in fields(self)
            if one.name != "extra_layers"
        }
        return replace(self, **chosen)


@dataclass(frozen=True, slots=True)
class Healthy:
    """What is known of the run without stragglers; amounts of slowness are derived from it."""

    step_us: float
    kernels_us: float
    """What kernels of a step take on a rank, collectives left out."""
    tokens_us: float
    """Those of them that grow with the tokens."""
    talking_us: float
    """Transfers of a step that later work waits for."""
    host_us: float
    """What the host is busy in a step."""
    calls: int
    syncs: int
    """Places of a step where a straggler may synchronise."""
    lead_us: float
    """How far the host is ahead of the device before the optimizer."""


def affected_steps(plan: Plan, straggler: PlannedStraggler, place: int) -> Ints:
    """Which steps a straggler affects: drawn, or all of them."""
    count = max(1, round(straggler.share_of_steps * plan.steps))
    rng = np.random.default_rng([plan.seed, 3, place])
    return np.sort(rng.choice(plan.steps, size=min(count, plan.steps), replace=False))


def culprits(layout: RankLayout, straggler: PlannedStraggler) -> Ints:
    """The ranks that are slow."""
    if straggler.kind == "slow_node":
        return np.flatnonzero(layout.node == layout.node[straggler.rank])
    if straggler.kind in {"first_stage", "last_stage"}:
        return layout.stage_ranks[0 if straggler.kind == "first_stage" else -1]
    return np.array([straggler.rank])


def put_in(
    slow: Slowness,
    plan: Plan,
    layout: RankLayout,
    straggler: PlannedStraggler,
    *,
    place: int,
    healthy: Healthy,
) -> Slowness:
    """The slowness with one straggler more, the `place`-th of its plan."""
    ranks = culprits(layout, straggler)
    if straggler.kind in {"first_stage", "last_stage"}:
        return _with_layers(slow, plan, straggler)
    where = np.ix_(affected_steps(plan, straggler, place), ranks)
    lost_us = straggler.intensity * healthy.step_us
    if straggler.kind in {"slow_link", "slow_bus"}:
        factor = np.ones(plan.ranks)
        factor[ranks] = 1.0 + lost_us / healthy.talking_us
        bus = slow.bus * factor if straggler.kind == "slow_bus" else slow.bus
        return replace(slow, link=slow.link * factor, bus=bus)
    name, amount, multiplies = _amount(straggler.kind, lost_us, healthy)
    changed = getattr(slow, name).copy()
    changed[where] = changed[where] * amount if multiplies else changed[where] + amount
    return replace(slow, **{name: changed})


def _amount(kind: str, lost_us: float, healthy: Healthy) -> tuple[str, float, bool]:
    """Which field changes, by how much, and whether that is a factor."""
    if kind in {"slow_clock", "thermal", "slow_node"}:
        return "clock", 1.0 + lost_us / healthy.kernels_us, True
    if kind == "uneven_work":
        return "tokens", 1.0 + lost_us / healthy.tokens_us, True
    idle = healthy.step_us - healthy.host_us
    added = {
        "data_loading": ("loading_us", lost_us),
        "python_stall": ("stall_us", max(lost_us + healthy.lead_us, 0.0)),
        "gc_pause": ("pause_us", lost_us),
        "sync": ("sync_us", max(lost_us / healthy.syncs - 60.0, 5.0)),
        "slow_host": ("host_gap_us", max(lost_us + idle, 0.0) / healthy.calls),
    }
    return *added[kind], False


def _with_layers(slow: Slowness, plan: Plan, straggler: PlannedStraggler) -> Slowness:
    if plan.pipeline == 1:
        raise UsageError(
            f"A run without pipeline stages has no {straggler.kind.replace('_', ' ')}.",
            "give the plan a pipeline of 2 or more",
        )
    extra = list(slow.extra_layers)
    extra[0 if straggler.kind == "first_stage" else -1] += max(
        1, round(straggler.intensity * plan.layers)
    )
    return replace(slow, extra_layers=tuple(extra))
