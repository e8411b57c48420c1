"""Long recordings are cut down to the same steps on every rank."""

from __future__ import annotations

import pytest

from cases import STEP, K, O, R, read
from timesink.analyses.communication_workers import compare_workers
from timesink.analyses.ranks import summary as thinning
from timesink.analyses.ranks.summary import (
    REMAINDER,
    RankSummary,
    summarise_rank,
    thinned_alike,
    thinned_to,
    within_limits,
)
from timesink.model.trace import Trace
from timesink_lab.ranks.generated import ranks_and_truth
from timesink_lab.ranks.plan import Plan, Straggler


@pytest.fixture(scope="module")
def run() -> dict[int, Trace]:
    """Twelve steps, 3 to 14; rank 2 is slow in all of them."""
    plan = Plan(ranks=4, steps=12, layers=1, stragglers=(Straggler("data_loading", 2),))
    return ranks_and_truth(plan)[0]


def thinned_summary(trace: Trace) -> RankSummary:
    return within_limits(summarise_rank(trace), trace)


@pytest.fixture
def few_collectives(run: dict[int, Trace], monkeypatch: pytest.MonkeyPatch) -> int:
    """Half of what a rank has may be kept."""
    many = summarise_rank(run[0]).worker.records.height // 2
    monkeypatch.setattr(thinning, "MAX_COLLECTIVES", many)
    return many


@pytest.mark.usefixtures("few_collectives")
def test_functions_are_of_the_same_steps(run: dict[int, Trace]):
    """Per step they do what they did in all steps."""
    full_summary, part = summarise_rank(run[0]), thinned_summary(run[0])
    calls = [
        summary.functions.filter(place="kernel")["calls"].sum() for summary in (full_summary, part)
    ]
    assert calls[0] / full_summary.steps.height == calls[1] / part.steps.height


@pytest.mark.usefixtures("few_collectives")
def test_ranks_that_kept_more_are_cut_to_what_all_have(run: dict[int, Trace]):
    """A rank that records less than the others keeps all of its steps."""
    ranks = {0: summarise_rank(run[0]), 1: thinned_summary(run[1])}
    thinned_ranks = thinned_alike(ranks)
    assert thinned_ranks[0].steps["step"].to_list() == thinned_ranks[1].steps["step"].to_list()
    workers = {str(at): summary.worker for at, summary in thinned_ranks.items()}
    assert compare_workers(workers).mismatches.is_empty()
    assert thinned_alike({0: ranks[0]})[0] is ranks[0]


def test_a_set_may_ask_for_less(run: dict[int, Trace]):
    """Of every fourth step; what functions did in a step stays what it was."""
    full_summary = summarise_rank(run[0])
    summary = thinned_to(full_summary, full_summary.worker.records.height // 4)
    assert summary.steps["step"].to_list() == ["4", "8", "12"]
    for column in ("calls", "dur_ns", "work"):
        assert summary.functions[column].sum() * 4 == pytest.approx(
            full_summary.functions[column].sum(), rel=0.01
        )
    assert thinned_to(summary, 10**6) is summary


def test_many_steps_without_collectives(run: dict[int, Trace], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(thinning, "MAX_STEPS", 3)
    assert thinned_summary(run[0]).steps["step"].to_list() == ["4", "8", "12"]


def test_without_marks_the_first_collectives_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(thinning, "MAX_COLLECTIVES", 3)
    events = []
    for number in range(5):
        at = 100 * number
        events += [O("nccl:all_reduce", at, 20, x=number + 1), R(at + 1, 5, c=number + 1)]
        events.append(K("ncclDevKernel_AllReduce", at + 5, 30, c=number + 1))
    summary = thinned_summary(read(*events))
    assert summary.worker.records.height == summary.collectives.height == 3
    assert summary.thinning.cut == 2
    assert set(summary.worker.ranges["record"]) == {0, 1, 2}


def test_the_functions_that_take_least_are_summed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(thinning, "MAX_FUNCTIONS", 12)
    kernels = [
        K(f"kernel_{name}", 20 * place, place + 1) for place, name in enumerate("abcdefghijklmn")
    ]
    trace = read(STEP(1, 0, 400), *kernels)
    full_functions, functions = summarise_rank(trace).functions, thinned_summary(trace).functions
    assert full_functions.height == 14
    assert functions.height <= 12
    assert REMAINDER in functions["function"].to_list()
    for column in ("calls", "dur_ns", "work"):
        assert functions[column].sum() == full_functions[column].sum()


def test_short_recordings_stay_as_they_are(run: dict[int, Trace]):
    assert thinned_summary(run[0]) is summarise_rank(run[0])
