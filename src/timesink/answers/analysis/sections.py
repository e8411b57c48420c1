"""The JSON of an analysis, as records whose fields are the keys: one per section.

A section without data says why, and what to record to fill it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType, structs

from timesink.analyses import device_utilisation
from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.communication_workers import WorkerSummary, compare_workers, summarise_worker
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.table import tensor_core_shares
from timesink.analyses.memory_curve import memory_curve, thin_curve
from timesink.analyses.operators import eligible_share
from timesink.analyses.program_traits import has_shapes, program_traits
from timesink.analyses.replay.critical_path import PlayedRun, path_kinds
from timesink.analyses.steps import PARTS, average_step, find_steps, step_breakdown
from timesink.analyses.work.calls import NO_CALL, NO_SHAPES, known_times
from timesink.analyses.work.efficiency import Efficiency
from timesink.analyses.work.steps import BEYOND, StepEfficiency
from timesink.answers.analysis.finding_values import FindingJson
from timesink.answers.analysis.headline import notes_of
from timesink.answers.common_json import (
    ClockJson,
    DevicePeaksJson,
    FitnessJson,
    HealthJson,
    Row,
    Rows,
    rows_of,
)
from timesink.answers.tables import microseconds, percent, to_rows, view_rows
from timesink.answers.views import (
    NO_COMMUNICATION,
    NO_COMPILED_CODE,
    NO_COMPILED_KERNELS,
    NO_MEMORY,
    NO_MODULES,
    NO_PATH,
    NO_SHAPES_HERE,
    NO_SHAPES_IN_GRAPHS,
    NO_SHAPES_LINKED,
    Absent,
    find_view,
)
from timesink.model.fitness import CRITICAL_PATH, STEP_TIME, Fitness
from timesink.model.recorded_run import RecordedRun
from timesink.model.trace import Device, Trace

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet

_TERA = 1e12
CURVE_POINTS = 1000
LAUNCH_ROWS = 200
SNAPSHOT_ROWS = 200
LOG_ROWS = 10_000

SCHEMA = "timesink/analysis/1"


def health(trace: Trace, ranks: RankSet | None) -> list[HealthJson]:
    """What is odd about the recording; of a set each sort once, and on how many of its ranks."""
    if ranks is None:
        return list(map(HealthJson.of, trace.health))
    from timesink.analyses.ranks.rank_set import set_health  # noqa: PLC0415 - most runs have one rank

    return [HealthJson.of(entry, many) for entry, many in set_health(ranks)]


class SourceJson(msgspec.Struct, frozen=True, kw_only=True):
    """What was read."""

    path: str
    """As it was asked for."""
    file: str
    format: str
    vendor: str
    worker: str | None
    span: int | None
    workers: list[str | None]
    """All that are compared."""
    rank: int | None
    world_size: int | None
    backend: str | None
    framework: str | None
    versions: dict[str, str]
    clock: str
    events: int
    operator_events: int
    kernel_events: int
    start_ns: int
    span_us: float | None
    recording: RecordedRun | None
    """What the recorder says of the run."""
    notes: list[str]

    @classmethod
    def of(cls, trace: Trace, path: str, ranks: RankSet | None, notes: Sequence[str]) -> SourceJson:
        metadata, device, host = trace.metadata, device_columns(trace), host_columns(trace)
        start, end = device_utilisation.timeline(trace)
        return cls(
            path=path or metadata.source,
            file=metadata.source,
            format=metadata.format,
            vendor=metadata.vendor,
            worker=metadata.worker,
            span=metadata.span,
            workers=[metadata.worker] if ranks is None else list(ranks.names),
            rank=metadata.distributed.rank,
            world_size=metadata.distributed.world_size,
            backend=metadata.distributed.backend,
            framework=metadata.framework,
            versions=dict(metadata.versions),
            clock=metadata.clock,
            events=metadata.events,
            operator_events=int((host["kind"] == "operator").sum()),
            kernel_events=int((device["kind"] == "kernel").sum()),
            start_ns=start,
            span_us=microseconds(end - start),
            recording=metadata.run,
            notes=list(notes),
        )


class DeviceJson(msgspec.Struct, frozen=True, kw_only=True):
    """A device: what it is, how busy it was, and why it was idle."""

    device: int | None
    name: str | None
    memory_bytes: int | None
    compute_capability: str | None
    multiprocessors: int | None
    utilisation_pct: float | None
    any_activity_pct: float | None
    utilisation_within_steps_pct: float | None
    sm_efficiency_pct: float | None
    tensor_core_pct: float | None
    occupancy_pct: float | None
    window_us: float | None
    time: Annotated[Row, rows_of("device-time")]
    idle_in_steps: Annotated[Row, rows_of("idle-causes")]
    streams: Annotated[Rows, rows_of("idle")]

    @classmethod
    def of_all(cls, trace: Trace) -> list[DeviceJson]:
        described: dict[int | None, Device] = {item.id: item for item in trace.metadata.devices}
        causes = _by_device(view_rows("idle-causes", trace))
        times = _by_device(view_rows("device-time", trace))
        streams = _by_device(view_rows("idle", trace))
        usage = _by_device(view_rows("devices", trace))
        # One that the recording does not name comes last.
        numbers = sorted({*times, *usage}, key=lambda number: (number is None, number or 0))
        return [
            cls(
                device=number,
                **{name: getattr(described.get(number), name, None) for name in _OF_DEVICE},
                utilisation_pct=percent(used.get("utilisation")),
                any_activity_pct=percent(used.get("any_activity")),
                utilisation_within_steps_pct=percent(used.get("within_steps")),
                sm_efficiency_pct=percent(used.get("sm_efficiency")),
                tensor_core_pct=percent(used.get("tensor_core_ratio")),
                occupancy_pct=used.get("occupancy_pct"),
                window_us=used.get("window_us"),
                time=_without_device(*times.get(number, [{}])),
                idle_in_steps=_without_device(*causes.get(number, [{}])),
                streams=streams.get(number, []),
            )
            for number in numbers
            for used in usage.get(number, [{}])
        ]


_OF_DEVICE = ("name", "memory_bytes", "compute_capability", "multiprocessors")


def _by_device(rows: Sequence[Row]) -> dict[int | None, list[Row]]:
    by_device: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        by_device[row["device"]].append(row)
    return by_device


def _without_device(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "device"}


class RepetitionsJson(msgspec.Struct, frozen=True, kw_only=True):
    """What repeats where no steps are marked."""

    method: str
    anchor: str
    confidence: float
    count: int
    processes: int
    median_us: float | None

    @classmethod
    def of(cls, trace: Trace) -> RepetitionsJson | None:
        """None where steps are marked, or the recording does not tell how long repetitions take."""
        from timesink.analyses.cycles.search import unmarked_repetitions  # noqa: PLC0415 - start-up time

        cycles = unmarked_repetitions(trace)
        if cycles is None or not recording_fitness(trace).answers(STEP_TIME):
            return None
        return cls(
            method=cycles.method,
            anchor=cycles.anchor,
            confidence=round(cycles.confidence, 4),
            count=cycles.count,
            processes=cycles.processes,
            median_us=microseconds(cycles.median_ns),
        )


class StepsJson(msgspec.Struct, frozen=True, kw_only=True):
    """Every step with its parts, and how much they vary."""

    marked: bool
    count: int
    complete: int
    mean_us: float | None
    median_us: float | None
    std_us: float | None
    min_us: float | None
    max_us: float | None
    rows: Annotated[Rows, rows_of("steps")]
    repetitions: RepetitionsJson | None
    overlap: Annotated[Rows, rows_of("overlap")]

    @classmethod
    def of(cls, trace: Trace) -> StepsJson:
        all_steps = find_steps(trace)
        table = step_breakdown(trace).hstack(
            all_steps.select("start_ns", "end_ns", "device_events")
        )
        total_ns = table.filter("complete")["total_ns"]
        figures = {
            f"{name}_us": microseconds(getattr(total_ns, name)())
            for name in ("mean", "median", "std", "min", "max")
        }
        return cls(
            marked=bool(all_steps["marked"].any()),
            count=all_steps.height,
            complete=total_ns.len(),
            **figures,
            rows=to_rows(table),
            repetitions=RepetitionsJson.of(trace),
            overlap=view_rows("overlap", trace),
        )


class StepPartJson(msgspec.Struct, frozen=True):
    """A part of the average step."""

    part: str
    mean_us: float | None
    share_pct: float | None


class BreakdownJson(msgspec.Struct, frozen=True):
    """The average complete step; its parts add up to it."""

    step_us: float | None
    parts: list[StepPartJson]

    @classmethod
    def of(cls, trace: Trace) -> BreakdownJson:
        average = average_step(trace)
        total = average.get("total_ns", 0.0)
        parts = []
        for part in PARTS:
            length = average.get(f"{part}_ns", 0.0)
            share_pct = percent(length / total) if total else None
            parts.append(StepPartJson(part, microseconds(length), share_pct))
        return cls(microseconds(total), parts)


class OperatorsJson(msgspec.Struct, frozen=True):
    """Operators, and where device work was launched from: all of it, so that it adds up."""

    group_by: str
    rows: Annotated[Rows, rows_of("operators")]
    launched_from: Annotated[Rows, rows_of("launch-sites")]
    tensor_core_eligible_pct: float | None

    @classmethod
    def of(cls, trace: Trace, table: pl.DataFrame, group_by: str) -> OperatorsJson:
        sites, eligible_pct = view_rows("launch-sites", trace), percent(eligible_share(trace))
        return cls(group_by or "name", to_rows(table), sites, eligible_pct)


class KernelTablesJson(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels by name and by launch, how they were launched, and the gaps between them."""

    rows: Annotated[Rows, rows_of("kernels")]
    launches: Annotated[Rows, rows_of("kernel-launches")]
    tensor_core_pct: float | None
    launch_delays: Annotated[Rows, rows_of("launches")]
    """The first of them."""
    queues: Annotated[Rows, rows_of("queue")]
    largest_gaps: Annotated[Rows, rows_of("gaps")]

    @classmethod
    def of(cls, trace: Trace) -> KernelTablesJson:
        return cls(
            rows=view_rows("kernels", trace),
            launches=view_rows("kernel-launches", trace),
            tensor_core_pct=percent(tensor_core_shares(trace)[0]),
            launch_delays=view_rows("launches", trace, LAUNCH_ROWS),
            queues=view_rows("queue", trace),
            largest_gaps=view_rows("gaps", trace),
        )


