"""What a comparison of two roles comes to, as plain data; and the signals of one of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.behaviour import once_per_cycle, plain_texts
from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.statistics.drift import warm_up
from timesink.analyses.statistics.exact import least_p
from timesink.analyses.statistics.repeats import Decision, TimedRun
from timesink.comparison.program.alignment import count_calls, kinds_of, ranges
from timesink.comparison.program.calls import (
    ANNOTATION,
    COPY,
    KERNEL,
    MODULE,
    OPERATOR,
    RUNTIME,
    Program,
)
from timesink.model import vendors
from timesink.model.diagnosis import RECORDED, SteadyTimes
from timesink.model.fitness import FIT, Fitness
from timesink.model.intervals import Ints
from timesink.model.schema import HOST_DEVICE

if TYPE_CHECKING:
    from timesink.analyses.replay.own_clock import StepTime
    from timesink.analyses.work.cycle_work import ProcessWork


@dataclass(frozen=True, eq=False)
class ProcessSteps:
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
    """How its cycles were found (`cycles.METHODS`); None for a behaviour table."""
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

    @property
    def cycles(self) -> int:
        """How many cycles it has."""
        return self.behaviour["cycle"].n_unique()

    @cached_property
    def anchor(self) -> str | None:
        """What marks most of its cycles; None where nothing says so."""
        cycles = self.behaviour[["cycle", "anchor"]].unique("cycle", keep="first")
        anchors = Counter(text for text in cycles["anchor"].cast(pl.String) if text is not None)
        return min(anchors, key=lambda text: (-anchors[text], text), default=None)

    @property
    def mean_cycle_ns(self) -> float:
        """Mean length of its cycles; 0 where no length is known."""
        mean = cycle_lengths(self.behaviour).mean()
        return mean if isinstance(mean, float) else 0.0


def cycle_lengths(behaviour: pl.DataFrame) -> pl.Series:
    """Length of every cycle whose length is known, in ns, in the order of the cycles."""
    timed_rows = behaviour.lazy().select("cycle", "cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0)
    lengths = timed_rows.group_by("cycle").agg(pl.col("cycle_dur_ns").max()).sort("cycle")
    return lengths.collect(engine="in-memory")["cycle_dur_ns"]


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
    """Two roles beside each other."""

    kind: str
    """The same process in both runs is `strict`, different ones `cross`, and representatives of two
    clusters are `peers`."""
    base: ProcessSteps
    new: ProcessSteps
    cycle_times: CycleTimes
    workload: Workload
    rows: pl.DataFrame
    times: pl.DataFrame
    families: pl.DataFrame
    findings: tuple[KeyFinding, ...]
    """Up to three, of rows whose score is above the published threshold of 10."""
    equal_work: Pair | None = None
    """The same pair with the cycles of one side put together until both hold the same work; only
    where that was needed and possible."""
    plain: ComparedRuns | None = None
    known_rows: pl.DataFrame | None = None
    """`rows` one by one with counters as far as they are known, where that is another thing."""

    @property
    def loads(self) -> pl.DataFrame:
        """`rows` with counters over the cycles that know them, and not zero in the others.

        Only rows whose counter both sides know, in units that meet, run on `both` here.
        """
        return self.rows if self.known_rows is None else self.known_rows


THRESHOLD = 10.0
"""Rows with a higher score are worth a word."""
_MAX_FINDINGS = 3
"""Findings, and metrics of each."""
_MIN_CHANGE = 1e-6
"""Metrics that changed by less did not change."""


def key_findings(rows: pl.DataFrame) -> tuple[KeyFinding, ...]:
    """The first functions of the rows whose score is above the threshold, with their metrics."""
    high = rows.select("function", "device", "mu_delta", "score").with_row_index("row")
    high = high.filter(pl.col("score") > THRESHOLD)
    heads = high.unique(["function", "device"], keep="first", maintain_order=True).head(
        _MAX_FINDINGS
    )
    findings = []
    for row, function, device in heads.select("row", "function", "device").iter_rows():
        same = (pl.col("function") == function) & (pl.col("device") == device)
        changed = high.filter(same, pl.col("mu_delta").abs() > _MIN_CHANGE)["row"]
        findings.append(
            KeyFinding(function, device, row, tuple(changed.head(_MAX_FINDINGS).to_list()))
        )
    return tuple(findings)


# -- what one side tells without any noise, or nearly ----------------------------------------------


_RUNTIME = ("cpu_launch", "cpu_copy", "cpu_sync")


@dataclass(frozen=True, slots=True)
class SignalName:
    """One signal, as people read it."""

    title: str
    unit: str
    """`time_ns`, `count`, `bytes` or `text`, as kinds of columns are called."""
    exact: bool
    """Whether equal programs have equal ones, and no test is needed."""


SIGNALS: Mapping[str, SignalName] = {
    "program": SignalName("program", "text", exact=True),
    "launches": SignalName("launches per step", "count", exact=True),
    "syncs": SignalName("waits for the device per step", "count", exact=True),
    "copied_bytes": SignalName("bytes copied per step", "bytes", exact=True),
    "peak_memory_bytes": SignalName("peak memory", "bytes", exact=True),
    "device_ns": SignalName("device time per step", "time_ns", exact=False),
    "cycle_ns": SignalName("step time", "time_ns", exact=False),
}
"""Fields of `Signals`: what is certain first, then what is precise, then cycle time."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals of one run: the middle of its cycles after warm-up; None where it does not tell."""

    program: str | None = None
    """Equal programs have equal texts: what a usual cycle calls, and how often."""
    launches: float | None = None
    """Kernels, copies and memsets that the host launched; a replayed graph is one."""
    syncs: float | None = None
    """Calls that wait for the device, blocking copies among them."""
    copied_bytes: float | None = None
    """Of copies and memsets."""
    peak_memory_bytes: int | None = None
    """Most that was allocated at a time on one device, else on the host, in the recording."""
    device_ns: float | None = None
    """All work of the device, parallel streams each."""
    cycle_ns: float | None = None
    """A typical cycle: the mean without the outermost ones."""
    by: str = RECORDED
    """Which cycles `cycle_ns` is of: plain ones where there are any."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Fewest and most per cycle of each amount, without a few odd cycles."""


