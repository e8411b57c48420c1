"""What cycles of a workload take: learned from a table or a program that runs, kept as a file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from timesink.errors import UnreadableError, UsageError
from timesink.formats.small_files import DamagedError, decode_small_json
from timesink.model.arrays import ranks_of
from timesink.model.intervals import Flags, Floats, Ints
from timesink.watcher.expected.limits import DurationLimits, limits_for_new_runs, limits_from
from timesink.watcher.expected.live_limits import LiveLimits, live_limits_from
from timesink.watcher.expected.trees import (
    AskedForest,
    Forest,
    boosted_forest,
    bucket_table,
    has_boosting,
    join_forests,
)
from timesink.watcher.expected.workload import (
    BATCH,
    DURATION,
    FIRST,
    JOB,
    START,
    CycleWorkload,
    workload_columns,
    workload_of,
)
from timesink.watcher.thresholds import ModelLimits, TreesLimits

MODEL_SCHEMA = "timesink/watch-model/1"
_FOLDS, _BLOCKS, _ROUNDS = 5, 4, 250
HELD_RUNS = 2 * _FOLDS
"""Of so many runs whole ones are held out."""
_TOTALS = ("kv", "total_input")
_MAX_CELLS = 100_000
HOUR_US = 3.6e9


class FeatureRange(msgspec.Struct, frozen=True):
    """Between which values of a feature cycles were learned from."""

    feature: str
    low: float
    high: float
    may_miss: bool
    levels: list[float] = []
    """All values there were, where these are few: what lies between was not learned."""


class DurationModel(msgspec.Struct, frozen=True):
    """What was learned of cycles; all that judging others needs."""

    schema: str
    kind: str
    """boosted trees, or a table of medians where scikit-learn was not there."""
    columns: list[str]
    """What rows must tell."""
    features: list[str]
    forest: Forest
    limits: DurationLimits
    ranges: list[FeatureRange]
    cells: list[tuple[int, int]]
    """Where in the plane of batch and kv cycles lie; none without them."""
    empty_below_us: float
    cycles: int
    runs: int
    cycle_us: float
    """What a cycle takes on average, to tell alarms per hour."""
    empty: int
    unusable: int
    seed: int
    error_pct: list[float]
    """Out of fold: median and mean absolute error, and the share within 10 %."""

    def to_json(self) -> bytes:
        """The model as a file."""
        return msgspec.json.encode(self)


def model_from(content: bytes, path: str) -> DurationModel:
    """A model as it was written; anything else is refused."""
    hint = "make one with  timesink watch learn ROWS.csv -o model.json"
    try:
        header = decode_small_json(content, path, hint, _NamedModel)
        if header.schema != MODEL_SCHEMA:
            is_other_version = header.schema.startswith(MODEL_SCHEMA.rpartition("/")[0])
            why = (
                f"version {header.schema[-20:]!r}, not {MODEL_SCHEMA!r}"
                if is_other_version
                else "no model"
            )
            raise UnreadableError(f"{path}: not a model timesink can use ({why})", hint)
        model = decode_small_json(content, path, hint, DurationModel)
    except DamagedError as error:
        why = error.reason[:120]
        raise UnreadableError(f"{path}: not a model timesink can use ({why})", hint) from None
    problem = model_problem(model)
    if problem:
        raise UnreadableError(f"{path}: not a model timesink can use ({problem})", hint)
    return model


class _NamedModel(msgspec.Struct):
    schema: str


def model_problem(model: DurationModel) -> str:
    """Why a model cannot be used; empty where it can."""
    numbers = [model.empty_below_us, model.cycle_us, *model.error_pct]
    numbers += [
        value for feature_range in model.ranges for value in (feature_range.low, feature_range.high)
    ]
    if not np.isfinite(numbers).all() or model.cycle_us <= 0 or len(model.error_pct) != 3:
        return "it holds numbers that cannot be"
    names = {*model.columns, *model.features}
    if len(names) > 1000 or any(len(name) > 200 for name in names):
        return "it has too many features"
    if len(model.cells) > _MAX_CELLS or len({*model.features}) < len(model.features):
        return "its features do not fit"
    feature_names = workload_of(_no_rows(model.columns), model.columns).names
    if list(feature_names) != model.features or not {
        feature_range.feature for feature_range in model.ranges
    } <= {*feature_names}:
        return "its features are not those of its columns"
    return model.forest.problem(len(model.features)) or model.limits.problem()


def _no_rows(columns: Sequence[str]) -> pl.DataFrame:
    kinds = {"duration_us": pl.Float64, "job_name": pl.String, "start_ts": pl.Float64}
    return pl.DataFrame(schema={**dict.fromkeys(columns, pl.Float64), **kinds})


# -- learning --------------------------------------------------------------------------------------


def learn_model(
    rows: pl.DataFrame, *, rate: float = 0.02, per_hour: bool = False, seed: int = 0,
    rounds: int = _ROUNDS, boosting: bool | None = None,
) -> DurationModel:  # fmt: skip
    """What cycles of each workload take; `rate` is of false alarms, per cycle or per hour."""
    return fit_model(
        rows, rate=rate, per_hour=per_hour, seed=seed, rounds=rounds, boosting=boosting
    ).model


class Learned(msgspec.Struct, frozen=True):
    """A model, and how far each cycle was from what was learned without it."""

    model: DurationModel
    cycles: CycleWorkload
    distance: Floats


def fit_model(
    rows: pl.DataFrame, *, rate: float, per_hour: bool, seed: int = 0, rounds: int = _ROUNDS,
    boosting: bool | None = None, live: bool = False,
) -> Learned:  # fmt: skip
    """`live`: rows of one program in order of time.  All may tell nothing of the workload."""
    every = workload_of(rows)
    has_duration = np.isfinite(every.duration_us) & (every.duration_us > 0)
    below = _empty_below(every.duration_us[has_duration])
    used = has_duration & (np.nan_to_num(every.duration_us) >= below)
    cycles = every.part(used)
    if len(cycles) < ModelLimits.min_cycles:
        raise UsageError(
            f"{len(cycles)} usable steps: too few to learn from",
            f"give a table of {ModelLimits.min_cycles} or more, with a duration_us above zero",
        )
    cycle_us = float(cycles.duration_us.mean())
    per_cycle = min(rate * cycle_us / HOUR_US if per_hour else rate, 0.5)
    # Without anything to tell cycles apart, their median is all there is.
    boosting = _varies(cycles) and (has_boosting() if boosting is None else boosting)
    target = np.log(cycles.duration_us)
    expected = np.empty(len(cycles))
    outside = np.zeros(len(cycles), dtype=bool)
    bounded = [*rows.columns, *_TOTALS]
    forests = []
    plain, medians = np.empty(len(cycles)), []
    for number, in_fold in enumerate(_folds(cycles, seed, in_time=live)):
        chosen = _some(~in_fold, seed)
        seen, aim = cycles.features[chosen], target[chosen]
        fold_forest = (
            boosted_forest(seen, aim, seed=seed * _FOLDS + number, rounds=rounds)
            if boosting
            else bucket_table(seen, aim)
        )
        forests.append(fold_forest)
        expected[in_fold] = AskedForest(fold_forest).predict(cycles.features[in_fold])
        medians.append(bucket_table(seen[:, :0], aim))
        plain[in_fold] = np.median(aim)
        rest = cycles.part(~in_fold)
        outside[in_fold] = outside_of(
            _ranges(rest, bounded, live=live), near(_cells(rest)), cycles.part(in_fold)
        )
    if (~outside).sum() < ModelLimits.min_cycles:
        if not live:
            raise UsageError(
                "runs differ too much to learn from",
                "give a table with several runs of similar workloads",
            )
        outside[:] = False
    if live and _gains_little(target - plain, target - expected):
        boosting, forests, expected = False, medians, plain
    distance = (target - expected)[~outside]
    # What was unlike all that a fold saw would not have been judged.
    inside = cycles.part(~outside)
    wrong = 100 * np.abs(np.expm1(-distance))
    model = DurationModel(
        schema=MODEL_SCHEMA,
        kind="boosted trees" if boosting else "table of medians",
        columns=[name for name in rows.columns if name in every.names],
        features=list(every.names),
        forest=join_forests(
            forests, float(np.mean([forest.start for forest in forests])), len(forests)
        ),
        limits=(limits_from if live else limits_for_new_runs)(inside, distance, per_cycle),
        ranges=_ranges(cycles, bounded, live=live),
        cells=_cells(cycles),
        empty_below_us=below,
        cycles=len(cycles),
        runs=len(np.unique(cycles.runs)),
        cycle_us=cycle_us,
        empty=int((has_duration & ~used).sum()),
        unusable=int((~has_duration).sum()),
        seed=seed,
        error_pct=[float(np.median(wrong)), float(wrong.mean()), float(100 * (wrong <= 10).mean())],
    )
    return Learned(model, inside, distance)


def _gains_little(plain: Floats, modelled: Floats) -> bool:
    """Whether workloads tell nothing: what a host does by turns, trees take for their doing."""
    return float(np.mean(np.abs(modelled))) > ModelLimits.gain * float(np.mean(np.abs(plain)))


def _varies(cycles: CycleWorkload) -> bool:
    columns = [column[np.isfinite(column)] for column in cycles.features.T]
    return any(len(column) and column.min() < column.max() for column in columns)


def _some(chosen: Flags, seed: int) -> Ints:
    """Where chosen cycles are; of very many, as many as trees need."""
    where = np.flatnonzero(chosen)
    if len(where) <= ModelLimits.max_learned:
        return where
    return np.sort(
        np.random.default_rng(seed).choice(where, ModelLimits.max_learned, replace=False)
    )


def _empty_below(duration_us: Floats) -> float:
    """Durations no cycle with work has: below a wide gap under the shortest of them."""
    if not len(duration_us):
        return 0.0
    ordered = np.sort(duration_us)
    lowest = ordered[: max(2, len(ordered) // 20)]
    gaps = np.diff(np.log(lowest))
    wide = np.flatnonzero(gaps > np.log(ModelLimits.empty_factor))
    if len(wide):
        return float(np.sqrt(lowest[wide[-1]] * lowest[wide[-1] + 1]))
    return float(ordered[0] / ModelLimits.empty_factor)


def _folds(cycles: CycleWorkload, seed: int, *, in_time: bool) -> list[Flags]:
    """Whole runs that are held out in turn; of few runs, stretches of time."""
    unit: Ints = cycles.runs
    if in_time:
        unit = ranks_of(cycles.rows) * _FOLDS * _BLOCKS // len(cycles)
    elif len(np.unique(unit)) < HELD_RUNS:
        unit = np.arange(len(cycles)) * _FOLDS * _BLOCKS // len(cycles)
    units = np.unique(unit)
    np.random.default_rng(seed).shuffle(units)
    return [np.isin(unit, units[first::_FOLDS]) for first in range(_FOLDS)]


def _ranges(cycles: CycleWorkload, names: Sequence[str], *, live: bool) -> list[FeatureRange]:
    ranges = []
    for name in names:
        values = cycles.column(name)
        finite = values[np.isfinite(values)]
        if name in cycles.names and len(finite):
            low, high = float(finite.min()), float(finite.max())
            # Sizes that a program goes through by steps: trees know nothing of those between, and
            # take the outermost, where they came but a few times, for those beside them.
            sizes, times = np.unique(finite, return_counts=True)
            often = np.flatnonzero(times >= TreesLimits.leaf_cycles)
            by_steps = live and len(sizes) <= ModelLimits.max_levels and len(often)
            levels = sizes[often[0] : often[-1] + 1].tolist() if by_steps else []
            # Tables that were made elsewhere do not tell what came first.
            may_miss = len(finite) < len(values) or name == FIRST
            ranges.append(FeatureRange(name, low, high, may_miss, levels))
    return ranges


# -- what is like that which was learned -----------------------------------------------------------


def outside_of(
    ranges: Sequence[FeatureRange], near_cells: set[tuple[int, int]], cycles: CycleWorkload
) -> Flags:
    """Cycles unlike what was learned."""
    is_outside = np.zeros(len(cycles), dtype=bool)
    for feature_range in ranges:
        values = cycles.column(feature_range.feature)
        margin = ModelLimits.margin * max(abs(feature_range.low), abs(feature_range.high))
        is_outside |= (values < feature_range.low - margin) | (values > feature_range.high + margin)
        if not feature_range.may_miss:
            is_outside |= np.isnan(values)
        if feature_range.levels:
            levels = np.array(feature_range.levels)
            nearest = levels[np.abs(np.nan_to_num(values)[:, None] - levels).argmin(axis=1)]
            is_outside |= np.abs(values - nearest) > ModelLimits.margin * np.maximum(
                np.abs(nearest), 1e-9
            )
    if near_cells:
        unseen = [tuple(cell) not in near_cells for cell in _plane(cycles).tolist()]
        is_outside |= np.array(unseen, dtype=bool)
    return is_outside


def near(cells: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Cells, and those beside them."""
    sides = (-1, 0, 1)
    return {(batch + by, kv + beside) for batch, kv in cells for by in sides for beside in sides}


