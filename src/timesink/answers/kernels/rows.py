"""Rows of tables of kernels, families, operators or modules: which are shown, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.columns import encode
from timesink.analyses.kernels.usage import CLASSES, headroom
from timesink.analyses.names import cut_name
from timesink.answers.kernels.report import KernelReport, without_noise
from timesink.answers.kernels.words import run_names
from timesink.model import units
from timesink.output.names import NO_NAME, printable

SORTS = {
    "time": "total_ns",
    "calls": "calls",
    "mean": "mean_ns",
    "headroom": "headroom_ns",
    "tensor": "tensor_pct",
    "dram": "dram_pct",
    "sm": "sm_pct",
    "name": "group",
}
"""Names of orders and the column each is by; the largest first, names from A to Z."""
TITLES = {"name": "kernel", "full-name": "kernel", "module-class": "module class"}
"""Titles of groups that are not called as they are chosen."""
_PLURALS = {
    "kernel": "kernels",
    "family": "families",
    "operator": "operators",
    "module": "modules",
    "module class": "module classes",
}
_AMOUNTS = {"time": "total_ns", "headroom": "headroom_ns"}


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """Which rows of a table are shown, and in which order."""

    sort: str = "time"
    top: int | None = None
    min_share_pct: float = 0.0


@dataclass(frozen=True, eq=False)
class KernelExcerpt:
    """The rows of a table that are shown, and how many are not."""

    rows: pl.DataFrame
    left: int
    left_pct: float | None
    """Share of the time, or of what `left_of` says, that is in rows not shown; None where it is of
    several devices, whose times are not added."""
    places: tuple[str, ...] = ()
    """Columns that say where a row belongs, beside its name: run, host, device."""
    left_of: str = "time"
    min_share_pct: float = 0.0
    """Groups with less of the time are not shown."""

    @property
    def height(self) -> int:
        """Rows of the whole table."""
        return self.rows.height + self.left


def choose(groups: pl.DataFrame, choice: KernelChoice, left_of: str = "time") -> KernelExcerpt:
    """The rows of a table of groups that were asked for, and what the others come to."""
    by = SORTS[choice.sort]
    large = groups.filter(pl.col("share_pct").fill_null(0) >= choice.min_share_pct)
    rows = large.sort(by, descending=by != "group", nulls_last=True, maintain_order=True)
    if choice.top is not None:
        rows = rows.head(choice.top)
    # Where rows belong, as far as they differ in it.
    known = [name for name in ("host", "device") if name in groups.columns]
    places = tuple(name for name in known if groups[name].n_unique() > 1)
    whole, shown = (float(part[_AMOUNTS[left_of]].sum() or 0) for part in (groups, rows))
    left_pct = 100 * (whole - shown) / whole if whole and not places else None
    left = groups.height - rows.height
    return KernelExcerpt(rows, left, left_pct, places, left_of, choice.min_share_pct)


def choose_of_runs(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> KernelExcerpt:
    """The groups that were asked for of each run, one run after the other."""
    if len(reports) == 1:
        return choose(reports[0].groups(by), choice)
    chosen = [choose(report.groups(by), choice) for report in reports]
    rows = _with_runs(reports, [excerpt.rows for excerpt in chosen])
    places = dict.fromkeys(place for excerpt in chosen for place in excerpt.places)
    left = sum(excerpt.left for excerpt in chosen)
    return KernelExcerpt(rows, left, None, ("run", *places), min_share_pct=choice.min_share_pct)


def runs_frame(reports: Sequence[KernelReport]) -> pl.DataFrame:
    """One row per run and device, every number."""
    rows = [
        {
            "run": name,
            "host": use.host,
            "device": use.device,
            "device_name": use.name,
            **{key: getattr(use, key) for key in _PLAIN},
            **({} if use.timed else {"total_ns": None}),
            **{f"{name}_share_pct": 100 * use.class_share[name] for name in CLASSES},
        }
        for name, report in zip(run_names(reports), reports, strict=True)
        for use in report.devices
    ]
    texts = dict.fromkeys(("run", "host", "device_name"), pl.String)
    return pl.DataFrame(rows, schema_overrides=texts, infer_schema_length=None)


_PLAIN = (
    *("calls", "launches", "names", "total_ns", "min_ns", "max_ns"),
    *("tensor_pct", "dram_pct", "sm_pct", "headroom_ns", "measured_ns", "untimed"),
)


def plural(by: str) -> str:
    """What groups are called as a title."""
    return _PLURALS[TITLES.get(by, by)].capitalize()


def rest_line(excerpt: KernelExcerpt, word: str) -> str:
    """What the rows that are not shown come to, or why there is no row; empty when all are."""
    if not excerpt.left:
        return ""
    if excerpt.rows.is_empty():
        return f"no {word} has {excerpt.min_share_pct:g} % of the time or more"
    count = units.counted(excerpt.left, f"more {_PLURALS[word]}")
    if excerpt.left_pct is None:
        return f"... {count}"
    return f"... {count}: {units.share(excerpt.left_pct, 100)} of the {excerpt.left_of}"


def group_label(name: str | None, by: str) -> str:
    """What a group is called; something even where it has no name."""
    word = TITLES.get(by, by)
    if name is None and word in {"operator", "module", "module class"}:
        return f"({word} not known)"
    return name if name and name.strip() else NO_NAME


# Every launch: lines of fixed width with name, latency and two utilisations, or all columns.

_NAME, _LATENCY, _SHARE = 50, 10, 6
_HEADER = f"{'Kernel':<{_NAME}}  {'Latency':>{_LATENCY}} {'Tensor':>{_SHARE}} {'DRAM':>{_SHARE}}"
_MISSING = "-"


def to_lines(calls: pl.DataFrame) -> str:
    """The table, each line with its line feed: latency in ns, utilisation as fractions."""
    codes, texts = encode(calls["short_name"])
    shown = [cut_name(printable(text or NO_NAME), _NAME).ljust(_NAME) for text in texts]
    cells = (
        (pl.col("dur_ns").cast(pl.String), _LATENCY),
        (_fraction("tensor_pct"), _SHARE),
        (_fraction("dram_pct"), _SHARE),
    )
    right = (cell.fill_null(_MISSING).str.pad_start(width) for cell, width in cells)
    names = pl.Series("name", shown, dtype=pl.String).gather(codes)
    lines = calls.select(pl.concat_str(names + "|", *right, separator=" ")).to_series()
    return "\n".join([_HEADER, *lines.to_list(), ""])


def _fraction(column: str) -> pl.Expr:
    """A percentage as a fraction with two decimals."""
    hundredths = pl.col(column).round(mode="half_away_from_zero").cast(pl.Int64)
    size = hundredths.abs()
    return pl.concat_str(
        pl.when(hundredths < 0).then(pl.lit("-")).otherwise(pl.lit("")),
        (size // 100).cast(pl.String),
        pl.lit("."),
        (size % 100).cast(pl.String).str.zfill(2),
    )


def chosen_calls(calls: pl.DataFrame, sort: str | None, choice: KernelChoice) -> pl.DataFrame:
    """The calls that were asked for, in launch order unless another one was."""
    if choice.min_share_pct:
        time = pl.col("dur_ns").fill_null(0) * pl.col("weight")
        calls = calls.filter(100 * time >= choice.min_share_pct * time.sum())
    by = _SORTS.get(sort or "")
    if by is not None:
        falling = sort != "name"
        calls = calls.sort(by, descending=falling, nulls_last=True, maintain_order=True)
    return calls if choice.top is None else calls.head(choice.top)


_SORTS = {
    "time": pl.col("dur_ns"),
    "mean": pl.col("dur_ns"),
    "headroom": headroom(),
    "tensor": pl.col("tensor_pct"),
    "dram": pl.col("dram_pct"),
    "sm": pl.col("sm_pct"),
    "name": pl.col("short_name").cast(pl.String),
}


def all_columns(
    reports: Sequence[KernelReport], sort: str | None, choice: KernelChoice
) -> pl.DataFrame:
    """Every column of the calls that were asked for; of several runs, with the run of each."""
    tables = [without_noise(chosen_calls(report.calls, sort, choice)) for report in reports]
    return tables[0] if len(tables) == 1 else _with_runs(reports, tables)


def _with_runs(reports: Sequence[KernelReport], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables of several runs as one, with the run of each row."""
    named = zip(run_names(reports), tables, strict=True)
    rows = (table.select(pl.lit(name).alias("run"), pl.all()) for name, table in named)
    return pl.concat(rows, how="diagonal_relaxed")
