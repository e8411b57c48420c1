"""The constants of a diagnosis, and how to try others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import geometric_mean

from msgspec.structs import replace

from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.thresholds import CaseLimits, MachineLimits, ResourcesLimits
from timesink.rules import counter_names as resources

FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)
"""What constants are multiplied by, one at a time; 1 is what is shipped."""


@dataclass(frozen=True)
class Constant:
    """A number the method was given, and what it is called when it is multiplied."""

    title: str
    limits: type
    name: str
    offset: float = 0.0
    """What the factor leaves as it is: of 1.05, "5 % longer", the 1."""

    def scaled(self, factor: float) -> float:
        """The constant with its factor."""
        return float(self.offset + (getattr(self.limits, self.name) - self.offset) * factor)

    @contextmanager
    def multiplied(self, factor: float) -> Iterator[None]:
        """The method with the constant multiplied."""
        shipped = getattr(self.limits, self.name)
        setattr(self.limits, self.name, self.scaled(factor))
        try:
            yield
        finally:
            setattr(self.limits, self.name, shipped)


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
    Constant("usual difference of counters", ResourcesLimits, "floor"),
    Constant("own kernels slowed by others", MachineLimits, "slower", 1),
    Constant("growth a lower clock must show", MachineLimits, "part"),
    Constant("chance of error", SignificanceLimits, "alpha"),
    Constant("least part of a cycle, causes", CaseLimits, "min_share"),
    Constant("slower than the rest, host code", CaseLimits, "clearly"),
    Constant("cycles that may lack it", CaseLimits, "nearly_always", 1),
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
