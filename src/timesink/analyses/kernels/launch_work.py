"""How much arithmetic and memory traffic each launch did, from the metrics of a kernel profiler.

A profiler may count one thing under several names: in total, by result type, by instruction, per
multiprocessor or per partition of one.  Of each quantity the most direct count is taken, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl
from msgspec import structs

from timesink.analyses.kernels.peaks import PRECISIONS
from timesink.model.trace import Trace
from timesink.model.units import count_noun
from timesink.patterns import regex

BYTES = "bytes"
_TENSOR = tuple(precision for precision in PRECISIONS if precision.endswith("_tensor"))

_MULTIPROCESSOR = regex(
    r"(?P<unit>sm|smsp)__(?P<what>\w+)\.sum(?:\.(?P<per>per_second|per_cycle_elapsed))?"
)
_MEMORY = regex(r"dram__bytes(?P<way>_read|_write)?\.sum(?:\.(?P<per>per_second))?")
_THREAD_INSTRUCTION = regex(r"sass_thread_inst_executed_op_(?P<op>\w+)_pred_on")
_TENSOR_OPERATION = regex(
    r"ops_path_tensor(?:_op_(?P<op>[a-z]+))?_src_(?P<source>\w+?)"
    r"(?:_dst_(?P<result>[a-z0-9]+))?(?:_sparsity_(?P<sparsity>on|off))?"
)
_TENSOR_INSTRUCTION = regex(
    r"inst_executed_pipe_tensor(?:_op_(?P<op>[a-z]+?(?:_type_hfma2)?))?(?:_v2)?"
)
_CLOCKS = ("sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second")
_PER = {None: 0, "per_second": 1, "per_cycle_elapsed": 2}

_FLOP_PER_THREAD = {
    **{f"d{op}": ("fp64", flop) for op, flop in (("add", 1), ("mul", 1), ("fma", 2))},
    **{f"f{op}": ("fp32", flop) for op, flop in (("add", 1), ("mul", 1), ("fma", 2))},
    # Two values at a time: these instructions work on pairs in one register.
    **{f"f{op}2": ("fp32", flop) for op, flop in (("add", 2), ("mul", 2), ("fma", 4))},
    **{f"h{op}": ("fp16", flop) for op, flop in (("add", 2), ("mul", 2), ("fma", 4))},
}
_EVERY_OP = {kind: {f"{kind[0]}{op}" for op in ("add", "mul", "fma")} for kind in ("d", "f", "h")}
_SOURCES = ("fp64", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "int1")
_PRECISION_OF_SOURCE = {
    **{source: f"{source}_tensor" for source in _SOURCES},
    "fp4_fp6_fp8": "fp8_tensor",
}
_HMMA_TOTAL, _TAKEN_OFF = "hmma", "hmma_type_hfma2"
_FLOP_PER_INSTRUCTION: Mapping[str, Mapping[str | None, tuple[str, int]]] = {
    # mma 8x8x4 of four thread groups in four steps, fp32 accumulation
    "7.0": {None: ("fp16_tensor", 512)},
    "7.2": {None: ("fp16_tensor", 512)},
    # mma 16x8x16 (HMMA; HFMA2 goes through the same pipe), 16x8x32 (IMMA), 8x8x4 (DMMA)
    "8.": {
        _HMMA_TOTAL: ("fp16_tensor", 4096),
        _TAKEN_OFF: ("fp16_tensor", -4096),
        "imma": ("int8_tensor", 8192),
        "dmma": ("fp64_tensor", 512),
    },
}
_ESTIMATE = 9
"""Level of counts of instructions that may do different amounts of work."""
_TENSOR_IN_USE = 5.0
"""Percent; below it the tensor pipe may only have moved constants (HFMA2)."""


class MetricRole(msgspec.Struct, frozen=True):
    """What a metric counts, and which of several counts of the same thing it is."""

    quantity: str
    """`bytes` or a precision."""
    part: str
    """Parts of a quantity add up."""
    level: int
    """Only the parts of the lowest level present make up the quantity."""
    rank: int
    """Only the metrics of the lowest rank present make up a part."""
    factor: float
    """FLOP or bytes per count."""
    per: str | None
    """`per_second`, `per_cycle_elapsed`, or None for a sum over the launch."""


def role_of(metric: str, compute_capability: str | None = None) -> MetricRole | None:
    """What a metric contributes; None for a metric that counts something else."""
    memory = _MEMORY.fullmatch(metric)
    if memory:
        # Sums come before rates, and totals before what was read and what was written.
        level = 2 * _PER[memory["per"]] + (memory["way"] is not None)
        return MetricRole(BYTES, memory["way"] or "", level, 0, 1, memory["per"])
    match = _MULTIPROCESSOR.fullmatch(metric)
    if match is None:
        return None
    # A sum over multiprocessors and one over their partitions are the same number.
    rank = 8 * _PER[match["per"]] + 4 * (match["unit"] == "smsp")
    what, per = match["what"], match["per"]
    thread = _THREAD_INSTRUCTION.fullmatch(what)
    if thread and thread["op"] in _FLOP_PER_THREAD:
        precision, flop = _FLOP_PER_THREAD[thread["op"]]
        return MetricRole(precision, thread["op"], 0, rank, flop, per)
    tensor = _TENSOR_OPERATION.fullmatch(what)
    if tensor and tensor["source"] in _PRECISION_OF_SOURCE:
        # A total comes before its parts by sparsity, and those before parts by type of the result.
        detail = 2 * (tensor["sparsity"] is not None) + (tensor["result"] is not None)
        part, level = f"{tensor['source']} {tensor['op'] or ''}", int(tensor["op"] is not None)
        precision = _PRECISION_OF_SOURCE[tensor["source"]]
        return MetricRole(precision, part, level, rank + detail, 1, per)
    instruction, capability = _TENSOR_INSTRUCTION.fullmatch(what), compute_capability or ""
    flop_by_op = _FLOP_PER_INSTRUCTION.get(capability) or _FLOP_PER_INSTRUCTION.get(
        capability[:2], {}
    )
    if instruction is None or instruction["op"] not in flop_by_op:
        return None
    precision, flop = flop_by_op[instruction["op"]]
    return MetricRole(precision, instruction["op"] or "", _ESTIMATE, rank, flop, per)


def counted_work(trace: Trace, calls: pl.DataFrame) -> tuple[pl.DataFrame, list[str]] | None:
    """What the launches did, in their order, and notes; None where no arithmetic was counted.

    `index`, `bytes`, `flop_<precision>`, `flop_estimated`, `sm_hz`; null is not measured.
    """
    by_level = pl.col("level").min().over("index", "quantity")
    by_rank = pl.col("rank").min().over("index", "quantity", "part")
    # What is taken off a count means nothing without it.
    has_whole = (pl.col("part") == _HMMA_TOTAL).any().over("index", "quantity")
    chosen = (
        _counts(trace, calls)
        .filter(pl.col("level") == by_level)
        .filter(pl.col("rank") == by_rank)
        .filter((pl.col("part") != _TAKEN_OFF) | has_whole)
    )
    if not chosen.filter(pl.col("quantity").is_in(PRECISIONS)).height:
        return None
    amounts = chosen.group_by("index", "quantity").agg(
        pl.col("amount").sum().clip(lower_bound=0),
        (pl.col("level") == _ESTIMATE).any().alias("estimated"),
        pl.col("part").n_unique().alias("parts"),
        pl.col("level").first(),
    )
    # Reads without writes are not the traffic.
    is_complete = (
        (pl.col("quantity") != BYTES) | (pl.col("level") % 2 == 0) | (pl.col("parts") == 2)
    )
    columns = {BYTES: BYTES, **{precision: f"flop_{precision}" for precision in PRECISIONS}}
    wide = (
        amounts.filter(is_complete)
        .group_by("index")
        .agg(
            *(
                pl.col("amount").filter(pl.col("quantity") == quantity).first().alias(column)
                for quantity, column in columns.items()
            ),
            flop_estimated=(pl.col("estimated") & (pl.col("amount") > 0)).any(),
        )
    )
    work = calls.select("index")
    for table in (wide, _clock(trace)):
        work = work.join(table, on="index", how="left", maintain_order="left")
    tensor, other = _any_counted(work, _TENSOR), _any_counted(work, PRECISIONS)
    # Launches that used the tensor pipe, but whose tensor operations were not counted.
    unseen = ~tensor & (calls["tensor_pct"].fill_null(0.0) >= _TENSOR_IN_USE)
    # Launches with other operations counted that may have used the tensor pipe as well.
    unsure = ~tensor & other & calls["tensor_pct"].is_null()
    certain_work = work.with_columns(
        pl.when(~(unseen | unsure)).then(pl.col(f"flop_{precision}")).alias(f"flop_{precision}")
        for precision in PRECISIONS
    )
    return certain_work, _notes(chosen, int(unseen.sum()), int(unsure.sum()))


def _counts(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Metrics with a role, as amounts over the launch."""
    launches = calls.select("index", "dur_ns", "compute_capability")
    metrics = (
        trace.lazy("kernel_metrics")
        .filter(pl.col("value").is_finite())
        .select("index", "metric", "value")
        .collect()
    )
    # The role of each metric on each generation of devices.
    capabilities = calls["compute_capability"]
    rows = [
        {"metric": metric, "compute_capability": capability, **structs.asdict(role)}
        for metric in metrics["metric"].unique().cast(pl.String)
        for capability in capabilities.unique().cast(pl.String)
        if (role := role_of(metric, capability))
    ]
    schema = {
        **dict.fromkeys(("metric", "compute_capability", "quantity", "part"), pl.Categorical()),
        "per": pl.String(),
        **dict.fromkeys(("level", "rank"), pl.Int64()),
        "factor": pl.Float64(),
    }
    roles = pl.DataFrame(rows, schema=schema)
    seconds = pl.col("dur_ns") / 1e9
    scale = (
        pl.when(pl.col("per").is_null())
        .then(1.0)
        .when(pl.col("per") == "per_second")
        .then(seconds)
        .otherwise(seconds * pl.col("sm_hz"))
    )
    return (
        # Most metrics have no role: they go before anything else is looked up.
        metrics.filter(pl.col("metric").is_in(roles["metric"].unique().implode()))
        .join(launches, on="index")
        .join(roles, on=["metric", "compute_capability"], nulls_equal=True)
        .join(_clock(trace), on="index", how="left")
        .with_columns(amount=pl.col("value") * pl.col("factor") * scale)
        .filter(pl.col("amount").is_not_null())
    )


