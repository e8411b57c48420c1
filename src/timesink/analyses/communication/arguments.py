"""What the recording says about the arguments of each collective call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.communication.calls import (
    collective_calls,
    collective_work,
    recorded_arguments,
)
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Ints
from timesink.model.trace import Trace

_TEXTS = ("collective", "dtype", "group_name", "group_ranks", "group_description")
_NUMBERS = ("in_elements", "out_elements", "group_size", "sequence", "src_rank", "dst_rank")
_NONE = -1


@once_per_trace
def collective_arguments(trace: Trace) -> pl.DataFrame:
    """Arguments of collectives, and the `index` of the event that carries them."""
    return trace.lazy("collectives").select("index", *_TEXTS, *_NUMBERS).collect()


def arguments_of(call: Ints, trace: Trace) -> pl.DataFrame:
    """Arguments of each of these calls: those recorded on the host, for the rest of its kernels."""
    given = collective_arguments(trace)
    carriers = _carriers(given, trace)
    # All columns at once: a query of their own for each would take longer than the rest.
    found = {name: _taken(given[name], carriers.first(given[name], call)) for name in _NUMBERS}
    texts = {name: _taken(given[name], carriers.first(given[name], call)) for name in _TEXTS}
    return given.select(**found, **{name: text.cast(pl.String) for name, text in texts.items()})


def _taken(column: pl.Series, rows: Ints) -> pl.Expr:
    known = rows != _NONE
    if not known.any():
        return pl.lit(pl.Series([None], dtype=column.dtype).new_from_index(0, len(rows)))
    taken = pl.col(column.name).gather(np.maximum(rows, 0))
    return taken if known.all() else pl.when(pl.lit(pl.Series(known))).then(taken)


@dataclass(frozen=True, slots=True, eq=False)
class _Carriers:
    """Events that carry arguments, the most trustworthy ones first."""

    call: Ints
    row: Ints
    """Where their arguments are."""

    def first(self, column: pl.Series, call: Ints) -> Ints:
        """For each call the row of the first event that tells a value; -1 where none does."""
        row_of = np.full(1 + max(call.max(initial=0), self.call.max(initial=0)), _NONE)
        call_of, row = self.call, self.row
        if column.null_count():
            told = column.is_not_null().to_numpy()[row]
            call_of, row = call_of[told], row[told]
        # Of several entries for a call the last one stays.
        row_of[call_of[::-1]] = row[::-1]
        return np.asarray(row_of[call])


def _carriers(given: pl.DataFrame, trace: Trace) -> _Carriers:
    calls, work = collective_calls(trace), collective_work(trace)
    on_host = recorded_arguments(trace)["index"].to_numpy()
    on_device = trace.lazy("device").select("index").collect()["index"].to_numpy()
    call = np.concatenate([calls.call, work["call"].to_numpy()])
    index = np.concatenate([on_host, on_device[work["row"].to_numpy()]])
    known = given["index"].to_numpy()
    if not len(known):
        return _Carriers(call[:0], call[:0])
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], index), len(known) - 1)]
    carries = known[row] == index
    return _Carriers(call[carries], row[carries])
