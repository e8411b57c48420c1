"""What an average step computes and moves, how long that takes at the roofs, what the rest is."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, event_ranges
from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.steps import bounds_of, complete_steps
from timesink.model import intervals
from timesink.model.intervals import Ints
from timesink.model.trace import Trace

MATRIX, VECTOR, MEMORY, LINK = BOUNDS = ("matrix", "vector", "memory", "link")
"""What sets a roof."""
BEYOND = ("below_ns", "unmodelled_ns", "communication_ns", "copies_ns", "idle_ns")
"""What a step takes beyond the ideal, as `StepEfficiency` calls it."""
COLLECTIVE = "collective"
"""The family of operators that wait for other devices: their time tells little of their roof."""
_MAX_MISSING_SHARE = 0.01
"""Of the matrix operations: so few without a known peak leave the others theirs."""


class Utilisation(msgspec.Struct, frozen=True):
    """How much of a step or cycle its device would need at its peaks."""

    length_ns: float
    peak_ns: float | None
    """What all matrix operations take at their peaks; None where a peak is not known."""
    recomputed_ns: float
    """The part of that which was done before: the model does not need it."""
    memory_ns: float | None
    """What the bytes take at the bandwidth of the memory."""

    @property
    def hfu(self) -> float | None:
        """Hardware FLOPs utilisation: all matrix operations at their peaks, by the step."""
        return self._share(self.peak_ns)

    @property
    def mfu(self) -> float | None:
        """Model FLOPs utilisation: the same without what is recomputed."""
        return None if self.peak_ns is None else self._share(self.peak_ns - self.recomputed_ns)

    @property
    def mbu(self) -> float | None:
        """Compulsory bytes at the bandwidth of the memory, by the step."""
        return self._share(self.memory_ns)

    def _share(self, needed: float | None) -> float | None:
        return needed / self.length_ns if needed is not None and self.length_ns else None


def utilisation(
    rows: pl.DataFrame, count: float, length_ns: float, peaks: DevicePeaks | None
) -> Utilisation:
    """That of a step, of all steps' `matrix_flop`, `peak_ns`, `recomputed_ns` and `memory_ns`.

    A precision without a peak leaves nothing to say, unless it hardly matters.
    """
    flop = float(rows["matrix_flop"].sum() or 0.0)
    untold = rows.filter(pl.col("peak_ns").is_null())["matrix_flop"].sum() or 0.0
    is_known = peaks is not None and float(untold) <= _MAX_MISSING_SHARE * flop
    memory = peaks is not None and peaks.dram_bytes_per_s
    return Utilisation(
        length_ns=length_ns,
        peak_ns=per_step(rows, "peak_ns", count) if is_known else None,
        recomputed_ns=per_step(rows, "recomputed_ns", count),
        memory_ns=per_step(rows, "memory_ns", count) if memory else None,
    )


def per_step(rows: pl.DataFrame, column: str, count: float) -> float:
    """A column of an average step."""
    return float(rows[column].sum() or 0.0) / count


class StepEfficiency(msgspec.Struct, frozen=True):
    """What an average step of a device computes and moves, and how long that takes at the roofs."""

    steps: int
    devices: int
    step_ns: float
    matrix_flop: float
    vector_flop: float
    recomputed_flop: float
    """The part of the matrix operations that was done before."""
    bytes: float
    wire_bytes: float
    matrix_flop_by_precision: Mapping[str, float]
    use: Utilisation
    ideal_ns: Mapping[str, float]
    """Time at the roofs by what sets them; of kernels that run, none takes longer than it did."""
    below_ns: float
    """What kernels take beyond their roofs."""
    unmodelled_ns: float
    communication_ns: float
    copies_ns: float
    idle_ns: float

    @property
    def flop(self) -> float:
        return self.matrix_flop + self.vector_flop

    @property
    def mfu(self) -> float | None:
        return self.use.mfu

    @property
    def hfu(self) -> float | None:
        return self.use.hfu

    @property
    def mbu(self) -> float | None:
        return self.use.mbu


def step_efficiency(
    trace: Trace, kernels: pl.DataFrame, calls: pl.DataFrame, peaks: DevicePeaks | None
) -> StepEfficiency | None:
    """An average complete step, of an average device where several are worked with."""
    steps = complete_steps(trace)
    kernels = kernels.filter(pl.col("step") >= 0)
    if steps.is_empty() or kernels.is_empty():
        return None
    devices = kernels["device"].n_unique()
    count = steps.height * devices
    length = float((steps["end_ns"] - steps["start_ns"]).sum()) / steps.height
    kernels = _with_recomputed(kernels, calls)
    parts = _parts(trace, kernels, bounds_of(steps), count)
    computing = kernels.filter(
        "is_kernel", pl.col("family").fill_null("") != COLLECTIVE, ~pl.col("communicates")
    )
    summed = per_step(computing, "dur_ns", count)
    # Kernels side by side take less than their sum: all parts shrink alike.
    shrink = min(1.0, parts["kernel"] / summed) if summed else 1.0
    at_roof = pl.min_horizontal("roof_ns", pl.col("dur_ns").cast(pl.Float64()))
    ideal = computing.select("bound", at=at_roof).drop_nulls().group_by("bound").agg(pl.sum("at"))
    known_ns = dict(ideal.iter_rows())
    ideal_ns = {name: shrink * known_ns.get(name, 0.0) / count for name in BOUNDS}
    unmodelled = shrink * per_step(computing.filter(pl.col("roof_ns").is_null()), "dur_ns", count)
    matrix = kernels.filter(pl.col("matrix_flop") > 0)
    by_precision = matrix.group_by("precision").agg(pl.col("matrix_flop").sum() / count)
    return StepEfficiency(
        steps=steps.height,
        devices=devices,
        step_ns=length,
        matrix_flop=per_step(kernels, "matrix_flop", count),
        vector_flop=per_step(kernels, "vector_flop", count),
        recomputed_flop=per_step(kernels, "recomputed_flop", count),
        bytes=per_step(kernels, "bytes", count),
        wire_bytes=per_step(kernels, "wire_bytes", count),
        matrix_flop_by_precision=dict(
            by_precision.sort("matrix_flop", "precision", descending=True).iter_rows()
        ),
        use=utilisation(kernels, count, length, peaks),
        ideal_ns=ideal_ns,
        below_ns=max(0.0, parts["kernel"] - sum(ideal_ns.values()) - unmodelled),
        unmodelled_ns=unmodelled,
        communication_ns=parts["communication"],
        copies_ns=parts["copy"],
        idle_ns=max(0.0, length - sum(parts.values())),
    )


def _with_recomputed(kernels: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Kernels of calls that are done again do all of their work again."""
    again = calls.select("recomputed").with_row_index("call").cast({"call": pl.Int64})
    joined = kernels.join(again, on="call", how="left", maintain_order="left")
    columns = {"recomputed_flop": "matrix_flop", "recomputed_ns": "peak_ns"}
    return joined.with_columns(
        pl.when(pl.col("recomputed")).then(all_).otherwise(part).alias(part)
        for part, all_ in columns.items()
    )


def _parts(trace: Trace, kernels: pl.DataFrame, bounds: Ints, count: int) -> dict[str, float]:
    """Time of steps by what runs on a device: computation, else communication, else copies."""
    events, every = device_columns(trace), {"kernel": 0.0, "communication": 0.0, "copy": 0.0}
    kinds = pl.Series(events["kind"]).cast(pl.String)
    copying = np.flatnonzero(kinds.is_in(["memcpy", "memset"]).to_numpy())
    numbers = events["device"].fill_null(-1).to_numpy()
    for device in kernels["device"].unique():
        mine = kernels.filter(pl.col("device") == device, "is_kernel")
        talking = pl.col("communicates")
        layers = {
            "kernel": event_ranges(events, mine.filter(~talking)["row"].to_numpy()),
            "communication": event_ranges(events, mine.filter(talking)["row"].to_numpy()),
            "copy": event_ranges(events, copying[numbers[copying] == device]),
        }
        layer_times, _ = intervals.waterfall(layers, bounds)
        every = {
            name: time + float(layer_times[name].sum()) / count for name, time in every.items()
        }
    return every
