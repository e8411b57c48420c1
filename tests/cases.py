"""Short notation for recordings whose answers can be worked out on paper.

`O("aten::mm", 120, 70, x=4)` is an operator from 120 to 190 us with external id 4, `R` a runtime
call, `K` a kernel, `C` a copy, `S` a memset, `STEP(3, 100, 300)` the mark of step 3.  Written as
old profilers did: capitalised categories, whole microseconds, threads as text.
"""
# ruff: noqa: N802 (one letter for each sort of event keeps a case readable)

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import timesink
from builders import Document, Event, complete, kineto, to_bytes, write
from timesink.analyses.steps import step_breakdown
from timesink.model.trace import Trace

PID = 13721
MAIN, OTHER = "123", "456"
"""Threads: the one that runs the model, and another."""

PARTS = (
    "kernel_ns",
    "memcpy_ns",
    "memset_ns",
    "communication_ns",
    "runtime_ns",
    "data_loader_ns",
    "cpu_exec_ns",
    "other_ns",
    "total_ns",
)
DATA_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


# -- on the host ---------------------------------------------------------------------------------


def host_event(category: str, name: str, ts: int, dur: int, tid: str, **args: Any) -> Event:
    return complete(category, name, ts, dur, pid=PID, tid=tid, args=args)


def O(  # noqa: E743
    name: str, ts: int, dur: int, *, x: int | None = None, tid: str = MAIN, **args: Any
) -> Event:
    ids = {} if x is None else {"External id": x}
    return host_event("Operator", name, ts, dur, tid, **{"Input dims": []} | ids | args)


def STEP(number: int, ts: int, dur: int, *, x: int | None = None, tid: str = MAIN) -> Event:
    return O(f"ProfilerStep#{number}", ts, dur, x=x, tid=tid)


def R(ts: int, dur: int, *, c: int, x: int | None = None, tid: str = MAIN) -> Event:
    ids = {"correlation": c} if x is None else {"correlation": c, "external id": x}
    return host_event("Runtime", "cudaLaunchKernel", ts, dur, tid, **ids)


def MODULE(
    name: str,
    ts: int,
    dur: int,
    *,
    python_id: int,
    parent: int | None,
    module: int | None,
) -> Event:
    """A Python call, of the module with this number or of a plain function."""
    ids = {"Python id": python_id, "Python parent id": parent}
    if module is not None:
        ids |= {"Python module id": module}
    return host_event("python_function", name, ts, dur, MAIN, **ids)


def ALLOC(
    ts: int, size: int, *, device: int = -1, address: int = 0, total: int = 0, tid: str = MAIN
) -> Event:
    """Memory taken (or given back: a negative size) on a device, -1 for the host."""
    args = {
        "Device Type": 0 if device < 0 else 1,
        "Device Id": device,
        "Addr": address,
        "Bytes": size,
        "Total Allocated": total,
        "Total Reserved": 2 * total,
    }
    return {
        "ph": "i",
        "s": "t",
        "name": "[memory]",
        "pid": PID,
        "tid": tid,
        "ts": ts,
        "args": args,
    }


# -- on the device -------------------------------------------------------------------------------


def device_event(
    category: str, name: str, ts: int, dur: int, *, c: int, x: int | None, device: int, **args: Any
) -> Event:
    fields = {"device": device, "stream": 7, "correlation": c}
    if x is not None:
        fields |= {"external id": x}
    return complete(category, name, ts, dur, pid=device, tid="stream 7", args=fields | args)


def K(
    name: str, ts: int, dur: int, *, c: int = 0, x: int | None = None, device: int = 0, **args: Any
) -> Event:
    return device_event("Kernel", name, ts, dur, c=c, x=x, device=device, **args)


def C(
    ts: int,
    dur: int,
    *,
    c: int,
    x: int | None = None,
    device: int = 0,
    name: str = "Memcpy HtoD (Pageable -> Device)",
    **args: Any,
) -> Event:
    return device_event("Memcpy", name, ts, dur, c=c, x=x, device=device, **args)


def S(ts: int, dur: int, *, c: int, x: int | None = None, device: int = 0) -> Event:
    return device_event("Memset", "Memset (Device)", ts, dur, c=c, x=x, device=device)


# -- reading and answers -------------------------------------------------------------------------


def read(*events: Event, **fields: Any) -> Trace:
    """These events as a recording; `fields` stand beside them at the top of the document."""
    return read_document(kineto(events, **fields))


def read_document(document: Document) -> Trace:
    return _read(to_bytes(document))


@lru_cache(maxsize=256)
def _read(text: bytes) -> Trace:
    """Many tests ask something else about the same recording, and a trace is never changed."""
    with TemporaryDirectory() as folder:
        return timesink.open(write(Path(folder) / "case.json", text), cache=False)


def with_tensor_cores() -> Trace:
    """Of 25 us of kernels 15 run on tensor cores, under an operator that could use them."""
    return read(
        O("aten::conv2d", 200, 100, x=3),
        O("op_no_tc", 205, 10, x=4),
        R(206, 2, c=1, x=4),
        O("aten::cudnn_convolution", 215, 10, x=5),
        R(216, 2, c=2, x=5),
        K("kernel_no_tc", 210, 10, c=1, x=4),
        K("volta_fp16_s884cudnn_fp16_256x64", 225, 15, c=2, x=5),
    )


def costs(trace: Trace) -> list[list[float]]:
    """What each step spent, in us: kernel, memcpy, memset, communication, runtime, data loader,
    processor, other, and the whole step.
    """
    frame = step_breakdown(trace).select(PARTS)
    return [[ns / 1000 for ns in row] for row in frame.rows()]


def by_name(rows: Sequence[dict[str, Any]], *keys: str) -> dict[str, tuple[Any, ...]]:
    """These values of each row of a response, under its name."""
    return {row["name"]: tuple(row[key] for key in keys) for row in rows}


def columns(frame: dict[str, Any]) -> list[str]:
    """The names of the columns of a chart, hover texts left out."""
    return [column["name"] for column in frame["columns"] if "name" in column]


def table(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chart as dictionaries."""
    names = [column["name"] for column in frame["columns"]]
    return [dict(zip(names, row, strict=True)) for row in frame["rows"]]


def microseconds(column: pl.Series) -> list[float]:
    return [ns / 1000 for ns in column]


def step_rows(overview: dict[str, Any]) -> list[list[Any]]:
    """The steps of an overview without the hover texts: name, then one number per part."""
    return [[row[0], *row[1::2]] for row in overview["steps"]["rows"]]
