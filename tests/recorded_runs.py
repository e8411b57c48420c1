"""Folders as `timesink record` leaves them: small traces, counters, and `run.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from builders import BASE_NS, Document, Event, annotation, kineto, launch, operator, step, write

PID = 4242
CYCLE_US = 1000.0
STARTED_US = BASE_NS // 1000
"""When the traces begin, on the clock of the counters."""


def loop_trace(
    cycles: int = 6, *, pid: int = PID, work_us: float = 600.0, marker: str = "", **top: Any
) -> Document:
    """A loop of cycles as a recorder marks them and, where asked, a named call in each."""
    events: list[Event] = []
    for number in range(cycles):
        start = CYCLE_US * (number + 1)
        events.append(step(number + 5, start, CYCLE_US))
        if marker:
            events.append(annotation(marker, start + 5, CYCLE_US - 50))
        events.append(operator("aten::linear", start + 10, work_us, **{"External id": number + 1}))
        events += launch("cudaLaunchKernel", "void gemm<float>(float*)", start + 40, 10 + number)
    of_process = [event | {"pid": pid} if event.get("pid") == PID else event for event in events]
    return kineto(of_process, baseTimeNanoseconds=BASE_NS, **top)


def counter_rows(
    devices: Sequence[tuple[str, str]] = (("gpu_usage", "GPU 0"), ("host_cpu_usage", "Host")),
    *,
    until_us: int = 8_000,
    every_us: int = 500,
) -> str:
    """A counter CSV: every counter rises by one from sample to sample."""
    lines = ["timestamp_us,counter,device,value"]
    for place, at in enumerate(range(0, until_us, every_us)):
        lines += [f"{STARTED_US + at},{counter},{device},{place}" for counter, device in devices]
    return "\n".join(lines) + "\n"


def run_fields(traces: Iterable[str] = ("trace.json.gz",), **changed: Any) -> dict[str, Any]:
    """What a recorder writes after all went well; sections given are put over those here."""
    names = list(traces)
    fields: dict[str, Any] = {
        "schema": "timesink/run/1",
        "timesink": "0.1.0",
        "command": ["python", "train.py", "--lr", "0.1"],
        "started_us": STARTED_US,
        "ended_us": STARTED_US + 10_000,
        "complete": True,
        "why_partial": "",
        "cycles": {"by": "optimizer step", "name": "AdamW"}
        | {"asked": 6, "skipped": 5, "recorded": 6},
        "processes": [
            {"pid": PID + rank, "rank": rank, "world_size": len(names), "trace": name}
            | {"cycles": 6, "complete": True}
            for rank, name in enumerate(names)
        ],
        "counters": {"file": "counters.csv", "interval_ms": 0.5, "samples": 32}
        | {"recorded": ["gpu_usage", "host_cpu_usage"], "missing": []},
        "clock": {"offset_us": 3.2, "spread_us": 1.1},
        "overhead": {"cycle_us": 980.0, "cycle_profiled_us": 1000.0}
        | {"profiler_pct": 2.0, "sampler_cpu_pct": 1.2},
        "host": {"cores": 16, "cpu": "AMD EPYC 9654", "memory_bytes": 2**37, "system": "Linux 6.1"},
        "devices": [
            {"device": "GPU 0", "name": "NVIDIA H200", "memory_bytes": 150_000_000_000}
            | {"uuid": "GPU-8d4e0000-0000-0000-0000-000000000001"}
        ],
        "versions": {"python": "3.12.3", "torch": "2.11.0", "cuda": None},
        "exit": {"code": 0, "signal": ""},
    }
    for name, value in changed.items():
        is_section = isinstance(value, dict) and isinstance(fields.get(name), dict)
        fields[name] = {**fields[name], **value} if is_section else value
    return fields


def write_run(folder: Path, **changed: Any) -> Path:
    """`run.json` of a folder, with the traces that lie there."""
    traces = sorted(path.name for path in folder.iterdir() if path.name.startswith("trace"))
    path = folder / "run.json"
    path.write_text(json.dumps(run_fields(traces, **changed)))
    return path


def write_recording(folder: Path, *, trace: Document | None = None, **changed: Any) -> Path:
    """A folder with the recording of one process."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "trace.json.gz", trace or loop_trace())
    (folder / "counters.csv").write_text(counter_rows())
    write_run(folder, **changed)
    return folder


def recorded_ranks(folder: Path, ranks: int = 2) -> Path:
    """A folder with the recordings of several ranks on one host, and one file of counters."""
    folder.mkdir(parents=True, exist_ok=True)
    process_counters = [("process_cpu_usage", f"pid {PID + rank}") for rank in range(ranks)]
    for rank in range(ranks):
        name = folder / f"trace.rank{rank}.json.gz"
        write(name, loop_trace(pid=PID + rank, work_us=600.0 + rank))
    (folder / "counters.csv").write_text(
        counter_rows([("host_cpu_usage", "Host"), *process_counters])
    )
    write_run(folder)
    return folder


def recorded_counters(folder: Path, **changed: Any) -> Path:
    """What is left of a program that does not use torch."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "counters.csv").write_text(counter_rows())
    no_cycles = {"by": "optimizer step", "name": None, "recorded": 0}
    fields = {"cycles": no_cycles, "versions": {"torch": None}, "clock": {"offset_us": None}}
    write_run(folder, **{**fields, **changed})
    return folder
