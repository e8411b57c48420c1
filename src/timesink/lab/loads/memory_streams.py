"""Read and write the memory of the host: one process for every other core, each copying."""

from __future__ import annotations

import os

from timesink.collect.counters import describe_host
from timesink.lab.loads.steady import in_processes

_BYTES = 256 * 2**20
"""More than any cache holds."""


def main() -> None:
    """Copy in half as many processes as there are cores."""
    cores = describe_host()["cores"] or os.cpu_count() or 1
    source, target = memoryview(bytearray(_BYTES)), memoryview(bytearray(_BYTES))

    def copy() -> None:
        # Each process writes to memory of its own, from the first copy on.
        target[:] = source

    in_processes(max(1, round(cores / 2)), copy)


if __name__ == "__main__":
    main()
