"""What is said about ranks that the others wait for."""

from __future__ import annotations

import pytest

from builders import annotation, operator, step
from cases import read
from generated_sets import GRID, TWOS, generated_set, healthy_set, slow_set, slow_set_and_truth
from rank_sets import as_set
from timesink.analyses.ranks.causes import CAUSES
from timesink.rules.communication import stragglers, why_late
from timesink_lab.ranks.plan import Straggler


@pytest.fixture(scope="module")
def loading_straggler():
    """One rank waits for its data in every step, a fifth of its length."""
    (only,) = stragglers(slow_set("data_loading", **GRID))
    return only


def test_rank_and_cause_come_first(loading_straggler):
    assert loading_straggler.rule == "stragglers"
    assert "rank 5 loads data" in loading_straggler.sentence.lower()
    assert "rank5" in loading_straggler.advice


def test_what_it_costs(loading_straggler):
    assert loading_straggler.severity == "high"
    assert loading_straggler.share == pytest.approx(0.2, abs=0.05)
    (evidence,) = loading_straggler.evidence
    assert (evidence.kind, evidence.name) == ("worker", "rank5")
    assert evidence.numbers["wait_caused_us_per_step"] == pytest.approx(
        loading_straggler.cost_ns / 1000
    )


def test_all_that_are_late_are_named():
    late = (Straggler("slow_clock", 2, 0.4), Straggler("data_loading", 5, 0.2))
    (finding,) = stragglers(generated_set(*late, seed=2)[0])
    assert {item.name for item in finding.evidence} == {"rank2", "rank5"}
    assert " delay the others: " in finding.title
    assert "Also rank" in finding.sentence
    worst = max(item.numbers["wait_caused_us_per_step"] for item in finding.evidence)
    assert finding.cost_ns / 1000 >= worst


def test_ranks_that_are_late_together_cost_what_the_run_loses():
    run, truth = slow_set_and_truth("slow_node")
    (finding,) = stragglers(run)
    assert finding.title == "4 ranks delay the others: their devices run slower"
    lost = 1 - truth.healthy_run_us / truth.run_us
    assert finding.share == pytest.approx(lost, rel=0.25)


def test_nothing_is_said_about_a_healthy_run():
    assert stragglers(healthy_set(**TWOS)) == []


def test_ranks_that_do_not_communicate_hold_nobody_up():
    quiet_trace = read(step(0, 0, 100), operator("aten::mm", 0, 50))
    assert stragglers(as_set({"a": quiet_trace, "b": read(step(0, 0, 100))})) == []
    assert stragglers(as_set({"a": read(annotation("gloo:barrier", 0, 9))})) == []


def test_every_cause_has_words():
    assert all(why_late(cause) not in {cause, why_late(cause, several=True)} for cause in CAUSES)
