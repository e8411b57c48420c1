"""What to try, from how well the kernels of a device use it.

Every rule rests on counters, or on names alone where it says so: where one it needs was not
measured, or little time is concerned, it stays silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import encode
from timesink.analyses.kernels.calls import call_weight
from timesink.analyses.kernels.usage import THIRDS, DeviceUse, Thresholds, headroom, of_device
from timesink.model import units
from timesink.model.findings import KernelAdvice
from timesink.patterns import regex
from timesink.rules import device_work
from timesink.rules.register import fit_finding, is_pytorch, make_advice, rules_for
from timesink.rules.thresholds import DeviceWorkLimits, KernelUseLimits

_MAX_NAMES = 3
_PRODUCTS = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "attention": "attention kernels",
}
_MOVERS = ("elementwise", "copy", "normalisation", "optimizer")
_COMPILED = regex(r"^triton_")
_TURNED = regex(
    r"^\S*(?<![a-z])transpose|^elementwise_kernel\n.*direct_copy_kernel", re.IGNORECASE | re.DOTALL
)
"""Transposes, and PyTorch's copy of tensors that do not lie in memory as they are read."""
_LOG_SOFTMAX = regex(
    r"log_?softmax|softmax_warp_\w+<.*,\s*(?:\(int\))?\d+,\s*(?:\(bool\))?(?:1|true),",
    re.IGNORECASE,
)
_FOREACH = regex(r"^\S*multi_tensor_apply(?!.*(fused|adam|lamb|sgd))", re.IGNORECASE | re.DOTALL)
_FUSED = regex(r"fused", re.IGNORECASE)
_NO_PRODUCT = regex(
    r"gemv|reduce|im2col|col2im|transpose|depthwise|grouped_direct|winograd\w*transform|"
    r"scan|wkv|dot_do_o|convert_dq|merge|combine|preprocess|f64|dgemm|zgemm|double",
    re.IGNORECASE,
)
"""Kernels around a product, products tensor cores do not speed up, and double precision."""
_CONVERSIONS = {
    "images": (
        "convert images between NCHW and NHWC",
        "Keep model and inputs in the layout of the convolutions (torch.channels_last).",
    ),
    "turned": (
        "make tensors contiguous",
        "Avoid .contiguous(), permute and transpose, or let torch.compile fuse them.",
    ),
}
_LAID_OUT = pl.col("images") | pl.col("turned")
"""Kernels that only change a layout."""


def advise(
    calls: pl.DataFrame,
    devices: Sequence[DeviceUse],
    thresholds: Thresholds = THIRDS,
    multiprocessors: Mapping[int, int] | None = None,
) -> tuple[KernelAdvice, ...]:
    """What to try on each device, first what may bring most.

    The calls have their `class` and their `weight`; `multiprocessors` are by device number.
    """
    multiprocessor_counts = multiprocessors or {}
    names = calls["name"].cast(pl.String()).drop_nulls().unique()
    pytorch = is_pytorch(None, names, otherwise=True)
    findings: list[KernelAdvice] = []
    for use in devices:
        number = None if use.device is None else multiprocessor_counts.get(use.device)
        timed = of_device(calls, use).with_columns(call_weight().alias("weight"))
        timed = timed.filter(pl.col("dur_ns").is_not_null())
        # Launches with their `time` and `headroom`, and which only change a layout.
        timed = timed.with_columns(
            (pl.col("dur_ns") * pl.col("weight")).alias("time"),
            (headroom() * pl.col("weight")).alias("headroom"),
            pl.col("family").cast(pl.String()),
            images=_name_matches(timed, device_work.IMAGE_LAYOUT),
            turned=_name_matches(timed, _TURNED) & (timed["family"].cast(pl.String()) == "copy"),
        )
        low, high = 100 * thresholds.low, 100 * thresholds.high
        device = DeviceCalls(use, timed, low, high, number)
        total_ns = _total(device.calls)
        device_findings = [advice for rule in rules_for("kernels") for advice in rule(device)]
        # Where there is no honest number, all of the time counts.
        device_findings.sort(
            key=lambda device_finding: device_finding.cost_ns or device_finding.share * total_ns,
            reverse=True,
        )
        findings += (
            fit_finding(device_finding, "kernels", pytorch=pytorch)
            for device_finding in device_findings
        )
    return tuple(findings)


