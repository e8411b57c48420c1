"""Perfetto traces made with the published schema, as the writers people have make them."""

from __future__ import annotations

from typing import Any

import pytest

pb = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="needs the package perfetto"
)

EPOCH = 1_790_000_000_000_000_000
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS = 1, 2


def annotate(annotation: Any, value: Any) -> None:
    """A value of any sort, as the writers of PyTorch spell it."""
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    elif isinstance(value, str):
        annotation.string_value = value
    elif isinstance(value, list):
        for item in value:
            annotate(annotation.array_values.add(), item)
    else:
        for key, item in value.items():
            entry = annotation.dict_entries.add()
            entry.name = key
            annotate(entry, item)


class TraceFile:
    """A trace under construction."""

    def __init__(self) -> None:
        self.trace = pb.Trace()
        self.names: dict[str, int] = {}
        self.categories: dict[str, int] = {}

    def packet(self, *, sequence: int = 1, flags: int = NEEDS, ts: int | None = None) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = sequence
        if flags:
            packet.sequence_flags = flags
        if ts is not None:
            packet.timestamp = ts
        return packet

    def clock(self) -> None:
        packet = self.packet(ts=EPOCH, flags=0)
        for clock in (6, 1):
            reading = packet.clock_snapshot.clocks.add()
            reading.clock_id, reading.timestamp = clock, EPOCH

    def process(self, uuid: int, pid: int, name: str) -> None:
        track = self.packet(flags=0).track_descriptor
        track.uuid, track.process.pid, track.process.process_name = uuid, pid, name

    def thread(self, uuid: int, parent: int, pid: int, tid: int, name: str) -> None:
        track = self.packet(flags=0).track_descriptor
        track.uuid, track.parent_uuid = uuid, parent
        track.thread.pid, track.thread.tid, track.thread.thread_name = pid, tid, name

    def intern(self, names: list[str], categories: list[str] = []) -> None:  # noqa: B006
        packet = self.packet(flags=CLEARED)
        for table, texts, numbers in (
            (packet.interned_data.event_names, names, self.names),
            (packet.interned_data.event_categories, categories, self.categories),
        ):
            for text in texts:
                entry = table.add()
                numbers[text] = entry.iid = len(numbers) + 1
                entry.name = text

    def begin(
        self, ts: int, track: int, name: str, category: str = "", flow: int = 0, **args: Any
    ) -> Any:
        event = self.packet(ts=ts).track_event
        event.type, event.track_uuid = BEGIN, track
        event.name_iid = self.names[name]
        if category:
            event.category_iids.append(self.categories[category])
        if flow:
            event.flow_ids.append(flow)
        for key, value in args.items():
            annotation = event.debug_annotations.add()
            annotation.name = key.replace("__", " ")
            annotate(annotation, value)
        return event

    def end(self, ts: int, track: int) -> None:
        event = self.packet(ts=ts, flags=0).track_event
        event.type, event.track_uuid = END, track

    def encode(self) -> bytes:
        return bytes(self.trace.SerializeToString())


def torch_slices(steps: int = 3) -> bytes:
    """As the first native writer of PyTorch: no categories, ends behind all begins of a sort."""
    file = TraceFile()
    file.process(1, 4321, "python")
    file.thread(2, 1, 4321, 4321, "thread 4321")
    file.process(3, 0, "python")
    file.thread(4, 3, 0, 7, "stream 7")
    file.intern(["aten::mm", "cudaLaunchKernel", "gemm", "Memcpy"])
    starts = [EPOCH + 100_000 * step for step in range(steps)]
    groups: list[list[tuple[int, int, int, str, dict[str, Any]]]] = [[], [], [], []]
    for step, start in enumerate(starts):
        launch = {"cbid": 211, "correlation": step + 1, "External__id": step + 10}
        shared = {"device": 0, "context": 1, "stream": 7, "correlation": step + 1}
        kernel = {**shared, "grid": [64, 2, 1], "block": [128, 1, 1], "registers__per__thread": 40}
        groups[0].append((start, 50_000, 2, "aten::mm", {"External__id": step + 10}))
        groups[1].append((start + 5_000, 6_000, 2, "cudaLaunchKernel", launch))
        groups[2].append((start + 20_000, 30_000, 4, "gemm", kernel))
        copy = {"copy__kind": "HtoD", "bytes": 4096, "src__kind": "pinned", "dst__kind": "device"}
        groups[3].append((start + 60_000, 5_000, 4, "Memcpy", {**shared, **copy}))
    for number, group in enumerate(groups):
        for start, _, track, name, args in group:
            flow = args["correlation"] if number in (1, 2) else 0
            file.begin(start, track, name, flow=flow, **args)
        for start, length, track, *_ in group:
            file.end(start + length, track)
    return file.encode()


