"""Which functions of a case fulfil what: conditions on the texts that a table has for each.

A text that is not there is neither one nor another: a condition on it is not fulfilled, and nor is
its opposite.  Tables have a row per function, so plain lists are far faster than queries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from timesink.analyses.behaviour.classes import SIDE_WAIT
from timesink.analyses.behaviour.functions import WAITING
from timesink.model.intervals import Flags
from timesink.model.schema import HOST_DEVICE

Texts: TypeAlias = Mapping[str, Sequence[str | None]]
"""By column: a text for each function."""

_SYSTEM = ("oncpu", "runq", "cpu_os_syscall_mem", "disk_read_and_write")
"""What the system does with a process: slices of a processor, faults, reads."""


class Condition(msgspec.Struct, frozen=True):
    """Where something holds, and where it does not; neither where that is not known.

    >>> is_gemm = text_is("family", "gemm")
    >>> [side.tolist() for side in (~is_gemm).test({"family": ["gemm", "copy", None]})]
    [[False, True, False], [True, False, False]]
    """

    test: Callable[[Texts], tuple[Flags, Flags]]

    def __invert__(self) -> Condition:
        return Condition(lambda texts: self.test(texts)[::-1])

    def __and__(self, other: Condition) -> Condition:
        def both(texts: Texts) -> tuple[Flags, Flags]:
            (holds, fails), (also_holds, also_fails) = self.test(texts), other.test(texts)
            return holds & also_holds, fails | also_fails

        return Condition(both)

    def __or__(self, other: Condition) -> Condition:
        return ~(~self & ~other)


def text_is(column: str, *wanted: str) -> Condition:
    """Whether the text of a function is one of those wanted."""
    return text_passes(column, frozenset(wanted).__contains__)


def text_passes(column: str, passes: Callable[[str], bool]) -> Condition:
    """Whether the text of a function passes a test."""

    def test(texts: Texts) -> tuple[Flags, Flags]:
        of_column = texts[column]
        known = np.array([text is not None for text in of_column], dtype=np.bool_)
        holds = np.array([text is not None and passes(text) for text in of_column], dtype=np.bool_)
        return holds, known & ~holds

    return Condition(test)


def is_named(names: Collection[str]) -> Condition:
    """Whether a function has one of these names."""
    return text_passes("function", frozenset(names).__contains__)


def on_host() -> Condition:
    """Whether a function is one of the host."""
    return text_is("device", HOST_DEVICE)


def waits() -> Condition:
    """Whether a function of the host only waits: for the device, or for another thread."""
    return text_is("function_class", "cpu_sync", SIDE_WAIT, "runq") | is_named([WAITING])


def is_program() -> Condition:
    """Whether a function is a call of the program that does not wait, and not of the system."""
    return on_host() & ~waits() & ~text_is("function_class", *_SYSTEM)
