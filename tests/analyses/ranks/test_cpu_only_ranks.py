"""Ranks without a device: what operators do tells why one is late, and no device is spoken of."""

from __future__ import annotations

import pytest

import timesink
from builders import Event
from cases import STEP, O, read
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.model.findings import Finding
from timesink.model.trace import Trace
from timesink.rules.run_findings import find_all

STEPS, STEP_US = 4, 2_000


def rank(*, multiply_us: int, batch: int) -> RankSummary:
    return summarise_rank(rank_trace(multiply_us=multiply_us, batch=batch))


def rank_trace(*, multiply_us: int, batch: int = 32) -> Trace:
    """Every step multiplies two matrices and waits for the others."""
    events: list[Event] = []
    for number in range(STEPS):
        at = number * STEP_US
        shapes = {"Input dims": [[batch, 64], [64, 64]]}
        reduced = {"Input dims": [[1000]], "Input type": ["float"]}
        start = at + multiply_us
        events += [
            STEP(number, at, STEP_US),
            O("aten::mm", at, multiply_us, x=2 * number + 1, **shapes),
            O("gloo:all_reduce", start, at + 1_900 - start, x=2 * number + 2, tid="9", **reduced),
        ]
    return read(*events)


def straggler(late: RankSummary) -> Finding:
    ranks = {number: rank(multiply_us=1_000 + number, batch=32) for number in range(5)}
    (only,) = analyse_ranks(ranks | {3: late}).stragglers
    assert only.rank == 3
    return only


@pytest.mark.parametrize(("batch", "cause"), [(48, "uneven_work"), (32, "host_code")])
def test_more_work_is_told_from_a_slow_host(batch: int, cause: str):
    finding = straggler(rank(multiply_us=1_500, batch=batch))
    assert finding.id == cause
    assert "device" not in finding.proofs[0]


def host_rank(late_us: int) -> Trace:
    """Steps whose gradients are reduced while operators run, for half of the time."""
    events: list[Event] = []
    for number in range(STEPS):
        at = number * STEP_US
        events += [
            STEP(number, at, STEP_US),
            O("aten::mm", at, 1_000 + late_us, x=2 * number + 1),
            O("gloo:all_reduce", at + 600 + late_us, 800, x=2 * number + 2, tid="9"),
        ]
    return read(*events)


def test_exposed_is_what_no_operator_overlaps():
    (finding,) = [
        finding for finding in find_all(host_rank(0)) if finding.rule == "exposed-communication"
    ]
    assert finding.sentence.startswith(
        "Exposed communication takes 400 us of each 2.00 ms step (20.0 %)"
    )


def test_nothing_is_said_about_devices():
    analysis = timesink.analyze(host_rank(0))
    texts = [
        f"{finding.sentence} {finding.no_saving} {finding.gain_basis}"
        for finding in analysis.findings
    ]
    assert not [text for text in texts if "device" in text or "GPU" in text]
