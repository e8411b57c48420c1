"""The calls a rank makes in one step, in order: the same on all ranks of a pipeline stage.

A step of training a transformer: operators and their kernels, which are rows of `operators.csv` and
`kernels.csv`, and collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.model.data_files import csv_rows
from timesink_lab.ranks.plan import Plan

# The calls a rank makes in one step, in order: the same on all ranks of a pipeline stage.

# What a step of training a transformer does: operators and their kernels, which are rows of
# `operators.csv` and `kernels.csv`, and collectives.

TOKENS = 8192
HIDDEN = 4096
MULTIPROCESSORS = 132


@dataclass(frozen=True, slots=True)
class LaunchedKernel:
    """A kernel an operator launches."""

    name: str
    us: float
    grid: tuple[int, int, int]
    block: tuple[int, int, int] = (128, 1, 1)
    registers: int = 168
    shared: int = 232448
    per_token: bool = True
    """Whether its time and its grid grow with the tokens."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A call of an operator: its children are made in order inside it."""

    name: str
    host_us: float
    kernels: tuple[LaunchedKernel, ...] = ()
    children: tuple[str, ...] = ()
    dims: str = "[]"
    """Input shapes; `@T` stands for the tokens."""
    types: str = "[]"


@dataclass(frozen=True, slots=True)
class Traffic:
    """A collective call, as PyTorch and NCCL name it in four places."""

    operator: str
    collective: str
    annotation: str
    kernel: str


def _talk(operator: str, collective: str, annotation: str, kernel: str) -> Traffic:
    kernel = f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)"
    return Traffic(f"c10d::{operator}", collective, f"nccl:{annotation}", kernel)


_SCATTER, _GATHER = "_reduce_scatter_base", "_allgather_base"
TALKS = {
    "all_reduce": _talk("allreduce_", "allreduce", "all_reduce", "AllReduce_Sum_bf16_RING_LL"),
    "all_reduce_small": _talk("allreduce_", "allreduce", "all_reduce", "AllReduce_Sum_f32_TREE_LL"),
    "reduce_scatter": _talk(f"{_SCATTER}_", _SCATTER, _SCATTER, "ReduceScatter_Sum_bf16_RING_LL"),
    "all_gather": _talk(f"{_GATHER}_", _GATHER, "_all_gather_base", "AllGather_RING_LL"),
    "all_to_all": _talk("alltoall_base_", "all_to_all", "all_to_all", "SendRecv"),
    "send": _talk("send", "send", "send @P", "SendRecv"),
    "recv": _talk("recv_", "recv", "recv @P", "SendRecv"),
}


def _sizes(text: str) -> tuple[int, int, int]:
    x, y, z = map(int, text.split())
    return x, y, z


_TABLES = Path(__file__).parent
_KERNELS = {
    row["kernel"]: LaunchedKernel(
        row["name"], float(row["us"]), _sizes(row["grid"]), _sizes(row["block"]),
        int(row["registers"]), int(row["shared"]), row["grows"] == "yes",
    )
    for row in csv_rows(_TABLES / "kernels.csv")
}  # fmt: skip
PARTS: dict[str, list[Operator]] = {}
"""Operators of each part of a step, in order."""
for _row in csv_rows(_TABLES / "operators.csv"):
    _kernels = tuple(_KERNELS[name] for name in _row["kernels"].split())
    _host_us, _children = float(_row["host_us"]), tuple(_row["children"].split())
    PARTS.setdefault(_row["part"], []).append(
        Operator(_row["name"], _host_us, _kernels, _children, _row["dims"], _row["types"])
    )


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
class StageProgram:
    """One step of one stage."""

    calls: tuple[HostCall, ...]
    spans: tuple[tuple[str, int, int], ...]
    """Annotations around several calls: name, and the numbers of the first and the last of them."""
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


def stage_program(plan: Plan, stage: int, *, extra_layers: int = 0) -> StageProgram:
    """What every rank of a stage does in a step."""
    return _Builder(plan, stage, plan.layers + extra_layers).program()


def _operators(operators: Sequence[Operator], thread: str = "main") -> Iterator[HostCall]:
    for operator in operators:
        yield HostCall("operator", operator.host_us, thread, operator)


