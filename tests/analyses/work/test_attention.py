"""Work of attention."""

from __future__ import annotations

import pytest

from operator_calls import call_arguments, half, single, work
from timesink.analyses.work.arguments import Tensor
from timesink.analyses.work.attention import Mask
from timesink.analyses.work.formulas import work_of


def flash(q, k, v, *, causal=False, left=None, right=None):
    """A call of flash attention, batch x N x heads x d."""
    sizes = (None, None, q.shape[1], k.shape[1], 0.0, causal, False, 0.125, left, right)
    return work("aten::_flash_attention_forward", q, k, v, *sizes)


def test_causal_attention_counts_half_the_square():
    q = half(2, 1024, 8, 64)
    causal = flash(q, q, q, causal=True)
    assert causal.matrix_flop / 1e9 == pytest.approx(2.147, abs=0.001)
    assert flash(q, q, q).matrix_flop == 2 * causal.matrix_flop
    assert causal.bytes == 4 * q.bytes + 2 * 8 * 1024 * 4


def test_layouts_agree():
    q, k = half(2, 8, 100, 64), half(2, 2, 300, 64)
    heads_first = work("aten::_cudnn_attention_forward", q, k, k, *[None] * 5, True, 0.0, False)
    q, k = half(2, 100, 8, 64), half(2, 300, 2, 64)
    assert heads_first == flash(q, k, k)


def test_shared_keys_and_narrow_values_count_their_own_size():
    q, k, v = single(1, 10, 8, 192), single(1, 20, 2, 192), single(1, 20, 2, 128)
    call_work = flash(q, k, v)
    assert call_work.matrix_flop == 2 * 8 * 10 * 20 * (192 + 128)
    assert call_work.read_bytes == 4 * (10 * 8 * 192 + 20 * 2 * 192 + 20 * 2 * 128)
    assert call_work.written_bytes == 4 * (10 * 8 * 128 + 10 * 8)


def pairs(mask, queries, keys):
    """The pairs of a mask one by one, the diagonal of a causal one as half."""
    start = keys - queries if mask.is_from_last else 0
    total = 0.0
    for query in range(queries):
        for key in range(keys):
            ahead = key - (query + start)
            if mask.left is not None and ahead < -mask.left:
                continue
            if mask.is_causal:
                total += 1 if ahead < 0 else 0.5 if ahead == 0 else 0
            else:
                total += mask.right is None or ahead <= mask.right
    return total


@pytest.mark.parametrize(
    "mask",
    [
        Mask(),
        Mask(is_causal=True),
        Mask(is_causal=True, is_from_last=True),
        Mask(is_causal=True, is_from_last=True, left=3),
        Mask(is_from_last=True, left=2, right=2),
    ],
)
def test_pairs_are_those_of_a_mask(mask):
    for sizes in ((8, 8), (5, 12), (12, 5), (1, 9)):
        assert mask.pairs(*sizes) == pytest.approx(pairs(mask, *sizes), abs=0.5), sizes


def test_a_query_after_all_others_sees_each_key():
    assert Mask(is_causal=True, is_from_last=True).pairs(1, 9) == 9
    assert Mask(is_causal=True, is_from_last=True, left=3).pairs(1, 9) == 4


def test_kernels_align_causal_masks_to_one_end():
    q, k = half(1, 4, 2, 64), half(1, 10, 2, 64)
    unit = 2 * 2 * (64 + 64)
    assert flash(q, k, k, causal=True).matrix_flop == unit * (4 * 6 + 8)
    efficient = ("aten::_efficient_attention_forward", q, k, k, *[None] * 5, 0.0)
    assert work(*efficient, 1, True).matrix_flop == unit * 8
    assert work(*efficient, 2, True).matrix_flop == unit * (4 * 6 + 8)
    first = ("aten::_scaled_dot_product_cudnn_attention", half(1, 2, 4, 64), half(1, 2, 10, 64))
    assert work(*first, half(1, 2, 10, 64), None, True, 0.0, True).matrix_flop == unit * 8


