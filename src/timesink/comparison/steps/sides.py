"""Two roles side by side, as far as they can meet: functions, devices, units, cycles.

And the published comparison of them: share and load of every function, metric and device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import (
    CALL_TIMES,
    CYCLE_SPANS,
    LAUNCHES,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    anatomy_of,
    only_cycles,
)
from timesink.analyses.behaviour.calls import OUTSIDE, Windows
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.behaviour.counters import LEVELS
from timesink.analyses.columns import encode, memoize_per_table, memoize_per_trace, numbers
from timesink.analyses.kernels.families import OTHER, load_families, normalised_name
from timesink.analyses.statistics.moments import QUIETLY, Moments, moments
from timesink.analyses.statistics.rank_tests import rank_p
from timesink.analyses.statistics.student_t import welch_p
from timesink.comparison.results import ROWS, KeyFinding, Process
from timesink.comparison.thresholds import SidesLimits
from timesink.model.arrays import combine_codes
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.schema import HOST_DEVICE, NO_DEVICE
from timesink.model.units import natural, quantity

_TYPES = {"f": pl.Float64(), "i": pl.Int64()}


class Sides(msgspec.Struct, frozen=True, eq=False):
    """Rows of both sides, base first, and the number of the key each of them has."""

    keys: pl.DataFrame
    """The distinct keys in order; a row's `key` is a place in it."""
    rows: pl.DataFrame
    """With the number of their key in the column `key`."""
    key: Ints
    base_rows: int

    @property
    def is_new(self) -> Flags:
        return np.asarray(np.arange(len(self.key)) >= self.base_rows)

    @property
    def parts(self) -> tuple[slice, slice]:
        """Where the rows of base and new are."""
        return slice(None, self.base_rows), slice(self.base_rows, None)

    def floats(self, column: str) -> Floats:
        """A column as numbers, 0 where it is not known."""
        values = self.rows[column].cast(pl.Float64).to_numpy()
        return np.where(np.isnan(values), 0.0, values)

    def runs_on(self) -> pl.Series:
        """Which side has each key."""
        has_base, has_new = (
            np.bincount(self.key[part], minlength=len(self.keys)) > 0 for part in self.parts
        )
        names = np.where(has_base & has_new, "both", np.where(has_base, "base", "new"))
        return pl.Series("runs_on", names.tolist(), dtype=pl.String)

    def table(self, columns: Mapping[str, Floats | Ints | pl.Series]) -> pl.DataFrame:
        """The keys, each with its values."""
        # Arrays as lists: Polars loads masked arrays for them, which takes long for small tables.
        return self.keys.hstack(
            [
                values.alias(name)
                if isinstance(values, pl.Series)
                else pl.Series(name, values.tolist(), _TYPES[values.dtype.kind])
                for name, values in columns.items()
            ]
        )


def side_by_side(base: pl.DataFrame, new: pl.DataFrame, key: list[str]) -> Sides:
    """Both sides' rows, numbered by the columns of the key."""
    rows = pl.concat([base, new])
    columns = [encode(rows[name]) for name in key]
    first, of_row = np.unique(
        combine_codes(*(codes for codes, _ in columns)), return_index=True, return_inverse=True
    )[1:]
    distinct = list(
        zip(*([texts[code] for code in codes[first]] for codes, texts in columns), strict=True)
    )
    # In the order of letters, not of appearance.
    order = sorted(range(len(distinct)), key=lambda place: text_order(distinct[place]))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    ordered = zip(*(distinct[place] for place in order), strict=True)
    texts = list(ordered) or [() for _ in key]
    return Sides(
        keys=pl.DataFrame(
            [pl.Series(name, of, dtype=pl.String) for name, of in zip(key, texts, strict=True)]
        ),
        rows=rows.hstack([pl.Series("key", number[of_row].astype(np.uint32))]),
        key=number[of_row],
        base_rows=base.height,
    )


def text_order(texts: Iterable[str | None]) -> list[tuple[bool, str]]:
    """By what to sort as Polars does: absent texts come first."""
    return [(text is not None, text or "") for text in texts]


