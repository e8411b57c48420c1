"""The events a rank's trace holds, without their times: the same for all ranks of a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from timesink.model.intervals import Floats, Ints
from timesink_lab.ranks import stage_program as work
from timesink_lab.ranks.layout import DESCRIPTIONS
from timesink_lab.ranks.plan import Plan
from timesink_lab.ranks.simulate import FIRST_STEP, LAUNCH_AT, LAUNCH_TAKES, StageTimes
from timesink_lab.ranks.stage_program import LOADING, HostCall, StageProgram

MARK = "\x01"
"""Stands around what differs between ranks."""


def differs(what: str) -> str:
    """A place in a text for something of a rank: `pid`, `tensor name`, ..."""
    return f"{MARK}{what}{MARK}"


@dataclass(frozen=True, slots=True)
class WrittenEvent:
    """On the host from a place in one call to a place in the same or a later call.

    On the device from the start of one piece of work to the end of the same or a later one.
    """

    category: str
    name: str
    process: str
    """`pid` or `device`."""
    lane: str
    """Number of a stream, or which thread it is of."""
    arguments: str
    first: int
    last: int
    first_at: float = 0.0
    last_at: float = 1.0
    around_us: float = 0.0
    """How much earlier it starts; it ends half as much later."""
    flow: int | None = None


@dataclass(eq=False)
class Events:
    """All events of a rank's trace that last, in the order of the file."""

    host: list[WrittenEvent] = field(default_factory=list)
    runtime: list[WrittenEvent] = field(default_factory=list)
    device: list[WrittenEvent] = field(default_factory=list)

    @property
    def every(self) -> list[WrittenEvent]:
        return [*self.host, *self.runtime, *self.device]

    def times_ns(self, stage: StageTimes, place: int) -> tuple[Ints, Ints]:
        """True start and end of every event on the rank at a place of its stage."""
        begins, ends = stage.call_start[:, place], stage.call_end[:, place]
        first, first_at, last, last_at, around, from_kernel, to_kernel = self._bounds
        start = begins[first] + first_at * (ends - begins)[first] - around
        end = begins[last] + last_at * (ends - begins)[last] + around / 2
        start = np.concatenate([start, stage.kernel_start[from_kernel, place]])
        end = np.concatenate([end, stage.kernel_end[to_kernel, place]])
        return np.rint(start * 1e3).astype(np.int64), np.rint(end * 1e3).astype(np.int64)

    @cached_property
    def _bounds(self) -> tuple[Ints, Floats, Ints, Floats, Floats, Ints, Ints]:
        """Where events on the host begin and end, and the kernels of those on the device."""
        on_host = [*self.host, *self.runtime]
        host = [
            (event.first, event.first_at, event.last, event.last_at, event.around_us)
            for event in on_host
        ]
        device = [(event.first, event.last) for event in self.device]
        return (*map(np.array, zip(*host, strict=True)), *map(np.array, zip(*device, strict=True)))  # type: ignore[return-value]


# What PyTorch writes beside collectives and kernels, as the text of their arguments.

WAITED = (
    '"Collective name": "wait", "In msg nelems": 0, "Out msg nelems": 0, "Group size": 1, '
    '"dtype": "Byte", "In split size": "[]", "Out split size": "[]", "Process Group Ranks": "[]"'
)
"""Of a call that waits for a collective; nothing says which one it is."""


def collective_arguments(call: HostCall, tokens: float) -> str:
    """Arguments that both a collective call and its kernel carry."""
    elements = round(call.elements * (tokens if call.per_token else 1.0))
    dtype = "Float" if call.talk == "all_reduce_small" else "BFloat16"
    role = call.role
    return (
        f'"Collective name": "{work.TALKS[call.talk].collective}", '
        f'"In msg nelems": {elements}, "Out msg nelems": {elements * call.grows}, '
        f'"Group size": {differs(f"{role} size")}, "dtype": "{dtype}", '
        '"In split size": "[]", "Out split size": "[]", '
        f'"Process Group Name": "{differs(f"{role} name")}", '
        f'"Process Group Description": "{DESCRIPTIONS[role]}", '
        f'"Process Group Ranks": "{differs(f"{role} ranks")}"'
    )


