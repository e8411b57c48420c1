"""Short forms of kernel names: what a person would call the kernel."""

from __future__ import annotations

import re

_NOISE = re.compile(
    r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::|\s*\[clone [^\]]*\]|^void\s+"
)
_BRACKET = re.compile(r"([<>()])")
_LIBRARIES = ("at::native::", "at::")
_COPIES = ("Memcpy ", "Memset ")
_WRAPPERS = re.compile(
    r"(?:^|::)(?:\w*elementwise_kernel\w*|reduce_kernel|multi_tensor_apply_kernel|index_\w*kernel"
    r"|cutlass::(?:Kernel2?|device_kernel))$"
)
"""Kernels that only run what their template arguments name."""
_WORD = re.compile(r"[A-Za-z_]\w+")
EVERYWHERE = frozenset(
    """
    at native detail std c10 cub cutlass gemm kernel device thread float double int long unsigned
    char bool void short half Half BFloat16 nv_bfloat16 complex Array array ReduceOp
    TensorListMetadata TensorListScalarListMetadata FusedOptimizerTensorListMetadata
    gpu_kernel_impl gpu_kernel_impl_nocast gpu_index_kernel TensorIteratorBase TensorIterator
    func_wrapper_t BinaryFunctor BUnaryFunctor AUnaryFunctor UnaryOpFunctor BinaryOpScalarFunctor
    PointwiseOpScalarFunctor PointwiseOpListFunctor BinaryOpListAlphaFunctor binary_internal
    anonymous namespace unnamed lambda const enable_if type opmath_t false true
    """.split()  # noqa: SIM905 - a list of fifty quoted words is hard to read
)
"""Words found in the arguments of most kernels, which tell none from another."""


def short_kernel_name(name: str) -> str:
    """The name without return type, template arguments, parameters and unnamed namespaces.

    Namespaces of PyTorch itself are left out as well; those of other libraries tell kernels apart.

    A kernel that only runs its template argument is named with it.
    """
    if name.startswith(_COPIES):
        return name
    short = _NOISE.sub("", name)
    if _BRACKET.search(short):
        # Before the last blank stands a return type, as in `enable_if<...>::type f<...>(...)`.
        short = outside_brackets(short).strip().rsplit(" ", 1)[-1]
    for prefix in _LIBRARIES:
        short = short.removeprefix(prefix)
    return short + _payload(short, name) if short else name


def _payload(short: str, name: str) -> str:
    """What a wrapper runs, in angle brackets; empty for other kernels."""
    if _WRAPPERS.search(short) is None:
        return ""
    telling = telling_word(name[name.find(short) + len(short) :])
    return f"<{telling}>" if telling else ""


def telling_word(arguments: str) -> str:
    """The first word of template arguments that says what a kernel does; empty without one."""
    words = _WORD.findall(arguments)
    return next((word for word in words if word not in EVERYWHERE), "")


def outside_brackets(name: str) -> str:
    """The text up to the parameters, without what stands in angle brackets."""
    kept: list[str] = []
    depth = 0
    for piece in _BRACKET.split(name):
        if piece in {"<", "("}:
            if depth == 0 and piece == "(" and "".join(kept).strip():
                break
            depth += 1
        elif piece in {">", ")"}:
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(piece)
    return "".join(kept)
