"""Attention, and what serving engines do around it: fused norms, rotary embedding, caches.

Attention is 2 (dqk + dv) operations per query, key and head; those of softmax are not counted.
Under a causal mask the diagonal counts as half: N queries and N keys are N x N / 2 pairs, not the
N (N + 1) / 2 that are computed at least. Where there are fewer queries than keys, the mask is
aligned to the last of both (the kernels of flash attention) or to the first (all others).

Operators of vLLM, SGLang, aiter and flashinfer do the same with arguments in another order: the
rows of the registry say where each is.
"""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work

_CAUSAL_FROM_FIRST, _CAUSAL_FROM_LAST = 1, 2
"""What the kind of mask is in efficient attention."""


class Mask(msgspec.Struct, frozen=True):
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


class _Sizes(msgspec.Struct, frozen=True):
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
    rest = sequences - 1
    if not rest:
        return mask.pairs(queries, keys), ""
    rest_q, rest_k = (queries - longest_q) / rest, (keys - longest_k) / rest
    pairs = mask.pairs(longest_q, longest_k) + rest * mask.pairs(rest_q, rest_k)
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
    work = memory_work([q, sizes.k, v, call.tensor("bias")], [out, sums if is_summed else None])
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
    work = memory_work(read, [_dense(q), _dense(k), _dense(v), bias if is_asked else None])
    return replace(
        work,
        matrix_flop=sizes.products(3, 2),
        recomputed_flop=sizes.products(1, 0),
        precision=q.precision,
        assumed=sizes.assumed,
    )


def _dense(tensor: Tensor) -> Tensor:
    return tensor.sized(*tensor.shape)


# -- operators of serving engines ------------------------------------------------------------------


def one_pass(call: CallArguments, x: Tensor, *, per_element: int, parts: int = 1) -> Work | None:
    """A pass over `x` with `per_element` operations for each element that is written.

    Read: `x`, `weight`, `bias`, `residual`, `scale`.  Written: `out` (like `x` where the row names
    none, else one of its `parts`), `residual` again, `new_scale`, `residual_out`.  Versions order
    arguments differently: where sizes do not fit together it is no such call.
    """
    out = call.tensor("out") if "out" in call.places else x
    names = ("weight", "bias", "residual", "scale")
    extras = [call.tensor(name) for name in names]
    if out is None or not x.shape:
        return None
    if "out" in call.places and out.elements * parts != x.elements:
        return None
    if any(tensor is not None and tensor.shape != x.shape[-1:] for tensor in extras[:2]):
        return None
    beside = call.tensor("residual_out") if "residual_out" in call.places else extras[2]
    if any(tensor is not None and tensor.elements != x.elements for tensor in (extras[2], beside)):
        return None
    work = memory_work([x, *extras], [out, beside, call.tensor("new_scale")])
    flop = (per_element + (1 if extras[2] else 0)) * out.elements
    return replace(work, vector_flop=float(flop), precision=x.precision)


def norm_to_bytes(call: CallArguments, x: Tensor) -> Work | None:
    """The same where the result is not recorded: a byte an element, a scale for each `block`."""
    work, block = one_pass(call, x, per_element=3), call.integer("block")
    if work is None or not block:
        return None
    residual = call.tensor("residual")
    written = x.elements * (1 + 4 / block) + (residual.bytes if residual else 0.0)
    return replace(work, written_bytes=written)


def norm_backward(x: Tensor) -> Work | None:
    """The gradient `x` of a norm's result, which alone is recorded: reads its input too.

    Five operations an element.
    """
    if len(x.shape) < 2:
        return None
    work = memory_work([x, x, x.sized(x.shape[-1])], [x, x.sized(x.shape[-1])])
    return replace(work, vector_flop=5.0 * x.elements, precision=x.precision)


