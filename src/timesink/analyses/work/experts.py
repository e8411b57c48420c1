"""Mixtures of experts: routing, and the products of tokens with the weights of their experts."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import msgspec

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, Tensor
from timesink.analyses.work.formulas import Work, memory_work
from timesink.patterns import regex

_EVEN = "tokens choose experts evenly"

_GENERATED = regex(
    r"bmm_(?P<out>[A-Za-z0-9]+)_(?P<types>(?:Mx)?[EBF][A-Za-z0-9]+)_Fp32_"
    r"t(?P<m>\d+)x(?P<n>\d+)x\d+"
)
"""Products that TensorRT-LLM generates: types of result and operands, tile of M x N x K."""
_OPERAND = regex(r"(Mx)?(E2m1|E4m3|E5m2|Bfloat16|Fp16|Fp32)")
_BYTES = {"E2m1": 0.5, "E4m3": 1.0, "E5m2": 1.0, "Bfloat16": 2.0, "Fp16": 2.0}
_PRECISIONS = {"E2m1": "fp4", "E4m3": "fp8", "E5m2": "fp8", "Bfloat16": "bf16", "Fp16": "fp16"}
_MAX_CHOICES = 64


def fused_experts(call: CallArguments, x: Tensor, w1: Tensor, w2: Tensor) -> Work | None:
    """Two products per token and chosen expert: `x` with `w1`, that with `w2`; exact operations.

    `w1` is E x (N or 2 N) x K, `w2` E x K x N; rows of half that length hold four bits a number.
    How many experts a token has is in the shape of `chosen`, else `weights`, or in `choices`.
    Weights of experts that no token chose are not read; which these are is not recorded.  Two more
    operations an element for the activation, and for adding up what experts give.  Where these are
    on several devices, this one computes its share.
    """
    chosen, weights_of_chosen = call.tensor("chosen"), call.tensor("weights")
    by_token = chosen or weights_of_chosen
    choices = by_token.shape[-1] if by_token and len(by_token.shape) == 2 else None
    choices = choices or call.integer("choices")
    if len(x.shape) != 2 or len(w1.shape) != 3 or len(w2.shape) != 3 or not choices:
        return None
    (tokens, k), (experts, wide, row), narrow = x.shape, w1.shape, w2.shape[2]
    if row == k // 2 and w1.element_bytes == 1:
        narrow *= 2
    elif row != k:
        return None
    if w2.shape[:2] != (experts, k) or not experts or not tokens or wide % max(narrow, 1):
        return None
    everywhere = _experts_everywhere(call, experts)
    if choices > everywhere:
        return None
    touched = _chosen_experts(tokens, choices, everywhere) / everywhere
    routed = tokens * choices * experts / everywhere
    work = memory_work([x, chosen, weights_of_chosen], [x])
    weights = touched * (w1.bytes + w2.bytes)
    return replace(
        work,
        matrix_flop=2.0 * routed * k * (wide + narrow),
        vector_flop=2.0 * routed * (narrow + k),
        precision=w1.precision if w1.precision in ("fp8", "fp4") else x.precision,
        read_bytes=work.read_bytes + weights,
        assumed=_EVEN if everywhere > experts else f"all experts are on this device; {_EVEN}",
    )


def expert_stage(call: CallArguments, x: Tensor, w: Tensor, out: Tensor) -> Work | None:
    """One of the two products: rows of `x` with `w` (E x N x K) of their experts, to `out`.

    Rows are tokens, each for as many experts as `choices` says, or already one for each of them.
    """
    choices = call.integer("choices")
    if not choices or len(w.shape) != 3:
        return None
    if len(x.shape) not in (2, 3) or not x.shape[-1]:
        return None
    k, (experts, n, row) = x.shape[-1], w.shape
    if not experts or not (row == k or (2 * row == k and w.element_bytes == 1)):
        return None
    rows = x.elements // k
    routed = rows * choices if len(x.shape) == 2 else rows
    # One row for each expert of a token, of a half where the result is gated, or their sum.
    if out.elements not in (routed * n, routed * n // 2, routed // choices * n):
        return None
    work = memory_work([x], [out])
    weights = w.bytes * _chosen_experts(routed // choices, choices, experts) / experts
    return replace(
        work,
        matrix_flop=2.0 * routed * n * k,
        precision=w.precision if w.precision in ("fp8", "fp4") else x.precision,
        read_bytes=work.read_bytes + weights,
        assumed=f"all experts are on this device; {_EVEN}",
    )


class _GroupedProduct(msgspec.Struct, frozen=True):
    """What the name and the grid of a generated kernel tell."""

    columns: int
    """Of the weights of one expert, in whole tiles."""
    column_tile: int
    row_tiles: int
    row_tile: int
    weight_bytes: float
    """Of one number, its share of a scale included."""
    precision: str


def routed_experts(call: CallArguments, x: Tensor, scores: Tensor) -> Work | None:
    """A layer of experts of which only tokens (`x`) and `scores` are recorded, not the weights.

    None, unless its two products are kernels that TensorRT-LLM generated.  Their names hold types
    and tiles, their grids how many tiles of columns the weights have and for how many tiles of
    tokens room is made.  That room is as many tiles as experts can begin, and as many more as the
    remaining tokens fill: only one number of choices per token gives it.  The second product must
    give rows as wide as `x`, and the first half of its columns to the second.
    """
    if len(x.shape) != 2 or len(scores.shape) != 2:
        return None
    (tokens, k), experts = x.shape, scores.shape[1]
    products = [product for launch in call.launches if (product := _grouped_product(launch))]
    if not tokens or not experts:
        return None
    for first, second in pairwise(products):
        choices = _choices(tokens, experts, first)
        if choices is None or choices != _choices(tokens, experts, second):
            continue
        if second.columns != math.ceil(k / second.column_tile) * second.column_tile:
            continue
        gate = 2 if _is_gated(call) else 1
        narrow = first.columns / gate
        routed, touched = tokens * choices, _chosen_experts(tokens, choices, experts)
        per_row = first.columns * first.weight_bytes + narrow * second.weight_bytes
        weights = touched * k * per_row
        work = memory_work([x, scores], [x])
        return replace(
            work,
            matrix_flop=2.0 * routed * k * (first.columns + narrow),
            vector_flop=2.0 * routed * (narrow + k),
            precision=first.precision,
            read_bytes=work.read_bytes + weights,
            assumed=f"all experts are on this device, in whole tiles; {_EVEN}",
        )
    return None


def routing(call: CallArguments, scores: Tensor, weights: Tensor) -> Work | None:
    """Softmax of `scores` and the best of each row: five operations a score."""
    if len(scores.shape) != 2:
        return None
    if len(weights.shape) != 2 or weights.shape[0] != scores.shape[0]:
        return None
    if weights.shape[1] > scores.shape[1]:
        return None
    work = memory_work([scores], [call.tensor(name) for name in ("weights", "chosen", "rows")])
    return replace(work, vector_flop=5.0 * scores.elements, precision=scores.precision)


def routing_order(call: CallArguments, chosen: Tensor) -> Work | None:
    """Places of tokens in the order of their experts: no operations on numbers."""
    return memory_work([chosen], [call.tensor(name) for name in ("order", "experts")])


def sum_of_experts(x: Tensor, out: Tensor) -> Work | None:
    """What the experts gave (`x`) added up per token (`out`)."""
    if x.elements % max(out.elements, 1):
        return None
    flop = float(max(x.elements - out.elements, 0))
    return replace(memory_work([x], [out]), vector_flop=flop, precision=x.precision)


def rows_by_expert(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """`a` (rows x K), sorted by expert, times `b` (E x K x N or E x N x K): 2 rows N K.

    Weights of all experts are taken as read, at most as many as there are rows.
    """
    if len(a.shape) != 2 or len(b.shape) != 3:
        return None
    (rows, k), (experts, *sides) = a.shape, b.shape
    if k not in sides or not experts:
        return None
    n = sides[1] if sides[0] == k else sides[0]
    out = call.tensor("out") if "out" in call.places else a.sized(rows, n)
    if out is None or out.shape != (rows, n):
        return None
    packed = 2 if call.name.endswith(("fp4_group_mm", "fp4_moe_mm")) else 1
    work = memory_work([a, call.tensor("scale_a")], [out])
    weights = min(1.0, rows / experts) * memory_work([b, call.tensor("scale_b")], []).read_bytes
    return replace(
        work,
        matrix_flop=2.0 * rows * n * k * packed,
        precision="fp4" if packed > 1 else a.precision,
        read_bytes=work.read_bytes + weights,
        assumed="every expert has rows, on this device",
    )


def weight_gradients_by_expert(a: Tensor, b: Tensor, lengths: Tensor) -> Work | None:
    """Rows of `a` (rows x K) and `b` (rows x N), sorted by expert, to E x K x N: 2 rows N K."""
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    if a.shape[0] != b.shape[0]:
        return None
    (rows, k), n = a.shape, b.shape[1]
    work = memory_work([a, b], [a.sized(lengths.elements, k, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=a.precision)


def _experts_everywhere(call: CallArguments, here: int) -> int:
    """How many experts all devices have: a map of them stands in different places."""
    if "chosen" not in call.places:
        return here
    after = call.inputs[call.places["chosen"] + 1 :]
    maps = (tensor for tensor in after if isinstance(tensor, Tensor) and tensor.precision == "int")
    return max([here, *(tensor.elements for tensor in maps if len(tensor.shape) == 1)])


def _chosen_experts(tokens: int, choices: int, experts: int) -> float:
    """How many experts some token chose, where all are equally likely."""
    return experts * (1 - max(0.0, 1 - choices / experts) ** tokens)


def _grouped_product(launch: KernelLaunch) -> _GroupedProduct | None:
    match = _GENERATED.match(launch.kernel)
    if match is None or len(launch.grid) < 2:
        return None
    operands = [(operand[1], operand[2]) for operand in _OPERAND.finditer(match["types"])]
    if len(operands) == 1:
        operands *= 2
    if len(operands) != 2 or any(kind not in _BYTES for _, kind in operands):
        return None
    m, n = int(match["m"]), int(match["n"])
    # `bN`: tokens lie along N, and the weights, along M, are the first operand.
    along_n = "_bN_" in launch.kernel
    if not along_n and "_bM_" not in launch.kernel:
        return None
    scaled, kind = operands[0 if along_n else 1]
    columns, rows = launch.grid[:2] if along_n else launch.grid[1::-1]
    widest = max((element for _, element in operands), key=_BYTES.__getitem__)
    # A byte of scale for 32 numbers, for 16 of the format without that mark.
    scale = 1 / 32 if scaled else 1 / 16 if kind == "E2m1" else 0.0
    tile, row_tile = (m, n) if along_n else (n, m)
    weight_bytes = _BYTES[kind] + scale
    return _GroupedProduct(columns * tile, tile, rows, row_tile, weight_bytes, _PRECISIONS[widest])


def _choices(tokens: int, experts: int, product: _GroupedProduct) -> int | None:
    """The one number of experts per token that needs as many tiles of rows as there are."""
    fitting = []
    for choices in range(1, min(experts, _MAX_CHOICES) + 1):
        first_tiles = min(experts, tokens * choices)
        if first_tiles + (tokens * choices - first_tiles) // product.row_tile == product.row_tiles:
            fitting.append(choices)
    return fitting[0] if len(fitting) == 1 else None


def _is_gated(call: CallArguments) -> bool:
    names = " ".join(launch.kernel for launch in call.launches).lower()
    return any(word in names for word in ("swiglu", "geglu", "act_and_mul"))