class DeviceCalls(msgspec.Struct, frozen=True, eq=False):
    """The launches of a device that have a duration, with `time`, `turned` and other marks."""

    use: DeviceUse
    calls: pl.DataFrame
    low_pct: float
    """Below this share of its peak a unit is hardly used ..."""
    high_pct: float
    """... and from this one on it is the roof."""
    multiprocessors: int | None

    def share_pct(self, part: pl.DataFrame) -> float:
        total_ns = _total(self.calls)
        return 100 * _total(part) / total_ns if total_ns else 0.0

    def speaks(self, part: pl.DataFrame, least_pct: float = KernelUseLimits.min_pct) -> bool:
        return self.share_pct(part) >= least_pct

    def advice(
        self,
        rule: str,
        part: pl.DataFrame,
        sentence: str,
        words: Mapping[str, str] | None = None,
        **more: Any,
    ) -> KernelAdvice:
        """What a rule says of some launches, after how much of the time they take."""
        longest = (
            part.group_by(pl.col("short_name").cast(pl.String()))
            .agg(pl.col("time").sum())
            .sort("time", "short_name", descending=[True, False])
        )
        took = f"{units.percent(self.share_pct(part))} of the time ({units.brief_ns(_total(part))})"
        return make_advice(
            rule,
            f"{took} {sentence}",
            words,
            host=self.use.host,
            device=self.use.device,
            share=self.share_pct(part) / 100,
            kernels=tuple(longest["short_name"].drop_nulls().head(_MAX_NAMES)),
            **more,
        )