def _cells(cycles: CycleWorkload) -> list[tuple[int, int]]:
    if not {BATCH, "kv"} <= {*cycles.names}:
        return []
    return [(batch, kv) for batch, kv in np.unique(_plane(cycles), axis=0).tolist()]


def _plane(cycles: CycleWorkload) -> Ints:
    """The cell of each cycle in the plane of batch and kv."""
    plane = np.stack([cycles.column(BATCH), cycles.column("kv")], axis=1)
    return np.asarray(
        np.floor(np.log(np.maximum(np.nan_to_num(plane), 1e-9)) / ModelLimits.cell).astype(np.int64)
    )


# -- the model of a running program, learned from its first cycles ---------------------------------


LIVE_SCHEMA = "timesink/watch-live/1"
_MAX_ROWS = 100_000
_WARM_LEVEL, _WARM_SPIKE = float(np.log(1.05)), float(np.log(1.5))
_LIVE_ROUNDS, _FEW_ROUNDS = 80, 50


_NINE_OF_TEN = (0.05, 0.95)
_RESTLESS = float(np.log(2.0))
"""Learned cycles were restless where some took twice as long as others for the same work ..."""
_FASTER = float(np.log(1.5))
"""Cycles that take two thirds of what was learned: what was learned was slow."""


class LiveModel(msgspec.Struct, frozen=True):
    """What cycles of a program take, and when they are too slow."""

    schema: str
    model: DurationModel
    limits: LiveLimits
    source: str
    """Where cycles come from, as `optimizer step SGD`."""
    learned_us: tuple[int, int]
    """When the first and the last cycle that was learned from began."""
    cycles: int
    range_us: tuple[float, float] = (0.0, 0.0)
    """What nine of ten cycles that were learned from took."""
    scatter: float = 0.0
    """How far apart the ends of that are beside what is expected: ln of their ratio."""

    def to_json(self) -> bytes:
        """The model as a file."""
        return msgspec.json.encode(self)


