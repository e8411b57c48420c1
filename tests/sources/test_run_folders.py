"""Which files are the ranks of one run, however the programs that write them lay them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import training_trace, write
from timesink.errors import AmbiguousError
from timesink.sources.discovery import find_recordings, one_run, runs_among
from timesink.sources.recordings import Recording


def ranks_in(folder: Path, *names: str, stated: dict[str, int] | None = None) -> list[Recording]:
    """Recordings of a folder with these files, whose content states only these ranks."""
    for name in names:
        document: dict[str, Any] = training_trace(1)
        del document["distributedInfo"]
        if stated and name in stated:
            document["distributedInfo"] = {
                "backend": "nccl",
                "rank": stated[name],
                "world_size": 64,
            }
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, document)
    return find_recordings(folder)


def workers_and_ranks(recordings: list[Recording]) -> list[tuple[str, int | None]]:
    return [(recording.worker, recording.rank) for recording in recordings]


@pytest.mark.parametrize(
    "names",
    [
        ("rank0.json.gz", "rank1.json.gz"),
        ("rank_0/trace.json", "rank_1/trace.json"),
        ("0/trace.json", "1/trace.json"),
        ("worker0/trace.json", "worker1/trace.json"),
        ("gpu-0/trace.json", "gpu-1/trace.json"),
        ("iteration_10/rank0_trace.json", "iteration_10/rank1_trace.json"),
        ("host7/rank0.json", "host9/rank1.json"),
        ("host7/rank_0/t.json", "host9/rank_1/t.json"),
        ("ip-10-0-0-7/rank0.json", "ip-10-0-0-9/rank1.json"),
        ("trace_rank0_step10.json", "trace_rank1_step10.json"),
        ("torch_profile/rank-0.json.gz", "torch_profile/rank-1.json.gz"),
        (
            "rank-0.Feb_01_10_00_00.12.pt.trace.json.gz",
            "rank-1.Feb_01_10_00_01.13.pt.trace.json.gz",
        ),
        ("kineto-trace-0-of-64.json", "kineto-trace-1-of-64.json"),
        ("kineto-trace-0-of-64", "kineto-trace-1-of-64"),
        ("vllm-a1b2-rank-0.17.pt.trace.json.gz", "vllm-a1b2-rank-1.18.pt.trace.json.gz"),
        ("dp0_pp0_tp0_ep0_rank0.17.pt.trace.json", "dp0_pp0_tp1_ep1_rank1.17.pt.trace.json"),
        ("1794703754.3-TP-0.trace.json.gz", "1794703754.3-TP-1.trace.json.gz"),
        ("pytorch_profile_rank0_step120.json", "pytorch_profile_rank1_step120.json"),
    ],
)
def test_common_layouts_are_one_run(tmp_path: Path, names: tuple[str, ...]):
    recordings, notes = one_run(ranks_in(tmp_path, *names), tmp_path)
    assert [recording.rank for recording in recordings] == [0, 1]
    assert len({recording.worker for recording in recordings}) == 2
    assert notes == []


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        (("normal/rank0.json", "abnormal/rank0.json"), ["abnormal", "normal"]),
        (("normal/rank0.json", "abnormal/rank1.json"), ["abnormal", "normal"]),
        (
            ("iteration_10/rank0_trace.json", "iteration_20/rank1_trace.json"),
            ["iteration_10", "iteration_20"],
        ),
        (("100/trace.json", "200/trace.json"), ["100", "200"]),
        (("20260101/trace.json", "20260102/trace.json"), ["20260101", "20260102"]),
        (("stall_rank3/rank0.json", "stall_rank5/rank0.json"), ["stall_rank3", "stall_rank5"]),
        (("gpus8/trace.json", "gpus16/trace.json"), ["gpus16", "gpus8"]),
        (
            tuple(f"rank_{rank}/step_{step}/t.json" for rank in (0, 1) for step in (1, 2)),
            ["rank_*/step_1", "rank_*/step_2"],
        ),
    ],
)
def test_several_runs_stay_several(tmp_path: Path, names: tuple[str, ...], runs: list[str]):
    recordings = ranks_in(tmp_path, *names)
    assert sorted(runs_among(recordings)) == runs
    with pytest.raises(AmbiguousError, match=f"holds {len(runs)} runs") as refused:
        one_run(recordings, tmp_path)
    assert "name one run folder" in refused.value.hint


def test_ranks_that_traces_state_join_folders_of_hosts(tmp_path: Path):
    names = ("nid001/trace0.json", "nid001/trace1.json", "nid002/trace0.json")
    recordings = ranks_in(tmp_path, *names, stated=dict(zip(names, (0, 1, 2), strict=True)))
    assert len(runs_among(recordings)) == 1
    assert {recording.host for recording in recordings} == {"nid001", "nid002"}
    again = ranks_in(tmp_path, *names, stated=dict(zip(names, (0, 1, 0), strict=True)))
    assert len(runs_among(again)) == 2


def test_ranks_of_a_host_are_not_those_of_the_run(tmp_path: Path):
    names = ("host0/rank0.json", "host0/rank1.json", "host1/rank0.json", "host1/rank1.json")
    recordings, _ = one_run(ranks_in(tmp_path, *names), tmp_path)
    assert workers_and_ranks(recordings) == [(name.removesuffix(".json"), None) for name in names]
    assert [recording.host for recording in recordings] == ["host0", "host0", "host1", "host1"]


def test_ranks_are_in_the_order_of_their_numbers(tmp_path: Path):
    recordings = ranks_in(tmp_path, *(f"rank_{rank}/trace.json" for rank in (10, 9, 2)))
    assert workers_and_ranks(recordings) == [("rank_2", 2), ("rank_9", 9), ("rank_10", 10)]


@pytest.mark.parametrize(
    "name",
    ["trace_rank{}_step{}.json", "rank{}_2026010{}.json", "rank_{}/step{}.json"],
)
def test_files_of_several_steps_are_spans(tmp_path: Path, name: str):
    names = [name.format(rank, step) for rank in range(2) for step in (2, 1)]
    recordings = ranks_in(tmp_path, *names, name.format(2, 1))
    assert [(recording.worker, recording.span) for recording in recordings] == [
        ("rank0", 1), ("rank0", 2), ("rank1", 1), ("rank1", 2), ("rank2", 1),
    ]  # fmt: skip
    first, notes = one_run(recordings, tmp_path)
    assert [recording.rank for recording in first] == [0, 1, 2]
    assert notes == ["2 spans: this is span 1, choose with --span"]


def test_names_with_the_rank_of_a_node_are_not_spans(tmp_path: Path):
    names = ("node0_rank0.json", "node1_rank0.json")
    assert [recording.span for recording in ranks_in(tmp_path, *names)] == [None, None]
    stated = ranks_in(tmp_path, *names, stated={names[0]: 0, names[1]: 8})
    assert [recording.rank for recording in stated] == [0, 8]


def test_two_runs_in_one_folder_are_refused_with_what_to_do(tmp_path: Path):
    recordings = ranks_in(
        tmp_path, *(f"{run}_rank{n}.json" for run in ("new", "old") for n in (0, 1))
    )
    with pytest.raises(AmbiguousError, match="two files are of rank 0") as refused:
        one_run(recordings, tmp_path)
    assert "'new_rank*.json'" in refused.value.hint
    chosen, _ = one_run(find_recordings(f"{tmp_path}/new_rank*.json"), tmp_path)
    assert [recording.rank for recording in chosen] == [0, 1]


def test_the_same_file_packed_otherwise_is_read_once_and_named(tmp_path: Path):
    recordings, notes = one_run(
        ranks_in(tmp_path, "rank0.json", "rank0.json.gz", "rank1.json"), tmp_path
    )
    assert [recording.path.name for recording in recordings] == ["rank0.json", "rank1.json"]
    assert "rank0.json.gz" in notes[0]


def test_what_is_of_no_rank_is_left_out_of_ranks(tmp_path: Path):
    server = "dgx_7.async_llm.17.pt.trace.json"
    names = ("rank0.17.pt.trace.json", "rank1.17.pt.trace.json", server)
    recordings, notes = one_run(ranks_in(tmp_path, *names), tmp_path)
    assert [recording.rank for recording in recordings] == [0, 1]
    assert notes == [f"{server} states no rank, as the others do: left out"]
    of_ranks, _ = one_run(ranks_in(tmp_path, *names, stated={server: 2}), tmp_path)
    assert len(of_ranks) == 3
