"""Processes that wait for each other, read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from diagnosed import component, slow_clock, unchanged_diagnosis
from slowed import MS, USUAL, Call, Program, pair
from timesink.comparison.causes.joint_diagnosis import (
    ProcessDiagnosis,
    diagnose_together,
    judge_together,
    merged_causes,
    stragglers,
    waits_left,
)
from timesink.comparison.results import Pair
from timesink.model.diagnosis import CycleTime
from timesink.model.findings import Cause

WAITING = "ncclDevKernel_AllReduce_Sum_bf16"


def ranks(news: Sequence[Program], base: Program = USUAL) -> list[Pair]:
    return [pair(base, new, rank) for rank, new in enumerate(news)]


def with_communication(ms: float) -> Program:
    return USUAL.but(**{WAITING: Call("gpu_comm", 3, ms)})


def test_one_pair_is_told_as_it_is() -> None:
    diagnosis = diagnose_together(ranks([USUAL.slowed(1.4)]))
    assert (diagnosis.verdict, diagnosis.causes) == ("regression", ())


def test_a_pause_of_one_rank_explains_the_waiting_of_the_others() -> None:
    late = replace(with_communication(5.0), gap_ms=20.0)
    diagnosis = diagnose_together(ranks([with_communication(25.0), late], with_communication(5.0)))
    assert diagnosis.verdict == "regression"
    (cause,) = diagnosis.causes
    assert (cause.id, cause.process) == ("host_code", "rank 1")
    assert cause.sentence.startswith("Rank 1: ")
    assert cause.cost_ns == pytest.approx(20 * MS, rel=0.05)
    assert abs(diagnosis.unexplained_ns) < 1 * MS
    assert sum(ns for _, ns in diagnosis.unexplained) == pytest.approx(
        diagnosis.unexplained_ns, abs=1
    )


def test_what_all_ranks_have_is_one_cause_of_all() -> None:
    diagnosis = diagnose_together(ranks([replace(USUAL, gap_ms=10.0)] * 2))
    (cause,) = diagnosis.causes
    assert cause.process is None
    assert cause.cost_ns == pytest.approx(10 * MS, rel=0.1)


def test_changes_of_the_parts_add_up_to_that_of_the_mean_cycle() -> None:
    diagnosis = diagnose_together(ranks([USUAL.slowed(1.1), with_communication(9.0)]))
    change = diagnosis.cycle_time.new_ns - diagnosis.cycle_time.base_ns
    assert sum(part.delta_ns for part in diagnosis.attribution) == pytest.approx(change, rel=0.01)


def member(name: str, own_ms: float, wait_ms: float, *causes: Cause) -> ProcessDiagnosis:
    parts = (
        component("host_cpu", 50, 50 + own_ms),
        component("exposed_communication", 10, 10 + wait_ms),
    )
    return ProcessDiagnosis(name, slow_clock(attribution=parts, causes=causes))


def test_the_rank_whose_own_work_gained_holds_up_the_others() -> None:
    members = [member("rank 0", 0, 20), member("rank 1", 20, 0), member("rank 2", 1, 19)]
    (straggler,) = stragglers(members, (), 20 * MS)
    assert (straggler.id, straggler.process) == ("straggler", "rank 1")
    assert straggler.cost_ns == pytest.approx(19 * MS)


def test_ranks_that_all_gained_have_no_straggler() -> None:
    assert list(stragglers([member(f"rank {rank}", 20, 0) for rank in range(4)], (), 20 * MS)) == []


def test_a_link_explains_no_waiting_that_moved_from_one_to_the_other() -> None:
    link = Cause("nvlink_contention", "Busy.", cost_ns=50 * MS, interval_ns=(40 * MS, 60 * MS))
    members = [member("pid 1", 0, 50, link), member("pid 2", 0, -5)]
    assert merged_causes(members, 1 * MS) == []


def longer(ns: float) -> Cause:
    return Cause(
        "kernel_change", "Longer.", cost_ns=ns, interval_ns=(ns - 1, ns + 1), claims=(("idle", ns),)
    )


def test_several_causes_of_one_sort_in_each_process_count_for_all_of_them() -> None:
    members = [member(name, 0, 0, *[longer(10.0)] * 3) for name in ("rank 0", "rank 1")]
    (cause,) = merged_causes(members, 30.0)
    assert (cause.cost_ns, cause.process) == (30.0, None)
    assert cause.claims == (("idle", 30.0),)
    assert cause.interval_ns == (27.0, 33.0)
    assert cause.sentence == "Longer. 2 more add +20 ns per step."


def test_several_causes_of_one_process_are_of_that_process() -> None:
    members = [member("rank 0", 0, 0, longer(10.0), longer(4.0)), member("rank 1", 0, 0)]
    (cause,) = merged_causes(members, 30.0)
    assert (cause.cost_ns, cause.process) == (14.0, "rank 0")
    assert "One more change of this kind adds +4 ns" in cause.sentence


def on_machines(*hosts: str) -> list[Pair]:
    pairs = ranks([USUAL] * len(hosts))
    return [
        replace(rank_pair, new=replace(rank_pair.new, host=host))
        for rank_pair, host in zip(pairs, hosts, strict=True)
    ]


@pytest.mark.parametrize(("hosts", "anomaly_count"), [(("a", "b"), 2), (("a", "a"), 1)])
def test_devices_of_two_machines_are_not_one(hosts: tuple[str, str], anomaly_count: int) -> None:
    together = diagnose_together(on_machines(*hosts), [slow_clock(), slow_clock()])
    assert len(together.anomalies) == anomaly_count
    assert len(together.symptoms) == anomaly_count


def test_an_anomaly_explains_nothing_on_a_machine_where_it_is_no_cause() -> None:
    together = diagnose_together(on_machines("a", "b"), [slow_clock(), slow_clock(causes=())])
    explained = {anomaly.process: anomaly.cost_ns for anomaly in together.anomalies}
    assert explained["rank 0"] > 0
    assert explained["rank 1"] == 0


def test_an_interval_that_one_process_does_not_know_is_not_known() -> None:
    together = diagnose_together(on_machines("a", "b"), [slow_clock(), slow_clock()])
    intervals = {part.name: part.interval_ns for part in together.attribution}
    assert intervals["launch_gap"] is None
    assert intervals["host_cpu"] is not None


def test_what_cannot_be_placed_stays_with_the_cause() -> None:
    cause = Cause("host_code", "", cost_ns=10.0, claims=(("idle", 10.0),))
    parts = [component("idle", 0, 0), component("exposed_communication", 0, 4e-6)]
    assert dict(waits_left(parts, [cause])) == {"idle": -6.0}


def test_one_rank_of_two_that_got_longer_is_a_regression() -> None:
    diagnosis = diagnose_together(ranks([USUAL, USUAL.slowed(3.0)]))
    assert diagnosis.verdict == "regression"
    assert diagnosis.reason.startswith("1 of 2 processes (rank 1) has longer steps")
    times = diagnosis.cycle_time
    assert times.p_value is not None
    assert times.p_value < 0.05
    assert times.interval_pct is not None
    assert times.change_pct is not None
    assert 0 < times.interval_pct[0] <= times.change_pct <= times.interval_pct[1]


def test_changes_that_make_up_for_each_other_are_no_change() -> None:
    diagnosis = diagnose_together(ranks([USUAL.slowed(1.5), USUAL.slowed(0.5)]))
    assert diagnosis.verdict == "no_change"
    times = diagnosis.cycle_time
    assert times.p_value is not None
    assert times.p_value >= 0.05
    assert times.interval_pct is not None
    assert times.interval_pct[0] <= 0 <= times.interval_pct[1]


def member_of_p(p_value: float) -> ProcessDiagnosis:
    times = CycleTime(100 * MS, 110 * MS, 10.0, (1.0, 19.0), p_value)
    verdict = "regression" if p_value < 0.05 else "no_change"
    return ProcessDiagnosis("pid 1", unchanged_diagnosis(verdict=verdict, cycle_time=times))


def test_one_of_many_that_is_longer_by_chance_is_no_regression() -> None:
    judgement = judge_together([member_of_p(0.04), *[member_of_p(0.5)] * 7])
    assert (judgement.verdict, judgement.cycle_time.p_value) == ("no_change", pytest.approx(0.32))
    assert judgement.cycle_time.interval_pct is not None
    assert judgement.cycle_time.interval_pct[0] <= 0
    assert judge_together([member_of_p(0.001), *[member_of_p(0.5)] * 7]).verdict == "regression"
