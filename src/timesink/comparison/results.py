"""What changed, as plain data: runs as read, their processes, pairs of these, and all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.columns import memoize_per_table
from timesink.analyses.statistics.exact import least_p
from timesink.comparison.repeated_runs import Decision, TimedRun
from timesink.model.diagnosis import Component, CycleTime, Expectation, SteadyTimes
from timesink.model.fitness import FIT, Fitness
from timesink.model.intervals import Floats
from timesink.model.recorded_run import RecordedRun
from timesink.model.trace import Trace

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankLayout, RankSet
    from timesink.analyses.replay.own_clock import StepTime
    from timesink.analyses.work.cycle_work import ProcessWork
    from timesink.comparison.inputs import RecordingRef
    from timesink.comparison.program.calls import Program
    from timesink.errors import TimesinkError

# -- the runs of a side and their processes --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CycleUnit:
    """How steps are found."""

    method: str | None
    """How it was found (`cycles.spans.METHODS`); None for a behaviour table, which does not say."""
    anchor: str | None
    """What marks it; None where that is not one thing."""
    between_marks: bool = False
    """Whether it lasts from one mark to the next, and not as long as its mark."""

    def is_that_of(self, other: CycleUnit) -> bool:
        """Whether cycles of both may be set beside each other."""
        if self.method == other.method == "kernels":
            return True  # two makers name the same work differently
        # Where a table does not say, the check of the workload tells.
        if None in {self.anchor, other.anchor}:
            return True
        return self.anchor == other.anchor and self.between_marks == other.between_marks


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One file of a side: what it says, cycle by cycle."""

    source: RecordingRef
    behaviour: pl.DataFrame
    unit: CycleUnit
    trace: Trace | None = None
    """The recording; None for a behaviour table, whose cycles are what they are."""
    rank: int | None = None
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    anatomies: Mapping[str, Anatomy] = field(default_factory=dict)
    """What the cycles of each process are made of, by process; of a timeline only."""
    programs: Mapping[str, Program] = field(default_factory=dict)
    """What the cycles of each process call, by process; of a timeline only."""
    beside: pl.DataFrame | None = None
    """Counters that were sampled beside a behaviour table."""
    recorded: RecordedRun | None = None
    """What the recorder says about the run."""
    peak_memory_bytes: int | None = None
    """Most that was allocated at a time, where allocations were recorded."""
    work: Mapping[str, ProcessWork] = field(default_factory=dict)
    """What the cycles of each process compute and move, by process; of recorded shapes only."""
    fitness: Fitness = FIT
    """What the recording can answer."""
    step_time: StepTime | None = None
    """The mean step of a large recording on both clocks; of a smaller one it is worked out on
    demand."""


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """One file of a side of which there is no behaviour."""

    source: RecordingRef
    error: TimesinkError
    trace: Trace | None = None
    """The recording, where only its cycles were not found."""