def gated_activation(call: CallArguments, x: Tensor) -> Work | None:
    """An activation of one half of `x` times the other: two operations an element written."""
    if "out" in call.places:
        return one_pass(call, x, per_element=2, parts=2)
    out = x.sized(*x.shape[:-1], x.shape[-1] // 2) if x.shape else x
    work = memory_work([x], [out])
    return replace(work, vector_flop=2.0 * out.elements, precision=x.precision)


def product_of_activation(x: Tensor, y: Tensor) -> Work | None:
    """An activation of `x` times `y`, kept apart: two operations an element."""
    return replace(memory_work([x, y], [x]), vector_flop=2.0 * x.elements, precision=x.precision)


def product_backward(x: Tensor) -> Work | None:
    """The gradient `x` of such a product, which alone is recorded: reads both, writes two."""
    return replace(
        memory_work([x, x, x], [x, x]), vector_flop=6.0 * x.elements, precision=x.precision
    )


def causal_convolution(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """Each channel of `x` (batch x channels x N) with a few weights of its own: 2 per weight."""
    if len(x.shape) != 3 or len(w.shape) != 2 or w.shape[0] != x.shape[1]:
        return None
    work = memory_work([x, w, call.tensor("bias")], [x])
    return replace(work, vector_flop=2.0 * x.elements * w.shape[1], precision=x.precision)


# -- rotary embedding ------------------------------------------------------------------------------


def rotary_embedding(call: CallArguments, query: Tensor, table: Tensor) -> Work | None:
    """Turns `query` and `key`: two products and a sum per element that is turned.

    Of a head of `head_size` only as many elements are turned as a row of the table has; rows of the
    table are read once per token.
    """
    key = call.tensor("key")
    positions = call.tensor("positions")
    if len(table.shape) < 2 or not query.shape:
        return None
    if positions is not None and (
        positions.precision != "int" or query.elements % max(positions.elements, 1)
    ):
        return None
    head, turned = call.integer("head_size") or 0, table.shape[-1]
    if not head and len(query.shape) > 2:
        head = query.shape[-1]
    share = min(1.0, turned / head) if head else 1.0
    tokens = positions.elements if positions else query.shape[0]
    both = [tensor for tensor in (query, key) if tensor is not None]
    of_heads = memory_work(
        both, [_named_or(call, "query_out", query), _named_or(call, "key_out", key)]
    )
    rows = min(float(tokens), table.elements / turned if turned else 0.0)
    return Work(
        vector_flop=3.0 * share * sum(tensor.elements for tensor in both),
        precision=query.precision,
        read_bytes=share * of_heads.read_bytes
        + rows * turned * table.element_bytes
        + (positions.bytes if positions else 0.0),
        written_bytes=share * of_heads.written_bytes,
        assumed="" if head else "whole heads are turned",
    )


def rotary_by_angles(call: CallArguments, query: Tensor) -> Work | None:
    """Turns `query` and `key` by `cos` and `sin`, which have a row per token."""
    key = call.tensor("key")
    work = memory_work([query, key, call.tensor("cos"), call.tensor("sin")], [query, key])
    turned = query.elements + (key.elements if key else 0)
    return replace(work, vector_flop=3.0 * turned, precision=query.precision)


# -- caches ----------------------------------------------------------------------------------------


def cache_write(call: CallArguments, key: Tensor, cache: Tensor, slots: Tensor) -> Work | None:
    """Copies `key` and `value` of each token to its slot, in the type of the cache.

    An operation an element where that differs.
    """
    value = call.tensor("value")
    if not key.shape:
        return None
    if slots.precision != "int" or (value and value.shape[:-1] != key.shape[:-1]):
        return None
    # Rows beyond the slots are padding.
    share = min(1.0, slots.elements / key.shape[0]) if key.shape[0] else 0.0
    elements = share * (key.elements + (value.elements if value else 0))
    scaled = elements if cache.type != key.type else 0.0
    return Work(
        vector_flop=scaled,
        precision=key.precision if scaled else "",
        read_bytes=share * memory_work([key, value], []).read_bytes + slots.bytes,
        written_bytes=elements * cache.element_bytes,
    )


def latent_cache_write(
    call: CallArguments, latent: Tensor, cache: Tensor, slots: Tensor
) -> Work | None:
    """Copies a latent vector and its turned part to the slot of each token: a row of the cache."""
    turned = call.tensor("turned")
    if not cache.shape or not latent.shape:
        return None
    if slots.precision != "int" or (turned and turned.shape[:1] != latent.shape[:1]):
        return None
    share = min(1.0, slots.elements / latent.shape[0]) if latent.shape[0] else 0.0
    return Work(
        read_bytes=share * memory_work([latent, turned], []).read_bytes + slots.bytes,
        written_bytes=slots.elements * cache.shape[-1] * cache.element_bytes,
    )


def block_copies(call: CallArguments, pairs: Tensor) -> Work | None:
    """Copies blocks of caches, as many as `pairs` has rows, in each layer's `keys` and `values`."""
    caches = (*call.tensor_list("keys"), *call.tensor_list("values"))
    usual = Tensor((), call.facts.usual_type).element_bytes
    if not pairs.shape or not caches or not usual:
        return None
    if not all(cache.shape and cache.shape[0] for cache in caches):
        return None
    block = sum(cache.elements / cache.shape[0] for cache in caches)
    copied_bytes = pairs.shape[0] * block * usual
    assumed = f"caches hold {Tensor((), call.facts.usual_type).precision}"
    return Work(read_bytes=copied_bytes, written_bytes=copied_bytes, assumed=assumed)


# -- attention over caches -------------------------------------------------------------------------


def attention_of_lengths(
    call: CallArguments, q: Tensor, k: Tensor, v: Tensor, ends_q: Tensor
) -> Work | None:
    """Attention of sequences of several lengths, or None where lengths are not all the longest.

    Recordings hold how many sequences there are (`ends_q`), how many tokens all have, and the
    longest of them, never each length.  Where all tokens are as many as all sequences at that
    length, each length is known; with caches in blocks (`blocks`) that is so for one sequence.
    A bound is not the work: otherwise there is none.

    A causal mask leaves half the square of queries, and all that is before it; a single query sees
    all.
    """
    longest_q, longest_k = call.integer("longest_q"), call.integer("longest_k")
    if longest_q is None or not longest_k:
        return None
    sequences, causal = ends_q.elements - 1, call.flag("causal")
    if len(q.shape) != 3 or len(k.shape) < 3 or sequences < 1 or causal is None:
        return None
    paged = call.tensor("blocks") is not None
    fits = fit_together(q, k, v, -2) and ends_q.precision == "int"
    if not fits or paged != (len(k.shape) == 4):
        return None
    all_k = sequences * longest_k if paged and sequences == 1 else 0 if paged else k.shape[0]
    if q.shape[0] != sequences * longest_q or all_k != sequences * longest_k:
        return None
    window = call.integer("window")
    if window is not None and 0 <= window < longest_k - 1:
        return None
    hidden = longest_q**2 / 2 if causal and longest_q > 1 else 0
    pairs = sequences * (longest_q * longest_k - hidden)
    heads, width = q.shape[1], k.shape[-1] + v.shape[-1]
    cached = all_k * (k.shape[-2] * k.shape[-1] * k.element_bytes)
    cached += all_k * (v.shape[-2] * v.shape[-1] * v.element_bytes)
    # Queries of eight bits give results of sixteen.
    out = q.elements // q.shape[-1] * v.shape[-1] * max(2.0, q.element_bytes)
    return Work(
        matrix_flop=2.0 * heads * pairs * width,
        precision=q.precision,
        read_bytes=q.bytes + cached,
        written_bytes=out,
        assumed="the sequence has the length of the longest" if paged else "",
    )


def attention_of_one(call: CallArguments, q: Tensor, cache: Tensor) -> Work | None:
    """One new token of one sequence against a cache in blocks; None for several sequences.

    Recordings tell the longest (`longest_k`), not each.
    """
    longest, kv_heads = call.integer("longest_k"), call.integer("kv_heads")
    if len(q.shape) != 3 or not longest or not kv_heads:
        return None
    sequences, heads, width = q.shape
    if sequences != 1:
        return None
    return Work(
        matrix_flop=4.0 * heads * longest * width,
        precision=q.precision,
        read_bytes=q.bytes + 2 * longest * kv_heads * width * cache.element_bytes,
        written_bytes=q.bytes,
        assumed="the sequence has the length of the longest",
    )


def attention_of_unknown_lengths() -> None:
    """None: what is read and computed goes with lengths of caches, which are not recorded.

    Queries and results are certain, but only a small part; a bound is not the work.
    """
    return


def merged_attention(call: CallArguments, part: Tensor, out: Tensor) -> Work | None:
    """Two parts of an attention, each with its sums, made one: three operations an element."""
    beside = [call.tensor(name) for name in ("sums", "other", "other_sums")]
    if part.shape != out.shape or (beside[1] and beside[1].shape != out.shape):
        return None
    work = memory_work([part, *beside], [out])
    return replace(work, vector_flop=3.0 * out.elements, precision=part.precision)


def _named_or(call: CallArguments, name: str, other: Tensor | None) -> Tensor | None:
    return call.tensor(name) if name in call.places else other
