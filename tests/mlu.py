"""Recordings of the training loop of `mlu_loop`, as profilers of Cambricon MLUs write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from builders import (
    Document,
    Event,
    complete,
    flow,
    kineto,
    lane_metadata,
    process_labels,
    process_name,
)
from mlu_loop import (
    COLLECTIVE,
    ITERATION_US,
    MAIN,
    Answers,
    Call,
    Launch,
    Work,
    answers,
    iteration,
    shift_call,
    step_ranges,
)

BASE_US = 1_698_918_189_000_000
PID = 133464
QUEUE = 1


@dataclass
class Recorder:
    """Writes calls as events, numbering them on the way."""

    device: int
    old_categories: bool
    collective_category: str
    events: list[Event] = field(default_factory=list)
    external_id: int = 0
    correlation: int = 0

    def host(
        self, category: str, name: str, start: int, length: int, thread: int, **args: Any
    ) -> None:
        place = {"pid": PID, "tid": thread}
        event = complete(category, name, BASE_US + start, length, **place, args=args)
        self.events.append(event)

    def add_call(self, call: Call) -> None:
        self.external_id += 1
        number = self.external_id
        category = self.collective_category if call.name == COLLECTIVE else "cpu_op"
        args = {"External id": number, "Trace name": "PyTorch Profiler", "Trace iteration": 0}
        self.host(category, call.name, call.start, call.length, call.thread, **args)
        for inner in call.inside:
            if isinstance(inner, Call):
                self.add_call(inner)
            else:
                self.add_launch(inner, number, call.thread)
        if call.name == "aten::convolution":
            self.add_memory(call)

    def add_launch(self, launch: Launch, number: int, thread: int) -> None:
        category = "privateuse1_runtime" if self.old_categories else "mlu_runtime"
        ids = {"External id": number, "cbid": 100}
        outer, inner = self.correlation + 1, self.correlation + 2
        self.correlation = inner
        start, length = launch.inner
        self.host(category, launch.runtime, start, length, thread, **ids, correlation=inner)
        self.host(
            category,
            launch.library,
            launch.start,
            launch.length,
            thread,
            **ids,
            correlation=outer,
        )
        arrow = "ac2g" if self.old_categories else "async_cpu_to_mlu"
        lane = {"pid": PID, "tid": thread}
        self.events.append(flow("s", inner, BASE_US + start, category=arrow, **lane))
        self.add_work(launch.work, number, inner)
        lane = {"pid": self.device, "tid": QUEUE}
        begin = BASE_US + launch.work.start
        self.events.append(flow("f", inner, begin, category=arrow, **lane, bp="e"))

    def add_work(self, work: Work, number: int, correlation: int) -> None:
        prefix = "gpu" if self.old_categories else "mlu"
        category = "kernel" if work.kind == "kernel" else f"{prefix}_{work.kind}"
        args: dict[str, Any] = {"External id": number, "device": self.device, "context": 1}
        args |= {"stream": QUEUE, "correlation": correlation}
        args |= self.geometry() if work.kind == "kernel" else {"bytes": 4096}
        lane = {"pid": self.device, "tid": QUEUE}
        start = BASE_US + work.start
        self.events.append(complete(category, work.name, start, work.length, **lane, args=args))

    def geometry(self) -> dict[str, Any]:
        shape = {"dim": [4, 1, 1]} if self.old_categories else {"dimx": 4, "dimy": 1, "dimz": 1}
        return {"kernel type": "UNION", **shape, "tasktopo": 0, "tasktopo_node": 0, "queued": 0}

    def add_memory(self, call: Call) -> None:
        """Two blocks taken, one of them given back at once."""
        moves = ((5, 0x1000, 4096), (8, 0x2000, 512), (12, 0x2000, -512))
        total = 0
        for after, address, size in moves:
            total += size
            args = {
                "Device Type": 20,
                "Device Id": self.device,
                "Addr": address + call.start,
                "Bytes": size,
                "Total Allocated": total,
                "Total Reserved": 8192,
            }
            place = {"pid": PID, "tid": call.thread, "ts": BASE_US + call.start + after}
            self.events.append(
                {
                    "ph": "i",
                    "s": "t",
                    "cat": "cpu_instant_event",
                    "name": "[memory]",
                    **place,
                    "args": args,
                }
            )


def device_properties(count: int = 4) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "name": "MLU370",
            "totalMem(MiB)": 24576,
            "computeMajor": 3,
            "computeMinor": 0,
            "clusterCount": 8,
            "McorePerCluster": 4,
        }
        for number in range(count)
    ]


def training_loop(
    *,
    iterations: int = 2,
    steps: bool = False,
    properties: bool = False,
    old_categories: bool = True,
    collective_category: str = "user_annotation",
    device: int = 0,
) -> tuple[Document, Answers]:
    """The recording and what it shows.

    `steps` marks iterations (from 3 on); without, the whole loop is one step named 0.
    `old_categories` are those of the first plugin for MLUs: PrivateUse1 instead of names with mlu.
    `collective_category` is how the call of a collective was recorded: annotation or operator.
    """
    calls = [
        shift_call(call, number * ITERATION_US)
        for number in range(iterations)
        for call in iteration()
    ]
    recorder = Recorder(device, old_categories, collective_category)
    ranges = step_ranges(calls, steps=steps, iterations=iterations)
    for name, (start, end) in ranges.items() if steps else ():
        recorder.host("user_annotation", f"ProfilerStep#{name}", start, end - start, MAIN)
    for call in calls:
        recorder.add_call(call)
    span = complete("Trace", "PyTorch Profiler (0)", BASE_US - 50, iterations * ITERATION_US + 99)
    events = [
        *recorder.events,
        process_name(PID, "python"),
        process_labels(PID, "CPU"),
        process_labels(device, f"MLU {device}" if not old_categories else "Device"),
        lane_metadata("thread_name", device, QUEUE, name=f"stream {QUEUE}"),
        span | {"pid": "Spans", "tid": "PyTorch Profiler"},
    ]
    fields = {"deviceProperties": device_properties()} if properties else {}
    return kineto(events, **fields), answers(calls, ranges, collective_category)
