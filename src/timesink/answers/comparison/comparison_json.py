"""The JSON of a comparison, as records whose fields are the keys.

Times of ranks are in microseconds, and every number is finite or null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from timesink.analyses.behaviour.summary import distinct_texts
from timesink.analyses.ranks.tables import rank_groups
from timesink.analyses.work.cycle_work import CycleEfficiency
from timesink.answers.common_json import FitnessJson, Rows, rows_of
from timesink.answers.comparison.diagnosis_json import (
    NS_PER_US,
    DiagnosisJson,
    SteadyTimesJson,
    diagnosis_fields,
    finite,
    interval_pct,
    interval_us,
    us,
)
from timesink.answers.comparison.efficiency import efficiency_lines
from timesink.answers.comparison.pair_tables import pair_table
from timesink.answers.comparison.sentences import pair_headline
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.results import (
    Cluster,
    ComparedRuns,
    Comparison,
    CycleTimes,
    Exploration,
    KeyFinding,
    Pair,
    Process,
    RankChanges,
    StragglerChange,
    Workload,
)
from timesink.comparison.steps.efficiency import EfficiencyChange, efficiency_change
from timesink.comparison.steps.verdict import PairChanges, judge_pair
from timesink.model.diagnosis import (
    SIDES,
    Component,
    CycleTime,
    Diagnosis,
)
from timesink.model.findings import GateCheck, Interval
from timesink.recorder.processes import safe_text

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankLayout, RankSet
    from timesink.answers.comparison.gate_result import GateAnswer
    from timesink.comparison.repeated_runs import Decision, RepeatedChange, TimedRun
    from timesink.errors import TimesinkError

SCHEMA = "timesink/comparison/1"


def _rows_us(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with times in microseconds, as all of the JSON has them."""
    columns = [
        (pl.col(name) / NS_PER_US).alias(f"{name.removesuffix('_ns')}_us")
        if name.endswith("_ns")
        else pl.col(name)
        for name in table.columns
    ]
    return table.select(columns).to_dicts()


# -- efficiency of both sides ----------------------------------------------------------------------


class SideEfficiencyJson(msgspec.Struct, frozen=True, kw_only=True):
    """What a side computes and moves in a step; amounts are per device."""

    device: str | None
    """Null where its peaks are not known."""
    cycle_us: float
    ideal_us: float | None
    mfu_pct: float | None
    hfu_pct: float | None
    mbu_pct: float | None
    roof_share_pct: float | None
    modelled_share_pct: float | None
    matrix_flop: float
    vector_flop: float
    bytes: float
    wire_bytes: float
    recomputed_flop: float
    matrix_flop_by_precision: dict[str, float]

    @classmethod
    def of(cls, efficiency: CycleEfficiency) -> SideEfficiencyJson:
        shares = {
            f"{name}_pct": None if value is None else 100 * value
            for name in ("mfu", "hfu", "mbu", "roof_share", "modelled_share")
            for value in [getattr(efficiency, name)]
        }
        return cls(
            device=efficiency.peaks.device if efficiency.peaks else None,
            cycle_us=efficiency.cycle_ns / NS_PER_US,
            ideal_us=None if efficiency.ideal_ns is None else efficiency.ideal_ns / NS_PER_US,
            **shares,
            matrix_flop=efficiency.amount("matrix_flop"),
            vector_flop=efficiency.amount("vector_flop"),
            bytes=efficiency.amount("bytes"),
            wire_bytes=efficiency.amount("wire_bytes"),
            recomputed_flop=efficiency.amount("matrix_flop", "recomputed"),
            matrix_flop_by_precision=dict(efficiency.matrix_flop_by_precision),
        )


