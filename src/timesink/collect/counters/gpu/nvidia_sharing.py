"""Who uses a device: processes of the program, and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timesink.collect.counters.gpu.numbering import FOREIGN, ToldApart, has_own_numbers
from timesink.collect.counters.probing import Probe, Setting, labelled

_OWN_USE, _OTHERS_USE = "process_gpu_usage", "gpu_others_usage"
_OWN_MEMORY, _OTHERS_MEMORY = "process_gpu_mem_bytes", "gpu_mem_of_others_bytes"
_LANE = "gpu processes"
_LEAST_MS = 200.0
"""The driver keeps a sample every sixth of a second or so, and takes its time to tell it."""
_NOT_FOUND = 6


def sharing(
    library: Any, handle: Any, labels: tuple[str, ...], setting: Setting
) -> Iterator[Probe]:
    """Use and memory of one device, own and of others."""
    nested = has_own_numbers(setting.root)
    for names, kind in (
        ((_OWN_USE, _OTHERS_USE), _Use),
        ((_OWN_MEMORY, _OTHERS_MEMORY), _Memory),
    ):
        if setting.wants(*names):
            source = kind(library, handle, setting, nested=nested)
            read = labelled(names, source.own_and_others, labels)
            otherwise = FOREIGN if nested else ""
            yield Probe(names, read, labels[0], _LANE, _LEAST_MS, otherwise)


class _Memory:
    def __init__(self, library: Any, handle: Any, setting: Setting, *, nested: bool) -> None:
        self._library = library
        self._handle = handle
        self._own = setting.own
        self._told = ToldApart(nested=nested)

    def own_and_others(self) -> tuple[float, float] | None:
        running = {
            process.pid: int(process.usedGpuMemory or 0)
            for processes in (
                self._library.nvmlDeviceGetGraphicsRunningProcesses(self._handle),
                self._library.nvmlDeviceGetComputeRunningProcesses(self._handle),
            )
            for process in processes
        }
        own = self._own.members()
        if not self._told.sees(running, own):
            return None
        mine = sum(memory for pid, memory in running.items() if pid in own)
        return mine, sum(running.values()) - mine


class _Use:
    def __init__(self, library: Any, handle: Any, setting: Setting, *, nested: bool) -> None:
        self._library = library
        self._handle = handle
        self._own = setting.own
        self._told = ToldApart(nested=nested)
        self._seen_us = 0

    def own_and_others(self) -> tuple[float, float] | None:
        used = self._used()
        own = self._own.members()
        if not self._told.sees(used, own):
            return None
        mine = sum(share for pid, share in used.items() if pid in own)
        return min(mine, 100.0), min(sum(used.values()) - mine, 100.0)

    def _used(self) -> dict[int, float]:
        """Mean share of each process since the last reading."""
        try:
            found = self._library.nvmlDeviceGetProcessUtilization(self._handle, self._seen_us)
        except self._library.NVMLError as error:
            if getattr(error, "value", None) != _NOT_FOUND:
                raise
            # Nobody did anything.
            return {}
        shares: dict[int, list[float]] = {}
        for sample in found:
            if sample.timeStamp > self._seen_us and sample.smUtil <= 100:
                shares.setdefault(sample.pid, []).append(float(sample.smUtil))
        self._seen_us = max([self._seen_us, *(sample.timeStamp for sample in found)])
        return {pid: sum(each) / len(each) for pid, each in shares.items()}
