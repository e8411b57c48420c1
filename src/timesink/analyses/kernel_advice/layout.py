"""Kernels that only lay tensors out anew."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernel_advice.advice import MATTERS, Advice, DeviceCalls, named, total

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


def with_conversions(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls with `images` and `turned`: which ones only change a layout."""
    return calls.with_columns(
        images=named(calls, _IMAGE_LAYOUT),
        turned=named(calls, _TURNED) & (calls["family"].cast(pl.String()) == "copy"),
    )


def layout_conversions(device: DeviceCalls) -> Iterator[Advice]:
    part = device.calls.filter(pl.col("images") | pl.col("turned"))
    if not device.speaks(part):
        return
    said, tried = [], []
    for kind, (does, remedy) in _CONVERSIONS.items():
        if total(part.filter(pl.col(kind))) >= MATTERS * total(part):
            said.append(does)
            tried.append(remedy)
    yield device.advice(
        "layout-conversions",
        part,
        f"{device.told(part)} in kernels that only {' or '.join(said)}.",
        " ".join(tried),
        gain_ns=total(part),
        gain_basis="none is left",
    )
