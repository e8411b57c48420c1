"""One training loop on a Cambricon MLU, written down as a tree of calls, and what it must show.

Times are whole microseconds.  The answers are worked out by the plainest means: adding up the
tree, and painting a line of single microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

MAIN, BACKWARD = 133464, 133871
"""The thread that runs the model, and the one autograd runs on."""
ITERATION_US = 1000

CONV = "void MLUConvTileCo2<0, 0, float, float>(char const*, char*, char*, int, int, float)"
NORM = "MLUUnionXKernelNormForward(void*, void*, void*, float, unsigned long, int)"
CLIP = "void MLUBlockKernelPipelineClip<float, float>(char*, char*, unsigned long, float)"
CONV_GRAD = "MLUUnionXKernelConvWeightGrad_float_float(void const*, void*, int, int, bool)"
FILTER_GRAD = "nosplit_conv1x1_entry_DATAGRAD_F32_F32(void*, void const*, int, int, bool)"
"""On other devices a name with `conv1x1` is one of tensor cores."""
SCALE = "void MLUOpTensorScale<float, float>(float const*, float*, unsigned int, bool)"
RING_SUM = "RING_SUM_2_FLOAT"
"""A kernel of a collective: only its external id tells, its name does not."""

DATA_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
COLLECTIVE = "cncl:all_reduce"
OPTIMIZER = "Optimizer.step#SGD.step"


# -- the loop ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """What the device does: a kernel, copy or memset."""

    kind: str
    name: str
    start: int
    length: int


@dataclass(frozen=True)
class Launch:
    """A library call, the runtime call inside it, and the device work that one starts."""

    library: str
    start: int
    length: int
    runtime: str
    work: Work

    @property
    def inner(self) -> tuple[int, int]:
        return self.start + 5, self.length - 10


@dataclass(frozen=True)
class Call:
    """A host call with what happens inside it."""

    name: str
    start: int
    length: int
    inside: tuple[Call | Launch, ...] = ()
    thread: int = MAIN

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(node for node in self.inside if isinstance(node, Call))

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(node for node in self.inside if isinstance(node, Launch))

    @property
    def everything(self) -> Iterator[Call]:
        yield self
        for call in self.calls:
            yield from call.everything


def kernel(library: str, start: int, name: str, begin: int, length: int) -> Launch:
    return Launch(library, start, 20, "cnInvokeKernel", Work("kernel", name, begin, length))


def copy(start: int, direction: str, begin: int, length: int) -> Launch:
    work = Work("memcpy", f"Memcpy {direction}", begin, length)
    return Launch("cnrtMemcpyAsync", start, 20, f"cnMemcpy{direction}Async", work)


def iteration() -> tuple[Call, ...]:
    """One pass: load, forward, backward on its own thread, reduce gradients, update."""
    return (
        Call(DATA_LOADER, 0, 100, (Call("aten::stack", 20, 40),)),
        Call(
            "aten::to",
            110,
            70,
            (Call("aten::copy_", 120, 50, (copy(130, "HtoD", 155, 30),)),),
        ),
        Call(
            "aten::conv2d",
            200,
            80,
            (
                Call(
                    "aten::convolution",
                    210,
                    60,
                    (kernel("cnnlConvolutionForward", 220, CONV, 245, 70),),
                ),
            ),
        ),
        Call("aten::batch_norm", 290, 50, (kernel("cnnlBatchNormForward", 300, NORM, 315, 45),)),
        Call("aten::clamp_min_", 350, 30, (kernel("cnnlClip", 355, CLIP, 365, 25),)),
        Call(
            "autograd::engine::evaluate_function: ConvolutionBackward0",
            410,
            110,
            (
                Call(
                    "aten::convolution_backward",
                    420,
                    90,
                    (
                        kernel("cnnlConvolutionBackwardData", 430, FILTER_GRAD, 455, 40),
                        kernel("cnnlConvolutionBackwardFilter", 470, CONV_GRAD, 495, 55),
                    ),
                    BACKWARD,
                ),
            ),
            BACKWARD,
        ),
        Call(
            "c10d::allreduce_",
            540,
            100,
            (
                Call(
                    COLLECTIVE,
                    550,
                    80,
                    (
                        copy(560, "DtoD", 580, 15),
                        kernel("cnclAllReduce", 590, RING_SUM, 600, 60),
                    ),
                    BACKWARD,
                ),
            ),
            BACKWARD,
        ),
        Call(
            OPTIMIZER,
            700,
            130,
            (
                Call("aten::mul_", 710, 40, (kernel("cnnlOpTensor", 715, SCALE, 740, 12),)),
                Call("aten::mul_", 760, 40, (kernel("cnnlOpTensor", 765, SCALE, 790, 9),)),
            ),
        ),
        Call(
            "aten::zero_",
            840,
            40,
            (
                Launch(
                    "cnrtMemsetAsync",
                    850,
                    20,
                    "cnMemsetD8Async",
                    Work("memset", "Memset Device", 880, 6),
                ),
            ),
        ),
    )


def shift_call(call: Call, by: int) -> Call:
    inside = tuple(
        shift_call(node, by)
        if isinstance(node, Call)
        else replace(
            node,
            start=node.start + by,
            work=replace(node.work, start=node.work.start + by),
        )
        for node in call.inside
    )
    return replace(call, start=call.start + by, inside=inside)


# -- the answers ---------------------------------------------------------------------------------

PARTS = (
    "Kernel",
    "Memcpy",
    "Memset",
    "Communication",
    "Runtime",
    "DataLoader",
    "CPU Exec",
    "Other",
)


@dataclass(frozen=True)
class OperatorRow:
    calls: int = 0
    device_self: int = 0
    device_total: int = 0
    host_self: int = 0
    host_total: int = 0

    def __add__(self, other: OperatorRow) -> OperatorRow:
        return OperatorRow(
            self.calls + other.calls,
            self.device_self + other.device_self,
            self.device_total + other.device_total,
            self.host_self + other.host_self,
            self.host_total + other.host_total,
        )


@dataclass(frozen=True)
class Answers:
    """What the recording shows, in us."""

    steps: dict[str, dict[str, int]]
    """Name of each step: its parts and their `Total`."""
    operators: dict[str, OperatorRow]
    kernels: dict[str, list[int]]
    """Name of each kernel: how long each of its runs took."""
    utilisation_pct: float
    device_us: int
    """Kernels, copies and memsets together."""
    outside_operators_us: int
    """The part of it that no operator launched itself."""
    memory: dict[str, int] = field(default_factory=dict)
    """Operator: bytes it allocated on the device and did not give back."""


def is_operator(call: Call, collective_category: str) -> bool:
    if call.name == COLLECTIVE:
        return collective_category == "cpu_op"
    return call.name not in {DATA_LOADER, OPTIMIZER}


def device_time(call: Call) -> int:
    direct_us = sum(launch.work.length for launch in call.launches)
    return direct_us + sum(device_time(inner) for inner in call.calls)


def operator_row(call: Call) -> OperatorRow:
    inner = sum(node.length for node in call.inside)
    return OperatorRow(
        calls=1,
        device_self=sum(launch.work.length for launch in call.launches),
        device_total=device_time(call),
        host_self=call.length - inner,
        host_total=call.length,
    )


def claims(calls: list[Call]) -> Iterator[tuple[str, int, int]]:
    """Every stretch of time that counts for a part of the step: part, start, length."""
    for node in (node for call in calls for node in call.everything):
        communicates = node.name == COLLECTIVE
        host_part = {DATA_LOADER: "DataLoader", COLLECTIVE: "Communication"}
        yield host_part.get(node.name, "CPU Exec"), node.start, node.length
        for launch in node.launches:
            yield "Runtime", launch.start, launch.length
            part = "Communication" if communicates else launch.work.kind.capitalize()
            yield part, launch.work.start, launch.work.length


def time_by_part(calls: list[Call], start: int, end: int) -> dict[str, int]:
    """Every microsecond goes to the first part, in the order of `PARTS`, that claims it."""
    line = dict.fromkeys(range(start, end), "Other")
    for part, begin, length in sorted(claims(calls), key=lambda claim: -PARTS.index(claim[0])):
        line.update(dict.fromkeys(range(max(begin, start), min(begin + length, end)), part))
    owners = list(line.values())
    return {part: owners.count(part) for part in PARTS} | {"Total": end - start}


def step_ranges(calls: list[Call], *, steps: bool, iterations: int) -> dict[str, tuple[int, int]]:
    """Marked steps as marked (no work outlives its step); else from first call to last end."""
    if steps:
        return {
            str(number + 3): (number * ITERATION_US, (number + 1) * ITERATION_US)
            for number in range(iterations)
        }
    works = [launch.work for call in calls for node in call.everything for launch in node.launches]
    ends = [call.start + call.length for call in calls]
    ends += [work.start + work.length for work in works]
    return {"0": (min(call.start for call in calls), max(ends))}


def answers(calls: list[Call], ranges: dict[str, tuple[int, int]], category: str) -> Answers:
    nodes = [node for call in calls for node in call.everything]
    operators: dict[str, OperatorRow] = {}
    for node in nodes:
        if is_operator(node, category):
            operators[node.name] = operators.get(node.name, OperatorRow()) + operator_row(node)
    works = [launch.work for node in nodes for launch in node.launches]
    kernels: dict[str, list[int]] = {}
    busy: set[int] = set()
    for work in works:
        if work.kind == "kernel":
            kernels.setdefault(work.name, []).append(work.length)
            busy |= set(range(work.start, work.start + work.length))
    first, last = min(start for start, _ in ranges.values()), max(end for _, end in ranges.values())
    device_us = sum(work.length for work in works)
    return Answers(
        steps={name: time_by_part(calls, *limits) for name, limits in ranges.items()},
        operators=operators,
        kernels=kernels,
        utilisation_pct=round(100 * len(busy) / (last - first), 2),
        device_us=device_us,
        outside_operators_us=device_us - sum(row.device_self for row in operators.values()),
        memory={"aten::convolution": 4096 * operators["aten::convolution"].calls},
    )
