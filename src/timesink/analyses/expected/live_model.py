"""What cycles of a running program take: learned from its first ones, kept as a file."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.expected.live_limits import LiveLimits, live_limits_from
from timesink.analyses.expected.model import (
    FEWEST_CYCLES,
    HOUR_US,
    MODEL_SCHEMA,
    DurationModel,
    learned,
    model_problem,
)
from timesink.analyses.expected.trees import AskedForest, bucket_table
from timesink.analyses.expected.workload import (
    DURATION,
    JOB,
    START,
    Floats,
    workload_columns,
    workload_of,
)
from timesink.errors import UnreadableError, UsageError

LIVE_SCHEMA = "timesink/watch-live/1"
_MOST_ROWS = 100_000
_WARM_BLOCK = 10
_WARM_LEVEL, _WARM_SPIKE = float(np.log(1.05)), float(np.log(1.5))
_ROUNDS, _FEW_ROUNDS = 80, 50


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

    def to_json(self) -> bytes:
        """The model as a file."""
        return msgspec.json.encode(self)


def live_model_from(content: bytes, path: str) -> LiveModel:
    """A model as it was written; anything else is refused."""
    hint = "leave --model out to learn from the program's first cycles"
    try:
        model = msgspec.json.decode(content, type=LiveModel)
        known = model.schema == LIVE_SCHEMA
        why = "" if known else f"version {model.schema[-20:]!r}, not {LIVE_SCHEMA!r}"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = str(error).splitlines()[0][:120]
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
    rows = in_order(rows.tail(_MOST_ROWS))
    kept = rows.filter(~_warm_up(rows))
    made = learned(
        kept.drop("told_ts"), rate=alarms_per_hour, per_hour=True, live=True,
        rounds=_ROUNDS if kept.height > 3000 else _FEW_ROUNDS,
    )  # fmt: skip
    busiest = max(
        float(made.cycles.duration_us[made.cycles.runs == run].sum())
        for run in np.unique(made.cycles.runs)
    )
    limits = live_limits_from(
        made.cycles, made.distance, made.model.limits.busy_edges,
        alarms_per_hour=alarms_per_hour, at_least=at_least, hours=busiest / HOUR_US,
        cycle_us=float(np.median(made.cycles.duration_us)),
    )  # fmt: skip
    told = kept["told_ts"].drop_nulls()
    span = (told.min(), told.max()) if len(told) else (0.0, 0.0)
    first, last = (int(1e6 * float(one)) for one in span)  # type: ignore[arg-type]
    return LiveModel(LIVE_SCHEMA, made.model, limits, source, (first, last), made.model.cycles)


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose place is the order they came in: clocks are set, and go back."""
    numbers = [DURATION, START, *workload_columns(rows)]
    told = {name: pl.col(name).cast(pl.Float64) for name in numbers if name in rows.columns}
    if DURATION not in told:
        raise UsageError("the rows do not tell how long a cycle took", "name it duration_us")
    finite = {
        name: pl.when(value.is_finite()).then(value).otherwise(None) for name, value in told.items()
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
    if len(later) < FEWEST_CYCLES:
        return pl.Series(cut)
    later = later[:: max(1, len(later) // 3000)]
    usual = AskedForest(bucket_table(cycles.features[later], target[later]))
    distance = np.where(usable, target - usual.predict(cycles.features), 0.0)
    # Of what the second half has not, nobody knows what is usual.
    low, high = (pick(np.nan_to_num(cycles.features[later]), axis=0) for pick in (np.min, np.max))
    told = np.nan_to_num(cycles.features)
    distance[((told < low) | (told > high)).any(axis=1)] = 0.0
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
    if half < 5 * _WARM_BLOCK:
        return 0
    first, later = distance[:half], distance[half:]
    slow = np.flatnonzero(first[: half // 2] > later.max() + _WARM_SPIKE)
    found = int(slow[-1]) + 1 if len(slow) else 0
    level, usual = (
        np.median(part[: len(part) // _WARM_BLOCK * _WARM_BLOCK].reshape(-1, _WARM_BLOCK), axis=1)
        for part in (first, later)
    )
    odd = (level > usual.max() + _WARM_LEVEL) | (level < usual.min() - _WARM_LEVEL)
    end = 0
    for place in np.flatnonzero(odd):
        # Two blocks like the rest may lie between.
        if place - end <= 2:
            end = int(place) + 1
    return max(found, end * _WARM_BLOCK)
