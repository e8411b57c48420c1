"""One table says what types of elements are called, and how large they are."""

from __future__ import annotations

import pytest

from timesink.analyses.communication_calls import element_bytes
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import work_of
from timesink.model.element_types import type_by_number, type_by_spelling

NUMBERS = {
    range(7): "uint8 int8 int16 int32 int64 float16 float32",
    range(7, 12): "float64 complex32 complex64 complex128 bool",
    range(15, 16): "bfloat16",
    range(23, 27): "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz",
    range(27, 30): "uint16 uint32 uint64",
    range(44, 46): "float8_e8m0fnu float4_e2m1fn_x2",
}
"""How PyTorch numbers its types."""


@pytest.mark.parametrize(
    ("number", "name"),
    [pair for many, names in NUMBERS.items() for pair in zip(many, names.split(), strict=True)],
)
def test_sizes_are_those_of_pytorch(number, name):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip("of a newer PyTorch")
    kind = type_by_number(str(number))
    assert Tensor((), kind).element_bytes == getattr(torch, name).itemsize


@pytest.mark.parametrize(("number", "bytes_"), [("27", 2), ("28", 4), ("29", 8), ("44", 1)])
def test_what_is_copied_to_a_type_is_written_in_it(number, bytes_):
    call = CallArguments("aten::_to_copy", (Tensor((10,), "double"), None), ("", number))
    assert work_of(call).written_bytes == 10 * bytes_


def test_collectives_and_operators_agree():
    for name in ("c10::BFloat16", "unsigned long", "c10::Float8_e8m0fnu", "long long"):
        assert element_bytes(name) == Tensor((), name).element_bytes
    assert type_by_spelling("ComplexFloat").name == "c10::complex<float>"
    assert type_by_spelling("Mystery") is None
