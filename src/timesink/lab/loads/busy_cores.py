"""Keep the cores busy: several processes for every core, each counting."""

from __future__ import annotations

import argparse
import os

from timesink.lab.loads.steady import in_processes
from timesink.recorder.gpu_counters import describe_host

_PIECE = 200_000


def main() -> None:
    """Count in as many processes as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-core", metavar="N", type=float, default=3.0)
    options = parser.parse_args()
    cores = describe_host()["cores"] or os.cpu_count() or 1
    in_processes(max(1, round(options.per_core * cores)), _count)


def _count() -> None:
    for _ in range(_PIECE):
        pass


if __name__ == "__main__":
    main()