@dataclass(frozen=True, eq=False)
class Process:
    """What one process of one run did, cycle by cycle."""

    label: str
    """What the side is called in tables: `normal`, `base`, `abnormal_pid_842126`, ..."""
    source: str
    """File the behaviour was read or computed from."""
    pid: str
    behaviour: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, of this process alone; every cycle has a row."""
    host: str | None = None
    rank: int | None = None
    method: str | None = None
    """How its cycles were found (`cycles.spans.METHODS`); None for a behaviour table."""
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    anatomy: Anatomy | None = None
    """What its cycles are made of, where a timeline tells; None for a behaviour table."""
    beside: pl.DataFrame | None = None
    """Counters that were sampled beside a behaviour table, rows of `model.schema.COUNTERS`."""
    program: Program | None = None
    """What its cycles call, where a timeline tells."""
    plain: tuple[TimedRun, ...] = ()
    """Cycles without the profiler: of its own run, and of other runs of the same side."""
    device_runs_ns: tuple[float, ...] = ()
    """Device time per cycle of every run of the side that has a timeline, where several have."""
    peak_memory_bytes: int | None = None
    """Most that was allocated at a time in the recording; None where that was not recorded."""
    work: ProcessWork | None = None
    """What its cycles compute and move; None where no shapes were recorded."""
    fitness: Fitness = FIT
    """What its recording can answer."""
    step_time: Callable[[], StepTime] | None = None
    """The mean step of its recording on both clocks, worked out when it is asked for; None where
    steps are not marked or there is no timeline."""
    job: str = ""
    """Name of the file it comes from: pairs files of both sides."""
    suffix: str = ""
    """Which cycles it holds, as names of files say: `_prefill`, `_decode`, `_layer`, or empty."""
    origin: Hashable = None
    """What it was read from: the same for a process that is on both sides."""

    @property
    def cycles(self) -> int:
        """How many cycles it has."""
        return self.behaviour["cycle"].n_unique()

    @cached_property
    def anchor(self) -> str | None:
        """What marks most of its cycles; None where nothing says so."""
        first = np.unique(self.behaviour["cycle"].to_numpy(), return_index=True)[1]
        named = self.behaviour["anchor"][first].cast(pl.String).to_list()
        anchors = Counter(text for text in named if text is not None)
        return min(anchors, key=lambda text: (-anchors[text], text), default=None)

    @property
    def mean_cycle_ns(self) -> float:
        """Mean length of its cycles; 0 where no length is known."""
        mean = cycle_lengths(self.behaviour).mean()
        return mean if isinstance(mean, float) else 0.0


@memoize_per_table
def cycle_lengths(behaviour: pl.DataFrame) -> pl.Series:
    """Length of every cycle whose length is known, in ns, in the order of the cycles."""
    length = behaviour["cycle_dur_ns"]
    length_ns = (length.fill_null(0) if length.null_count() else length).to_numpy()
    timed = np.flatnonzero(length_ns > 0)
    cycle, length_ns = behaviour["cycle"].to_numpy()[timed], length_ns[timed]
    order = np.lexsort((length_ns, cycle))
    last = np.append(cycle[order][1:] != cycle[order][:-1], True)[: len(order)]
    return pl.Series(length.name, length_ns[order][last], dtype=length.dtype)


RUNS_ON = ("both", "base", "new")
WITHIN = "within"
"""Kind of a pair of typical cycles and those that take longer: chosen for their length."""

ROWS: dict[str, pl.DataType] = {
    **dict.fromkeys(("function", "metric", "device"), pl.String()),
    "score": pl.Float64(),
    **dict.fromkeys(("beta_base_pct", "beta_new_pct", "beta_delta_pct", "beta_z"), pl.Float64()),
    **dict.fromkeys(("beta_welch_p", "beta_rank_p"), pl.Float64()),
    **dict.fromkeys(("mu_base", "mu_new", "mu_delta", "mu_z", "log_mu_z"), pl.Float64()),
    **dict.fromkeys(("mu_welch_p", "mu_rank_p"), pl.Float64()),
    **dict.fromkeys(("cycles_base", "cycles_new"), pl.Int64()),
    "unit": pl.String(),
    "runs_on": pl.Enum(RUNS_ON),
}
"""One row per function, metric and device, highest score first, then by key.  The first 17 columns
are the published table; NaN where a p-value is not defined.  A side that lacks the key has zeros
there, as published; `runs_on` says which side has it."""

TIMES: dict[str, pl.DataType] = {
    **dict.fromkeys(("function", "short_name", "function_class", "device"), pl.String()),
    "measured": pl.Boolean(),
    "runs_on": pl.Enum(RUNS_ON),
    **dict.fromkeys(("base_ns", "new_ns", "delta_ns", "change_pct"), pl.Float64()),
    **dict.fromkeys(("calls_base", "calls_new", "beta_base_pct", "beta_new_pct"), pl.Float64()),
    **dict.fromkeys(("welch_p", "rank_p"), pl.Float64()),
}
"""Time per cycle of every function and device, whether or not it has a metric (`measured`): means
over all cycles of the role, with zero where it did not run; largest change first.  Null where a
change or a test is not defined."""

FAMILIES: dict[str, pl.DataType] = {
    **dict.fromkeys(("family", "name", "device"), pl.String()),
    **dict.fromkeys(("names_base", "names_new"), pl.List(pl.String())),
    **dict.fromkeys(("base_ns", "new_ns", "delta_ns"), pl.Float64()),
    **dict.fromkeys(("calls_base", "calls_new", "beta_base_pct", "beta_new_pct"), pl.Float64()),
    **dict.fromkeys(("welch_p", "rank_p"), pl.Float64()),
}
"""Functions whose exact names do not meet, brought together by normalised name (`name`), or where
that does not meet either by family (`name` is null); times per cycle as in TIMES.  A row is the
whole of both sides: it holds functions of that name or family whose exact names meet as well."""


@dataclass(frozen=True, slots=True, eq=False)
class CycleTimes:
    """Lengths of the cycles of both sides, and whether they differ."""

    base_ns: tuple[int, ...]
    """Lengths in cycle order."""
    new_ns: tuple[int, ...]
    base_mean_ns: float
    new_mean_ns: float
    change_pct: float | None
    """Change of the mean; None where a length is not known."""
    interval_ns: tuple[float, float] | None
    """95 % interval of the change of the mean, for cycles that follow each other and drift; it
    excludes 0 only where all tests agree.  None with fewer than two cycles."""
    rank_p: float | None
    """Mann-Whitney, two-sided, as if cycles were independent; None with fewer than two cycles on a
    side."""
    p_value: float | None = None
    """Chance of a change this large by noise: the largest of all tests; None as above."""
    warm_up: tuple[int, int] = (0, 0)
    """How many of the first cycles of each side are warm-up: the tests leave these out."""
    levels_ns: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """Levels that the cycles of each side go through, in order; empty where they stay at one."""
    one_run: bool = False
    """Whether both sides are parts of one run, where another level is drift and not a change."""
    steady: SteadyTimes | None = None
    """What was tested; None with fewer than two cycles."""
    exact_p: float | None = None
    """Chance that all cycles of one side are longer than all of the other, where that decides: then
    interval and p-value are those of exact bounds.  None where means decide."""

    @property
    def tested_counts(self) -> tuple[int, int]:
        """Cycles of both sides after warm-up."""
        return len(self.base_ns) - self.warm_up[0], len(self.new_ns) - self.warm_up[1]

    @property
    def least_p(self) -> float:
        """The smallest p-value that so many cycles can have by their order alone."""
        return least_p(*self.tested_counts)

    @property
    def means_ns(self) -> tuple[float, float]:
        """Mean cycles of both sides."""
        return self.base_mean_ns, self.new_mean_ns

    @property
    def fewest(self) -> int:
        """Cycles of the side that has fewer."""
        return min(len(self.base_ns), len(self.new_ns))


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRuns:
    """What cycle time is judged by where both sides have it: cycles without the profiler."""

    runs: tuple[TimedRun, ...]
    result: CycleTimes | Decision
    """Of one run a side, cycle by cycle; of several, run by run."""

    @property
    def decision(self) -> Decision | None:
        """What several runs a side say; None of one."""
        return self.result if isinstance(self.result, Decision) else None


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Whether both sides did the same work per cycle."""

    comparable: bool
    reasons: tuple[str, ...]
    """Why not, or what to keep in mind; sentences."""
    work_ratio: float | None
    """How many cycles of NEW hold the work of one of BASE, by calls per cycle; None if unknown."""


