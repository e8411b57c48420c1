"""Small cases of what the helpers of analyses give."""

from __future__ import annotations

from timesink.analyses.names import cut_name
from timesink.model.units import ranges_of


def test_cut_name() -> None:
    name = "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2f_stages_64x5_tn"
    assert cut_name(name) == "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2..."


def test_ranges_of() -> None:
    assert ranges_of([0, 1, 2, 3, 9, 11, 12]) == "0-3, 9, 11-12"
    assert ranges_of([0, 2, 4, 6], most=2) == "0, 2, ... (4 ranks)"