class EfficiencyChangeJson(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides compute and move."""

    same_work: bool | None
    reason: str | None
    """Why operators are not compared."""
    same_device: bool
    sentences: list[str]
    base: SideEfficiencyJson | None
    new: SideEfficiencyJson | None
    operators: Rows
    """Those that changed, largest change of time first."""

    @classmethod
    def of(cls, change: EfficiencyChange) -> EfficiencyChangeJson:
        operators = change.operators.with_columns(
            (pl.col(f"{side}_time_ns") / NS_PER_US).alias(f"{side}_time_us") for side in SIDES
        ).drop(f"{side}_time_ns" for side in SIDES)
        return cls(
            same_work=change.same_work,
            reason=change.reason or None,
            same_device=change.same_device,
            sentences=efficiency_lines(change),
            base=None if change.base is None else SideEfficiencyJson.of(change.base),
            new=None if change.new is None else SideEfficiencyJson.of(change.new),
            operators=operators.to_dicts(),
        )

    @classmethod
    def of_pair(cls, pair: Pair) -> EfficiencyChangeJson | None:
        """None where neither side recorded shapes."""
        change = efficiency_change(pair)
        return None if change is None else cls.of(change)


# -- processes and pairs ---------------------------------------------------------------------------


class ProcessJson(msgspec.Struct, frozen=True, kw_only=True):
    """One process of one run."""

    label: str
    source: str
    pid: str
    host: str | None
    rank: int | None
    cycles: int
    cycle_types: list[str]
    anchors: list[str]
    """What marks its steps."""
    devices: list[str]
    metrics: list[str]
    method: str | None
    """How its steps were found; null for a behaviour table, as is `confidence`."""
    confidence: float | None
    notes: list[str]

    @classmethod
    def of(cls, process: Process) -> ProcessJson:
        behaviour = process.behaviour
        return cls(
            label=process.label,
            source=safe_text(process.source),
            pid=process.pid,
            host=process.host,
            rank=process.rank,
            cycles=behaviour["cycle"].n_unique(),
            cycle_types=list(distinct_texts(behaviour["cycle_type"])),
            anchors=list(distinct_texts(behaviour["anchor"])),
            devices=list(distinct_texts(behaviour["device"])),
            metrics=list(distinct_texts(behaviour["metric"])),
            method=process.method,
            confidence=process.confidence,
            notes=[safe_text(note) for note in process.notes],
        )


class CycleTimesJson(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths of the recorded steps of both sides, in nanoseconds: see `CycleTimes`."""

    base_ns: list[float]
    new_ns: list[float]
    base_mean_ns: float
    new_mean_ns: float
    change_pct: float | None
    interval_ns: Interval | None
    rank_p: float | None
    p_value: float | None
    warm_up_cycles: list[int]
    """How many of the first steps of each side the tests leave out."""
    levels_ns: list[list[float]]
    one_run: bool
    exact_p: float | None

    @classmethod
    def of(cls, times: CycleTimes) -> CycleTimesJson:
        return cls(
            base_ns=list(times.base_ns),
            new_ns=list(times.new_ns),
            base_mean_ns=times.base_mean_ns,
            new_mean_ns=times.new_mean_ns,
            change_pct=times.change_pct,
            interval_ns=times.interval_ns,
            rank_p=times.rank_p,
            p_value=times.p_value,
            warm_up_cycles=list(times.warm_up),
            levels_ns=[list(levels) for levels in times.levels_ns],
            one_run=times.one_run,
            exact_p=times.exact_p,
        )


class RepeatedChangeJson(msgspec.Struct, frozen=True):
    """What became of a figure of runs."""

    base_us: float | None
    new_us: float | None
    change_pct: float | None
    ci99_pct: Interval | None

    @classmethod
    def of(cls, change: RepeatedChange) -> RepeatedChangeJson:
        base_us, new_us = us(change.base_ns), us(change.new_ns)
        return cls(base_us, new_us, finite(change.change_pct), change.interval_pct)


class DecisionJson(msgspec.Struct, frozen=True, kw_only=True):
    """What several runs of either side say."""

    outcome: str
    pairs: int
    more_runs: int | None
    detect_pct: float
    typical: RepeatedChangeJson
    fast: RepeatedChangeJson
    mean: RepeatedChangeJson

    @classmethod
    def of(cls, decision: Decision) -> DecisionJson:
        return cls(
            outcome=decision.outcome,
            pairs=decision.pairs,
            more_runs=decision.more_runs,
            detect_pct=decision.detect_pct,
            typical=RepeatedChangeJson.of(decision.typical),
            fast=RepeatedChangeJson.of(decision.fast),
            mean=RepeatedChangeJson.of(decision.mean),
        )


class TimedRunJson(msgspec.Struct, frozen=True, kw_only=True):
    """Unprofiled steps of one run."""

    side: str
    name: str
    started_us: int
    by: str
    typical_us: float | None
    fast_us: float | None
    mean_us: float | None
    probe_us: float | None
    cycles: int

    @classmethod
    def of(cls, run: TimedRun) -> TimedRunJson:
        return cls(
            side=run.side,
            name=run.name,
            started_us=run.started_us,
            by=run.by,
            typical_us=us(run.typical_ns),
            fast_us=us(run.fast_ns),
            mean_us=us(run.mean_ns),
            probe_us=us(run.probe_ns),
            cycles=len(run.cycles_ns),
        )


class PlainTimesJson(msgspec.Struct, frozen=True):
    """Unprofiled steps: every run in the order in which they ran, and what all of them say."""

    decision: DecisionJson | None
    runs: list[TimedRunJson]

    @classmethod
    def of(cls, plain: ComparedRuns) -> PlainTimesJson:
        decision = None if plain.decision is None else DecisionJson.of(plain.decision)
        ordered = sorted(plain.runs, key=lambda run: run.started_us)
        return cls(decision, list(map(TimedRunJson.of, ordered)))


class EqualWorkJson(msgspec.Struct, frozen=True, kw_only=True):
    """A pair whose steps were put together until both sides hold the same work: its tables."""

    kind: str
    headline: str
    base: ProcessJson
    new: ProcessJson
    workload: Workload
    cycle_times: CycleTimesJson
    plain: PlainTimesJson | UnsetType = UNSET
    changes: PairChanges
    findings: list[KeyFinding]
    rows: Annotated[Rows, rows_of("ROWS", in_ns=True)]
    times: Annotated[Rows, rows_of("TIMES", in_ns=True)]
    families: Annotated[Rows, rows_of("FAMILIES", in_ns=True)]
    equal_work: EqualWorkJson | None

    @classmethod
    def of(cls, pair: Pair) -> EqualWorkJson:
        return cls(**_table_fields(pair, None))


class PairHead(DiagnosisJson, frozen=True):
    """What a pair is called, before its diagnosis; not in an exploration."""

    identifier: str | UnsetType
    """What was compared."""
    suffix: str | UnsetType
    """Which steps: `_prefill`, `_decode`, `_layer` or empty."""
    file: str | UnsetType
    """Name of its files under `-o DIR`, without an ending."""


class PairJson(PairHead, frozen=True, kw_only=True):
    """Two processes beside each other: what was found of them, and all tables.

    Numbers of `changes` and `findings` are places in `times` and `rows`.
    """

    kind: str
    headline: str
    base: ProcessJson
    new: ProcessJson
    workload: Workload
    cycle_times: CycleTimesJson
    plain: PlainTimesJson | UnsetType = UNSET
    """Only where steps without the profiler were timed."""
    changes: PairChanges
    findings: list[KeyFinding]
    rows: Annotated[Rows, rows_of("ROWS", in_ns=True)]
    times: Annotated[Rows, rows_of("TIMES", in_ns=True)]
    families: Annotated[Rows, rows_of("FAMILIES", in_ns=True)]
    equal_work: EqualWorkJson | None
    efficiency: EfficiencyChangeJson | UnsetType | None = UNSET
    """Not in an exploration."""

    @classmethod
    def of_pair(cls, pair: Pair) -> PairJson:
        """Of a comparison of pairs."""
        diagnosis = diagnose(pair)
        return cls(
            identifier=pair.identifier,
            suffix=pair.suffix,
            file=pair.file_stem,
            efficiency=EfficiencyChangeJson.of_pair(pair),
            **diagnosis_fields(diagnosis),
            **_table_fields(pair, diagnosis),
        )

    @classmethod
    def of_exploration(cls, pair: Pair) -> PairJson:
        """Of representatives of two clusters."""
        diagnosis = diagnose(pair)
        return cls(
            identifier=UNSET,
            suffix=UNSET,
            file=UNSET,
            **diagnosis_fields(diagnosis),
            **_table_fields(pair, diagnosis),
        )


def _table_fields(pair: Pair, diagnosis: Diagnosis | None) -> dict[str, Any]:
    """The fields of `EqualWorkJson`."""
    return {
        "kind": pair.kind,
        "headline": pair_headline(pair, diagnosis),
        "base": ProcessJson.of(pair.base),
        "new": ProcessJson.of(pair.new),
        "workload": pair.workload,
        "cycle_times": CycleTimesJson.of(pair.cycle_times),
        "plain": UNSET if pair.plain is None else PlainTimesJson.of(pair.plain),
        "changes": judge_pair(pair),
        "findings": list(pair.findings),
        **{
            name: pair_table(pair, name).rows().to_dicts() for name in ("rows", "times", "families")
        },
        "equal_work": None if pair.equal_work is None else EqualWorkJson.of(pair.equal_work),
    }


# -- many roles, and many ranks --------------------------------------------------------------------


class ExplorationJson(msgspec.Struct, frozen=True, kw_only=True):
    """Which of many roles behave alike, and how the groups differ."""

    roles: list[ProcessJson]
    distances: list[list[float]]
    """One row and column per role, in doublings."""
    threshold: float
    threshold_reason: str
    clusters: list[Cluster]
    pairs: list[PairJson]
    """Of the representatives."""
    pairs_left_out: int

    @classmethod
    def of(cls, exploration: Exploration) -> ExplorationJson:
        return cls(
            roles=list(map(ProcessJson.of, exploration.roles)),
            distances=exploration.distances.tolist(),
            threshold=exploration.threshold,
            threshold_reason=exploration.threshold_reason,
            clusters=list(exploration.clusters),
            pairs=list(map(PairJson.of_exploration, exploration.pairs)),
            pairs_left_out=exploration.pairs_left_out,
        )


class RankStepTimeJson(SteadyTimesJson, frozen=True):
    """How long the steps of the run are, in the mean over its ranks."""

    p_value: float | None

    @classmethod
    def of_steps(cls, times: CycleTime) -> RankStepTimeJson:
        return cls(
            us(times.base_ns),
            us(times.new_ns),
            finite(times.change_pct),
            interval_pct(times.interval_pct),
            finite(times.p_value),
        )


class RankPartJson(msgspec.Struct, frozen=True):
    """A part of the mean step of all ranks."""

    part: str
    base_us: float | None
    new_us: float | None
    delta_us: float | None
    ci95_us: list[float | None] | None
    p_value: float | None

    @classmethod
    def of(cls, component: Component) -> RankPartJson:
        return cls(
            component.part,
            us(component.base_ns),
            us(component.new_ns),
            us(component.delta_ns),
            interval_us(component.interval_ns),
            finite(component.p_value),
        )


class StragglerChangeJson(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that holds others up in one of two runs, or in both."""

    state: str
    rank: int
    cause: str
    base_us: float | None
    new_us: float | None
    base_rank: int | None
    steps: int
    step_names: list[str]
    evidence: list[str]

    @classmethod
    def of(cls, straggler: StragglerChange) -> StragglerChangeJson:
        return cls(
            state=straggler.state,
            rank=straggler.rank,
            cause=straggler.cause,
            base_us=us(straggler.base_ns),
            new_us=us(straggler.new_ns),
            base_rank=straggler.base_rank,
            steps=len(straggler.steps),
            step_names=list(straggler.steps),
            evidence=list(straggler.evidence),
        )


class LayoutPartJson(msgspec.Struct, frozen=True):
    """Process groups of a kind, and how many ranks each has."""

    kind: str | None
    size: int


class DamagedRecordingJson(msgspec.Struct, frozen=True):
    """A recording that could not be read."""

    worker: str
    source: str
    reason: str


class RankSideJson(msgspec.Struct, frozen=True, kw_only=True):
    """One of two runs of many ranks."""

    ranks: int
    world_size: int | None
    layout: list[LayoutPartJson]
    steps: int
    missing_ranks: list[int]
    damaged: list[DamagedRecordingJson]
    groups: Annotated[Rows, rows_of("rank-groups", in_ns=True)]

    @classmethod
    def of(cls, run: RankSet, layout: RankLayout) -> RankSideJson:
        return cls(
            ranks=len(run.ranks),
            world_size=layout.world,
            layout=[LayoutPartJson(kind, size) for kind, size in layout.groups],
            steps=len(run.analysis.panel.steps),
            missing_ranks=list(run.missing),
            damaged=[
                DamagedRecordingJson(
                    recording.worker, safe_text(recording.source), safe_text(recording.reason)
                )
                for recording in run.damaged
            ],
            groups=rank_groups(run).to_dicts(),
        )


class RankSidesJson(msgspec.Struct, frozen=True):
    """Both runs."""

    base: RankSideJson
    new: RankSideJson


class RankChangesJson(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two runs of many ranks."""

    verdict: str
    reason: str
    step_time: RankStepTimeJson
    attribution: list[RankPartJson]
    stragglers: list[StragglerChangeJson]
    collectives: Rows
    changes: Rows
    """Ranks, the largest differences first."""
    sides: RankSidesJson
    notes: list[str]

    @classmethod
    def of(cls, changes: RankChanges) -> RankChangesJson:
        base, new = zip((changes.base, changes.new), changes.layouts, strict=True)
        return cls(
            verdict=changes.verdict,
            reason=changes.reason,
            step_time=RankStepTimeJson.of_steps(changes.step_time),
            attribution=list(map(RankPartJson.of, changes.attribution)),
            stragglers=list(map(StragglerChangeJson.of, changes.stragglers)),
            collectives=_rows_us(changes.collectives),
            changes=_rows_us(changes.ranks),
            sides=RankSidesJson(RankSideJson.of(*base), RankSideJson.of(*new)),
            notes=[safe_text(note) for note in changes.notes],
        )


# -- a gate, and the whole document ----------------------------------------------------------------


class GateCheckJson(msgspec.Struct, frozen=True):
    """One thing that a gate was asked about, and what became of it."""

    kind: str
    name: str
    outcome: str
    counts: bool
    """Whether it was asked for: what is only shown fails nothing."""
    sentence: str

    @classmethod
    def of(cls, check: GateCheck) -> GateCheckJson:
        name, sentence = safe_text(check.name), safe_text(check.sentence)
        return cls(check.kind, name, check.outcome, check.counts, sentence)


class GateJson(msgspec.Struct, frozen=True):
    """Whether a run passes."""

    outcome: str
    """`passed`, `failed` or `unjudged`."""
    asked: str
    """The options."""
    unseen: str
    """Which changes these runs cannot show."""
    certain: list[str]
    checks: list[GateCheckJson]

    @classmethod
    def of(cls, gate: GateAnswer) -> GateJson:
        return cls(
            gate.outcome,
            safe_text(gate.options),
            safe_text(gate.unseen),
            [safe_text(sentence) for sentence in gate.leading],
            list(map(GateCheckJson.of, gate.checks)),
        )


class ComparisonHead(DiagnosisJson, frozen=True):
    """What was compared and the answer, before the diagnosis."""

    schema: str
    headline: str
    recording: FitnessJson
    """What the recordings can answer."""
    sources: list[str]


class ComparisonJson(ComparisonHead, frozen=True, kw_only=True):
    """The answer of `timesink compare`."""

    efficiency: EfficiencyChangeJson | None
    """Of a single pair; of several each has its own."""
    notes: list[str]
    roles: list[ProcessJson]
    pairs: list[PairJson]
    exploration: ExplorationJson | None
    ranks: RankChangesJson | UnsetType = UNSET
    """Only of runs of many ranks."""
    gate: GateJson | UnsetType = UNSET
    """Only of a gate, or with `--fail-on` or `--budget`."""

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        headline: str,
        diagnosis: Diagnosis | None,
        gate: GateAnswer | None = None,
    ) -> ComparisonJson:
        pairs, exploration, ranks = comparison.pairs, comparison.exploration, comparison.ranks
        return cls(
            schema=SCHEMA,
            headline=headline,
            recording=FitnessJson.of_sides(comparison.fitness),
            sources=[safe_text(source) for source in comparison.sources],
            **diagnosis_fields(diagnosis),
            efficiency=EfficiencyChangeJson.of_pair(pairs[0]) if len(pairs) == 1 else None,
            notes=_safe_texts(comparison.notes),
            roles=list(map(ProcessJson.of, comparison.roles)),
            pairs=list(map(PairJson.of_pair, pairs)),
            exploration=None if exploration is None else ExplorationJson.of(exploration),
            ranks=UNSET if ranks is None else RankChangesJson.of(ranks),
            gate=UNSET if gate is None else GateJson.of(gate),
        )


class ErrorJson(msgspec.Struct, frozen=True):
    """Why something could not be done, and what helps."""

    message: str
    hint: str


class ComparisonErrorJson(msgspec.Struct, frozen=True):
    """What a gate says of runs that could not be compared at all."""

    schema: str
    error: ErrorJson
    gate: GateJson

    @classmethod
    def of(cls, gate: GateAnswer, error: TimesinkError) -> ComparisonErrorJson:
        problem = ErrorJson(safe_text(error.message), safe_text(error.hint))
        return cls(SCHEMA, problem, GateJson.of(gate))


def _safe_texts(texts: Iterable[str]) -> list[str]:
    return [safe_text(text) for text in texts]
