"""Operators that one kernel could do: attention that writes its scores, chains bound by memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import host_names
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.efficiency import FUSED_REACHES
from timesink.analyses.work.steps import MEMORY
from timesink.model import units
from timesink.model.arrays import is_run_start
from timesink.model.findings import Evidence
from timesink.rules.efficiency import RoofedSteps, ShorterWork, arguments_of
from timesink.rules.product_shapes import product_of
from timesink.rules.thresholds import FusionLimits

_Rows: TypeAlias = Mapping[int, Mapping[str, Any]]
"""Calls by their place."""
_FUSABLE = frozenset(("elementwise", "normalisation", "copy", "softmax", "reduction"))
_MAX_SHOWN, _MAX_NAMES = 3, 6
_SOFTMAX = ("aten::_softmax", "aten::_safe_softmax", "aten::_masked_softmax")
_SOFTMAX_BACKWARD = ("aten::_softmax_backward_data", "aten::_masked_softmax_backward")


@dataclass(frozen=True, eq=False)
class CallsInOrder:
    """Calls with kernels, in the order in which these run on each stream."""

    run: RoofedSteps
    calls: pl.DataFrame
    """`call`, `set`, `family`, `lane`, `time`, `bytes`, `matrix_flop`, `peak_ns`, the `first` and
    `last` turn of its kernels; a call of -1 is a kernel that nothing is known of."""

    @classmethod
    def of(cls, run: RoofedSteps) -> CallsInOrder:
        lanes = pl.struct("device", "stream", "step").rank("dense").alias("lane")
        ordered = run.kernels.with_columns(lanes).sort("turn")
        call = ordered["call"].to_numpy()
        lane = ordered["lane"].to_numpy()
        new = is_run_start(call, lane) | (call < 0)
        grouped = ordered.with_columns(pl.Series("place", np.cumsum(new)))
        return cls(
            run,
            grouped.group_by("place", maintain_order=True).agg(
                pl.col("call", "set", "family", "lane", "operator").first(),
                time=pl.col("dur_ns").sum(),
                bytes=pl.col("bytes").sum(),
                matrix_flop=pl.col("matrix_flop").sum(),
                peak_ns=pl.col("peak_ns").sum(),
                memory_ns=pl.col("memory_ns").sum(),
                first=pl.col("turn").min(),
                last=pl.col("turn").max(),
            ),
        )

    @cached_property
    def arguments(self) -> Mapping[int, CallArguments]:
        """What calls were given, by the number of their set."""
        set_numbers = self.calls.filter(pl.col("call") >= 0)["set"].unique()
        return {number: arguments_of(self.run, number) for number in set_numbers.to_list()}


# -- attention -------------------------------------------------------------------------------------


def attention_not_fused(run: RoofedSteps) -> list[ShorterWork]:
    """Products, softmax and what is between them, with the scores written to memory."""
    order = CallsInOrder.of(run)
    named = order.calls["operator"].is_in([*_SOFTMAX, *_SOFTMAX_BACKWARD]).fill_null(value=False)
    places = np.flatnonzero(named.to_numpy() & (order.calls["call"].to_numpy() >= 0))
    near = np.unique(places[:, None] + np.arange(-FusionLimits.near, FusionLimits.near + 1))
    near = near[(near >= 0) & (near < order.calls.height)]
    calls = order.calls.with_row_index("at")[near]
    rows = {row["at"]: row for row in calls.iter_rows(named=True)}
    stretches: list[_Attention] = []
    part: dict[int, float] = {}
    for place in places.tolist():
        stretch = _around(order, rows, place)
        if stretch is None:
            continue
        stretches.append(stretch)
        for row in stretch.calls:
            part[row["call"]] = stretch.left
            del rows[row["at"]]  # no other attention has it
    saved = sum(stretch.time - stretch.fused_ns for stretch in stretches)
    if not stretches or not run.worth_telling(saved):
        return []
    chosen = run.kernels.filter(pl.col("call").is_in(list(part)))
    left = chosen["dur_ns"] * chosen["call"].replace_strict(part, return_dtype=pl.Float64())
    chosen = chosen.with_columns(left_ns=left)
    largest = max(stretches, key=lambda stretch: stretch.score_bytes).shape
    shape = largest if len({stretch.shape for stretch in stretches}) == 1 else f"up to {largest}"
    scores = sum(stretch.score_bytes for stretch in stretches)
    back = sum(stretch.is_backward for stretch in stretches)
    many = run.many(max(back, len(stretches) - back), "attentions")
    groups = [
        (f"{stretch.names} on {stretch.shape}", stretch.time, stretch.score_bytes)
        for stretch in stretches
    ]
    ways = ", with the backward pass" if 0 < back < len(stretches) else ""
    return [
        run.shorter_work(
            "attention-not-fused",
            f"{many} without a fused kernel {'takes' if many.startswith('1 ') else 'take'} "
            f"{run.steps.part(float(chosen['dur_ns'].sum()) / run.divisor)}{ways}. "
            f"{units.brief_bytes(scores / run.divisor)} of scores ({shape}){run.steps.a_step} go "
            "to memory and back; fused kernels would take about "
            f"{units.brief_ns(float(left.sum()) / run.divisor)}.",
            chosen,
            _group_evidence(run, groups),
        )
    ]


class _Attention(msgspec.Struct, frozen=True):
    """The calls of one attention, in order."""

    calls: Sequence[Mapping[str, Any]]
    shape: str
    time: float
    fused_ns: float
    score_bytes: float
    is_backward: bool

    @property
    def left(self) -> float:
        return self.fused_ns / self.time

    @property
    def names(self) -> str:
        return _chain_name([str(row["operator"]) for row in self.calls])


def _around(order: CallsInOrder, rows: _Rows, place: int) -> _Attention | None:
    """The attention around a softmax, if it is one: every call near it that has its scores."""
    softmax = order.arguments[rows[place]["set"]]
    scores = next((tensor for tensor in softmax.tensors if len(tensor.shape) >= 3), None)
    if scores is None or min(scores.shape[-2:]) < 2:
        return None
    before = _with_scores(order, rows, place, -1, scores)
    after = _with_scores(order, rows, place, 1, scores)
    if not (before and after):
        return None
    mine = [rows[at] for at in (*reversed(before), place, *after)]
    products = [row for row in mine if row["family"] == "gemm"]
    other_bytes = float(sum(_bytes_beside(order.arguments[row["set"]], scores) for row in mine))
    peaks = order.run.efficiency.peaks
    memory = peaks.dram_bytes_per_s if peaks else None
    at_peak = _column_sum(products, "peak_ns")
    time, moved = _column_sum(mine, "time"), _column_sum(mine, "bytes")
    if not memory or not at_peak or moved <= other_bytes:
        return None
    is_backward = rows[place]["operator"] in _SOFTMAX_BACKWARD
    again = FusionLimits.again if is_backward else 1.0
    in_memory = 1e9 * other_bytes / memory / order.run.reached(MEMORY)
    fused = max(again * at_peak / FUSED_REACHES, in_memory, order.run.shortest_ns)
    if fused >= time:
        return None
    shape = " x ".join(map(str, scores.shape))
    return _Attention(mine, shape, time, fused, moved - other_bytes, is_backward)


def _column_sum(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(sum(row[name] or 0.0 for row in rows))


def _with_scores(
    order: CallsInOrder, rows: _Rows, place: int, way: int, scores: Tensor
) -> list[int]:
    """Places of calls that read or write the scores, on one side, up to the last product.

    Forward that is one product, backward two; what is beyond belongs to another attention.
    """
    most = 2 if rows[place]["operator"] in _SOFTMAX_BACKWARD else 1
    places: list[int] = []
    products: list[int] = []
    for at in range(place + way, place + way * (FusionLimits.near + 1), way):
        if at not in rows or rows[at]["lane"] != rows[place]["lane"]:
            break
        row = rows[at]
        if row["call"] == -1 or "softmax" in str(row["family"]):
            break
        has_scores = _has_scores(order.arguments[row["set"]], scores)
        if has_scores:
            places.append(at)
        if row["family"] == "gemm":
            if has_scores:
                products.append(len(places))
            if len(products) == most or (products and not has_scores):
                break
    return places[: products[-1]] if products else []


def _has_scores(call: CallArguments, scores: Tensor) -> bool:
    product = product_of(call)
    if product is not None:
        outside = product.batch, product.m, product.n
        return _is_result(outside, scores) or any(
            _same_size(tensor, scores) for tensor in (product.a, product.b)
        )
    return any(_same_size(tensor, scores) for tensor in call.tensors)


def _is_result(sizes: tuple[int, int, int], scores: Tensor) -> bool:
    batch, m, n = sizes
    return batch * m * n == scores.elements and {m, n} == set(scores.shape[-2:])


def _same_size(tensor: Tensor, scores: Tensor) -> bool:
    """Whether a tensor has the size of the scores, turned or not."""
    same = tensor.elements == scores.elements
    return same and sorted(tensor.shape[-2:]) == sorted(scores.shape[-2:])


def _bytes_beside(call: CallArguments, scores: Tensor) -> float:
    """What a call reads and writes beside scores."""
    read = sum(tensor.bytes for tensor in call.tensors if not _same_size(tensor, scores))
    product = product_of(call)
    if product is None or _is_result((product.batch, product.m, product.n), scores):
        return read
    return read + product.batch * product.m * product.n * product.a.element_bytes


# -- chains ----------------------------------------------------------------------------------------


def unfused_chains(run: RoofedSteps) -> list[ShorterWork]:
    """Operators bound by memory of which each reads what the one before it wrote."""
    memory = run.efficiency.peaks.dram_bytes_per_s if run.efficiency.peaks else None
    if not memory:
        return []
    order = CallsInOrder.of(run)
    calls = order.calls
    number, lane = calls["set"].to_numpy(), calls["lane"].to_numpy()
    fusable = calls["family"].fill_null("").is_in(list(_FUSABLE)).to_numpy()
    moved = calls["bytes"].fill_null(0.0).to_numpy()
    time = calls["time"].to_numpy().astype(np.float64)
    # What is far slower than its bytes is bound by something else, of which others may speak.
    fusable &= 1e9 * moved / memory >= FusionLimits.bound_by_memory * time
    fusable &= (calls["call"].to_numpy() >= 0) & (moved > 0)
    near = fusable[1:] & fusable[:-1] & (lane[1:] == lane[:-1])
    # Kernels that another rule spoke of were between them.
    near &= calls["first"].to_numpy()[1:] == calls["last"].to_numpy()[:-1] + 1
    handed_bytes = {
        pair: _handed_bytes(order, *pair)
        for pair in set(zip(number[:-1][near].tolist(), number[1:][near].tolist(), strict=True))
    }
    handed = np.zeros(len(number))
    for at in np.flatnonzero(near).tolist():
        handed[at] = handed_bytes[int(number[at]), int(number[at + 1])]
    # What a backward pass needs later has to be written all the same.
    is_trained = _is_trained(run)
    written = 0.0 if is_trained else 1.0
    spared = written * handed
    spared[1:] += handed[:-1]
    part = np.divide(spared, moved, out=np.zeros(len(moved)), where=moved > 0)
    part = np.minimum(part, FusionLimits.max_spared)
    chain = np.cumsum(np.append(True, handed[:-1] == 0)) if len(handed) else handed
    in_chain = part > 0
    in_chain[:-1] |= handed[:-1] > 0
    # Slow kernels have other reasons too, and a cache is faster than memory.
    through_memory = 1e9 * part * moved / memory / run.reached(MEMORY)
    saved = np.minimum(part * time, through_memory)
    if not in_chain.any() or not run.worth_telling(float(saved.sum())):
        return []
    about = calls.with_columns(
        pl.Series("chain", chain), pl.Series("saved", saved), pl.Series("spared", part * moved)
    ).filter(pl.Series(in_chain))
    chains = about.group_by("chain", maintain_order=True).agg(
        "operator", pl.col("time").sum(), pl.col("spared").sum()
    )
    by_call = about.group_by("call").agg(pl.col("saved").sum())
    chosen = run.kernels.join(by_call, on="call", how="inner", maintain_order="left")
    part_left = 1 - pl.col("saved") / pl.col("dur_ns").sum().over("call")
    chosen = chosen.with_columns(left_ns=pl.col("dur_ns") * part_left)
    lengths = chains["operator"].list.len()
    spared_text = units.brief_bytes(float(chains["spared"].sum()) / run.divisor)
    groups = [
        (_chain_name(names), time, spared)
        for names, time, spared in chains.select("operator", "time", "spared").iter_rows()
    ]
    return [
        run.shorter_work(
            "unfused-chains",
            f"{run.many(chains.height, 'chains')} of {_from_to(lengths)} memory-bound operators "
            f"{'takes' if round(chains.height / run.divisor) <= 1 else 'take'} "
            f"{run.steps.part(float(chosen['dur_ns'].sum()) / run.divisor)}. Each operator reads a "
            "tensor of the size that the one before wrote; one kernel for each chain would read "
            f"{'' if is_trained else 'and write '}{spared_text} less.",
            chosen,
            _group_evidence(run, groups),
        )
    ]


def _handed_bytes(order: CallsInOrder, first: int, second: int) -> float:
    """Bytes of the tensor that a call writes and the next one reads; 0 where there is none."""
    sets = order.run.efficiency.sets
    written = float(sets["written_bytes"][first] or 0.0)
    # Copies, and calls alike, come one after the other for several tensors.
    copies = sets["family"][first] == sets["family"][second] == "copy"
    if written < FusionLimits.min_handed or first == second or copies:
        return 0.0
    for tensor in order.arguments[second].tensors:
        if tensor.bytes and abs(tensor.bytes - written) <= FusionLimits.about_alike * written:
            return min(tensor.bytes, written)
    return 0.0


def _is_trained(run: RoofedSteps) -> bool:
    """Whether the program goes backward, by names of operators."""
    return any(
        text.endswith(("Backward", "Backward0")) for text in host_names(run.efficiency.trace).texts
    )


def _from_to(lengths: pl.Series) -> str:
    low, high = (int(length) for length in (lengths.min(), lengths.max()))  # type: ignore[arg-type]
    return str(low) if low == high else f"{low} to {high}"


def _chain_name(names: Sequence[str]) -> str:
    """Operators in order, without what all of them begin with."""
    return units.join_names([name.removeprefix("aten::") for name in names], _MAX_NAMES, " + ")


def _group_evidence(
    run: RoofedSteps, groups: Sequence[tuple[str, float, float]]
) -> tuple[Evidence, ...]:
    """The costliest of some groups of calls: how often, how long, and what they pass on."""
    rows = pl.DataFrame(groups, schema=["name", "time", "bytes"], orient="row")
    largest = (
        rows.group_by("name")
        .agg(pl.len(), pl.col("time", "bytes").sum())
        .sort("bytes", "name", descending=[True, False])
        .head(_MAX_SHOWN)
    )
    return tuple(
        Evidence(
            "chain",
            name,
            numbers={
                "calls_per_step": many / run.divisor,
                "time_us_per_step": time / run.divisor / 1e3,
                "passed_on_bytes": math.floor(moved / run.divisor),
            },
        )
        for name, many, time, moved in largest.iter_rows()
    )
