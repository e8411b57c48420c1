"""The text of a trace as PyTorch's profiler writes it, with places for what differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from timesink.lab.ranks.events import MARK, Events, WrittenEvent, differs, stage_events
from timesink.lab.ranks.layout import DESCRIPTIONS
from timesink.lab.ranks.plan import Plan
from timesink.lab.ranks.program import stage_program
from timesink.lab.ranks.simulate import SimulatedRun
from timesink.model.arrays import Ints

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


@lru_cache(maxsize=64)  # runs of other seeds have the same
def _template_of(sort: TraceSort) -> Template:
    program = stage_program(sort.shape, sort.stage, extra_layers=sort.extra_layers)
    events = stage_events(sort.shape, program, sort.synced, sort.tokens)
    texts, event_at, lasting = [], [], events.every
    for number, event in enumerate(lasting):
        made = _event_texts(number, event)
        texts += made
        event_at += [number] * len(made)
    tail = _tail(events)
    whole, begins, closed = range(len(lasting), len(lasting) + _MOMENTS)
    event_at += [whole] * (len(tail) - 2) + [begins, closed]
    written = _HEAD + ",\n".join([*texts, *tail]) + "\n  ]\n}"
    # Times and names become places of a text that bytes are filled into.
    literals, fields = written.split(MARK)[::2], written.split(MARK)[1::2]
    count = len(lasting) + _MOMENTS
    names: dict[str, int] = {}
    pieces, index = [literals[0].replace("%", "%%")], []
    for field, literal in zip(fields, literals[1:], strict=True):
        kind, _, which = field.partition(" ")
        if kind in {"start", "length"} and which:
            row = int(which) + (0 if kind == "start" else 2 * count)
            index += [row, row + count]
            pieces.append("%d.%03d")
        else:
            index.append(4 * count + names.setdefault(field, len(names)))
            pieces.append("%b")
        pieces.append(literal.replace("%", "%%"))
    text = "".join(pieces).encode()
    return Template(events, text, itemgetter(*index), tuple(names), np.array(event_at))


def _event_texts(number: int, event: WrittenEvent) -> list[str]:
    """An event that lasts, and the arrow from or to it where there is one."""
    pid, start = differs(event.process), differs(f"start {number}")
    tid = event.lane if event.lane.isdigit() else differs(event.lane)
    made = [
        f"""  {{
    "ph": "X", "cat": "{event.category}", "name": "{event.name}", "pid": {pid}, "tid": {tid},
    "ts": {start}, "dur": {differs(f"length {number}")},
    "args": {{
      {event.arguments}
    }}
  }}"""
    ]
    if event.flow is not None:
        phase, ends = ("f", ', "bp": "e"') if event.process == "device" else ("s", "")
        made.append(f"""  {{
    "ph": "{phase}", "id": {event.flow}, "pid": {pid}, "tid": {tid}, "ts": {start},
    "cat": "ac2g", "name": "ac2g"{ends}
  }}""")
    return made


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
    for stream in sorted({int(event.lane) for event in events.device}):
        said.append(("thread_name", device, str(stream), f'"name": "stream {stream} "'))
        said.append(("thread_sort_index", device, str(stream), f'"sort_index": {stream}'))
    for tid, name in ((main, "python3"), (autograd, "pt_autograd_0")):
        said.append(("thread_name", pid, tid, f'"name": "thread {tid} ({name})"'))
        said.append(("thread_sort_index", pid, tid, f'"sort_index": {tid}'))
    whole = len(events.every)
    window = differs(f"start {whole + 2}")
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


# Traces of a run: what each rank fills into the text of its stage.

START_NS = 3_846_727_700_000_000
"""When recording starts, counted from there."""
_DEVICE_MEMORY = 150_109_880_320


@dataclass(frozen=True, slots=True)
class TraceSort:
    """All that the events of a rank depend on, but for their times and names."""

    shape: Plan
    """The plan without what only changes times."""
    stage: int
    extra_layers: int
    synced: tuple[int, ...]
    tokens: tuple[float, ...]


class Traces:
    """Writes the traces of a run, one after the other."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run
        self._shape = replace(
            run.plan, seed=0, stragglers=(), skew_us=0.0, drift_ppm=0.0, jitter=0.0
        )

    def template(self, rank: int) -> Template:
        """The template of a rank; ranks of a stage that did the same share it."""
        return _template_of(self.sort_of(rank))

    def sort_of(self, rank: int) -> TraceSort:
        slow, stage = self.run.slow, self.run.layout.stage_of(rank)
        synced = tuple(np.flatnonzero(slow.sync_us[:, rank] > 0).tolist())
        tokens = tuple(slow.tokens[:, rank].tolist())
        return TraceSort(self._shape, stage, slow.extra_layers[stage], synced, tokens)

    def times_ns(self, rank: int) -> tuple[Ints, Ints]:
        """Start and end of all lasting events on the rank's own clock, from the base time.

        Behind them come the whole recording and the moments of its start and its end.
        """
        stage, truth = self.run.stages[self.run.layout.stage_of(rank)], self.run.truth
        times = self.template(rank).events.times_ns(stage, int(rank - stage.ranks[0]))
        drift, offset = truth.clock_drift_ppm[rank] * 1e-6, truth.clock_offset_ns[rank]
        start, end = (
            START_NS + offset + one + np.rint(one * drift).astype(np.int64) for one in times
        )
        begins, stops = int(start.min()) - 50_000, int(end.max()) + 80_000
        closed = stops + 60_000
        return np.append(start, [begins, begins, closed]), np.append(end, [stops, begins, closed])

    def trace(self, rank: int) -> bytes:
        """The trace of a rank."""
        start, end = self.times_ns(rank)
        template, head, length = self.template(rank), self.head_of(rank), end - start
        told = {
            **self.names_of(rank),
            "devices": _device_properties(self.run.plan.ranks_per_node),
            "distributed": json.dumps(head["distributedInfo"]),
            "trace id": head["trace_id"],
        }
        parts = (start // 1000, start % 1000, length // 1000, length % 1000)
        pool = [value for part in parts for value in part.tolist()]
        pool += [told[name].encode() for name in template.names]
        return template.text % template.fill(pool)

    def names_of(self, rank: int) -> dict[str, str]:
        """What differs between ranks, but for times."""
        # Nodes run the same container, where processes are numbered alike.
        layout, pid = self.run.layout, 4000 + 7 * int(self.run.layout.local_rank[rank])
        told = {
            "pid": str(pid),
            "tid main": str(pid),
            "tid autograd": str(pid + 3),
            "rank": str(rank),
            "device": str(layout.local_rank[rank]),
        }
        for group in layout.groups_of(rank):
            told[f"{group.role} name"] = group.name
            told[f"{group.role} size"] = str(len(group.ranks))
            told[f"{group.role} ranks"] = group.ranks_text
        for forward in (-1, 1):
            other = layout.neighbour(rank, forward)
            told[f"neighbour {forward}"] = str(other)
            told[f"peers send {forward}"] = f"{rank}->{other}"
            told[f"peers recv {forward}"] = f"{rank}<-{other}"
        return told

    def head_of(self, rank: int) -> dict[str, Any]:
        """What a rank's trace says of the rank before its events."""
        groups = [
            {
                "pg_name": group.name,
                "pg_desc": DESCRIPTIONS[group.role],
                "backend_config": "cuda:nccl",
                "pg_size": len(group.ranks),
                "ranks": list(group.ranks),
            }
            for group in self.run.layout.groups_of(rank)
        ]
        said = {
            "backend": "nccl",
            "rank": rank,
            "world_size": self.run.plan.ranks,
            "pg_count": len(groups),
            "pg_config": groups,
            "nccl_version": "2.27.5",
        }
        trace_id = f"{rank + (self.run.plan.seed << 64):032X}"
        return {"distributedInfo": said, "trace_id": trace_id}


def _device_properties(count: int) -> str:
    one = """    {
      "id": %d, "name": "NVIDIA H200", "totalGlobalMem": %d,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, """
    one += '"sharedMemPerMultiprocessor": 233472\n    }'
    return ",\n".join(one % (number, _DEVICE_MEMORY) for number in range(count))


# How the files of a run are called.

NAMINGS = ("rank", "handler")
"""By rank, as programs of many ranks do; or as PyTorch's own handler does, which tells no rank."""


def file_name(rank: int) -> str:
    """The name that tells the rank."""
    return f"rank{rank}.pt.trace.json.gz"


def file_names(traces: Traces, naming: str) -> list[str]:
    """The names of the files of all ranks."""
    ranks = range(traces.run.plan.ranks)
    if naming == "rank":
        return [file_name(rank) for rank in ranks]
    # Worker, as `tensorboard_trace_handler` calls host and process, and when it was written: on the
    # clock of the rank, some time after the last step.
    plan, truth, names = traces.run.plan, traces.run.truth, []
    for rank in ranks:
        worker = f"node{int(traces.run.layout.node[rank]):03d}_{traces.names_of(rank)['pid']}"
        took = 250_000_000 + np.random.default_rng([plan.seed, 6, rank]).integers(150_000_000)
        lasted = round(truth.run_us * 1e3) + int(took)
        written_ns = BASE_NS + START_NS + truth.clock_offset_ns[rank] + lasted
        names.append(f"{worker}.{written_ns}.pt.trace.json.gz")
    return names
