"""Which family of work a kernel does, by rules on its name that users can extend."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TypeAlias

import msgspec

from timesink.analyses.names import (
    EVERYWHERE,
    is_mangled,
    kernel_name,
    mangled_words,
    short_name,
    telling_word,
)
from timesink.errors import UsageError
from timesink.formats.small_files import option_text
from timesink.model.vendors import CALL_PREFIXES, COLLECTIVES
from timesink.patterns import regex

OTHER = "other"
RULES = Path(__file__).with_name("families.txt")
"""The rules that come with timesink, with the form of a rule in their first lines."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_RULE = regex(r"\s*(\S+)\s+(\S.*?)\s*$")


class Families(msgspec.Struct, frozen=True):
    """Rules in the order in which they are asked."""

    rules: tuple[tuple[str, re.Pattern[str]], ...]

    @lru_cache(maxsize=4096)  # noqa: B019 - several analyses ask for the same long names
    def of(self, name: str, short: str | None = None) -> str:
        """The family of the first rule that is found in the name; `other` without one."""
        text = f"{short_name(name) if short is None else short}\n{name}"
        return next((family for family, rule in self.rules if rule.search(text)), OTHER)


def load_families(path: str | Path | None = None) -> Families:
    """The rules that come with timesink; those of a file of one's own are asked first."""
    return (
        _default_families()
        if path is None
        else Families((*_read(Path(path)), *_default_families().rules))
    )


@lru_cache(maxsize=1)
def _default_families() -> Families:
    return Families(tuple(_read(RULES)))