_KEY = ["function", "metric", "device"]
_COUNT_COLUMNS = ("cycles_base", "cycles_new", "unit", "runs_on")
_MIN_SPREAD = 1e-9
"""A base that varies less than this gives no z-score."""


@QUIETLY
def comparison_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """One row per function, metric and device, highest score first, then by key.

    Means and spreads are over the cycles that have the key.  z-scores are in spreads of the base.
    The score is |change of the share| x (|z of the share| + |z of ln(1 + load)|).
    """
    if not any(has_counters(side) for side in (base, new)):
        return pl.DataFrame(schema=ROWS)
    sides = side_by_side(_measured_rows(base), _measured_rows(new), _KEY)
    beta, mu = sides.floats("beta_pct"), sides.floats("mu")
    # In how many cycles of a side each key is; usually each has one row per cycle.
    pairs = [sides.rows[part].select("key", "cycle").unique()["key"] for part in sides.parts]
    cycles = [np.bincount(keys.to_numpy(), minlength=len(sides.keys)) for keys in pairs]
    shares, loads = (_moments_of(sides, values) for values in (beta, mu))
    z_share, z_load = _z(*shares), _z(*loads)
    z_log_load = _z(*_moments_of(sides, np.log1p(mu), mu > -1))
    delta = shares[1].mean - shares[0].mean
    units = sides.rows.select("key", "unit").drop_nulls().unique("key", keep="first")
    every = sides.keys.with_row_index("key")
    columns = {
        "score": np.abs(delta) * (np.abs(z_share) + np.abs(z_log_load)),
        **_means("beta", "_pct", shares),
        "beta_z": z_share,
        "beta_welch_p": _welch_p(shares, cycles),
        "beta_rank_p": _rank_p(sides, beta),
        **_means("mu", "", loads),
        "mu_z": z_load,
        "log_mu_z": z_log_load,
        "mu_welch_p": _welch_p(loads, cycles),
        "mu_rank_p": _rank_p(sides, mu),
        "cycles_base": cycles[0],
        "cycles_new": cycles[1],
        "unit": every.join(units, on="key", how="left", maintain_order="left")["unit"],
        "runs_on": sides.runs_on(),
    }
    return (
        sides.table(columns)
        .select(ROWS.keys())
        .cast(pl.Schema(ROWS))
        .sort("score", *_KEY, descending=[True, False, False, False])
    )


def key_findings(rows: pl.DataFrame) -> tuple[KeyFinding, ...]:
    """The first functions of the rows whose score is above the threshold, with their metrics."""
    if rows.is_empty():
        return ()
    high = np.flatnonzero(rows["score"].to_numpy() > SidesLimits.threshold)
    names = [rows[name][high].to_list() for name in ("function", "device")]
    has_changed = np.abs(rows["mu_delta"].to_numpy()[high]) > SidesLimits.min_load_change
    rows_of: dict[tuple[str, str], list[int]] = {}
    heads: dict[tuple[str, str], int] = {}
    for place, key in enumerate(zip(*names, strict=True)):
        heads.setdefault(key, int(high[place]))
        if has_changed[place]:
            rows_of.setdefault(key, []).append(int(high[place]))
    return tuple(
        KeyFinding(*key, row, tuple(rows_of.get(key, ())[: SidesLimits.max_findings]))
        for key, row in list(heads.items())[: SidesLimits.max_findings]
    )


def known_rows(
    rows: pl.DataFrame, base: pl.DataFrame, new: pl.DataFrame, unlike: AbstractSet[str]
) -> pl.DataFrame | None:
    """The rows with counters over the cycles that know them; None where that changes nothing.

    Published means count a counter without a value as zero.  A row whose counter one side does not
    know at all, or which is `unlike`, is not of both sides.
    """
    if not unlike and not any(has_counters(side) for side in (base, new)):
        return None
    has_value = pl.col("mu").is_finite().fill_null(value=False)
    unknown = pl.col("metric").is_not_null() & ~has_value
    if not unlike and not any(side.select(unknown.any()).item() for side in (base, new)):
        return None
    of_known = comparison_rows(base.filter(has_value), new.filter(has_value))
    columns = [name for name in ROWS if "mu_" in name or name in _COUNT_COLUMNS]
    seen = of_known.select(*_KEY, *columns)
    joined = rows.drop(columns).join(seen, on=_KEY, how="left", maintain_order="left")
    like = ~pl.col("metric").is_in(sorted(unlike))
    return joined.select(ROWS.keys()).with_columns(pl.when(like).then(pl.col("runs_on")))


