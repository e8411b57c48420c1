"""Names as a compiler wrote them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.names import is_mangled, mangled_words, qualified_name

NAMES = {
    "_Z9my_kernelPfi": "my_kernel",
    "_ZN2at6native13reduce_kernelILi512EfEEvT0_": "at::native::reduce_kernel",
    "_ZN2at6nativeL12local_kernelEv": "at::native::local_kernel",
    "_ZNK3foo3barEv": "foo::bar",
    "_ZSt4swapv": "std::swap",
    "__ZN3foo3barEv": "foo::bar",
    "_ZN3foo99bar": "foo",
    "_ZN3foo3ba": "foo",
}


@pytest.mark.parametrize(("symbol", "name"), NAMES.items())
def test_the_functions_own_name(symbol: str, name: str) -> None:
    assert is_mangled(symbol)
    assert qualified_name(symbol) == name


@pytest.mark.parametrize("name", ["_attn_fwd", "_Zebra", "_ZN", "Z4foov", "", "void f<1>(T)"])
def test_other_names_stay(name: str) -> None:
    assert not is_mangled(name)
    assert qualified_name(name) == name


def test_references_and_enumerators_are_no_words():
    """`S26_` refers to something before, `E7E` is the value of an enumerator."""
    symbol = "_ZN2ck1kINS_4GemmIS26_Li64ELNS_4ModeE7ELi256EEEEEvT_"
    assert list(mangled_words(symbol)) == ["ck", "k", "Gemm", "64", "Mode", "256"]


@given(st.text(alphabet="_ZNESTLi0123456789abX", max_size=40))
def test_damage_is_survived(symbol: str) -> None:
    words = list(mangled_words(symbol))
    assert all(word in symbol for word in words)
    assert qualified_name(symbol) or not symbol


@given(st.lists(st.from_regex(r"[a-z_]\w{0,20}", fullmatch=True), min_size=1, max_size=4))
def test_names_come_back(names: list[str]) -> None:
    symbol = "_ZN" + "".join(f"{len(name)}{name}" for name in names) + "EvPf"
    assert qualified_name(symbol) == "::".join(names)
