"""Formulas that users add: functions of their program, or expressions in a file."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import (
    AMOUNTS,
    REGISTERED,
    Formula,
    FormulaRegistry,
    OperatorFormula,
    Work,
    formula_of,
)
from timesink.errors import UsageError
from timesink.formats.small_files import DamagedError, decode_small_toml, option_text
from timesink.model.element_types import ELEMENT_TYPES

_OPTION = "--formulas"
_HINT = "see docs/efficiency_formulas.md"
_FAMILY = "own"
_LONGEST = 400
"""Of an expression, in characters: what is longer could nest deeper than Python reads."""
_SUMS = {"matrix_flop": "", "vector_flop": "", "read_bytes": "read", "written_bytes": "write_like"}
"""Keys with an expression, and the list of tensors that may stand instead."""
_KEYS = {"tensors", "numbers", *_SUMS, *filter(None, _SUMS.values()), "precision"}
_KEYS |= {"family", "whole"}

PRECISIONS = {element_type.precision for element_type in ELEMENT_TYPES.values()} | {"tf32"}
_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


# -- functions -------------------------------------------------------------------------------------


def formula(
    name: str, *, family: str = _FAMILY, whole: bool = False
) -> Callable[[Formula], Formula]:
    """Tells what an operator computes and moves, by a function of what it was given.

    `name` is the operator's as recorded, or a pattern with `*`.  It goes before the formula that
    timesink has.  With `whole` it stands for all that the operator calls.

    >>> import timesink
    >>> @timesink.formula("mylib::scale")
    ... def scale(call):
    ...     x = call.tensor(0)
    ...     return None if x is None else timesink.Work(
    ...         vector_flop=x.elements, read_bytes=x.bytes, written_bytes=x.bytes)
    """
    if not str(name).strip():
        raise UsageError(f"{name!r} is no name of an operator", "write e.g. mylib::fused_op")

    def register(function: Formula) -> Formula:
        @wraps(function)
        def checked(call: CallArguments) -> Work | None:
            try:
                result = function(call)
            except Exception as error:
                message = f"{type(error).__name__}: {error}".rstrip(": ")
                raise UsageError(
                    f"formula of {name}: {message}", "return None for such calls"
                ) from error
            amounts = [] if result is None else [getattr(result, amount, "") for amount in AMOUNTS]
            if not all(isinstance(amount, int | float) for amount in amounts):
                raise UsageError(
                    f"formula of {name}: gives {type(result).__name__}, no timesink.Work",
                    "return a timesink.Work, or None where the arguments do not tell",
                )
            return result

        REGISTERED[name] = OperatorFormula(name, checked, family, whole, {})
        formula_of.cache_clear()
        return function

    return register


# -- a file ----------------------------------------------------------------------------------------


def formula_text(path: str | Path) -> str:
    """What a file of formulas says, as somebody wrote it."""
    return option_text(Path(path), _OPTION, _HINT)


def load_formulas(path: Path | str) -> FormulaRegistry:
    """The formulas of a file, refused at once where it is not one; `formula_of` takes them."""
    text = formula_text(path)
    try:
        tables = decode_small_toml(text, path)
    except DamagedError as error:
        raise UsageError(f"{_OPTION}: {path} is no TOML ({error.reason})", _HINT) from None
    operators = tables.pop("operators", None)
    if tables or not isinstance(operators, dict) or not operators:
        other = f"[{next(iter(tables))}]" if tables else "nothing"
        raise UsageError(
            f'{_OPTION}: {path} holds {other} where [operators."NAME"] is expected', _HINT
        )
    return FormulaRegistry.of(
        _operator(_Entry(path, name), definition) for name, definition in operators.items()
    )


class _Entry(msgspec.Struct, frozen=True):
    """One operator of a file, for what is wrong with it."""

    path: Path | str
    name: str

    def refuse(self, what: str) -> NoReturn:
        raise UsageError(f"{_OPTION}: {self.path}: {self.name}: {what}", _HINT)


class _NamedArguments(msgspec.Struct, frozen=True):
    """The tensors and numbers that expressions of one operator may name, by position."""

    tensors: Mapping[str, int]
    numbers: Mapping[str, int] = msgspec.field(default_factory=dict)


def _operator(entry: _Entry, definition: Any) -> OperatorFormula:
    if not isinstance(definition, dict):
        entry.refuse("is no table")
    if unknown := sorted(definition.keys() - _KEYS):
        entry.refuse(f"{unknown[0]!r} is none of {', '.join(sorted(_KEYS))}")
    for key, kind in (("family", str), ("precision", str), ("whole", bool)):
        if not isinstance(definition.get(key, kind()), kind):
            entry.refuse(f"{key!r} must be {'a text' if kind is str else 'true or false'}")
    sizes = _sizes(entry, definition)
    if not definition.keys() & (_SUMS.keys() | set(_SUMS.values())):
        entry.refuse("has neither operations nor bytes")
    parts = {key: _part(entry, definition, key, sizes) for key in _SUMS}
    if definition.get("precision", "fp32") not in PRECISIONS:
        entry.refuse(f"precision is one of {', '.join(sorted(PRECISIONS))}")
    first, precision = next(iter(sizes.tensors.values())), definition.get("precision", "")

    def evaluated(call: CallArguments) -> Work | None:
        matrix, vector, read, written = (_amount(parts[key], call) for key in _SUMS)
        x = call.tensor(first)
        if x is None or matrix is None or vector is None or read is None or written is None:
            return None
        return Work(matrix, vector, precision or x.precision, read, written)

    family, whole = definition.get("family", _FAMILY), definition.get("whole", False)
    return OperatorFormula(entry.name, evaluated, family, whole, {})


def _sizes(entry: _Entry, definition: Mapping[str, Any]) -> _NamedArguments:
    arguments_by_name = _NamedArguments(
        _places(entry, definition, "tensors"), _places(entry, definition, "numbers")
    )
    if not arguments_by_name.tensors:
        entry.refuse("needs  tensors = { x = 0 }: names of tensors by position")
    if shared := arguments_by_name.tensors.keys() & arguments_by_name.numbers.keys():
        entry.refuse(f"{min(shared)!r} is both a tensor and a number")
    return arguments_by_name


def _places(entry: _Entry, definition: Mapping[str, Any], key: str) -> dict[str, int]:
    places = definition.get(key, {})
    if not isinstance(places, dict):
        entry.refuse(f"{key!r} must be names and positions, as in  {{ x = 0 }}")
    for name, place in places.items():
        if not name.isidentifier() or name in _FUNCTIONS or name in _OF_TENSORS:
            entry.refuse(f"{name!r} cannot name an argument")
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            entry.refuse(f"{key}: {name} must be a position: 0, 1, ...")
    return places


_Part = Callable[[CallArguments], Any]
"""A number, or, of a root of something negative, what is none."""


def _part(entry: _Entry, definition: Mapping[str, Any], key: str, sizes: _NamedArguments) -> _Part:
    """An expression, or a list of tensors in its place; nothing is zero."""
    listed = _SUMS[key]
    if key in definition and listed in definition:
        entry.refuse(f"has both {key!r} and {listed!r}")
    if listed in definition:
        names = definition[listed]
        if not isinstance(names, list) or not all(
            name in sizes.tensors for name in map(str, names)
        ):
            entry.refuse(f"{listed!r} must be a list of names that 'tensors' has")
        places = [sizes.tensors[name] for name in names]
        return lambda call: sum(_tensor(call, place).bytes for place in places)
    text = definition.get(key, 0)
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        entry.refuse(f"{key!r} must be an expression")
    text = str(text)
    try:
        if len(text) > _LONGEST:
            entry.refuse(f"{key!r} is longer than {_LONGEST} characters")
        tree = ast.parse(text.strip(), mode="eval").body
        return _compile(tree, sizes)
    except _ExpressionError as error:
        entry.refuse(f"{key}: {error}")
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        entry.refuse(f"{key}: {text[:60]!r} is no expression")


def _amount(part: _Part, call: CallArguments) -> float | None:
    """What an expression gives for a call; None where that is no amount, or cannot be told."""
    try:
        value = part(call)
    except (_UntoldError, ArithmeticError, RecursionError):
        return None
    good = isinstance(value, float | int) and math.isfinite(value) and value >= 0
    return float(value) if good else None


# -- expressions -----------------------------------------------------------------------------------


class _ExpressionError(ValueError):
    """What an expression may not hold."""


class _UntoldError(LookupError):
    """The call does not have what an expression names."""


def _tensor(call: CallArguments, place: int) -> Tensor:
    tensor = call.tensor(place)
    if tensor is None or not tensor.element_bytes:
        raise _UntoldError
    return tensor


_FUNCTIONS: Mapping[str, Callable[..., float]] = {"min": min, "max": max}
_OF_TENSORS: Mapping[str, Callable[[Tensor], float]] = {
    "size": lambda tensor: tensor.element_bytes,
    "numel": lambda tensor: float(tensor.elements),
}


def _compile(node: ast.expr, sizes: _NamedArguments) -> _Part:
    """The function of an expression: numbers, sizes and arithmetic; anything else is refused."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        # Powers of whole numbers may take for ever; those of floats overflow.
        number = float(node.value)
        return lambda _: number
    if isinstance(node, ast.Name) and node.id in sizes.numbers:
        place = sizes.numbers[node.id]
        return lambda call: _number(call, place)
    if isinstance(node, ast.Subscript):
        return _dimension(node, sizes)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _compile(node.operand, sizes)
        return lambda call: -inner(call)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _compile(node.left, sizes), _compile(node.right, sizes)
        apply = _BINARY[type(node.op)]
        return lambda call: apply(left(call), right(call))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _function(node.func.id, node.args, sizes)
    raise _ExpressionError(f"{_source_of(node)!r} is not allowed; {_allowed_names(sizes)}")


