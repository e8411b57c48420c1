"""Small recordings of compiled programs, and of programs that replay graphs, and what they lack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs

from cases import MAIN, STEP, K, O, R, host_event, read
from timesink.model.compiled_code import (
    Compilation,
    CompiledCode,
    CompiledGraph,
    CompiledKernel,
    GraphBreak,
    GraphCall,
    KernelUse,
)
from timesink.model.graph_facts import CaptureFailure, CaptureUse, GraphFacts
from timesink.model.trace import Device, Trace

KERNEL = "triton_poi_fused_add_gelu_backward_0"
FILE = f"/cache/inductor/ab/c{'a' * 51}.py"
REST = "torch_dynamo_resume_in_forward_at_22"
BREAK = GraphBreak(
    "Unsupported Tensor.item() call",
    "net/model.py:22",
    "if x.item() > 1:",
    "forward",
    "Set capture_scalar_outputs.",
    2,
)
FIRST = Compilation("0/0", "forward", "net/model.py:9", 3.0)
RESUMED = Compilation("1/0", REST, "net/model.py:22", 2.0)
AGAIN = Compilation("0/1", "forward", "net/model.py:9", 4.0, "tensor 'x' size mismatch at index 0")


def layer(number: int) -> KernelUse:
    return KernelUse(
        ("aten::add", "aten::gelu_backward"),
        (f"layers.{number}.act",),
        ("GELU",),
        (f"net/model.py:{30 + number}",),
        ("x = self.act(x + y)",),
    )


GENERATED = CompiledKernel(
    KERNEL,
    FILE,
    ("fkey",),
    ("aten::add", "aten::gelu_backward"),
    (layer(0), layer(1)),
    "def triton_(x):",
)
CODE = CompiledCode(
    "trace.compiled.json.gz",
    (GENERATED,),
    (BREAK,),
    (FIRST, RESUMED),
    graphs=(CompiledGraph(("fkey",), tuple(GraphCall(KERNEL, layer(at)) for at in (0, 1))),),
)


def with_code(trace: Trace, code: CompiledCode | None = CODE) -> Trace:
    return replace(trace, metadata=replace(trace.metadata, compiled=code))


def steps(*, file: str = FILE, kernels: int = 2) -> list[dict[str, Any]]:
    """Two steps of 1 ms: a graph with kernels, 200 us of host, the graph after a break."""
    events: list[dict[str, Any]] = []
    for step in range(2):
        at, launch = 1000 * step, 10 * step
        events += [STEP(step, at, 1000), O("Torch-Compiled Region: 0/0", at + 10, 600)]
        events.append(O("## Call CompiledFxGraph fkey ##", at + 20, 200))
        for place in range(kernels):
            start = at + 30 + 50 * place
            about = {"kernel_backend": "triton", "kernel_file": file}
            events.append(O(KERNEL, start, 30, x=launch + place + 1, **about))
            events.append(R(start + 5, 5, c=launch + place + 1))
            events.append(K(KERNEL, start + 20, 100 + 100 * place, c=launch + place + 1))
        events.append(O("Torch-Compiled Region: 1/0", at + 420, 100))
    return events


def compiled(code: CompiledCode | None = CODE, **more: Any) -> Trace:
    return with_code(read(*steps(**more)), code)


def resumed_without_reasons() -> Trace:
    name = f"net/model.py(22): {REST}"
    function = host_event("python_function", name, 420, 90, MAIN)
    return read(*steps(), {**function, "args": {"Python id": 1, "Python parent id": None}})


def replaying(outside: int, **facts: Any) -> Trace:
    """A step that replays a graph of one kernel, and launches so many kernels beside it."""
    graph = host_event("cuda_runtime", "cudaGraphLaunch", 10, 10, MAIN, correlation=1)
    events = [STEP(1, 0, 4000), graph, K("gemm", 30, 800, c=1)]
    for place in range(outside):
        at, number = 900 + 50 * place, place + 2
        events += [
            O("aten::copy_", at, 20),
            R(at + 5, 5, c=number),
            K("copy", at + 20, 20, c=number),
        ]
    trace = read(*events)
    devices = (Device(0, "NVIDIA H200", memory_bytes=10 << 30),)
    graphs = GraphFacts(**facts)
    return replace(trace, metadata=replace(trace.metadata, devices=devices, graphs=graphs))


RUNS: dict[str, Callable[[], Trace]] = {
    "a graph break": compiled,
    "a graph break in a loop": lambda: compiled(
        structs.replace(CODE, compilations=(structs.replace(FIRST, failure=BREAK.reason),))
    ),
    "a graph break without its reason": resumed_without_reasons,
    "compiled more than once": lambda: compiled(
        structs.replace(
            CODE, breaks=(), compilations=(FIRST, AGAIN, structs.replace(AGAIN, number="0/2"))
        )
    ),
    "given up": lambda: compiled(
        structs.replace(
            CODE,
            breaks=(),
            compilations=(FIRST, structs.replace(AGAIN, failure="recompile_limit reached")),
        )
    ),
    "a compiled graph that is not captured": lambda: compiled(
        CompiledCode("", skips=(CaptureFailure("mutated inputs", "net/model.py:7"),))
    ),
    "work outside of graphs": lambda: replaying(40),
    "memory of graphs": lambda: replaying(
        1, captures=(CaptureUse("a.captures.json", "batch size 8", 5, 1, 1, 1, 2 << 30),)
    ),
}
