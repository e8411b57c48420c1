"""What the workloads will find on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from timesink.errors import CollectError
from timesink.recorder.host_description import describe_host

_PATIENCE_S = 300


@dataclass(frozen=True)
class Bench:
    """Where the lab runs."""

    torch: str
    gpu: str | None
    """Name of the device; None: workloads run on the CPU."""
    cores: float | None

    @property
    def words(self) -> str:
        """In a few words."""
        cores = f"{self.cores:g} cores" if self.cores else "cores unknown"
        return f"{self.gpu or 'no GPU'}, {cores}, PyTorch {self.torch}"


def this_bench(device: str) -> Bench:
    """This machine; PyTorch is asked in a process of its own, which takes its memory with it."""
    command = [sys.executable, "-m", "timesink.lab.workloads.probe"]
    try:
        told = subprocess.run(  # noqa: S603 - our own module
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
        found = json.loads(told.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise CollectError(
            f"the workloads of the lab need PyTorch ({said[-1] if said else 'no answer'})",
            f"install torch for {sys.executable}",
        ) from None
    if device == "cuda" and found["gpu"] is None:
        raise CollectError("PyTorch finds no GPU", "leave out --device cuda")
    gpu = None if device == "cpu" else found["gpu"]
    return Bench(found["torch"], gpu, describe_host()["cores"])