def has_counters(side: pl.DataFrame) -> bool:
    """Whether any row of a behaviour table names a counter."""
    return side["metric"].null_count() < side.height


def _measured_rows(side: pl.DataFrame) -> pl.DataFrame:
    columns = ("cycle", *_KEY, "beta_pct", "mu", "unit")
    measured = side.filter(pl.col("metric").is_not_null()).select(columns)
    return measured.with_columns(
        pl.col("function").fill_null(""), pl.col("device").fill_null("N/A")
    )


def _moments_of(
    sides: Sides, values: Floats, has_value: Flags | None = None
) -> tuple[Moments, Moments]:
    base, new = (
        moments(sides.key[part][which], values[part][which], len(sides.keys))
        for part in sides.parts
        for which in [slice(None) if has_value is None else has_value[part]]
    )
    return base, new


def _means(name: str, ending: str, both: tuple[Moments, Moments]) -> dict[str, Floats]:
    return {
        f"{name}_base{ending}": both[0].mean,
        f"{name}_new{ending}": both[1].mean,
        f"{name}_delta{ending}": both[1].mean - both[0].mean,
    }


def _welch_p(both: tuple[Moments, Moments], cycles: list[Ints]) -> Floats:
    return welch_p(
        structs.replace(both[0], count=cycles[0]), structs.replace(both[1], count=cycles[1])
    )


def _z(base: Moments, new: Moments) -> Floats:
    """Change in spreads of the base; 0 where the base is constant."""
    varied = base.spread > _MIN_SPREAD
    return np.where(varied, (new.mean - base.mean) / np.where(varied, base.spread, 1.0), 0.0)


def _rank_p(sides: Sides, values: Floats) -> Floats:
    p = rank_p(sides.key, sides.is_new, values, len(sides.keys))
    return np.where(np.isnan(p), 1.0, p)


MEETING_LEVELS = ("exact", "normalised", "family", "alone")


