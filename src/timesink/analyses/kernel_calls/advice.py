"""What to try, from how well the kernels of a device use it.

Every rule rests on counters, or on names alone where it says so: where one it needs was not
measured, or little time is concerned, it stays silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.classes import THIRDS, Thresholds
from timesink.analyses.kernel_calls.sampling import call_weight
from timesink.analyses.kernel_calls.usage import DeviceUse, headroom, of_device
from timesink.analyses.texts import encode
from timesink.model import units

LEAST_PCT = 5.0
"""Share of a device's time from which a rule speaks."""
LEAST_SOFTMAX_PCT = 3.0
"""A softmax is only part of what a fused attention kernel saves."""
TINY_NS = 5_000
"""About what one launch costs the host."""
IDLE_TENSOR_PCT = 5.0
USUAL_MULTIPROCESSORS = 100
"""Of devices that do not say how many they have."""
SPEEDUP = 2.0
"""What half precision or TF32 gives a large matrix product at the very least."""
_FIRST_TENSOR_CORES, _FIRST_TF32 = 7, 8
_FEWEST_LAYERS = 4
"""Launches of a softmax from which it belongs to layers, not to a loss."""
_MOST_NAMES = 3
_MOSTLY, _MATTERS = 0.5, 0.1
_DIGITS = 6

