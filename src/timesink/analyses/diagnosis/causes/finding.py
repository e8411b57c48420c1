"""Which rules are asked for causes, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.causes.case import Case, case_of
from timesink.analyses.diagnosis.causes.claims.claim import Claim, mirrored
from timesink.analyses.diagnosis.causes.claims.ledger import Ledger, settle
from timesink.analyses.diagnosis.causes.device.kernel_change import kernel_change
from timesink.analyses.diagnosis.causes.device.longer_kernels import longer_kernels
from timesink.analyses.diagnosis.causes.device.workload_change import workload_change
from timesink.analyses.diagnosis.causes.host.data_loading import data_loading
from timesink.analyses.diagnosis.causes.host.host_calls import host_calls
from timesink.analyses.diagnosis.causes.host.host_code import host_code
from timesink.analyses.diagnosis.causes.host.local import local_changes
from timesink.analyses.diagnosis.causes.host.more_operators import more_operators
from timesink.analyses.diagnosis.causes.host.synchronisation import synchronisation
from timesink.analyses.diagnosis.causes.surroundings.environment import (
    device_environment,
    host_environment,
)
from timesink.analyses.diagnosis.diagnosis import Anomaly, Cause, Component

Rule = Callable[[Case], Iterable[Claim]]


def _with_what_is_gone(rule: Rule) -> Rule:
    """A rule about what is more on the new side, asked as well about what is less."""

    def both(case: Case) -> Iterator[Claim]:
        yield from rule(case)
        yield from (mirrored(claim) for claim in rule(case.swapped()))

    return both


RULES: tuple[Rule, ...] = (
    _with_what_is_gone(synchronisation),
    workload_change,
    more_operators,
    kernel_change,
    _with_what_is_gone(device_environment),
    _with_what_is_gone(longer_kernels),
    host_calls,
    _with_what_is_gone(host_code),
    _with_what_is_gone(data_loading),
    _with_what_is_gone(host_environment),
)
"""Changes of the trace come first, as they are certain; then what acts on the device, on the calls
of the host, and on the host as a whole.  What one has explained is not there for the next."""

OTHER_WORK: tuple[Rule, ...] = (workload_change, more_operators)
"""What may explain a change between cycles that do not hold the same work."""


def find_causes(
    pair: Pair,
    base: Anatomy,
    new: Anatomy,
    attribution: tuple[Component, ...],
    anomalies: tuple[Anomaly, ...],
    *,
    relieved: tuple[Anomaly, ...] = (),
    rules: tuple[Rule, ...] = RULES,
) -> tuple[Cause, ...]:
    """What explains the change of the mean cycle, most time first.

    `relieved` are anomalies of the first side, found with the sides changed over.
    """
    case = case_of(pair, (base, new), attribution, anomalies, relieved)
    ledger = Ledger(attribution, local_changes(case))
    causes: list[Cause] = []
    for rule in rules:
        for claim in rule(case):
            cause = settle(claim, ledger, case.least_ns)
            if cause is not None:
                causes.append(cause)
                # Rules ask before their next claim what the last ones came to.
                case.settled.append(claim)
    return tuple(sorted(causes, key=lambda each: -abs(each.explained_ns)))
