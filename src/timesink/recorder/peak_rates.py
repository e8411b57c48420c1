"""How fast the device at hand multiplies matrices and copies memory, measured with PyTorch.

Peaks of data sheets are never reached.  These are: the best of several rounds over several large
sizes, after warming up.  Clocks are read where a tool of the driver tells them, never changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from timesink.errors import TimesinkError, UsageError
from timesink.patterns import regex
from timesink.recorder.host_counters import describe_host

ARITHMETIC = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
"""What can be measured beside the memory, by the type of the operands."""
COPY = "copy"
_ON_HOST = ("fp32", "bf16")
_SIZES = (4096, 8192, 16384)
_SIZES_ON_HOST = (256, 512, 1024, 2048)
_COPY_BYTES, _COPY_BYTES_ON_HOST = 2**30, 2**28
"""Far beyond any cache."""
_MIN_ROUNDS = 3
_ROUND_S = 0.03
"""Long enough that starting and stopping the clock costs nothing."""
_MAX_CALLS = 10_000
_TOOL_S = 10.0
_WIDTHS = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}


@dataclass(frozen=True, slots=True)
class BestRate:
    """The best a device did of one kind of work, per second."""

    per_s: float
    """Operations; bytes read and written for `copy`."""
    size: str
    """Of what it was best at, in words."""
    rounds: int


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """What was measured on a device, and what it is."""

    name: str
    torch: str
    """Version of PyTorch."""
    rates: Mapping[str, BestRate]
    """By the names of `ARITHMETIC`, and `copy`."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """What could not be measured, and why."""
    clocks: tuple[str, str] = ("", "")
    """What the driver said of the clock before and right after; empty where it said nothing."""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None

    @property
    def copy(self) -> BestRate | None:
        """Of the memory; None where it could not be measured."""
        return self.rates.get(COPY)

    @property
    def products(self) -> Mapping[str, BestRate]:
        """Of products of matrices, by the type of the operands."""
        return {name: rate for name, rate in self.rates.items() if name != COPY}

    @property
    def told_clocks(self) -> str:
        """What the driver said of the clock, in words; empty where it said nothing."""
        named_clocks = zip(("before", "after"), self.clocks, strict=True)
        return ", ".join(f"{when} {clock}" for when, clock in named_clocks if clock)


def measure_rates(
    device: str | None = None,
    seconds: float = 10.0,
    wanted: Sequence[str] = (),
    say: Callable[[str], None] = lambda _text: None,
) -> MeasuredDevice:
    """Measure a device of PyTorch; the accelerator at hand where none is named.

    `seconds` is about what the measuring takes in all; `wanted` are names of `ARITHMETIC`, all that
    the device can do where it is empty.  The copy is always measured.
    """
    torch = _torch()
    place = _device(torch, device)
    on_host = place.type == "cpu"
    names = [COPY, *(wanted or (_ON_HOST if on_host else ARITHMETIC))]
    bench = _Bench(torch, place, seconds / len(names))
    before, rates, skipped = _clock(torch, place), {}, {}
    for name in names:
        say(f"measuring {name}")
        try:
            rates[name] = bench.copy() if name == COPY else bench.product(name)
        except Exception as error:  # noqa: BLE001 - whatever a device cannot do, it says in its own way
            skipped[name] = _reason(error)
    after = _clock(torch, place)
    if not rates:
        why = next(iter(skipped.values()))
        raise TimesinkError(f"nothing could be measured on {place} ({why})", _HINT)
    return MeasuredDevice(
        **_describe_device(torch, place),
        torch=str(torch.__version__),
        rates=rates,
        skipped=skipped,
        clocks=(before, after),
    )


_HINT = "run it with the Python and on the machine of the program; --device cpu measures the host"


def _torch() -> Any:
    try:
        import torch  # noqa: PLC0415 - the recorder works without it
    except Exception as error:
        why = f"PyTorch cannot be imported ({_reason(error)})"
        raise TimesinkError(why, "run it with the Python of the program to measure for") from error
    return torch


def _device(torch: Any, named: str | None) -> Any:
    """The device that was named, else the accelerator at hand."""
    if named is None:
        if hasattr(torch, "accelerator"):
            device = torch.accelerator.current_accelerator()
            there = device is not None and torch.accelerator.is_available()
        else:
            device, there = torch.device("cuda"), torch.cuda.is_available()
        if not there:
            raise TimesinkError("PyTorch finds no accelerator on this machine", _HINT)
        named = str(device)
    try:
        place = torch.device(named)
        torch.empty(1, device=place)
    except Exception as error:
        raise UsageError(f"--device: {named!r} cannot be used ({_reason(error)})", _HINT) from error
    if place.type == "meta":
        raise UsageError("--device: 'meta' computes nothing", _HINT)
    if place.type != "cpu" and place.index is None:
        place = torch.device(place.type, getattr(torch, place.type).current_device())
    return place


def _reason(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class _Bench:
    """Work of known size, timed on a device."""

    def __init__(self, torch: Any, place: Any, seconds: float) -> None:
        self.torch, self.place, self.seconds = torch, place, seconds
        self.on_host = place.type == "cpu"
        # Devices have a clock of their own, which does not count what launching costs.
        self.library = None if self.on_host else getattr(torch, place.type)

    def product(self, name: str) -> BestRate:
        """The best rate of products of square matrices."""
        sizes = _SIZES_ON_HOST if self.on_host else _SIZES
        best, problem, most = None, None, self.seconds / len(sizes)
        with _precision(self.torch, self.place, name):
            for size in sizes:
                # Two operands, and a result that is at most as large as one of 4 bytes.
                if not self._fits((2 * _WIDTHS[name] + 4) * size**2):
                    continue
                try:
                    call = _product(self.torch, self.place, name, size)
                    taken, rounds = self._best(call, most)
                except Exception as error:  # noqa: BLE001 - another size may work
                    problem = error
                    continue
                rate = BestRate(2.0 * size**3 / taken, f"{size} x {size} x {size}", rounds)
                best = rate if best is None or rate.per_s > best.per_s else best
                if 2**3 * taken > most:
                    # Twice the size takes longer than there is time: emulated arithmetic.
                    break
        if best is None:
            raise problem or MemoryError("not enough free memory for matrices of a useful size")
        return best

    def copy(self) -> BestRate:
        """The best rate of copies within the device, bytes read and written."""
        size = _COPY_BYTES_ON_HOST if self.on_host else _COPY_BYTES
        while not self._fits(2 * size) and size > 2**20:
            size //= 2
        source = self.torch.ones(size // 4, dtype=self.torch.float32, device=self.place)
        target = self.torch.empty_like(source)
        taken, rounds = self._best(lambda: target.copy_(source), self.seconds)
        return BestRate(2.0 * size / taken, f"{size >> 20} MiB", rounds)

    def _fits(self, size: int) -> bool:
        if self.library is None or not hasattr(self.library, "mem_get_info"):
            return True
        return bool(size < 0.8 * self.library.mem_get_info(self.place)[0])

    def _best(self, call: Callable[[], object], seconds: float) -> tuple[float, int]:
        """The shortest time of a call, and of how many rounds."""
        end = time.perf_counter() + seconds
        # The first calls choose an algorithm and load it; the clock rises meanwhile.
        self._timed(call, 1)
        once = self._timed(call, 1)
        if time.perf_counter() > end:
            return once, 1
        calls = min(max(round(_ROUND_S / max(once, 1e-9)), 1), _MAX_CALLS)
        self._timed(call, calls)
        times: list[float] = []
        while len(times) < _MIN_ROUNDS or time.perf_counter() < end:
            times.append(self._timed(call, calls))
        return min(times), len(times)

    def _timed(self, call: Callable[[], object], calls: int) -> float:
        """Seconds of one call, of several that follow each other."""
        if self.library is None:
            start = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - start) / calls
        begin = self.library.Event(enable_timing=True)
        finish = self.library.Event(enable_timing=True)
        with self.library.device(self.place):
            begin.record()
            for _ in range(calls):
                call()
            finish.record()
        finish.synchronize()
        return float(begin.elapsed_time(finish)) / 1e3 / calls


def _product(torch: Any, place: Any, name: str, size: int) -> Callable[[], object]:
    """A product of two matrices of a type; of random values, which need the power of real ones."""
    if name == "int8":
        left, right = (
            torch.randint(-128, 128, (size, size), dtype=torch.int8, device=place) for _ in range(2)
        )
        return lambda: torch._int_mm(left, right.t())  # noqa: SLF001 - PyTorch has no public one
    if name == "fp8":
        return _fp8_product(torch, place, size)
    types = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "fp16": "float16"}
    kind = getattr(torch, types.get(name, "bfloat16"))
    first, second = (torch.randn(size, size, device=place).to(kind) for _ in range(2))
    result = torch.empty_like(first)
    return lambda: torch.mm(first, second, out=result)


def _fp8_product(torch: Any, place: Any, size: int) -> Callable[[], object]:
    if place.type == "cpu":
        raise RuntimeError("the host has no such arithmetic")
    unit_scale = torch.ones((), device=place)
    problem: Exception = RuntimeError("this PyTorch has no such type")
    # Makers mean different encodings by it: the first that the device takes.
    for kind in ("float8_e4m3fn", "float8_e4m3fnuz"):
        if not hasattr(torch, kind):
            continue
        left, right = (
            torch.randn(size, size, device=place).to(getattr(torch, kind)) for _ in range(2)
        )

        def call(left: Any = left, right: Any = right) -> object:
            scales = {"scale_a": unit_scale, "scale_b": unit_scale, "use_fast_accum": True}
            return torch._scaled_mm(  # noqa: SLF001 - PyTorch has no public one
                left, right.t(), out_dtype=torch.bfloat16, **scales
            )

        try:
            call()
        except Exception as error:  # noqa: BLE001 - the next may do
            problem = error
        else:
            return call
    raise problem


@contextmanager
def _precision(torch: Any, place: Any, name: str) -> Iterator[None]:
    """Products of float32 as they are, or in tf32; what the program had set comes back."""
    if name not in {"fp32", "tf32"}:
        yield
        return
    if name == "tf32" and not _has_tf32(torch, place):
        raise RuntimeError("the device has no such arithmetic, or PyTorch does not use it")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _has_tf32(torch: Any, place: Any) -> bool:
    """Whether products of float32 in tf32 are what they say: elsewhere the switch does nothing."""
    if place.type != "cuda" or torch.version.cuda is None:
        return False
    return bool(torch.cuda.get_device_capability(place) >= (8, 0))


def _describe_device(torch: Any, place: Any) -> dict[str, Any]:
    """What the device is, as recordings of it say."""
    if place.type == "cpu":
        host = describe_host()
        return {"name": host["cpu"] or "host", "memory_bytes": host["memory_bytes"]}
    library = getattr(torch, place.type)
    properties = library.get_device_properties(place)
    major = getattr(properties, "major", None)
    return {
        "name": str(library.get_device_name(place)),
        "memory_bytes": getattr(properties, "total_memory", None),
        "multiprocessors": getattr(properties, "multi_processor_count", None),
        "compute_capability": None if major is None else f"{major}.{properties.minor}",
    }


_CLOCK = regex(r"sclk[^{}]*?\(?(\d+) ?Mhz", re.IGNORECASE)


def _clock(torch: Any, place: Any) -> str:
    """The clock of a device as the driver's tool tells it, in words; empty where none does."""
    if place.type != "cuda":
        return ""
    if torch.version.cuda is not None:
        # The number of a device is PyTorch's own; its id is the same everywhere.
        uuid = getattr(torch.cuda.get_device_properties(place), "uuid", None)
        query = ("--query-gpu=clocks.sm", "--format=csv,noheader,nounits")
        output = _tool_output(
            "nvidia-smi", *query, *(() if uuid is None else (f"--id=GPU-{uuid}",))
        )
        match = re.match(r"\s*(\d+)\s*$", output)
    else:
        match = _CLOCK.search(_tool_output("rocm-smi", "-d", str(place.index or 0), "--showclocks"))
    return f"{match[1]} MHz" if match else ""


def _tool_output(program: str, *words: str) -> str:
    path = shutil.which(program)
    if path is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        ran = subprocess.run(  # noqa: S603 - a tool of the driver, which only tells
            [path, *words], capture_output=True, text=True, timeout=_TOOL_S, check=False
        )
        return ran.stdout if ran.returncode == 0 else ""
    return ""
