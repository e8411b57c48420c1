"""Programs that load a machine: each runs alone with `python -m timesink_lab.loads NAME`.

They run until they are ended, or until whoever started them is gone.  None of them touches clocks,
power limits or modes of a device.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from timesink.recorder.host_counters import describe_host
from timesink_lab.workloads import switches as words

_MAX_S = 900.0
"""No recording takes longer; a load that was forgotten ends by itself."""
_COUNTED = 200_000
_MIB = 2**20
_FILE_PIECES = 8
_SIDE = 8192
_AT_ONCE = 4
"""Pieces of work that wait on the device, so that it never runs dry."""


def keep_on(work: Callable[[], object], starter: int | None = None) -> None:
    """Do a piece of work again and again, from the word on until the starter is gone."""
    parent = starter or words.starter() or os.getppid()
    words.print_word("load.ready")
    words.wait_for("load.go")
    until = time.monotonic() + _MAX_S
    work()
    words.print_word("load.works")
    # A process whose starter is gone gets another parent.
    while os.getppid() == parent and time.monotonic() < until:
        work()


def busy_cores(arguments: Sequence[str]) -> None:
    """Keep the cores busy: several processes for every core, each counting."""
    parser = argparse.ArgumentParser(description=busy_cores.__doc__)
    parser.add_argument("--per-core", metavar="N", type=float, default=3.0)
    options = parser.parse_args(arguments)
    cores = describe_host()["cores"] or os.cpu_count() or 1

    def count() -> None:
        for _ in range(_COUNTED):
            pass

    first = os.getpid()
    for _ in range(max(1, round(options.per_core * cores)) - 1):
        if os.fork() == 0:
            keep_on(count, first)
            return
    keep_on(count)


def disk_writes(arguments: Sequence[str]) -> None:
    """Write to the disk and wait for it, again and again over the same file."""
    parser = argparse.ArgumentParser(description=disk_writes.__doc__)
    parser.add_argument("--folder", type=Path, default=Path(), help="on which disk")
    parser.add_argument("--mib", metavar="N", type=int, default=32, help="at a time")
    options = parser.parse_args(arguments)
    piece = os.urandom(options.mib * _MIB)
    # A file without a name leaves nothing behind, however this ends.
    with tempfile.TemporaryFile(dir=options.folder, buffering=0) as file:

        def write() -> None:
            if file.tell() >= _FILE_PIECES * len(piece):
                file.seek(0)
            file.write(piece)
            os.fsync(file.fileno())

        keep_on(write)


# Those that load a device alone need PyTorch.


def _keep_device_on(work: Callable[[], object], at_once: int = _AT_ONCE) -> None:
    """Have several pieces of work wait on the device, again and again."""
    import torch  # noqa: PLC0415 - optional

    def some() -> None:
        for _ in range(at_once):
            work()
        torch.cuda.synchronize()

    keep_on(some)


def device_products(_arguments: Sequence[str]) -> None:
    """Keep the device busy: large products of matrices."""
    import torch  # noqa: PLC0415 - optional

    left, right = (torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(left)
    _keep_device_on(lambda: torch.mm(left, right, out=product))


def device_copies(_arguments: Sequence[str]) -> None:
    """Read and write the memory of the device: copies from one place in it to another."""
    import torch  # noqa: PLC0415 - optional

    size = 2048 * _MIB
    source, target = (torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    _keep_device_on(lambda: target.copy_(source), 2 * _AT_ONCE)


def link_copies(_arguments: Sequence[str]) -> None:
    """Fill the link between host and device: copies of pinned memory, both ways at once."""
    import torch  # noqa: PLC0415 - optional

    size = 256 * _MIB
    there, back = (torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(2))
    received, sent = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    downwards, upwards = torch.cuda.Stream(), torch.cuda.Stream()

    def copy() -> None:
        with torch.cuda.stream(downwards):
            received.copy_(there, non_blocking=True)
        with torch.cuda.stream(upwards):
            back.copy_(sent, non_blocking=True)

    _keep_device_on(copy)


LOADS: Mapping[str, Callable[[Sequence[str]], None]] = {
    load.__name__: load
    for load in (busy_cores, device_copies, device_products, disk_writes, link_copies)
}
"""By the names that faults give them."""

if __name__ == "__main__":
    LOADS[sys.argv[1]](sys.argv[2:])