class _Builder:
    def __init__(self, plan: Plan, stage: int, layers: int) -> None:
        self.plan, self.stage, self.layers = plan, stage, layers
        self.calls: list[HostCall] = []
        self.spans: list[tuple[str, int, int]] = []

    def program(self) -> StageProgram:
        self.calls += [HostCall("load", 260.0), HostCall("copy", 40.0)]
        for direction, part in _one_forward_one_backward(self.plan, self.stage):
            (self._forward if direction == "forward" else self._backward)(part)
        stall_at = len(self.calls)
        self._finish()
        return StageProgram(tuple(self.calls), tuple(self.spans), stall_at)

    # -- what passes through the stages ----------------------------------------------------------

    def _forward(self, part: int) -> None:
        first = len(self.calls)
        if self.stage > 0:
            self._pass_on("recv", "forward", part, -1, "main")
        else:
            self.calls += _operators(PARTS["embedding"])
        for _ in range(self.layers):
            self.calls += _operators(PARTS["attention"])
            self._reduce_activations("main")
            self.calls += _operators(PARTS["feed_forward_in"])
            self._to_experts("main")
            self.calls += _operators(PARTS["feed_forward"])
            self._to_experts("main")
            self._reduce_activations("main")
            self.calls += _operators(PARTS["feed_forward_out"])
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("send", "forward", part, 1, "main")
        else:
            self.calls += _operators(PARTS["loss"][0 if self.plan.pipeline == 1 else 1 :])
        self.spans.append(("DistributedDataParallel.forward", first, len(self.calls) - 1))

    def _backward(self, part: int) -> None:
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("recv", "backward", part, 1, "autograd")
        elif self.plan.pipeline == 1:
            self.calls += _operators(PARTS["loss_back"], "autograd")
        is_last = part == self.plan.parts - 1
        for _ in range(self.layers):
            self._to_experts("autograd")
            self.calls += _operators(PARTS["feed_forward_back"], "autograd")
            self._to_experts("autograd")
            self._reduce_activations("autograd")
            self.calls += _operators(PARTS["attention_back"], "autograd")
            self._reduce_activations("autograd")
            self.calls += _operators(PARTS["last_back"], "autograd")
            # Only on ranks that have this fault: somebody looks at a value after every layer.
            self.calls.append(HostCall("extra_sync", 12.0, "autograd"))
            if is_last and self.plan.data > 1:
                kind = "reduce_scatter" if self.plan.sharded else "all_reduce"
                self._talk(kind, "data", BUCKET, "autograd", blocking=False)
        if self.stage > 0:
            self._pass_on("send", "backward", part, -1, "autograd")

    # -- what ends a step ------------------------------------------------------------------------

    def _finish(self) -> None:
        self.calls.append(HostCall("join", 14.0))
        if self.plan.tensor > 1 < self.plan.pipeline:
            self._talk("all_reduce_small", "model", 1, "main", meeting=("norm", 0))
        elif self.plan.tensor > 1:
            self._talk("all_reduce_small", "tensor", 1, "main")
        first = len(self.calls)
        self.calls += _operators(PARTS["optimizer"])
        self.spans.append(("Optimizer.step#AdamW.step", first, len(self.calls) - 1))
        if self.plan.sharded and self.plan.data > 1:
            size = BUCKET * self.layers // self.plan.data
            self._talk("all_gather", "data", size, "main", grows=self.plan.data)
        if self.plan.ranks > 1:
            self._talk("all_reduce_small", "world", 1, "main", meeting=("loss", 0))
        self.calls.append(HostCall("sync", 12.0))

    # -- talking ---------------------------------------------------------------------------------

    def _reduce_activations(self, thread: str) -> None:
        if self.plan.tensor > 1:
            self._talk("all_reduce", "tensor", TOKENS * HIDDEN, thread)

    def _to_experts(self, thread: str) -> None:
        if self.plan.expert > 1:
            self._talk("all_to_all", "expert", TOKENS * HIDDEN, thread, per_token=True)

    def _pass_on(self, talk: str, direction: str, part: int, forward: int, thread: str) -> None:
        # Every boundary between stages and every direction has a stream of its own.
        boundary = self.stage if forward == 1 else self.stage - 1
        self._talk(
            talk, "pipeline", TOKENS * HIDDEN, thread,
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
