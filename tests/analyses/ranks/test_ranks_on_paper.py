"""Two ranks whose waiting and transfer can be worked out on paper, through summaries of ranks."""

from __future__ import annotations

import pytest

from builders import Event
from cases import K, O, read
from timesink.analyses.communication_workers import compare_workers
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank

SMALL, LARGE = [[53120]], [[2049000]]


def collective(name: str, ts: int, dur: int, x: int, *, tid: str = "123") -> Event:
    dims = SMALL if name.endswith("broadcast") else LARGE
    return O(name, ts, dur, x=x, tid=tid, **{"Input dims": dims, "Input type": ["float"]})


def nccl_rank(
    broadcast: int, kernel: tuple[int, int], add: int, add_kernel: int, reduction: tuple[int, int]
) -> RankSummary:
    trace = read(
        collective("nccl:broadcast", 0, broadcast, 146),
        K("ncclKernel_Broadcast_RING_LL_Sum_int8_t", *kernel, x=146),
        O("aten::add_", add, 20, x=5),
        K("add_kernel", add_kernel, 161),
        collective("nccl:all_reduce", 160, 75, 2513),
        K("ncclKernel_AllReduce_RING_LL_Sum_float", *reduction, x=2513),
    )
    return summarise_rank(trace)


def gloo_rank(
    broadcasts: list[tuple[int, int]], reductions: list[tuple[int, int]], add: int, busy: Event
) -> RankSummary:
    calls = [("gloo:broadcast", *times) for times in broadcasts]
    calls += [("gloo:all_reduce", *times) for times in reductions]
    events = [collective(*call, x, tid=f"90{x}") for x, call in enumerate(calls, start=1)]
    return summarise_rank(read(O("aten::add_", 0, add, x=100), busy, *events))


def gloo_ranks(first: Event, second: Event) -> dict[int, RankSummary]:
    return {
        0: gloo_rank([(16, 38), (25, 36), (66, 18)], [(110, 18), (120, 36)], 20, first),
        1: gloo_rank([(20, 28), (28, 30), (77, 6)], [(88, 38), (130, 16)], 30, second),
    }


def waits(ranks: dict[int, RankSummary]) -> list[tuple[float, float]]:
    workers = {str(rank): summary.worker for rank, summary in ranks.items()}
    steps = compare_workers(workers).by_step.sort("worker")
    return (steps.select("transfer_ns", "waiting_ns") / 1000).rows()


def test_collectives_on_the_device():
    ranks = {
        0: nccl_rank(75, (16, 16), 100, 130, (162, 1556)),
        1: nccl_rank(20, (8, 31), 25, 30, (562, 1058)),
    }
    assert waits(ranks) == [(1169, 464), (1169, 3)]
    calls = analyse_ranks(ranks).collectives.filter(collective="all_reduce").sort("rank")
    assert calls["wait_ns"].to_list() == [498_000, 0]
    assert calls["transfer_ns"].to_list() == [1_058_000, 1_058_000]


@pytest.mark.parametrize(
    "busy",
    [
        (K("mul_kernel", 30, 101), K("mul_kernel", 70, 70)),
        (O("aten::mul", 30, 101, x=101), O("aten::mul", 70, 70, x=101)),
    ],
)
def test_collectives_on_the_host(busy: tuple[Event, Event]):
    assert waits(gloo_ranks(*busy)) == [(75, 34), (78, 20)]


def test_a_call_that_a_rank_lacks_is_named():
    first = gloo_rank([(16, 38)], [(110, 18)], 20, K("mul_kernel", 30, 20))
    two = gloo_rank([(16, 38)], [], 20, K("mul_kernel", 30, 20))
    mismatches = compare_workers({"0": first.worker, "1": two.worker}).mismatches
    assert mismatches.select("name", "present", "missing").rows() == [
        ("gloo:all_reduce", ["0"], ["1"])
    ]