def test_a_window_of_keys_bounds_the_work():
    q = half(1, 4096, 1, 64)
    full_work, near = flash(q, q, q, causal=True), flash(q, q, q, causal=True, left=255)
    assert near.matrix_flop < full_work.matrix_flop / 7
    assert flash(q, q, q, causal=True, left=-1, right=-1) == full_work


def test_a_bias_is_read_and_sums_are_written_where_asked():
    q, bias = single(2, 16, 4, 32), Tensor((2, 4, 16, 16), "float", (0, 0, 16, 1))
    rest = (None, None, None, None, 0.0, 0)
    without = work("aten::_efficient_attention_forward", q, q, q, None, *rest, False)
    biased = work("aten::_efficient_attention_forward", q, q, q, bias, *rest, True)
    assert biased.read_bytes - without.read_bytes == 16 * 16 * 4
    assert biased.written_bytes - without.written_bytes == 2 * 4 * 16 * 4


def test_backward_is_five_products():
    q = half(2, 128, 8, 64)
    sums = single(2, 8, 128)
    grads = work(
        "aten::_flash_attention_backward",
        *(q, q, q, q, q, sums, None, None, 128, 128, 0.0, True, None, None),
    )
    assert grads.matrix_flop == 2.5 * flash(q, q, q, causal=True).matrix_flop
    assert grads.read_bytes == 5 * q.bytes + sums.bytes
    assert grads.written_bytes == 3 * q.bytes
    mine = work("flash_attn::_flash_attn_backward", q, q, q, q, q, sums, q, q, q, 0.0, 1.0, True)
    assert mine == grads


def test_backward_computes_the_scores_again():
    q, v = half(2, 128, 8, 192), half(2, 128, 8, 128)
    rest = (v, single(2, 8, 128), None, None, 128, 128, 0.0, True, None, None)
    grads = work("aten::_flash_attention_backward", v, q, q, v, *rest)
    assert grads.recomputed_flop == 2 * 8 * (2 * 128**2 / 2) * 192
    assert (grads + grads).recomputed_flop == 2 * grads.recomputed_flop
    assert flash(q, q, v).recomputed_flop == 0


@pytest.mark.parametrize(
    "changed",
    [{0: half(2, 64, 8, 64)}, {2: half(2, 128, 3, 64)}, {3: half(2, 100, 8, 64)}, {8: -1}],
    ids=["gradient", "heads", "values", "flag"],
)
def test_arguments_in_another_order_have_no_work(changed):
    q = half(2, 128, 8, 64)
    arguments = dict(enumerate((q, q, q, q, q, single(2, 8, 128), 0.0, 0.125, True)))
    assert work("aiter::mha_bwd", *arguments.values()).matrix_flop
    assert work_of(call_arguments("aiter::mha_bwd", *{**arguments, **changed}.values())) is None


def packed_work(tokens, sequences, longest):
    q, ends = half(tokens, 4, 64), Tensor((sequences + 1,), "int")
    name = "flash_attn::_flash_attn_varlen_forward"
    return work(name, q, q, q, ends, ends, longest, longest, 0.0, 0.125, True)


def test_sequences_one_after_another_meet_only_themselves():
    q = half(3, 100, 4, 64)
    even = packed_work(300, 3, 100)
    assert (even.matrix_flop, even.assumed) == (flash(q, q, q, causal=True).matrix_flop, "")
    uneven = packed_work(300, 3, 200)
    assert uneven.matrix_flop == 2 * 4 * 128 * (200**2 + 2 * 50**2) / 2
    assert "equally long" in uneven.assumed


def test_recordings_without_plain_values_say_what_was_assumed():
    q = half(2, 128, 8, 64)
    call_work = work("aten::_flash_attention_forward", q, q, q)
    assert call_work.assumed == "no causal mask"


@pytest.mark.parametrize("shape", [(), (4,), (2, 3, 4, 5, 6)])
def test_odd_shapes_have_no_work(shape):
    q = half(*shape)
    assert work_of(call_arguments("aten::_flash_attention_forward", q, q, q)) is None
    assert (
        work_of(call_arguments("aten::_flash_attention_forward", half(2, 3, 4, 5), q, None)) is None
    )
