"""Attention: 2 (dqk + dv) operations per query, key and head; those of softmax are not counted.

Under a causal mask the diagonal counts as half: N queries and N keys are N x N / 2 pairs, not the
N (N + 1) / 2 that are computed at least. Where there are fewer queries than keys, the mask is
aligned to the last of both (the kernels of flash attention) or to the first (all others).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved

_CAUSAL_FROM_FIRST, _CAUSAL_FROM_LAST = 1, 2
"""What the kind of mask is in efficient attention."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Which keys a query sees: all, those before it, or those within a window."""

    is_causal: bool = False
    is_from_last: bool = False
    left: int | None = None
    right: int | None = None

    def pairs(self, queries: float, keys: float) -> float:
        """Queries times the keys that each sees; half of the diagonal of a causal mask.

        >>> Mask(is_causal=True).pairs(4, 4), Mask().pairs(4, 4)
        (8.0, 16.0)
        >>> Mask(is_causal=True, is_from_last=True).pairs(2, 5)
        8.0
        """
        if self.is_causal and self.is_from_last and queries == 1:
            # The last query sees all that the window has.
            return keys if self.left is None else min(keys, self.left + 1.0)
        start = keys - queries if self.is_from_last else 0.0
        seen = float(queries * keys)
        if self.is_causal:
            seen = _clipped_area(start, queries, keys)
        elif self.right is not None:
            seen = _clipped_area(start + self.right + 0.5, queries, keys)
        if self.left is not None:
            seen -= _clipped_area(start - self.left - 0.5, queries, keys)
        return seen


