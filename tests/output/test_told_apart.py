"""Names that look the same, told apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timesink.output.names import cut_apart, cut_end, cut_middle, end_of_path, told_apart

SLICED = "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"
PLAIN = "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn"
LAST = "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn"


def test_the_end_goes_where_that_is_enough():
    assert cut_apart(["alpha_kernel", "beta_kernel"], 8) == {
        "alpha_kernel": "alpha_k…",
        "beta_kernel": "beta_ke…",
    }


def test_names_with_one_beginning_and_one_end_show_what_is_between():
    cut = cut_apart([SLICED, PLAIN, LAST], 33)
    assert "sliced1x2" in cut[SLICED]
    assert "ldg8" in cut[PLAIN]
    assert cut[LAST].endswith("64x6_tn")


@given(
    st.lists(st.text("ab_x1", min_size=1, max_size=30), min_size=1, max_size=12),
    st.integers(12, 30),
)
def test_no_two_names_look_the_same_and_all_fit(names: list[str], room: int):
    cut = cut_apart(names, room)
    assert len(set(cut.values())) == len(set(names))
    assert all(len(look) <= room for look in cut.values())


def test_what_fits_is_not_cut():
    assert cut_end("relu", 4) == cut_middle("relu", 4) == "relu"


def test_the_middle_or_the_start_may_go():
    assert cut_middle("nvjet_sm90_tst_128x128_64x6_TNT", 16) == "nvjet_s…64x6_TNT"
    assert end_of_path("Model_0.Layer_3.Attention_3", 20) == "….Attention_3"


def test_the_same_name_is_numbered():
    assert told_apart(["gemm", "relu", "gemm"]) == ["gemm", "relu", "gemm #2"]


def test_numbered_names_of_two_groups_do_not_look_alike():
    first = [f"sm90_xmma_fprop_implicit_gemm_{'a' * 30}{number}{'z' * 30}" for number in range(4)]
    second = [f"sm90_xmma_fprop_implicit_conv_{'b' * 30}{number}{'y' * 30}" for number in range(4)]
    for room in (20, 26, 32):
        assert len({*cut_apart([*first, *second], room).values()}) == 8
