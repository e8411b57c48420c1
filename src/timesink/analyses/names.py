"""What names of host calls and kernels mean, which are equal, and what to call the device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import device_columns, encode, memoize_structure
from timesink.model import vendors
from timesink.model.data_files import csv_rows
from timesink.model.trace import Trace
from timesink.model.vendors import DEVICE_WORD_OF
from timesink.patterns import regex

ROOT = "CallTreeRoot"
"""Stands for the thread itself where work was launched outside every call."""

LIGHTNING = "pytorch-lightning"
"""The framework that marks its actions and modules itself, by these prefixes."""
LIGHTNING_ACTION, LIGHTNING_MODULE = "[pl][profile]", "[pl][module]"


def is_profiler_step(name: str) -> bool:
    return name.startswith("ProfilerStep#")


def is_data_loader(name: str) -> bool:
    """Whether a call fetches the next batch."""
    return name.startswith("enumerate(DataPipe)#") or (
        name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")
    )


def loads_in_processes(name: str) -> bool:
    """Whether a call fetches a batch that another process made."""
    return is_data_loader(name) and "MultiProcessing" in name


def is_optimizer_step(name: str) -> bool:
    return name.startswith("Optimizer.step")


def is_wrapper(name: str) -> bool:
    """Whether a call only frames others: the forward of a parallel model, an optimizer method."""
    return name in {"DataParallel.forward", "DistributedDataParallel.forward"} or name.startswith(
        "Optimizer."
    )


def frames_calls(name: str) -> bool:
    """Whether a call is a step, fetches data or wraps others, and computes nothing itself."""
    return is_profiler_step(name) or is_data_loader(name) or is_wrapper(name)


_WAITING_CALL = regex(
    r"\b(u?sleep|nanosleep|wait(_for|pid)?|acquire|select|poll|epoll(_p?wait)?|kevent|recv|accept"
    r"|join)\b"
)
_NO_WAITING_CALL = regex(r"Tensor|torch|str\b|path", re.IGNORECASE)
"""Methods that only share the name with calls that wait."""


def is_waiting_call(name: str) -> bool:
    """Whether a Python or system call of this name does nothing but wait."""
    return _WAITING_CALL.search(name) is not None and _NO_WAITING_CALL.search(name) is None


_SLEEP = regex(r"\b(u?sleep|nanosleep)\b")
_RECEIVES = regex(
    r"\bqueues?\.py\(\d+\): get$|\bconnection\.py\(\d+\): _?(recv\w*|poll|wait)$"
    r"|\bdataloader\.py\(\d+\): _(try_)?get_data$"
)
"""Python functions that take what another thread or process hands over."""


def awaits_others(name: str) -> bool:
    """Whether a host call lasts until another thread or process delivers; a sleep does not."""
    if loads_in_processes(name) or _RECEIVES.search(name) is not None:
        return True
    return is_waiting_call(name) and _SLEEP.search(name) is None


def is_lightning_mark(name: str) -> bool:
    """Whether PyTorch Lightning marked one of its actions or modules."""
    return name.startswith((LIGHTNING_ACTION, LIGHTNING_MODULE))


def device_word(trace: Trace) -> str:
    """What users call an accelerator of this maker; `CPU` where there is none at all."""
    word = DEVICE_WORD_OF.get(trace.metadata.vendor)
    return word or ("CPU" if device_columns(trace).is_empty() else "GPU")


# Short forms of kernel names: what a person would call the kernel.

_NOISE = regex(
    r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::|\s*\[clone [^\]]*\]|^void\s+"
)
_BRACKET = regex(r"([<>()])")
_LIBRARIES = ("at::native::", "at::")
_COPIES = ("Memcpy ", "Memset ")
_WRAPPERS = regex(
    r"(?:^|::)(?:\w*elementwise_kernel\w*|reduce_kernel|multi_tensor_apply_kernel|index_\w*kernel"
    r"|cutlass::(?:Kernel2?|device_kernel))$"
)
"""Kernels that only run what their template arguments name."""
_WORD = regex(r"[A-Za-z_]\w+")
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
    if is_mangled(name):
        parts = [word for word in qualified_name(name).split("::") if word[:11] != "_GLOBAL__N_"]
        words = [word for word in mangled_words(name) if not word.isdigit()]
        # Template arguments as a profiler would have written them.
        name = f"{'::'.join(parts)}<{', '.join(words[len(parts) :])}>"
    short = _NOISE.sub("", name)
    if _BRACKET.search(short):
        # Before the last blank stands a return type, as in `enable_if<...>::type f<...>(...)`.
        short = outside_brackets(short).strip().rsplit(" ", 1)[-1]
    for prefix in _LIBRARIES:
        short = short.removeprefix(prefix)
    if _WRAPPERS.search(short):
        runs = telling_word(name[name.find(short) + len(short) :])
        return f"{short}<{runs}>" if runs else short
    return short or name


def telling_word(arguments: str) -> str:
    """The first word of template arguments that says what a kernel does; empty without one."""
    words = _WORD.findall(arguments)
    return next((word for word in words if word not in EVERYWHERE), "")


def outside_brackets(name: str) -> str:
    """The text up to the parameters, without what stands in angle brackets."""
    outside: list[str] = []
    depth = 0
    for piece in _BRACKET.split(name):
        if piece in {"<", "("}:
            if depth == 0 and piece == "(" and "".join(outside).strip():
                break
            depth += 1
        elif piece in {">", ")"}:
            depth = max(0, depth - 1)
        elif depth == 0:
            outside.append(piece)
    return "".join(outside)


# Names as a compiler wrote them: the little of the Itanium scheme that naming a kernel takes.

_START = regex(r"_+Z+(?:N[rVKRO]*|L)?(?=L?\d|St\d)")
_LENGTH = regex(r"\d+")
_NUMBER = regex(r"L[a-z](\d+)E")
_NO_WORD = regex(r"[ST][0-9A-Z]*_|E\d+(?=E[ELNS])")
"""What came before is referred to by number; enumerators are numbers without a type."""


def is_mangled(name: str) -> bool:
    """Whether a name is as the compiler wrote it."""
    return _START.match(name) is not None


def qualified_name(name: str) -> str:
    """The function's own name with its namespaces, up to the first template arguments."""
    start = _START.match(name)
    if start is None:
        return name
    place, parts = start.end(), []
    if name.startswith("St", place):
        place, parts = place + 2, ["std"]
    while True:
        # `L` marks a name that is known in its file only.
        word, place = _word_at(name, place + name.startswith("L", place))
        if not word:
            return "::".join(parts) or name
        parts.append(word)


