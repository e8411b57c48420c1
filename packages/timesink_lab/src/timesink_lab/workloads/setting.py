"""What every workload is told: where it runs, how large it is, how many cycles it makes.

Run by itself, it says as JSON which PyTorch and which device workloads will find here.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from timesink_lab.workloads.switches import Switches, switched_on

SIZES = ("small", "medium", "large")
"""For a CPU, for a device with little memory, for one of the H200 class."""
_LARGE_FROM_BYTES = 70e9
_CYCLES = 60


@dataclass(frozen=True)
class WorkloadSetting:
    """How a workload runs."""

    device: torch.device
    size: str
    cycles: int
    switches: Switches

    @property
    def on_gpu(self) -> bool:
        """Whether there is a device beside the host."""
        return bool(self.device.type == "cuda")

    @property
    def narrow(self) -> torch.dtype:
        """Numbers of 16 bits; of 32 on a processor that would take a hundred times as long."""
        has_16_bits = self.on_gpu or torch.ops.mkldnn._is_mkldnn_bf16_supported()  # noqa: SLF001
        return torch.bfloat16 if has_16_bits else torch.float32

    def autocast(self, *, enabled: bool = True) -> torch.autocast:
        """Mixed precision, as most training uses it."""
        is_narrow = enabled and self.narrow is torch.bfloat16
        return torch.autocast(self.device.type, torch.bfloat16, enabled=is_narrow)


def setting_of(about: str | None) -> WorkloadSetting:
    """Read the command line of a workload, and fix its random numbers."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--size", choices=("auto", *SIZES), default="auto")
    parser.add_argument("--cycles", metavar="N", type=int, default=_CYCLES)
    options = parser.parse_args()
    has_gpu = options.device != "cpu" and torch.cuda.is_available()
    device = torch.device("cuda" if has_gpu or options.device == "cuda" else "cpu")
    size = options.size
    if size == "auto" and device.type == "cpu":
        size = "small"
    elif size == "auto":
        memory_bytes = torch.cuda.get_device_properties(device).total_memory
        size = "large" if memory_bytes > _LARGE_FROM_BYTES else "medium"
    torch.manual_seed(0)
    if device.type == "cpu":
        # Threads that wait for each other in every operator measure the neighbours of the machine.
        torch.set_num_threads(1)
    return WorkloadSetting(device, size, options.cycles, switched_on())


# Attention, as all workloads have it.


class Attention(nn.Module):
    """Patches of a picture look at each other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self._queries_keys_values = nn.Linear(width, 3 * width)
        self._from_heads = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, patches, width = hidden.shape
        apart = self._queries_keys_values(hidden).view(batch, patches, 3, self._heads, -1)
        queries, keys, values = apart.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values)
        joined: torch.Tensor = self._from_heads(
            mixed.transpose(1, 2).reshape(batch, patches, width)
        )
        return joined


if __name__ == "__main__":
    _gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    sys.stdout.write(json.dumps({"torch": torch.__version__, "gpu": _gpu}) + "\n")
