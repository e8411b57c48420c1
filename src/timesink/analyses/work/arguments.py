"""What one call of an operator was given.

Recordings hold tensors with shapes, types and strides, lists of them, and plain values as JSON
texts, one entry per argument in the order of the operator's schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import structs

from timesink.model.element_types import ELEMENT_TYPES, type_by_number, type_by_spelling
from timesink.patterns import regex

_MAX_ELEMENTS = 2**48
_INTEGER = frozenset({int})
_LISTS = frozenset({"TensorList", "OptionalTensorList"})
_NUMBER = regex(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf)")


class Tensor(msgspec.Struct, frozen=True):
    """Shape, type and strides of one tensor; strides are empty where they were not recorded."""

    shape: tuple[int, ...]
    type: str
    strides: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def element_bytes(self) -> float:
        """Bytes of one element; half a byte where two share one."""
        return ELEMENT_TYPES[self.type].bytes if self.type in ELEMENT_TYPES else 0.0

    @property
    def precision(self) -> str:
        """How it is computed with: `bf16`, `fp32`, `int8`, ...; integers and flags are `int`."""
        return ELEMENT_TYPES[self.type].precision if self.type in ELEMENT_TYPES else ""

    @property
    def bytes(self) -> float:
        """What it occupies: dimensions it was expanded along (stride 0) count once.

        >>> Tensor((8, 1024), "c10::BFloat16").bytes
        16384.0
        >>> Tensor((8, 1024), "float", (0, 1)).bytes
        4096.0
        """
        if len(self.strides) != len(self.shape):
            return self.elements * self.element_bytes
        sizes = (n for n, stride in zip(self.shape, self.strides, strict=True) if stride or not n)
        return math.prod(sizes) * self.element_bytes

    def sized(self, *shape: int) -> Tensor:
        """A tensor of the same type with another shape."""
        return Tensor(shape, self.type)


class KernelLaunch(msgspec.Struct, frozen=True):
    """A kernel that a call launched, itself or through what it called."""

    kernel: str
    """Name as recorded."""
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()


class RunFacts(msgspec.Struct, frozen=True):
    """What a whole recording tells that single calls do not."""

    parameters: tuple[Tensor, ...] = ()
    """Those that gradients were made for in one step; empty where that cannot be told."""
    usual_type: str = ""
    """The floating type of most elements: that of lists, whose members' types are not recorded."""
    types_by_shape: Mapping[tuple[int, ...], str] = msgspec.field(default_factory=dict)
    """The type of all tensors of a shape, where they have one; members of lists are of it, too."""
    lookups: tuple[CallArguments, ...] = ()
    """Lookups in embedding tables: their gradients are recorded without what was looked up."""
    world_size: int | None = None


