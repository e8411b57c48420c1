"""`topo_component.csv` beside a trace: what the machine is made of, one component per row.

Components have a `category` and JSON in `inventory`: frequency and cores of processors, size of
memory, number and memory of accelerators, accelerators of processes.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Device, Trace
from timesink.readers.source import open_source

KEY = "topology"
"""Under which `metadata.extra` holds what was found."""

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
Component = tuple[str, Mapping[str, Any]]
"""Category without `CAT_`, and what the inventory says."""


def with_topology(trace: Trace, file: Path) -> Trace:
    """The trace with memory of its devices, and processors and host memory in `extra`."""
    try:
        components, broken = _components(file)
    except UnreadableError as error:
        components, broken = [], [HealthEntry("bad_metadata", 1, error.message)]
    metadata = trace.metadata
    described = replace(
        metadata,
        devices=_with_memory(metadata.devices, components),
        extra={**metadata.extra, KEY: _machine(components)} if components else metadata.extra,
    )
    health = merge_entries([*trace.health, *broken])
    return replace(trace, metadata=described, health=health)


def _components(file: Path) -> tuple[list[Component], list[HealthEntry]]:
    text = b"".join(open_source(file).blocks()).decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"category", "inventory"} <= set(rows.fieldnames or ()):
        raise UnreadableError(f"{file}: not a table of components", "remove it or write it again")
    components: list[Component] = []
    broken = []
    for row in rows:
        inventory = _object(row["inventory"])
        if inventory is None:
            broken.append(HealthEntry("bad_metadata", 1, f"{file.name}: {row['inventory']!r}"))
            continue
        category = (row["category"] or "").upper().removeprefix("CAT_")
        components.append((category, inventory))
    return components, broken


def _object(text: str | None) -> dict[str, Any] | None:
    """A JSON object, what it holds under `macro` lifted to the top; empty text is none of it."""
    if not (text or "").strip():
        return {}
    try:
        value = msgspec.json.decode(text or "")
    except msgspec.DecodeError:
        return None
    if not isinstance(value, dict):
        return None
    inner = value.get("macro")
    return {**value, **inner} if isinstance(inner, dict) else value


def _number(value: Any) -> float | None:
    """The first number of `4000 MHz`, 64 or "64"."""
    found = _NUMBER.search(str(value))
    return None if found is None or isinstance(value, bool) else float(found[0])


def _numbers(components: Iterable[Component], category: str, key: str) -> list[float]:
    found = (
        _number(fields[key]) for name, fields in components if name == category and key in fields
    )
    return [number for number in found if number is not None]


def _machine(components: list[Component]) -> dict[str, Any]:
    frequencies = _numbers(components, "CPU", "freq")
    cores = _numbers(components, "CPU", "cores")
    memory = _numbers(components, "MEMORY", "size")
    processes = {
        str(fields["pid"]): fields["gpu_index"]
        for name, fields in components
        if name == "PROCESS" and "pid" in fields and "gpu_index" in fields
    }
    return {
        "cpu_max_mhz": max(frequencies, default=None),
        "cpu_cores": int(sum(cores)) or None,
        "host_memory_bytes": int(sum(memory)) * 1024**2 or None,
        "gpus_of_process": processes,
    }


def _with_memory(devices: tuple[Device, ...], components: list[Component]) -> tuple[Device, ...]:
    """Devices with the memory their component names, where each number stands for one component.

    Numbers in a trace are those a process sees: with one accelerator of several that need not be
    the machine's, so a device that no component stands for gets none.
    """
    numbered = [
        (int(index), int(size))
        for name, fields in components
        if name == "XPU"
        and (index := _number(fields.get("index"))) is not None
        and (size := _number(fields.get("memory_capacity"))) is not None
    ]
    sizes = {size for _, size in numbered}
    seen = Counter(index for index, _ in numbered)
    # Where all are alike, it does not matter which is which.
    memory = {index: size for index, size in numbered if seen[index] == 1}
    alike = sizes.pop() if len(sizes) == 1 else None
    return tuple(
        replace(device, memory_bytes=device.memory_bytes or alike or memory.get(device.id))
        for device in devices
    )
