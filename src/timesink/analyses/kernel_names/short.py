"""Names of kernels as tables of kernel profilers shorten them."""

from __future__ import annotations

import re

from timesink.analyses.kernel_names.display import outside_brackets
from timesink.analyses.kernel_names.mangling import qualified_name

NAME_WIDTH = 50
"""Characters of a name in the fixed-width table."""

_NAMELESS = "(no name)"
_COPIES = ("Memcpy ", "Memset ")
_RETURN_TYPE = re.compile(r"^\s*void\s+")
_DROPPED = re.compile(
    r"(?<!\w)at::native::|(?<!\w)cutlass::"
    r"|(?:<?unnamed>|\(anonymous namespace\)|\{anonymous\}|_GLOBAL__N_\w*)::"
)
_LIBRARY = re.compile(r"^(?:at::)?(?:native::)?")
_CUT = re.compile(r"[<(]")
_SUFFIX = re.compile(r"\.kd$|\s*\[clone [^\]]*\]")


def short_name(name: str) -> str:
    """The name without return type, template arguments, parameters and common namespaces.

    Namespaces of other libraries than PyTorch and CUTLASS stay.
    """
    plain = _RETURN_TYPE.sub("", qualified_name(_SUFFIX.sub("", name)))
    plain = _without_return_type(_DROPPED.sub("", plain).strip())
    short = _CUT.split(_LIBRARY.sub("", plain, count=1), maxsplit=1)[0].strip()
    return short or name.strip() or _NAMELESS


def cut_name(short: str, width: int = NAME_WIDTH) -> str:
    """The name, or its beginning and three dots where it is wider.

    >>> cut_name("ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2f_stages_64x5_tn")
    'ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2...'
    """
    return short if len(short) <= width else short[: width - 3] + "..."


def _without_return_type(name: str) -> str:
    """Before a blank outside all brackets stands a type, as in `enable_if<...>::type f<...>()`."""
    if _CUT.search(name) is None or name.startswith(_COPIES):
        return name
    outside = outside_brackets(name).strip()
    return outside.rsplit(" ", 1)[-1] if " " in outside else name
