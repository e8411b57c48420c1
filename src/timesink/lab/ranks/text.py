"""The text of a trace as PyTorch's profiler writes it, with places for what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from timesink.lab.ranks.events import MARK, DeviceEvent, Events, HostEvent, differs
from timesink.lab.ranks.layout import Ints

BASE_NS = 1_790_857_026_000_000_000
"""What timestamps count from, as every trace says."""
_MOMENTS = 3
"""What has a time besides lasting events: the recording, its start, its end."""


@dataclass(frozen=True, eq=False)
class Template:
    """The text of a stage's traces."""

    events: Events
    text: bytes
    fill: Callable[[list[Any]], tuple[Any, ...]]
    names: tuple[str, ...]
    """What is filled in behind the times, by name."""
    event_at: Ints
    """For every event of the file: the event its time is of, as :meth:`Traces.times_ns` counts."""

    def trace(self, start_ns: Ints, end_ns: Ints, told: dict[str, bytes | int]) -> bytes:
        """The text of one rank."""
        length = end_ns - start_ns
        pool: list[Any] = []
        for part in (start_ns // 1000, start_ns % 1000, length // 1000, length % 1000):
            pool += part.tolist()
        pool += [told[name] for name in self.names]
        return self.text % self.fill(pool)


_HEAD = f"""
  {{
    "schemaVersion": 1,
    "deviceProperties": [
{differs("devices")}
    ],
      "trace_id": "{differs("trace id")}",
      "record_shapes": 1,
      "distributedInfo": {differs("distributed")},
      "cuda_driver_version": 13000,
      "cuda_runtime_version": 13000,
      "cupti_version": 130001,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": {BASE_NS},
  "traceEvents": [
"""


def template_of(events: Events) -> Template:
    texts, event_at = [], []
    lanes = [("pid", f"tid {one.thread}", "s") for one in events.on_host]
    lanes += [("device", str(one.stream), "f") for one in events.device]
    lasting: list[HostEvent | DeviceEvent] = [*events.on_host, *events.device]
    for number, event in enumerate(lasting):
        process, lane, phase = lanes[number]
        texts.append(_event_text(number, event, process, lane))
        event_at.append(number)
        if event.flow is not None:
            texts.append(_flow(phase, event.flow, process, lane, number))
            event_at.append(number)
    tail = _tail(events)
    whole, begins, closed = range(len(events), len(events) + _MOMENTS)
    event_at += [whole] * (len(tail) - 2) + [begins, closed]
    text = _HEAD + ",\n".join([*texts, *tail]) + "\n  ]\n}"
    return _compiled(events, text, np.array(event_at))


def _compiled(events: Events, whole: str, event_at: Ints) -> Template:
    literals, fields = whole.split(MARK)[::2], whole.split(MARK)[1::2]
    count = len(events) + _MOMENTS
    names: dict[str, int] = {}
    pieces, index = [literals[0].replace("%", "%%")], []
    for field, literal in zip(fields, literals[1:], strict=True):
        kind, _, number = field.partition(" ")
        if kind in {"start", "length"} and number:
            row = int(number) + (0 if kind == "start" else 2 * count)
            index += [row, row + count]
            pieces.append("%d.%03d")
        else:
            index.append(4 * count + names.setdefault(field, len(names)))
            pieces.append("%b")
        pieces.append(literal.replace("%", "%%"))
    text = "".join(pieces).encode()
    return Template(events, text, itemgetter(*index), tuple(names), event_at)


def _event_text(number: int, event: HostEvent | DeviceEvent, process: str, lane: str) -> str:
    return f"""  {{
    "ph": "X", "cat": "{event.category}", "name": "{event.name}", "pid": {differs(process)}, \
"tid": {_tid(lane)},
    "ts": {differs(f"start {number}")}, "dur": {differs(f"length {number}")},
    "args": {{
      {event.arguments}
    }}
  }}"""


def _tid(lane: str) -> str:
    return lane if lane.isdigit() else differs(lane)


def _flow(phase: str, flow: int, pid: str, lane: str, number: int) -> str:
    ends = ', "bp": "e"' if phase == "f" else ""
    return f"""  {{
    "ph": "{phase}", "id": {flow}, "pid": {differs(pid)}, "tid": {_tid(lane)}, \
"ts": {differs(f"start {number}")},
    "cat": "ac2g", "name": "ac2g"{ends}
  }}"""


def _tail(events: Events) -> list[str]:
    """Names of processes and lanes, and the marks at the end of a trace."""
    main, autograd = differs("tid main"), differs("tid autograd")
    pid, device = differs("pid"), differs("device")
    said = [
        ("process_name", pid, "0", '"name": "python3"'),
        ("process_labels", pid, "0", '"labels": "CPU"'),
        ("process_sort_index", pid, "0", f'"sort_index": {pid}'),
        ("process_name", device, "0", '"name": "python3"'),
        ("process_labels", device, "0", f'"labels": "GPU {device}"'),
        ("process_sort_index", device, "0", '"sort_index": 5000000'),
    ]
    for stream in sorted({event.stream for event in events.device}):
        said.append(("thread_name", device, str(stream), f'"name": "stream {stream} "'))
        said.append(("thread_sort_index", device, str(stream), f'"sort_index": {stream}'))
    for tid, name in ((main, "python3"), (autograd, "pt_autograd_0")):
        said.append(("thread_name", pid, tid, f'"name": "thread {tid} ({name})"'))
        said.append(("thread_sort_index", pid, tid, f'"sort_index": {tid}'))
    whole, window = len(events), differs(f"start {len(events) + 2}")
    first, length = differs(f"start {whole}"), differs(f"length {whole}")
    named = [
        f"""  {{
    "name": "{name}", "ph": "M", "ts": {first}, "pid": {process}, "tid": {lane},
    "args": {{
      {arguments}
    }}
  }}"""
        for name, process, lane, arguments in said
    ]
    return [
        *named,
        f"""  {{
    "ph": "X", "cat": "Trace", "ts": {first}, "dur": {length},
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {{
      "Op count": 0
    }}
  }}""",
        f"""  {{
    "name": "process_sort_index", "ph": "M", "ts": {first},
    "pid": "Spans", "tid": 0,
    "args": {{
      "sort_index": 536870912
    }}
  }}""",
        f"""  {{
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {first}
  }}""",
        f"""  {{
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": {window}
  }}""",
    ]
