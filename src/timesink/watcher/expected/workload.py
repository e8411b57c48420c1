"""What a row of a cycle tells of its workload, and what the rows before it in its run tell.

Nothing here looks at how long a cycle took, or at a later row: what was slow before must not make
slow look usual, and a watcher knows no later rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.model.intervals import Flags, Floats, Ints

DURATION, JOB, START = "duration_us", "job_name", "start_ts"
BATCH, INPUT, OUTPUT, LONGEST = (
    "batch_size", "avg_input_length", "avg_output_length", "max_output_length",
)  # fmt: skip
MODE, TOKENS = "forward_mode", "tokens"
FIRST = "first_sizes"
"""How many of its sizes no cycle of the same process had before: libraries choose, compile and
allocate for each when it comes first."""
PHASES = ("decode", "prefill", "mixed")
"""`mixed`: rows that tell no mode, where sequences came or went, or may be about to."""
SEEN_BEFORE = 64
"""Cycles of a run that are looked back at: a watcher keeps as many rows."""
_NOT_WORKLOAD = (DURATION, JOB, START)


@dataclass(frozen=True)
class CycleWorkload:
    """Cycles in order of time, run by run, with the features of each."""

    names: tuple[str, ...]
    features: Floats
    phases: Ints
    """Places in `PHASES`."""
    duration_us: Floats
    start_ts: Floats
    runs: Ints
    """The run of each, counted from 0."""
    run_names: tuple[str, ...]
    rows: Ints
    """Where each stood in the table."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, chosen: Flags | Ints) -> CycleWorkload:
        """Some of the cycles; runs keep their numbers."""
        return CycleWorkload(
            self.names, self.features[chosen], self.phases[chosen], self.duration_us[chosen],
            self.start_ts[chosen], self.runs[chosen], self.run_names, self.rows[chosen],
        )  # fmt: skip

    def column(self, name: str) -> Floats:
        """One feature; zeros where it is not told."""
        if name not in self.names:
            return np.zeros(len(self))
        return self.features[:, self.names.index(name)]

    @cached_property
    def busy(self) -> Floats:
        """How much a cycle has to do, to tell busy ones from others."""
        return self.column("kv" if "kv" in self.names else BATCH)


def workload_columns(rows: pl.DataFrame) -> tuple[str, ...]:
    """Columns that say what a cycle had to do."""
    return tuple(
        name for name in rows.columns if name not in _NOT_WORKLOAD and rows[name].dtype.is_numeric()
    )


def workload_of(rows: pl.DataFrame, columns: Sequence[str] | None = None) -> CycleWorkload:
    """The features of cycles; `columns` are those a model knows, by default all there are.

    >>> rows = pl.DataFrame({"duration_us": [10.0, 30.0], "job_name": "a", "start_ts": [2.0, 1.0],
    ...                      "batch_size": [5.0, 4.0]})
    >>> cycles = workload_of(rows)
    >>> cycles.names[:2], cycles.features[:, 0].tolist(), cycles.rows.tolist()
    (('batch_size', 'padded_batch'), [4.0, 5.0], [1, 0])
    """
    columns = workload_columns(rows) if columns is None else columns
    ordered = rows.with_row_index("row").sort(JOB, START, maintain_order=True, nulls_last=True)
    table = ordered.select(JOB, *(pl.col(name).cast(pl.Float64) for name in columns))
    table = table.with_columns(**_totals(columns))
    table = table.with_columns(**_before(table.columns)).with_columns(
        pl.exclude(JOB).fill_null(np.nan)
    )
    names = tuple(name for name in table.columns if name != JOB)
    runs = ordered[JOB].rle_id().cast(pl.Int64).to_numpy()
    run_names = tuple(ordered[JOB].unique(maintain_order=True).to_list())
    return CycleWorkload(
        names,
        table.select(names).to_numpy().reshape(len(ordered), len(names)),
        _phases(table),
        ordered[DURATION].cast(pl.Float64).to_numpy(),
        ordered[START].cast(pl.Float64).to_numpy(),
        runs,
        run_names,
        ordered["row"].cast(pl.Int64).to_numpy(),
    )


def _totals(columns: Sequence[str]) -> dict[str, pl.Expr]:
    batch, input_tokens, output_tokens = pl.col(BATCH), pl.col(INPUT), pl.col(OUTPUT)
    made_up: dict[str, pl.Expr] = {}
    if BATCH in columns:
        # Graphs are captured, and matrix units filled, for sizes in steps.
        made_up["padded_batch"] = ((batch + 7) / 8).floor() * 8
    if {BATCH, INPUT} <= {*columns}:
        made_up["total_input"] = batch * input_tokens
    if {BATCH, TOKENS} <= {*columns}:
        # A token for each sequence is what a cycle writes; the others are read.
        made_up["read_tokens"] = pl.col(TOKENS) - batch
    if {BATCH, OUTPUT} <= {*columns}:
        made_up["total_output"] = batch * output_tokens
    if {BATCH, INPUT, OUTPUT} <= {*columns}:
        made_up["kv"] = batch * (input_tokens + output_tokens)
        if MODE in columns:
            work = batch * (input_tokens + output_tokens) ** 2
            made_up["prefill_work"] = pl.when(pl.col(MODE) == 1).then(work).otherwise(0.0)
    return made_up


def _before(names: Sequence[str]) -> dict[str, pl.Expr]:
    """What changed since the cycle before in the same run; null at its first."""

    def last(name: str) -> pl.Expr:
        return pl.col(name).shift(1).over(JOB)

    columns: dict[str, pl.Expr] = {}
    if BATCH in names:
        batch = pl.col(BATCH)
        columns["last_batch"] = last(BATCH)
        columns["more_batch"] = batch - last(BATCH)
        # Of a server under steady load, seats that are free are being filled: by prefills.
        most = batch.rolling_max(SEEN_BEFORE, min_samples=1).over(JOB)
        columns["free_seats"] = most - batch
        if INPUT in names:
            columns["free_input"] = columns["free_seats"] * pl.col(INPUT)
    if "total_input" in names:
        columns["more_input"] = pl.col("total_input") - last("total_input")
    if "total_output" in names:
        # One token per sequence is what a cycle makes; less means that sequences left.
        columns["more_output"] = pl.col("total_output") - last("total_output") - last(BATCH)
        columns["last_more_output"] = columns["more_output"].shift(1).over(JOB)
    if {LONGEST, OUTPUT} <= {*names}:
        columns["output_spread"] = pl.col(LONGEST) - pl.col(OUTPUT)
        columns["more_longest"] = pl.col(LONGEST) - last(LONGEST)
    if MODE in names:
        columns["last_mode"] = last(MODE)
    return columns


def _phases(table: pl.DataFrame) -> Ints:
    if MODE in table.columns:
        mode = table[MODE].to_numpy()
        return np.select([mode == 1, mode == 3], [1, 2], 0).astype(np.int64)
    if not {BATCH, OUTPUT} <= {*table.columns}:
        return np.zeros(len(table), dtype=np.int64)
    batch = np.nan_to_num(table[BATCH].to_numpy())
    # Of the first cycle of a run nobody knows; seats that are free are about to be filled.
    last, free = (table[name].to_numpy() for name in ("last_batch", "free_seats"))
    changes = np.isnan(last) | (np.nan_to_num(free) > 0)
    for name in ("more_batch", "more_output"):
        if name in table.columns:
            # Averages are rounded: a hundredth of a token times the batch is no change.
            changes |= np.abs(np.nan_to_num(table[name].to_numpy())) > 0.02 * batch
    return np.where(changes, 2, 0).astype(np.int64)