def mangled_words(name: str) -> Iterator[str]:
    """Names and numbers in a mangled name, in order."""
    place = 0
    while place < len(name):
        number = _NUMBER.match(name, place)
        skipped = _NO_WORD.match(name, place)
        word, behind = _word_at(name, place)
        if number is not None:
            yield number[1]
            place = number.end()
        elif word:
            yield word
            place = behind
        else:
            place = place + 1 if skipped is None else skipped.end()


def _word_at(name: str, place: int) -> tuple[str, int]:
    """The word behind its length, and where it ends; empty where there is none."""
    length = _LENGTH.match(name, place)
    if length is None:
        return "", place
    end = length.end() + int(length[0])
    word = name[length.end() : end]
    return (word, end) if end <= len(name) and not word[:1].isdigit() else ("", place)


NAME_WIDTH = 50
"""Characters of a name in the fixed-width table."""

_NAMELESS = "(no name)"
_RETURN_TYPE = regex(r"^\s*void\s+")
_DROPPED = regex(
    r"(?<!\w)at::native::|(?<!\w)cutlass::"
    r"|(?:<?unnamed>|\(anonymous namespace\)|\{anonymous\}|_GLOBAL__N_\w*)::"
)
_LIBRARY = regex(r"^(?:at::)?(?:native::)?")
_CUT = regex(r"[<(]")
_SUFFIX = regex(r"\.kd$|\s*\[clone [^\]]*\]")


def short_name(name: str) -> str:
    """The name without return type, template arguments, parameters and common namespaces.

    Namespaces of other libraries than PyTorch and CUTLASS stay.
    """
    plain = _RETURN_TYPE.sub("", qualified_name(_SUFFIX.sub("", name)))
    plain = _DROPPED.sub("", plain).strip()
    if _CUT.search(plain) and not plain.startswith(_COPIES):
        # Before a blank outside of brackets stands a type: `enable_if<...>::type f<...>()`.
        outside = outside_brackets(plain).strip()
        plain = outside.rsplit(" ", 1)[-1] if " " in outside else plain
    short = _CUT.split(_LIBRARY.sub("", plain, count=1), maxsplit=1)[0].strip()
    return short or name.strip() or _NAMELESS


