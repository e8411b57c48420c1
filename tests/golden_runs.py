"""Small recordings that provoke what rules say of a run: for each kind of finding at least one.

Golden answers say them all, and tests of rules ask about them at the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import builders
from cases import ALLOC, DATA_LOADER, MAIN, MODULE, STEP, C, K, O, R, host_event, read
from loaded_cycles import Piece, cycles
from roofed_runs import DOUBLE, FLOAT, HALF, MI300X, Call, good, trace_of_calls
from timesink.model.trace import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>"
SGEMM = "volta_sgemm_128x64_nn"
BIG, SCORES, ROWS = [8192, 8192], [64, 1024, 1024], [64, 1024, 64]
GIB = 1024**3


def gpu(**fields: Any) -> dict[str, Any]:
    return {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, **fields}]}


def busy_for(us: int, *more: dict[str, Any]) -> Trace:
    """A step of 1 ms with one kernel from 100 us on; the host is at work all the time."""
    return read(
        STEP(1, 0, 1000), O("train", 0, 1000), R(90, 5, c=1), K("gemm", 100, us, c=1), *more
    )


def loading() -> Trace:
    events = []
    for number in (1, 2):
        start = 1000 * number
        events += [STEP(number, start, 1000), O(DATA_LOADER, start, number * 100)]
        events += [R(start + 500, 5, c=number), K("gemm", start + 600, 300, c=number)]
    return read(*events)


def paused(*in_first_pause: dict[str, Any]) -> Trace:
    """Three busy steps of 2 ms, a millisecond apart."""
    events = []
    for number in range(3):
        start = number * 3000
        events += [STEP(number, start, 2000), O("train", start, 2000)]
        events += [R(start, 5, c=number + 1), K("gemm", start + 10, 1990, c=number + 1)]
    return read(*events, *in_first_pause)


def waits(count: int, us: int, name: str = "aten::item") -> Trace:
    events = []
    for place in range(count):
        start = 50 + 900 * place // count
        call = host_event("Runtime", "cudaStreamSynchronize", start + 1, us - 2, MAIN)
        events += [O(name, start, us), call]
    return read(STEP(1, 0, 1000), R(0, 1, c=1), K("gemm", 1, 10, c=1), *events)


def tiny(count: int, name: str = "add") -> Trace:
    events = [STEP(1, 0, 10 * count), O("train", 0, 10 * count)]
    for place in range(count):
        start = 10 * place + 1
        events += [R(start - 1, 1, c=place + 1), K(name, start, 2, c=place + 1)]
    return read(*events)


def products(major: int) -> Trace:
    calls = [O("aten::mm", 0, 50), R(5, 5, c=1), O("aten::add", 60, 30), R(65, 5, c=2)]
    kernels = [K(SGEMM, 100, 300, c=1), K("elementwise", 900, 100, c=2)]
    return read(STEP(1, 0, 1000), *calls, *kernels, **gpu(computeMajor=major))


def cut() -> Trace:
    events = []
    for number, count in enumerate((10, 12, 3, 0), start=1):
        start = 1000 * number
        events.append(STEP(number, start, 900))
        for place in range(count):
            at = start + 10 * place
            events += [R(at, 2, c=at), K("gemm", at + 5, 2, c=at)]
    events += [R(3000 + 10 * place, 2, c=9000 + place) for place in range(3, 11)]
    return read(*events)


def stalled(*stack: dict[str, Any]) -> Trace:
    kernels = [R(5, 5, c=1), K("gemm", 20, 200, c=1), O("aten::mm", 0, 20)]
    return read(STEP(1, 0, 9000), *kernels, *stack)


def named_stall() -> Trace:
    calls = ("train.py(3): main", 0, 9000), ("io.py(7): save", 1000, 6000)
    calls = (*calls, ("<built-in method sleep>", 1500, 5000))
    stack = [
        MODULE(*call, python_id=number, parent=number - 1 or None, module=None)
        for number, call in enumerate(calls, 1)
    ]
    return stalled(*stack)


def contended() -> Trace:
    levels = enumerate((40.0, 60.0, 59.0), 1)
    counters = [builders.counter("process_runq_wait_pct", 100 * at, value=v) for at, v in levels]
    return read(STEP(1, 0, 1000), R(0, 1, c=1), K("gemm", 1, 200, c=1), *counters)


def full_memory(*devices: int) -> Trace:
    properties = [{"id": d, "name": "NVIDIA H200", "totalGlobalMem": 10 * GIB} for d in devices]
    taken = [ALLOC(5 + d, 512, device=d, address=1, total=(19 - d) * GIB // 2) for d in devices]
    return read(O("mm", 0, 10), *taken, deviceProperties=properties)


def attention() -> list[Call]:
    first, last = (
        Call("aten::bmm", [ROWS, [64, 64, 1024]], 50),
        Call("aten::bmm", [SCORES, ROWS], 50),
    )
    return [first, Call("aten::_softmax", [SCORES, [], []], 80, "softmax_warp_forward"), last]


def long_call(name: str) -> Trace:
    later = [R(820, 5, c=2), K("last", 830, 10, c=2)]
    return busy_for(100, host_event("cuda_runtime", name, 210, 600, MAIN), *later)


def two_devices() -> Trace:
    calls = [O("DataParallel.forward", 100, 300), O("DataParallel.forward", 1100, 500)]
    devices = [K("a", 200, 50), K("b", 200, 50, device=1)]
    return read(STEP(1, 0, 1000), STEP(2, 1000, 1000), *calls, *devices)


def gap() -> Trace:
    launches = [R(0, 5, c=1), R(2990, 5, c=2), O("saving", 1000, 1900)]
    return read(STEP(5, 0, 10_000), *launches, K("first", 10, 990, c=1), K("last", 3000, 7000, c=2))


def chain(*names: str) -> Trace:
    return trace_of_calls(
        *(Call(f"aten::{name}", [BIG], 70, "elementwise_kernel") for name in names)
    )


Runs = dict[str, Callable[[], Trace]]
IDLE: Runs = {
    "data loading": loading,
    "data loading takes most of the step": lambda: busy_for(100, O(DATA_LOADER, 300, 600)),
    "between steps": lambda: paused(O("save", 2000, 500)),
    "between steps, loading data": lambda: paused(O(DATA_LOADER, 2000, 900)),
    "launches": lambda: busy_for(300),
    "launches, two devices": lambda: busy_for(
        300, R(92, 2, c=2), K("gemm", 100, 400, c=2, device=3)
    ),
    "waits for the device": lambda: busy_for(
        100,
        *(host_event("cuda_runtime", "cudaStreamSynchronize", 110, 800, MAIN), R(960, 5, c=2)),
        K("last", 970, 30, c=2),
    ),
    "a long runtime call": lambda: long_call("cudaFree"),
    "queued work": lambda: busy_for(100, R(96, 2, c=2), K("last", 900, 100, c=2)),
    "copies": lambda: busy_for(50, R(96, 2, c=2), C(150, 800, c=2)),
    "communication on the host": lambda: busy_for(100, O("gloo:all_reduce", 300, 600)),
    "a host without calls": stalled,
    "a host in a function": named_stall,
    "launches were not recorded": lambda: read(
        STEP(1, 0, 1000), O("train", 0, 1000), K("gemm", 100, 300)
    ),
    "one operator": lambda: busy_for(100, O("aten::attention", 200, 600), O("aten::mm", 300, 100)),
    "one operator, without a device": lambda: read(STEP(1, 0, 1000), O("aten::conv", 0, 700)),
    "a large gap": gap,
    "a thread waits for a core": contended,
}
COMMUNICATION: Runs = {
    "exposed": lambda: read(
        *(STEP(1, 0, 1000), O("nccl:all_reduce", 400, 20, x=1), R(405, 5, c=1, x=1)),
        *(K("gemm", 100, 400, c=2), K(NCCL, 500, 250, c=1, x=1)),
    ),
    "exposed, hardly anything to hide it": lambda: read(
        STEP(1, 0, 1000), O("gloo:all_reduce", 0, 700), K("gemm", 700, 200)
    ),
    "nothing to hide it": lambda: read(STEP(1, 0, 100), O("gloo:all_reduce", 0, 50)),
    "gloo": lambda: read(
        *(STEP(1, 0, 1000), O("gloo:all_reduce", 100, 50), O("gloo:broadcast", 200, 30)),
        K("gemm", 300, 100),
        **gpu(),
    ),
    "several devices of one process": two_devices,
}
DEVICE: Runs = {
    "products beside tensor cores": lambda: products(9),
    "products on a device before tf32": lambda: products(7),
    "layouts": lambda: read(
        STEP(1, 0, 1000), K(TO_NHWC, 0, 30), K("conv", 100, 500), K(TO_NHWC, 800, 20)
    ),
    "memory": lambda: full_memory(0),
    "memory of two": lambda: full_memory(0, 1),
    "tiny kernels": lambda: tiny(60),
    "tiny kernels of PyTorch": lambda: tiny(60, "void at::native::f<4>(int)"),
    "tiny kernels of JAX": lambda: tiny(60, "loop_add_fusion"),
    "many waits": lambda: waits(10, 20),
    "one wait": lambda: cycles(
        [
            *[Piece("kernel", "aten::mm", 50, 300)] * 3,
            *(Piece("wait", "aten::item"), Piece("host", "aten::arange", 150)),
        ],
        5,
    ),
    "pageable copies": lambda: read(STEP(1, 0, 1000), C(100, 300, c=1), K("gemm", 500, 400)),
    "allocator": lambda: read(
        STEP(1, 0, 1000), host_event("Runtime", "cudaMalloc", 100, 200, MAIN), K("gemm", 200, 400)
    ),
    "cut steps": cut,
}
ROOFS: Runs = {
    "attention": lambda: trace_of_calls(*attention()),
    "double precision": lambda: trace_of_calls(
        Call("aten::mm", [[4096, 4096]] * 2, 3000, "dgemm_128x128", DOUBLE)
    ),
    "single precision": lambda: trace_of_calls(
        Call("aten::mm", [BIG, BIG], 9000, "Cijk_Ailk_Bljk_SB_MT128x128x16_MI32x32x2x1", FLOAT),
        device=MI300X,
    ),
    "odd dimensions": lambda: trace_of_calls(
        Call("aten::mm", [[8192, 30522], [30522, 768]], 2500, strides=[[30522, 1], [768, 1]])
    ),
    "small products": lambda: trace_of_calls(
        *[Call("aten::mm", [[256, 512], [512, 512]], 12, "gemm_64x64_32x6")] * 200
    ),
    "few rows": lambda: trace_of_calls(*[Call("aten::mm", [[8, 8192], [8192, 28672]], 120)] * 20),
    "unfilled waves": lambda: trace_of_calls(
        *[Call("aten::mm", [[2176, 8192], [8192, 2048]], 170)] * 4
    ),
    "a chain": lambda: chain("mul", "tanh", "gelu"),
    "headroom of a moving operator": lambda: trace_of_calls(
        good(), Call("aten::gelu", [BIG], 500, "gelu_kernel")
    ),
    "headroom of a product": lambda: trace_of_calls(Call("aten::mm", [BIG, BIG], 4000)),
    "headroom of a convolution": lambda: trace_of_calls(
        Call(
            "aten::convolution",
            [[32, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []],
            4000,
            type=HALF,
        )
    ),
    "headroom of attention": lambda: trace_of_calls(
        good(200),
        Call("aten::_flash_attention_forward", [[4, 2048, 32, 128]] * 3, 9000, "flash_fwd_kernel"),
    ),
}