def signals_of(role: ProcessSteps) -> Signals:
    """The signals of one process of one run.

    >>> import timesink
    >>> base = timesink.compare(timesink.sample(), timesink.sample()).pairs[0].pair.base
    >>> found = signals_of(base)
    >>> found.launches, found.ranges["syncs"]
    (489.0, (1.0, 1.0))
    """
    lengths = cycle_lengths(role.behaviour).cast(pl.Float64).to_numpy()
    every = np.sort(role.behaviour["cycle"].unique().to_numpy())
    skip = warm_up(lengths) if len(lengths) == len(every) else 0
    cycles, lengths = every[skip:], lengths[skip:]
    amounts = _amounts(role, cycles)
    spans = {name: _range(values) for name, values in amounts.items()}
    middle = {name: float(np.median(values)) for name, values in amounts.items()}
    timed = role.plain[0] if role.plain else TimedRun("", lengths, by=RECORDED)
    return Signals(
        program=None if role.program is None else digest(role.program, cycles),
        **middle,
        peak_memory_bytes=role.peak_memory_bytes,
        cycle_ns=timed.typical_ns if len(timed.cycles_ns) else None,
        by=timed.by,
        ranges=spans,
    )


def digest(program: Program, cycles: Ints) -> str:
    """A short text that equal programs have in common: how often a usual cycle calls what.

    Calls that vary from cycle to cycle are left out: how often they come is no property of it.
    """
    sites = program.sites.sort("site")
    common = sorted(set(cycles.tolist()) & set(program.cycles))
    side = count_calls(program, sites["site"], common or program.cycles)
    structural = np.isin(sites["sort"].to_numpy(), (OPERATOR, ANNOTATION, MODULE))
    if not program.host:
        structural[:] = True
    usual = side.only(kinds_of(side, structural)[0])
    least, most = ranges(usual.calls)
    steady = np.flatnonzero((least == most) & (most > 0))
    content = np.stack([sites["site"].to_numpy()[steady], least[steady].astype(np.uint64)])
    return hashlib.sha256(np.ascontiguousarray(content).tobytes()).hexdigest()[:16]


def _amounts(role: ProcessSteps, cycles: Ints) -> dict[str, Ints]:
    """Counts and device time, cycle by cycle, of what was recorded at all."""
    amounts: dict[str, Ints] = {}
    once = once_per_cycle(plain_texts(role.behaviour)).select(
        "cycle", "function", "function_class", "device", "calls", "dur_ns"
    )
    on_host = pl.col("device").cast(pl.String) == HOST_DEVICE
    runtime = once.filter(on_host, pl.col("function_class").cast(pl.String).is_in(_RUNTIME))
    if runtime.height:
        names = runtime["function"].unique().to_list()
        waits = [name for name in names if vendors.waits_for_device(name)]
        amounts["syncs"] = _sums(runtime.filter(pl.col("function").is_in(waits)), "calls", cycles)
    if role.program is None:
        work = once.filter(~on_host)
        return amounts | ({"device_ns": _sums(work, "dur_ns", cycles)} if work.height else {})
    sites = role.program.sites.select("site", "parent", "sort")
    graphs = sites.filter(pl.col("sort") == RUNTIME)["site"]
    # Calls of the runtime in a program replay graphs: what is in these has no launch of its own.
    launched = pl.col("sort").is_in([KERNEL, COPY]) & ~pl.col("parent").is_in(graphs.implode())
    rows = role.program.counts.join(sites, on="site")
    work = rows.filter(pl.col("sort").is_in([KERNEL, COPY]))
    if work.height:
        amounts["device_ns"] = _sums(work, "device_ns", cycles)
        amounts["launches"] = _sums(
            rows.filter(launched | (pl.col("sort") == RUNTIME)), "calls", cycles
        )
        amounts["copied_bytes"] = _sums(work.filter(pl.col("sort") == COPY), "bytes", cycles)
    return amounts


def _sums(rows: pl.DataFrame, amount: str, cycles: Ints) -> Ints:
    """The sum of each cycle, with zero for those that have none."""
    every = pl.DataFrame({"cycle": cycles}, schema={"cycle": rows.schema["cycle"]})
    sums = rows.group_by("cycle").agg(pl.col(amount).sum())
    return (
        every.join(sums, on="cycle", how="left", maintain_order="left")[amount]
        .fill_null(0)
        .to_numpy()
    )


def _range(values: Ints) -> tuple[float, float]:
    least, most = ranges(values[:, None])
    return float(least[0]), float(most[0])
