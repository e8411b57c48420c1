"""How near operators and steps come to what their device can do at most.

The roof of a call is a time: its operations at the peak of the unit that does them, its bytes at
the bandwidth of the memory, or what it sends at that of the link, whichever is longest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from timesink.analyses.columns import device_names, memoize_per_trace
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.families import load_families
from timesink.analyses.kernels.peaks import DevicePeaks, PeaksChoice, choose_peaks
from timesink.analyses.names import short_kernel_name
from timesink.analyses.replay.critical_path import modules_of
from timesink.analyses.steps import complete_steps
from timesink.analyses.work.arguments import Tensor, parse_inputs
from timesink.analyses.work.calls import (
    LIKE,
    MODELLED,
    ModelledCalls,
    modelled_calls,
    modelled_share,
)
from timesink.analyses.work.formulas import FormulaRegistry
from timesink.analyses.work.steps import (
    COLLECTIVE,
    LINK,
    MATRIX,
    MEMORY,
    VECTOR,
    StepEfficiency,
    step_efficiency,
)
from timesink.model.fitness import STEP_TIME
from timesink.model.trace import Trace
from timesink.patterns import regex

REACHED = {MATRIX: 0.80, VECTOR: 0.77, MEMORY: 0.85, LINK: 0.80}
"""Shares of the published peaks that good kernels reach: matrix products, vector work and copies
as measured on an H200 (docs/efficiency.md).  Convolutions are taken as products: those measured
reached half, but were small.  Links were not measured."""
ATTENTION, FUSED_REACHES = "attention", 0.5
"""Attention in one kernel keeps matrix units waiting for its softmax: half of the peak is good.
On an H200 that of cuDNN reached 47 to 65 %, others less (docs/efficiency.md)."""
MIN_MODELLED = 0.8
"""Of the kernel time of steps: with less, what a step computes is not told."""
_MATRIX_PEAKS: Mapping[str, tuple[str, ...]] = {
    "fp64": ("fp64_tensor", "fp64"),
    "fp32": ("fp32_tensor", "fp32"),
    "tf32": ("tf32_tensor", "fp32"),
    "fp16": ("fp16_tensor", "bf16_tensor"),
    "bf16": ("bf16_tensor", "fp16_tensor"),
    "fp8": ("fp8_tensor",),
    "fp4": ("fp4_tensor",),
    "int8": ("int8_tensor",),
}
"""Peaks that matrix products of a precision are held against, the first that is known."""
_ROUNDED = "rounded to tf32: faster than fp32 can be"
_HEADROOM = {"roof_ns": "headroom_ns", "reachable_ns": "reachable_headroom_ns"}
_LIST, _NUMBER = regex(r"\[[\d, ]*\]"), regex(r"\d+")

_ROOF = {
    **dict.fromkeys(("bound", "precision"), pl.String()),
    **dict.fromkeys(("roof_pct", "headroom_ns", "reachable_headroom_ns"), pl.Float64()),
}
SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("operator", "shape", "types", "family"), pl.String()),
    "calls": pl.Int64(),
    "device_ns": pl.Int64(),
    "step_ns": pl.Float64(),
    **dict.fromkeys(("gflop", "mib", "flop_per_byte"), pl.Float64()),
    **dict.fromkeys(("tflops", "median_tflops", "spread_tflops"), pl.Float64()),
    **dict.fromkeys(("tb_per_s", "median_tb_per_s", "spread_tb_per_s"), pl.Float64()),
    **_ROOF,
    "assumed": pl.String(),
    "captured_pct": pl.Float64(),
}
GROUP_SCHEMA: dict[str, pl.DataType] = {
    "name": pl.String(),
    "calls": pl.Int64(),
    **dict.fromkeys(("step_ns", "modelled_pct"), pl.Float64()),
    **dict.fromkeys(("gflop", "mib", "flop_per_byte", "tflops", "tb_per_s"), pl.Float64()),
    **_ROOF,
    "captured_pct": pl.Float64(),
}
_SHORTEST, _LONGEST_START_NS = 0.01, 2_000.0
_GIGA, _TERA, _MEBI = 1e9, 1e12, float(2**20)


@dataclass(frozen=True, eq=False, repr=False)
class Efficiency:
    """The calls of a recording against the roofs of their device."""

    trace: Trace
    choice: PeaksChoice
    modelled: ModelledCalls
    formulas: FormulaRegistry | None = None
    """Formulas of the user."""

    def __repr__(self) -> str:
        """One line: the share that is modelled, and what of the device is used."""
        share, step = self.modelled.modelled_share or 0.0, self.step
        used = "" if step is None or step.mfu is None else f", MFU {step.mfu:.1%}"
        device = self.peaks.device if self.peaks else "no known device"
        return f"<Efficiency on {device}: {share:.1%} modelled{used}>"

    @property
    def peaks(self) -> DevicePeaks | None:
        return self.choice.peaks

    @cached_property
    def sets(self) -> pl.DataFrame:
        """Sets of arguments with the roof of one call: `roof_ns`, `bound`, `peak`."""
        return with_roofs(_with_rounding(self.modelled, self.peaks), self.peaks)

    @cached_property
    def kernels(self) -> pl.DataFrame:
        """Every kernel with its part of the work of its call, and of its roof."""
        work = self.sets.with_row_index("set").select(
            *(pl.col("set").cast(pl.Int64), "family", "bound", "precision", "peak"),
            *("matrix_flop", "vector_flop", "recomputed_flop", "wire_bytes"),
            *("roof_ns", "peak_ns", "recomputed_ns", "memory_ns"),
            (pl.col("read_bytes") + pl.col("written_bytes")).alias("bytes"),
        )
        parts = (
            *("matrix_flop", "vector_flop", "recomputed_flop", "bytes", "wire_bytes"),
            *("roof_ns", "peak_ns", "recomputed_ns", "memory_ns"),
        )
        rows = self.modelled.kernels.join(work, on="set", how="left", maintain_order="left")
        is_modelled = pl.col("known").is_in([MODELLED, LIKE])
        return rows.with_columns(
            pl.when(is_modelled).then(pl.col(name) * pl.col("share")).alias(name) for name in parts
        )

    @cached_property
    def device_steps(self) -> int:
        """Complete steps, on each device: what an average step of a device is the part of."""
        devices = self.modelled.kernels.filter(pl.col("step") >= 0)["device"].n_unique()
        return max(complete_steps(self.trace).height, 1) * max(devices, 1)

    def reached(self) -> pl.Expr:
        """The share of its roof that a good kernel reaches; all of one that was measured."""
        peaks = self.peaks
        measured = {*peaks.stated, *peaks.measured} if peaks else set()
        shares = {
            **REACHED,
            **({MEMORY: 1.0} if "dram" in measured else {}),
            **({LINK: 1.0} if "link" in measured else {}),
        }
        share = pl.col("bound").replace_strict(shares, default=1.0, return_dtype=pl.Float64())
        fused = (pl.col("family") == ATTENTION) & (pl.col("bound") == MATRIX)
        share = pl.when(fused).then(FUSED_REACHES).otherwise(share)
        of_units = pl.col("bound").is_in([MATRIX, VECTOR]) & pl.col("peak").is_in(list(measured))
        return pl.when(of_units).then(1.0).otherwise(share)

    @cached_property
    def shortest_ns(self) -> float:
        """What a kernel takes at least, however little it does: as short as any in a hundred."""
        lengths = self.modelled.kernels.filter("is_kernel")["dur_ns"]
        return min(float(lengths.quantile(_SHORTEST) or 0.0), _LONGEST_START_NS)

    @cached_property
    def step(self) -> StepEfficiency | None:
        """An average step; None where too little of its work is known, or its length is not."""
        share = self.step_modelled_share
        if share is None or share < MIN_MODELLED or not self.has_step_time:
            return None
        return step_efficiency(self.trace, self.kernels, self.modelled.calls, self.peaks)

    @property
    def has_step_time(self) -> bool:
        """Whether the recording can tell how long a step takes."""
        return recording_fitness(self.trace).answers(STEP_TIME)

    @cached_property
    def step_modelled_share(self) -> float | None:
        """How much of the kernel time of steps has work."""
        in_steps = self.modelled.kernels.filter(pl.col("step") >= 0)
        return modelled_share(in_steps)


@memoize_per_trace
def efficiency(trace: Trace) -> Efficiency:
    """How near the calls of a recording come to the roofs of its device.

    >>> import timesink
    >>> found = efficiency(timesink.open(timesink.sample()))
    >>> found.modelled.modelled_share > 0.9
    True
    """
    return Efficiency(trace, choose_peaks(trace), modelled_calls(trace))


def with_roofs(sets: pl.DataFrame, peaks: DevicePeaks | None) -> pl.DataFrame:
    """Sets of arguments with the roof of one call, what sets it, and the precision of products."""
    device_peaks = peaks or DevicePeaks("")
    names, at_peak = [], []
    for flop, precision, tf32, uses in sets.select(
        "matrix_flop", "precision", "tf32", "matrix_kernels"
    ).iter_rows():
        name = (
            _peak_name(device_peaks, precision or "", tf32=tf32, uses_matrix=uses) if flop else ""
        )
        peak = device_peaks.peak(name) if name else None
        names.append(name)
        at_peak.append(1e9 * flop / peak if peak else None)
    memory, link = device_peaks.dram_bytes_per_s, device_peaks.link_bytes_per_s
    peak_of = {vector_type: device_peaks.peak(vector_type) for vector_type in ("fp64", "fp32")}
    moved = pl.col("read_bytes") + pl.col("written_bytes")
    by_vector = (
        pl.when(pl.col("precision") == "fp64")
        .then(_at(pl.col("vector_flop"), peak_of["fp64"]))
        .otherwise(_at(pl.col("vector_flop"), peak_of["fp32"]))
    )
    rows = sets.with_columns(
        pl.Series("peak", names, dtype=pl.String),
        pl.Series("peak_ns", at_peak, dtype=pl.Float64),
        vector_ns=by_vector,
        # Of its matrix operations, those that were done before.
        recomputed_ns=pl.Series(at_peak, dtype=pl.Float64())
        * _ratio(pl.col("recomputed_flop"), pl.col("matrix_flop")).fill_null(0.0),
        memory_ns=_at(moved, memory),
        link_ns=_at(pl.col("wire_bytes"), link),
    )
    times = [
        pl.col(name).fill_null(0.0) for name in ("peak_ns", "vector_ns", "memory_ns", "link_ns")
    ]
    roof = pl.max_horizontal(times)
    matrix, vector, dram, wire = (time == roof for time in times)
    bound = (
        pl.when(roof <= 0)
        .then(None)
        .when(wire)
        .then(pl.lit(LINK))
        .when(dram)
        .then(pl.lit(MEMORY))
        .when(matrix)
        .then(pl.lit(MATRIX))
        .when(vector)
        .then(pl.lit(VECTOR))
    )
    # Without the peak of what it mostly does, a call has no roof.
    is_incomplete = (pl.col("matrix_flop") > 0) & pl.col("peak_ns").is_null()
    is_incomplete |= pl.col("matrix_flop").is_null() | (pl.lit(memory is None) & (moved > 0))
    return rows.with_columns(
        pl.when(~is_incomplete & (roof > 0)).then(roof).alias("roof_ns"),
        pl.when(~is_incomplete).then(bound).alias("bound"),
        pl.when(pl.col("peak") != "")
        .then(pl.col("peak").str.strip_suffix("_tensor"))
        .otherwise("precision")
        .alias("precision"),
    )


def _with_rounding(modelled: ModelledCalls, peaks: DevicePeaks | None) -> pl.DataFrame:
    """Sets of arguments; products of fp32 that are faster than fp32 can be are rounded to tf32."""
    plain = peaks.peak("fp32") if peaks else None
    if not plain or not peaks or not peaks.peak("tf32_tensor"):
        return modelled.sets
    times = modelled.calls.group_by("set").agg(pl.col("union_ns").median())
    sets = modelled.sets.with_row_index("set").cast({"set": pl.Int64})
    rows = sets.join(times, on="set", how="left", maintain_order="left")
    rate = 1e9 * pl.col("matrix_flop") / pl.col("union_ns")
    faster = (pl.col("precision") == "fp32") & ~pl.col("tf32") & (rate > plain)
    faster = faster.fill_null(value=False)
    return rows.with_columns(
        tf32=pl.col("tf32") | faster,
        assumed=pl.when(faster).then(pl.lit(_ROUNDED)).otherwise("assumed"),
    ).drop("set", "union_ns")


def _at(amount: pl.Expr, per_second: float | None) -> pl.Expr:
    return 1e9 * amount / per_second if per_second else pl.lit(None, pl.Float64())


def _peak_name(peaks: DevicePeaks, precision: str, *, tf32: bool, uses_matrix: bool) -> str:
    """The peak that matrix products are held against."""
    if precision == "fp32":
        # Whether products of fp32 are rounded to tf32 is seen by the kernel.
        if tf32 or (uses_matrix and not peaks.peak("fp32_tensor")):
            precision = "tf32"
        elif not uses_matrix:
            return "fp32"
    candidates = _MATRIX_PEAKS.get(precision, ())
    return next(
        (name for name in candidates if peaks.peak(name)), candidates[0] if candidates else ""
    )


@memoize_per_trace
def operator_efficiency(subject: Trace | Efficiency) -> pl.DataFrame:
    """One row per operator and what it was given: work of a call, rates, roof and headroom.

    Rates are over the union of the kernels of a call: over all calls, their median and their
    standard deviation.  Headroom is per step: what would be saved at the roof, and at the share
    of it that good kernels reach, which take a while to start.  Collectives have none: they wait.
    """
    call_efficiency = _of(subject)
    sets = call_efficiency.sets.with_row_index("set").with_columns(pl.col("set").cast(pl.Int64))
    work = sets.select(
        *("set", "operator", "family", "bound", "precision", "peak", "assumed", "roof_ns"),
        _texts(sets["input_dims"], shape_text).alias("shape"),
        _texts(sets["input_types"], _type_text).alias("types"),
        flop=pl.col("matrix_flop") + pl.col("vector_flop"),
        bytes=pl.col("read_bytes") + pl.col("written_bytes") + pl.col("wire_bytes"),
    ).filter(pl.col("flop").is_not_null())
    calls = call_efficiency.modelled.calls.join(work, on="set", how="inner", maintain_order="left")
    keys = ["operator", "shape", "types", "family", "bound", "precision"]
    in_steps = pl.col("step") >= 0
    time, roof = pl.col("union_ns"), pl.col("roof_ns")
    reached = call_efficiency.reached()
    rows = (
        calls.with_columns(
            reachable_ns=pl.max_horizontal(roof / reached, call_efficiency.shortest_ns)
        )
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            time.sum().alias("device_ns"),
            (time.filter(in_steps).sum() / call_efficiency.device_steps).alias("step_ns"),
            (pl.col("flop").mean() / _GIGA).alias("gflop"),
            (pl.col("bytes").mean() / _MEBI).alias("mib"),
            _ratio(pl.col("flop").sum(), pl.col("bytes").sum()).alias("flop_per_byte"),
            *_rates("flop", "tflops"),
            *_rates("bytes", "tb_per_s"),
            pl.when(roof.count() == pl.len())
            .then(_ratio(100 * roof.sum(), time.sum()))
            .alias("roof_pct"),
            *(
                (
                    (time - pl.col(at)).clip(0).filter(in_steps).sum()
                    / call_efficiency.device_steps
                ).alias(name)
                for at, name in _HEADROOM.items()
            ),
            pl.col("assumed").first(),
            _captured_pct(time),
        )
        .with_columns(
            pl.when(pl.col("roof_pct").is_not_null() & (pl.col("family") != COLLECTIVE))
            .then(name)
            .alias(name)
            for name in _HEADROOM.values()
        )
        .sort("headroom_ns", "device_ns", descending=True, nulls_last=True, maintain_order=True)
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _captured_pct(time: pl.Expr) -> pl.Expr:
    """The part of the time whose call comes from a capture."""
    captured = time.filter(pl.col("captured")).sum()
    return _ratio(100 * captured, time.sum()).alias("captured_pct")


def _rates(amount: str, name: str) -> list[pl.Expr]:
    """What is done in a second, in tera: over all calls, their median and spread."""
    time = pl.col("union_ns")
    rate = _ratio(1e9 / _TERA * pl.col(amount), time)
    return [
        _ratio(1e9 / _TERA * pl.col(amount).sum(), time.sum()).alias(name),
        rate.median().alias(f"median_{name}"),
        rate.std().fill_null(0.0).alias(f"spread_{name}"),
    ]


def _texts(column: pl.Series, convert: Callable[[str], str]) -> pl.Series:
    text_of = {text: convert(text) for text in column.unique() if text is not None}
    return column.replace_strict(text_of, default=None, return_dtype=pl.String())


def shape_text(dims: str) -> str:
    """Shapes as people write them.

    >>> shape_text("[[8, 16], [16], []]")
    '8x16, 16'
    """
    shapes = _LIST.findall(dims)
    texts = ["x".join(_NUMBER.findall(shape)) for shape in shapes]
    return ", ".join(text for text in texts if text)


def _type_text(types: str) -> str:
    """Types of tensors, each once.

    >>> _type_text('["c10::Half", "c10::Half", "Scalar", ""]')
    'Half'
    """
    type_names = (tensor.type for tensor in parse_inputs("[]", types) if isinstance(tensor, Tensor))
    return ", ".join(dict.fromkeys(name.removeprefix("c10::") for name in type_names))


def _of(subject: Trace | Efficiency) -> Efficiency:
    return efficiency(subject) if isinstance(subject, Trace) else subject


def _ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    return pl.when(below > 0).then(above / below)


@memoize_per_trace
def family_efficiency(subject: Trace | Efficiency) -> pl.DataFrame:
    """The same by family of operators; kernels without work by the family of their names."""
    call_efficiency = _of(subject)
    named = device_names(call_efficiency.trace)
    families = load_families()
    of_name = pl.Series([families.of(text or "") for text in named.texts], dtype=pl.String)
    by_name = of_name.gather(named.codes[call_efficiency.kernels["row"].to_numpy()])
    return _groups(
        call_efficiency, call_efficiency.kernels["family"].fill_null(by_name).alias("name")
    )


def kernel_efficiency(subject: Trace | Efficiency) -> pl.DataFrame:
    """The same by kernel."""
    call_efficiency = _of(subject)
    named = device_names(call_efficiency.trace)
    short = pl.Series([short_kernel_name(text or "") for text in named.texts], dtype=pl.String)
    names = short.gather(named.codes[call_efficiency.kernels["row"].to_numpy()])
    return _groups(call_efficiency, names.alias("name"))


def module_efficiency(subject: Trace | Efficiency) -> pl.DataFrame:
    """The same by module, forward and backward pass together; nothing without modules."""
    call_efficiency = _of(subject)
    modules = modules_of(call_efficiency.trace, call_efficiency.kernels["row"].to_numpy())
    if modules is None:
        return pl.DataFrame(schema=GROUP_SCHEMA)
    return _groups(call_efficiency, modules.alias("name"))


def _groups(call_efficiency: Efficiency, keys: pl.Series) -> pl.DataFrame:
    """One row per value of `keys`, one for each of the kernels; per step, largest first."""
    is_modelled = pl.col("known").is_in([MODELLED, LIKE])
    time, roof = pl.col("dur_ns"), pl.col("roof_ns")
    reached = call_efficiency.reached()
    flop = (pl.col("matrix_flop") + pl.col("vector_flop")).sum()
    moved = (pl.col("bytes") + pl.col("wire_bytes")).sum()
    computes = roof.is_not_null() & (pl.col("family") != COLLECTIVE)
    modelled, roofed = time.filter(is_modelled).sum(), time.filter(roof.is_not_null()).sum()
    rows = (
        call_efficiency.kernels.with_columns(
            keys, reachable_ns=pl.max_horizontal(roof / reached, call_efficiency.shortest_ns)
        )
        .filter(pl.col("step") >= 0)
        .group_by("name", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            _captured_pct(time),
            (time.sum() / call_efficiency.device_steps).alias("step_ns"),
            (100 * modelled / time.sum().clip(1)).alias("modelled_pct"),
            (flop / call_efficiency.device_steps / _GIGA).alias("gflop"),
            (moved / call_efficiency.device_steps / _MEBI).alias("mib"),
            _ratio(flop, moved).alias("flop_per_byte"),
            _ratio(1e9 / _TERA * flop, modelled).alias("tflops"),
            _ratio(1e9 / _TERA * moved, modelled).alias("tb_per_s"),
            pl.col("bound").sort_by(time).drop_nulls().last(),
            pl.col("precision").sort_by(time).drop_nulls().last(),
            _ratio(100 * roof.sum(), roofed).alias("roof_pct"),
            *(
                (
                    (time - pl.col(at)).filter(computes).clip(0).sum()
                    / call_efficiency.device_steps
                ).alias(name)
                for at, name in _HEADROOM.items()
            ),
        )
        .sort("step_ns", "name", descending=[True, False])
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in GROUP_SCHEMA.items())
