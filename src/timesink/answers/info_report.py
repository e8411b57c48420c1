"""`timesink info`: what is in a recording or in a folder of them."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType, structs

from timesink.analyses.fitness import recording_fitness
from timesink.analyses.summary import Summary, sampled_counters, sampled_span_ns, summarise
from timesink.answers.common_json import FitnessJson, HealthJson, Row, Rows
from timesink.formats.small_files import plain_values
from timesink.model import units
from timesink.model.fitness import FIT, Fitness
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.recorded_run import WHOLE_PROGRAM, RecordedRun, RunOverhead
from timesink.model.trace import Metadata, Trace
from timesink.model.units import amount, from_to
from timesink.sources.ab_folder import refuse_ab
from timesink.sources.discovery import Input
from timesink.sources.opening import Opened, open_each, open_trace

SCHEMA = "timesink/info/1"


class TraceInfo(msgspec.Struct, frozen=True):
    """One trace: what it says about itself and what was counted."""

    metadata: Metadata
    summary: Summary
    health: tuple[HealthEntry, ...]
    sampled: tuple[dict[str, Any], ...] = ()
    """Rows of `analyses.summary.sampled_counters`."""
    sampled_span_ns: int = 0
    has_only_counters: bool = False
    fitness: Fitness = FIT
    """What the recording can answer."""

    @property
    def rank(self) -> int:
        """The rank, 0 when the trace does not say (health tells)."""
        return self.metadata.distributed.rank or 0


class Info(msgspec.Struct, frozen=True):
    """Everything found at a path."""

    path: str
    traces: tuple[TraceInfo, ...]
    health: tuple[HealthEntry, ...] = ()
    """What concerns the folder as a whole: files that cannot be read, ranks that are missing."""

    def to_dict(self) -> dict[str, Any]:
        """One flat description; for a folder, totals over its traces and each trace by itself."""
        return plain_values(info_json(self))

    @property
    def fitness(self) -> Fitness:
        """What all of them can answer: each sort of reason once, of the first that has it."""
        first, *rest = (trace.fitness for trace in self.traces)
        for fitness in rest:
            first = first.joined(fitness.reasons)
        return first

    @property
    def all_health(self) -> tuple[HealthEntry, ...]:
        """What is said of a run counts once, however many ranks it has."""
        entries, seen = list(self.health), set[tuple[Path, HealthEntry]]()
        for trace in self.traces:
            folder = Path(trace.metadata.source).parent
            new = [
                entry for entry in trace.health if not entry.is_told or (folder, entry) not in seen
            ]
            seen |= {(folder, entry) for entry in new}
            entries += new
        return merge_entries(entries)


def describe_trace(trace: Trace) -> TraceInfo:
    """What one trace holds."""
    return TraceInfo(
        trace.metadata,
        summarise(trace),
        trace.health,
        tuple(sampled_counters(trace).to_dicts()),
        sampled_span_ns(trace),
        trace.has_only_counters,
        recording_fitness(trace),
    )


def describe_input(source: Input, **reading: Any) -> Info:
    """What a recording, a folder of them or unprofiled steps alone hold; `reading` says how to."""
    refuse_ab(Path(source.source))
    from timesink.sources.run_facts import plain_recording  # noqa: PLC0415 - start-up time

    plain = plain_recording(source.place) if isinstance(source.place, Path) else None
    if plain is not None:
        return Info(str(source.source), (describe_trace(plain),))
    if source.exported is not None:
        return Info(str(source.source), (describe_trace(open_trace(source)),))
    return describe_folder(source.label, open_each(source.recordings, **reading))


def describe_folder(path: str, opened: Iterable[Opened]) -> Info:
    """What the traces of a folder hold; raises the first error when none can be read."""
    traces: list[TraceInfo] = []
    failures: list[Opened] = []
    for recording in opened:
        if recording.trace is None:
            failures.append(recording)
        else:
            traces.append(describe_trace(recording.trace))
    if not traces and failures and failures[0].error is not None:
        raise failures[0].error
    unreadable = [HealthEntry("unreadable_file", 1, str(failure.error)) for failure in failures]
    return Info(path, tuple(traces), merge_entries([*unreadable, *_missing_ranks(traces)]))


def _missing_ranks(traces: Sequence[TraceInfo]) -> list[HealthEntry]:
    """Ranks a job had but its folder lacks; a lone trace is no set of ranks."""
    jobs: defaultdict[Path, list[TraceInfo]] = defaultdict(list)
    for trace in traces:
        jobs[Path(trace.metadata.source).parent].append(trace)
    missing: list[int] = []
    for job in jobs.values():
        sizes = {trace.metadata.distributed.world_size for trace in job}
        present = {
            t.metadata.distributed.rank for t in job if t.metadata.distributed.rank is not None
        }
        if len(sizes) == 1 and len(present) > 1:
            # Without a world size, the ranks in the names still show a gap.
            size = sizes.pop() or max(present) + 1
            missing += sorted(set(range(size)) - present)
    return [HealthEntry("missing_rank", len(missing), ", ".join(map(str, missing[:16])))]


class CountsJson(msgspec.Struct, frozen=True, kw_only=True):
    """How much a recording holds of each kind."""

    events: int
    operators: int
    annotations: int
    python_calls: int
    runtime_calls: int
    driver_calls: int
    kernels: int
    kernel_calls: int
    memcpys: int
    memsets: int
    collectives: int
    memory_events: int
    counters: int
    flows: int
    steps: int
    behaviour_rows: int
    cycles: int


class UsedDeviceJson(msgspec.Struct, frozen=True):
    """A device, and whether it was used."""

    id: int
    name: str
    memory_bytes: int | None
    compute_capability: str | None
    multiprocessors: int | None
    used: bool


class TraceHead(CountsJson, frozen=True):
    """What a trace says of itself, before its counts."""

    schema: str | UnsetType
    """Of an answer about a single recording; so are `path` and `traces`."""
    path: str | UnsetType
    source: str
    format: str
    worker: str | None
    span: int | None
    rank: int
    world_size: int | None
    backend: str | None
    framework: str | None
    versions: dict[str, str]
    clock: str


class TraceJson(TraceHead, frozen=True, kw_only=True):
    """One trace: what it says about itself and what was counted."""

    vendor: str
    devices: list[UsedDeviceJson]
    ranks: list[int]
    start_ns: int
    span_us: float
    device_span_us: float
    device_busy_us: float
    sampled: Rows
    """A row per device and counter that was sampled."""
    recording: Annotated[Row, msgspec.Meta(extra_json_schema={"record": "FitnessJson"})]
    """What the recorder says of the run, where there was one, with `fit` and `reasons`."""
    health: list[HealthJson]
    traces: list[TraceJson] | UnsetType = UNSET

    @classmethod
    def of(cls, trace: TraceInfo) -> TraceJson:
        metadata, summary, used = trace.metadata, trace.summary, trace.summary.devices_used
        return cls(
            schema=UNSET,
            path=UNSET,
            source=metadata.source,
            format=metadata.format,
            worker=metadata.worker,
            span=metadata.span,
            rank=trace.rank,
            world_size=metadata.distributed.world_size,
            backend=metadata.distributed.backend,
            framework=metadata.framework,
            versions=dict(metadata.versions),
            clock=metadata.clock,
            **{name: getattr(summary, name) for name in CountsJson.__struct_fields__},
            vendor=metadata.vendor,
            devices=[
                UsedDeviceJson(
                    device.id,
                    device.name,
                    device.memory_bytes,
                    device.compute_capability,
                    device.multiprocessors,
                    device.id in used,
                )
                for device in metadata.devices
            ],
            ranks=[trace.rank],
            start_ns=summary.span.start_ns,
            span_us=summary.span.length_ns / 1000,
            device_span_us=summary.device_span.length_ns / 1000,
            device_busy_us=summary.device_busy_ns / 1000,
            sampled=list(trace.sampled),
            recording={
                **({} if metadata.run is None else msgspec.to_builtins(metadata.run)),
                **structs.asdict(FitnessJson.of(trace.fitness)),
            },
            health=[HealthJson.of(entry) for entry in trace.health],
        )


class FolderHead(CountsJson, frozen=True):
    """What was asked for."""

    schema: str
    path: str


class FolderInfoJson(FolderHead, frozen=True, kw_only=True):
    """Several traces: their totals, and each by itself."""

    vendor: str
    devices: list[UsedDeviceJson]
    ranks: list[int]
    world_size: int | None
    start_ns: int
    span_us: float
    device_span_us: float
    device_busy_us: float
    health: list[HealthJson]
    recording: FitnessJson
    traces: list[TraceJson]

    @classmethod
    def of(cls, info: Info) -> FolderInfoJson:
        traces = [TraceJson.of(trace) for trace in info.traces]
        spans = [trace.summary.span for trace in info.traces if trace.summary.span.end_ns]
        start_ns = min((span.start_ns for span in spans), default=0)
        end_ns = max((span.end_ns for span in spans), default=0)
        devices: dict[tuple[int, str], UsedDeviceJson] = {}
        for device in (device for trace in traces for device in trace.devices):
            merged = devices.setdefault((device.id, device.name), device)
            if device.used:
                devices[device.id, device.name] = structs.replace(merged, used=True)
        return cls(
            schema=SCHEMA,
            path=info.path,
            **{
                name: sum(getattr(trace, name) for trace in traces)
                for name in CountsJson.__struct_fields__
            },
            vendor=", ".join(sorted({trace.vendor for trace in traces})),
            devices=list(devices.values()),
            ranks=sorted({trace.rank for trace in traces}),
            world_size=max((trace.world_size or 0 for trace in traces), default=0) or None,
            start_ns=start_ns,
            span_us=(end_ns - start_ns) / 1000,
            device_span_us=sum(trace.device_span_us for trace in traces),
            device_busy_us=sum(trace.device_busy_us for trace in traces),
            health=[HealthJson.of(entry) for entry in info.all_health],
            recording=FitnessJson.of(info.fitness),
            traces=traces,
        )


InfoJson: TypeAlias = TraceJson | FolderInfoJson
"""The answer of `timesink info`: of one recording, or of several."""


def info_json(info: Info) -> InfoJson:
    """The answer as JSON has it."""
    if len(info.traces) != 1:
        return FolderInfoJson.of(info)
    trace = TraceJson.of(info.traces[0])
    return structs.replace(
        trace,
        schema=SCHEMA,
        path=info.path,
        health=[HealthJson.of(entry) for entry in info.all_health],
        traces=[trace],
    )


# What a recorder says about a run, and what it sampled, in words.

Fact = tuple[str, str]
_LONGEST_COMMAND = 200


def recording_facts(run: RecordedRun | None) -> list[Fact]:
    """Label and value of what the recorder says; empty where there was none."""
    if run is None:
        return []
    code = f"exit code {run.exit.code}" if run.exit.code else ""
    command, host = shlex.join(run.command), run.host
    cores = "" if host.cores is None else f"{host.cores:g} cores"
    if cores and host.machine_cores and host.machine_cores != host.cores:
        cores += f" of {units.count(host.machine_cores)}"
    memory = "" if host.memory_bytes is None else units.size_bytes(host.memory_bytes)
    listed = [
        (
            "command",
            f"{command[:_LONGEST_COMMAND]} ..." if len(command) > _LONGEST_COMMAND else command,
        ),
        ("recorded", _cycles_text(run)),
        ("unprofiled steps", plain_text(run)),
        ("machine", ", ".join(filter(None, (host.cpu, cores, memory, host.system)))),
        ("profiler", _overhead(run.overhead)),
        ("sampler", _sampler(run)),
        ("program", f"ended by {run.exit.signal}" if run.exit.signal else code),
        *(("note", note) for note in run.notes),
    ]
    return [(label, value) for label, value in listed if value]


def plain_headline(run: RecordedRun | None) -> str:
    """How many unprofiled steps there are and how long they take; empty if they do not count."""
    if run is None or not run.cycles.plain or not run.plain_ns:
        return ""
    from statistics import median  # noqa: PLC0415 - start-up time

    middle = units.brief_ns(median(run.plain_ns))
    return f"{units.count_noun(len(run.plain_ns), 'unprofiled steps')} of {middle} (median)"


def plain_text(run: RecordedRun) -> str:
    """Unprofiled steps with the range of their times, and the device's share if it was timed."""
    text, plain = plain_headline(run).replace(" unprofiled steps", "", 1), run.plain_ns
    if text:
        text += f", {units.brief_ns(min(plain))} to {units.brief_ns(max(plain))}"
        device = [
            time_us
            for time_us in run.overhead.plain_device_us[-len(plain) :]
            if time_us is not None
        ]
        if device:
            from statistics import median  # noqa: PLC0415 - start-up time

            text += f"; by events of the device {units.brief_ns(1000 * median(device))}"
    return text


