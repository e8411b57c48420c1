"""The calls a rank makes in one step, in order: the same on all ranks of a pipeline stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from timesink.lab.ranks import work
from timesink.lab.ranks.plan import Plan
from timesink.lab.ranks.work import LaunchedKernel, Operator

LOADING = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
BUCKET = 25_000_000
"""Gradients that are reduced in one call."""
_COPY = LaunchedKernel("Memcpy HtoD (Pinned -> Device)", 55.0, (0, 0, 0), per_token=False)


@dataclass(frozen=True, slots=True)
class HostCall:
    """One call on the host; what it launches is in `operator` or `talk`."""

    kind: str
    """`operator`, `load`, `copy`, `talk`, `join`, `sync` or `extra_sync`."""
    host_us: float
    thread: str = "main"
    operator: Operator | None = None
    talk: str = ""
    role: str = ""
    """Role of the process group that talks."""
    elements: int = 0
    grows: int = 1
    """Elements that come out for each one that goes in."""
    per_token: bool = False
    blocking: bool = True
    """Whether later kernels wait for it."""
    stream: str = ""
    meeting: tuple[str, int] = ("", 0)
    """For calls between stages: which of them it is within the step."""
    forward: int = 0
    """For sending and receiving: whether the other is the next stage (1) or the previous (-1)."""

    @property
    def kernels(self) -> tuple[LaunchedKernel, ...]:
        if self.kind == "copy":
            return (_COPY,)
        return self.operator.kernels if self.operator else ()

    @property
    def talks(self) -> bool:
        return self.kind == "talk"


@dataclass(frozen=True, slots=True)
class CallSpan:
    """An annotation around several calls, by their numbers in the step."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Program:
    """One step of one stage."""

    calls: tuple[HostCall, ...]
    spans: tuple[CallSpan, ...]
    stall_at: int
    """The call before which Python stalls, where it does."""

    @property
    def launches(self) -> list[tuple[int, int]]:
        """Device work in the order of its launches: the call, and which of its kernels it is."""
        return [
            (number, place)
            for number, call in enumerate(self.calls)
            for place in range(1 if call.talks else len(call.kernels))
        ]


def stage_program(plan: Plan, stage: int, *, extra_layers: int = 0) -> Program:
    """What every rank of a stage does in a step."""
    builder = _Builder(plan, stage, plan.layers + extra_layers)
    return builder.program()


def _operators(given: Sequence[Operator], thread: str = "main") -> Iterator[HostCall]:
    for one in given:
        yield HostCall("operator", one.host_us, thread, one)