def live_model_from(content: bytes, path: str) -> LiveModel:
    """A model as it was written; anything else is refused."""
    hint = "leave --model out to learn from the program's first steps"
    try:
        model = decode_small_json(content, path, hint, LiveModel)
        is_current = model.schema == LIVE_SCHEMA
        why = "" if is_current else f"version {model.schema[-20:]!r}, not {LIVE_SCHEMA!r}"
    except DamagedError as error:
        why = error.reason[:120]
        if MODEL_SCHEMA.encode() in content[:200]:
            why = "it is of `timesink watch learn`, for tables"
    why = why or model_problem(model.model) or model.limits.problem()
    if why:
        raise UnreadableError(f"{path}: not a model of a running program ({why})", hint)
    return model


def learn_live(
    rows: pl.DataFrame, *, alarms_per_hour: float = 0.1, at_least: float = 0.1, source: str = ""
) -> LiveModel:
    """Learn from the cycles of a program, in order of time, what they take.

    >>> rows = pl.DataFrame({"job_name": "1.0", "start_ts": np.arange(200) / 100,
    ...                      "duration_us": 9000.0 + np.arange(200) % 7})
    >>> learn_live(rows).limits.sums[0].allowance < 0.1
    True
    """
    rows = in_order(rows.tail(_MAX_ROWS))
    steady = rows.filter(~_warm_up(rows))
    result = fit_model(
        steady.drop("told_ts"), rate=alarms_per_hour, per_hour=True, live=True,
        rounds=_LIVE_ROUNDS if steady.height > 3000 else _FEW_ROUNDS,
    )  # fmt: skip
    busiest = max(
        float(result.cycles.duration_us[result.cycles.runs == run].sum())
        for run in np.unique(result.cycles.runs)
    )
    limits = live_limits_from(
        result.cycles, result.distance, result.model.limits.busy_edges,
        alarms_per_hour=alarms_per_hour, at_least=at_least, hours=busiest / HOUR_US,
        cycle_us=float(np.median(result.cycles.duration_us)),
    )  # fmt: skip
    times = steady["told_ts"].drop_nulls()
    span = (times.min(), times.max()) if len(times) else (0.0, 0.0)
    first, last = (int(1e6 * float(moment)) for moment in span)  # type: ignore[arg-type]
    # Of the warm-up as well: that it was learned beside is said.
    low, high = np.quantile(rows[DURATION].drop_nulls().to_numpy(), _NINE_OF_TEN).tolist()
    scatter = float(np.subtract(*np.quantile(result.distance, _NINE_OF_TEN[::-1])))
    return LiveModel(
        LIVE_SCHEMA, result.model, limits, source, (first, last), result.model.cycles,
        (low, high), scatter,
    )  # fmt: skip


