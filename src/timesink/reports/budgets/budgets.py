"""Budgets as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.model.amounts import signed_ns
from timesink.model.units import brief_ns

KINDS = ("cycle", "operators", "modules", "kernels")
"""Tables of a file of budgets."""
TIMES = ("device", "host")
"""What an operator or a module is measured by."""


@dataclass(frozen=True, slots=True)
class Increase:
    """How much longer something may take: a part of what it took, or a time."""

    pct: float | None = None
    ns: float | None = None

    @property
    def said(self) -> str:
        """As people read it.

        >>> Increase(pct=10.0).said, Increase(ns=200_000.0).said
        ('+10 %', '+200.0 us')
        """
        return f"+{self.pct:g} %" if self.pct is not None else signed_ns(self.ns or 0) or "+0 ns"

    def is_below(self, delta_ns: float, base_ns: float) -> bool:
        """Whether a change is more than this.

        >>> Increase(pct=10.0).is_below(12, 100), Increase(ns=20.0).is_below(12, 100)
        (True, False)
        """
        if self.pct is not None:
            return 100 * delta_ns > self.pct * base_ns
        return delta_ns > (self.ns or 0)


@dataclass(frozen=True, slots=True)
class Budget:
    """One entry of a file of budgets."""

    kind: str
    """One of `KINDS`."""
    name: str
    """A name, a pattern with * and ?, or a family of kernels; `cycle` for the cycle itself."""
    max_ns: float | None = None
    """Mean time per cycle."""
    max_increase: Increase | None = None
    of: str | None = None
    """One of `TIMES`; None for that of the device, where anything ran on one."""
    ignore_below_ns: float = 0.0
    """Increases by less than this are none."""
    optional: bool = False
    """Whether it may match nothing."""

    @property
    def max_said(self) -> str:
        return "" if self.max_ns is None else brief_ns(self.max_ns)


@dataclass(frozen=True, slots=True)
class Budgets:
    """What a file of budgets asks for, in its order."""

    path: str
    entries: tuple[Budget, ...]
