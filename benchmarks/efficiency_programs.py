"""Programs whose operators are held against counters: products, convolutions, attention, memory.

    python benchmarks/efficiency_programs.py products OUT    # timeline of two steps, with shapes
    timesink ncu --metrics roofline --from-start no -o products.csv.gz -- \
        python benchmarks/efficiency_programs.py products    # the same steps under Nsight Compute
    python benchmarks/efficiency.py counters products.csv.gz OUT/products.json ...

Needs torch with an accelerator; without one it runs small, to see that it does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, schedule

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = 1 if torch.cuda.is_available() else 16
"""What sizes are divided by where there is no accelerator."""
WARM_UP, STEPS = 3, 2
Call = Callable[[], object]


def random_tensor(
    *shape: int, dtype: torch.dtype = torch.bfloat16, grad: bool = False
) -> torch.Tensor:
    sizes = [max(8, size // SMALL) if size >= 64 else size for size in shape]
    return torch.randn(*sizes, device=DEVICE).to(dtype).requires_grad_(grad)


def products() -> Iterator[Call]:
    """Products of matrices in all precisions, square, skinny, odd and batched."""
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        a, b = random_tensor(4096, 4096, dtype=dtype), random_tensor(4096, 4096, dtype=dtype)
        bias = random_tensor(4096, dtype=dtype)
        yield lambda a=a, b=b: a @ b
        yield lambda a=a, b=b, bias=bias: torch.addmm(bias, a, b)
    x, odd = random_tensor(8192, 1024), random_tensor(1024, 30522)
    yield lambda: x @ odd
    few, wide = random_tensor(8, 8192), random_tensor(8192, 8192)
    yield lambda: few @ wide
    many, right = random_tensor(96, 512, 128), random_tensor(96, 128, 512)
    yield lambda: torch.bmm(many, right)
    double = random_tensor(1024, 1024, dtype=torch.float64)
    yield lambda: double @ double


def convolutions() -> Iterator[Call]:
    """Forward and backward: plain, strided, grouped, depthwise, transposed, in two layouts."""
    for layout in (torch.contiguous_format, torch.channels_last):
        for shape, kernel, more in (
            ((64, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
            ((64, 256, 56, 56), (512, 256, 1, 1), {"stride": 2}),
            ((64, 128, 28, 28), (256, 4, 3, 3), {"padding": 1, "groups": 32}),
            ((64, 96, 56, 56), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
        ):
            sizes = shape if SMALL == 1 else (1, shape[1], 4, 4)
            x = torch.randn(sizes, device=DEVICE, dtype=torch.bfloat16)
            x = x.to(memory_format=layout).requires_grad_(True)
            w = torch.randn(kernel, device=DEVICE, dtype=torch.bfloat16).requires_grad_(True)
            yield lambda x=x, w=w, more=more: nn.conv2d(x, w, **more).sum().backward()
    x = random_tensor(16, 256, 28, 28, grad=True)
    w = torch.randn(x.shape[1], 128, 4, 4, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
    yield lambda: nn.conv_transpose2d(x, w, stride=2, padding=1).sum().backward()


def forward_and_backward(inputs: list[torch.Tensor], backend: SDPBackend, *, causal: bool) -> None:
    with sdpa_kernel(backend):
        nn.scaled_dot_product_attention(*inputs, is_causal=causal).sum().backward()


def attention() -> Iterator[Call]:
    """Forward and backward of every fused kernel: causal or not, fewer keys' heads, few queries."""
    backends = (
        (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)
        if DEVICE == "cuda"
        else (SDPBackend.MATH,)
    )
    for backend in backends:
        for heads, keys, causal in ((16, 2048, False), (16, 2048, True)):
            inputs = [random_tensor(4, heads, keys, 128, grad=True) for _ in range(3)]
            yield partial(forward_and_backward, inputs, backend, causal=causal)
    q, k = random_tensor(4, 32, 2048, 128), random_tensor(4, 8, 2048, 128)
    yield lambda: nn.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)
    few = random_tensor(8, 16, 1, 128)
    cache = random_tensor(8, 16, 4096, 128)
    yield lambda: nn.scaled_dot_product_attention(few, cache, cache)


def memory() -> Iterator[Call]:
    """What moves far more than it computes, in tensors that no cache holds."""
    x, y = random_tensor(64, 1024, 4096), random_tensor(64, 1024, 4096)
    weight, single = random_tensor(4096), random_tensor(64, 1024, 4096, dtype=torch.float32)
    rows = torch.randint(0, max(8, 32000 // SMALL), (64, 1024), device=DEVICE)
    table = random_tensor(32000, 4096)
    yield from (
        lambda: x + y,
        lambda: x * weight,
        lambda: nn.gelu(x),
        lambda: nn.silu(x) * y,
        lambda: nn.softmax(x, -1),
        lambda: nn.layer_norm(x, x.shape[-1:]),
        x.float,
        lambda: x.transpose(1, 2).contiguous(),
        lambda: torch.cat([x, y], -1),
        lambda: x.sum(-1),
        lambda: single.sum((0, 1)),
        single.mean,
        lambda: nn.dropout(x, 0.1),
        lambda: nn.embedding(rows, table),
        lambda: torch.where(x > 0, x, y),
        x.clone,
    )


PROGRAMS = {"products": products, "convolutions": convolutions, "attention": attention}
PROGRAMS |= {"memory": memory}


def run(calls: list[Call], step: Call = lambda: None) -> None:
    for number in range(WARM_UP + STEPS):
        if number == WARM_UP and DEVICE == "cuda":
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
        for call in calls:
            call()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        step()
    if DEVICE == "cuda":
        torch.cuda.profiler.stop()


def main() -> None:
    """Run a program, and write a timeline of its last steps where a folder is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=tuple(PROGRAMS))
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    calls = list(PROGRAMS[options.program]())
    if options.folder is None:
        run(calls)
        return
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
    plan = schedule(wait=WARM_UP - 1, warmup=1, active=STEPS)
    with profile(activities=kinds, schedule=plan, record_shapes=True) as recorded:
        run(calls, recorded.step)
    options.folder.mkdir(parents=True, exist_ok=True)
    recorded.export_chrome_trace(str(options.folder / f"{options.program}.json"))


if __name__ == "__main__":
    main()