def tensor_cores_unused(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """Products that leave the tensor cores idle."""
    digits = (device.use.compute_capability or "").split(".")[0]
    major = int(digits) if digits.isdigit() else None
    if major is not None and major < device_work.FIRST_TENSOR_CORES:
        return
    part = device.calls.filter(
        pl.col("family").is_in(list(_PRODUCTS)),
        pl.col("tensor_pct") < KernelUseLimits.idle_tensor_pct,
        pl.col("sm_pct") >= device.low_pct,
        # At the memory roof other units would wait as well.
        (pl.col("dram_pct") < device.high_pct).fill_null(value=True),
        ~_name_matches(device.calls, _NO_PRODUCT),
    )
    if not device.speaks(part):
        return
    families = _main_families(part)
    images = ", torch.backends.cudnn.allow_tf32 for convolutions"
    yield device.advice(
        "tensor-cores-unused",
        part,
        f"is in {_join_words([_PRODUCTS[family] for family in families])} that leave the tensor "
        f"cores idle, with SM at {_mean(part, 'sm_pct'):.0f} % of peak.",
        {"images": images if "convolution" in families else ""},
        advice="before_tf32" if major is not None and major < device_work.FIRST_TF32 else "advice",
        cost_ns=_total(part) * (1 - 1 / DeviceWorkLimits.tensor_core_speedup),
    )


def _both_low(device: DeviceCalls) -> pl.DataFrame:
    # Without a counter of SM the class overstates what is low.
    low = (pl.col("class") == "both_low") & pl.col("sm_pct").is_not_null()
    return device.calls.filter(low, ~_LAID_OUT)


def tiny_kernels(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """Kernels that hardly use anything and are too small to last."""
    part = _both_low(device).filter(pl.col("dur_ns") < DeviceWorkLimits.tiny_ns)
    if not device.speaks(part):
        return
    launches = units.share(_total(part, "weight"), _total(device.calls, "weight"))
    tiny = units.brief_ns(DeviceWorkLimits.tiny_ns)
    optimizer = part.filter(_name_matches(part, _FOREACH) | (pl.col("family") == "optimizer"))
    is_fused = _name_matches(optimizer, _FUSED).any()
    yield device.advice(
        "tiny-kernels",
        part,
        f"and {launches} of the launches are kernels below {tiny} with low utilisation. In the "
        "program they cost more, as a kernel launch takes about as long.",
        {
            "fusing": "" if _is_compiled(part) else "torch.compile, ",
            "optimizer": ", a fused optimizer (fused=True)"
            if optimizer.height and not is_fused
            else "",
        },
        cost_ns=_total(part, "headroom"),
    )


def low_use(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """Kernels that hardly use anything and have too little to do at once."""
    part = _both_low(device).filter(pl.col("dur_ns") >= DeviceWorkLimits.tiny_ns)
    if not device.speaks(part):
        return
    limit = device.multiprocessors or KernelUseLimits.usual_multiprocessors
    enough = "" if device.multiprocessors is None else ", the number of multiprocessors"
    blocks = pl.col("grid_x") * pl.col("grid_y") * pl.col("grid_z")
    few = part.select((blocks < limit).fill_null(value=False)).to_series()
    used = f"SM at {_mean(part, 'sm_pct'):.0f} % and DRAM at {_mean(part, 'dram_pct'):.0f} %"
    sentence = f"is in kernels with {used} of peak"
    if _most_of(part, few):
        filled = units.share(_total(part.filter(few)), _total(part))
        sentence += f"; {filled} of that has fewer than {limit} blocks{enough}"
    other_calls = part.filter(~pl.col("family").is_in(list(_PRODUCTS)))
    fuses = _total(other_calls) >= KernelUseLimits.matters * _total(part) and not _is_compiled(
        other_calls
    )
    yield device.advice(
        "low-use",
        part,
        f"{sentence}.",
        {"fusion": ", fusion (torch.compile)" if fuses else ""},
        advice="few_blocks" if _most_of(part, few) else "advice",
        cost_ns=_total(part, "headroom"),
    )


def memory_bound(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """Kernels that only move bytes, and move them as fast as the memory can."""
    part = device.calls.filter(
        pl.col("family").is_in(_MOVERS),
        pl.col("dram_pct") >= device.high_pct,
        pl.col("sm_pct") < device.low_pct,
        ~_LAID_OUT,
    )
    if not device.speaks(part):
        return
    optimizer = part.filter(_name_matches(part, _FOREACH), pl.col("family") == "optimizer")
    other_calls = part.filter(pl.col("family") != "optimizer")
    # Only full names tell what such kernels apply.
    has_full_names = optimizer["name"].cast(pl.String()).str.contains("<", literal=True).any()
    tried = ["smaller data types"]
    if other_calls.height and not _is_compiled(other_calls):
        tried.insert(0, "fusion (torch.compile)")
    if has_full_names and _total(optimizer) >= KernelUseLimits.matters * _total(part):
        tried.insert(0, "an optimizer in one pass (fused=True)")
    yield device.advice(
        "memory-bound-elementwise",
        part,
        f"is in {_join_words(_main_families(part))} kernels near peak memory bandwidth, "
        f"DRAM at {_mean(part, 'dram_pct'):.0f} % and SM at {_mean(part, 'sm_pct'):.0f} %.",
        {"tried": ", ".join(tried)},
    )


def layout_conversions(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """Kernels that only lay tensors out anew."""
    part = device.calls.filter(_LAID_OUT)
    if not device.speaks(part):
        return
    least = KernelUseLimits.matters * _total(part)
    kinds = [kind for kind in _CONVERSIONS if _total(part.filter(pl.col(kind))) >= least]
    yield device.advice(
        "layout-conversions",
        part,
        f"is in kernels that only {' or '.join(_CONVERSIONS[kind][0] for kind in kinds)}.",
        {"tried": " ".join(_CONVERSIONS[kind][1] for kind in kinds)},
        cost_ns=_total(part),
    )


def attention_not_fused(device: DeviceCalls) -> Iterator[KernelAdvice]:
    """By names alone: softmax after softmax between matrix products, and no attention kernel."""
    calls = device.calls
    if (calls["family"] == "attention").any():
        return
    softmax = calls.filter(pl.col("family") == "softmax", ~_name_matches(calls, _LOG_SOFTMAX))
    part = softmax.filter(pl.col("weight").sum().over("short_name") >= KernelUseLimits.min_layers)
    launches = _total(part, "weight")
    products = _total(calls.filter(pl.col("family") == "gemm"), "weight")
    if not device.speaks(part, KernelUseLimits.min_softmax_pct) or products < 2 * launches:
        return
    yield device.advice(
        "attention-not-fused",
        part,
        f"is in {units.count_noun(round(launches), 'softmax kernels')} among matrix products, "
        "without an attention kernel: attention probably writes its scores to memory.",
        cost_ns=_total(part),
    )


# -- what rules ask of launches --------------------------------------------------------------------


def _name_matches(calls: pl.DataFrame, pattern: re.Pattern[str]) -> pl.Series:
    """Which calls have a name like this; asked are the short name and, a line below, the whole."""
    codes, texts = encode(calls["name"])
    row_of = np.zeros(len(texts), dtype=np.int64)
    row_of[codes] = np.arange(len(codes))
    short = calls["short_name"].cast(pl.String()).gather(row_of).to_list() if len(codes) else []
    is_match = [
        pattern.search(f"{short_name}\n{text}") is not None if text is not None else False
        for short_name, text in zip(short, texts, strict=False)
    ]
    return pl.Series(np.array(is_match, dtype=np.bool_)[codes], dtype=pl.Boolean())


def _total(part: pl.DataFrame, column: str = "time") -> float:
    return float(part[column].sum())


def _mean(part: pl.DataFrame, column: str) -> float:
    return float((part[column] * part["time"]).sum()) / _total(part)


def _most_of(part: pl.DataFrame, chosen: pl.Series) -> bool:
    """Whether more than half of the time of some calls is of the chosen ones."""
    return _total(part.filter(chosen)) > KernelUseLimits.min_share_of_time * _total(part)


def _is_compiled(part: pl.DataFrame) -> bool:
    """Whether the compiler made most of these kernels already."""
    return _most_of(part, _name_matches(part, _COMPILED))


def _main_families(part: pl.DataFrame) -> list[str]:
    """Those that matter, the longest first."""
    times = part.group_by("family").agg(pl.col("time").sum()).sort("time", descending=True)
    matters = pl.col("time") >= KernelUseLimits.matters * pl.col("time").sum()
    return times.filter(matters)["family"].to_list()


def _join_words(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