def cut_name(short: str, width: int = NAME_WIDTH) -> str:
    """The name, or its beginning and three dots where it is wider."""
    return short if len(short) <= width else short[: width - 3] + "..."


# Names of kernels so that two profilers that spell them differently agree.
#
# One profiler writes `void at::native::f<at::native::Add<float>, 3ul>(int, ...)`, another trims the
# namespaces, numbers its template parameters and writes `void at::f<at::Add<float>, 3>(int, T2)`, a
# third leaves the symbol of the compiler, `_ZN2at6native1fI...`.

_UNNAMED = regex(r"(?:\(anonymous namespace\)|\{anonymous\}|<?unnamed>)::")
_INSTANCE = regex(r"\s*\(instance (\d+)\)")
_CAST = regex(r"\(\w[\w:]*\)(?=-?\d)")
_CALL_OPERATOR = regex(r"\boperator\s*\(\)")
_WORD_OR_NUMBER = regex(r"[A-Za-z_]\w*|\d+")
_TRUTH = {"false": "0", "true": "1"}
_SILENT = frozenset({"void", "const", "unsigned", "native", "operator"})


def kernel_name(name: str) -> str:
    """The function's own name: no return type, namespace, template argument or parameter."""
    return short_name(name).rsplit("::", 1)[-1]


def template_arguments(name: str) -> str | None:
    """The words of the template arguments, as far as profilers agree on them; None without any."""
    if is_mangled(name):
        return None
    # A cast and the number of a lambda look like parameters, which are spelled in too many ways.
    text = _CAST.sub("", _INSTANCE.sub(r"#\1", _UNNAMED.sub("", name)))
    arguments = _in_angle_brackets(_CALL_OPERATOR.sub("operator", text))
    # Qualified names without their namespaces, numbers without their types.
    bare = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", re.sub(r"(?:\w+::)+(?=\w)", "", arguments))
    words = (_TRUTH.get(word, word) for word in _WORD_OR_NUMBER.findall(bare))
    return " ".join(word for word in words if word not in _SILENT) or None


def _in_angle_brackets(name: str) -> str:
    """What stands in angle brackets but in no others, up to the parameters of the function."""
    parts: list[str] = []
    angles = rounds = 0
    named = False
    for piece in _BRACKET.split(name):
        if piece == "(" and named and not angles and not rounds:
            break
        rounds = max(0, rounds + (piece == "(") - (piece == ")"))
        angles = max(0, angles + (piece == "<" and not rounds) - (piece == ">" and not rounds))
        if angles and not rounds:
            parts.append(" " if piece in "<>)" else piece)
        named = named or bool(piece.strip(" <>()"))
    return "".join(parts)


# Which kernels use matrix units (tensor cores), and which operators could.
#
# Kernel names tell, by lists that age: each is dated, and a name that is in none of them is
# unknown rather than "no".  Measured counters, where there are any, know better.

USES_2026 = (
    *vendors.every("matrix_kernels_2026"),
    # attention, whoever made the device
    *("flash_fwd", "flash_bwd", "flash_fprop", "flash_dgrad", "fmha", "unified_attention_"),
)
"""Parts of later names, in lower case (2026-11); those up to Ampere are as written (2021-06)."""

