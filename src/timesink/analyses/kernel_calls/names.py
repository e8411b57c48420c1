"""Names of kernels as tables of kernel profilers shorten them, and what tells namesakes apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from timesink.analyses.kernel_calls.mangling import is_mangled, mangled_words, qualified_name
from timesink.analyses.kernels.names import EVERYWHERE, outside_brackets, telling_word

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

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)")
    'vectorized_elementwise_kernel'
    >>> short_name("void <unnamed>::elementwise_kernel_with_index<int, Arange>(int)")
    'elementwise_kernel_with_index'
    >>> short_name("void cutlass::Kernel<cutlass_80_tensorop_s16816gemm>(Params)")
    'Kernel'
    >>> short_name("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi")
    'vectorized_elementwise_kernel'
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


# -- namesakes -------------------------------------------------------------------------------------

_Words: TypeAlias = Sequence[str]

_WORD = re.compile(r"[A-Za-z_]\w*|\d+")
_CAST = re.compile(r"\((?:unsigned )?(?:int|long|bool|char|short)\)")
_SHAPES = ("GemmShape", "TileShape", "tuple", "sequence")
_IN_SHAPES = ("cute", "C", "Int", "int")
_TYPES = {
    **dict.fromkeys(("Half", "half", "__half", "half_t", "_Float16"), "f16"),
    **dict.fromkeys(("BFloat16", "bfloat16_t", "nv_bfloat16", "__nv_bfloat16"), "bf16"),
    **dict.fromkeys(("hip_bfloat16", "__hip_bfloat16"), "bf16"),
    **dict.fromkeys(("Float8_e4m3fn", "Float8_e5m2", "float_e4m3_t", "float_e5m2_t"), "f8"),
    "float": "f32",
    "double": "f64",
    "tfloat32_t": "tf32",
    "complex": "complex",
    "bool": "bool",
    "int": "i32",
    "long": "i64",
    "short": "i16",
    "int8_t": "i8",
}
_MOST_WORDS = 4
"""Differing words that are shown before namesakes are only numbered."""


def distinguishing(names: Iterable[str]) -> dict[str, str]:
    """For each full name what tells it from those with its short name; empty where none has it.

    >>> add = "void f<4, at::native::CUDAFunctor_add<float>>(int)"
    >>> mul = "void f<4, at::native::MulFunctor<float>>(int)"
    >>> list(distinguishing([add, mul, "void g<4>(int)"]).values())
    ['CUDAFunctor_add', 'MulFunctor', '']
    """
    told = dict.fromkeys(names, "")
    namesakes: defaultdict[str, list[str]] = defaultdict(list)
    for name in told:
        namesakes[short_name(name)].append(name)
    for group in namesakes.values():
        if len(group) > 1:
            told.update(_told_apart(group))
    return told


def _told_apart(names: Sequence[str]) -> dict[str, str]:
    """Features of the names, each taken only where those before it leave several alike."""
    words = {name: _argument_words(name) for name in names}
    marks: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    features = (_functors, _tiles, _types, *(_differences,) * _MOST_WORDS, _numbers)
    for feature in features:
        for alike in _alike(marks):
            values = feature([words[name] for name in alike])
            if len(set(values)) > 1:
                marks.update(
                    (name, (*marks[name], value)) for name, value in zip(alike, values, strict=True)
                )
    return {name: ", ".join(mark for mark in marks[name] if mark) for name in names}


def _alike(marks: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
    """Names that nothing tells apart so far."""
    by_marks: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, mark in marks.items():
        by_marks[mark].append(name)
    return [alike for alike in by_marks.values() if len(alike) > 1]


def _argument_words(name: str) -> _Words:
    """Words and numbers behind the name itself."""
    own = short_name(name).rsplit("::", 1)[-1]
    if is_mangled(name):
        words = list(mangled_words(name))
        return words[words.index(own) + 1 :] if own in words else words
    return _WORD.findall(_CAST.sub("", name[name.find(own) + len(own) :]))


def _functors(names: Sequence[_Words]) -> list[str]:
    return [telling_word(" ".join(words)) for words in names]


def _tiles(names: Sequence[_Words]) -> list[str]:
    return [_tile(words) for words in names]


def _tile(words: _Words) -> str:
    """The first shape of two numbers or more."""
    for place, word in enumerate(words):
        if word in _SHAPES:
            sizes = _sizes_from(words, place + 1)
            if len(sizes) > 1:
                return "x".join(sizes)
    return ""


def _sizes_from(words: _Words, place: int) -> list[str]:
    sizes = []
    for word in words[place:]:
        if word.isdigit():
            sizes.append(word)
        elif word not in _IN_SHAPES:
            break
    return sizes


def _types(names: Sequence[_Words]) -> list[str]:
    return [next((_TYPES[word] for word in words if word in _TYPES), "") for words in names]


def _differences(names: Sequence[_Words]) -> list[str]:
    """The first word in which the names differ; dull ones only where no other does."""
    telling = [[word for word in words if word not in EVERYWHERE] for words in names]
    for lists in (telling, names):
        for place in range(max(map(len, lists), default=0)):
            here = [words[place] if place < len(words) else "" for words in lists]
            if len(set(here)) > 1:
                return here
    return [""] * len(names)


def _numbers(names: Sequence[_Words]) -> list[str]:
    return [f"#{number}" for number in range(1, len(names) + 1)]