def call_arguments(call: HostCall, sequence: int | None) -> str:
    """Arguments that only the call carries: who makes it, with whom, and which it is."""
    parts = [f'"Rank": {differs("rank")}']
    if call.forward:
        this_end, other = ("Src", "Dst") if call.talk == "send" else ("Dst", "Src")
        neighbour = differs(f"neighbour {call.forward}")
        parts += [f'"{this_end} Rank": {differs("rank")}', f'"{other} Rank": {neighbour}']
    if sequence is not None:
        parts.append(f'"Seq": {sequence}')
    return ", ".join(parts)


def kernel_geometry(kernel: work.LaunchedKernel, tokens: float) -> str:
    """The geometry of a kernel that works on so many times the usual tokens."""
    x, y, z = kernel.grid
    if kernel.per_token and tokens != 1.0:
        x, y = (x, round(y * tokens)) if y > 1 else (round(x * tokens), y)
    return geometry((x, y, z), kernel.block, kernel.registers, kernel.shared)


def geometry(
    grid: tuple[int, int, int], block: tuple[int, int, int], registers: int, shared: int
) -> str:
    """Grid, block, and what follows from them."""
    blocks = float(np.prod(grid)) / work.MULTIPROCESSORS
    warps = blocks * -(-int(np.prod(block)) // 32)
    return (
        f',      "registers per thread": {registers},      "shared memory": {shared},      '
        f'"blocks per SM": {blocks:.6f},      "warps per SM": {warps:.6f},      '
        f'"grid": {list(grid)},      "block": {list(block)},      '
        f'"est. achieved occupancy %": {min(round(100 * warps / 64), 100)}'
    )


# Which events the calls of a program leave in a trace.

COMPUTE_STREAM = 7
_STREAMS = {
    "data": 20, "tensor": 24, "expert": 28, "model": 32, "world": 36,
    "forward send": 40, "forward recv": 44, "backward send": 48, "backward recv": 52,
}  # fmt: skip
_CALLBACK = {
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
    "cudaMemcpyAsync": 41,
    "cudaStreamSynchronize": 131,
    "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147,
}


def stage_events(
    plan: Plan, program: StageProgram, synced: Sequence[int], tokens: Sequence[float]
) -> Events:
    """The events of a rank that synchronises in some steps and has so many tokens in each."""
    writer = _Writer(plan, program)
    for step in range(plan.steps):
        writer.step(step, synced=step in synced, tokens=tokens[step])
    return writer.events


class _Writer:
    def __init__(self, plan: Plan, program: StageProgram) -> None:
        self.plan, self.program = plan, program
        self.events = Events()
        self.external, self.correlation = 0, 12_000
        self.sequences: dict[str, int] = {}
        self.kernel = 0
        self.tokens = 1.0

    def step(self, step: int, *, synced: bool, tokens: float) -> None:
        offset = step * len(self.program.calls)
        self.tokens = tokens
        first_kernel = self.kernel
        self._span(f"ProfilerStep#{step + FIRST_STEP}", offset,
                   offset + len(self.program.calls) - 1, 2.0)  # fmt: skip
        step_external = self.external
        starts = {first: (name, last) for name, first, last in self.program.spans}
        open_spans: dict[int, tuple[str, int, int]] = {}
        for number, call in enumerate(self.program.calls):
            if number in starts:
                name, last = starts[number]
                self._span(name, offset + number, offset + last, 1.0)
                open_spans[last] = (name, self.external, self.kernel)
            if call.kind != "extra_sync" or synced:
                self._write(call, offset + number)
            if number in open_spans:
                name, external, first = open_spans[number]
                self._on_device(name, external, first)
        self._on_device(f"ProfilerStep#{step + FIRST_STEP}", step_external, first_kernel)

    def _on_device(self, name: str, external: int, first: int) -> None:
        """The copy of an annotation on the device: from its first kernel to its last."""
        launches = self.program.launches
        kernels = [
            kernel
            for kernel in range(first, self.kernel)
            if not self.program.calls[launches[kernel % len(launches)][0]].talks
        ]
        if kernels:
            self._annotated(name, COMPUTE_STREAM, external, kernels[0], kernels[-1])

    def _annotated(self, name: str, stream: int, external: int, first: int, last: int) -> None:
        lane, arguments = str(stream), f'"External id": {external}'
        event = WrittenEvent("gpu_user_annotation", name, "device", lane, arguments, first, last)
        self.events.device.append(event)

    # -- calls -----------------------------------------------------------------------------------

    def _write(self, call: HostCall, number: int) -> None:
        self.call, self.number = call, number
        if call.talks:
            self._talk(call)
        elif call.kind == "load":
            self._host("user_annotation", LOADING)
        elif call.kind == "join":
            self._wait(0.1, 0.9)
        elif call.kind in {"sync", "extra_sync"}:
            self._host("cpu_op", "aten::item")
            self._host("cpu_op", "aten::_local_scalar_dense", 0.001, 0.999)
            self._runtime("cudaStreamSynchronize", 0.002, 0.998)
        elif call.kind == "copy":
            self._copy(call)
        elif call.operator:
            self._operator(call.operator)

    def _operator(self, operator: work.Operator) -> None:
        dims = operator.dims.replace("@T", str(round(work.TOKENS * self.tokens)))
        inputs = f', "Input type": {operator.types}, "Input Dims": {dims}'
        self._host("cpu_op", operator.name, arguments=inputs)
        *before, last = operator.children or ("",)
        for place, name in enumerate(before):
            width = 0.38 / len(before)
            at = 0.05 + width * place
            self._host("cpu_op", name, at, at + 0.9 * width)
        if last:
            self._host("cpu_op", last, 0.45, 0.95, inputs)
        for place, kernel in enumerate(operator.kernels):
            is_matrix = kernel.name.startswith("nvjet")
            name = "cudaLaunchKernelExC" if is_matrix else "cudaLaunchKernel"
            self._launch(name, place, len(operator.kernels))
            self._device(
                "kernel", kernel.name, COMPUTE_STREAM, kernel_geometry(kernel, self.tokens)
            )

    def _copy(self, call: HostCall) -> None:
        self._host("cpu_op", "aten::to")
        self._host("cpu_op", "aten::copy_", 0.3, 0.97)
        self._launch("cudaMemcpyAsync")
        moved = ',      "bytes": 1048576, "memory bandwidth (GB/s)": 19.065018181818182'
        (kernel,) = call.kernels
        self._device("gpu_memcpy", kernel.name, COMPUTE_STREAM, moved)

    def _talk(self, call: HostCall) -> None:
        talk, stream = work.TALKS[call.talk], _STREAMS[call.stream]
        annotation = talk.annotation.replace("@P", differs(f"peers {call.talk} {call.forward}"))
        self.sequences[call.stream] = self.sequences.get(call.stream, 100 * FIRST_STEP) + 1
        sequence = self.sequences[call.stream] if self.plan.sequence_numbers else None
        shared = collective_arguments(call, self.tokens)
        self._host("cpu_op", talk.operator)
        self._host(
            "cpu_op",
            "record_param_comms",
            0.1,
            0.93,
            f", {shared}, {call_arguments(call, sequence)}",
        )
        external = self.external
        self._host("user_annotation", annotation, 0.4, 0.91)
        self._runtime("cudaEventRecord", 0.15, 0.17, external)
        self._runtime("cudaStreamWaitEvent", 0.2, 0.22, external)
        self._launch("cudaLaunchKernelExC", external=external)
        shape = geometry((24, 1, 1), (544, 1, 1), 96, 82240)
        kernel = self.kernel
        self._device("kernel", talk.kernel, stream, f"{shape}, {shared}", external)
        self._runtime("cudaEventRecord", 0.87, 0.88, external)
        self._annotated(annotation, stream, self.external, kernel, kernel)
        if call.blocking:
            self._wait(0.945, 0.995)

    def _wait(self, start: float, end: float) -> None:
        """Make the stream of the kernels that follow wait for a collective."""
        self._host("cpu_op", "record_param_comms", start, end, f", {WAITED}")
        self._runtime("cudaStreamWaitEvent", start + 0.2 * (end - start), end - 0.2 * (end - start))

    # -- events ----------------------------------------------------------------------------------

    def _span(self, name: str, first: int, last: int, around_us: float) -> None:
        self.external += 1
        arguments = f'"External id": {self.external},"Record function id": 0'
        event = WrittenEvent("user_annotation", name, "pid", "tid main", arguments, first, last)
        self.events.host.append(replace(event, around_us=around_us))

    def _host(
        self, category: str, name: str, start: float = 0.0, end: float = 1.0, arguments: str = ""
    ) -> None:
        self.external += 1
        all_arguments = (
            f'"External id": {self.external},"Record function id": 0{arguments}, '
            f'"Ev Idx": {self.external - 1}'
        )
        self.events.host.append(self._called(category, name, all_arguments, start, end))

    def _called(
        self, category: str, name: str, arguments: str, start: float, end: float
    ) -> WrittenEvent:
        lane, at = f"tid {self.call.thread}", self.number
        return WrittenEvent(category, name, "pid", lane, arguments, at, at, start, end)

    def _runtime(
        self, name: str, start: float, end: float, external: int = 0, *, launches: bool = False
    ) -> None:
        self.correlation += 1
        arguments = (
            f'"External id": {external or self.external},      '
            f'"cbid": {_CALLBACK[name]}, "correlation": {self.correlation}'
        )
        event = self._called("cuda_runtime", name, arguments, start, end)
        self.events.runtime.append(replace(event, flow=self.correlation if launches else None))

    def _launch(self, name: str, place: int = 0, among: int = 1, external: int = 0) -> None:
        end = LAUNCH_AT + LAUNCH_TAKES * (place + 1) / among
        self._runtime(name, end - 0.9 * LAUNCH_TAKES / among, end, external, launches=True)

    def _device(self, category: str, name: str, stream: int, more: str, external: int = 0) -> None:
        """Work of the launch made last."""
        queued = '"queued": 0, ' if category == "kernel" else ""
        arguments = (
            f'"External id": {external or self.external},      {queued}'
            f'"device": {differs("device")}, "context": 1,      '
            f'"stream": {stream}, "correlation": {self.correlation}{more}'
        )
        at, lane, flow = self.kernel, str(stream), self.correlation
        event = WrittenEvent(category, name, "device", lane, arguments, at, at, flow=flow)
        self.events.device.append(event)
        self.kernel += 1


# The text of events as PyTorch's profiler writes them.


def event_texts(number: int, event: WrittenEvent) -> list[str]:
    """An event that lasts, and the arrow from or to it where there is one."""
    pid, start = differs(event.process), differs(f"start {number}")
    tid = event.lane if event.lane.isdigit() else differs(event.lane)
    texts = [
        f"""  {{
    "ph": "X", "cat": "{event.category}", "name": "{event.name}", "pid": {pid}, "tid": {tid},
    "ts": {start}, "dur": {differs(f"length {number}")},
    "args": {{
      {event.arguments}
    }}
  }}"""
    ]
    if event.flow is not None:
        phase, ends = ("f", ', "bp": "e"') if event.process == "device" else ("s", "")
        texts.append(f"""  {{
    "ph": "{phase}", "id": {event.flow}, "pid": {pid}, "tid": {tid}, "ts": {start},
    "cat": "ac2g", "name": "ac2g"{ends}
  }}""")
    return texts


def tail_texts(events: Events) -> list[str]:
    """Names of processes and lanes, and the marks at the end of a trace."""
    main, autograd = differs("tid main"), differs("tid autograd")
    pid, device = differs("pid"), differs("device")
    metadata_rows = [
        ("process_name", pid, "0", '"name": "python3"'),
        ("process_labels", pid, "0", '"labels": "CPU"'),
        ("process_sort_index", pid, "0", f'"sort_index": {pid}'),
        ("process_name", device, "0", '"name": "python3"'),
        ("process_labels", device, "0", f'"labels": "GPU {device}"'),
        ("process_sort_index", device, "0", '"sort_index": 5000000'),
    ]
    for stream in sorted({int(event.lane) for event in events.device}):
        metadata_rows.append(("thread_name", device, str(stream), f'"name": "stream {stream} "'))
        metadata_rows.append(("thread_sort_index", device, str(stream), f'"sort_index": {stream}'))
    for tid, name in ((main, "python3"), (autograd, "pt_autograd_0")):
        metadata_rows.append(("thread_name", pid, tid, f'"name": "thread {tid} ({name})"'))
        metadata_rows.append(("thread_sort_index", pid, tid, f'"sort_index": {tid}'))
    trace_number = len(events.every)
    window = differs(f"start {trace_number + 2}")
    first, length = differs(f"start {trace_number}"), differs(f"length {trace_number}")
    named = [
        f"""  {{
    "name": "{name}", "ph": "M", "ts": {first}, "pid": {process}, "tid": {lane},
    "args": {{
      {arguments}
    }}
  }}"""
        for name, process, lane, arguments in metadata_rows
    ]
    return [
        *named,
        f"""  {{
    "ph": "X", "cat": "Trace", "ts": {first}, "dur": {length},
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {{
      "Op count": 0
    }}
  }}""",
        f"""  {{
    "name": "process_sort_index", "ph": "M", "ts": {first},
    "pid": "Spans", "tid": 0,
    "args": {{
      "sort_index": 536870912
    }}
  }}""",
        f"""  {{
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {first}
  }}""",
        f"""  {{
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": {window}
  }}""",
    ]
