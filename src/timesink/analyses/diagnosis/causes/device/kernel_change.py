"""More, fewer or other kernels per cycle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from timesink.analyses.diagnosis.causes.calls.companions import more_of_all
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change
from timesink.analyses.diagnosis.causes.device.changed_families import Family, changed_families
from timesink.analyses.diagnosis.causes.device.kernel_change_words import (
    advice,
    evidence,
    sentence,
)
from timesink.analyses.diagnosis.causes.device.launching import Launching, launching
from timesink.analyses.diagnosis.causes.device.work import is_other_work, work_of

_WORTH_ITSELF = 0.25
"""Part of what the host lost that kernels must have gained, to be spoken of without it."""


def kernel_change(case: Case) -> Iterator[Claim]:
    """Families whose kernels run more or less often, or were replaced, and take other time.

    What all kernels gained or lost alike is no part of it, and nor is a choice of other tiles that
    takes the same time.
    """
    if is_other_work(case, work_of(case)) or more_of_all(case.functions) is not None:
        return  # other sizes choose other kernels
    families = list(changed_families(case))
    if not families:
        return
    host = _launching_of(case, families)
    around = host.sides
    base = np.sum([each.base for each in families], axis=0) + around[0]
    new = np.sum([each.new for each in families], axis=0) + around[1]
    _, interval = change(base, new)
    yield Claim(
        "kernel_change",
        (*_demands(families), *host.demands()),
        interval,
        sentence(case, families, host),
        advice(case),
        tuple(evidence(case, families, new)),
        functions=host.functions,
    )


def _launching_of(case: Case, families: list[Family]) -> Launching:
    """What the host does more or less with these kernels.

    Slower kernels that are fewer, or faster ones that are more, are two changes: in one sum the
    one would hide the other.
    """
    host = launching(case, [each.which for each in families])
    rise_ns = sum(each.rise_ns for each in families)
    host_ns = change(*host.sides)[0]
    is_apart = rise_ns * host_ns < 0 and abs(rise_ns) >= _WORTH_ITSELF * abs(host_ns)
    return host.left_out() if is_apart else host


def _demands(families: list[Family]) -> Iterator[Demand]:
    for each in families:
        yield Demand(each.rise_ns, (f"device_compute/{each.name}",), structural=True)
