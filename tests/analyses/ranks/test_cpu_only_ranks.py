"""Ranks without a device: what operators do tells why one is late, and no device is spoken of."""

from __future__ import annotations

import pytest

from builders import Event
from cases import STEP, O, read
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.model.findings import Finding

STEPS, STEP_US = 4, 2_000


def rank(*, multiply_us: int, batch: int) -> RankSummary:
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
    return summarise_rank(read(*events))


def straggler(late: RankSummary) -> Finding:
    ranks = {number: rank(multiply_us=1_000 + number, batch=32) for number in range(5)}
    (only,) = analyse_ranks(ranks | {3: late}).stragglers
    assert only.rank == 3
    return only


@pytest.mark.parametrize(("batch", "cause"), [(48, "uneven_work"), (32, "host_code")])
def test_more_work_is_told_from_a_slow_host(batch: int, cause: str):
    found = straggler(rank(multiply_us=1_500, batch=batch))
    assert found.cause == cause
    assert "device" not in found.proofs[0]