def is_calmer(model: LiveModel, judged: pl.DataFrame) -> bool:
    """Whether cycles scatter far less now than while learned, or are faster: limits are too wide.

    `judged` has `duration_us` and `expected_us`, as the table of `JudgedCycles`.

    >>> rows = pl.DataFrame({"duration_us": [9000.0, 9100.0] * 100, "expected_us": 9000.0})
    >>> is_calmer(LiveModel("", None, None, "", (0, 1), 200, (2e4, 6e5), 3.4), rows)
    True
    """
    cycles = judged.select("duration_us", "expected_us").drop_nulls()
    cycles = cycles.filter(pl.all_horizontal(pl.all() > 0))
    if cycles.height < ModelLimits.min_cycles:
        return False
    distance = np.log(cycles["duration_us"].to_numpy() / cycles["expected_us"].to_numpy())
    if float(np.median(distance)) < -_FASTER:
        return True
    if model.scatter < _RESTLESS:
        return False
    now = float(np.subtract(*np.quantile(distance, _NINE_OF_TEN[::-1])))
    return model.scatter > ModelLimits.much_calmer * now


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose place is the order they came in: clocks are set, and go back."""
    numbers = [DURATION, START, *workload_columns(rows)]
    columns = {name: pl.col(name).cast(pl.Float64) for name in numbers if name in rows.columns}
    if DURATION not in columns:
        raise UsageError("no column has the time of a step", "name it duration_us")
    finite = {
        name: pl.when(value.is_finite()).then(value).otherwise(None)
        for name, value in columns.items()
    }
    stream = pl.col(JOB).cast(pl.String).fill_null("") if JOB in rows.columns else pl.lit("")
    when = finite.pop(START, pl.lit(None, dtype=pl.Float64))
    index = pl.int_range(pl.len()).cast(pl.Float64)
    return rows.select(stream.alias(JOB), when.alias("told_ts"), index.alias(START), **finite)


def _warm_up(rows: pl.DataFrame) -> pl.Series:
    """Rows at the beginning of each stream that are not like its second half."""
    cycles = workload_of(rows.drop("told_ts"))
    cut = np.zeros(rows.height, dtype=bool)
    usable = np.isfinite(cycles.duration_us) & (cycles.duration_us > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        target = np.log(cycles.duration_us)
    place = np.concatenate([np.arange(n) / n for n in np.bincount(cycles.runs) if n] or [[]])
    later = np.flatnonzero(usable & (place >= 0.5))
    if len(later) < ModelLimits.min_cycles:
        return pl.Series(cut)
    later = later[:: max(1, len(later) // 3000)]
    usual = AskedForest(bucket_table(cycles.features[later], target[later]))
    distance = np.where(usable, target - usual.predict(cycles.features), 0.0)
    # Of what the second half has not, nobody knows what is usual.
    low, high = (pick(np.nan_to_num(cycles.features[later]), axis=0) for pick in (np.min, np.max))
    features = np.nan_to_num(cycles.features)
    distance[((features < low) | (features > high)).any(axis=1)] = 0.0
    for run in np.unique(cycles.runs):
        mine = np.flatnonzero(cycles.runs == run)
        cut[cycles.rows[mine[: _warm_cycles(distance[mine])]]] = True
    return pl.Series(cut)


def _warm_cycles(distance: Floats) -> int:
    """How many cycles at the beginning are unlike the second half.

    >>> _warm_cycles(np.concatenate([np.full(25, 0.4), np.zeros(300)]))
    30
    """
    half = len(distance) // 2
    if half < 5 * ModelLimits.warm_block:
        return 0
    first, later = distance[:half], distance[half:]
    slow = np.flatnonzero(first[: half // 2] > later.max() + _WARM_SPIKE)
    slow_end = int(slow[-1]) + 1 if len(slow) else 0
    level, usual = (
        np.median(
            part[: len(part) // ModelLimits.warm_block * ModelLimits.warm_block].reshape(
                -1, ModelLimits.warm_block
            ),
            axis=1,
        )
        for part in (first, later)
    )
    odd = (level > usual.max() + _WARM_LEVEL) | (level < usual.min() - _WARM_LEVEL)
    end = 0
    for place in np.flatnonzero(odd):
        # Two blocks like the rest may lie between.
        if place - end <= 2:
            end = int(place) + 1
    return max(slow_end, end * ModelLimits.warm_block)
