"""What tells kernels of one short name apart: a functor, a tile, a type, the first other word."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from timesink.analyses.kernel_names.display import EVERYWHERE, telling_word
from timesink.analyses.kernel_names.mangling import is_mangled, mangled_words
from timesink.analyses.kernel_names.short import short_name
from timesink.analyses.kernel_names.spelling import kernel_name

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
    """For each full name what tells it from those with its short name; empty where none has it."""
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
    own = kernel_name(name)
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