class _Builder:
    def __init__(self, plan: Plan, stage: int, layers: int) -> None:
        self.plan, self.stage, self.layers = plan, stage, layers
        self.calls: list[HostCall] = []
        self.spans: list[CallSpan] = []

    def program(self) -> Program:
        self.calls += [HostCall("load", 260.0), HostCall("copy", 40.0)]
        for direction, part in _one_forward_one_backward(self.plan, self.stage):
            (self._forward if direction == "forward" else self._backward)(part)
        stall_at = len(self.calls)
        self._finish()
        return Program(tuple(self.calls), tuple(self.spans), stall_at)

    # -- what passes through the stages ----------------------------------------------------------

    def _forward(self, part: int) -> None:
        first = len(self.calls)
        if self.stage > 0:
            self._pass_on("recv", "forward", part, -1, "main")
        else:
            self.calls += _operators(work.EMBEDDING)
        for _ in range(self.layers):
            self._layer_forward()
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("send", "forward", part, 1, "main")
        else:
            self.calls += _operators(work.LOSS if self.plan.pipeline == 1 else work.LOSS[1:])
        self.spans.append(CallSpan("DistributedDataParallel.forward", first, len(self.calls) - 1))

    def _backward(self, part: int) -> None:
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("recv", "backward", part, 1, "autograd")
        elif self.plan.pipeline == 1:
            self.calls += _operators(work.LOSS_BACK, "autograd")
        is_last = part == self.plan.parts - 1
        for _ in range(self.layers):
            self._layer_backward()
            if is_last and self.plan.data > 1:
                kind = "reduce_scatter" if self.plan.sharded else "all_reduce"
                self._talk(kind, "data", BUCKET, "autograd", blocking=False)
        if self.stage > 0:
            self._pass_on("send", "backward", part, -1, "autograd")

    def _layer_forward(self) -> None:
        self.calls += _operators(work.ATTENTION)
        self._reduce_activations("main")
        self.calls += _operators(work.FEED_FORWARD_IN)
        self._to_experts("main")
        self.calls += _operators(work.FEED_FORWARD)
        self._to_experts("main")
        self._reduce_activations("main")
        self.calls += _operators(work.FEED_FORWARD_OUT)

    def _layer_backward(self) -> None:
        self._to_experts("autograd")
        self.calls += _operators(work.FEED_FORWARD_BACK, "autograd")
        self._to_experts("autograd")
        self._reduce_activations("autograd")
        self.calls += _operators(work.ATTENTION_BACK, "autograd")
        self._reduce_activations("autograd")
        self.calls += _operators(work.LAST_BACK, "autograd")
        # Only on ranks that have this fault: somebody looks at a value after every layer.
        self.calls.append(HostCall("extra_sync", 12.0, "autograd"))

    # -- what ends a step ------------------------------------------------------------------------

    def _finish(self) -> None:
        self.calls.append(HostCall("join", 14.0))
        if self.plan.tensor > 1 < self.plan.pipeline:
            self._talk("all_reduce_small", "model", 1, "main", meeting=("norm", 0))
        elif self.plan.tensor > 1:
            self._talk("all_reduce_small", "tensor", 1, "main")
        first = len(self.calls)
        self.calls += _operators(work.OPTIMIZER)
        self.spans.append(CallSpan("Optimizer.step#AdamW.step", first, len(self.calls) - 1))
        if self.plan.sharded and self.plan.data > 1:
            size = BUCKET * self.layers // self.plan.data
            self._talk("all_gather", "data", size, "main", grows=self.plan.data)
        if self.plan.ranks > 1:
            self._talk("all_reduce_small", "world", 1, "main", meeting=("loss", 0))
        self.calls.append(HostCall("sync", 12.0))

    # -- talking ---------------------------------------------------------------------------------

    def _reduce_activations(self, thread: str) -> None:
        if self.plan.tensor > 1:
            size = work.TOKENS * work.HIDDEN
            self._talk("all_reduce", "tensor", size, thread)

    def _to_experts(self, thread: str) -> None:
        if self.plan.expert > 1:
            size = work.TOKENS * work.HIDDEN
            self._talk("all_to_all", "expert", size, thread, per_token=True)

    def _pass_on(self, talk: str, direction: str, part: int, forward: int, thread: str) -> None:
        # Every boundary between stages and every direction has a stream of its own.
        boundary = self.stage if forward == 1 else self.stage - 1
        self._talk(
            talk, "pipeline", work.TOKENS * work.HIDDEN, thread,
            blocking=talk == "recv", meeting=(f"{direction} {boundary}", part), forward=forward,
            stream=f"{direction} {talk}",
        )  # fmt: skip

    def _talk(self, talk: str, role: str, elements: int, thread: str, **more: object) -> None:
        call = HostCall("talk", 92.0, thread, talk=talk, role=role, elements=elements, stream=role)
        self.calls.append(replace(call, **more))  # type: ignore[arg-type]


def _one_forward_one_backward(plan: Plan, stage: int) -> list[tuple[str, int]]:
    """The order in which a stage handles the parts of a batch."""
    parts, ahead = plan.parts, min(plan.pipeline - stage - 1, plan.parts)
    order = [("forward", part) for part in range(ahead)]
    for part in range(parts - ahead):
        order += [("forward", part + ahead), ("backward", part)]
    return order + [("backward", part) for part in range(parts - ahead, parts)]