_USES_FROM_START = regex(
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

_NOT_DESPITE_START = regex(
    r"triton_(?:poi|red|per|for|spl|unk)_|" + vendors.any_of("plain_starts_2026")
)
"""Starts of names that decide before the lists above (2026-11)."""

PLAIN_PRODUCTS_2026 = (
    *("sgemm", "scudnn", "winograd", "dgrad_engine", "wgrad_alg0_engine"),
    *("implicit_convolve", "explicit_convolve", "fft2d"),
)
"""Products whose short names, in lower case, tell that they use ordinary units (2026-11)."""

PLAIN_WORK_2026 = regex(
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

_PRODUCT_WORDS = regex(r"gemm|conv(?!ert)|matmul|bmm|(?<!ga)mma|attention|attn|mha|lstm|gru|rnn")
_PYTORCH_KERNELS = ("at::native::", "void at::native::")
"""Kernels PyTorch wrote itself; its matrix products come from libraries."""

_USES_2021 = vendors.every("matrix_kernels_2021")
_CHIPS = vendors.every("matrix_chips_2026")
_WITHOUT_TENSOR_CORES = vendors.names_where("matrix_units", value=False)
"""Makers whose devices have none, whatever their kernels are called."""

ELIGIBLE_2021 = regex(
    r"aten::(?:_?convolution|conv[123]d|conv_tbc|conv_transpose[123]d"
    r"|cudnn_convolution(?:_transpose)?(?:_backward(?:_input|_weight)?)?"
    r"|mm|bmm|addmm_?|addbmm|baddbmm|matmul|chain_matmul|linalg_multi_dot|linear"
    r"|mv|addmv|addr|prelu"
    r"|_thnn_fused_(?:lstm|gru)_cell|lstm_cell|gru_cell|rnn_(?:tanh|relu)_cell)"
    r"|CudnnConvolution(?:Transpose)?Backward|(?:Mm|Addmm|Addbmm|Mv|Addmv)Backward|BmmBackward0"
)
"""Operators that can run on matrix units, whole names (2021-06)."""

ELIGIBLE_2026 = regex(
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


def multiplies_matrices(kernel_name: str) -> bool:
    """Whether a kernel multiplies matrices or convolves, by its name.

    >>> multiplies_matrices("ampere_sgemm_32x32_tn"), multiplies_matrices("softmax_warp_forward")
    (True, False)
    """
    if uses_tensor_cores(kernel_name):
        return True
    short = short_kernel_name(kernel_name).lower()
    function = short.rsplit("::", 1)[-1]
    is_product = _holds(short, PLAIN_PRODUCTS_2026) or _PRODUCT_WORDS.search(function) is not None
    return is_product and not kernel_name.startswith(_PYTORCH_KERNELS)


def rounds_to_tf32(kernel_name: str) -> bool:
    """Whether a product of fp32 rounds its operands to tf32, by its name."""
    return "tf32" in kernel_name.lower() or "_s1688" in kernel_name


def keeps_fp32(kernel_name: str) -> bool:
    """Whether a product of fp32 takes its operands as they are, whatever units its chip has."""
    return "f32f32_f32f32" in kernel_name.lower()


def is_eligible(operator_name: str) -> bool:
    """Whether an operator can run on matrix units."""
    return any(pattern.fullmatch(operator_name) for pattern in (ELIGIBLE_2021, ELIGIBLE_2026))


def has_tensor_cores(trace: Trace) -> bool:
    """Whether the question makes sense for the maker of the device."""
    return trace.metadata.vendor not in _WITHOUT_TENSOR_CORES


@memoize_structure
def tensor_core_use(trace: Trace) -> pl.Series:
    """For each row of `trace.device`: whether it uses matrix units; null where unknown."""
    codes, texts = encode(device_columns(trace)["name"])
    if not has_tensor_cores(trace):
        return pl.repeat(False, len(codes), dtype=pl.Boolean, eager=True)
    uses = pl.Series([uses_tensor_cores(text or "") for text in texts], dtype=pl.Boolean)
    return uses.gather(codes.astype(np.uint32))


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


_ADDRESS = regex(r" at 0x[0-9a-fA-F]+")


def without_address(name: str) -> str:
    """A function without where its object lies, which differs from run to run and call to call."""
    return _ADDRESS.sub("", name)


# -- names that are equal between equal programs ---------------------------------------------------


Hashes = NDArray[np.uint64]


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, list[tuple[re.Pattern[str], str]]]:
    rules: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for row in csv_rows(Path(__file__).with_name("name_rules.csv")):
        for kind in row["kinds"].split():
            rule = (re.compile(row["pattern"]), row["replacement"])
            rules.setdefault(kind, []).append(rule)
    return rules


@lru_cache(maxsize=1 << 16)
def plain_name(kind: str, name: str) -> str:
    """A name without what varies between equal programs.

    >>> plain_name("annotation", "step 17")
    'step #'
    """
    for rule, instead in (*_rules().get(kind, ()), *_rules()["all"]):
        name = rule.sub(instead, name)
    return name


def mix_hashes(values: Hashes) -> Hashes:
    """Numbers whose bits have nothing to do with each other, equal for equal ones."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def hash_texts(texts: list[str]) -> Hashes:
    """A number for each text, the same in every process."""
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64).copy()