NO_CYCLES = CycleTimes((), (), 0.0, 0.0, None, None, None)
UNKNOWN_WORK = Workload(comparable=True, reasons=(), work_ratio=None)
"""What is known of processes that were matched, and not compared yet."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyFinding:
    """A function whose share of the cycle changed, and the metrics that changed with it."""

    function: str
    device: str
    row: int
    """Its first row in the table."""
    metrics: tuple[int, ...]
    """Rows of the metrics that changed with it, at most three."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Pair:
    """Two processes beside each other: how they were matched, their name, and what changed."""

    kind: str
    """The same process or rank in both runs is `strict`, different ones `cross`, representatives of
    two clusters `peers`, and cycles of one process `within`."""
    base: Process
    new: Process
    cycle_times: CycleTimes = NO_CYCLES
    workload: Workload = UNKNOWN_WORK
    rows: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=ROWS))
    times: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=TIMES))
    families: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=FAMILIES))
    findings: tuple[KeyFinding, ...] = ()
    """Up to three, of rows whose score is above the published threshold of 10."""
    equal_work: Pair | None = None
    """The same pair with the cycles of one side put together until both hold the same work; only
    where that was needed and possible."""
    plain: ComparedRuns | None = None
    known_rows: pl.DataFrame | None = None
    """`rows` one by one with counters as far as they are known, where that is another thing."""
    identifier: str = ""
    """What was compared: `SGLang/gpu_instability`, `normal vs gpu_clock`."""
    file_stem: str = ""
    """Name of its files, without an ending."""
    by_rank: bool = False
    """Whether both were matched by their rank."""
    of_all_devices: Pair | None = None
    """The pair of all devices, where this one holds the tables of one."""
    peaks: str | None = None
    """What efficiency is compared with, where the user says it."""
    expected: Expectation | None = None
    """Of the second side, where somebody knows."""

    @property
    def whole(self) -> Pair:
        """The pair with all devices, which causes are looked for in."""
        return self.of_all_devices or self

    @property
    def of_equal_work(self) -> Pair:
        """The pair whose steps hold the same work, where they had to be grouped for that."""
        return self.equal_work or self

    @property
    def suffix(self) -> str:
        """Which cycles: `_prefill`, `_decode`, `_layer`, or empty; groups have none in common."""
        return "" if self.kind == "peers" else self.base.suffix

    @property
    def loads(self) -> pl.DataFrame:
        """`rows` with counters over the cycles that know them, and not zero in the others.

        Only rows whose counter both sides know, in units that meet, run on `both` here.
        """
        return self.rows if self.known_rows is None else self.known_rows


