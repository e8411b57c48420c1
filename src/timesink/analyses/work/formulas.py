"""What a call computes and moves at least, and which formula tells it.

Which formula an operator has stands in `operators.csv`: its name, or a pattern of names (`*`), the
formula, its family, and where the formula finds its arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import structs

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.model.data_files import csv_rows
from timesink.patterns import regex

_OPTIONS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Work:
    """Operations and bytes of one call.

    Bytes are compulsory: each tensor that is read or written counts once, at its own size.

    >>> both = Work(matrix_flop=2e9, read_bytes=4e6) + Work(vector_flop=1e6, written_bytes=1e6)
    >>> both.flop, both.bytes
    (2001000000.0, 5000000.0)
    """

    matrix_flop: float = 0.0
    """Multiplications and additions that matrix units can do."""
    vector_flop: float = 0.0
    """All other operations on numbers, one each."""
    precision: str = ""
    """Of the operands of the matrix operations, else of the vector operations: `bf16`, ..."""
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    wire_bytes: float = 0.0
    """What this device sends to others."""
    assumed: str = ""
    """What the recording does not tell and was taken for granted, in a few words."""
    recomputed_flop: float = 0.0
    """Of `matrix_flop`: what another call did before, and this one does again."""

    @property
    def flop(self) -> float:
        return self.matrix_flop + self.vector_flop

    @property
    def bytes(self) -> float:
        return self.read_bytes + self.written_bytes

    def __add__(self, other: Work) -> Work:
        return Work(
            self.matrix_flop + other.matrix_flop,
            self.vector_flop + other.vector_flop,
            self.precision or other.precision,
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
            self.wire_bytes + other.wire_bytes,
            self.assumed or other.assumed,
            self.recomputed_flop + other.recomputed_flop,
        )


AMOUNTS = tuple(column.name for column in fields(Work) if column.type == "float")
"""What a call does a number of."""

Formula: TypeAlias = "Callable[[CallArguments], Work | None]"
"""Work of a call, or None where its arguments do not tell."""


class OperatorFormula(msgspec.Struct, frozen=True):
    """One row of the registry."""

    operator: str
    formula: Formula
    family: str
    """What such operators are called together: `matmul`, `attention`, `elementwise`, ..."""
    covers_calls: bool
    """Whether it stands for all that it calls; else what it calls with formulas is apart."""
    places: Mapping[str, int]
    needs_shapes: bool = True
    """Whether its inputs tell its work; else what the whole recording tells does."""
    is_leaf: bool = False
    """Whether it counts only where it calls nothing that was recorded."""


def memory_work(read: Iterable[Tensor | None], written: Iterable[Tensor | None]) -> Work:
    """The bytes of tensors read and written; those that are absent count nothing.

    >>> memory_work([Tensor((4,), "float")], []).read_bytes
    16.0
    """
    return Work(
        read_bytes=sum(tensor.bytes for tensor in read if tensor),
        written_bytes=sum(tensor.bytes for tensor in written if tensor),
    )


def vector_work(
    flop: float, of: Tensor, read: Iterable[Tensor | None], written: Iterable[Tensor | None]
) -> Work:
    """Operations on numbers of the type of a tensor, and the bytes of tensors read and written.

    >>> vector_work(8, Tensor((4,), "float"), [], []).precision
    'fp32'
    """
    return replace(memory_work(read, written), vector_flop=float(flop), precision=of.precision)


def _formula(text: str) -> Formula:
    """The same as `_loaded_formula`, loaded when a call asks it: few of the rows are needed."""

    def formula(call: CallArguments) -> Work | None:
        return _loaded_formula(text)(call)

    return formula


@cache
def _loaded_formula(text: str) -> Formula:
    """The function that a row names by its file, with the options that stand after it.

    Its parameters that are tensors are arguments of the call: without one of them it tells nothing.
    """
    place, *words = text.split()
    file, _, name = place.partition(".")
    function = getattr(import_module(f"timesink.analyses.work.{file}"), name)
    # Annotations are texts: `inspect` is slow to say the same.
    parameters = function.__annotations__
    needed = [
        parameter
        for parameter, kind in parameters.items()
        if kind == Tensor.__name__ and parameter != "return"
    ]
    pairs = (option.split("=") for option in words)
    options = {key: int(x) if x.isdigit() else _OPTIONS.get(x, x) for key, x in pairs}

    def formula(call: CallArguments) -> Work | None:
        tensors = {name: call.tensor(name) for name in needed}
        about = {"call": call} if "call" in parameters else {}
        return None if None in tensors.values() else function(**about, **tensors, **options)

    return formula


_BEFORE_WILDCARD = regex(r"[*?\[]")


class FormulaRegistry(msgspec.Struct, frozen=True, eq=False):
    """Which operators have which formula; one that names an operator goes before patterns."""

    rows: Mapping[str, OperatorFormula]
    patterns: tuple[tuple[str, str], ...]
    """What names begin with that a pattern takes, and the pattern."""

    @classmethod
    def of(cls, rows: Iterable[OperatorFormula]) -> FormulaRegistry:
        by_name = {row.operator: row for row in rows}
        patterns = tuple((_BEFORE_WILDCARD.split(name)[0], name) for name in by_name if "*" in name)
        return cls(by_name, patterns)

    def find(self, operator: str) -> OperatorFormula | None:
        if operator in self.rows:
            return self.rows[operator]
        # A pattern becomes a regular expression, slowly, when something may fit.
        fitting = (
            name
            for start, name in self.patterns
            if operator.startswith(start) and fnmatchcase(operator, name)
        )
        return next((self.rows[name] for name in fitting), None)


REGISTERED: dict[str, OperatorFormula] = {}
"""Those that the running program added: `own_formulas.formula`."""


@cache
def _built_in() -> FormulaRegistry:
    rows = []
    for row in csv_rows(Path(__file__).with_name("operators.csv")):
        places = dict(pair.split("=") for pair in row["arguments"].split())
        rows.append(
            OperatorFormula(
                row["operator"],
                _formula(row["formula"]),
                row["family"],
                row["whole"] == "yes",
                {name: int(place) for name, place in places.items()},
                row["shapes"] != "no",
                row["whole"] == "leaf",
            )
        )
    return FormulaRegistry.of(rows)


@lru_cache(maxsize=8192)
def formula_of(
    operator: str, user_formulas: FormulaRegistry | None = None
) -> OperatorFormula | None:
    """The formula of an operator: of `user_formulas`, the running program, or else built in."""
    registries = (user_formulas, FormulaRegistry.of(REGISTERED.values()), _built_in())
    return next(
        (row for registry in registries if registry and (row := registry.find(operator))), None
    )


def work_of(call: CallArguments, user_formulas: FormulaRegistry | None = None) -> Work | None:
    """What a call computes and moves at least; None where there is no formula, or no shapes.

    >>> from timesink.analyses.work.arguments import parse_inputs
    >>> inputs = parse_inputs("[[64, 32], [32, 16]]", '["float", "float"]')
    >>> work = work_of(CallArguments("aten::mm", inputs))
    >>> work.matrix_flop == 2 * 64 * 32 * 16
    True
    """
    row = formula_of(call.name, user_formulas)
    if row is None:
        return None
    # Sizes below zero or beyond all numbers: what was recorded is not what it says.
    try:
        work = row.formula(structs.replace(call, places=row.places))
        return work if work is not None and _is_sound(work) else None
    except ArithmeticError:
        return None


def _is_sound(work: Work) -> bool:
    figures = (work.matrix_flop, work.vector_flop, work.recomputed_flop)
    moves = (work.read_bytes, work.written_bytes, work.wire_bytes)
    return all(0 <= figure < math.inf for figure in map(float, (*figures, *moves)))
