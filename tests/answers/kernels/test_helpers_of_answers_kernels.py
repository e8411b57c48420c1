"""Small cases of what the helpers of answers.kernels give."""

from __future__ import annotations

import polars as pl

import timesink
from timesink.answers.kernels.reading import _module_class
from timesink.answers.kernels.report import can_be_measured
from timesink.answers.tables import without_noise


def test_module_class() -> None:
    modules = pl.DataFrame({"module": ["Net_0.Block_12.Linear_3", "layers.3.0.mlp"]})
    assert modules.select(_module_class()).to_series().to_list() == [
        "Net.Block.Linear",
        "layers.mlp",
    ]


def test_can_be_measured() -> None:
    assert can_be_measured(timesink.open(timesink.sample()))


def test_without_noise() -> None:
    assert without_noise(pl.DataFrame({"share_pct": [100 / 3]})).item() == 33.333333