class CallArguments(msgspec.Struct, frozen=True):
    """What one call was given; formulas ask by the names that their row of the registry gives."""

    name: str
    inputs: tuple[Tensor | tuple[Tensor, ...] | None, ...]
    """By position: a tensor, a list of tensors, or None for a plain value or nothing."""
    values: tuple[str, ...] = ()
    """By position: a plain value as recorded, e.g. `[-1]`, `True`, `0.1`; empty for tensors."""
    places: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Position of each argument by the name that formulas use."""
    extra: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Further arguments that few calls have, as recorded: those of Triton kernels."""
    launches: tuple[KernelLaunch, ...] = ()
    """The kernels it launched, in order; a call is asked once for all like it."""
    facts: RunFacts = RunFacts()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors, those of lists too, in order."""
        flat: list[Tensor] = []
        for entry in self.inputs:
            flat += entry if isinstance(entry, tuple) else [entry] if entry else []
        return tuple(flat)

    def tensor(self, name: str | int) -> Tensor | None:
        """The tensor of a name or at a position; None where there is none."""
        entry = self._at(self.inputs, name)
        return entry if isinstance(entry, Tensor) else None

    def tensor_list(self, name: str | int) -> tuple[Tensor, ...]:
        """The tensors of a list; empty where their shapes were not recorded."""
        entry = self._at(self.inputs, name)
        return entry if isinstance(entry, tuple) else ()

    def integers(self, name: str | int) -> tuple[int, ...]:
        """A list of numbers, or a single one as such a list; empty where none was recorded.

        >>> CallArguments("aten::sum", (None,), ("[0, -1]",)).integers(0)
        (0, -1)
        """
        text = self._at(self.values, name) or ""
        numbers = (float(number) for number in _NUMBER.findall(text))
        return tuple(int(number) for number in numbers if math.isfinite(number))

    def per_dimension(self, name: str | int, dimensions: int) -> tuple[int, ...]:
        """As many numbers as dimensions: one alone holds for all; empty where they do not fit."""
        numbers = self.integers(name)
        if len(numbers) == 1:
            return numbers * dimensions
        return numbers if len(numbers) == dimensions else ()

    def integer(self, name: str | int) -> int | None:
        numbers = self.integers(name)
        return numbers[0] if len(numbers) == 1 else None

    def number(self, name: str | int) -> float | None:
        match = _NUMBER.fullmatch((self._at(self.values, name) or "").rstrip("."))
        return float(match[0]) if match else None

    def flag(self, name: str | int) -> bool | None:
        return {"True": True, "False": False}.get(self._at(self.values, name) or "")

    def flags(self, name: str | int) -> tuple[bool, ...]:
        """A list of flags; empty where none was recorded.

        >>> CallArguments("aten::convolution_backward", (None,), ("[True, False]",)).flags(0)
        (True, False)
        """
        text = self._at(self.values, name) or ""
        return tuple(word == "True" for word in re.findall("True|False", text))

    def type_of(self, name: str | int) -> str | None:
        """The type of elements that a plain value names: recordings hold its number.

        >>> CallArguments("aten::_to_copy", (None,), ("15",)).type_of(0)
        'c10::BFloat16'
        """
        return type_by_number(self._at(self.values, name) or "")

    def _at(self, of: tuple[Any, ...], name: str | int) -> Any:
        place = name if isinstance(name, int) else self.places.get(name, -1)
        return of[place] if 0 <= place < len(of) else None


def parse_inputs(
    dims: str, types: str, strides: str = ""
) -> tuple[Tensor | tuple[Tensor, ...] | None, ...]:
    """The tensors of a call from the texts of a recording; none where these are not what they say.

    >>> parse_inputs('[[2, 3], []]', '["float", "Scalar"]')
    (Tensor(shape=(2, 3), type='float', strides=()), None)
    """
    shapes, kinds, steps = _decode_list(dims), _decode_list(types), _decode_list(strides)
    tensors: list[Tensor | tuple[Tensor, ...] | None] = []
    for place, kind in enumerate(kinds):
        shape = shapes[place] if place < len(shapes) else []
        step = steps[place] if place < len(steps) else []
        tensors.append(_input(shape, kind, step))
    return tuple(tensors)


def type_members(
    inputs: tuple[Tensor | tuple[Tensor, ...] | None, ...], types: Mapping[tuple[int, ...], str]
) -> tuple[Tensor | tuple[Tensor, ...] | None, ...]:
    """The inputs, members of lists with the type that tensors of their shape have."""
    return tuple(
        tuple(
            structs.replace(member, type=member.type or types.get(member.shape, ""))
            for member in entry
        )
        if isinstance(entry, tuple)
        else entry
        for entry in inputs
    )


def _input(shape: Any, kind: Any, steps: Any) -> Tensor | tuple[Tensor, ...] | None:
    nested = isinstance(shape, list) and list in map(type, shape)
    # What is no name of a type may be anything, also a list.
    kind = kind if isinstance(kind, str) else ""
    if nested or kind in _LISTS:
        # Types of the members are not recorded with a list: the formula takes another tensor's.
        many = shape if nested else []
        steps = steps if isinstance(steps, list) and len(steps) == len(many) else [[]] * len(many)
        return tuple(
            Tensor(_integers(member), "" if kind in _LISTS else kind, _integers(step))
            for member, step in zip(many, steps, strict=True)
        )
    if not isinstance(shape, list):
        return None
    if kind not in ELEMENT_TYPES:
        element = type_by_spelling(kind)
        if element is None:
            return None
        kind = element.name
    sizes = _integers(shape)
    # No memory holds more: such numbers are damage.
    return Tensor(sizes, kind, _integers(steps)) if math.prod(sizes) < _MAX_ELEMENTS else None


def _integers(numbers: Any) -> tuple[int, ...]:
    if not isinstance(numbers, list) or not _INTEGER.issuperset(map(type, numbers)):
        return ()
    return tuple(numbers)


@lru_cache(maxsize=4096)
def _decode_list(text: str) -> list[Any]:
    try:
        values = msgspec.json.decode(text) if text else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return values if isinstance(values, list) else []


def parse_values(text: str) -> tuple[str, ...]:
    """Plain values of a call from the text of a recording."""
    return tuple(value if isinstance(value, str) else str(value) for value in _decode_list(text))
