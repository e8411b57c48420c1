"""Workers compared call by call; all times worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import Event, annotation, kernel, operator, runtime, step
from cases import K, O, read
from rank_sets import as_set
from timesink.analyses import communication_workers as workers
from timesink.analyses.communication_workers import WorkerComparison
from timesink.model.trace import Trace


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all, so that each recording is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def gloo(name: str, start: int, length: int, elements: int = 256, tid: int = 1) -> Event:
    shape = {"Input Dims": [[elements]], "Input type": ["float"]}
    return annotation(f"gloo:{name}", start, length, **shape) | {"tid": tid}


def nccl(
    name: str, start: int, length: int, *, elements: int = 256, group: str = "0", **extra: Any
) -> list[Event]:
    """A call of 10 us and its kernel, which starts with it."""
    args = {
        "Collective name": name,
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "dtype": "Float",
        "Group size": 2,
        "Process Group Name": group,
        **{key.replace("_", " "): value for key, value in extra.items()},
    }
    return [
        operator("record_param_comms", start, 10, **args),
        runtime("cudaLaunchKernelExC", start + 1, 5, start + 1),
        kernel(f"ncclDevKernel_{name}", start, length, start + 1),
    ]


def worker(rank: int, events: Sequence[Event], world_size: int = 2) -> Trace:
    info = {"backend": "nccl", "rank": rank, "world_size": world_size}
    return read(*events, distributedInfo=info)


def compare(*traces: Trace) -> WorkerComparison:
    return as_set({f"rank{number}": trace for number, trace in enumerate(traces)}).communication


def split(compared: WorkerComparison) -> dict[tuple[str, str], tuple[float, float]]:
    """Transfer and waiting in us by worker and step."""
    rows = compared.by_step.select("worker", "step", "transfer_ns", "waiting_ns").iter_rows()
    return {(who, name): (moved / 1000, waited / 1000) for who, name, moved, waited in rows}


def transfer_of(compared: WorkerComparison) -> list[tuple[str, float]]:
    rows = compared.by_name.select("worker", "transfer_ns").iter_rows()
    return [(who, moved / 1000) for who, moved in rows]


# -- waiting and transfer --------------------------------------------------------------------------


def test_the_last_to_come_does_not_wait():
    compared = compare(
        read(gloo("all_reduce", 100, 80)),
        read(gloo("all_reduce", 5150, 30)),  # the clocks do not agree
    )
    assert split(compared) == {("rank0", "0"): (30, 50), ("rank1", "0"): (30, 0)}
    assert compared.mismatches.is_empty()


def test_kernels_are_compared_with_kernels_and_calls_with_calls():
    compared = compare(
        read(*nccl("allreduce", 100, 400)),
        read(*nccl("allreduce", 100, 100)),
    )
    assert split(compared)["rank0", "0"] == (110, 290)  # the call of 10 us, 100 us of the kernel


def test_communication_across_the_border_of_steps_counts_in_both():
    late = read(step(1, 0, 100), step(2, 100, 100), gloo("all_reduce", 90, 20, tid=2))
    early = read(step(1, 0, 100), step(2, 100, 100), gloo("all_reduce", 70, 40, tid=2))
    assert split(compare(late, early)) == {
        ("rank0", "1"): (10, 0),
        ("rank0", "2"): (10, 0),
        ("rank1", "1"): (10, 20),
        ("rank1", "2"): (10, 0),
    }


def test_single_worker_has_no_split():
    compared = compare(read(gloo("all_reduce", 100, 80)))
    assert compared.by_step.row(0, named=True) == {
        "worker": "rank0",
        "step": "0",
        "complete": True,
        "communication_ns": 80_000,
        "transfer_ns": None,
        "waiting_ns": None,
    }
    assert compared.by_name["transfer_ns"].to_list() == [None]


def test_fastest_rank_tells_what_a_byte_takes_when_amounts_differ():
    compared = compare(
        worker(0, nccl("all_to_all", 0, 300, elements=100, Seq=1)),
        worker(1, nccl("all_to_all", 0, 200, elements=200, Seq=1)),
    )
    assert transfer_of(compared) == [("rank0", 110), ("rank1", 200)]


# -- matching --------------------------------------------------------------------------------------


def test_sequence_numbers_match_calls_in_any_order():
    first = [*nccl("allreduce", 0, 50, Seq=1), *nccl("allreduce", 1000, 70, Seq=2)]
    other = [*nccl("allreduce", 0, 40, Seq=2), *nccl("allreduce", 1000, 20, Seq=1)]
    compared = compare(worker(0, first), worker(1, other))
    # Kernels: 20 of 50 and 40 of 70 us; the calls of 10 us lie before them on rank 0.
    assert transfer_of(compared) == [("rank0", 80), ("rank1", 60)]


def test_calls_of_other_groups_are_other_calls():
    pairs = [("0", "[0, 1]"), ("0", "[0, 1]"), ("1", "[2, 3]"), ("1", "[2, 3]")]
    traces = [
        worker(
            rank,
            nccl("allreduce", 0, 100 * (rank + 1), group=group, Seq=1, Process_Group_Ranks=ranks),
            world_size=4,
        )
        for rank, (group, ranks) in enumerate(pairs)
    ]
    compared = compare(*traces)
    assert transfer_of(compared) == [
        ("rank0", 100),
        ("rank1", 110),
        ("rank2", 300),
        ("rank3", 310),
    ]
    assert compared.mismatches.is_empty()


def test_missing_call_is_a_finding_and_shifts_nothing():
    steps = [step(number, 1000 * number, 900) for number in (1, 2, 3)]
    lengths = {1: 50, 2: 60, 3: 70}
    complete = [gloo("all_reduce", 1000 * number + 10, 90, tid=2) for number in lengths]
    incomplete = [
        gloo("all_reduce", 1000 * number + 10, length, tid=2)
        for number, length in lengths.items()
        if number != 2
    ]
    compared = compare(read(*steps, *complete), read(*steps, *incomplete))
    assert split(compared) == {
        ("rank0", "1"): (50, 40),
        ("rank0", "2"): (90, 0),
        ("rank0", "3"): (70, 20),
        ("rank1", "1"): (50, 0),
        ("rank1", "3"): (70, 0),
    }
    assert compared.mismatches.select("name", "step", "present", "missing").rows() == [
        ("gloo:all_reduce", "2", ["rank0"], ["rank1"])
    ]


def test_same_call_with_other_sizes_does_not_match():
    compared = compare(
        worker(0, nccl("allreduce", 0, 50, elements=10, Seq=4)),
        worker(1, nccl("allreduce", 0, 50, elements=20, Seq=4)),
    )
    assert compared.mismatches.select("sequence", "size_bytes", "missing").rows() == [
        (4, 40, ["rank1"]),
        (4, 80, ["rank0"]),
    ]


def test_worker_that_never_communicates_lacks_every_call():
    compared = compare(read(gloo("barrier", 0, 50)), read(O("aten::mm", 0, 50)))
    assert compared.mismatches["missing"].to_list() == [["rank1"]]


def test_sender_is_matched_with_its_receiver():
    compared = compare(
        worker(0, nccl("send", 0, 300, Dst_Rank=1), world_size=3),
        worker(1, nccl("recv", 0, 100, Src_Rank=0), world_size=3),
        worker(2, nccl("send", 0, 40, Dst_Rank=5), world_size=3),
    )
    assert [moved for _, moved in transfer_of(compared)] == [110, 100, 40]
    assert compared.mismatches.is_empty()


# -- totals per name -------------------------------------------------------------------------------


def test_bandwidth_of_gathering_counts_what_all_give():
    compared = compare(worker(0, nccl("allgather", 0, 1000, elements=1000, Out_msg_nelems=4000)))
    assert compared.by_name["algorithm_bytes_per_s"].to_list() == [pytest.approx(16000 / 1e-3)]


def test_unknown_size_leaves_totals_unknown():
    compared = compare(
        read(gloo("all_reduce", 0, 50), annotation("gloo:all_reduce", 100, 50)),
    )
    row = compared.by_name.row(0, named=True)
    assert (row["calls"], row["size_bytes"], row["bus_bytes_per_s"]) == (2, None, None)


# -- overlap ---------------------------------------------------------------------------------------


def overlap(trace: Trace) -> list[tuple[int, ...]]:
    frame = workers.step_communication(trace)
    parts = frame.select("computation_ns", "communication_ns", "overlap_ns", "other_ns")
    return [tuple(value // 1000 for value in row) for row in parts.rows()]


def test_overlap_of_kernels_and_communication():
    trace = read(
        O("nccl:all_reduce", 0, 30, x=1),
        K("ncclKernel_AllReduce", 10, 60, x=1),
        K("gemm", 50, 40),
        O("aten::mm", 20, 100, x=2),
    )
    assert overlap(trace) == [(40, 70, 20, 30)]


def test_operators_compute_only_where_no_kernel_was_recorded():
    on_host = [O("nccl:all_reduce", 0, 30, x=1), O("aten::mm", 20, 80, x=2)]
    assert overlap(read(*on_host)) == [(80, 30, 10, 0)]
    assert overlap(read(*on_host, K("ncclKernel_AllReduce", 10, 20, x=1))) == [(0, 30, 0, 70)]


# -- real recordings -------------------------------------------------------------------------------
