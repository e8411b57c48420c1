"""What the operators of each cycle compute and move, and how near that comes to the roofs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.behaviour.calls import OUTSIDE, cycle_of_device, windows_by_process
from timesink.analyses.cycles.spans import Cycles
from timesink.analyses.kernels.peaks import DevicePeaks, choose_peaks, peaks_named
from timesink.analyses.work.calls import LIKE, MODELLED, SET_SCHEMA, leftovers, modelled_calls
from timesink.analyses.work.efficiency import shape_text, with_roofs
from timesink.analyses.work.steps import COLLECTIVE, Utilisation, utilisation
from timesink.model.intervals import Ints
from timesink.model.trace import Trace

OFTEN = 0.6
"""What is in so many of the cycles is told by its median: one that was cut changes nothing."""
_AMOUNTS = ("share", "recomputed", "time_ns", "kernel_ns")
COUNTS: dict[str, pl.DataType] = {
    **dict.fromkeys(("cycle", "set"), pl.Int32()),
    "like": pl.Boolean(),
    **dict.fromkeys(_AMOUNTS, pl.Float32()),
}
SETS: dict[str, pl.DataType] = {
    **{name: SET_SCHEMA[name] for name in ("operator", "family")},
    "shape": pl.String(),
    **{
        name: dtype
        for name, dtype in SET_SCHEMA.items()
        if name.endswith(("_flop", "_bytes")) or name in {"precision", "matrix_kernels", "tf32"}
    },
}
"""Of baselines there are many, so both tables are as narrow as they can be."""
_KEY = ("cycle", "set", "like")


@dataclass(frozen=True, slots=True, eq=False)
class ProcessWork:
    """What the cycles of a process compute and move; it needs no trace, and no peaks."""

    sets: pl.DataFrame
    """What operators were given and what that means, rows of `SETS`."""
    counts: pl.DataFrame
    """Rows of `COUNTS`: how often the work of a set is done in a cycle, and the time of that on the
    device; `like` where only kernels tell that, and set -1 where nothing does."""
    device: str
    """What the table of peaks calls the device; empty where it has none."""
    devices: int


def process_work(trace: Trace, cycles: Cycles) -> dict[str, ProcessWork]:
    """The work of the cycles of each process; none of a recording without shapes."""
    shaped = trace.lazy("host").select(pl.col("input_dims").is_not_null().any()).collect()
    if not shaped.item():
        return {}
    modelled = modelled_calls(trace)
    rows = modelled.kernels["row"].to_numpy()
    process, cycle = cycle_of_device(trace, cycles, rows)
    numbers = np.append(cycles.table["cycle"].to_numpy(), OUTSIDE)
    sets, place = _distinct(modelled.sets)
    kernels = modelled.kernels.select(
        *("call", "set", "share", "dur_ns", "device", "known", "is_kernel"),
        cycle=pl.Series(numbers[cycle]),
        process=pl.Series(process),
        leftover=pl.Series(leftovers(trace, rows)),
    ).with_columns(
        pl.Series("set", np.append(place, -1)[modelled.kernels["set"].fill_null(-1).to_numpy()])
    )
    peaks = choose_peaks(trace).peaks
    by_process = {}
    for number, pid in enumerate(windows_by_process(cycles)):
        process_kernels = kernels.filter(
            pl.col("process") == number, pl.col("cycle") != OUTSIDE, ~pl.col("leftover")
        )
        counts = _counts(process_kernels, modelled.calls)
        if counts.height:
            devices = max(process_kernels["device"].n_unique(), 1)
            by_process[pid] = ProcessWork(sets, counts, peaks.device if peaks else "", devices)
    return by_process


def _distinct(sets: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Sets of arguments that mean the same once, and the place of each among them."""
    texts = {text: shape_text(text) for text in sets["input_dims"].drop_nulls().unique()}
    shape = pl.col("input_dims").replace_strict(texts, default="", return_dtype=pl.String())
    plain_sets = sets.with_columns(shape=shape).select(*SETS)
    numbered = plain_sets.with_columns(place=pl.struct(*SETS).rank("dense").cast(pl.Int64) - 1)
    rows = numbered.unique("place").sort("place").drop("place")
    return rows, numbered["place"].to_numpy()


