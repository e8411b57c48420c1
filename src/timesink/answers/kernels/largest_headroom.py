"""The kernel with the most headroom, and what to do about it, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.kernels.groups import MIXED, call_groups
from timesink.analyses.kernels.usage import DeviceUse, Thresholds, of_device
from timesink.model import units
from timesink.model.data_files import csv_rows
from timesink.model.vendors import NVIDIA, UNKNOWN, in_words_of
from timesink.output.names import LONGEST_NAME, cut_middle
from timesink.patterns import regex
from timesink.rules.register import is_pytorch
from timesink.rules.thresholds import DeviceWorkLimits, KernelUseLimits

_ROWS = {
    (row["class"], row["product"]): (row["bound"], row["action"])
    for row in csv_rows(Path(__file__).with_name("headline.csv"))
}
_PRODUCTS = ("gemm", "convolution", "attention")
_COMPILED = regex(r"^triton_")


def largest_headroom_sentence(
    calls: pl.DataFrame, use: DeviceUse, thresholds: Thresholds, *, vendor: str, place: str = ""
) -> str:
    """Which kernel of a device has the most headroom, what bounds it and what to do.

    Empty where no kernel has any, or its class is not known. `place` names the device of several.
    """
    calls = of_device(calls, use)
    kernels = call_groups(calls, "short_name").filter(pl.col("headroom_ns") > 0)
    if kernels.is_empty():
        return ""
    order = ["headroom_ns", "total_ns", "group"]
    kernel = kernels.sort(order, descending=[True, True, False]).row(0, named=True)
    family = calls.filter(pl.col("short_name").cast(pl.String()) == kernel["group"])["family"]
    class_name = _class_of(kernel, use, thresholds)
    product = "yes" if family.cast(pl.String()).is_in(_PRODUCTS).any() else ""
    if product and _leaves_tensor_cores_idle(kernel, vendor):
        product = "idle"
    elif not product and kernel["mean_ns"] >= DeviceWorkLimits.tiny_ns:
        product = "long"
    usual = "" if product == "long" else "yes"
    row = _ROWS.get((class_name, product)) or _ROWS.get((class_name, usual))
    if row is None:
        return ""
    bound, action = row
    names = calls["name"].cast(pl.String()).drop_nulls().unique()
    compiler = "torch.compile" if is_pytorch(None, names, otherwise=True) else ""
    if _COMPILED.search(kernel["group"]):
        action = action.replace("{fuse} or ", "").replace("{fusion}", "")
    action = action.format(
        fuse=f"fuse it with its neighbours{f' ({compiler})' if compiler else ''}",
        fusion=f"{compiler or 'fusion'}, ",
    )
    saved = units.range_ns(kernel["headroom_ns"], use.measured_ns).replace(" to ", " of ")
    name = cut_middle(kernel["group"], LONGEST_NAME)
    return (
        f"{name}{place} has the most headroom ({saved}) and is {bound}: "
        f"{in_words_of(vendor, action)}."
    )


def _class_of(kernel: Mapping[str, Any], use: DeviceUse, thresholds: Thresholds) -> str:
    """The class of a kernel; of one whose launches are of several, that of its mean use."""
    class_name = str(kernel["class"])
    if class_name != MIXED:
        return class_name
    compute_pct, dram_pct = kernel[f"{use.axis}_pct"], kernel["dram_pct"]
    if compute_pct is None or dram_pct is None:
        return "unknown"
    limit = 100 * thresholds.low
    if compute_pct < limit:
        return "both_low" if dram_pct < limit else "low_sm"
    return "low_dram" if dram_pct < limit else "neither_low"


def _leaves_tensor_cores_idle(kernel: Mapping[str, Any], vendor: str) -> bool:
    """Whether a product hardly uses units for matrix products that its device may have."""
    is_idle = (
        kernel["tensor_pct"] is not None and kernel["tensor_pct"] < KernelUseLimits.idle_tensor_pct
    )
    return is_idle and vendor in {NVIDIA.name, UNKNOWN}
