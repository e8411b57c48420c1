"""How much kernel time is spent on matrix units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.forest import call_forest
from timesink.analyses.kernels.table import kernel_launches, kernel_rows
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class TensorCoreShare:
    """Kernel time by whether it uses matrix units."""

    using_ns: int
    not_using_ns: int
    unknown_ns: int

    @property
    def total_ns(self) -> int:
        return self.using_ns + self.not_using_ns + self.unknown_ns

    @property
    def ratio(self) -> float:
        """What surely uses matrix units, as a part of all; 0 where there is no kernel time."""
        return self.using_ns / self.total_ns if self.total_ns else 0.0

    @property
    def not_using_ratio(self) -> float:
        return self.not_using_ns / self.total_ns if self.total_ns else 1.0

    @property
    def unknown_ratio(self) -> float:
        return self.unknown_ns / self.total_ns if self.total_ns else 0.0


def tensor_core_share(trace: Trace) -> TensorCoreShare:
    """Shares of the time of all kernels, whoever launched them."""
    by_use = kernel_launches(trace).group_by("tensor_cores").agg(pl.col("dur_ns").sum())
    time_of = dict(by_use.iter_rows())
    return TensorCoreShare(
        using_ns=time_of.get(True, 0),
        not_using_ns=time_of.get(False, 0),
        unknown_ns=time_of.get(None, 0),
    )


@once_per_trace
def operator_tensor_core_share(trace: Trace) -> pl.DataFrame:
    """Per device, the time of kernels launched directly by operators; no rows without any.

    `ratio` is what surely uses matrix units as a part of all, null where there is no time.
    """
    dur, use = pl.col("dur_ns"), pl.col("tensor_cores")
    # Which kernels an operator launched itself, not a step, an optimizer or a module.
    forest = call_forest(trace)
    node = link_launches(trace).node[kernel_rows(trace)]
    launched = np.zeros(len(node), dtype=np.bool_)
    inside = node >= 0
    launched[inside] = forest.is_operator[forest.stands_for[node[inside]]]
    return (
        kernel_launches(trace)
        .filter(pl.Series(launched))
        .group_by("device")
        .agg(
            kernel_ns=dur.sum(),
            tensor_core_ns=dur.filter(use).sum(),
            unknown_ns=dur.filter(use.is_null()).sum(),
        )
        .with_columns(ratio=(pl.col("tensor_core_ns") / pl.col("kernel_ns")).fill_nan(None))
        .sort("device")
    )
