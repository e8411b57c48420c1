"""Recordings of loops with known cycles: servers seen through their Python calls, and devices.

A server's scheduler runs `get_next_batch_to_run`, `run_batch`, `process_batch_result` again and
again.  What the cycles must be is written down while the recording is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from timelines import Row, trace_of
from timesink.model.trace import Trace

US = 1_000
"""Nanoseconds of a microsecond, in which loops are written down."""

FORWARD = {"decode": "ModelRunner.forward_decode", "prefill": "ModelRunner.forward_extend"}
LAYER = "LlamaDecoderLayer.forward"


@dataclass
class Served:
    """A recording under way: its calls, its kernels, and the cycles they make."""

    host: list[Row] = field(default_factory=list)
    device: list[Row] = field(default_factory=list)
    cycles: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Process, type, start and end (ns) of every cycle, as a reader should find them."""

    def trace(self) -> Trace:
        return trace_of(host=self.host, device=self.device)

    def call(self, pid: str, tid: str, name: str, start: int, length: int) -> None:
        """A Python call, in microseconds."""
        self.host.append(
            {"kind": "python_function", "category": "python", "name": name, "pid": pid, "tid": tid}
            | {"ts_ns": start * US, "dur_ns": length * US}
        )


@dataclass(frozen=True)
class Server:
    """What a server does with its batches."""

    layers: int = 8
    layer_us: int | None = None
    """Length of a layer; a tenth of it in decode where not given."""
    named: bool = True
    """Whether the forward passes say what they are."""
    idle_before: tuple[int, ...] = ()
    """Before which batches it polls for a second."""

    def length_of(self, kind: str) -> int:
        return self.layer_us or (900 if kind == "decode" else 9_000)


def serve(
    kinds: Sequence[str],
    *,
    pids: Sequence[str] = ("944615",),
    framed: bool = False,
    **options: Any,
) -> Served:
    """A server that runs batches of these kinds in every process, at the same time.

    With `framed` one endless call holds everything; the options are those of `Server`.
    """
    served = Served()
    for pid in pids:
        end = _schedule(served, pid, kinds, Server(**options))
        _wait_elsewhere(served, pid, end)
        if framed:
            served.call(pid, "1", "Scheduler.event_loop_overlap", 0, end + 50)
            served.call(pid, "1", "<module>", 0, end + 60)
    return served


def _schedule(served: Served, pid: str, kinds: Sequence[str], server: Server) -> int:
    now = 1_000
    for number, kind in enumerate(kinds):
        if number in server.idle_before:
            for _ in range(100):
                served.call(pid, "1", "Scheduler.recv_requests", now, 9_000)
                now += 10_000
        served.call(pid, "1", "Scheduler.recv_requests", now, 100)
        start = now + 110
        served.call(pid, "1", "Scheduler.get_next_batch_to_run", start, 300)
        now = _run_batch(served, pid, start + 310, kind, server)
        served.call(pid, "1", "Scheduler.process_batch_result", now, 400)
        now += 400
        served.cycles.append((pid, kind if server.named else "generic", start * US, now * US))
        now += 20
    return now


def _run_batch(served: Served, pid: str, now: int, kind: str, server: Server) -> int:
    length = server.length_of(kind)
    duration = server.layers * (length + 10) + 100
    forward = FORWARD[kind] if server.named else "ModelRunner.forward"
    served.call(pid, "1", "Scheduler.run_batch", now, duration)
    served.call(pid, "1", forward, now + 10, duration - 20)
    for layer in range(server.layers):
        start = now + 50 + layer * (length + 10)
        served.call(pid, "1", LAYER, start, length)
        served.call(pid, "1", "RMSNorm.forward", start + 10, length // 4)
    return now + duration + 10


def _wait_elsewhere(served: Served, pid: str, end: int) -> None:
    """A thread that waits most of the time, of the same number in every process."""
    for start in range(0, end, 5_000):
        served.call(pid, "2", "Event.wait", start, 4_900)


# -- as a file -------------------------------------------------------------------------------------


def chrome_events(served: Served) -> list[dict[str, Any]]:
    """The calls as the events of a Chrome trace, with the process as `host(pid)`."""
    return [
        {"ph": "X", "cat": "python", "name": row["name"], "pid": f"node7({row['pid']})"}
        | {"tid": row["tid"], "ts": row["ts_ns"] / US, "dur": row["dur_ns"] / US}
        | {"args": {"args": json.dumps({"module": "sglang.srt.managers.scheduler"})}}
        for row in served.host
    ]


# -- devices ---------------------------------------------------------------------------------------


def trace_of_kernels(
    names: Iterable[str], *, pid: str = "0", pause_at: str = "", gap: int = 1
) -> Trace:
    """Kernels of these names one after the other on one stream; a pause before some of them."""
    rows: list[Row] = []
    now = 0
    for name in names:
        now += 200 if name == pause_at else gap
        rows.append(
            {"kind": "kernel", "name": name, "pid": pid, "device": 0, "stream": "7"}
            | {"ts_ns": now * US, "dur_ns": 10 * US}
        )
        now += 10
    return trace_of(device=rows)


def decode_step(layers: int, kinds: int = 6) -> list[str]:
    """Kernels of one step: an embedding, alike layers, a head, a sample."""
    layer = [f"layer_{kind}" for kind in range(kinds)]
    return ["embedding", *(layer * layers), "norm", "head", "softmax", "sample"]
