"""A run, evaluated call by call for all ranks of a stage at once.

The host makes calls in order; kernels of a stream run in order, not before they are
launched; a collective starts on each rank when that rank is ready and ends together.  Waits are
nowhere put in: they follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from timesink.model.intervals import Floats, Ints
from timesink_lab.ranks.layout import (
    WHOLE_LAYERS,
    Healthy,
    PlannedLayout,
    Slowness,
    affected_steps,
    culprits,
    put_in,
)
from timesink_lab.ranks.plan import Plan, PlannedStraggler
from timesink_lab.ranks.stage_program import HostCall, StageProgram, stage_program
from timesink_lab.ranks.truth import Answer, Truth

# Where ranks meet: a collective ends for all when the last one has come and all is moved.

_GB_PER_S = {"inside": 340.0, "between": 46.0}
_SETUP_US = {"inside": 9.0, "between": 24.0}


def transfer_us(layout: PlannedLayout, call: HostCall, size: int) -> float:
    """How long moving takes once all are there, on links in good order."""
    between = layout.crosses_nodes[call.role]
    place = "between" if between else "inside"
    element = 4 if call.talk == "all_reduce_small" else 2
    moved = element * call.elements * call.grows
    factor = {"all_reduce": 2 * (size - 1) / size, "send": 1.0, "recv": 1.0}
    rounds = factor.get(call.talk.removesuffix("_small"), (size - 1) / size)
    return _SETUP_US[place] + rounds * moved / (_GB_PER_S[place] * 1e3)


@dataclass(eq=False)
class Meeting:
    """One collective call of ranks in several stages."""

    stages: frozenset[int]
    settle: Callable[[dict[int, Floats]], dict[int, Floats]]
    ready: dict[int, Floats] = field(default_factory=dict)
    ends: dict[int, Floats] = field(default_factory=dict)

    def come(self, stage: int, ready: Floats) -> None:
        self.ready[stage] = ready
        if self.ready.keys() == self.stages:
            self.ends = self.settle(self.ready)


def group_ends(
    ready: Floats, groups: Ints, moving_us: Floats, link: Floats, noise: Floats
) -> Floats:
    """When a collective ends on each rank.

    `groups` has a row of positions per group; `link` says how much slower than usual a rank's link
    is; of `noise` the first number of a group is that of the network, and each one that of a rank.
    """
    members = ready[groups]
    usual = moving_us[groups].max(axis=1)
    network = 1.0 + 0.02 * np.abs(noise[groups[:, 0]])
    moving = usual * network * link[groups].max(axis=1)
    ends = members.max(axis=1)[:, None] + moving[:, None] + 0.6 * np.abs(noise[groups])
    spread = np.empty_like(ready)
    spread[groups] = ends
    return spread


_LAUNCH_TO_START_US = 5.5
_BETWEEN_KERNELS_US = 0.9
_BETWEEN_CALLS_US = 5.0
LAUNCH_AT, LAUNCH_TAKES = 0.55, 0.3
"""Where in its call a launch starts, and how much of it it takes; shared by several launches."""


@dataclass(frozen=True, eq=False)
class StageTimes:
    """True times in microseconds; a row per call or kernel of the run, a column per rank."""

    ranks: Ints
    program: StageProgram
    call_start: Floats
    call_end: Floats
    kernel_start: Floats
    kernel_end: Floats
    lead: Floats
    """How far the host was ahead of the device when it made each call."""


def simulate(plan: Plan, layout: PlannedLayout, slow: Slowness) -> list[StageTimes]:
    """The times of all stages."""
    board: dict[tuple[object, ...], Meeting] = {}
    stages = [_Stage(plan, layout, slow, number, board) for number in range(plan.pipeline)]
    running = {number: stage.run() for number, stage in enumerate(stages)}
    while running:
        for number in list(running):
            if next(running[number], "done") == "done":
                del running[number]
    return [stage.times() for stage in stages]


class _Stage:
    def __init__(
        self,
        plan: Plan,
        layout: PlannedLayout,
        slow: Slowness,
        number: int,
        board: dict[tuple[object, ...], Meeting],
    ) -> None:
        self.plan, self.layout, self.number, self.board = plan, layout, number, board
        self.ranks = layout.stage_ranks[number]
        self.slow = slow.of(self.ranks)
        self.link = slow.link
        self.program = stage_program(plan, number, extra_layers=slow.extra_layers[number])
        # Groups that lie inside the stage, as positions among its ranks.
        here = set(self.ranks.tolist())
        inside = {
            role: [ranks for ranks in groups if int(ranks[0]) in here]
            for role, groups in layout.members.items()
            if role in {"data", "tensor", "expert"}
        }
        self.groups = {
            role: np.array(groups) - self.ranks[0] for role, groups in inside.items() if groups
        }
        rng = np.random.default_rng([plan.seed, number, 1])
        self.rng, self.count = rng, len(self.ranks)
        # No two devices are quite alike, and none is quite the same all the time.
        device_spread = 0.002 * rng.standard_normal(self.count)
        self.pace = 1.0 + device_spread + 0.003 * rng.standard_normal((plan.steps, self.count))
        self.loading_us = 60.0 * rng.standard_exponential((plan.steps, self.count))
        self.host = 40.0 + 300.0 * rng.random(self.count)
        # For each step a call of the forward pass, before which a rank may pause.
        forward = [place for place, call in enumerate(self.program.calls) if call.operator]
        drawn = np.random.default_rng([self.plan.seed, 5]).random(self.plan.steps)
        self.pauses_at = [forward[int(share * len(forward) / 3)] for share in drawn]
        self.compute = np.zeros(self.count)
        self.streams: dict[str, Floats] = {}
        self.pending: dict[str, tuple[int, Meeting]] = {}
        self.call_start: list[Floats] = []
        self.call_end: list[Floats] = []
        self.kernel_start: list[Floats] = []
        self.kernel_end: list[Floats] = []
        self.lead: list[Floats] = []

    def run(self) -> Iterator[None]:
        for step in range(self.plan.steps):
            # Drawn for all ranks alike, so that a straggler changes nothing but what it does.
            noise = self.rng.standard_normal((len(self.program.calls), 3, self.count))
            rare = self.rng.random((len(self.program.calls), self.count))
            for number, call in enumerate(self.program.calls):
                self._start_call(call, number, step, noise[number, 0], rare[number])
                if call.talks:
                    yield from self._talk(call, step, noise[number, 1], noise[number, 2])
                elif call.kind == "join":
                    # Kernels that follow wait for the gradients.
                    self.compute = np.maximum(self.compute, self.streams.get("data", 0.0))
                elif call.kind in {"sync", "extra_sync"}:
                    waited = np.maximum(self.call_end[-1], self.compute + 4.0)
                    waits = call.kind == "sync" or self.slow.sync_us[step] > 0
                    self.call_end[-1] = np.where(waits, waited, self.call_end[-1])
                else:
                    self._launch(call, step, noise[number, 1])
                # What Python does with a value it waited for, before it goes on.
                afterwards = self.slow.sync_us[step] if call.kind == "extra_sync" else 0.0
                self.host = self.call_end[-1] + afterwards
        for stream in list(self.pending):
            yield from self._settled(stream)

    # -- on the host -----------------------------------------------------------------------------

    def _start_call(
        self, call: HostCall, number: int, step: int, noise: Floats, rare: Floats
    ) -> None:
        slow = self.slow
        gap = _BETWEEN_CALLS_US * (1.0 + 0.2 * np.abs(noise)) + slow.host_gap_us[step]
        if number == self.program.stall_at:
            gap = gap + slow.stall_us[step]
        if number == self.pauses_at[step]:
            gap = gap + slow.pause_us[step]
        takes = call.host_us * np.exp(0.2 * noise) + np.where(rare < 0.002, 60.0, 0.0)
        if call.kind == "load":
            takes = takes + self.loading_us[step] + slow.loading_us[step]
        if call.kind == "extra_sync":
            is_there = slow.sync_us[step] > 0
            gap, takes = np.where(is_there, gap, 0.0), np.where(is_there, takes, 0.0)
        start = self.host + gap
        self.call_start.append(start)
        self.call_end.append(start + takes)
        self.lead.append(np.maximum(self.compute - start, 0.0))

    # -- on the device ---------------------------------------------------------------------------

    def _launch(self, call: HostCall, step: int, noise: Floats) -> None:
        kernels = call.kernels
        start, end = self.call_start[-1], self.call_end[-1]
        for place, kernel in enumerate(kernels):
            done = LAUNCH_AT + LAUNCH_TAKES * (place + 1) / len(kernels)
            launched = start + done * (end - start)
            began = np.maximum(launched + _LAUNCH_TO_START_US, self.compute + _BETWEEN_KERNELS_US)
            wobble = 1.0 + self.plan.jitter * np.clip(noise if place == 0 else -noise, -3, 3)
            takes = kernel.us * wobble
            if call.kind == "copy":
                takes = takes * self.slow.bus
            else:
                takes = takes * self.pace[step] * self.slow.clock[step]
            if kernel.per_token:
                takes = takes * self.slow.tokens[step]
            self.compute = began + takes
            self.kernel_start.append(began)
            self.kernel_end.append(self.compute)

    def _talk(self, call: HostCall, step: int, noise: Floats, network: Floats) -> Iterator[None]:
        yield from self._settled(call.stream)
        start, end = self.call_start[-1], self.call_end[-1]
        launched = start + (LAUNCH_AT + LAUNCH_TAKES) * (end - start)
        ready = np.maximum(launched + _LAUNCH_TO_START_US, self.compute + _BETWEEN_KERNELS_US)
        if call.stream in self.streams:
            ready = np.maximum(ready, self.streams[call.stream] + _BETWEEN_KERNELS_US)
        ready = ready + 0.3 * np.abs(noise)
        self.kernel_start.append(ready)
        self.kernel_end.append(ready)
        if call.role in self.groups:
            groups = self.groups[call.role]
            usual = np.full(self.count, transfer_us(self.layout, call, groups.shape[1]))
            if call.per_token:
                usual = usual * self.slow.tokens[step]
            self._ended(
                call.stream,
                len(self.kernel_end) - 1,
                group_ends(ready, groups, usual, self.slow.link, network),
            )
        else:
            key = (step, *call.meeting)
            if key not in self.board:
                self.board[key] = self._meeting(call, step)
            self.board[key].come(self.number, ready)
            self.pending[call.stream] = (len(self.kernel_end) - 1, self.board[key])
        if call.blocking:
            yield from self._settled(call.stream)
            self.compute = np.maximum(self.compute, self.streams[call.stream])

    def _ended(self, stream: str, kernel: int, ends: Floats) -> None:
        self.kernel_end[kernel] = ends
        self.streams[stream] = ends

    def _settled(self, stream: str) -> Iterator[None]:
        """Wait for the other stages to come to the last call of a stream."""
        if stream not in self.pending:
            return
        kernel, meeting = self.pending.pop(stream)
        while not meeting.ends:
            yield
        self._ended(stream, kernel, meeting.ends[self.number])

    def _meeting(self, call: HostCall, step: int) -> Meeting:
        layout = self.layout
        if call.forward:
            stages = [self.number, self.number + call.forward]
            ranks = np.sort(np.concatenate([layout.stage_ranks[stage] for stage in stages]))
            half = len(ranks) // 2
            groups = np.arange(len(ranks)).reshape(2, half).T
        else:
            stages = list(range(self.plan.pipeline))
            ranks = np.arange(self.plan.ranks)
            groups = np.array(layout.members[call.role])
        usual = np.full(len(ranks), transfer_us(layout, call, groups.shape[1]))
        seed = [self.plan.seed, 2, step, *(ord(c) for c in call.meeting[0]), call.meeting[1]]
        network = np.random.default_rng(seed).standard_normal(len(ranks))
        link = self.link[ranks]

        def settle(ready: dict[int, Floats]) -> dict[int, Floats]:
            order = sorted(ready)
            everyone = np.concatenate([ready[stage] for stage in order])
            ends = group_ends(everyone, groups, usual, link, network)
            pieces = np.split(ends, np.cumsum([len(ready[stage]) for stage in order])[:-1])
            return dict(zip(order, pieces, strict=True))

        return Meeting(frozenset(stages), settle)

    def times(self) -> StageTimes:
        arrays = (self.call_start, self.call_end, self.kernel_start, self.kernel_end, self.lead)
        stacked = [np.stack(rows) for rows in arrays]
        return StageTimes(self.ranks, self.program, *stacked)


# A plan carried out: times of all ranks, and what is true about them.

FIRST_STEP = 3
"""What the first recorded step is called: profilers warm up before."""
_TRIES, _CLOSE, _FLATTEST = 8, 0.1, 0.1


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """A run that took place."""

    plan: Plan
    layout: PlannedLayout
    slow: Slowness
    stages: list[StageTimes]
    truth: Truth


def carry_out(plan: Plan) -> SimulatedRun:
    """Simulate a plan, and the same plan without each straggler, which tells what each costs."""
    layout = PlannedLayout(plan)
    healthy_stages = simulate(plan, layout, Slowness.none(plan))
    healthy_us, healthy = _length(healthy_stages), _measure_healthy(plan, healthy_stages)

    def slowness(stragglers: Mapping[int, PlannedStraggler]) -> Slowness:
        slow = Slowness.none(plan)
        for place, straggler in stragglers.items():
            slow = put_in(slow, plan, layout, straggler, place=place, healthy=healthy)
        return slow

    last: tuple[Mapping[int, PlannedStraggler], list[StageTimes]] = ({}, healthy_stages)

    def stages_with(stragglers: Mapping[int, PlannedStraggler]) -> list[StageTimes]:
        """The last that was asked for is often asked for again: of one straggler, the one tuned."""
        nonlocal last
        if stragglers and stragglers != last[0]:
            last = (stragglers, simulate(plan, layout, slowness(stragglers)))
        return last[1] if stragglers else healthy_stages

    def tuned(place: int) -> PlannedStraggler:
        """A straggler with the intensity that costs what was asked for, where it can be chosen."""
        straggler = plan.stragglers[place]
        if straggler.kind in WHOLE_LAYERS:
            return straggler
        steps = len(affected_steps(plan, straggler, place))
        target, intensity, slope = straggler.intensity, straggler.intensity, 1.0
        before: tuple[float, float] | None = None
        for _ in range(_TRIES):
            tried = replace(straggler, intensity=intensity)
            got = (_length(stages_with({place: tried})) - healthy_us) / (healthy.step_us * steps)
            if abs(got / target - 1.0) < _CLOSE:
                break
            if before is not None and intensity != before[0]:
                slope = max((got - before[1]) / (intensity - before[0]), _FLATTEST)
            before = (intensity, got)
            intensity += (target - got) / slope
        return tried

    stragglers = {place: tuned(place) for place in range(len(plan.stragglers))}
    slow = slowness(stragglers)
    stages = stages_with(stragglers)
    run_us = _length(stages)
    # Offset (ns) and drift (ppm) of the clock of every node.
    rng = np.random.default_rng([plan.seed, 4])
    offset = np.round(1e3 * plan.skew_us * rng.random(plan.nodes))
    drift = plan.drift_ppm * (2 * rng.random(plan.nodes) - 1)
    answers = [
        Answer(
            kind=straggler.kind,
            cause=straggler.cause,
            ranks=tuple(int(rank) for rank in culprits(layout, straggler)),
            steps=tuple(int(step) + FIRST_STEP for step in affected_steps(plan, straggler, place)),
            cost_us=run_us
            - _length(stages_with({at: stragglers[at] for at in stragglers if at != place})),
            separable=straggler.kind != "slow_link"
            or len(layout.same_group_ranks(straggler.rank)) == 1,
        )
        for place, straggler in enumerate(plan.stragglers)
    ]
    truth = Truth(
        answers=tuple(answers),
        run_us=run_us,
        healthy_run_us=healthy_us,
        clock_offset_ns=tuple(int(offset_ns) for offset_ns in offset[layout.node]),
        clock_drift_ppm=tuple(float(drift_ppm) for drift_ppm in drift[layout.node]),
    )
    return SimulatedRun(plan, layout, slow, stages, truth)


def _length(stages: list[StageTimes]) -> float:
    first = min(float(stage.call_start[0].min()) for stage in stages)
    return max(float(stage.call_end[-1].max()) for stage in stages) - first


def _measure_healthy(plan: Plan, stages: list[StageTimes]) -> Healthy:
    """What a step of the slowest stage is made of."""
    stage = max(stages, key=lambda stage_times: float(stage_times.kernel_end[-1].max()))
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