def _function(name: str, arguments: list[ast.expr], sizes: _NamedArguments) -> _Part:
    if name in _OF_TENSORS and len(arguments) == 1:
        place, of_tensor = _named_index(arguments[0], sizes), _OF_TENSORS[name]
        return lambda call: of_tensor(_tensor(call, place))
    if name in _FUNCTIONS and len(arguments) > 1:
        parts, function = [_compile(argument, sizes) for argument in arguments], _FUNCTIONS[name]
        return lambda call: function(*(part(call) for part in parts))
    raise _ExpressionError(
        f"{name}() with {len(arguments)} is not allowed; {_allowed_names(sizes)}"
    )


def _dimension(node: ast.Subscript, sizes: _NamedArguments) -> _Part:
    place = _named_index(node.value, sizes)
    index, sign = node.slice, 1
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        index, sign = index.operand, -1
    if not isinstance(index, ast.Constant) or type(index.value) is not int:
        raise _ExpressionError(f"{_source_of(node)!r}: a dimension is a number, as in  x[0]")
    at = sign * index.value

    def size(call: CallArguments) -> float:
        shape = _tensor(call, place).shape
        if not -len(shape) <= at < len(shape):
            raise _UntoldError
        return float(shape[at])

    return size


def _named_index(node: ast.expr, sizes: _NamedArguments) -> int:
    if isinstance(node, ast.Name) and node.id in sizes.tensors:
        return sizes.tensors[node.id]
    raise _ExpressionError(f"{_source_of(node)!r} is no tensor; {_allowed_names(sizes)}")


def _number(call: CallArguments, place: int) -> float:
    number = call.number(place)
    if number is None:
        raise _UntoldError
    return number


def _source_of(node: ast.expr) -> str:
    return ast.unparse(node)[:60]


def _allowed_names(sizes: _NamedArguments) -> str:
    tensors = ", ".join(sizes.tensors)
    return f"there are numbers, + - * / // % **, min, max, size(), numel() and sizes of {tensors}"
