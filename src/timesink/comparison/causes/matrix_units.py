"""Products of matrices that lost the matrix units of the device (tensor cores), or gained them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.names import (
    keeps_fp32,
    multiplies_matrices,
    rounds_to_tf32,
    uses_tensor_cores,
)
from timesink.comparison.causes.case import Demand, DiagnosisCase, Ledger, by_change, largest_first
from timesink.comparison.causes.conditions import text_is
from timesink.model.diagnosis import ProgramChange
from timesink.model.findings import Cause
from timesink.rules.register import make_cause

_CAUSE = "precision_change"
_MAX_SHOWN = 3


def settled_matrix_units(
    case: DiagnosisCase, program: ProgramChange | None, ledger: Ledger
) -> Iterator[Cause]:
    """That most of the products left the matrix units, or came to them, where no edit says so.

    Whichever other change of the program brought it about, as a compiler that is given other
    settings: it is launches that tell, which are counted, so there is no interval.
    """
    # Without a program the rule about other kernels tells as much.
    if program is None or any(edit.cause == _CAUSE for edit in program.edits):
        return
    functions = case.functions
    names = functions.table["function"].to_list()
    # A fused kernel for attention is a choice of its own.
    products = functions.where(text_is("part", "device_compute"), ~text_is("family", "attention"))
    products &= np.array([multiplies_matrices(name) for name in names], dtype=bool)
    uses = np.array([bool(uses_tensor_cores(name)) and not keeps_fp32(name) for name in names])
    without = np.array([uses_tensor_cores(name) is False or keeps_fp32(name) for name in names])
    matrix, plain = products & uses, products & without
    base, new = ((float(side[matrix].sum()), float(side[plain].sum())) for side in functions.times)
    # Most products are of the other kind, and most of those of the first kind are gone: others
    # beside them would be more work, and not the same in another precision.
    is_lost = base[0] > base[1] and new[0] < min(new[1], base[0] / 2)
    is_gained = base[0] < base[1] and new[1] < min(new[0], base[1] / 2)
    if not (is_lost or is_gained):
        return
    first, second = (matrix, plain) if is_lost else (plain, matrix)
    lead = "Matrix products no longer run on matrix units (tensor cores)"
    if is_gained:
        lead = "Matrix products now run on matrix units (tensor cores)"
    ranked_columns = [by_change(functions, which) for which in (first, second)]
    ordinary = by_change(functions, plain)
    more = f" and {len(ordinary) - 1} more" if len(ordinary) > 1 else ""
    without_them = f"kernels without them ({case.names(ordinary[:1])[0]}{more})"
    took = [
        f"{'kernels on them' if which is matrix else without_them} take {case.took(which)}"
        for which in (first, second)
    ]
    changes = functions.times[1] - functions.times[0]
    taken: dict[str, float] = {}
    for family in functions.table["family"].filter(pl.Series(matrix | plain)).unique().sort():
        which = (matrix | plain) & functions.where(text_is("family", family))
        demand = Demand(float(changes[which].sum()), (f"device_compute/{family}",), structural=True)
        for name, ns in ledger.take(demand).items():
            taken[name] = taken.get(name, 0.0) + ns
    if abs(sum(taken.values())) < case.least_ns:
        return
    is_tf32 = is_lost and all(
        rounds_to_tf32(names[column]) for column in ranked_columns[0][:_MAX_SHOWN]
    )
    cause = make_cause(
        _CAUSE,
        f"{lead}: {took[0]} per step, {took[1]}.",
        advice="tf32" if is_tf32 else "advice",
        evidence=case.evidence(
            [*ranked_columns[1][:_MAX_SHOWN], *ranked_columns[0][:_MAX_SHOWN]],
            functions.new[:, products].sum(axis=1),
        ),
    )
    yield replace(cause, cost_ns=sum(taken.values()), claims=largest_first(taken))