def torch_stages(steps: int = 3) -> bytes:
    """As the later native writer of PyTorch: categories, and work of GPUs as render stages."""
    file = TraceFile()
    file.clock()
    file.process(1, 4321, "python")
    file.thread(2, 1, 4321, 4321, "thread 4321")
    file.intern(["aten::mm", "cudaLaunchKernel"], ["cpu_op", "cuda_runtime"])
    interned = file.packet().interned_data
    for iid, name in ((1, "stream 7"), (2, "Kernel"), (3, "Memcpy")):
        entry = interned.gpu_specifications.add()
        entry.iid, entry.name = iid, name
    # Tables whose fields the published schema keeps in a part of its own: numbers 1000 and 1001.
    kernel = pb.InternedComputeKernel(iid=1, demangled_name="gemm").SerializeToString()
    argument = pb.InternedComputeArgName(iid=1, name="registers per thread").SerializeToString()
    descriptor = interned.gpu_counter_descriptors.add()
    descriptor.iid, descriptor.gpu_id = 1, 0
    spec = descriptor.counter_descriptor.specs.add()
    spec.counter_id, spec.name = 0, "SM Active (%)"
    extra = file.packet()
    extra.interned_data.SetInParent()
    unknown = b"".join(
        _length_field(number, content) for number, content in ((1000, kernel), (1001, argument))
    )
    extra.interned_data.MergeFromString(unknown)
    for step in range(steps):
        start = EPOCH + 100_000 * step
        file.begin(start, 2, "aten::mm", "cpu_op", External__id=step + 10)
        launch = file.begin(
            start + 5_000, 2, "cudaLaunchKernel", "cuda_runtime", correlation=step + 1
        )
        launch.MergeFromString(_length_field(3000, _one_number(step + 100)))
        file.end(start + 11_000, 2)
        file.end(start + 50_000, 2)
        stage = file.packet(ts=start + 20_000).gpu_render_stage_event
        stage.event_id, stage.duration, stage.gpu_id = step + 100, 30_000, 0
        stage.hw_queue_iid, stage.stage_iid, stage.kernel_iid = 1, 2, 1
        stage.launch.grid_size.x, stage.launch.grid_size.y, stage.launch.grid_size.z = 64, 2, 1
        stage.launch.workgroup_size.x = 128
        stage.launch.workgroup_size.y = stage.launch.workgroup_size.z = 1
        arg = stage.launch.args.add()
        arg.name_iid, arg.uint_value = 1, 40
        data = stage.extra_data.add()
        data.name, data.value = "correlation", str(step + 1)
        copy = file.packet(ts=start + 60_000).gpu_render_stage_event
        copy.event_id, copy.duration, copy.gpu_id = step + 200, 5_000, 0
        copy.hw_queue_iid, copy.stage_iid = 1, 3
        data = copy.extra_data.add()
        data.name, data.value = "bytes", "4096"
        sample = file.packet(ts=start).gpu_counter_event
        sample.counter_descriptor_iid = 1
        counter = sample.counters.add()
        counter.counter_id, counter.double_value = 0, 12.5 + step
    return file.encode()


def _length_field(number: int, content: bytes) -> bytes:
    from timesink.formats.wire import Message

    return Message().raw(number, content).encode()


def sdk_trace() -> bytes:
    """As the SDK of Perfetto writes: clocks of the sequence in steps, names as they come."""
    file = TraceFile()
    file.process(1, 77, "server")
    for sequence, uuid, tid in ((5, 10, 771), (6, 11, 772)):
        packet = file.packet(sequence=sequence, flags=CLEARED)
        packet.timestamp = EPOCH
        for clock, time, incremental, unit in ((6, EPOCH, False, 1), (64, 1_000, True, 1_000)):
            reading = packet.clock_snapshot.clocks.add()
            reading.clock_id, reading.timestamp = clock, time
            reading.is_incremental, reading.unit_multiplier_ns = incremental, unit
        defaults = file.packet(sequence=sequence, flags=NEEDS).trace_packet_defaults
        defaults.timestamp_clock_id = 64
        defaults.track_event_defaults.track_uuid = uuid
        track = file.packet(sequence=sequence).track_descriptor
        track.uuid, track.parent_uuid = uuid, 1
        track.thread.pid, track.thread.tid, track.thread.thread_name = 77, tid, f"worker {tid}"
        event = file.packet(sequence=sequence, ts=10)
        event.interned_data.event_names.add(iid=1, name=f"handle {tid}")
        event.interned_data.debug_annotation_names.add(iid=1, name="size")
        event.interned_data.event_categories.add(iid=1, name="rpc")
        event.track_event.type = BEGIN
        event.track_event.name_iid = 1
        event.track_event.category_iids.append(1)
        event.track_event.debug_annotations.add(name_iid=1, uint_value=2**63 + 5)
        event = file.packet(sequence=sequence, ts=5)
        event.track_event.type = INSTANT
        event.track_event.name = "mark"
        event = file.packet(sequence=sequence, ts=25)
        event.track_event.type = END
    counter = file.packet().track_descriptor
    counter.uuid, counter.parent_uuid, counter.name = 20, 1, "queue length"
    counter.counter.unit_multiplier = 2
    for step in range(3):
        event = file.packet(sequence=9, flags=0, ts=EPOCH + 1_000 * step).track_event
        event.type, event.track_uuid, event.counter_value = COUNTER, 20, step
    return file.encode()


def _one_number(value: int) -> bytes:
    from timesink.formats.wire import Message

    return Message().integer(1, value).encode()
