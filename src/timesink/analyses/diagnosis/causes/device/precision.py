"""The number format of a kernel, as far as its name tells."""

from __future__ import annotations

import re

_FORMATS = (
    ("fp8", r"e4m3|e5m2|fp8|float8"),
    ("int8", r"(?<![a-z])(int8|s8_s8|i8i8|imma|igemm)(?![a-z0-9])"),
    ("bf16", r"bf16|bfloat16"),
    ("tf32", r"tf32"),
    ("fp16", r"(?<![a-z])(half|hgemm|fp16|f16|h884|h1688|h16816|__half)(?![a-z0-9])|f16f16"),
    ("fp64", r"(?<![a-z])(double|dgemm|fp64|f64)(?![a-z0-9])|f64f64"),
    ("fp32", r"f32f32|(?<![a-z])(sgemm|fp32|float|f32)(?![a-z0-9])|simt_s"),
)
"""The first that is found counts: kernels of a narrow format often name a wide accumulator too."""
_RULES = tuple((name, re.compile(rule, re.IGNORECASE)) for name, rule in _FORMATS)


def precision(kernel: str) -> str | None:
    """The narrowest number format a kernel's name speaks of; None where it does not.

    >>> precision("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n"), precision("nvjet_sm90")
    ('fp32', None)
    >>> precision("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"), precision("ampere_bf16_s16816gemm")
    ('tf32', 'bf16')
    """
    return next((name for name, rule in _RULES if rule.search(kernel)), None)