def match_functions(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Every function and device of both runs with the finest level at which both have it.

    Columns: function, device, normalised, family, in_base, in_new, level.  Both inputs need
    function, device and function_class.  Where all names meet, nobody asks for others: normalised
    name and family are null.
    """
    class_of_base, class_of_new = _classes_of(base), _classes_of(new)
    keys = sorted({**class_of_base, **class_of_new}, key=lambda key: text_order(key[::-1]))
    kinds = [class_of_base.get(key) or class_of_new.get(key) for key in keys]
    every = pl.DataFrame(
        [
            pl.Series("function", [function for function, _ in keys], dtype=pl.String),
            pl.Series("device", [device for _, device in keys], dtype=pl.String),
            pl.Series("in_base", [key in class_of_base for key in keys], dtype=pl.Boolean),
            pl.Series("in_new", [key in class_of_new for key in keys], dtype=pl.Boolean),
        ]
    )
    if functions_meet(base, new):
        nothing = [None] * len(keys)
        return every.hstack(
            [
                pl.Series("normalised", nothing, dtype=pl.String),
                pl.Series("family", nothing, dtype=pl.String),
                pl.Series("level", ["exact"] * len(keys), dtype=pl.Enum(MEETING_LEVELS)),
            ]
        )
    met = pl.col("in_base") & pl.col("in_new")
    name = ["device", "family", "normalised"]
    # Where one variant of a function is missing on a side, another one took over its calls.
    named = (~met).any().over(name) & _on_both_sides(pl.lit(value=True), name)
    left = ~(met | named)
    related = left & _on_both_sides(left, ["device", "family"])
    level = (
        pl.when(named).then(pl.lit("normalised")).when(met).then(pl.lit("exact"))
        .when(related).then(pl.lit("family")).otherwise(pl.lit("alone"))
    )  # fmt: skip
    families = load_families()
    # On the host, the class stands for the family.
    family = [
        function_class or HOST_DEVICE if device == HOST_DEVICE else families.of(function)
        for (function, device), function_class in zip(keys, kinds, strict=True)
    ]
    normalised = [normalised_name(function) for function, _ in keys]
    named_rows = every.hstack(
        [pl.Series("normalised", normalised, pl.String), pl.Series("family", family, pl.String)]
    )
    return named_rows.with_columns(level.cast(pl.Enum(MEETING_LEVELS)).alias("level"))


def functions_meet(base: pl.DataFrame, new: pl.DataFrame) -> bool:
    """Whether both sides have the same functions on the same devices."""
    return _classes_of(base).keys() == _classes_of(new).keys()


@memoize_per_table
def _classes_of(side: pl.DataFrame) -> dict[tuple[str, str], str | None]:
    """The class of every function and device, where any row tells it."""
    columns = [encode(side[name]) for name in ("function", "device", "function_class")]
    first = np.unique(combine_codes(*(codes for codes, _ in columns)), return_index=True)[1]
    named = ([texts[code] for code in codes[np.sort(first)]] for codes, texts in columns)
    classes: dict[tuple[str, str], str | None] = {}
    for function, device, function_class in zip(*named, strict=True):
        if classes.get((function, device)) is None:
            classes[function, device] = function_class
    return classes


def is_related() -> pl.Expr:
    """Whether functions of one family do the same sort of work.

    That two functions run on the host, or do what no rule knows, does not make them related.
    """
    return (pl.col("device") != HOST_DEVICE) & (pl.col("family") != OTHER)


def _on_both_sides(those: pl.Expr, keys: list[str]) -> pl.Expr:
    """Whether, of those functions, both runs have one with the same keys."""
    return ((those & pl.col("in_base")).any() & (those & pl.col("in_new")).any()).over(keys)


def with_matching_devices(base: Process, new: Process) -> tuple[Process, str | None]:
    """NEW with those devices that BASE has not renamed to those of BASE NEW has not; a word on it.

    A run on `GPU 0` and one on `GPU 7`, or on an `MLU 0`, did the same on their first device.
    Devices both have keep their names; the others meet in order.
    """
    # Accelerators in the order of their numbers.
    before, after = (
        sorted(
            {name for name in encode(role.behaviour["device"])[1] if name is not None}
            - {HOST_DEVICE},
            key=natural,
        )
        for role in (base, new)
    )
    common = set(before) & set(after)
    rest = [[name for name in side if name not in common] for side in (before, after)]
    renamed = tuple(zip(*rest, strict=False))
    if not renamed:
        return new, None
    names = {theirs: ours for ours, theirs in renamed}
    kind = new.behaviour.schema["device"]
    device = pl.col("device").cast(pl.String).replace(names).cast(kind)
    anatomy = None if new.anatomy is None else new.anatomy.with_devices(names)
    matched = replace(new, behaviour=new.behaviour.with_columns(device), anatomy=anatomy)
    pairs = ", ".join(
        f"{theirs} of {new.label} is compared with {ours}" for ours, theirs in renamed
    )
    why = "the others have the same name" if common else "no device has the same name"
    note = f"{pairs} of {base.label}: {why} on both sides."
    if len(renamed) == 1 and NO_DEVICE in renamed[0]:
        ours, theirs = renamed[0]
        role, other, name = (base, new, theirs) if ours == NO_DEVICE else (new, base, ours)
        note = f"{role.label} does not name its device: it is taken as {name} of {other.label}."
    return matched, note


_ON_HOST = tuple(name for name in FUNCTION_CLASSES if not name.startswith("gpu_"))


def with_places(base: Process, new: Process) -> tuple[Process, Process]:
    """Both roles with their host functions on the host, where no device is named.

    The class of a function tells, or else where the other side runs the function of its name.
    Device work keeps its device without a name.
    """
    sides = base, new
    if not any(NO_DEVICE in encode(role.behaviour["device"])[1] for role in sides):
        return sides
    by_class = pl.col("function_class").cast(pl.String).is_in(_ON_HOST)
    by_device = pl.col("device").cast(pl.String) == HOST_DEVICE
    is_on_host = pl.when(_without_device()).then(by_class).otherwise(by_device)
    function, placed = pl.col("function").cast(pl.String), []
    for role, other in ((base, new), (new, base)):
        there = other.behaviour.filter(~is_unplaced(), is_on_host).select(function).to_series()
        host = (
            pl.when(is_unplaced())
            .then(function.is_in(there.unique().implode()))
            .otherwise(is_on_host)
        )
        device = (
            pl.when(_without_device() & host.fill_null(value=False))
            .then(pl.lit(HOST_DEVICE))
            .otherwise(pl.col("device").cast(pl.String))
        )
        kind = role.behaviour.schema["device"]
        table = role.behaviour.with_columns(device.cast(kind).alias("device"))
        placed.append(replace(role, behaviour=table))
    return placed[0], placed[1]


def is_unplaced() -> pl.Expr:
    """Whether neither a device nor a class tells where a function ran."""
    has_class = pl.col("function_class").cast(pl.String).is_in(FUNCTION_CLASSES)
    return _without_device() & ~has_class.fill_null(value=False)


def _without_device() -> pl.Expr:
    return (pl.col("device").cast(pl.String) == NO_DEVICE).fill_null(value=False)


def with_common_units(base: Process, new: Process) -> tuple[Process, Process, tuple[str, ...]]:
    """Both roles with their counters in the units of the base, and what could not be done."""
    unlike = _unlike(base.behaviour, new.behaviour)
    if not unlike:
        return base, new, ()
    factors = {metric: _factor(*both) for metric, both in unlike.items()}
    convertible = {metric: factor for metric, factor in factors.items() if factor is not None}
    units = {
        metric: ("%" if "%" in both else both[0]) if metric in convertible else None
        for metric, both in unlike.items()
    }
    metric = pl.col("metric").cast(pl.String)
    factor = metric.replace_strict(convertible, default=1.0, return_dtype=pl.Float64)
    scaled = new.behaviour.with_columns(pl.col("mu", "sigma") * factor)
    base = replace(base, behaviour=_in_units(base.behaviour, units))
    new = replace(new, behaviour=_in_units(scaled, units))
    notes = []
    for name, both in unlike.items():
        if name not in convertible:
            unit_texts = [
                f"in {quantity(1.0, unit)[1]}" if unit else "of unknown unit" for unit in both
            ]
            notes.append(
                f"{name} is {unit_texts[0]} on one side and {unit_texts[1]} on the other: not "
                "comparable."
            )
    return base, new, tuple(notes)


def unlike_metrics(base: pl.DataFrame, new: pl.DataFrame) -> frozenset[str]:
    """Counters that do not measure the same on both sides, or of which only one says what."""
    unlike = _unlike(base, new)
    return frozenset(metric for metric, both in unlike.items() if _factor(*both) is None)


def _unlike(base: pl.DataFrame, new: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """The units of metrics that differ in them."""
    ours, theirs = _units(base), _units(new)
    both = {metric: (ours[metric], theirs[metric]) for metric in sorted(ours.keys() & theirs)}
    return {metric: units for metric, units in both.items() if units[0] != units[1]}


def _factor(base_unit: str, new_unit: str) -> float | None:
    """What a value of NEW has to be multiplied with; None where they do not measure the same.

    Whether a share is written as a fraction or in percent is told by its largest value, which
    is no proof: such values stay as they are, and the larger ones tell the unit of all.
    """
    (base_factor, base), (other, new) = quantity(1.0, base_unit), quantity(1.0, new_unit)
    if base != new:
        return None
    return 1.0 if base == "%" else other / base_factor


@memoize_per_table
def _units(side: pl.DataFrame) -> dict[str, str]:
    """The unit of every metric that has the same everywhere, which may be none."""
    if not has_counters(side):
        return {}
    read = side.lazy().filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())
    units = read.select("metric", pl.col("unit").fill_null("")).unique()
    once = units.cast(pl.String).unique("metric", keep="none")
    return dict(once.collect(engine="in-memory").rows())


def _in_units(side: pl.DataFrame, units: dict[str, str | None]) -> pl.DataFrame:
    metric = pl.col("metric").cast(pl.String)
    common = metric.replace_strict(units, default=None, return_dtype=pl.String)
    renamed = (
        pl.when(metric.is_in(list(units))).then(common).otherwise(pl.col("unit").cast(pl.String))
    )
    return side.with_columns(unit=renamed.cast(side.schema["unit"]))


@memoize_per_trace
def anatomy_of_role(role: Process) -> Anatomy:
    """What the cycles of a role are made of: from its timeline, else from its behaviour table.

    Where cycles were left out or put together, so they are here.
    """
    if role.anatomy is None:
        return anatomy_of(role.behaviour, role.beside)
    length = numbers(role.behaviour["cycle_dur_ns"])
    timed_rows = role.behaviour[["cycle", "cycle_ts_ns", "cycle_dur_ns"]].filter(length > 0)
    spans = (
        timed_rows.group_by("cycle")
        .agg(
            pl.col("cycle_ts_ns").min().alias("ts_ns"), pl.col("cycle_dur_ns").max().alias("dur_ns")
        )
        .sort("cycle")
    )
    if set(spans.iter_rows()) <= set(role.anatomy.cycles[[*CYCLE_SPANS]].iter_rows()):
        return only_cycles(role.anatomy, spans["cycle"])
    return _put_together(role.anatomy, spans)


def _put_together(anatomy: Anatomy, spans: pl.DataFrame) -> Anatomy:
    """Cycles as parts of longer ones that hold them; what lies between is idle."""
    start = spans["ts_ns"].to_numpy()
    groups = Windows(spans["cycle"].to_numpy(), start, start + spans["dur_ns"].to_numpy())
    holder = pl.Series("group", groups.holding(anatomy.cycles["ts_ns"].to_numpy()))
    to_group = anatomy.cycles.select("cycle", holder, weight="dur_ns").filter(holder != OUTSIDE)

    def regrouped(table: pl.DataFrame) -> pl.DataFrame:
        joined = table.join(to_group, "cycle", maintain_order="left")
        return joined.drop("cycle").rename({"group": "cycle"})

    def summed(
        table: pl.DataFrame, columns: Iterable[str], key: list[str], *sums: pl.Expr
    ) -> pl.DataFrame:
        return regrouped(table).group_by(key).agg(*sums).select(*columns).sort(key)

    turn = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("cycle", "inside", "after", "before")
    places = regrouped(anatomy.places).sort("cycle", "ts_ns").with_columns(occurrence=turn)
    mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
    level = ["cycle", "metric", "device", "unit"]
    calls = pl.col("calls", "device_ns", "host_ns").sum()
    launches = pl.col("calls", "blocks", "bytes").sum()
    return replace(
        anatomy,
        parts=_with_idle(regrouped(anatomy.parts), spans),
        places=places.select(*PLACE_TIMES),
        levels=summed(anatomy.levels, LEVELS, level, mean.alias("value")),
        cycles=spans,
        launches=summed(anatomy.launches, LAUNCHES, ["cycle", "function"], launches),
        find_calls=lambda: summed(anatomy.calls, CALL_TIMES, ["kind", "name", "cycle"], calls),
    )


def _with_idle(parts: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Parts of cycles, and as idle what of their spans lies between these."""
    inside = parts.group_by("cycle").agg(inside=pl.col("dur_ns").sum())
    between = spans.join(inside, "cycle", "left").select(
        "cycle",
        pl.lit("idle").cast(PART_TIMES["part"]).alias("part"),
        pl.lit(None, pl.String).alias("family"),
        pl.col("dur_ns") - pl.col("inside").fill_null(0.0),
    )
    both = pl.concat([parts.select(*PART_TIMES), between.cast(pl.Schema(PART_TIMES))])
    summed = both.group_by("cycle", "part", "family").agg(pl.col("dur_ns").sum())
    return summed.filter(pl.col("dur_ns") > 0).select(*PART_TIMES).sort("cycle", "part", "family")
