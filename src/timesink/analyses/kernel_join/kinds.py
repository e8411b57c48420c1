"""Numbers for what is launched, equal on two recordings where they mean the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.families import OTHER
from timesink.analyses.kernel_join.launches import Launches
from timesink.analyses.kernel_names.short import cut_name, short_name
from timesink.analyses.kernel_names.spelling import kernel_name, template_arguments
from timesink.analyses.texts import encode
from timesink.model.arrays import Ints

GEOMETRY = tuple(f"{shape}_{axis}" for shape in ("grid", "block") for axis in "xyz")
_CUT = "..."


def numbered_launches(counters: pl.DataFrame, timeline: pl.DataFrame) -> tuple[Launches, Launches]:
    """The launches of two tables of calls, with numbers that are equal where they mean the same.

    A kind is name, template arguments, grid and block.  What only one of the tables tells (the
    arguments of a mangled name, a grid) does not count.
    """
    sides = (counters, timeline)
    encoded = [encode(side["name"]) for side in sides]
    texts = [[text or "" for text in names] for _, names in encoded]
    spell = _spelling(texts[0])
    function = _numbered([[spell(text) for text in side] for side in texts])
    arguments = _shared_arguments(texts, function)
    by_name = [
        pl.DataFrame({"function": own[codes], "arguments": told[codes]})
        for (codes, _), own, told in zip(encoded, function, arguments, strict=True)
    ]
    shape = _told_by_both(sides)
    keys = [named.hstack(own) for named, own in zip(by_name, shape, strict=True)]
    kind = pl.concat(keys).select(pl.struct(pl.all()).rank("dense")).to_series()
    kinds = kind.cast(pl.Int64).to_numpy()
    families = _families(sides)
    cut = counters.height
    return (
        Launches(kinds[:cut], by_name[0]["function"].to_numpy(), families[:cut]),
        Launches(kinds[cut:], by_name[1]["function"].to_numpy(), families[cut:]),
    )


def _told_by_both(sides: tuple[pl.DataFrame, pl.DataFrame]) -> list[pl.DataFrame]:
    told = [
        name
        for name in GEOMETRY
        if all(name in side.columns and side[name].null_count() < side.height for side in sides)
    ]
    return [side.select(pl.col(told).cast(pl.Int64).fill_null(-1)) for side in sides]


def _families(sides: tuple[pl.DataFrame, pl.DataFrame]) -> Ints:
    if not all("family" in side.columns for side in sides):
        return np.full(sum(side.height for side in sides), -1)
    codes, names = encode(pl.concat([side["family"].cast(pl.String) for side in sides]))
    known = [-1 if name in {None, OTHER} else code for code, name in enumerate(names)]
    return np.array([*known, -1], dtype=np.int64)[codes]


def _spelling(texts: list[str]) -> Callable[[str], str]:
    """How to spell names: as tables do that cut them, where there are cut ones."""
    if not any(text.endswith(_CUT) for text in texts):
        return kernel_name
    return lambda text: kernel_name(
        (text if text.endswith(_CUT) else cut_name(short_name(text))).removesuffix(_CUT)
    )


def _numbered(sides: list[list[str]]) -> list[Ints]:
    number: dict[str, int] = {}
    return [
        np.array([number.setdefault(text, len(number)) for text in side], dtype=np.int64)
        for side in sides
    ]


def _shared_arguments(texts: list[list[str]], functions: list[Ints]) -> list[Ints]:
    """Numbers of template arguments that both sides have for a function; 0 for any others.

    Where profilers spell arguments in ways that cannot be compared they do not tell kernels apart.
    """
    told = [
        [(function, template_arguments(text)) for function, text in zip(own, side, strict=True)]
        for own, side in zip(functions, texts, strict=True)
    ]
    shared = [known for known in dict.fromkeys(told[0]) if known[1] and known in set(told[1])]
    number = {known: place for place, known in enumerate(shared, 1)}
    return [np.array([number.get(known, 0) for known in side], dtype=np.int64) for side in told]