def _counts(kernels: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    state = pl.col("known")
    counted = pl.when("is_kernel").then("dur_ns").otherwise(0).sum().alias("kernel_ns")
    owned = (
        kernels.filter(state == MODELLED)
        .group_by("call")
        .agg(pl.col("cycle", "set").first(), counted)
        .join(
            calls.select("union_ns", "recomputed").with_row_index("call").cast({"call": pl.Int64}),
            on="call",
        )
        .group_by("cycle", "set")
        .agg(
            pl.len().alias("share"),
            pl.col("recomputed").sum(),
            pl.col("union_ns").sum().alias("time_ns"),
            pl.col("kernel_ns").sum(),
        )
        .with_columns(like=pl.lit(value=False))
    )
    unowned = (
        kernels.filter(state != MODELLED)
        .with_columns(set=pl.when(state == LIKE).then("set").otherwise(-1))
        .group_by("cycle", "set")
        .agg(pl.col("share").sum(), pl.col("dur_ns").sum().alias("time_ns"), counted)
        .with_columns(like=pl.lit(value=True), recomputed=0)
    )
    every = [
        table.select(pl.col(name).cast(dtype) for name, dtype in COUNTS.items())
        for table in (owned, unowned)
    ]
    return pl.concat(every).sort(_KEY)


@dataclass(frozen=True, eq=False)
class CycleEfficiency:
    """A usual cycle against the roofs of its device; amounts are per cycle."""

    rows: pl.DataFrame
    """What operators were given, with roofs, and how often: columns of `COUNTS`."""
    cycle_ns: float
    peaks: DevicePeaks | None
    devices: int

    def amount(self, name: str, times: str = "share") -> float:
        """An amount of all calls of a cycle, on all its devices."""
        return float((self.rows[name] * self.rows[times]).sum() or 0.0)

    @cached_property
    def operators(self) -> pl.DataFrame:
        """One row per operator, shape and precision, of calls that were seen."""
        seen = self.rows.filter(~pl.col("like"), pl.col("matrix_flop").is_not_null())
        roof = (pl.col("roof_ns") * pl.col("share")).sum()
        return (
            seen.group_by("operator", "shape", "precision")
            .agg(
                pl.col("share").sum().alias("calls"),
                pl.col("time_ns").sum(),
                flop=((pl.col("matrix_flop") + pl.col("vector_flop")) * pl.col("share")).sum(),
                bytes=(pl.col("bytes") * pl.col("share")).sum(),
                roof_ns=pl.when(pl.col("roof_ns").null_count() == 0).then(roof),
                often=pl.col("often").all(),
            )
            .sort("time_ns", "operator", "shape", descending=[True, False, False])
        )

    @property
    def modelled_share(self) -> float:
        """How much of the kernel time has work."""
        return self._kernel_share(pl.col("matrix_flop").is_not_null())

    @property
    def like_share(self) -> float:
        """How much of it is told by the same kernels launched elsewhere."""
        return self._kernel_share(pl.col("matrix_flop").is_not_null() & pl.col("like"))

    def _kernel_share(self, condition: pl.Expr) -> float:
        every = float(self.rows["kernel_ns"].sum())
        return float(self.rows.filter(condition)["kernel_ns"].sum()) / every if every else 0.0

    @property
    def matrix_flop_by_precision(self) -> Mapping[str, float]:
        """Matrix operations, most first."""
        flop = (pl.col("matrix_flop") * pl.col("share")).sum()
        matrix = self.rows.filter(pl.col("matrix_flop") > 0)
        sums = matrix.group_by("precision").agg(flop.alias("flop"))
        return dict(sums.sort("flop", "precision", descending=True).iter_rows())

    @cached_property
    def use(self) -> Utilisation:
        """How much of the cycle the device would need at its peaks."""
        share, again = pl.col("share"), pl.col("recomputed")
        done = self.rows.select(
            pl.col("matrix_flop") * share,
            pl.col("peak_ns") * share,
            pl.col("memory_ns") * share,
            recomputed_ns=pl.col("peak_ns") * again + pl.col("recomputed_ns") * (share - again),
        )
        return utilisation(done, self.devices, self.cycle_ns, self.peaks)

    @property
    def hfu(self) -> float | None:
        return self.use.hfu

    @property
    def mfu(self) -> float | None:
        return self.use.mfu

    @property
    def mbu(self) -> float | None:
        return self.use.mbu

    @property
    def ideal_ns(self) -> float | None:
        """All that is modelled at its roofs, collectives apart; none takes longer than it did."""
        if self.peaks is None:
            return None
        computing = self.rows.filter(pl.col("family") != COLLECTIVE)
        at = computing.select(pl.min_horizontal(pl.col("roof_ns") * pl.col("share"), "time_ns"))
        return float(at.to_series().sum() or 0.0) / self.devices

    @property
    def roof_share(self) -> float | None:
        """How much of their time the modelled calls would take at their roofs."""
        roofed = self.operators.filter(pl.col("roof_ns").is_not_null())
        time = float(roofed["time_ns"].sum())
        return float(roofed["roof_ns"].sum()) / time if time else None


def cycle_efficiency(
    work: ProcessWork, cycles: Iterable[int], cycle_ns: float, user_peaks: str | None = None
) -> CycleEfficiency | None:
    """A usual one of some cycles of a process, which take so long; None where nothing ran.

    `user_peaks` are peaks as the user writes them.
    """
    counts = work.counts.filter(pl.col("cycle").is_in(list(cycles))).cast(
        dict.fromkeys(_AMOUNTS, pl.Float64())
    )
    many = counts["cycle"].n_unique()
    if not many:
        return None
    often = pl.len() >= OFTEN * many
    usual = counts.group_by("set", "like").agg(
        *(
            pl.when(often).then(pl.col(name).median()).otherwise(pl.col(name).sum() / many)
            .alias(name)
            for name in _AMOUNTS
        ),
        often.alias("often"),
    )  # fmt: skip
    peaks = peaks_named(work.device, user_peaks)
    sets = with_roofs(work.sets, peaks).with_row_index("set")
    sets = sets.with_columns(
        pl.col("set").cast(pl.Int32),
        # What is computed in does not hang on which peaks of a device are published.
        with_roofs(work.sets, None)["precision"],
        bytes=pl.col("read_bytes") + pl.col("written_bytes"),
    )
    rows = usual.join(sets, on="set", how="left").sort("set", "like")
    return CycleEfficiency(rows, cycle_ns, peaks, work.devices)
