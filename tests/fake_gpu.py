"""Launching kernels without a GPU: programs under `fake_ncu.py` say what they would launch."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

VARIABLE = "FAKE_GPU"
"""Names the socket where the stand-in for Nsight Compute listens; unset, nothing is measured."""


def launch(*kernels: str) -> None:
    """Launch kernels one after the other; each returns when it has been measured."""
    _send(kernels)


def profiler_start() -> None:
    """As cudaProfilerStart."""
    _send(["cudaProfilerStart"])


def profiler_stop() -> None:
    """As cudaProfilerStop."""
    _send(["cudaProfilerStop"])


def _send(words: Sequence[str]) -> None:
    if VARIABLE not in os.environ:
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ[VARIABLE])
        with connection.makefile("rw", encoding="utf-8") as stream:
            stream.write(f"{os.getpid()}\n")
            for word in words:
                stream.write(f"{word}\n")
                stream.flush()
                stream.readline()