# -- groups of processes, and ranks of a run, beside each other ------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which the representative of a cluster differs from that of the largest one."""

    what: str
    """`gpu_sm_frequency`, `time of gemm`, `calls of cpu_sync`, `length of the cycle`."""
    device: str
    """`Host`, `GPU 7`; empty for the cycle as a whole."""
    base: float
    """Mean over the cycles of the largest cluster's representative."""
    own: float
    """Mean over the cycles of this cluster's representative."""
    unit: str
    """`ns` for times, empty for calls."""
    distance: float
    """What is sure of the ratio, in doublings."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Roles that behave alike."""

    representative: int
    """Its most typical role, as a place in `Exploration.roles`."""
    members: tuple[int, ...]
    apart: str = ""
    """What sets it apart from the largest cluster, in a sentence; empty for the largest itself."""
    differences: tuple[Difference, ...] = ()
    """Everything that differs from the largest cluster by the threshold or more, largest first."""


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """Which of many roles behave alike, and how the groups differ."""

    roles: tuple[Process, ...]
    """Sorted by label, whatever the order they were given in."""
    distances: Floats
    """Symmetric, one row and column per role, in doublings (`distances`)."""
    threshold: float
    """Distance from which roles are distinguished."""
    threshold_reason: str
    clusters: tuple[Cluster, ...]
    """Largest first, then by the label of the representative."""
    pairs: tuple[Pair, ...]
    """Comparisons (`peers`) of the representatives, largest distance first."""
    pairs_left_out: int = 0
    """Pairs of clusters that were not compared in full because there are too many."""


@dataclass(frozen=True, slots=True)
class StragglerChange:
    """A rank that holds others up in one of two runs, or in both."""

    state: str
    """One of `STATES`."""
    rank: int
    cause: str
    """In the new run, where it is one there."""
    base_ns: float
    """How long others wait for it in a step of the base, and of the new run."""
    new_ns: float
    base_rank: int | None
    """Which rank it was in the base, where another one of its role is named there."""
    steps: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges:
    """Two runs of many ranks beside each other."""

    base: RankSet
    new: RankSet
    layouts: tuple[RankLayout, RankLayout]
    verdict: str
    """One of `diagnosis.VERDICTS`, on the steps of the run."""
    reason: str
    step_time: CycleTime
    """How long the steps of the run are, in the mean over its ranks."""
    attribution: tuple[Component, ...]
    """Of the mean step, parts as in `PARTS`, whose changes add up to its own; largest first.

    Their intervals are None with fewer than two steps on a side.
    """
    stragglers: tuple[StragglerChange, ...]
    """New ones first."""
    collectives: pl.DataFrame
    """Rows of `COLLECTIVE_CHANGE_SCHEMA`."""
    ranks: pl.DataFrame
    """Rows of `RANK_CHANGE_SCHEMA`; none where ranks of one run are not those of the other."""
    notes: tuple[str, ...]
    """What to know first: other layouts, ranks that are missing or damaged."""

    @property
    def common(self) -> list[int]:
        """Ranks that both sides have."""
        return sorted(self.base.ranks.keys() & self.new.ranks.keys())


# -- all of it -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed between runs: pairs of processes, or groups of them; no word about it."""

    sources: tuple[str, ...]
    """The paths that were given."""
    pairs: tuple[Pair, ...]
    roles: tuple[Process, ...]
    """Every process that was read; a pair holds two of them."""
    exploration: Exploration | None = None
    """Which of many processes behave alike; None where pairs were compared."""
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers: what was left out, and why."""
    cases_left_out: tuple[str, ...] = ()
    """Why whole cases could not be compared, each in a sentence; notes name them as well."""
    files_left_out: tuple[str, ...] = ()
    """Why files of a side could not be read, in the same way."""
    roles_left_out: tuple[str, ...] = ()
    """Processes that have no partner on the other side, each by its name."""
    ranks: RankChanges | None = None
    """What changed over all ranks, where both sides are runs of many; None otherwise."""

    @property
    def fitness(self) -> dict[str, Fitness]:
        """What each recording that was compared can answer, by the name of its process."""
        return {role.label: role.fitness for role in self.roles}

    @property
    def all_pairs(self) -> tuple[Pair, ...]:
        """Every pair of two processes, those that stand for groups as well."""
        return (*self.pairs, *(() if self.exploration is None else self.exploration.pairs))

    @property
    def has_all_ranks(self) -> bool:
        """Whether no rank of a run is only compared as a part of the whole."""
        if self.ranks is None:
            return True
        before, now = (layout.world for layout in self.ranks.layouts)
        compared = {pair.new.rank for pair in self.pairs}
        return before == now and compared.issuperset(self.ranks.common)
