"""The constants of a diagnosis, and how to try others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from statistics import geometric_mean

from msgspec.structs import replace

from timesink.rules import counter_names as resources

_PACKAGE = "timesink."
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
"""What constants are multiplied by, one at a time; 1 is what is shipped."""


@dataclass(frozen=True)
class Constant:
    """A number the method was given, and what it is called when it is multiplied."""

    title: str
    module: str
    name: str
    offset: float = 0.0
    """What the factor leaves as it is: of 1.05, "5 % longer", the 1."""

    def scaled(self, factor: float) -> float:
        """The constant with its factor."""
        shipped = getattr(import_module(_PACKAGE + self.module), self.name)
        return float(self.offset + (shipped - self.offset) * factor)

    @contextmanager
    def multiplied(self, factor: float) -> Iterator[None]:
        """The method with the constant multiplied, in every module that took it over."""
        shipped = getattr(import_module(_PACKAGE + self.module), self.name)
        value = self.scaled(factor)
        places = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith(_PACKAGE) and getattr(module, self.name, None) is shipped
        ]
        for module in places:
            setattr(module, self.name, value)
        try:
            yield
        finally:
            for module in places:
                setattr(module, self.name, shipped)


@contextmanager
def _severity_floors(factor: float) -> Iterator[None]:
    """The method with every floor of its table of resources multiplied."""
    shipped = resources.load_resources
    lines = tuple(replace(line, floor=line.floor * factor) for line in shipped())
    _use(lambda: lines)
    try:
        yield
    finally:
        _use(shipped)


def _use(load: Callable[[], tuple[resources.Resource, ...]]) -> None:
    setattr(resources, "load_resources", load)  # noqa: B010
    resources._line_for.cache_clear()  # noqa: SLF001


_SEVERITY = "least severity of an anomaly"
CONSTANTS = (
    Constant("usual difference of counters", "comparison.causes.resources", "_FLOOR"),
    Constant("own kernels slowed by others", "comparison.causes.environment", "_SLOWER", 1),
    Constant("growth a lower clock must show", "comparison.causes.environment", "_PART"),
    Constant("chance of error", "analyses.statistics.significance", "ALPHA"),
    Constant("least part of a cycle, causes", "comparison.causes.case", "MIN_SHARE"),
    Constant("slower than the rest, host code", "comparison.causes.case", "CLEARLY"),
    Constant("cycles that may lack it", "comparison.causes.case", "_NEARLY_ALWAYS", 1),
)
TITLES = (_SEVERITY, *(constant.title for constant in CONSTANTS))

Factors = Mapping[str, float]
"""Factors of constants by title; those that are not named stay as shipped."""


@contextmanager
def scale_constants(factors: Factors) -> Iterator[None]:
    """The method with other constants."""
    with ExitStack() as stack:
        if factors.get(_SEVERITY, 1.0) != 1:
            stack.enter_context(_severity_floors(factors[_SEVERITY]))
        for constant in CONSTANTS:
            if factors.get(constant.title, 1.0) != 1:
                stack.enter_context(constant.multiplied(factors[constant.title]))
        yield


def middle(plateau: list[float]) -> float:
    """The middle of factors that do equally well.

    >>> middle([0.5, 1.0, 2.0])
    1.0
    """
    return round(geometric_mean([min(plateau), max(plateau)]), 2)