def _cycles_text(run: RecordedRun) -> str:
    cycles = run.cycles
    by = f"{cycles.by} {cycles.name}" if cycles.by and cycles.name else cycles.by or ""
    recorded, wanted = cycles.recorded, cycles.asked
    count = "" if recorded is None else units.count_noun(recorded, "steps")
    if recorded is not None and wanted is not None and wanted != recorded:
        count = f"{units.count(recorded)} of {units.count_noun(wanted, 'steps')}"
    counted = " ".join(filter(None, (count, f"by {by}" if by else "")))
    if cycles.by == WHOLE_PROGRAM:
        counted = f"the {WHOLE_PROGRAM}"
    if run.asked_plain:
        plain = units.count_noun(cycles.plain or 0, "unprofiled steps")
        counted = f"{plain} by {by}" if by else plain
    if run.complete and cycles.by is None and cycles.recorded == 0:
        # A program without PyTorch has no steps to lose.
        counted = "only counters"
    skipped = f"{units.count(cycles.skipped)} before them skipped" if cycles.skipped else ""
    state = {True: "complete", False: "partial", None: ""}[run.complete]
    return ", ".join(filter(None, (counted, skipped, state)))


def _overhead(overhead: RunOverhead) -> str:
    ratio = overhead.ratio
    if ratio is None:
        return ""
    text = f"steps {100 * (ratio - 1):+.1f} % with it"
    plain, profiled = overhead.cycle_us, overhead.cycle_profiled_us
    if plain and profiled:
        text += f" ({from_to(units.brief_ns(1000 * plain), units.brief_ns(1000 * profiled))})"
    return text


