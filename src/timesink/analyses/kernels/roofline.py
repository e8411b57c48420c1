"""How far each launch is from the most its device can do: arithmetic, memory traffic and roofs.

The roof of a launch is a time: what its arithmetic takes at the peak of each pipe, or what its
memory traffic takes at the peak bandwidth, whichever is longer.  `docs/roofline.md` explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import polars as pl

from timesink.analyses.kernels.launch_work import BYTES, counted_work
from timesink.analyses.kernels.peaks import MEMORY, PRECISIONS, DevicePeaks, PeaksChoice
from timesink.analyses.kernels.usage import DeviceUse
from timesink.model.trace import Trace
from timesink.model.units import count, count_noun

BOUNDS = ("compute", "memory")
PIPES = {
    "tensor": tuple(precision for precision in PRECISIONS if precision.endswith("_tensor")),
    "fma": ("fp32", "fp16"),
    "fp64": ("fp64",),
}
"""Precisions that share a unit take turns; different units work at the same time."""

_ABOVE_PCT = 105.0
"""Clocks vary by a few percent; what is further above its roof has the wrong roof."""
_SLOW = 0.97

FLOP_COLUMNS = tuple(f"flop_{precision}" for precision in PRECISIONS)
COLUMNS = (
    *("index", "host", "device", "dur_ns", "weight"),
    *("flop", *FLOP_COLUMNS, BYTES, "intensity"),
    *("achieved_flop_per_s", "achieved_bytes_per_s", "compute_ns", "memory_ns", "roof_ns"),
    *("roof_flop_per_s", "roof_share_pct", "bound", "precision"),
    *("flop_estimated", "bytes_estimated", "sm_hz"),
)


class DeviceRoof(msgspec.Struct, frozen=True):
    """The launches of one device against its roofs; times of different devices are never added."""

    host: str | None
    device: int | None
    total_ns: int
    """Time of all launches."""
    covered_ns: int
    """Time of those that have a roof."""
    roof_ns: float | None
    """What those would take at their roofs; None where none has one."""
    roof_share_pct: float | None
    """How much of their time that is."""
    bound_ns: Mapping[str, float]
    """Time of the launches by what sets their roof: `compute`, `memory`."""
    clock_hz: float | None
    """Mean clock of the multiprocessors, where it was recorded."""


class Roofline(msgspec.Struct, frozen=True, eq=False):
    """Every launch against the roofs of its device."""

    peaks: DevicePeaks | None
    reason: str
    """Why there are no roofs, and what to do about it; empty where there are."""
    calls: pl.DataFrame
    """One row per launch, see `COLUMNS`; what is unknown is null."""
    devices: tuple[DeviceRoof, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, use: DeviceUse) -> DeviceRoof:
        """The launches of a device against its roofs."""
        place = (use.host, use.device)
        return next(device for device in self.devices if (device.host, device.device) == place)

    @property
    def roof_share_pct(self) -> float | None:
        """How much of the time the same work takes at its roofs; None for several devices."""
        return self.devices[0].roof_share_pct if len(self.devices) == 1 else None

    @property
    def precisions(self) -> tuple[str, ...]:
        """The precisions that occur, the one with the most operations first."""
        flop = self._flop()
        return tuple(sorted(flop, key=lambda precision: (-flop[precision], precision)))

    def groups(self, calls: pl.DataFrame, by: str) -> pl.DataFrame:
        """One row per device and value of the column `by` of the launches, the longest first.

        FLOP, bytes and times are added up before anything is divided, so a group stands where
        its launches taken together stand.
        """
        groups = calls.select("index", pl.col(by).cast(pl.String).alias("group"))
        rows = self.calls.join(groups, on="index", maintain_order="left")
        keys = ["host", "device", "group"]
        has_flop, has_bytes = pl.col("flop").is_not_null(), pl.col(BYTES).is_not_null()
        both, covered = has_flop & has_bytes, _time().filter(_has_roof()).sum()
        roof = _sum_where("roof_ns", _has_roof())
        return (
            rows.group_by(keys, maintain_order=True)
            .agg(
                pl.len().cast(pl.Int64()).alias("calls"),
                _time().sum().round().cast(pl.Int64()).alias("total_ns"),
                *(_sum_where(column, has_flop).alias(column) for column in ("flop", *FLOP_COLUMNS)),
                _sum_where(BYTES, has_bytes).alias(BYTES),
                _ratio(_sum_where("flop", both), _sum_where(BYTES, both)).alias("intensity"),
                _per_second("flop", has_flop).alias("achieved_flop_per_s"),
                _per_second(BYTES, has_bytes).alias("achieved_bytes_per_s"),
                roof.alias("roof_ns"),
                covered.round().cast(pl.Int64()).alias("covered_ns"),
                (1e9 * _ratio(_sum_where("flop", _has_roof()), roof)).alias("roof_flop_per_s"),
                (100 * _ratio(roof, covered)).alias("roof_share_pct"),
                _mostly("bound", BOUNDS),
                _mostly("precision", PRECISIONS),
            )
            .sort([*keys[:2], "total_ns", "group"], descending=[False, False, True, False])
        )

    @property
    def totals(self) -> tuple[float, float]:
        """Operations and bytes of all launches; of a sample, of those they stand for."""
        weight = pl.col("weight")
        flop, moved = self.calls.select(
            (pl.col("flop") * weight).sum(), (pl.col(BYTES) * weight).sum()
        ).row(0)
        return flop, moved

    @property
    def flop_by_precision(self) -> dict[str, float]:
        """Operations by precision, those that occur."""
        flop = self._flop()
        return {precision: flop[precision] for precision in self.precisions}

    def _flop(self) -> dict[str, float]:
        sums = self.calls.select(pl.col(FLOP_COLUMNS) * pl.col("weight")).sum().row(0)
        return {
            precision: amount for precision, amount in zip(PRECISIONS, sums, strict=True) if amount
        }


def named_roofs(peaks: DevicePeaks | None, precisions: Iterable[str]) -> dict[float, str]:
    """Peaks of the precisions that occur, the highest first; equal ones share a name.

    >>> peaks = DevicePeaks("H200", flop_per_s={"fp16_tensor": 989e12, "bf16_tensor": 989e12})
    >>> named_roofs(peaks, ["fp16_tensor", "bf16_tensor"])
    {989000000000000.0: 'fp16, bf16 tensor'}
    """
    named: dict[float, list[str]] = {}
    for precision in precisions:
        peak = peaks.peak(precision) if peaks else None
        if peak:
            named.setdefault(peak, []).append(precision.replace("_", " "))
    roof_names = {}
    for peak in sorted(named, reverse=True):
        # Several kinds of tensor arithmetic in a word.
        first, kinds = zip(*(name.partition(" ")[::2] for name in named[peak]), strict=True)
        same = bool(kinds[0]) and len(set(kinds)) == 1
        roof_names[peak] = f"{', '.join(first)} {kinds[0]}" if same else ", ".join(named[peak])
    return roof_names


def why_no_roofline(trace: Trace) -> str:
    """What to tell a user who asks for a roofline and gets none."""
    if trace.kernel_calls.is_empty():
        why, again = "a timeline does not count operations", "the kernels"
    else:
        why, again = "the operations of the kernels were not counted", "again"
    return f"{why}; profile {again} with `timesink ncu --metrics roofline`"


def roofline(
    trace: Trace, calls: pl.DataFrame, peaks: PeaksChoice | DevicePeaks | None = None
) -> Roofline | None:
    """The launches against the roofs of their device; None where operations were not counted.

    Without peaks the achieved rates are given, and no roofs.
    """
    counts = counted_work(trace, calls)
    if counts is None:
        return None
    work, notes = counts
    choice = peaks if isinstance(peaks, PeaksChoice) else PeaksChoice(peaks)
    device_peaks = choice.peaks
    weight = "weight" if "weight" in calls.columns else pl.lit(1.0).alias("weight")
    launches = calls.select("index", "host", "device", "dur_ns", "dram_pct", weight)
    rows = _measured_rows(launches.hstack(work.drop("index")), device_peaks)
    rows = _with_roofs(rows, device_peaks).select(COLUMNS)
    parts = rows.partition_by("host", "device", maintain_order=True)
    devices = tuple(_device(part) for part in parts if part.height)
    return Roofline(
        peaks=device_peaks,
        reason="" if device_peaks else choice.reason or "the peaks of the device are not known",
        calls=rows,
        devices=devices,
        notes=(*notes, *_notes(rows, device_peaks, devices)),
    )


def _device(rows: pl.DataFrame) -> DeviceRoof:
    total, covered, roof = rows.select(
        _time().sum(),
        _time().filter(_has_roof()).sum().alias("covered"),
        _sum_where("roof_ns", _has_roof()),
    ).row(0)
    spent = dict(rows.group_by("bound").agg(_time().sum().alias("time")).iter_rows())
    timed = rows.filter(pl.col("sm_hz").is_not_null() & (pl.col("dur_ns") > 0))
    mean: float | None = timed.select((pl.col("sm_hz") * _time()).sum() / _time().sum()).item()
    return DeviceRoof(
        host=rows["host"][0],
        device=rows["device"][0],
        total_ns=round(total),
        covered_ns=round(covered),
        roof_ns=roof,
        roof_share_pct=100 * roof / covered if covered else None,
        bound_ns={bound: float(spent.get(bound) or 0.0) for bound in BOUNDS},
        clock_hz=mean if timed.height else None,
    )


def _time() -> pl.Expr:
    return pl.col("dur_ns") * pl.col("weight")


def _has_roof() -> pl.Expr:
    return pl.col("roof_ns").is_not_null() & pl.col("dur_ns").is_not_null()


def _measured_rows(rows: pl.DataFrame, peaks: DevicePeaks | None) -> pl.DataFrame:
    """What each launch did and how fast, without regard to any roof."""
    bandwidth = peaks.dram_bytes_per_s if peaks else None
    seconds = pl.when(pl.col("dur_ns") > 0).then(pl.col("dur_ns") / 1e9)
    from_share = pl.col("dram_pct") / 100 * seconds * pl.lit(bandwidth, pl.Float64())
    has_flop = pl.any_horizontal(pl.col(FLOP_COLUMNS).is_not_null())
    return rows.with_columns(
        bytes_estimated=pl.col(BYTES).is_null() & from_share.is_not_null(),
        bytes=pl.col(BYTES).fill_null(from_share),
        flop=pl.when(has_flop).then(pl.sum_horizontal(FLOP_COLUMNS)),
        flop_estimated=pl.col("flop_estimated").fill_null(value=False),
    ).with_columns(
        intensity=pl.when(pl.col(BYTES) > 0).then(pl.col("flop") / pl.col(BYTES)),
        achieved_flop_per_s=pl.col("flop") / seconds,
        achieved_bytes_per_s=pl.col(BYTES) / seconds,
    )


def _with_roofs(rows: pl.DataFrame, peaks: DevicePeaks | None) -> pl.DataFrame:
    """The shortest time the work of each launch can take, and what sets it."""
    device_peaks = peaks or DevicePeaks("")
    at_peak = {}
    for precision in PRECISIONS:
        flop, peak = (
            pl.col(f"flop_{precision}").fill_null(0.0),
            pl.lit(device_peaks.peak(precision), pl.Float64()),
        )
        at_peak[precision] = pl.when(flop == 0).then(0.0).otherwise(flop * 1e9 / peak)
    # Time of the operations of each pipe; null where a peak it needs is unknown.
    pipes = [
        pl.sum_horizontal([at_peak[precision] for precision in precisions], ignore_nulls=False)
        for precisions in PIPES.values()
    ]
    unknown = pl.any_horizontal(pipe.is_null() for pipe in pipes) | pl.col("flop").is_null()
    compute, memory = pl.col("compute_ns"), pl.col("memory_ns")
    roof = pl.when(compute.is_not_null() & memory.is_not_null()).then(
        pl.max_horizontal(compute, memory)
    )
    bound = (
        pl.when(pl.col("roof_ns") > 0)
        .then(pl.when(compute >= memory).then(pl.lit("compute")).otherwise(pl.lit("memory")))
        .cast(pl.Enum(BOUNDS))
    )
    # The precision that takes the most time at its peak; without peaks, with the most FLOP.
    amounts = [
        pl.coalesce(at_peak[precision], pl.col(f"flop_{precision}"), 0.0)
        for precision in PRECISIONS
    ]
    return (
        rows.with_columns(
            compute_ns=pl.when(~unknown).then(pl.max_horizontal(pipes)),
            memory_ns=pl.col(BYTES) * 1e9 / pl.lit(device_peaks.dram_bytes_per_s, pl.Float64()),
            precision=_largest(PRECISIONS, amounts),
        )
        .with_columns(roof_ns=roof)
        .with_columns(
            roof_flop_per_s=_ratio(pl.col("flop") * 1e9, pl.col("roof_ns")),
            roof_share_pct=_ratio(100 * pl.col("roof_ns"), pl.col("dur_ns")),
            bound=bound,
        )
    )


def _sum_where(column: str, where: pl.Expr) -> pl.Expr:
    amount = pl.col(column) * pl.col("weight")
    return pl.when(where.any()).then(amount.filter(where).sum())


def _ratio(top: pl.Expr, bottom: pl.Expr) -> pl.Expr:
    return pl.when(bottom > 0).then(top / bottom)


def _per_second(column: str, where: pl.Expr) -> pl.Expr:
    return 1e9 * _ratio(_sum_where(column, where), _time().filter(where).sum())


def _mostly(column: str, values: tuple[str, ...]) -> pl.Expr:
    """The value the launches have for most of the time; null where none has one."""
    times = [_time().filter(pl.col(column) == value).sum() for value in values]
    return _largest(values, times).alias(column)


def _largest(names: tuple[str, ...], amounts: list[pl.Expr]) -> pl.Expr:
    """The name of the largest amount, the first of equal ones; null where there is none."""
    most = pl.max_horizontal(amounts)
    named = pl.coalesce(
        pl.when((amount == most) & (most > 0)).then(pl.lit(name))
        for name, amount in zip(names, amounts, strict=True)
    )
    return named.cast(pl.Enum(names))


def _notes(
    rows: pl.DataFrame, peaks: DevicePeaks | None, devices: tuple[DeviceRoof, ...]
) -> Iterator[str]:
    launches = count_noun(rows.height, "kernel calls")
    for what, column, how in (
        ("memory traffic", "bytes_estimated", "their share of the peak bandwidth"),
        ("FLOP", "flop_estimated", "their number of tensor instructions"),
    ):
        if number := int(rows[column].sum()):
            yield f"{what} of {count(number)} of {launches} estimated from {how}"
    if peaks is None:
        return
    for precision in PRECISIONS:
        if peaks.peak(precision) is None and (number := int((rows[f"flop_{precision}"] > 0).sum())):
            unroofed = f"{count_noun(number, 'kernel calls')} without a roofline"
            yield f"{peaks.device}: no peak of {precision} is known: {unroofed}"
    yield from peaks.doubts(
        [MEMORY, *(precision for precision in PRECISIONS if rows[f"flop_{precision}"].sum())]
    )
    above = int((rows["roof_share_pct"] > _ABOVE_PCT).sum())
    if above:
        yield f"{count_noun(above, 'kernel calls')} above the roofline: peaks too low, or sparse"
    if peaks.measured:
        # Reached at the clock the device has, not at the one its sheet assumes.
        return
    assumed = peaks.tensor_boost_hz or peaks.boost_hz or 0.0
    for device in devices:
        if device.clock_hz and device.clock_hz < _SLOW * assumed:
            which = "the device" if len(devices) == 1 else f"device {device.device}"
            yield (
                f"{which} ran at {device.clock_hz / 1e9:.2f} GHz on average, its published peaks"
                f" assume {assumed / 1e9:.2f} GHz"
            )