class SnapshotJson(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory snapshot says: live at the peak, by step, never given back, reserved."""

    categories: Annotated[Rows, rows_of("memory-categories")]
    modules: Annotated[Rows, rows_of("memory-modules")]
    stacks: Annotated[Rows, rows_of("memory-stacks")]
    steps: Annotated[Rows, rows_of("memory-steps")]
    growth: Annotated[Rows, rows_of("memory-growth")]
    unfreed: Annotated[Rows, rows_of("memory-unfreed")]
    reserved: Annotated[Rows, rows_of("memory-reserved")]
    failures: Annotated[Rows, rows_of("memory-failures")]

    @classmethod
    def of(cls, trace: Trace) -> SnapshotJson:
        return cls(
            categories=view_rows("memory-categories", trace),
            modules=view_rows("memory-modules", trace, SNAPSHOT_ROWS),
            stacks=view_rows("memory-stacks", trace, SNAPSHOT_ROWS),
            steps=view_rows("memory-steps", trace),
            growth=view_rows("memory-growth", trace, SNAPSHOT_ROWS),
            unfreed=view_rows("memory-unfreed", trace, SNAPSHOT_ROWS),
            reserved=view_rows("memory-reserved", trace),
            failures=view_rows("memory-failures", trace, SNAPSHOT_ROWS),
        )


class MemoryJson(msgspec.Struct, frozen=True, kw_only=True):
    """Peaks, operators, what is live at the peak, and the curve; else why there is nothing."""

    rows: Rows | UnsetType = UNSET
    """Empty, where there is a reason."""
    reason: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    peaks: Annotated[Rows, rows_of("memory-peaks")] | UnsetType = UNSET
    operators: Annotated[Rows, rows_of("memory")] | UnsetType = UNSET
    live_at_peak: Annotated[Rows, rows_of("memory-live")] | UnsetType = UNSET
    curve: Annotated[Rows, rows_of("memory-curve")] | UnsetType = UNSET
    snapshot: SnapshotJson | UnsetType = UNSET
    """Where there is a memory snapshot."""

    @classmethod
    def of(cls, trace: Trace) -> MemoryJson:
        snapshot = SnapshotJson.of(trace) if trace.has_snapshot else UNSET
        if trace.lazy("memory").head(1).collect().is_empty():
            absent = NO_MEMORY
            return cls(rows=[], reason=absent.reason, hint=absent.hint, snapshot=snapshot)
        curve = thin_curve(memory_curve(trace), CURVE_POINTS)
        return cls(
            peaks=view_rows("memory-peaks", trace),
            operators=view_rows("memory", trace),
            live_at_peak=view_rows("memory-live", trace),
            curve=to_rows(curve),
            snapshot=snapshot,
        )


class ModulesJson(msgspec.Struct, frozen=True):
    """Modules along their hierarchy; else why there are none."""

    rows: Annotated[Rows, rows_of("modules")]
    reason: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET

    @classmethod
    def of(cls, table: pl.DataFrame) -> ModulesJson:
        if table.is_empty():
            return cls([], NO_MODULES.reason, NO_MODULES.hint)
        return cls(to_rows(table))


class DamagedRankJson(msgspec.Struct, frozen=True):
    """A recording that could not be read."""

    worker: str
    source: str
    reason: str


class CollectiveLogJson(msgspec.Struct, frozen=True, kw_only=True):
    """What logs of collectives say."""

    ranks: Annotated[Rows, rows_of("collective-log-ranks")]
    sizes: Annotated[Rows, rows_of("collective-log-sizes")]
    calls: Annotated[Rows, rows_of("collective-log")]

    @classmethod
    def of(cls, trace: Trace) -> CollectiveLogJson:
        return cls(
            ranks=view_rows("collective-log-ranks", trace),
            sizes=view_rows("collective-log-sizes", trace, LAUNCH_ROWS),
            calls=view_rows("collective-log", trace, LOG_ROWS),
        )


class DistributedJson(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the steps is communication; of a set, who waits for whom and why.

    Where nothing was communicated, why; keys from `stragglers` on are of a set only.
    """

    rows: Rows | UnsetType = UNSET
    """Empty, where there is a reason."""
    reason: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    workers: list[str] | UnsetType = UNSET
    overlap: dict[str, Annotated[Rows, rows_of("distributed.overlap")]] | UnsetType = UNSET
    steps: Annotated[Rows, rows_of("workers")] | UnsetType = UNSET
    collectives: Annotated[Rows, rows_of("collective-statistics")] | UnsetType = UNSET
    mismatched_calls: Annotated[Rows, rows_of("mismatches")] | UnsetType = UNSET
    stragglers: Annotated[Rows, rows_of("stragglers")] | UnsetType = UNSET
    ranks: Annotated[Rows, rows_of("ranks")] | UnsetType = UNSET
    matched_collectives: Annotated[Rows, rows_of("collectives-matched")] | UnsetType = UNSET
    clocks: Annotated[Rows, rows_of("clocks")] | UnsetType = UNSET
    groups: Annotated[Rows, rows_of("process-groups")] | UnsetType = UNSET
    rank_groups: Annotated[Rows, rows_of("rank-groups")] | UnsetType = UNSET
    missing_ranks: list[int] | UnsetType = UNSET
    damaged: list[DamagedRankJson] | UnsetType = UNSET
    log: CollectiveLogJson | UnsetType = UNSET
    """Where there are logs of collectives in place of a timeline."""

    @classmethod
    def of(cls, trace: Trace, ranks: RankSet | None) -> DistributedJson:
        name = trace.metadata.worker or "worker0"
        summaries = {name: summarise_worker(trace)} if ranks is None else ranks.summaries
        of_set = cls() if ranks is None else cls._of_set(ranks)
        if trace.has_only_collectives:
            of_set = structs.replace(of_set, log=CollectiveLogJson.of(trace))
        if not any(summary.records.height for summary in summaries.values()):
            absent = NO_COMMUNICATION
            return structs.replace(of_set, rows=[], reason=absent.reason, hint=absent.hint)
        comparison = compare_workers(summaries) if ranks is None else ranks.communication
        return structs.replace(
            of_set,
            workers=list(summaries),
            overlap=_overlap(summaries),
            steps=to_rows(comparison.by_step),
            collectives=to_rows(comparison.by_name),
            mismatched_calls=to_rows(comparison.mismatches),
        )

    @classmethod
    def _of_set(cls, ranks: RankSet) -> DistributedJson:
        """What only several ranks tell."""
        return cls(
            stragglers=view_rows("stragglers", ranks),
            ranks=view_rows("ranks", ranks),
            matched_collectives=view_rows("collectives-matched", ranks),
            clocks=view_rows("clocks", ranks),
            groups=view_rows("process-groups", ranks),
            rank_groups=view_rows("rank-groups", ranks),
            missing_ranks=list(ranks.missing),
            damaged=[
                DamagedRankJson(recording.worker, recording.source, recording.reason)
                for recording in ranks.damaged
            ],
        )


def _overlap(workers: Mapping[str, WorkerSummary]) -> dict[str, Rows]:
    # One table for all: with a thousand ranks, a query for each would take most of the time.
    rows = iter(to_rows(pl.concat([summary.steps for summary in workers.values()])))
    return {name: [*islice(rows, worker.steps.height)] for name, worker in workers.items()}


class PathKindJson(msgspec.Struct, frozen=True):
    """A kind of piece of the critical path."""

    kind: str
    time_us: float | None
    share_pct: float | None


class CriticalPathJson(msgspec.Struct, frozen=True, kw_only=True):
    """What decides how long a step takes: by kind, which add up to it, and by name."""

    cycle_us: float | None
    kinds: list[PathKindJson]
    rows: Annotated[Rows, rows_of("critical-path")]
    modules: Annotated[Rows, rows_of("critical-path-modules")]
    reason: str | UnsetType = UNSET
    """Why there are no rows, where that is so."""
    hint: str | UnsetType = UNSET
    withheld: list[str] | UnsetType = UNSET
    """Codes of the reasons why the recording cannot tell."""

    @classmethod
    def of(cls, run: PlayedRun, fitness: Fitness) -> CriticalPathJson:
        withheld = [reason.code for reason in fitness.against(CRITICAL_PATH)]
        if withheld:
            return cls(cycle_us=None, kinds=[], rows=[], modules=[], withheld=withheld)
        rows = view_rows("critical-path", run)
        kinds = [
            PathKindJson(
                kind, microseconds(ns), percent(ns / run.cycle_ns) if run.cycle_ns else None
            )
            for kind, ns in path_kinds(run).items()
        ]
        return cls(
            cycle_us=microseconds(run.cycle_ns),
            kinds=kinds,
            rows=rows,
            modules=view_rows("critical-path-modules", run),
            reason=UNSET if rows else NO_PATH.reason,
            hint=UNSET if rows else NO_PATH.hint,
        )


class WaterfallPartJson(msgspec.Struct, frozen=True):
    """A part of the step from its roofline time up."""

    part: str
    time_us: float | None


class StepEfficiencyJson(msgspec.Struct, frozen=True, kw_only=True):
    """What an average step computes and moves, and how near that is to the device's limits."""

    step_us: float | None
    devices: int
    flop: float
    matrix_flop: float
    vector_flop: float
    recomputed_flop: float
    matrix_flop_by_precision: dict[str, float]
    bytes: float
    wire_bytes: float
    tflops: float | None
    tb_per_s: float | None
    mfu_pct: float | None
    hfu_pct: float | None
    mbu_pct: float | None
    ideal_us: float | None
    waterfall: list[WaterfallPartJson]

    @classmethod
    def of(cls, step: StepEfficiency) -> StepEfficiencyJson:
        seconds = step.step_ns / 1e9
        parts = {f"{name}_roof": ns for name, ns in step.ideal_ns.items()}
        parts |= {name.removesuffix("_ns"): getattr(step, name) for name in BEYOND}
        return cls(
            step_us=microseconds(step.step_ns),
            devices=step.devices,
            flop=step.flop,
            matrix_flop=step.matrix_flop,
            vector_flop=step.vector_flop,
            recomputed_flop=step.recomputed_flop,
            matrix_flop_by_precision=dict(step.matrix_flop_by_precision),
            bytes=step.bytes,
            wire_bytes=step.wire_bytes,
            tflops=step.matrix_flop / seconds / _TERA if seconds else None,
            tb_per_s=step.bytes / seconds / _TERA if seconds else None,
            mfu_pct=percent(step.mfu),
            hfu_pct=percent(step.hfu),
            mbu_pct=percent(step.mbu),
            ideal_us=microseconds(sum(step.ideal_ns.values())),
            waterfall=[WaterfallPartJson(part, microseconds(ns)) for part, ns in parts.items()],
        )


class EfficiencyJson(msgspec.Struct, frozen=True, kw_only=True):
    """What operators compute and move against what the device can do."""

    modelled_share_pct: float | None
    device: str | None
    peaks: DevicePeaksJson | None
    notes: list[str]
    step: StepEfficiencyJson | None
    families: Annotated[Rows, rows_of("efficiency-families")]
    operators: Annotated[Rows, rows_of("efficiency")]

    @classmethod
    def of(cls, efficiency: Efficiency) -> EfficiencyJson:
        step, peaks = efficiency.step, efficiency.peaks
        return cls(
            modelled_share_pct=percent(efficiency.modelled.modelled_share),
            device=peaks.device if peaks else None,
            peaks=DevicePeaksJson.of(peaks) if peaks else None,
            notes=list(notes_of(efficiency)),
            step=None if step is None else StepEfficiencyJson.of(step),
            families=view_rows("efficiency-families", efficiency),
            operators=view_rows("efficiency", efficiency),
        )


class OwnEfficiencyJson(msgspec.Struct, frozen=True):
    """Of the program by itself: what kernels take is no other."""

    step: StepEfficiencyJson | None


class OwnJson(msgspec.Struct, frozen=True):
    """What depends on the clock, of a program by itself."""

    steps: StepsJson
    breakdown: BreakdownJson
    device: list[DeviceJson]
    efficiency: OwnEfficiencyJson

    @classmethod
    def of(cls, timeline: Trace, step: StepEfficiency | None) -> OwnJson:
        return cls(
            StepsJson.of(timeline),
            BreakdownJson.of(timeline),
            DeviceJson.of_all(timeline),
            OwnEfficiencyJson(None if step is None else StepEfficiencyJson.of(step)),
        )


class AnalysisJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink analyze` about one run; a section without data says why."""

    schema: str
    headline: str
    recording: FitnessJson
    source: SourceJson
    health: list[HealthJson]
    device: list[DeviceJson]
    steps: StepsJson
    breakdown: BreakdownJson
    operators: OperatorsJson
    kernels: KernelTablesJson
    memory: MemoryJson
    modules: ModulesJson
    distributed: DistributedJson
    findings: list[FindingJson]
    clock: ClockJson
    own: OwnJson | None
    """On the program's own clock; null where that is not known."""
    critical_path: CriticalPathJson
    efficiency: EfficiencyJson


def code_absence(view: str, trace: Trace) -> Absent:
    """Why a table that needs no roofs is empty; code may lie beside a run of no such kernel."""
    absent = find_view(view).absent
    if absent is not NO_COMPILED_CODE or trace.metadata.compiled is None:
        return absent
    from timesink.analyses.compiled import generated_kernels  # noqa: PLC0415 - start-up time

    return absent if generated_kernels(trace) else NO_COMPILED_KERNELS


def absence(view: str, efficiency: Efficiency) -> Absent:
    """Why a table is empty, and what to record instead: never what is recorded already."""
    about = find_view(view)
    if not about.is_of_roofs or efficiency.modelled.kernels.is_empty():
        return about.absent
    times = known_times(efficiency.modelled.kernels)
    total = sum(times.values())
    is_unlinked = 2 * times.get(NO_CALL, 0) > total
    is_shapeless = 2 * times.get(NO_SHAPES, 0) > total
    if not is_shapeless and "graphs" in program_traits(efficiency.trace):
        return NO_SHAPES_IN_GRAPHS
    if not has_shapes(efficiency.trace):
        return about.absent
    return NO_SHAPES_LINKED if is_unlinked else NO_SHAPES_HERE