def _read(path: Path) -> Iterator[tuple[str, re.Pattern[str]]]:
    for number, line in enumerate(option_text(path, "--families", _HINT).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _RULE.match(line)
        if match is None:
            raise UsageError(f"{path}:{number}: {line.strip()!r} is no rule", _HINT)
        try:
            yield match[1], re.compile(match[2], _FLAGS)
        except re.error as error:
            raise UsageError(f"{path}:{number}: no regular expression ({error})", _HINT) from error


_HINT = "--families: a rule is a family, blanks and a regular expression, one to a line"


# Names without what differs between devices, versions and runs.

_PYTHON_CALL = regex(r"^(?P<file>[^()]*\.py[xdi]?)\(\d+\):\s*(?P<function>.+)$")
_PACKAGES = regex(r"^.*?(?:site-packages|dist-packages|lib/python[\d.]+)/")
_COPY = regex(r"^(Memcpy \w+|Memset)\b.*$")
_COLLECTIVE = regex(
    rf"^(?:void\s+)?({COLLECTIVES})\w*?_?"
    r"(AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast|SendRecv|Gather|Scatter|Reduce)",
    re.IGNORECASE,
)
_COMPILED_KERNEL = regex(r"^(triton_\w*?)(?:_+\d+)?(?:_\d+d[\dcde]*)?(?:\.kd)?$")
_TENSILE = regex(r"^(?:Custom_)?(Cijk_\w*?)_(?:MT\d|UserArgs).*$")
_MARK_OF = regex(r"^(enumerate\(\w+\)|Optimizer\.\w+)#.*$")
"""Marks of a framework, and behind them which class does it."""
_RUNTIME_CALL = regex(rf"^(?:{CALL_PREFIXES})(?=[A-Z])")
_RUNTIME_VERSION = regex(r"(?:_v\d+|_ptsz|_ptds)+$")
_LAUNCH = regex(
    r"^(?:Ext|Module|ExtModule|CommandListAppend)?(?:LaunchKernel|InvokeKernel)(?:Ex|ExC)?$"
    r"|^EnqueueKernelLaunch$"
)
"""Makers and versions name the launch of a single kernel differently."""
_BLOCKING_COPY = regex(r"^MemcpyWithStream$")
_CPP = regex(r"^void\s|^[\w:~ ]*[\w>]*<.*>\(.*\)|^[\w:]+(?:<.*>)?\(.*\)(?:\s*\[clone .*\])?$")
_HOLLOW = regex(r"^(?:\w*elementwise_kernel\w*|reduce_kernel|multi_tensor_apply_kernel)$")
"""Kernels that only run what their template arguments name."""
_VARIANTS = regex(
    r"^(?:(?:vectorized|unrolled|legacy)_)?elementwise_kernel(?:_manual_unroll|_vec)?$"
)
"""Which of these runs an operator depends on shapes, alignment and version."""
_NAMELESS = regex(r"^(?:Kernel2?|device_kernel|\w*kentry|_kernel_agent|trampoline_kernel)$")
"""The same, with a name that says nothing at all."""
_REMARKS = (
    (regex(r" at 0x[0-9a-fA-F]+"), ""),
    (regex(r"-dtype_\w+|-extraKey_\d+"), ""),
    (regex(r"(?<=Backward)\d+$"), ""),
    (regex(r"(?<=Torch-Compiled Region): [\d/]+.*$"), ""),
    (regex(r"(?<=CompiledFxGraph) \w+"), ""),
)
_WORD = regex(r"[A-Za-z_]\w+")
_SILENT = EVERYWHERE | {"conv", "reduction", "threadblock", "operator"}
_NAMESPACE = regex(r"^(?:cutlass(?:__\d+x_\w+)?|rocprim|ROCPRIM_\w+_NS)$")
_NUMBER_BEHIND = regex(r"(?:[#._ :-]+\d+)+$|#\d+(?=\D)")
_DIGIT = regex(r"\d")
_ARCHITECTURES = frozenset(
    "kepler maxwell pascal volta turing ampere ada hopper blackwell".split()  # noqa: SIM905
)
_VARYING = regex(
    r"""
    (?:sm|gfx|cc)\d+[a-z]?                  # architecture
    | \d+ | \d+x                            # numbers, version of the library
    | [a-zA-Z]{0,14}\d+(?:x\d+)+\w*        # tiles: 64x64, tilesize128x128x32, sliced1x2
    | stages?\d* | ldg\d+ | lds\d+ | align[a-z]?\d+ | knob | bx\d+ | ex\d+ | [vgs]\d
    | (?!(?:[a-z]+\d{1,2})+$)(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{8,}   # hash, unlike bf16bf16
    | (?=(?:\D*\d){4})[0-9a-z]{24,}         # longer hash
    """,
    re.VERBOSE,
)
_INSTRUCTION = regex(r"^[a-z]{1,2}\d{3,6}(?=[a-z]*gemm|[a-z]*cudnn|fprop|dgrad|wgrad)")


@lru_cache(maxsize=16384)
def normalised_name(name: str) -> str:
    """The name without template arguments, architecture, tile sizes, hashes and running numbers.

    What a kernel computes, its data types where they are part of a library's name, and the names of
    Python files and functions stay.
    """
    plain = name.strip()
    return _known_form(plain) or _without_numbers(_plain_words(plain)) or plain


def _known_form(name: str) -> str | None:
    """Names whose form says all: Python calls, copies, collectives, compiled kernels, GEMMs."""
    call = _PYTHON_CALL.match(name)
    if call is not None:
        # The path inside its package; the file alone where it is in a folder of the user's.
        file = call["file"]
        short_path = _PACKAGES.sub("", file)
        if short_path == file and file.startswith("/"):
            short_path = file.rsplit("/", 1)[-1]
        return f"{short_path}: {_plain_words(call['function'])}"
    short = _COPY.match(name) or _MARK_OF.match(name)
    if short is not None:
        return short[1]
    collective = _COLLECTIVE.match(name)
    if collective is not None:
        return f"{collective[1].lower()} {collective[2]}"
    compiled = _COMPILED_KERNEL.match(name) or _TENSILE.match(name)
    if compiled is not None:
        return compiled[1].rstrip("_")
    if _RUNTIME_CALL.match(name) is not None and name.isidentifier():
        plain = _RUNTIME_VERSION.sub("", _RUNTIME_CALL.sub("", name))
        return "LaunchKernel" if _LAUNCH.match(plain) else _BLOCKING_COPY.sub("Memcpy", plain)
    return None


def _plain_words(name: str) -> str:
    """A kernel as C++ names it without its arguments, any other name without its remarks."""
    if is_mangled(name) or _CPP.match(name) is not None:
        # The function's own name, with what it runs where it only runs its template argument.
        base_name = kernel_name(name)
        if _HOLLOW.match(base_name) is not None:
            runs = _runs(name, base_name)
            base_name = (
                "elementwise_kernel" if _VARIANTS.match(base_name) is not None else base_name
            )
            return f"{base_name}<{runs}>" if runs else base_name
        return (
            (_runs(name, base_name) or base_name)
            if _NAMELESS.match(base_name) is not None
            else base_name
        )
    for remark, instead in _REMARKS:
        name = remark.sub(instead, name)
    return name


def _runs(name: str, base_name: str) -> str:
    """The first word of the template arguments that says what a kernel does."""
    if is_mangled(name):
        words = [word for word in mangled_words(name) if not word.isdigit()]
        behind = words[words.index(base_name) + 1 :] if base_name in words else words
    else:
        behind = _WORD.findall(name, name.find(base_name) + len(base_name))
    telling = (word for word in behind if word not in _SILENT and not _NAMESPACE.match(word))
    return next(telling, "")


def _without_numbers(name: str) -> str:
    """The name without the words that hold sizes, versions and architectures."""
    short = _NUMBER_BEHIND.sub("", name.removesuffix(".kd"))
    if not _DIGIT.search(short) or " " in short:
        return short
    words = [
        _INSTRUCTION.sub("", word)
        for word in short.split("_")
        if word not in _ARCHITECTURES and _VARYING.fullmatch(word) is None
    ]
    return "_".join(words[:1] + [word for word in words[1:] if word]) or short


# What tells kernels of one short name apart: a functor, a tile, a type, the first other word.

_Words: TypeAlias = Sequence[str]

_ARGUMENT_WORD = regex(r"[A-Za-z_]\w*|\d+")
_CAST = regex(r"\((?:unsigned )?(?:int|long|bool|char|short)\)")
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
_MAX_WORDS = 4
"""Differing words that are shown before namesakes are only numbered."""


def distinguish_names(names: Iterable[str]) -> dict[str, str]:
    """For each full name what tells it from those with its short name; empty where none has it."""
    marks: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    namesakes: defaultdict[str, list[str]] = defaultdict(list)
    for name in marks:
        namesakes[short_name(name)].append(name)
    for group in namesakes.values():
        if len(group) > 1:
            _tell_apart(group, marks)
    return {
        name: ", ".join(mark for mark in name_marks if mark) for name, name_marks in marks.items()
    }


def _tell_apart(names: Sequence[str], marks: dict[str, tuple[str, ...]]) -> None:
    """Mark names by features, each taken only where those before it leave several alike."""
    features: tuple[Callable[[Sequence[_Words]], list[str]], ...] = (
        lambda many: [telling_word(" ".join(words)) for words in many],
        lambda many: [_tile(words) for words in many],
        lambda many: [
            next((_TYPES[word] for word in words if word in _TYPES), "") for words in many
        ],
        *(_differences,) * _MAX_WORDS,
        lambda many: [f"#{number}" for number in range(1, len(many) + 1)],
    )
    words = {name: _argument_words(name) for name in names}
    for feature in features:
        by_marks: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for name in names:
            by_marks[marks[name]].append(name)
        for group in by_marks.values():
            values = feature([words[name] for name in group])
            if len(set(values)) > 1:
                for name, value in zip(group, values, strict=True):
                    marks[name] = (*marks[name], value)


def _argument_words(name: str) -> _Words:
    """Words and numbers behind the name itself."""
    base_name = kernel_name(name)
    if is_mangled(name):
        words = list(mangled_words(name))
        return words[words.index(base_name) + 1 :] if base_name in words else words
    return _ARGUMENT_WORD.findall(_CAST.sub("", name[name.find(base_name) + len(base_name) :]))


def _tile(words: _Words) -> str:
    """The first shape of two numbers or more."""
    for place, word in enumerate(words, 1):
        if word in _SHAPES:
            shape = takewhile(lambda part: part.isdigit() or part in _IN_SHAPES, words[place:])
            sizes = [part for part in shape if part.isdigit()]
            if len(sizes) > 1:
                return "x".join(sizes)
    return ""


def _differences(names: Sequence[_Words]) -> list[str]:
    """The first word in which the names differ; dull ones only where no other does."""
    telling = [[word for word in words if word not in EVERYWHERE] for words in names]
    for lists in (telling, names):
        for here in zip_longest(*lists, fillvalue=""):
            if len(set(here)) > 1:
                return list(here)
    return [""] * len(names)
