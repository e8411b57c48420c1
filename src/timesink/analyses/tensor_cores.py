"""Which kernels use matrix units (tensor cores), and which operators could.

Kernel names tell, by lists that age: each is dated, and a name that is in none of them is
unknown rather than "no".  Measured counters, where there are any, know better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, encode, once_per_trace
from timesink.analyses.names import short_kernel_name
from timesink.model import vendors
from timesink.model.trace import Trace

USES_2026 = (
    *vendors.every("matrix_kernels_2026"),
    # attention, whoever made the device
    *("flash_fwd", "flash_bwd", "flash_fprop", "flash_dgrad", "fmha", "unified_attention_"),
)
"""Parts of later names, in lower case (2026-11); those up to Ampere are as written (2021-06)."""

_USES_FROM_START = re.compile(
    vendors.any_of("matrix_starts_2026") + r"|triton_tem_.*(?:mm|conv|attention)"
    r"|triton_(?:mm|bmm|addmm|matmul)"
    r"|_?attn_(?:fwd|bwd)"
    r"|(?:fused|batched)_moe_kernel"
)
"""What later names start with: matrix instructions of a library, Triton templates (2026-11)."""

PRODUCTS_2026 = ("gemm", "bmm_", "matmul")
NARROW_TYPES_2026 = ("bf16", "bfloat16", "fp16", "f16f16", "e4m3", "e5m2", "fp8", "e2m1", "fp4")
"""Matrix products of these types run on matrix units wherever there are any (2026-11)."""
CHIP_PRODUCTS_2026 = (*PRODUCTS_2026, "_mma", "fprop", "dgrad", "wgrad", "conv_", "attention")
"""Products in libraries written for one chip (`matrix_chips_2026`) use its matrix units."""

NOT_DESPITE_NAME_2026 = (
    # products without matrix units
    *("_ffma_", "_simt_", "opclasssimt", "mmasimt"),
    *("gemv", "dot_kernel", "gemmk1", "gemmsn_", "magma_"),
    # steps before and after a product
    *("splitkreduce", "reducesplitk", "execute_split_k_kernel", "init_device_workspace"),
    *("computeoffsets", "_combine", "dot_do_o", "convert_dq", "convert_dkv", "fmhareduction"),
    *("_finalize_", "attention_ll4mi_reduce"),
    # communication
    *vendors.every("collectives"),
    "cross_device_reduce",
)
"""Parts of names, in lower case, that decide before the lists above (2026-11)."""

_NOT_DESPITE_START = re.compile(
    r"triton_(?:poi|red|per|for|spl|unk)_|" + vendors.any_of("plain_starts_2026")
)
"""Starts of names that decide before the lists above (2026-11)."""

PLAIN_PRODUCTS_2026 = (
    *("sgemm", "scudnn", "winograd", "dgrad_engine", "wgrad_alg0_engine"),
    *("implicit_convolve", "explicit_convolve", "fft2d"),
)
"""Products whose short names, in lower case, tell that they use ordinary units (2026-11)."""

PLAIN_WORK_2026 = re.compile(
    r"element_?wise|pointwise|unrolled|vectorized|functor|eigenmetakernel|bias"
    r"|reduc|scan|sort|cumsum|top_?k|arg(?:max|min)|histogram|unique|bucketize"
    r"|copy|memcpy|memset|fill|cat_?array|concat|transpose|permute|nchwto|nhwcto|im2col|col2im|offsets"
    r"|softmax|sigmoid|activation|act_and_mul|silu|gelu|tanh|dropout|clamp|cast"
    r"|norm|\bbn_|gammabeta|welford|rowwise"
    r"|pool|upsample|interpolate|nll_?loss|cross_?entropy|criterion|_loss"
    r"|embedding|ind(?:ex|ices)|gather|scatter|where|mask|segment"
    r"|multi_tensor_apply|adam|sgd|foreach|amp_|scale|scal_kernel"
    r"|rotary|quant|cache|routing|arange|random|distribution|bernoulli|spin_kernel|assert"
    r"|all_?reduce|epilogue|finalize|tensoropwith|" + vendors.any_of("plain_work_2026")
)
"""Work, by short names in lower case, that has no products of matrices in it (2026-11)."""

_PRODUCT_WORDS = re.compile(
    r"gemm|conv(?!ert)|matmul|bmm|(?<!ga)mma|attention|attn|mha|lstm|gru|rnn"
)
_PYTORCH_KERNELS = ("at::native::", "void at::native::")
"""Kernels PyTorch wrote itself; its matrix products come from libraries."""

_USES_2021 = vendors.every("matrix_kernels_2021")
_CHIPS = vendors.every("matrix_chips_2026")
_WITHOUT_TENSOR_CORES = vendors.names_where("matrix_units", value=False)
"""Makers whose devices have none, whatever their kernels are called."""

ELIGIBLE_2021 = re.compile(
    r"aten::(?:_?convolution|conv[123]d|conv_tbc|conv_transpose[123]d"
    r"|cudnn_convolution(?:_transpose)?(?:_backward(?:_input|_weight)?)?"
    r"|mm|bmm|addmm_?|addbmm|baddbmm|matmul|chain_matmul|linalg_multi_dot|linear"
    r"|mv|addmv|addr|prelu"
    r"|_thnn_fused_(?:lstm|gru)_cell|lstm_cell|gru_cell|rnn_(?:tanh|relu)_cell)"
    r"|CudnnConvolution(?:Transpose)?Backward|(?:Mm|Addmm|Addbmm|Mv|Addmv)Backward|BmmBackward0"
)
"""Operators that can run on matrix units, whole names (2021-06)."""

ELIGIBLE_2026 = re.compile(
    r"aten::(?:convolution_backward|convolution_overrideable|miopen_convolution\w*"
    r"|baddbmm_|_addmm_activation|linear_backward|_int_mm|_scaled_mm|_grouped_mm"
    r"|_scaled_grouped_mm|_weight_int[48]pack_mm\w*"
    r"|(?:_?scaled_dot_product|_flash_attention|_efficient_attention|_cudnn_attention)_\w+)"
    r"|(?:Convolution|Mm|Addmm|Addbmm|Baddbmm|Linear|Mv|Addmv)Backward0"
    r"|(?:ScaledDotProduct|FlashAttention|EfficientAttention)\w*Backward0"
    r"|triton_tem_\w*(?:mm|conv|attention)\w*|(?:fused|batched)_moe_kernel"
)
"""Operators that came later, whole names (2026-11)."""


@lru_cache(maxsize=8192)
def uses_tensor_cores(kernel_name: str) -> bool | None:
    """Whether a kernel uses matrix units, by its name; None where the name does not tell."""
    lower = kernel_name.lower()
    if _holds(lower, NOT_DESPITE_NAME_2026) or _NOT_DESPITE_START.match(kernel_name):
        return False
    uses = (
        _holds(kernel_name, _USES_2021)
        or _holds(lower, USES_2026)
        or _USES_FROM_START.match(kernel_name)
        or (_holds(lower, NARROW_TYPES_2026) and _holds(lower, PRODUCTS_2026))
        or (_holds(lower, _CHIPS) and _holds(lower, CHIP_PRODUCTS_2026))
    )
    if uses:
        return True
    return False if _is_plain(kernel_name) else None


def is_eligible(operator_name: str) -> bool:
    """Whether an operator can run on matrix units."""
    return any(known.fullmatch(operator_name) for known in (ELIGIBLE_2021, ELIGIBLE_2026))


def has_tensor_cores(trace: Trace) -> bool:
    """Whether the question makes sense for the maker of the device."""
    return trace.metadata.vendor not in _WITHOUT_TENSOR_CORES


@once_per_trace
def tensor_core_use(trace: Trace) -> pl.Series:
    """For each row of `trace.device`: whether it uses matrix units; null where unknown."""
    codes, texts = encode(device_columns(trace)["name"])
    if not has_tensor_cores(trace):
        return pl.repeat(False, len(codes), dtype=pl.Boolean, eager=True)
    known = pl.Series([uses_tensor_cores(text or "") for text in texts], dtype=pl.Boolean)
    return known.gather(codes.astype(np.uint32))


def _is_plain(name: str) -> bool:
    if name.startswith(_PYTORCH_KERNELS):
        return True
    # Template arguments name types and functions that say nothing about the kernel itself.
    short = short_kernel_name(name).lower()
    if _holds(short, PLAIN_PRODUCTS_2026):
        return True
    own_name = short.rsplit("::", 1)[-1]
    return not _PRODUCT_WORDS.search(own_name) and PLAIN_WORK_2026.search(short) is not None


def _holds(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)