def _clock(trace: Trace) -> pl.DataFrame:
    """The clock of the multiprocessors during each launch, where it was recorded."""
    return (
        trace.lazy("kernel_metrics")
        .filter(pl.col("metric").is_in(_CLOCKS))
        .group_by("index")
        .agg(sm_hz=pl.col("value").max())
        .collect()
    )


def _any_counted(work: pl.DataFrame, precisions: Sequence[str]) -> pl.Series:
    columns = [f"flop_{precision}" for precision in precisions]
    return work.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series()


def _notes(chosen: pl.DataFrame, unseen: int, unsure: int) -> list[str]:
    notes = []
    if unseen:
        calls = count_noun(unseen, "kernel calls")
        notes.append(
            f"tensor operations were not counted in {calls} with tensor cores: no roofline"
        )
    if unsure:
        calls = count_noun(unsure, "kernel calls")
        notes.append(
            f"neither tensor pipe utilisation nor operations were recorded in {calls}: no roofline"
        )
    ops = set(chosen["part"].unique())
    for kind in _EVERY_OP.values():
        missing = sorted(kind - ops)
        if missing and missing != sorted(kind):
            notes.append(f"{', '.join(missing).upper()} were not counted: FLOP are a lower bound")
    if chosen.filter((pl.col("quantity") == "int1_tensor") & (pl.col("amount") > 0)).height:
        notes.append("operations on single bits (int1) have no roofline and are left out")
    return notes
