"""Every launch: lines of fixed width with name, latency and two utilisations, or all columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from timesink.analyses.kernel_calls.usage import headroom
from timesink.analyses.kernel_names.short import cut_name
from timesink.analyses.texts import encode
from timesink.answers.kernel_rows import KernelChoice
from timesink.answers.kernel_words import run_names
from timesink.output.names import NO_NAME, printable
from timesink.reports.kernels import KernelReport, without_noise

_NAME, _LATENCY, _SHARE = 50, 10, 6
_HEADER = f"{'Kernel':<{_NAME}}  {'Latency':>{_LATENCY}} {'Tensor':>{_SHARE}} {'DRAM':>{_SHARE}}"
_MISSING = "-"


def to_lines(calls: pl.DataFrame) -> str:
    """The table, each line with its line feed: latency in ns, utilisation as fractions."""
    lines = calls.select(
        pl.concat_str(
            _names(calls["short_name"]),
            pl.lit("| "),
            _right(pl.col("dur_ns").cast(pl.String), _LATENCY),
            pl.lit(" "),
            _right(_fraction("tensor_pct"), _SHARE),
            pl.lit(" "),
            _right(_fraction("dram_pct"), _SHARE),
        )
    ).to_series()
    return "\n".join([_HEADER, *lines.to_list(), ""])


def _names(short_names: pl.Series) -> pl.Series:
    codes, texts = encode(short_names)
    shown = [cut_name(printable(text or NO_NAME), _NAME).ljust(_NAME) for text in texts]
    return pl.Series("name", shown, dtype=pl.String).gather(codes)


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


def _right(text: pl.Expr, width: int) -> pl.Expr:
    return text.fill_null(_MISSING).str.pad_start(width)


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
    if len(tables) == 1:
        return tables[0]
    return pl.concat(
        (
            table.select(pl.lit(name).alias("run"), pl.all())
            for name, table in zip(run_names(reports), tables, strict=True)
        ),
        how="diagonal_relaxed",
    )