def _sampler(run: RecordedRun) -> str:
    counters, load = run.counters, run.overhead.sampler_cpu_pct
    if not counters.samples and not counters.recorded:
        return ""
    parts = []
    if counters.interval_ms is not None:
        parts.append(f"every {units.brief_ns(counters.interval_ms * 1_000_000)}")
    if load is not None:
        parts.append(f"{units.percent(load)} of a core")
    if run.clock.offset_us is not None:
        apart = units.brief_ns(abs(run.clock.offset_us) * 1000)
        parts.append(f"its clock {apart} from the trace's")
    return ", ".join(parts)


# -- counters alone --------------------------------------------------------------------------------


def counters_headline(traces: Sequence[TraceInfo]) -> str:
    """How much was sampled, in a sentence."""
    samples = units.count_noun(sum(trace.summary.counters for trace in traces), "samples")
    if len(traces) > 1:
        return f"{samples} of counters in {units.count_noun(len(traces), 'recordings')}"
    counters = units.count_noun(len({row["counter"] for row in traces[0].sampled}), "counters")
    return f"{samples} of {counters} over {units.brief_ns(traces[0].sampled_span_ns)}"


def counter_facts(trace: TraceInfo) -> list[Fact]:
    """What there is to say where only counters were sampled, counter by counter."""
    run = trace.metadata.run
    devices = [] if run is None else [device.name for device in run.devices if device.name]
    listed = [
        ("device", ", ".join(dict.fromkeys(devices))),
        *recording_facts(run),
        ("timeline", "none: no calls were recorded"),
        ("format", f"{trace.metadata.format}, {trace.metadata.clock} clock"),
        *((row["counter"], _sampled_text(row)) for row in trace.sampled),
    ]
    return [(label, value) for label, value in listed if value]


def _sampled_text(row: dict[str, Any]) -> str:
    where = f"{row['device']}: " if row["device"] else ""
    lowest, mean, highest = (
        amount(row[name], row["unit"]) for name in ("lowest", "mean", "highest")
    )
    if row["lowest"] == row["highest"]:
        return f"{where}{mean}"
    return f"{where}{mean} on average, {lowest} to {highest}"
