"""The pace of the host, and the functions and places that do not keep it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.behaviour.classes import NO_CALL
from timesink.analyses.diagnosis.causes.calls.functions import is_program
from timesink.analyses.diagnosis.causes.calls.typical import Excess, excess
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Interval, change
from timesink.analyses.diagnosis.causes.host.places import Places, places_of
from timesink.analyses.statistics.moments import Integers

FEW = 3
"""Places or functions that are told one by one."""
LOOK = "Look at this stretch of the trace; record Python stacks (with_stack=True) to name the line."


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """Functions of the host and places in the cycle, in one array, and what stands out of them."""

    case: Case
    places: Places
    excess: Excess
    candidates: np.ndarray
    """Which functions may be to blame."""

    @property
    def functions(self) -> int:
        """How many of the columns are functions; places come after them."""
        return self.case.functions.table.height

    def rise(self, column: int) -> float:
        """What a column gained beyond the pace of the others, on average."""
        return float(self.excess.new[:, column].mean() - self.excess.base[:, column].mean())


def host_of(case: Case) -> Host:
    """The host of a case, without functions whose time is explained already."""
    functions = case.functions
    works = functions.where(
        is_program(),
        # Copies that wait for the device are no work of the host.
        pl.col("function_class") != "cpu_copy",
        pl.col("part") != "data_loading",
        ~pl.col("function").is_in([*case.taken, *case.blurred]),
    )
    places = places_of(case)
    comparable = np.append(works & functions.called_equally, np.zeros(len(places.which), bool))
    found = excess(
        np.hstack([functions.base, places.base]),
        np.hstack([functions.new, places.new]),
        comparable,
        _owners(case, places),
    )
    return Host(case, places, found, works)


def _owners(case: Case, places: Places) -> Integers:
    """A number per function and place: that of the function whose own time it is."""
    marks = marks_of(case)
    names = [*case.functions.table["function"], *(place.inside for place in places.which)]
    owners = ["" if name is None or name in marks else name for name in names]
    return np.unique(np.array(owners, dtype=str), return_inverse=True)[1].ravel()


def marks_of(case: Case) -> frozenset[str]:
    """Functions that stand for the time of a cycle in no other call."""
    anchors = {case.base.role.anchor, case.new.role.anchor}
    return frozenset({NO_CALL, *filter(None, anchors)})


def stands(host: Host, column: int) -> bool:
    """Whether a column stands out, and by enough to be a cause."""
    return bool(host.excess.stands_out[column]) and host.rise(column) >= host.case.least_ns


def change_of(host: Host, columns: list[int]) -> tuple[float, Interval | None]:
    """What columns gained together beyond the pace of the others, with its interval."""
    return change(*(side[:, columns].sum(axis=1) for side in (host.excess.base, host.excess.new)))


def pace_told(host: Host, column: int) -> str:
    """What became of the rest of the host, in words."""
    factor = float(host.excess.slowdown[column])
    if host.case.backwards:
        return "the rest of the host did not change by as much"
    return f"the rest of the host takes {factor:.2f} times as long as before"