def _clipped_area(start: float, length: float, top: float) -> float:
    """Area below a line of slope one from `start` on, cut off below zero and above `top`."""

    def area(x: float) -> float:
        return min(max(x, 0.0), top) ** 2 / 2 + max(x - top, 0.0) * top

    return area(start + length) - area(start)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Queries, keys and values of a call."""

    q: Tensor
    k: Tensor
    v: Tensor
    heads: int
    pairs: float
    """Of queries and keys, over all sequences, for one head."""
    assumed: str

    def products(self, over_dqk: int, over_dv: int) -> float:
        """Operations of products that sum over, or result in, either width of a head."""
        width = over_dqk * self.q.shape[-1] + over_dv * self.v.shape[-1]
        return 2.0 * self.heads * self.pairs * width


def _sizes(call: CallArguments, *, is_heads_first: bool) -> _Sizes | None:
    q, k, v = call.tensor("q"), call.tensor("k"), call.tensor("v")
    if q is None or k is None or v is None or not 3 <= len(q.shape) <= 4:
        return None
    if len(k.shape) != len(q.shape) or len(v.shape) != len(q.shape) or call.tensor("blocks"):
        return None  # keys in pages of a cache: how many are used is not recorded
    if not fit_together(q, k, v, -3 if is_heads_first else -2) or _is_another_order(call):
        return None
    mask, assumed = _mask(call, is_from_last=not is_heads_first)
    heads = q.shape[-3 if is_heads_first else -2]
    per_head = -2 if is_heads_first else -3
    queries, keys = q.shape[per_head], k.shape[per_head]
    batch = q.shape[0] if len(q.shape) == 4 else 1
    ends = call.tensor("ends_q") or call.tensor("ends_k")
    if ends and ends.elements > 1 and not is_heads_first:
        pairs, uneven = _pairs_of_sequences(call, mask, ends.elements - 1, queries, keys)
        assumed = assumed or uneven
    else:
        pairs = batch * mask.pairs(queries, keys)
    return _Sizes(q, k, v, heads, pairs, assumed)


def fit_together(q: Tensor, k: Tensor, v: Tensor, heads: int) -> bool:
    """Whether these are queries, keys and values, with their heads in this dimension."""
    shared = k.shape[heads]
    return (
        q.shape[-1] == k.shape[-1]
        and k.shape[:-1] == v.shape[:-1]
        and (len(q.shape) < 4 or q.shape[0] == k.shape[0])
        and shared > 0
        and q.shape[heads] % shared == 0
    )


def _is_another_order(call: CallArguments) -> bool:
    """Whether a number stands where versions that the row is for have a flag."""
    return "causal" in call.places and call.number("causal") is not None


def _mask(call: CallArguments, *, is_from_last: bool) -> tuple[Mask, str]:
    if "mask_kind" in call.places:
        kind, window = call.integer("mask_kind"), call.integer("window") or 0
        causal = kind in (_CAUSAL_FROM_FIRST, _CAUSAL_FROM_LAST)
        left = window - 1 if window > 0 else None
        mask = Mask(causal, kind == _CAUSAL_FROM_LAST, left)
        return mask, "" if kind is not None else "no causal mask"
    flag = call.flag("causal")
    left, right = (
        value if (value := call.integer(name)) is not None and value >= 0 else None
        for name in ("left", "right")
    )
    # A window that ends at the query itself is a causal mask under another name.
    mask = Mask(bool(flag) or right == 0, is_from_last, left, right)
    return mask, "" if flag is not None else "no causal mask"


def _pairs_of_sequences(
    call: CallArguments, mask: Mask, sequences: int, queries: int, keys: int
) -> tuple[float, str]:
    """Pairs within sequences that lie one after another; only the longest length is recorded.

    All others are taken as equally long, which is the least work that is possible.
    """
    longest_q = min(call.integer("longest_q") or queries / sequences, queries)
    longest_k = min(call.integer("longest_k") or keys / sequences, keys)
    others = sequences - 1
    if not others:
        return mask.pairs(queries, keys), ""
    rest_q, rest_k = (queries - longest_q) / others, (keys - longest_k) / others
    pairs = mask.pairs(longest_q, longest_k) + others * mask.pairs(rest_q, rest_k)
    is_even = (rest_q, rest_k) == (longest_q, longest_k) and call.integer("longest_q")
    return pairs, "" if is_even else "all sequences but the longest are equally long"


def attention(call: CallArguments, *, heads_first: bool = False) -> Work | None:
    """Queries, keys and values of shape batch x N x heads x d, or without batch one by one.

    With `heads_first` of shape batch x heads x N x d.
    """
    sizes = _sizes(call, is_heads_first=heads_first)
    if sizes is None:
        return None
    q, v = sizes.q, sizes.v
    shape = (*q.shape[:-1], v.shape[-1])
    out = Tensor(shape, q.type if q.element_bytes > 1 else "c10::BFloat16")
    sums = Tensor((math.prod(q.shape[:-1]),), "float")
    is_summed = call.flag("with_sums") is not False
    work = moved([q, sizes.k, v, call.tensor("bias")], [out, sums if is_summed else None])
    flop = sizes.products(1, 1)
    return replace(work, matrix_flop=flop, precision=q.precision, assumed=sizes.assumed)


def attention_backward(
    call: CallArguments, grad: Tensor, *, heads_first: bool = False
) -> Work | None:
    """Scores again, then the gradients of values, probabilities, queries and keys."""
    sizes = _sizes(call, is_heads_first=heads_first)
    if sizes is None or grad.shape[:-1] != sizes.q.shape[:-1]:
        return None
    q, k, v, bias = sizes.q, sizes.k, sizes.v, call.tensor("bias")
    read = [grad, q, k, v, call.tensor("out"), call.tensor("sums"), bias]
    is_asked = any(call.flags("bias_asked")[-1:])
    work = moved(read, [_dense(q), _dense(k), _dense(v), bias if is_asked else None])
    return replace(
        work,
        matrix_flop=sizes.products(3, 2),
        recomputed_flop=sizes.products(1, 0),
        precision=q.precision,
        assumed=sizes.assumed,
    )


def _dense(tensor: Tensor) -> Tensor:
    return tensor.sized(*tensor.shape)
