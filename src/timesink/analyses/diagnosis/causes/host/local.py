"""What functions of the host gained and lost that shows in the parts of the cycle."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.behaviour.classes import NO_CALL
from timesink.analyses.diagnosis.causes.calls.added_calls import added_calls
from timesink.analyses.diagnosis.causes.calls.functions import (
    computes_on_host,
    is_program,
    on_host,
)
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import HOST_PARTS
from timesink.analyses.diagnosis.causes.host.places import places_of
from timesink.analyses.statistics.moments import Floats


def local_changes(case: Case) -> tuple[float, float]:
    """What all functions, and the places inside of them, lost and what they gained, in ns.

    Functions run beside the device, or inside of a data loader, and what they gain there costs
    nothing.  What shows of all gains is no more than what the host's parts of the cycle gained,
    and what shows of the losses that these make up for.
    """
    functions = case.functions
    own = functions.where(is_program(), pl.col("part") != "data_loading")
    own |= functions.where(on_host(), pl.col("function") == NO_CALL)
    base, new = (float(side[own].sum()) for side in functions.times)
    changes = _changes(case, own)
    lost, gained = float(-np.minimum(changes, 0).sum()), float(np.maximum(changes, 0).sum())
    parts = [part for part in case.attribution if part.part in HOST_PARTS]
    before, after = sum(part.base_ns for part in parts), sum(part.new_ns for part in parts)
    shown = after - before
    most = shown + lost * _share(before, base), gained * _share(after, new) - shown
    return -max(0.0, min(lost, most[1])), max(0.0, min(gained, most[0]))


def _changes(case: Case, own: np.ndarray) -> Floats:
    """What each function gained outside of the places in it, and what each of these gained.

    Where operators are the work, what more of them take counts for itself: calls that all became
    faster do not hide that.
    """
    functions, places = case.functions, places_of(case)
    column = {functions.table["function"][int(each)]: int(each) for each in np.flatnonzero(own)}
    rest = functions.times[1] - functions.times[0]
    inside = []
    for place, gained in zip(places.which, places.gained, strict=True):
        if place.occurrence is not None and place.inside in column:
            rest[column[place.inside]] -= gained
            inside.append(gained)
    added = added_calls(functions, own) if computes_on_host(functions) else np.zeros(own.sum())
    return np.concatenate([rest[own] - added, added, inside])


def _share(parts_ns: float, functions_ns: float) -> float:
    """Part of the time of functions that shows in the cycle."""
    return min(1.0, parts_ns / functions_ns) if functions_ns > 0 else 1.0
