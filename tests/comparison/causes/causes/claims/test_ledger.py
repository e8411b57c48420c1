"""Nothing is explained twice, and no more than there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.causes.case import Claim, Demand, Ledger, opposite_claim
from timesink.model.diagnosis import Component
from timesink.model.findings import Cause, Evidence


def component(name: str, delta: float, same: float | None = None) -> Component:
    part, _, family = name.partition("/")
    return Component(part, family or None, 100.0, 100.0 + delta, None, None, same)


def claim(*demands: Demand, interval: tuple[float, float] | None = (1.0, 99.0)) -> Claim:
    return Claim(Cause("host_code", "It is slow.", "Look.", interval_ns=interval), demands)


def settle(new_claim: Claim, ledger: Ledger, least_ns: float) -> Cause | None:
    return ledger.settle(new_claim, least_ns)


def test_demands_take_what_is_left_in_their_order() -> None:
    ledger = Ledger([component("idle", 5.0), component("host_cpu", 10.0)])
    assert ledger.take(Demand(8.0, ("idle", "host_cpu"))) == {"idle": 5.0, "host_cpu": 3.0}
    assert ledger.take(Demand(8.0, ("idle", "host_cpu"))) == {"host_cpu": 7.0}
    assert ledger.left == {"idle": 0.0, "host_cpu": 0.0}


def test_a_part_alone_is_all_of_its_families() -> None:
    ledger = Ledger([component("device_compute/gemm", 5.0), component("device_compute/copy", 2.0)])
    assert sum(ledger.take(Demand(9.0, ("device_compute",))).values()) == 7.0


def test_new_kernels_count_in_full_where_others_of_the_family_got_faster() -> None:
    ledger = Ledger([component("device_compute/gemm", 2.0, same=-6.0)])
    demand = Demand(8.0, ("device_compute/gemm",), structural=True)
    assert ledger.take(demand) == {"device_compute/gemm": 8.0}


def test_what_shrank_is_taken_by_what_is_gone_alone() -> None:
    ledger = Ledger([component("idle", -5.0)])
    assert ledger.take(Demand(3.0, ("idle",))) == {}
    assert ledger.take(Demand(-9.0, ("idle",))) == {"idle": -5.0}


@pytest.mark.parametrize("interval", [None, (-1.0, 9.0)])
def test_a_claim_that_is_not_certain_comes_to_nothing(interval: tuple[float, float] | None) -> None:
    ledger = Ledger([component("idle", 5.0)])
    assert settle(claim(Demand(5.0, ("idle",)), interval=interval), ledger, 1.0) is None
    assert ledger.left == {"idle": 5.0}


def test_a_claim_with_too_little_left_gives_it_back() -> None:
    ledger = Ledger([component("idle", 0.5)])
    assert settle(claim(Demand(5.0, ("idle",))), ledger, 1.0) is None
    assert ledger.left == {"idle": 0.5}


def test_the_interval_is_that_of_what_was_found() -> None:
    cause = settle(
        claim(Demand(10.0, ("idle",)), interval=(8.0, 12.0)), Ledger([component("idle", 5.0)]), 1.0
    )
    assert cause is not None
    assert cause.interval_ns == (4.0, 6.0)


def test_what_is_gone_is_told_from_the_other_side() -> None:
    seen = Evidence("place", "here", "new", base=1.0, new=2.0)
    mirror_claim = opposite_claim(
        Claim(
            Cause("host_code", "", interval_ns=(4.0, 6.0), evidence=(seen,)),
            (Demand(5.0, ("idle",)),),
        )
    )
    assert (mirror_claim.ns, mirror_claim.finding.interval_ns) == (-5.0, (-6.0, -4.0))
    assert (mirror_claim.finding.evidence[0].side, mirror_claim.finding.evidence[0].base) == (
        "base",
        2.0,
    )


def test_more_kernels_are_not_taken_twice() -> None:
    ledger = Ledger([component("device_compute/gemm", 10.0, same=0.0)])
    demand = Demand(8.0, ("device_compute/gemm",), structural=True)
    taken = [ledger.take(demand), ledger.take(demand)]
    assert taken == [{"device_compute/gemm": 8.0}, {"device_compute/gemm": 2.0}]


def test_a_claim_of_which_only_the_opposite_is_there_comes_to_nothing() -> None:
    ledger = Ledger([component("idle", 0.0), component("copies", -4.0)])
    more = claim(Demand(10.0, ("idle",)), Demand(-4.0, ("copies",)))
    assert settle(more, ledger, 1.0) is None
    assert ledger.left == {"idle": 0.0, "copies": -4.0}


def test_a_claim_that_hardly_shows_comes_to_nothing() -> None:
    ledger = Ledger([component("idle", 5.0)])
    assert settle(claim(Demand(60.0, ("idle",))), ledger, 1.0) is None


amounts = st.floats(-1e9, 1e9)


@given(
    st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5),
    st.lists(st.tuples(amounts, st.permutations(range(5)), st.booleans()), max_size=8),
)
def test_claims_never_exceed_what_a_component_changed_by(
    changes: list[tuple[float, float]], demands: list[tuple[float, list[int], bool]]
) -> None:
    parts = [
        component(f"device_compute/{place}", same + other, same)
        for place, (same, other) in enumerate(changes)
    ]
    ledger = Ledger(parts)
    rises, falls = ({part.name: 0.0 for part in parts} for _ in range(2))
    for wanted, order, structural in demands:
        names = tuple(f"device_compute/{place}" for place in order)
        for name, ns in ledger.take(Demand(wanted, names, structural)).items():
            (rises if ns > 0 else falls)[name] += ns
    for part, (same, other) in zip(parts, changes, strict=True):
        assert rises[part.name] <= max(0.0, same) + max(0.0, other) + 1e-3
        assert falls[part.name] >= min(0.0, same) + min(0.0, other) - 1e-3
        left = part.delta_ns - rises[part.name] - falls[part.name]
        assert ledger.left[part.name] == pytest.approx(left, abs=1e-3)


@given(st.floats(0, 1e6), st.lists(st.tuples(st.floats(-1e6, 1e6), st.booleans()), max_size=8))
def test_places_together_explain_no_more_than_functions_gained(
    gained: float, demands: list[tuple[float, bool]]
) -> None:
    delta = -5.0
    ledger = Ledger([component("idle", delta), component("host_cpu", 0.0)], (0.0, gained))
    taken = [
        sum(ledger.take(Demand(ns, ("idle", "host_cpu"), structural)).values())
        for ns, structural in demands
    ]
    falls = -sum(ns for ns in taken if ns < 0)
    assert sum(ns for ns in taken if ns > 0) <= gained + falls + 1e-3
    assert falls <= gained - delta + 1e-3


def test_a_pause_counts_as_it_is_where_the_rest_of_the_host_got_faster() -> None:
    ledger = Ledger([component("host_cpu", -5.0)])
    assert ledger.take(Demand(8.0, ("host_cpu", "idle"), structural=True)) == {"host_cpu": 8.0}
    assert ledger.left == {"host_cpu": -13.0}


def test_what_the_device_runs_beside_counts_only_as_far_as_it_shows() -> None:
    parts = [component("host_cpu", 0.0), component("device_compute/gemm", 0.0)]
    taken = Ledger(parts).take(Demand(8.0, ("host_cpu",), structural=True))
    assert taken == {"host_cpu": pytest.approx(4.0)}


def test_waits_count_as_far_as_they_grew() -> None:
    ledger = Ledger([component("synchronisation", 2.0)])
    demand = Demand(8.0, ("synchronisation",), structural=True)
    assert ledger.take(demand) == {"synchronisation": 2.0}