_PRODUCTS = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "attention": "attention kernels",
}
_MOVERS = ("elementwise", "copy", "normalisation", "optimizer")
_NO_PRODUCT = re.compile(
    r"gemv|reduce|im2col|col2im|transpose|depthwise|grouped_direct|winograd\w*transform|"
    r"scan|wkv|dot_do_o|convert_dq|merge|combine|preprocess|f64|dgemm|zgemm|double",
    re.IGNORECASE,
)
"""Kernels around a product, products tensor cores do not speed up, and double precision."""
_IMAGE_LAYOUT = re.compile(r"nchw_?(to|2)_?nhwc|nhwc_?(to|2)_?nchw", re.IGNORECASE)
_TURNED = re.compile(
    r"^\S*(?<![a-z])transpose|^elementwise_kernel\n.*direct_copy_kernel", re.IGNORECASE | re.DOTALL
)
"""Transposes, and PyTorch's copy of tensors that do not lie in memory as they are read."""
_CONVERSIONS = {
    "images": (
        "turn images between NCHW and NHWC",
        "Keep model and inputs in the layout of the convolutions (torch.channels_last).",
    ),
    "turned": (
        "make tensors contiguous",
        "Avoid .contiguous(), permute and transpose, or let torch.compile fuse them.",
    ),
}
_COMPILED = re.compile(r"^triton_")
_FOREACH = re.compile(
    r"^\S*multi_tensor_apply(?!.*(fused|adam|lamb|sgd))", re.IGNORECASE | re.DOTALL
)
_LOG_SOFTMAX = re.compile(
    r"log_?softmax|softmax_warp_\w+<.*,\s*(?:\(int\))?\d+,\s*(?:\(bool\))?(?:1|true),",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Advice:
    """One cause of lost time on one device, and what to try against it."""

    rule: str
    """Stable id of the rule, to filter by."""
    host: str | None
    device: int | None
    share_pct: float
    """Of the kernel time of the device."""
    gain_ns: float | None
    """What it may save of that time; None where there is no honest number."""
    gain_basis: str
    """What `gain_ns` assumes."""
    kernels: tuple[str, ...]
    """Short names, the longest in time first."""
    sentence: str
    """What was measured."""
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, units in the keys."""
        return {
            "rule": self.rule,
            "host": self.host,
            "device": self.device,
            "share_pct": round(self.share_pct, _DIGITS),
            "gain_ns": None if self.gain_ns is None else round(self.gain_ns),
            "gain_basis": self.gain_basis,
            "kernels": list(self.kernels),
            "sentence": self.sentence,
            "advice": self.advice,
        }


@dataclass(frozen=True, eq=False)
class _Device:
    """The launches of a device that have a duration, with `time`, `turned` and other marks."""

    use: DeviceUse
    calls: pl.DataFrame
    thresholds: Thresholds
    multiprocessors: int | None

    @property
    def low_pct(self) -> float:
        return 100 * self.thresholds.low

    @property
    def high_pct(self) -> float:
        return 100 * self.thresholds.high

    def share_pct(self, part: pl.DataFrame) -> float:
        total = _sum(self.calls)
        return 100 * _sum(part) / total if total else 0.0

    def told(self, part: pl.DataFrame) -> str:
        """How much of the time some launches take."""
        return f"{self.share_pct(part):.1f} % of the time ({units.brief_ns(_sum(part))})"

    def speaks(self, part: pl.DataFrame, least_pct: float = LEAST_PCT) -> bool:
        return self.share_pct(part) >= least_pct

    def advice(
        self,
        rule: str,
        part: pl.DataFrame,
        sentence: str,
        advice: str,
        *,
        gain_ns: float | None = None,
        gain_basis: str = "",
    ) -> Advice:
        return Advice(
            rule=rule,
            host=self.use.host,
            device=self.use.device,
            share_pct=self.share_pct(part),
            gain_ns=gain_ns,
            gain_basis=gain_basis,
            kernels=_longest(part),
            sentence=sentence,
            advice=advice,
        )


def advise(
    calls: pl.DataFrame,
    devices: Sequence[DeviceUse],
    thresholds: Thresholds = THIRDS,
    multiprocessors: Mapping[int, int] | None = None,
) -> tuple[Advice, ...]:
    """What to try on each device, first what may bring most.

    The calls have their `class` and their `weight`; `multiprocessors` are by device number.

    >>> import timesink
    >>> report = timesink.kernels(timesink.sample())
    >>> [advice.rule for advice in advise(report.calls, report.devices)]
    ['layout-conversions']
    """
    known = multiprocessors or {}
    return tuple(
        advice
        for use in devices
        for advice in _of_device(
            _Device(
                use,
                _prepared(of_device(calls, use)),
                thresholds,
                None if use.device is None else known.get(use.device),
            )
        )
    )


def _of_device(device: _Device) -> list[Advice]:
    total = _sum(device.calls)
    rules = (
        _tensor_cores_unused,
        _tiny_kernels,
        _memory_bound,
        _layout_conversions,
        _low_use,
        _attention_not_fused,
    )
    found = [advice for rule in rules for advice in rule(device)]

    def most(advice: Advice) -> float:
        whole = advice.share_pct * total / 100
        return whole if advice.gain_ns is None else advice.gain_ns

    return sorted(found, key=most, reverse=True)


def _prepared(calls: pl.DataFrame) -> pl.DataFrame:
    timed = calls.with_columns(call_weight().alias("weight")).filter(pl.col("dur_ns").is_not_null())
    return timed.with_columns(
        (pl.col("dur_ns") * pl.col("weight")).alias("time"),
        (headroom() * pl.col("weight")).alias("headroom"),
        pl.col("family").cast(pl.String()),
        images=_named(timed, _IMAGE_LAYOUT),
        turned=_named(timed, _TURNED) & (timed["family"].cast(pl.String()) == "copy"),
    )


def _named(calls: pl.DataFrame, pattern: re.Pattern[str]) -> pl.Series:
    """Which calls have a name like this; asked are the short name and, a line below, the whole."""
    codes, texts = encode(calls["name"])
    row_of = np.zeros(len(texts), dtype=np.int64)
    row_of[codes] = np.arange(len(codes))
    short = calls["short_name"].cast(pl.String()).gather(row_of).to_list() if len(codes) else []
    found = [
        pattern.search(f"{own}\n{text}") is not None if text is not None else False
        for own, text in zip(short, texts, strict=False)
    ]
    return pl.Series(np.array(found, dtype=np.bool_)[codes], dtype=pl.Boolean())


def _longest(part: pl.DataFrame) -> tuple[str, ...]:
    names = (
        part.group_by(pl.col("short_name").cast(pl.String()))
        .agg(pl.col("time").sum())
        .sort("time", "short_name", descending=[True, False])
    )
    return tuple(names["short_name"].drop_nulls().head(_MOST_NAMES))


def _sum(part: pl.DataFrame, column: str = "time") -> float:
    return float(part[column].sum())


def _most_of(part: pl.DataFrame, chosen: pl.Series) -> bool:
    """Whether more than half of the time of some calls is of the chosen ones."""
    return _sum(part.filter(chosen)) > _MOSTLY * _sum(part)


def _mean(part: pl.DataFrame, column: str) -> float:
    return float((part[column] * part["time"]).sum()) / _sum(part)


# -- tensor cores ----------------------------------------------------------------------------------


def _tensor_cores_unused(device: _Device) -> Iterator[Advice]:
    major = _major(device.use.compute_capability)
    if major is not None and major < _FIRST_TENSOR_CORES:
        return
    calls = device.calls
    part = calls.filter(
        pl.col("family").is_in(list(_PRODUCTS)),
        pl.col("tensor_pct") < IDLE_TENSOR_PCT,
        pl.col("sm_pct") >= device.low_pct,
        # At the memory roof other units would wait as well.
        (pl.col("dram_pct") < device.high_pct).fill_null(value=True),
        ~_named(calls, _NO_PRODUCT),
    )
    if not device.speaks(part):
        return
    what = _listed([_PRODUCTS[family] for family in _families(part)])
    yield device.advice(
        "tensor-cores-unused",
        part,
        f"{device.told(part)} in {what} that leave the tensor cores idle and keep SM at "
        f"{_mean(part, 'sm_pct'):.0f} % of its peak.",
        _precision(major, convolves="convolution" in _families(part)),
        gain_ns=_sum(part) * (1 - 1 / SPEEDUP),
        gain_basis="tensor-core kernels take half the time",
    )


def _precision(major: int | None, *, convolves: bool) -> str:
    if major is not None and major < _FIRST_TF32:
        return "Run them in fp16 (torch.autocast)."
    images = ", torch.backends.cudnn.allow_tf32 for convolutions" if convolves else ""
    return (
        f'Allow TF32 (torch.set_float32_matmul_precision("high"){images}) or run them in bf16 or '
        "fp16 (torch.autocast)."
    )


def _major(capability: str | None) -> int | None:
    major = (capability or "").split(".")[0]
    return int(major) if major.isdigit() else None


def _families(part: pl.DataFrame) -> list[str]:
    """Those that matter, the longest first."""
    times = part.group_by("family").agg(pl.col("time").sum()).sort("time", descending=True)
    matters = pl.col("time") >= _MATTERS * pl.col("time").sum()
    return times.filter(matters)["family"].to_list()


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


# -- kernels too small, or hardly using anything ---------------------------------------------------


def _both_low(device: _Device) -> pl.DataFrame:
    # Without a counter of SM the class overstates what is low.
    low = (pl.col("class") == "both_low") & pl.col("sm_pct").is_not_null()
    return device.calls.filter(low, ~pl.col("images"), ~pl.col("turned"))


def _tiny_kernels(device: _Device) -> Iterator[Advice]:
    part = _both_low(device).filter(pl.col("dur_ns") < TINY_NS)
    if not device.speaks(part):
        return
    launches = units.share(_sum(part, "weight"), _sum(device.calls, "weight"))
    yield device.advice(
        "tiny-kernels",
        part,
        f"{device.told(part)} and {launches} of the launches are kernels below "
        f"{units.duration_ns(TINY_NS)} that hardly use the device; in the run itself they cost "
        "more: a launch takes about as long.",
        f"Launch fewer: {_fusing(part)}CUDA graphs, larger batches, a fused optimizer "
        "(fused=True).",
        gain_ns=_sum(part, "headroom"),
        gain_basis="all ran at their nearest roof",
    )


def _fusing(part: pl.DataFrame) -> str:
    """The compiler, unless it made most of these kernels already."""
    return "" if _most_of(part, _named(part, _COMPILED)) else "torch.compile, "


def _low_use(device: _Device) -> Iterator[Advice]:
    part = _both_low(device).filter(pl.col("dur_ns") >= TINY_NS)
    if not device.speaks(part):
        return
    limit = device.multiprocessors or USUAL_MULTIPROCESSORS
    enough = "" if device.multiprocessors is None else ", its number of multiprocessors"
    blocks = pl.col("grid_x") * pl.col("grid_y") * pl.col("grid_z")
    few = part.select((blocks < limit).fill_null(value=False)).to_series()
    used = f"SM at {_mean(part, 'sm_pct'):.0f} % and DRAM at {_mean(part, 'dram_pct'):.0f} %"
    said = f"{device.told(part)} in kernels that keep {used} of peak"
    if _most_of(part, few):
        filled = units.share(_sum(part.filter(few)), _sum(part))
        said += f", {filled} of that with fewer than {limit} blocks{enough}"
    yield device.advice(
        "low-use",
        part,
        f"{said}.",
        _more_at_once(part, few),
        gain_ns=_sum(part, "headroom"),
        gain_basis="all ran at their nearest roof",
    )


def _more_at_once(part: pl.DataFrame, few: pl.Series) -> str:
    if _most_of(part, few):
        return "Give them more to do at once: larger batches, channels_last, another algorithm."
    others = part.filter(~pl.col("family").is_in(list(_PRODUCTS)))
    fuses = _sum(others) >= _MATTERS * _sum(part) and _fusing(others)
    return (
        "They may wait for latency, caches, atomics or too few warps: larger batches"
        f"{', fusion (torch.compile)' if fuses else ''}; `ncu --set full` says more."
    )


# -- memory ----------------------------------------------------------------------------------------


def _memory_bound(device: _Device) -> Iterator[Advice]:
    part = device.calls.filter(
        pl.col("family").is_in(_MOVERS),
        pl.col("dram_pct") >= device.high_pct,
        pl.col("sm_pct") < device.low_pct,
        ~pl.col("images"),
        ~pl.col("turned"),
    )
    if not device.speaks(part):
        return
    yield device.advice(
        "memory-bound-elementwise",
        part,
        f"{device.told(part)} in {_listed(_families(part))} kernels near the memory roof, DRAM at "
        f"{_mean(part, 'dram_pct'):.0f} % and SM at {_mean(part, 'sm_pct'):.0f} %.",
        f"Only fewer bytes help: {_fewer_bytes(part)}.",
    )


def _fewer_bytes(part: pl.DataFrame) -> str:
    optimizer = part.filter(_named(part, _FOREACH), pl.col("family") == "optimizer")
    others = part.filter(pl.col("family") != "optimizer")
    tried = []
    if _sum(optimizer) >= _MATTERS * _sum(part) and _has_arguments(optimizer):
        tried.append("an optimizer in one pass (fused=True)")
    if others.height and not _most_of(others, _named(others, _COMPILED)):
        tried.append("fusion (torch.compile)")
    return ", ".join([*tried, "smaller data types"])


def _has_arguments(part: pl.DataFrame) -> bool:
    """Whether full names tell what the kernels apply."""
    return bool(part["name"].cast(pl.String()).str.contains("<", literal=True).any())


def _layout_conversions(device: _Device) -> Iterator[Advice]:
    part = device.calls.filter(pl.col("images") | pl.col("turned"))
    if not device.speaks(part):
        return
    said, tried = [], []
    for kind, (does, remedy) in _CONVERSIONS.items():
        if _sum(part.filter(pl.col(kind))) >= _MATTERS * _sum(part):
            said.append(does)
            tried.append(remedy)
    yield device.advice(
        "layout-conversions",
        part,
        f"{device.told(part)} in kernels that only {' or '.join(said)}.",
        " ".join(tried),
        gain_ns=_sum(part),
        gain_basis="none is left",
    )


# -- attention -------------------------------------------------------------------------------------


def _attention_not_fused(device: _Device) -> Iterator[Advice]:
    """By names alone: softmax after softmax between matrix products, and no attention kernel."""
    calls = device.calls
    if (calls["family"] == "attention").any():
        return
    softmax = calls.filter(pl.col("family") == "softmax", ~_named(calls, _LOG_SOFTMAX))
    part = softmax.filter(pl.col("weight").sum().over("short_name") >= _FEWEST_LAYERS)
    launches = _sum(part, "weight")
    products = _sum(calls.filter(pl.col("family") == "gemm"), "weight")
    if not device.speaks(part, LEAST_SOFTMAX_PCT) or products < 2 * launches:
        return
    yield device.advice(
        "attention-not-fused",
        part,
        f"{device.told(part)} in {units.counted(round(launches), 'softmax kernels')} "
        "among matrix products, and no attention kernel: attention seems to write its scores to "
        "memory.",
        "Try torch.nn.functional.scaled_dot_product_attention, which also saves the masks, "
        "scalings and copies around it.",
        gain_ns=_sum(part),
        gain_basis="the softmax vanishes into a fused kernel",
    )
